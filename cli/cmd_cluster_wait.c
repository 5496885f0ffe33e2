/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
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
    .max_words = 1,
    .has_cluster = true,
    .details =
        "Waits until all hosts and all links are up, or one host and its links "
        "to hosts\nthat are up." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
