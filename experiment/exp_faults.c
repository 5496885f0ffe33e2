/* SPDX-License-Identifier: MIT */
#include "exp_faults_priv.h"

#include <string.h>

#include "exp_params_priv.h"
#include "fab_fault.h"

/* Without losses a completion time-out would only cost events, so requesters
 * have it only if it is given or TLPs can be lost. The specification asks for
 * 50 us to 50 ms, and recommends no less than 10 ms (PCIe 5.0 s2.8, s7.5.3.16).
 */
#define COMPLETION_TIMEOUT (10 * SIM_MS)

/* The least share of TLPs that must cross a link with bit errors at once. */
#define UNHARMED_LEAST 1e-6

/* Faults of machines, and those that wait for what only machines have, belong
 * to timed clusters. */
static bool is_simulated(const TopoFault *fault)
{
    return !topo_fault_is_of_machine(fault) &&
           fault->event != TOPO_FAULT_ON_MESSAGE;
}

static bool contains_errors(const TopoPart *part)
{
    return strcmp(topo_part_text(part, "dpc.trigger"), "off") != 0;
}

/* Returns whether faults, or containment of what flows do wrong, can lose TLPs
 * of the description. */
static bool may_lose(const TopoDescription *description)
{
    for (unsigned i = 0; i < description->faults->len; i++) {
        const TopoFault *fault = description->faults->pdata[i];

        /* A poisoned TLP can trigger containment. */
        if (is_simulated(fault) && fault->action != TOPO_FAULT_BIT_ERRORS &&
            fault->action != TOPO_FAULT_DEGRADE) {
            return true;
        }
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        if (contains_errors(host->cpu)) {
            return true;
        }
        for (unsigned j = 0; j < host->switches->len; j++) {
            const TopoSwitch *sw = host->switches->pdata[j];

            if (contains_errors(sw->part)) {
                return true;
            }
        }
    }
    return false;
}

static void build_timeout(const ExpFabric *fabric,
                          const TopoDescription *description)
{
    const TopoWorkload *workload = description->workload;
    SimTime timeout = workload ? workload->completion_timeout_ps : 0;

    if (!timeout && may_lose(description)) {
        timeout = COMPLETION_TIMEOUT;
    }
    fab_fabric_set_completion_timeout(exp_fabric(fabric), timeout);
}

static bool has_finite(const FabCredits *credits)
{
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        if (credits->header[cls] != FAB_CREDITS_INFINITE ||
            credits->data[cls] != FAB_CREDITS_INFINITE) {
            return true;
        }
    }
    return false;
}

/* @port is the lower end. */
static void build_overflow(const TopoFault *fault, FabPort *port,
                           TopoErrors *errors)
{
    if (fault->end == TOPO_FAULT_UPPER_END) {
        port = fab_port_peer(port);
    }
    if (!has_finite(fab_port_credits(port))) {
        topo_errors_add(errors, fault->place,
                        "fault %s: all credits of %s.%s are infinite, so it "
                        "cannot overflow; give its part finite `buffers`",
                        fault->name, fab_component_name(fab_port_owner(port)),
                        fab_port_name(port));
        return;
    }
    fab_port_set_overflow(port, (uint32_t)fault->surplus);
}

/* Checks that the link of @port can do what @fault leaves of it. */
static bool check_degrade(const TopoFault *fault, const FabPort *port,
                          TopoErrors *errors)
{
    FabSpeed speed = fault->speed_mtps ? exp_params_speed(fault->speed_mtps)
                                       : fab_port_speed(port);
    uint32_t width = fault->width ? fault->width : fab_port_width(port);

    if (speed > fab_port_speed(port) || width > fab_port_width(port)) {
        topo_errors_add(errors, fault->place,
                        "fault %s: the link is x%u at %s, and cannot degrade "
                        "to x%u at %s; write less",
                        fault->name, fab_port_width(port),
                        fab_speed_name(fab_port_speed(port)), width,
                        fab_speed_name(speed));
        return false;
    }
    return true;
}

