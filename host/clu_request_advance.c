/* SPDX-License-Identifier: MIT */
/* `advance` and `replay`: virtual time passes in a timed cluster. */
#include "clu_requests.h"
#include "clu_timed.h"

typedef struct Advance {
    const CluTimed *timed;
    int64_t until_ns;
} Advance;

static void advance_start(CluRequest *request, const GPtrArray *words)
{
    Advance *advance = request->state;
    const char *word = words->pdata[1];
    uint64_t ns;

    advance->timed = clu_timed_of(clu_cluster_setup(request->cluster)->pace);
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
    advance->until_ns = clu_timed_limit(advance->timed) + (int64_t)ns;
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

const CluRequestType clu_request_advance_type = {
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
    const CluTimed *timed =
        clu_timed_of(clu_cluster_setup(request->cluster)->pace);

    if (!timed || !clu_timed_is_replay(timed)) {
        clu_request_fail(request, CLU_CONTROL_USAGE,
                         "this cluster does not replay a log");
    }
}

static void replay_check(CluRequest *request)
{
    if (clu_timed_is_replayed(
            clu_timed_of(clu_cluster_setup(request->cluster)->pace))) {
        clu_request_exit(request, 0, 0);
    }
}

const CluRequestType clu_request_replay_type = {
    .name = "replay",
    .start = replay_start,
    .check = replay_check,
};
