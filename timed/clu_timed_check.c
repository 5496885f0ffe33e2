/* SPDX-License-Identifier: MIT */
#include "clu_timed_check.h"

#include <string.h>

#include "clu_faults.h"
#include "clu_plan_chips.h"
#include "clu_plan_options.h"
#include "timed_board.h"
#include "topo_units.h"

#define PS_PER_NS 1000

/*
 * Models that do all that a guest sees at virtual times: in an access, a bottom
 * half, or a timer of the virtual clock. Threads and the main loop of QEMU run
 * at real times. edu computes factorials in a thread; the rest of it is here.
 */
static const char *const models[] = {"nvme", "farside-gpu", "edu"};

static bool keeps_time(const char *type)
{
    if (clu_plan_is_ntb_type(type)) {
        return true;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(models); i++) {
        if (strcmp(type, models[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *bypass(CluBackend backend)
{
    switch (backend) {
    case CLU_BACKEND_NETWORK:
        return "a network";
    case CLU_BACKEND_REGION:
    case CLU_BACKEND_DOORBELL:
        return "shared memory";
    default:
        return NULL;
    }
}

bool clu_timed_is_drive(const CluPlanDevice *device)
{
    return device->backend == CLU_BACKEND_DISK ||
           device->backend == CLU_BACKEND_FILE ||
           device->backend == CLU_BACKEND_NULL;
}

static bool has_times(const TopoPart *part)
{
    return topo_part_kind(part) == TOPO_PART_ENDPOINT &&
           topo_part_has(part, "nvme.overhead");
}

/* With ioeventfd QEMU's main loop serves the doorbells of a drive. */
static void check_ioeventfd(const TopoDevice *topo, TopoErrors *errors)
{
    static const char *const off[] = {"off", "no", "false", "n", NULL};
    const char *value = clu_plan_option_value(topo->vm, "ioeventfd");

    if (value && !g_strv_contains(off, value)) {
        topo_errors_add(errors, clu_plan_option_place(topo->vm, "ioeventfd"),
                        "%s: with ioeventfd QEMU serves doorbells at real "
                        "times; remove it, or write ioeventfd: off",
                        topo->path);
    }
}

static void check_device(const CluPlanDevice *device, TopoErrors *errors)
{
    const TopoDevice *topo = device->device;

    if (bypass(device->backend)) {
        topo_errors_add(errors, topo->place,
                        "%s uses %s, which has no virtual time; leave it out "
                        "of a timed cluster",
                        topo->path, bypass(device->backend));
    } else if (!keeps_time(device->type)) {
        topo_errors_add(errors, topo->vm->device_place,
                        "%s: QEMU's device '%s' may act at real times; a timed "
                        "cluster has nvme, farside-gpu and edu, so take one of "
                        "them, or leave `vm:` out",
                        topo->path, device->type);
    }
    check_ioeventfd(topo, errors);
    if (clu_timed_is_drive(device) && !has_times(topo->part)) {
        topo_errors_add(errors, topo->place,
                        "%s is a drive, but its part '%s' does not say how "
                        "long it takes; choose one with `nvme:`, such as "
                        "optane-900p",
                        topo->path, topo_part_name(topo->part));
    }
}

/* QEMU serves folders of this machine by threads, at real times. */
static void check_folders(const CluPlanHost *host, TopoErrors *errors)
{
    const TopoVm *vm = host->host->vm;

    if (vm->share) {
        topo_errors_add(errors, vm->share_place,
                        "host '%s' shares a folder of this machine, which is "
                        "served in real time; remove `share`, and bring files "
                        "in by `files` or `farside cluster cp`",
                        host->host->name);
    }
    if (vm->runs_inner) {
        const TopoInner *first =
            vm->inner->len > 0 ? vm->inner->pdata[0] : NULL;

        topo_errors_add(errors, first ? first->place : host->host->place,
                        "host '%s' starts machines from folders of this "
                        "machine, which are served in real time; remove `vms`",
                        host->host->name);
    }
}

static void check_host(const CluPlanHost *host, TopoErrors *errors)
{
    const TopoVm *vm = host->host->vm;

    if (vm->cpus != 1) {
        topo_errors_add(errors, vm->place,
                        "host '%s' has %u CPUs; a machine in virtual time has "
                        "one, write cpus: 1",
                        host->host->name, vm->cpus);
    }
    if (vm->accel == TOPO_ACCEL_KVM) {
        topo_errors_add(errors, vm->place,
                        "host '%s' asks for KVM; a machine in virtual time "
                        "needs TCG, write accel: tcg",
                        host->host->name);
    }
    check_folders(host, errors);
    for (unsigned i = 0; i < host->devices->len; i++) {
        check_device(host->devices->pdata[i], errors);
    }
}

void clu_timed_check(const CluPlan *plan, TopoErrors *errors)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        check_host(plan->hosts->pdata[i], errors);
    }
    clu_faults_check(plan, errors);
    if (plan->hosts->len > TIMED_BOARD_MACHINES ||
        plan->links->len > TIMED_BOARD_LINKS) {
        topo_errors_add(errors,
                        ((CluPlanHost *)plan->hosts->pdata[0])->host->place,
                        "%u hosts with %u links; a timed cluster has at most "
                        "%d hosts and %d links",
                        plan->hosts->len, plan->links->len,
                        TIMED_BOARD_MACHINES, TIMED_BOARD_LINKS);
    }
}

void clu_timed_tell_gaps(const CluPlan *plan,
                         void (*tell)(void *owner, const char *text),
                         void *owner)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *host = plan->hosts->pdata[i];
        g_autofree char *place = NULL;
        g_autofree char *text = NULL;
        const TopoSwitch *sw;

        if (host->switches->len == 0) {
            continue;
        }
        sw = ((const CluPlanSwitch *)host->switches->pdata[0])->topo;
        place = topo_place_to_string(sw->place);
        text = g_strdup_printf(
            "%s: warning: an access that stays inside host '%s' takes no "
            "virtual time, also through %s; only what crosses a cable takes "
            "the time of the switches on its way",
            place, host->host->name, sw->path);
        tell(owner, text);
    }
}

bool clu_timed_pace_parse(const char *slice, int spins, int64_t *ret_slice_ns,
                          GError **error)
{
    int64_t ps = 0;

    if (slice && (!topo_units_parse(TOPO_UNIT_TIME, slice, &ps, NULL) ||
                  ps < PS_PER_NS || ps % PS_PER_NS != 0)) {
        return topo_refuse_option(
            error,
            "--slice is a whole number of ns, such as 350ns, and not "
            "'%s'",
            slice);
    }
    if (spins < -1 || spins > TIMED_BOARD_SPINS) {
        return topo_refuse_option(error, "--spins is 0 to %d",
                                  TIMED_BOARD_SPINS);
    }
    *ret_slice_ns = ps / PS_PER_NS;
    return true;
}
