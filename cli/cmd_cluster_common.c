/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

#include <stdio.h>

#include "clu_dir.h"
#include "clu_error.h"
#include "clu_status.h"
#include "cmd.h"

const CluClientMode cmd_cluster_no_input = {.input = CLU_CLIENT_NO_INPUT,
                                            .has_text_errors = true};

void cmd_cluster_print_status(const char *json)
{
    g_autoptr(GString) text = g_string_new(NULL);

    clu_status_append(text, json);
    fputs(text->str, stdout);
}

void cmd_cluster_print_note(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

static void tell(void *owner, const char *text)
{
    cmd_cluster_print_note(text);
}

const ImgNotes cmd_cluster_notes = {.tell = tell};

int cmd_cluster_finish(const char *verb, int status, GError *error)
{
    if (error) {
        cmd_complain(verb, error);
    }
    return status;
}

int cmd_cluster_fail(const char *verb, GError *error)
{
    bool is_usage = g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE);

    return cmd_cluster_finish(verb, is_usage ? CMD_USAGE : CMD_DIFFERENT,
                              error);
}

CluClient *cmd_cluster_connect(const CmdArgs *args, char **ret_dir,
                               GError **error)
{
    g_autofree char *dir = clu_dir_choose(args->cluster, error);
    CluClient *client = dir ? clu_client_connect(dir, error) : NULL;

    if (client && ret_dir) {
        *ret_dir = g_steal_pointer(&dir);
    }
    return client;
}

int cmd_cluster_ask(const char *verb, const CmdArgs *args,
                    const char *const *words, const CluClientMode *mode)
{
    GError *error = NULL;
    g_autoptr(CluClient) client = cmd_cluster_connect(args, NULL, &error);
    int status;

    if (!client) {
        return cmd_cluster_fail(verb, error);
    }
    status = clu_client_run(client, words, mode, &error);
    return cmd_cluster_finish(verb, status, error);
}

int cmd_cluster_forward(const CmdVerb *verb, int argc, char **argv)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_auto(CmdArgs) args = {.words = NULL};
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    g_ptr_array_add(words, (char *)verb->name);
    for (char **word = args.words; *word; word++) {
        g_ptr_array_add(words, *word);
    }
    g_ptr_array_add(words, NULL);
    mode.note = verb == &cmd_cluster_restart ? cmd_cluster_print_note : NULL;
    return cmd_cluster_ask(argv[0], &args, (const char *const *)words->pdata,
                           &mode);
}

const CmdVerb cmd_cluster_kill = {
    .name = "kill",
    .summary = "end a host as a power cut would",
    .synopsis = "HOST",
    .words = {1, 1},
    .has_cluster = true,
    .run = cmd_cluster_forward,
};

const CmdVerb cmd_cluster_checkpoint = {
    .name = "checkpoint",
    .summary = "let a timed cluster stand, to make branches of it",
    .synopsis = "",
    .has_cluster = true,
    .run = cmd_cluster_forward,
};

const CmdVerb cmd_cluster_link = {
    .name = "link",
    .summary = "unplug a link, or plug it in again",
    .synopsis = "LINK up|down",
    .words = {2, 2},
    .has_cluster = true,
    .run = cmd_cluster_forward,
};

const CmdVerb cmd_cluster_restart = {
    .name = "restart",
    .summary = "start a host again",
    .synopsis = "HOST",
    .words = {1, 1},
    .has_cluster = true,
    .run = cmd_cluster_forward,
};
