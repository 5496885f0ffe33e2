/* SPDX-License-Identifier: MIT */
#include "stu_check.h"

#include "clu_plan_chips.h"
#include "exp_plan.h"
#include "exp_point.h"
#include "img_files.h"
#include "rep_fidelity.h"
#include "rep_result.h"
#include "topo_home.h"

/* Checks the plot of @description, which has no errors, and its values. */
static void check_plot(const TopoDescription *description, TopoErrors *errors)
{
    g_autoptr(Table) outline = exp_plan_outline_whole(description, errors);

    if (outline) {
        rep_result_check_plot(description, outline, errors);
    }
    rep_fidelity_check(description, errors);
}

char *stu_check(const char *file, const GPtrArray *changes, TopoErrors *errors)
{
    g_autofree char *path = topo_home_resolve(file);
    g_autoptr(TopoDescription) description =
        topo_load_partly(path, changes, errors);
    g_autofree char *size = NULL;

    if (!description) {
        return NULL;
    }
    if (description->sound >= TOPO_SOUND_HARDWARE) {
        img_check_memory(description, errors);
        clu_plan_check_chips(description, errors);
    }
    if (description->workload) {
        exp_point_check_columns(description, errors);
    }
    exp_plan_check(description, errors);
    if (description->sound == TOPO_SOUND_ALL) {
        check_plot(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        return NULL;
    }
    size = topo_plan_size_text(description);
    return g_strdup_printf("\"%s\", %s", description->name, size);
}
