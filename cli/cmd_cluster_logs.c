/* SPDX-License-Identifier: MIT */
#include "clu_console.h"
#include "cmd_cluster_common.h"

static int console_run(const CmdVerb *verb, int argc, char **argv)
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
    .words = {1, 1},
    .has_cluster = true,
    .run = console_run,
};

static int logs_run(const CmdVerb *verb, int argc, char **argv)
{
    gboolean is_following = FALSE, has_times = FALSE;
    const GOptionEntry entries[] = {
        {"follow", 'f', 0, G_OPTION_ARG_NONE, &is_following,
         "Keep printing as the log grows", NULL},
        {"times", 't', 0, G_OPTION_ARG_NONE, &has_times,
         "Print the time of day before each line; in a timed cluster the "
         "virtual time",
         NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    mode.skip = has_times ? 0 : CLU_CONSOLE_TIME_BYTES;
    return cmd_cluster_ask(
        argv[0], &args,
        (const char *const[]){"logs", args.words[0],
                              is_following ? "follow" : "once", NULL},
        &mode);
}

const CmdVerb cmd_cluster_logs = {
    .name = "logs",
    .summary = "print the log of a host's serial console",
    .synopsis = "HOST",
    .words = {1, 1},
    .has_cluster = true,
    .run = logs_run,
};
