/* SPDX-License-Identifier: MIT */
/* Verbs that send their name and words as a request. */
#include "cmd_cluster_common.h"

static int forward(const CmdVerb *verb, int argc, char **argv)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_auto(CmdArgs) args = {.words = NULL};
    CluClientMode mode = cmd_cluster_no_input;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    g_ptr_array_add(words, (char *)verb->name);
    for (char **word = args.words; *word; word++) {
        g_ptr_array_add(words, *word);
    }
    g_ptr_array_add(words, NULL);
    mode.note = verb == &cmd_cluster_restart ? cmd_cluster_print_note : NULL;
    return cmd_cluster_ask(argv[0], &args, (const char *const *)words->pdata,
                           &mode);
}

const CmdVerb cmd_cluster_kill = {
    .name = "kill",
    .summary = "end a host as a power cut would",
    .synopsis = "HOST",
    .words = {1, 1},
    .has_cluster = true,
    .run = forward,
};

const CmdVerb cmd_cluster_checkpoint = {
    .name = "checkpoint",
    .summary = "let a timed cluster stand, to make branches of it",
    .synopsis = "",
    .has_cluster = true,
    .run = forward,
};

const CmdVerb cmd_cluster_link = {
    .name = "link",
    .summary = "unplug a link, or plug it in again",
    .synopsis = "LINK up|down",
    .words = {2, 2},
    .has_cluster = true,
    .run = forward,
};

const CmdVerb cmd_cluster_restart = {
    .name = "restart",
    .summary = "start a host again",
    .synopsis = "HOST",
    .words = {1, 1},
    .has_cluster = true,
    .run = forward,
};