/* Checks that the run ends: with too many bit errors the largest TLPs are sent
 * again for ever. A fault that ends, and a run that is stopped, may have them.
 */
static bool check_bit_errors(const TopoFault *fault,
                             const TopoDescription *description,
                             const FabPort *port, TopoErrors *errors)
{
    const TopoWorkload *workload = description->workload;
    double rate = (double)fault->rate_num / (double)fault->rate_den;

    if (fault->for_ps > 0 || !workload || workload->stop_ps > 0 ||
        fab_port_unharmed(port, rate) >= UNHARMED_LEAST) {
        return true;
    }
    topo_errors_add(errors, fault->place,
                    "fault %s: fewer than one in a million TLPs with the "
                    "largest payload would cross the link, so the run would "
                    "not end; write a smaller `rate`, `for`, or a `stop` of "
                    "the workload",
                    fault->name);
    return false;
}

static FabFaultAction action_of(const TopoFault *fault)
{
    switch (fault->action) {
    case TOPO_FAULT_LINK_DOWN:
        return FAB_FAULT_LINK_DOWN;
    case TOPO_FAULT_DEGRADE:
        return FAB_FAULT_DEGRADE;
    case TOPO_FAULT_POISON:
        return FAB_FAULT_POISON;
    default:
        return FAB_FAULT_BIT_ERRORS;
    }
}

static FabFaultEvent event_of(const TopoFault *fault)
{
    switch (fault->event) {
    case TOPO_FAULT_ON_TLP:
        return FAB_FAULT_ON_TLP;
    case TOPO_FAULT_ON_WRITE:
        return FAB_FAULT_ON_WRITE;
    case TOPO_FAULT_ON_READ:
        return FAB_FAULT_ON_READ;
    case TOPO_FAULT_ON_COMPLETION:
        return FAB_FAULT_ON_COMPLETION;
    case TOPO_FAULT_ON_DOORBELL:
        return FAB_FAULT_ON_DOORBELL;
    case TOPO_FAULT_ON_DLLP:
        return FAB_FAULT_ON_DLLP;
    default:
        return FAB_FAULT_AT_TIME;
    }
}

static void build_fault(const ExpFabric *fabric,
                        const TopoDescription *description,
                        const TopoFault *fault, TopoErrors *errors)
{
    const TopoLink *link = fault->link;
    const FabComponent *component =
        link ? exp_device(fabric, link->end[0])
             : fab_fabric_find(exp_fabric(fabric), fault->element);
    FabPort *port = fab_component_port(component, link ? link->port[0] + 1 : 0);
    FabFault params = {
        .action = action_of(fault),
        .event = event_of(fault),
        .at = fault->at_ps,
        .number = (uint64_t)fault->number,
        .duration = fault->for_ps,
        .training = fault->training_ps,
        .rate = (double)fault->rate_num / (double)fault->rate_den,
        .count = (uint64_t)fault->count,
        .width = fault->width,
        .from_port = fault->end != TOPO_FAULT_UPPER_END,
        .from_peer = fault->end != TOPO_FAULT_LOWER_END,
    };

    if (fault->action == TOPO_FAULT_OVERFLOW) {
        build_overflow(fault, port, errors);
        return;
    }
    if (fault->action == TOPO_FAULT_DEGRADE &&
        !check_degrade(fault, port, errors)) {
        return;
    }
    if (fault->action == TOPO_FAULT_BIT_ERRORS &&
        !check_bit_errors(fault, description, port, errors)) {
        return;
    }
    if (fault->speed_mtps) {
        params.speed = exp_params_speed(fault->speed_mtps);
    }
    fab_port_add_fault(port, &params);
}

void exp_faults_build(const ExpFabric *fabric,
                      const TopoDescription *description, TopoErrors *errors)
{
    build_timeout(fabric, description);
    for (unsigned i = 0; i < description->faults->len; i++) {
        const TopoFault *fault = description->faults->pdata[i];

        if (is_simulated(fault)) {
            build_fault(fabric, description, fault, errors);
        }
    }
}
