/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *path = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    path = strcmp(args.words[1], "off") == 0
               ? g_strdup("off")
               : g_canonicalize_filename(args.words[1], NULL);
    return cmd_cluster_ask(
        argv[0], &args,
        (const char *const[]){"trace", args.words[0], path, NULL},
        &cmd_cluster_no_input);
}

const CmdVerb cmd_cluster_trace = {
    .name = "trace",
    .summary = "record what crosses a link",
    .synopsis = "LINK FILE|off",
    .min_words = 2,
    .max_words = 2,
    .has_cluster = true,
    .details =
        "Records all accesses that cross a link, both ways, in a new FILE for "
        "`farside\ntrace`; `off` ends the recording. Accesses to the other "
        "host's memory are slow\nwhile it runs." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
