/* SPDX-License-Identifier: MIT */
/* The run of a log is repeated. */
#include "clu_timed_priv.h"

void clu_timed_set_script(CluTimed *timed, const CluTimedScript *script)
{
    timed->script = script;
}

bool clu_timed_is_replay(const CluTimed *timed)
{
    return timed->script;
}

bool clu_timed_is_replayed(const CluTimed *timed)
{
    return timed->script && timed->at == timed->script->inputs->len;
}

/* The next input of the log if it is one of now; NULL otherwise. */
static const CluInput *input_of_now(const CluTimed *timed)
{
    const CluInput *input = clu_timed_is_replayed(timed)
                                ? NULL
                                : timed->script->inputs->pdata[timed->at];

    return input && input->at_ns <= timed_board_limit(timed->board) ? input
                                                                    : NULL;
}

bool clu_timed_replay(CluTimed *timed)
{
    const CluInput *input = input_of_now(timed);

    if (!input || input->kind == CLU_INPUT_TO) {
        return false;
    }
    if (clu_timed_replay_input(timed, input)) {
        timed->at++;
    }
    return true;
}

int64_t clu_timed_replayed_limit(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board), limit;
    const CluInput *input = input_of_now(timed);

    if (!input) {
        return clu_timed_is_replayed(timed) ? now : now + CLU_TIMED_STEP_NS;
    }
    timed->at++;
    limit = g_ascii_strtoll(g_bytes_get_data(input->bytes, NULL), NULL, 10);
    if (clu_timed_is_replayed(timed)) {
        clu_cluster_on_stand(timed->cluster);
    }
    return MAX(now, limit);
}
