/* SPDX-License-Identifier: MIT */
#include "img_timed.h"

#include "clu_error.h"
#include "img_hash.h"
#include "clu_timed_model.h"
#include "exp_crossing.h"

/* In the process of the model */
static void run_model(void *owner, const CluPlan *plan, int board, int control)
{
    const ImgNotes *notes = owner;
    g_autoptr(GError) error = NULL;

    clu_timed_model_run(plan, board, control, &error);
    img_tell(notes, "farside cluster up: the model has ended: %s",
             error ? error->message : "without a reason");
}

/* The head of the log lives as long as this process and the supervisor. */
static bool prepare_logs(CluTimed *timed, const CluPlan *plan,
                         const CluPaths *paths, const char *plugin,
                         const ImgTimed *logs, GError **error)
{
    CluTimedScript *head;

    if (!logs->log && !logs->script) {
        return true;
    }
    head = img_head(plan, paths, plugin, logs->sets, error);
    if (!head) {
        return false;
    }
    if (logs->script) {
        clu_timed_set_script(timed, logs->script);
        if (!img_head_fits(logs->script_file, logs->script, head, error)) {
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

CluTimed *img_timed(const CluPlan *plan, const CluPaths *paths,
                    const ImgTimed *logs, const ImgNotes *notes,
                    TopoErrors *errors, GError **error)
{
    g_autofree int64_t *least = g_new0(int64_t, plan->links->len + 1);
    g_autofree char *plugin = img_find_timed(error);
    g_autoptr(CluTimed) timed = NULL;

    if (!plugin || !exp_crossings_least(plan->description, least, error)) {
        return NULL;
    }
    timed = clu_timed_new(plan, paths[0].dir, plugin, least, errors, error);
    if (!timed || !prepare_logs(timed, plan, paths, plugin, logs, error)) {
        return NULL;
    }
    clu_timed_set_model(timed, run_model, (void *)notes);
    clu_timed_set_steps(timed, logs->steps);
    clu_timed_set_pace(timed, logs->slice_ns, logs->spins);
    return g_steal_pointer(&timed);
}
