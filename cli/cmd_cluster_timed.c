/* SPDX-License-Identifier: MIT */
#include "cmd_cluster_timed.h"

#include <stdio.h>

#include "clu_error.h"
#include "cmd_cluster_log.h"
#include "clu_timed_model.h"
#include "exp_crossing.h"

/* In the process of the model */
static void run_model(const CluPlan *plan, int board, int control)
{
    g_autoptr(GError) error = NULL;

    clu_timed_model_run(plan, board, control, &error);
    fprintf(stderr, "farside cluster up: the model has ended: %s\n",
            error ? error->message : "without a reason");
}

char *cmd_cluster_timed_plugin(GError **error)
{
    const char *given = g_getenv("FARSIDE_QEMU_TIMED");
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *dir = g_path_get_dirname(program ? program : ".");
    g_autofree char *plugin =
        given ? g_strdup(given)
              : g_build_filename(dir, "..", "qemu-timed",
                                 "farside-qemu-timed.so", NULL);

    if (!g_file_test(plugin, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE,
                    "the object for virtual time does not exist: %s; `make "
                    "cluster` builds it",
                    plugin);
        return NULL;
    }
    return g_steal_pointer(&plugin);
}

/* The head of the log lives as long as this process and the supervisor. */
static bool prepare_logs(CluTimed *timed, const CluPlan *plan,
                         const CluPaths *paths, const char *plugin,
                         const CmdClusterTimed *logs, GError **error)
{
    CluTimedScript *head;

    if (!logs->log && !logs->script) {
        return true;
    }
    head = cmd_cluster_log_head(plan, paths, plugin, logs->sets, error);
    if (!head) {
        return false;
    }
    if (logs->script) {
        clu_timed_set_script(timed, logs->script);
        if (!cmd_cluster_log_fits(logs->script_file, logs->script, head,
                                  error)) {
            clu_timed_script_free(head);
            return false;
        }
    }
    if (logs->log) {
        clu_timed_set_log(timed, logs->log, head);
    } else {
        clu_timed_script_free(head);
    }
    return true;
}

CluTimed *cmd_cluster_timed(const CluPlan *plan, const char *dir,
                            const CluPaths *paths, const CmdClusterTimed *logs,
                            TopoErrors *errors, GError **error)
{
    g_autofree int64_t *least =
        g_new0(int64_t, plan->description->links->len + 1);
    g_autofree int64_t *latencies = g_new0(int64_t, plan->links->len + 1);
    g_autofree char *plugin = cmd_cluster_timed_plugin(error);
    g_autoptr(CluTimed) timed = NULL;

    if (!plugin || !exp_crossings_least(plan->description, least, error)) {
        return NULL;
    }
    for (unsigned i = 0; i < plan->links->len; i++) {
        const CluPlanLink *link = plan->links->pdata[i];
        guint index = 0;

        g_ptr_array_find(plan->description->links, link->link, &index);
        latencies[i] = least[index];
    }
    timed =
        clu_timed_new(plan, dir, plugin, latencies, run_model, errors, error);
    if (!timed || !prepare_logs(timed, plan, paths, plugin, logs, error)) {
        return NULL;
    }
    clu_timed_set_steps(timed, logs->steps);
    clu_timed_set_pace(timed, logs->slice_ns, logs->spins);
    return g_steal_pointer(&timed);
}
