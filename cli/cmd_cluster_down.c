/* SPDX-License-Identifier: MIT */
#include "clu_calls.h"
#include "cmd_cluster_common.h"

static int run(const CmdVerb *verb, int argc, char **argv)
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
    .details =
        "Ends a cluster. Returns when all its processes have ended, after ten "
        "seconds at\nmost, even if some were stopped by a signal." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
