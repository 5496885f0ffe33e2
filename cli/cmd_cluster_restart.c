/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    mode.note = cmd_cluster_print_note;
    return cmd_cluster_ask(
        argv[0], &args, (const char *const[]){"restart", args.words[0], NULL},
        &mode);
}

const CmdClusterVerb cmd_cluster_restart = {
    .name = "restart",
    .summary = "start a host again",
    .synopsis = "HOST",
    .min_words = 1,
    .max_words = 1,
    .has_cluster = true,
    .details =
        "Starts a host again; if it runs, it is killed first. Returns when the "
        "host is up,\nand its links to hosts that are up." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
