/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    return cmd_cluster_ask(
        argv[0], &args,
        (const char *const[]){"link", args.words[0], args.words[1], NULL},
        &cmd_cluster_no_input);
}

const CmdClusterVerb cmd_cluster_link = {
    .name = "link",
    .summary = "unplug a link, or plug it in again",
    .synopsis = "LINK up|down",
    .min_words = 2,
    .max_words = 2,
    .has_cluster = true,
    .details =
        "Unplugs a link, or plugs it in again. Returns when the drivers have "
        "noticed." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
