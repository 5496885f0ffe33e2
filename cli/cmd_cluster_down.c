/* SPDX-License-Identifier: MIT */
#include "clu_dir.h"
#include "clu_error.h"
#include "cmd.h"
#include "cmd_cluster_common.h"

/* The supervisor answers within this time, unless it was stopped. */
#define ANSWER_MS 4000
/* Then the processes end, and if the keeper was stopped, that takes longer. */
#define GONE_MS   1000
#define LAST_MS   5000

static int run(const CmdClusterVerb *verb, int argc, char **argv)
{
    static const char *const words[] = {"down", NULL};
    g_auto(CmdClusterArgs) args = {.cluster = NULL};
    g_autoptr(CluClient) client = NULL;
    g_autofree char *dir = NULL;
    CluClientMode mode = cmd_cluster_no_input;
    GError *error = NULL;
    int status;

    if (!cmd_cluster_parse(verb, argc, argv, NULL, &args, &status)) {
        return status;
    }
    client = cmd_cluster_connect(&args, &dir, &error);
    if (!client) {
        return cmd_cluster_fail(argv[0], error);
    }
    mode.timeout_ms = ANSWER_MS;
    status = clu_client_run(client, words, &mode, &error);
    if (status == CLU_CLIENT_TIMED_OUT) {
        clu_client_kill(client);
        g_clear_error(&error);
        status = 0;
    }
    g_clear_pointer(&client, clu_client_free);
    if (status == 0 && !clu_dir_wait_gone(dir, GONE_MS)) {
        clu_dir_continue(dir);
        if (!clu_dir_wait_gone(dir, LAST_MS)) {
            status = CMD_DIFFERENT;
            g_set_error(&error, CLU_ERROR, CLU_ERROR_FAILED,
                        "processes of the cluster still run after %d s",
                        (GONE_MS + LAST_MS) / 1000);
        }
    }
    return cmd_cluster_finish(argv[0], status, error);
}

const CmdClusterVerb cmd_cluster_down = {
    .name = "down",
    .summary = "end a cluster",
    .synopsis = "",
    .has_cluster = true,
    .details =
        "Ends a cluster. Returns when all its processes have ended, after ten "
        "seconds at\nmost, even if some were stopped by a signal." CMD_CLUSTER_EXIT_STATUS,
    .run = run,
};
