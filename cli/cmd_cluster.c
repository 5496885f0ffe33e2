/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_cluster_verb.h"
#include "cmd_form.h"
#include "topo_suggest.h"

static const CmdClusterVerb *const verbs[] = {
    &cmd_cluster_up,      &cmd_cluster_down,    &cmd_cluster_status,
    &cmd_cluster_list,    &cmd_cluster_exec,    &cmd_cluster_console,
    &cmd_cluster_logs,    &cmd_cluster_link,    &cmd_cluster_trace,
    &cmd_cluster_kill,    &cmd_cluster_restart, &cmd_cluster_wait,
    &cmd_cluster_advance, &cmd_cluster_replay,  &cmd_cluster_checkpoint,
    &cmd_cluster_branch,  &cmd_cluster_explore, &cmd_cluster_cp,
    &cmd_cluster_reload,
};

static void print_help(void)
{
    fputs("Usage:\n"
          "  farside cluster VERB [OPTION...] ARGUMENT...\n"
          "\n"
          "Runs the hosts of a description as virtual machines, joined by "
          "emulated NTBs.\n"
          "\n"
          "Verbs:\n",
          stdout);
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        printf("  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    fputs("\n"
          "  farside cluster VERB --help   describes a verb\n"
          "\n"
          "If several clusters run, option -c NAME of all verbs but up and "
          "list chooses one.\n",
          stdout);
}

/* Runs the verb in argv[1]. Returns -1 if there is no such verb. */
static int run_verb(int argc, char **argv)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(argv[1], verbs[i]->name) == 0) {
            g_autofree char *name = g_strconcat("cluster ", argv[1], NULL);

            argv[1] = name; /* messages begin with it */
            return verbs[i]->run(verbs[i], argc - 1, argv + 1);
        }
    }
    return -1;
}

/* Completes the last of the words behind "cluster". */
static void complete(int count, char **words)
{
    if (count < 2) {
        for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
            cmd_complete_offer(count ? words[0] : "", verbs[i]->name,
                               verbs[i]->summary);
        }
        return;
    }
    /* The verb is called with "VERB --help-complete WORD...", which is what
     * stands at words - 2 once the first two are swapped. */
    words[-1] = words[0];
    words[0] = (char *)CMD_HELP_COMPLETE;
    run_verb(count + 2, words - 2);
}

/* Serves the build and the shells. Returns false if @word is no option of
 * theirs. */
static bool describe(const char *word, int argc, char **argv)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        g_ptr_array_add(lines, g_strdup_printf("%s\t%s", verbs[i]->name,
                                               verbs[i]->summary));
    }
    g_ptr_array_add(lines, NULL);
    if (strcmp(word, CMD_HELP_VERBS) == 0) {
        for (unsigned i = 0; i + 1 < lines->len; i++) {
            puts(lines->pdata[i]);
        }
    } else if (strcmp(word, CMD_HELP_MAN) == 0) {
        cmd_man_print_cluster((const char *const *)lines->pdata);
    } else if (strcmp(word, CMD_HELP_COMPLETE) == 0) {
        complete(argc - 2, argv + 2);
    } else {
        return false;
    }
    return true;
}

static int complain_about(const char *word)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        g_ptr_array_add(names, (char *)verbs[i]->name);
    }
    hint = topo_suggest(word, names);
    return cmd_usage("cluster", "there is no verb \"%s\"%s", word, hint);
}

int cmd_cluster(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int status;

    if (describe(word, argc, argv)) {
        return CMD_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help();
        return CMD_OK;
    }
    status = *word ? run_verb(argc, argv) : -1;
    if (status >= 0) {
        return status;
    }
    return *word ? complain_about(word)
                 : cmd_usage("cluster", "a verb is missing");
}
