/* SPDX-License-Identifier: MIT */
/* Faults of the description that come between two steps: all machines stand. */
#include "clu_timed_priv.h"

static void add_start(CluTimed *timed, const CluFaultStep *kill)
{
    CluFaultStep step = *kill;
    unsigned i = timed->done;

    step.act = CLU_FAULT_START;
    step.at_ns += (kill->fault->for_ps + 999) / 1000;
    while (i < timed->steps->len &&
           g_array_index(timed->steps, CluFaultStep, i).at_ns <= step.at_ns) {
        i++;
    }
    g_array_insert_val(timed->steps, i, step);
}

static void do_step(CluTimed *timed, const CluFaultStep *step)
{
    g_autofree char *cause =
        g_strdup_printf("fault %s of the description", step->fault->name);
    CluHost *host =
        step->host ? clu_cluster_host(timed->cluster, step->host->index) : NULL;

    switch (step->act) {
    case CLU_FAULT_NOTE:
        clu_timed_note(timed, CLU_INPUT_FAULT, step->fault->name, NULL, 0);
        break;
    case CLU_FAULT_KILL:
        clu_host_kill(host, cause);
        timed->hosts[step->host->index].returns |= step->returns;
        break;
    case CLU_FAULT_START:
        clu_timed_request_start(timed, host);
        break;
    }
}

/* Machines that have switched themselves off, at an event */
static void do_fallen(CluTimed *timed)
{
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        const CluPlanHost *host = timed->plan->hosts->pdata[i];
        CluFaultStep step = {
            .at_ns = timed_board_limit(timed->board),
            .act = CLU_FAULT_KILL,
            .host = host,
        };
        int fault = timed_board_fallen(timed->board, i);

        /* The number is the machine's, and may be any. */
        if (fault < 0 || fault >= (int)timed->plan->description->faults->len) {
            continue;
        }
        step.fault = timed->plan->description->faults->pdata[fault];
        step.returns = step.fault->action == TOPO_FAULT_RESTART;
        do_step(timed, &step);
        timed_board_leave(timed->board, i);
        if (step.returns) {
            add_start(timed, &step);
        }
    }
}

void clu_timed_do_faults(CluTimed *timed)
{
    int64_t now = timed_board_limit(timed->board);

    do_fallen(timed);
    while (timed->done < timed->steps->len) {
        const CluFaultStep step =
            g_array_index(timed->steps, CluFaultStep, timed->done);

        if (step.at_ns > now) {
            break;
        }
        timed->done++;
        do_step(timed, &step);
    }
}
