/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    const CluClientMode mode = {.input = CLU_CLIENT_CONSOLE};
    g_auto(CmdArgs) args = {.words = NULL};
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    return cmd_cluster_ask(
        argv[0], &args, (const char *const[]){"console", args.words[0], NULL},
        &mode);
}

const CmdVerb cmd_cluster_console = {
    .name = "console",
    .summary = "use the serial console of a host",
    .synopsis = "HOST",
    .min_words = 1,
    .max_words = 1,
    .has_cluster = true,
    .details =
        "Connects the terminal to the serial console of a host. To leave it, "
        "type Ctrl-], or\n~. at the start of a line. Several users may be "
        "connected at once." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
