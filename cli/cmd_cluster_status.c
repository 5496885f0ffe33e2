/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "clu_dir.h"
#include "cmd_cluster_common.h"

static int list_run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_auto(GStrv) names = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    names = clu_dir_list();
    for (char **name = names; *name; name++) {
        g_autofree char *dir = clu_dir_find(*name);
        g_autofree char *file = clu_dir_description(dir);

        printf("%-20s %s\n", *name, file ? file : "");
    }
    return CMD_OK;
}

const CmdVerb cmd_cluster_list = {
    .name = "list",
    .summary = "name the clusters that run",
    .synopsis = "",
    .run = list_run,
};

/* The supervisor waits a second for monitors that do not answer. */
#define ANSWER_MS 5000

static int status_run(const CmdVerb *verb, int argc, char **argv)
{
    static const char *const words[] = {"status", NULL};
    gboolean is_json = FALSE;
    const GOptionEntry entries[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &is_json, "Print it as JSON", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autoptr(GString) text = g_string_new(NULL);
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    mode.output = text;
    mode.timeout_ms = ANSWER_MS;
    status = cmd_cluster_ask(argv[0], &args, words, &mode);
    if (status == 0 && is_json) {
        puts(text->str);
    } else if (status == 0) {
        cmd_cluster_print_status(text->str);
    }
    return status;
}

const CmdVerb cmd_cluster_status = {
    .name = "status",
    .summary = "show the state of hosts and links",
    .synopsis = "",
    .has_cluster = true,
    .run = status_run,
};

static int wait_run(const CmdVerb *verb, int argc, char **argv)
{
    int timeout_s = 60;
    const GOptionEntry entries[] = {
        {"timeout", 't', 0, G_OPTION_ARG_INT, &timeout_s,
         "Fail after this many seconds (60)", "S"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *seconds = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    seconds = g_strdup_printf("%d", timeout_s);
    return cmd_cluster_ask(
        argv[0], &args,
        (const char *const[]){"wait", seconds, args.words[0], NULL},
        &cmd_cluster_no_input);
}

const CmdVerb cmd_cluster_wait = {
    .name = "wait",
    .summary = "wait until hosts and links are up",
    .synopsis = "[HOST]",
    .words = {0, 1},
    .has_cluster = true,
    .run = wait_run,
};
