/* SPDX-License-Identifier: MIT */
#include "clu_faults.h"

#include <string.h>

#include "clu_plan_links.h"
#include "farside_wire.h"
#include "timed_board.h"

#define PS_PER_NS 1000

/* Rounded up, as the model rounds its arrivals. */
static int64_t to_ns(int64_t ps)
{
    return (ps + PS_PER_NS - 1) / PS_PER_NS;
}

static const CluPlanHost *find_host(const CluPlan *plan, const TopoHost *host)
{
    for (unsigned i = 0; i < plan->hosts->len; i++) {
        const CluPlanHost *its = plan->hosts->pdata[i];

        if (its->host == host) {
            return its;
        }
    }
    return NULL;
}

static const CluPlanDevice *find_device(const CluPlan *plan,
                                        const TopoDevice *device)
{
    const CluPlanHost *host = device ? find_host(plan, device->host) : NULL;

    for (unsigned i = 0; host && i < host->devices->len; i++) {
        const CluPlanDevice *its = host->devices->pdata[i];

        if (its->device == device) {
            return its;
        }
    }
    return NULL;
}

/* True if the fault is that of the device itself: it does not answer. */
static bool is_of_device(const TopoFault *fault)
{
    return fault->action == TOPO_FAULT_REMOVE ||
           (fault->action == TOPO_FAULT_LINK_DOWN && fault->element);
}

/* ---- Check ------------------------------------------------------------ */

static void check_device(const CluPlan *plan, const TopoFault *fault,
                         TopoErrors *errors)
{
    const CluPlanDevice *device = find_device(plan, fault->device);

    if (!fault->device) {
        topo_errors_add(errors, fault->target_place,
                        "%s is a switch, which a cluster does not emulate; "
                        "name a cable, or a device",
                        fault->element);
    } else if (!device) {
        topo_errors_add(errors, fault->target_place,
                        "%s is not emulated; name a device with `vm:`",
                        fault->device->path);
    } else if (device->chip) {
        topo_errors_add(errors, fault->target_place,
                        "%s is a partition of chip %s, which a timed cluster "
                        "does not take away; name its host %s, with action "
                        "kill or restart",
                        fault->device->path, device->chip->name,
                        fault->device->host->name);
    } else if (device->link) {
        topo_errors_add(errors, fault->target_place,
                        "%s is an NTB, which a timed cluster does not take "
                        "away; name its cable %s, with action link-down",
                        fault->device->path, device->link->link->name);
    }
}

/* Refuses events that no machine sees, and losses in the model of which no
 * bound knows: the machines would wait for ever. */
static void check_link(const TopoFault *fault, TopoErrors *errors)
{
    if (fault->action == TOPO_FAULT_POISON ||
        fault->action == TOPO_FAULT_OVERFLOW) {
        topo_errors_add(errors, fault->target_place,
                        "fault %s loses TLPs of which the machines learn "
                        "nothing; a timed cluster has bit-errors, degrade and "
                        "link-down, so write one of them, or use `farside run`",
                        fault->name);
    } else if (fault->action == TOPO_FAULT_LINK_DOWN &&
               (fault->event == TOPO_FAULT_ON_TLP ||
                fault->event == TOPO_FAULT_ON_COMPLETION)) {
        topo_errors_add(errors, fault->when_place,
                        "no machine sees a %s; write one of write, read, "
                        "doorbell, message",
                        topo_fault_event_name(fault->event));
    } else if (fault->event && fault->element &&
               fault->action == TOPO_FAULT_LINK_DOWN &&
               fault->end != TOPO_FAULT_BOTH_ENDS) {
        topo_errors_add(errors, fault->when_place,
                        "a timed cluster counts what arrives at the host of "
                        "%s; remove `end`",
                        fault->element);
    }
}

void clu_faults_check(const CluPlan *plan, TopoErrors *errors)
{
    const GPtrArray *faults = plan->description->faults;

    if (faults->len > TIMED_BOARD_FAULTS) {
        const TopoFault *first = faults->pdata[TIMED_BOARD_FAULTS];

        topo_errors_add(errors, first->place,
                        "a timed cluster has at most %d faults, not %u; remove "
                        "some",
                        TIMED_BOARD_FAULTS, faults->len);
    }
    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (!topo_fault_is_of_machine(fault)) {
            check_link(fault, errors);
        }
        if (is_of_device(fault)) {
            check_device(plan, fault, errors);
        }
    }
}

void clu_faults_check_later(const CluPlan *plan, int64_t now_ns,
                            TopoErrors *errors)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (fault->action == TOPO_FAULT_START_LATE) {
            topo_errors_add(errors, fault->place,
                            "fault %s: %s is switched on already; write "
                            "restart",
                            fault->name, fault->host->name);
        } else if (!fault->event && to_ns(fault->at_ps) <= now_ns) {
            topo_errors_add(errors, fault->place,
                            "fault %s is at %" G_GINT64_FORMAT " ns, but the "
                            "branch begins at %" G_GINT64_FORMAT " ns; write a "
                            "later time",
                            fault->name, to_ns(fault->at_ps), now_ns);
        }
    }
}

/* ---- For machines ----------------------------------------------------- */

int64_t clu_faults_training(const CluPlan *plan, const CluPlanLink *link,
                            int64_t usual)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (fault->action == TOPO_FAULT_LINK_DOWN &&
            fault->link == link->link) {
            usual = MIN(usual, MAX(to_ns(fault->training_ps), 1));
        }
    }
    return usual;
}

/* A fault, and of the events for which it waits, those that have come. */
typedef struct Waiting {
    const TopoFault *fault;
    unsigned index; /* in the description */
    TimedBoardEvents events;
} Waiting;

