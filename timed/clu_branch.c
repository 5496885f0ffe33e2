/* SPDX-License-Identifier: MIT */
#include "clu_branch.h"

#include <errno.h>
#include <string.h>

#include "clu_error.h"
#include "clu_faults.h"

/* ---- The plan --------------------------------------------------------- */

/* True if @plan's description reads as it did. */
static bool is_unchanged(const CluPlan *plan)
{
    const TopoDescription *old = plan->description;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(TopoDescription) now = topo_load(old->file, old->changes, errors);

    return now && strcmp(now->hash, old->hash) == 0;
}

static TopoDescription *load(const CluPlan *plan, char *const *sets,
                             TopoErrors *errors)
{
    const TopoDescription *old = plan->description;
    g_autoptr(GPtrArray) changes = topo_changes_new();

    for (unsigned i = 0; i < old->changes->len; i++) {
        g_ptr_array_add(changes, topo_change_ref(old->changes->pdata[i]));
    }
    for (; *sets; sets++) {
        TopoChange *change = topo_change_parse(*sets, topo_place_set(), errors);

        if (!change) {
            return NULL;
        }
        g_ptr_array_add(changes, change);
        if (!g_str_has_prefix(topo_change_path(change), "faults")) {
            topo_errors_add(errors, topo_change_place(change),
                            "%s is as it was at the checkpoint; only `faults` "
                            "of a branch can be set",
                            topo_change_path(change));
        }
    }
    return topo_load(old->file, changes, errors);
}

CluPlan *clu_branch_plan(const CluPlan *plan, char *const *sets, int64_t now_ns,
                         TopoErrors *errors)
{
    TopoPlace place = {plan->description->file, 0, 0};
    TopoDescription *description;
    CluPlan *branch = NULL;

    if (!is_unchanged(plan)) {
        topo_errors_add(errors, place,
                        "the description, or a part of it, has changed since "
                        "the cluster came up; put it back, or make a new "
                        "cluster and checkpoint");
        return NULL;
    }
    description = load(plan, sets, errors);
    if (description && topo_errors_count(errors) == 0) {
        branch = clu_plan_new(description, errors);
    }
    if (branch) {
        clu_faults_check(branch, errors);
        clu_faults_check_later(branch, now_ns, errors);
    }
    /* The plan and its description live as long as the process. */
    return topo_errors_count(errors) == 0 ? branch : NULL;
}

static void check_host(const CluPlanHost *host, TopoErrors *errors)
{
    const TopoVm *vm = host->host->vm;

    if (vm->gdb || vm->qmp) {
        topo_errors_add(errors, vm->place,
                        "host '%s' has %s, which cannot serve several "
                        "branches; remove it",
                        host->host->name, vm->gdb ? "`gdb`" : "`qmp`");
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const CluPlanDevice *device = host->devices->pdata[i];

        if (device->backend == CLU_BACKEND_FILE) {
            topo_errors_add(errors, device->device->vm->image_place,
                            "%s is on your file %s, to which all branches "
                            "would write; give a size in place of the file",
                            device->device->path, device->name);
        }
    }
}

void clu_branch_check(const CluPlan *plan, TopoErrors *errors)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < plan->hosts->len; i++) {
        check_host(plan->hosts->pdata[i], errors);
    }
    if (faults->len > 0) {
        const TopoFault *first = faults->pdata[0];

        topo_errors_add(errors, first->place,
                        "a cluster with a checkpoint has no `faults` of its "
                        "own; remove them, and give them to its branches");
    }
}

/* ---- Processes -------------------------------------------------------- */

bool clu_branch_answer(int line, TimedControlPacket *packet, int timeout_ms,
                       const char *what, pid_t *ret_pid, GError **error)
{
    const char *reason = packet->text;

    *ret_pid = -1;
    if (timed_control_receive(line, packet, timeout_ms)) {
        if (g_str_has_prefix(packet->text, "ok ")) {
            *ret_pid =
                (pid_t)g_ascii_strtoll(packet->text + strlen("ok "), NULL, 10);
            return true;
        }
        if (g_str_has_prefix(reason, "no ")) {
            reason += strlen("no ");
        }
    } else if (errno == EAGAIN) {
        return true;
    } else {
        reason = errno == EPIPE ? "it has ended" : g_strerror(errno);
    }
    g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED,
                "%s cannot make a branch: %s", what, reason);
    return false;
}
