/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cmd.h"
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    const CluClientMode mode = {.input = CLU_CLIENT_COMMAND};
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
    if (!cmd_cluster_parse(&front, own, argv, NULL, &args, &status)) {
        return status;
    }
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
        "signals such as\nCtrl-C, and its output is printed.\n\n"
        "Exit status: the command's; 128 plus the number of the signal that "
        "ended it; 255\nif it could not be run, or its host was lost.",
    .run = run,
};
