/* SPDX-License-Identifier: MIT */
#include "stu_lend.h"

#include "clu_lend_plan.h"
#include "clu_plan.h"

bool stu_lend_append(GString *text, const TopoDescription *description,
                     Table *table)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(CluPlan) plan = clu_plan_new(description, errors);
    g_autoptr(GArray) rows = plan ? clu_lend_plan_new(plan) : NULL;
    g_autofree ExpLendMachine *machines = NULL;
    bool fit = true;

    if (!rows || rows->len == 0) {
        return true;
    }
    machines = g_new(ExpLendMachine, rows->len);
    for (unsigned i = 0; i < rows->len; i++) {
        const CluLendPlan *row = &g_array_index(rows, CluLendPlan, i);

        machines[i] = (ExpLendMachine){row->adapter->device->path,
                                       clu_lend_plan_note(row),
                                       row->space_bytes, row->window_bytes};
        fit = fit && row->window_bytes;
    }
    g_string_append(text, "\nMachines (farside cluster up), if all devices are "
                          "added before the first is borrowed:\n");
    exp_lend_machines_append(text, table, machines, rows->len);
    for (unsigned i = 0; i < rows->len; i++) {
        g_free(machines[i].note);
    }
    return fit;
}
