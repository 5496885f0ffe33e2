/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "clu_calls.h"
#include "cmd_cluster_common.h"

static int down_run(const CmdVerb *verb, int argc, char **argv)
{
    g_auto(CmdArgs) args = {.words = NULL};
    g_autofree char *dir = NULL;
    CluClient *client;
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    client = cmd_cluster_connect(&args, &dir, &error);
    if (!client) {
        return cmd_cluster_fail(argv[0], error);
    }
    status = clu_calls_down(client, dir, &error);
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdVerb cmd_cluster_down = {
    .name = "down",
    .summary = "end a cluster",
    .synopsis = "",
    .has_cluster = true,
    .run = down_run,
};

static int trace_run(const CmdVerb *verb, int argc, char **argv)
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
    .words = {2, 2},
    .has_cluster = true,
    .run = trace_run,
};
