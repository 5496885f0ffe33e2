/* SPDX-License-Identifier: MIT */
/* A cluster becomes a template, and branches of it. */
#include <unistd.h>

#include "clu_branch.h"
#include "clu_cluster_priv.h"
#include "clu_error.h"
#include "clu_timed.h"

/* Machines answer when their main loops come round, which takes real time: the
 * processes may get few turns of the processor, or none for seconds. */
#define TURN_US   2000
#define ANSWER_US (60 * G_USEC_PER_SEC)

typedef int Answered(CluHost *host, GError **error);

static bool wait_for_all(CluCluster *cluster, Answered *answered,
                         GError **error)
{
    CluTimed *timed = clu_timed_of(cluster->setup->pace);
    gint64 end = g_get_monotonic_time() + ANSWER_US;

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];
        int status = 0;

        while (clu_host_has_process(host) &&
               (status = answered(host, error)) == 0 &&
               g_get_monotonic_time() < end) {
            clu_timed_wake(timed);
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

const CluHost *clu_cluster_busy_host(const CluCluster *cluster)
{
    const CluTimed *timed = clu_timed_of(cluster->setup->pace);

    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        const CluHost *host = cluster->hosts->pdata[i];

        if (clu_timed_stands_at(timed, 0) && clu_host_has_process(host) &&
            clu_timed_is_busy(timed, clu_host_plan(host))) {
            return host;
        }
    }
    return NULL;
}

bool clu_cluster_is_quiet(const CluCluster *cluster)
{
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        const CluHost *host = cluster->hosts->pdata[i];

        if (clu_host_has_process(host) && !clu_host_is_quiet(host)) {
            return false;
        }
    }
    return clu_timed_stands_at(clu_timed_of(cluster->setup->pace), 0);
}

bool clu_cluster_make_template(CluCluster *cluster, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    clu_branch_check(clu_timed_plan(clu_timed_of(cluster->setup->pace)),
                     errors);
    if (topo_errors_count(errors) > 0) {
        return clu_error_refuse(error, errors);
    }
    for (unsigned i = 0; i < cluster->setup->plan->links->len; i++) {
        if (cluster->traces[i]) {
            const CluPlanLink *link = cluster->setup->plan->links->pdata[i];

            g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                        "the trace of link '%s' is on, and its branches would "
                        "write to one file; switch it off",
                        link->link->name);
            return false;
        }
    }
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        CluHost *host = cluster->hosts->pdata[i];

        if (clu_host_has_process(host) && !clu_host_probe(host, error)) {
            return false;
        }
    }
    if (!wait_for_all(cluster, clu_host_is_probed, error)) {
        return false;
    }
    clu_timed_set_template(clu_timed_of(cluster->setup->pace));
    return true;
}

bool clu_cluster_branch(CluCluster *cluster, const CluDir *dir, int alive,
                        char *const *sets, GError **error)
{
    CluTimed *timed = clu_timed_of(cluster->setup->pace);
    g_autoptr(TopoErrors) errors = topo_errors_new();
    CluPlan *plan = clu_branch_plan(cluster->setup->plan, sets,
                                    clu_timed_limit(timed), errors);

    if (!plan) {
        return clu_error_refuse(error, errors);
    }
    close(cluster->shared.alive);
    cluster->shared.alive = alive;
    cluster->dir = dir;
    if (!clu_timed_branch_model(timed, sets, error)) {
        return false;
    }
    for (unsigned i = 0; i < cluster->hosts->len; i++) {
        if (!clu_host_branch(cluster->hosts->pdata[i], plan, clu_dir_path(dir),
                             error)) {
            return false;
        }
    }
    return wait_for_all(cluster, clu_host_is_branched, error) &&
           clu_timed_branch(timed, plan, error);
}
