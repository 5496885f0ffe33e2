/* SPDX-License-Identifier: MIT */
/* A template and its branches. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "clu_branch.h"
#include "clu_error.h"
#include "clu_timed_priv.h"

/* Machines answer when their main loops come round, which takes real time: the
 * processes may get few turns of the processor, or none for seconds. */
#define TURN_US   2000
#define ANSWER_US (60 * G_USEC_PER_SEC)

typedef int Answered(CluTimed *timed, CluHost *host, GError **error);

static bool wait_for_all(CluTimed *timed, Answered *answered, GError **error)
{
    gint64 end = g_get_monotonic_time() + ANSWER_US;

    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(timed->cluster, i);
        int status = 0;

        while (clu_host_has_process(host) &&
               (status = answered(timed, host, error)) == 0 &&
               g_get_monotonic_time() < end) {
            timed_board_next_round(timed->board);
            g_usleep(TURN_US);
        }
        if (clu_host_has_process(host) && status == 0) {
            g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                        "host '%s' has not answered within %d s of real time; "
                        "this machine may have too much to do",
                        clu_host_plan(host)->host->name,
                        (int)(ANSWER_US / G_USEC_PER_SEC));
        }
        if (clu_host_has_process(host) && status <= 0) {
            return false;
        }
    }
    return true;
}

const CluHost *clu_timed_busy_host(const CluTimed *timed)
{
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        const CluHost *host = clu_cluster_host(timed->cluster, i);

        if (clu_timed_stands_at(timed, 0) && clu_host_has_process(host) &&
            timed_board_is_busy(timed->board, i)) {
            return host;
        }
    }
    return NULL;
}

bool clu_timed_is_quiet(const CluTimed *timed)
{
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(timed->cluster, i);

        if (clu_host_has_process(host) && !clu_timed_machine_is_quiet(host)) {
            return false;
        }
    }
    return clu_timed_stands_at(timed, 0);
}

/* Branches would write to one file. */
static bool refuse_traces(const CluTimed *timed, GError **error)
{
    const char *traced = NULL;

    for (unsigned i = 0; i < timed->plan->links->len; i++) {
        const CluPlanLink *link = timed->plan->links->pdata[i];

        if (clu_cluster_link_trace(timed->cluster, link)) {
            traced = link->link->name;
        }
    }
    for (unsigned i = 0; i < timed->plan->insides->len; i++) {
        const CluPlanInside *inside = timed->plan->insides->pdata[i];

        if (clu_cluster_inside_trace(timed->cluster, inside)) {
            traced = inside->name;
        }
    }
    if (traced) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the trace of link '%s' is on, and its branches would "
                    "write to one file; switch it off",
                    traced);
    }
    return !traced;
}

bool clu_timed_make_template(CluTimed *timed, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    clu_branch_check(timed->plan, errors);
    if (topo_errors_count(errors) > 0) {
        return clu_error_refuse(error, errors);
    }
    if (!refuse_traces(timed, error)) {
        return false;
    }
    for (unsigned i = 0; i < timed->plan->hosts->len; i++) {
        CluHost *host = clu_cluster_host(timed->cluster, i);

        if (clu_host_has_process(host) &&
            !clu_timed_machine_probe(host, error)) {
            return false;
        }
    }
    timed->is_template =
        wait_for_all(timed, clu_timed_machine_is_probed, error);
    return timed->is_template;
}

/* All machines have made a branch: this cluster is theirs, with the faults of
 * @plan. It writes no log. */
static bool take_over(CluTimed *timed, const CluPlan *plan, GError **error)
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

bool clu_timed_branch(CluTimed *timed, const CluDir *dir, int alive,
                      char *const *sets, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    CluPlan *plan = clu_branch_plan(timed->plan, sets,
                                    timed_board_limit(timed->board), errors);

    if (!plan) {
        return clu_error_refuse(error, errors);
    }
    clu_cluster_move(timed->cluster, dir, alive);
    if (!clu_timed_branch_model(timed, sets, error)) {
        return false;
    }
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        if (!clu_timed_machine_branch(timed,
                                      clu_cluster_host(timed->cluster, i), plan,
                                      clu_dir_path(dir), alive, error)) {
            return false;
        }
    }
    return wait_for_all(timed, clu_timed_machine_is_branched, error) &&
           take_over(timed, plan, error);
}
