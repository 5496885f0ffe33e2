/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cmd.h"
#include "cmd_cluster_common.h"

#define TIMEOUT_MOST 1000000

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    CluClientMode mode = {.input = CLU_CLIENT_COMMAND};
    double timeout = 0;
    const GOptionEntry options[] = {
        {"timeout", 0, 0, G_OPTION_ARG_DOUBLE, &timeout,
         "Kill the command if it takes longer; the exit status is then 124",
         "SECONDS"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    CmdClusterVerb front = *verb;
    int own = 1;
    int status;

    /* Options after "--" belong to the command. */
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    if (own < argc) {
        front.max_words = 1;
    }
    if (!cmd_cluster_parse(&front, own, argv, options, &args, &status)) {
        return status;
    }
    if (timeout < 0 || timeout > TIMEOUT_MOST) {
        return cmd_usage(argv[0],
                         "--timeout takes a number of seconds up to "
                         "%d",
                         TIMEOUT_MOST);
    }
    mode.timeout_ms = (unsigned)(timeout * 1000);
    g_ptr_array_add(words, (char *)"exec");
    for (char **word = args.words; *word; word++) {
        g_ptr_array_add(words, *word);
    }
    for (int i = own + 1; i < argc; i++) {
        g_ptr_array_add(words, argv[i]);
    }
    if (words->len < 3) {
        return cmd_usage(argv[0], "a command is missing");
    }
    g_ptr_array_add(words, NULL);
    return cmd_cluster_ask(argv[0], &args, (const char *const *)words->pdata,
                           &mode);
}

const CmdClusterVerb cmd_cluster_exec = {
    .name = "exec",
    .summary = "run a command on a host",
    .synopsis = "HOST -- COMMAND...",
    .min_words = 1,
    .max_words = G_MAXUINT,
    .has_cluster = true,
    .details =
        "Runs a command on a host. The command gets standard input and "
        "signals such as\nCtrl-C, and its output is printed. A second Ctrl-C "
        "ends this program at once;\nSIGTERM ends it after two seconds at "
        "most.\n\n"
        "Exit status: the command's; 128 plus the number of the signal that "
        "ended it; 124\nif it took longer than --timeout; 255 if it could not "
        "be run, or its host was\nlost: it panicked, hangs or is off.",
    .run = run,
};
