/* SPDX-License-Identifier: MIT */
/* The requests for virtual time. In real time they are refused. */
#include "clu_timed_requests.h"

#include "clu_timed_priv.h"

/* The machines read what they were given within rounds, in real time. */
#define LOOK_MS 10
#define LOOKS   3000

static CluTimed *timed_of(const CluRequest *request)
{
    return clu_timed_of(clu_cluster_setup(request->cluster)->pace);
}

/* advance */

typedef struct Advance {
    const CluTimed *timed;
    int64_t until_ns;
} Advance;

static void advance_start(CluRequest *request, const GPtrArray *words)
{
    Advance *advance = request->state;
    const char *word = words->pdata[1];
    uint64_t ns;

    advance->timed = timed_of(request);
    if (!advance->timed) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "the machines run in real time, which advances by "
                         "itself; start the cluster with `farside cluster up "
                         "--timed`");
        return;
    }
    if (!g_ascii_string_to_unsigned(word, 10, CLU_TIMED_BARRIER_NS,
                                    CLU_TIMED_ADVANCE_MAX_NS, &ns, NULL) ||
        ns % CLU_TIMED_BARRIER_NS != 0) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "the time is '%s' ns; it must be a whole number of "
                         "ms, 1ms to 86400s",
                         word);
        return;
    }
    advance->until_ns = timed_board_limit(advance->timed->board) + (int64_t)ns;
}

static int64_t advance_until(const CluRequest *request)
{
    const Advance *advance = request->state;

    return advance->until_ns;
}

static void advance_check(CluRequest *request)
{
    const Advance *advance = request->state;

    if (clu_timed_stands_at(advance->timed, advance->until_ns)) {
        clu_request_exit(request, 0, 0);
    }
}

static const CluRequestType advance_type = {
    .name = "advance",
    .needs_time = true,
    .until = advance_until,
    .min_words = 1,
    .max_words = 1,
    .state_bytes = sizeof(Advance),
    .start = advance_start,
    .check = advance_check,
};

/* replay */

static void replay_start(CluRequest *request, const GPtrArray *words)
{
    const CluTimed *timed = timed_of(request);

    if (!timed || !clu_timed_is_replay(timed)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "this cluster does not replay a log");
    }
}

static void replay_check(CluRequest *request)
{
    if (clu_timed_is_replayed(timed_of(request))) {
        clu_request_exit(request, 0, 0);
    }
}

static const CluRequestType replay_type = {
    .name = "replay",
    .start = replay_start,
    .check = replay_check,
};

/* checkpoint */

typedef struct Checkpoint {
    unsigned looks;
} Checkpoint;

static void checkpoint_start(CluRequest *request, const GPtrArray *words)
{
    const CluTimed *timed = timed_of(request);

    if (!timed) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "machines in real time have no checkpoint; start the "
                         "cluster with `farside cluster up --timed`");
    } else if (clu_timed_is_replay(timed)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "this cluster replays a log, and has no checkpoint");
    } else if (timed->is_template) {
        clu_request_exit(request, 0, 0);
    }
}

static void checkpoint_check(CluRequest *request)
{
    Checkpoint *checkpoint = request->state;
    CluTimed *timed = timed_of(request);
    const CluHost *busy = clu_timed_busy_host(timed);
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
    } else if (!clu_timed_is_quiet(timed)) {
        if (++checkpoint->looks < LOOKS) {
            clu_request_set_deadline(request, LOOK_MS);
        } else {
            clu_request_fail(request, CLU_CONTROL_AGAIN,
                             "a guest has not read all of its input; let time "
                             "pass, such as `farside cluster advance 1ms`");
        }
    } else if (clu_timed_make_template(timed, &error)) {
        clu_request_exit(request, 0, 0);
    } else {
        clu_request_fail_by(request, error);
    }
}

static const CluRequestType checkpoint_type = {
    .name = "checkpoint",
    .state_bytes = sizeof(Checkpoint),
    .start = checkpoint_start,
    .check = checkpoint_check,
};

/* branch */

static void branch_start(CluRequest *request, const GPtrArray *words)
{
    const CluTimed *timed = timed_of(request);
    g_autoptr(GPtrArray) sets = g_ptr_array_new();

    if (!timed || !timed->is_template) {
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

static const CluRequestType branch_type = {
    .name = "branch",
    .min_words = 1,
    .max_words = 256,
    .start = branch_start,
};

const CluRequestType *const clu_timed_requests[] = {
    &advance_type, &replay_type, &checkpoint_type, &branch_type, NULL};
