/* SPDX-License-Identifier: MIT */
#include "clu_dir.h"
#include "clu_error.h"
#include "cmd.h"
#include "cmd_cluster_common.h"

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    static const char *const words[] = {"down", NULL};
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    g_autoptr(CluClient) client = NULL;
    g_autofree char *dir = NULL;
    GError *error = NULL;
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    client = cmd_cluster_connect(&args, &dir, &error);
    if (!client) {
        return cmd_cluster_fail(argv[0], error);
    }
    status = clu_client_run(client, words, &cmd_cluster_no_input, &error);
    g_clear_pointer(&client, clu_client_free);
    if (status == 0 && !clu_dir_wait_gone(dir, CMD_CLUSTER_DOWN_MS)) {
        status = CMD_DIFFERENT;
        g_set_error(&error, CLU_ERROR, CLU_ERROR_FAILED,
                    "processes of the cluster still run after %d s",
                    CMD_CLUSTER_DOWN_MS / 1000);
    }
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdClusterVerb cmd_cluster_down = {
    .name = "down",
    .summary = "end a cluster",
    .synopsis = "",
    .has_cluster = true,
    .details =
        "Ends a cluster. Returns when all its processes have ended." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
