/* SPDX-License-Identifier: MIT */
/* `kill`, `release` and `down`: the ends of hosts and of the cluster. */
#include "clu_process.h"
#include "clu_requests.h"

/* kill */

typedef struct Kill {
    CluHost *host;
} Kill;

static void kill_start(CluRequest *request, const GPtrArray *words)
{
    Kill *kill = request->state;
    GError *error = NULL;

    kill->host =
        clu_cluster_find_host(request->cluster, words->pdata[1], &error);
    if (kill->host) {
        clu_host_kill(kill->host, "it was killed");
    } else {
        clu_request_fail_by(request, error);
    }
}

static void kill_check(CluRequest *request)
{
    const Kill *kill = request->state;

    if (!clu_host_has_process(kill->host)) {
        clu_request_exit(request, 0, 0);
    }
}

const CluRequestType clu_request_kill_type = {
    .name = "kill",
    .min_words = 1,
    .max_words = 1,
    .state_bytes = sizeof(Kill),
    .start = kill_start,
    .check = kill_check,
};

/* release */

static void release_start(CluRequest *request, const GPtrArray *words)
{
    request->ops->release(request->owner);
    clu_process_leave_terminal();
    clu_request_exit(request, 0, 0);
}

const CluRequestType clu_request_release_type = {
    .name = "release",
    .start = release_start,
};

/* down */

/* After the answer, the program waits until the lock of the directory is free.
 */
static void down_start(CluRequest *request, const GPtrArray *words)
{
    clu_request_exit(request, 0, 0);
    request->ops->end(request->owner);
}

const CluRequestType clu_request_down_type = {
    .name = "down",
    .start = down_start,
};
