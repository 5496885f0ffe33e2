/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd_cluster_verb.h"

static const CmdClusterVerb *const verbs[] = {
    &cmd_cluster_up,   &cmd_cluster_down,    &cmd_cluster_status,
    &cmd_cluster_list, &cmd_cluster_exec,    &cmd_cluster_console,
    &cmd_cluster_logs, &cmd_cluster_link,    &cmd_cluster_trace,
    &cmd_cluster_kill, &cmd_cluster_restart, &cmd_cluster_wait,
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
        printf("  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    fputs("\n"
          "  farside cluster VERB --help   describes a verb\n"
          "\n"
          "If several clusters run, option -c NAME of all verbs but up and "
          "list chooses one.\n",
          stdout);
}

int cmd_cluster(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        print_help();
        return CMD_OK;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(verbs); i++) {
        if (strcmp(word, verbs[i]->name) == 0) {
            g_autofree char *name = g_strconcat("cluster ", word, NULL);

            argv[1] = name; /* messages begin with it */
            return verbs[i]->run(verbs[i], argc - 1, argv + 1);
        }
    }
    return *word ? cmd_usage("cluster", "there is no verb \"%s\"", word)
                 : cmd_usage("cluster", "a verb is missing");
}
