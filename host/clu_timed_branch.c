/* SPDX-License-Identifier: MIT */
/* A template and its branches. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "clu_error.h"
#include "clu_timed_priv.h"

const CluPlan *clu_timed_plan(const CluTimed *timed)
{
    return timed->plan;
}

void clu_timed_set_template(CluTimed *timed)
{
    timed->is_template = true;
}

bool clu_timed_is_template(const CluTimed *timed)
{
    return timed->is_template;
}

int clu_timed_branch_board(const CluTimed *timed)
{
    return timed->branch_fd;
}

void clu_timed_wake(CluTimed *timed)
{
    timed_board_next_round(timed->board);
}

bool clu_timed_branch(CluTimed *timed, const CluPlan *plan, GError **error)
{
    if (!timed_board_become(timed->board, timed->branch_fd) ||
        dup3(timed->branch_fd, timed->fd, O_CLOEXEC) < 0) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                    "cannot open the memory that the machines share: %s",
                    g_strerror(errno));
        return false;
    }
    close(timed->branch_fd);
    timed->branch_fd = -1;
    clu_process_free(timed->model);
    timed->model = clu_process_adopt(timed->context, timed->model_pid,
                                     clu_timed_model_ended, timed, error);
    if (!timed->model) {
        return false;
    }
    g_clear_pointer(&timed->log, clu_timed_log_free);
    g_array_unref(timed->steps);
    timed->plan = plan;
    timed->steps = clu_faults_steps(plan);
    timed->done = 0;
    timed_board_forget_events(timed->board);
    timed->is_template = false;
    for (unsigned i = 0; i < plan->links->len; i++) {
        timed_board_set_training(timed->board, i,
                                 clu_faults_training(plan,
                                                     plan->links->pdata[i],
                                                     CLU_TIMED_TRAINING_NS));
    }
    return true;
}