/* True if the fault began with an event that came to an earlier process. */
static bool has_begun(const Waiting *waiting)
{
    return waiting->fault->event &&
           waiting->events.count >= waiting->fault->number;
}

static void append(GString *value, const Waiting *waiting, const char *action,
                   int64_t lookahead_ns, const char *device)
{
    const TopoFault *fault = waiting->fault;
    /* When the device of `link-down` is there again, it is trained, too. */
    bool is_trained = strcmp(action, "remove") == 0 && fault->for_ps > 0;
    int64_t for_ps = fault->for_ps + (is_trained ? fault->training_ps : 0);

    g_string_append_printf(value, ",fault=%u:", waiting->index);
    if (has_begun(waiting)) {
        g_string_append_printf(value, "%" G_GINT64_FORMAT,
                               waiting->events.last_ns);
    } else if (fault->event) {
        g_string_append_printf(value, "%s:%" G_GINT64_FORMAT,
                               topo_fault_event_name(fault->event),
                               fault->number - waiting->events.count);
    } else {
        g_string_append_printf(value, "%" G_GINT64_FORMAT, to_ns(fault->at_ps));
    }
    g_string_append_printf(
        value,
        ":%s:%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ":%" G_GINT64_FORMAT ":%s",
        action, to_ns(for_ps), to_ns(fault->training_ps), lookahead_ns, device);
}

/* Each end of a cable does the same, unless only one of them sees the event:
 * the receiver of the packets that are meant. */
static void append_cut(const CluPlan *plan, const CluPlanHost *host,
                       const Waiting *waiting, int64_t usual, GString *value)
{
    const TopoFault *fault = waiting->fault;
    const CluPlanLink *link = clu_plan_find_link(plan, fault->link);
    unsigned seer = fault->end == TOPO_FAULT_LOWER_END ? 1 : 0;

    for (unsigned end = 0; end < 2; end++) {
        if (link->host[end] == host && (!fault->event || end == seer)) {
            append(value, waiting, fault->event ? "unplug" : "cut",
                   clu_faults_training(plan, link, usual),
                   link->device[end]->id);
        }
    }
}

static void append_fault(const CluPlan *plan, const CluPlanHost *host,
                         const Waiting *waiting, int64_t usual, GString *value)
{
    const TopoFault *fault = waiting->fault;
    bool is_mine = fault->host == host->host;

    if (is_of_device(fault)) {
        if (fault->device->host == host->host) {
            append(value, waiting, "remove", 0,
                   find_device(plan, fault->device)->id);
        }
    } else if (fault->action == TOPO_FAULT_LINK_DOWN) {
        append_cut(plan, host, waiting, usual, value);
    } else if (!is_mine || has_begun(waiting)) {
        /* Of another machine, or over: a stall ends with its machine. */
    } else if (fault->action == TOPO_FAULT_FREEZE) {
        append(value, waiting, "freeze", 0, "");
    } else if (fault->event) {
        append(value, waiting, "off", 0, "");
    }
}

void clu_faults_options(const CluPlan *plan, const CluPlanHost *host,
                        int64_t usual, const TimedBoardEvents *events,
                        GString *value)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < faults->len; i++) {
        Waiting waiting = {.fault = faults->pdata[i], .index = i};

        if (events) {
            waiting.events = events[i];
        }
        append_fault(plan, host, &waiting, usual, value);
    }
}

/* ---- For the supervisor ----------------------------------------------- */

static void add_step(GArray *steps, const TopoFault *fault, int64_t at_ns,
                     CluFaultAct act, const CluPlanHost *host)
{
    const CluFaultStep step = {
        .at_ns = at_ns,
        .act = act,
        .fault = fault,
        .host = host,
        .returns = fault->action == TOPO_FAULT_RESTART,
    };

    g_array_append_val(steps, step);
}

static void add_steps(GArray *steps, const CluPlan *plan,
                      const TopoFault *fault)
{
    const CluPlanHost *host = find_host(plan, fault->host);
    int64_t at = to_ns(fault->at_ps);

    switch (fault->action) {
    case TOPO_FAULT_KILL:
        add_step(steps, fault, at, CLU_FAULT_KILL, host);
        break;
    case TOPO_FAULT_RESTART:
        add_step(steps, fault, at, CLU_FAULT_KILL, host);
        add_step(steps, fault, to_ns(fault->at_ps + fault->for_ps),
                 CLU_FAULT_START, host);
        break;
    case TOPO_FAULT_START_LATE:
        add_step(steps, fault, at, CLU_FAULT_START, host);
        break;
    default:
        add_step(steps, fault, at, CLU_FAULT_NOTE, NULL);
        break;
    }
}

static gint compare(gconstpointer a, gconstpointer b)
{
    const CluFaultStep *x = a, *y = b;

    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

GArray *clu_faults_steps(const CluPlan *plan)
{
    const GPtrArray *faults = plan->description->faults;
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(CluFaultStep));

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (!fault->event) {
            add_steps(steps, plan, fault);
        }
    }
    /* Faults of one time keep the order of the description. */
    g_array_sort(steps, compare);
    return steps;
}

bool clu_faults_may_lose(const void *packet, size_t size)
{
    const struct farside_wire_head *head = packet;

    if (size < sizeof(*head)) {
        return true;
    }
    switch (head->type) {
    case FARSIDE_WIRE_READ:
    case FARSIDE_WIRE_WRITE:
    case FARSIDE_WIRE_COMPLETION:
    case FARSIDE_WIRE_DOORBELL:
        return true;
    default:
        return false;
    }
}

bool clu_faults_is_late(const CluPlan *plan, const CluPlanHost *host)
{
    const GPtrArray *faults = plan->description->faults;

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (fault->action == TOPO_FAULT_START_LATE &&
            fault->host == host->host) {
            return true;
        }
    }
    return false;
}
