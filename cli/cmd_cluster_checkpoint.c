/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    static const char *const words[] = {"checkpoint", NULL};
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    return cmd_cluster_ask(argv[0], &args, words, &cmd_cluster_no_input);
}

const CmdClusterVerb cmd_cluster_checkpoint = {
    .name = "checkpoint",
    .summary = "let a timed cluster stand, to make branches of it",
    .synopsis = "",
    .has_cluster = true,
    .details =
        "Makes a timed cluster a template: it stands at its virtual time for "
        "ever, and\n`farside cluster branch` makes clusters that go on from "
        "there. The template ends with\n`farside cluster down`; its branches "
        "do not.\n\n"
        "Exit status: 0 success, 1 failure, 2 wrong usage or bad input, 75 not "
        "now: let virtual\ntime pass, and try again.",
    .run = run,
};
