/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    return cmd_cluster_ask(argv[0], &args,
                           (const char *const[]){"kill", args.words[0], NULL},
                           &cmd_cluster_no_input);
}

const CmdClusterVerb cmd_cluster_kill = {
    .name = "kill",
    .summary = "end a host as a power cut would",
    .synopsis = "HOST",
    .min_words = 1,
    .max_words = 1,
    .has_cluster = true,
    .details = "Ends a host as a power cut would. Its disks keep what was "
               "written." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
