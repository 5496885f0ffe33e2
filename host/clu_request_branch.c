/* SPDX-License-Identifier: MIT */
/* `checkpoint` and `branch`: a timed cluster that stands, and clusters that go
 * on from there. */
#include "clu_requests.h"
#include "clu_timed.h"

/* The machines read what they were given within rounds, in real time. */
#define LOOK_MS 10
#define LOOKS   3000

/* checkpoint */

typedef struct Checkpoint {
    unsigned looks;
} Checkpoint;

static void checkpoint_start(CluRequest *request, const GPtrArray *words)
{
    const CluTimed *timed =
        clu_timed_of(clu_cluster_setup(request->cluster)->pace);

    if (!timed) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "machines in real time have no checkpoint; start the "
                         "cluster with `farside cluster up --timed`");
    } else if (clu_timed_is_replay(timed)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "this cluster replays a log, and has no checkpoint");
    } else if (clu_timed_is_template(timed)) {
        clu_request_exit(request, 0, 0);
    }
}

static void checkpoint_check(CluRequest *request)
{
    Checkpoint *checkpoint = request->state;
    const CluHost *busy = clu_cluster_busy_host(request->cluster);
    GError *error = NULL;

    if (request->deadline) {
        return;
    }
    if (!request->ops->is_alone(request->owner)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "another command runs in this cluster; wait for its "
                         "end");
    } else if (busy) {
        clu_request_fail(request, CLU_CONTROL_AGAIN,
                         "host '%s' is in the middle of an access to another "
                         "host; let time pass, such as `farside cluster "
                         "advance 1ms`",
                         clu_host_plan(busy)->host->name);
    } else if (!clu_cluster_is_quiet(request->cluster)) {
        if (++checkpoint->looks < LOOKS) {
            clu_request_set_deadline(request, LOOK_MS);
        } else {
            clu_request_fail(request, CLU_CONTROL_AGAIN,
                             "a guest has not read all of its input; let time "
                             "pass, such as `farside cluster advance 1ms`");
        }
    } else if (clu_cluster_make_template(request->cluster, &error)) {
        clu_request_exit(request, 0, 0);
    } else {
        clu_request_fail_by(request, error);
    }
}

const CluRequestType clu_request_checkpoint_type = {
    .name = "checkpoint",
    .state_bytes = sizeof(Checkpoint),
    .start = checkpoint_start,
    .check = checkpoint_check,
};

/* branch */

static void branch_start(CluRequest *request, const GPtrArray *words)
{
    const CluTimed *timed =
        clu_timed_of(clu_cluster_setup(request->cluster)->pace);
    g_autoptr(GPtrArray) sets = g_ptr_array_new();

    if (!timed || !clu_timed_is_template(timed)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "this cluster has no checkpoint; make one with "
                         "`farside cluster checkpoint`");
        return;
    }
    for (unsigned i = 2; i < words->len; i++) {
        g_ptr_array_add(sets, words->pdata[i]);
    }
    g_ptr_array_add(sets, NULL);
    request->ops->branch(request->owner, words->pdata[1],
                         (char *const *)sets->pdata);
}

const CluRequestType clu_request_branch_type = {
    .name = "branch",
    .min_words = 1,
    .max_words = 256,
    .start = branch_start,
};
