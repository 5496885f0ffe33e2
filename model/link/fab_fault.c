/* SPDX-License-Identifier: MIT */
#include "fab_fault.h"

#include "fab_error_report_priv.h"
#include "fab_account_priv.h"
#include "fab_link_priv.h"
#include "fab_outage_priv.h"
#include "fab_replay_priv.h"
#include "sim_random.h"

/*
 * The faults of a link, which both of its ports share. A port that must look at
 * what comes in has another function for its arrivals.
 */
typedef struct Faults Faults;

/* A fault of a link, and how far it has come. */
typedef struct Fault {
    struct Fault *next;
    Faults *link;
    FabFault params;
    uint64_t seen; /* events so far */
    bool begun;
    /* POISON, by index of the end that sends. */
    uint64_t left[2]; /* TLPs to be poisoned */
    SimTime until;    /* with a rate */
    SimRandom random;
    /* LINK_DOWN, DEGRADE. */
    bool holds;
    FabSpeed speed; /* before it */
    uint32_t width;
    SimEvent event;
} Fault;

/* A receiver that advertises more credits than its buffer has. */
typedef struct Overflow {
    bool is_there;
    FabCredits space;                  /* of the buffer */
    uint32_t lost_header[FAB_CLASSES]; /* credits of dropped TLPs */
    uint32_t lost_data[FAB_CLASSES];
} Overflow;

/* The faults as an end of the link has them. */
typedef struct End {
    FabLinkPart part;
    Faults *link;
    unsigned number;
    Overflow overflow; /* of the receiver */
} End;

struct Faults {
    End ends[2];
    Fault *list;
};

static const FabLinkOps fault_ops;

/* NULL: the link of @port has no faults. */
static End *end_of(const FabPort *port)
{
    return (End *)fab_link_find(port, &fault_ops);
}

static FabPort *fault_port(const Fault *fault, unsigned end)
{
    return fault->link->ends[end].part.port;
}

static inline bool is_meant(const Fault *fault, unsigned end)
{
    return end == 0 ? fault->params.from_port : fault->params.from_peer;
}

/* ---- The course of a fault --------------------------------------------- */

/* A Root Port or Downstream Port whose link went down without warning logs a
 * Surprise Down error (PCIe 5.0 s3.2.1). */
static void surprise_report(FabPort *port)
{
    if (port->role == FAB_PORT_DOWNSTREAM || port->role == FAB_PORT_ROOT) {
        port->counters.surprise_downs++;
        fab_error_report(port, FAB_SEVERITY_FATAL);
    }
}

/* Goes down, and comes up after `training`. */
static void down_event(Fault *fault, SimTime now)
{
    SimTime off = fault->params.duration + fault->params.training;

    fault->holds = !fault->holds;
    if (!fault->holds) {
        fab_outage_end(fault_port(fault, 0));
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        if (!fault_port(fault, i)->is_down) {
            surprise_report(fault_port(fault, i));
        }
    }
    fab_outage_begin(fault_port(fault, 0));
    if (fault->params.duration) {
        sim_event_schedule(&fault->event, now + off);
    }
}

static void degrade_event(Fault *fault, SimTime now)
{
    const FabFault *params = &fault->params;
    FabPort *port = fault_port(fault, 0);

    fault->holds = !fault->holds;
    if (!fault->holds) {
        fab_port_retrain(port, fault->speed, fault->width, params->training);
        return;
    }
    fault->speed = port->speed;
    fault->width = port->width;
    fab_port_retrain(port, params->speed ? params->speed : port->speed,
                     params->width ? params->width : port->width,
                     params->training);
    if (params->duration) {
        sim_event_schedule(&fault->event, now + params->duration);
    }
}

static SimTime time_after(const Fault *fault, SimTime now)
{
    return fault->params.duration ? now + fault->params.duration
                                  : SIM_TIME_NONE;
}

/* Bit errors begin for the packets that end @end sends. */
static void errors_begin(Fault *fault, unsigned end, SimTime now)
{
    FabPort *port = fault_port(fault, end);

    if (fault->params.count) {
        fab_replay_destroy(port, fault->params.event == FAB_FAULT_ON_DLLP,
                           fault->params.count);
    } else {
        fab_replay_set_errors(port, fault->params.rate, now,
                              time_after(fault, now));
    }
}

/* The fault begins. @cause is the end that sends the packet with which it
 * begins; -1: it begins at its time. */
static void fault_begin(Fault *fault, int cause, SimTime now)
{
    const FabFault *params = &fault->params;

    fault->begun = true;
    fault->until = time_after(fault, now);
    if (params->action == FAB_FAULT_LINK_DOWN ||
        params->action == FAB_FAULT_DEGRADE) {
        /* Not now, for the caller puts a TLP on the wire. */
        sim_event_schedule(&fault->event, now);
        return;
    }
    for (unsigned end = 0; end < 2; end++) {
        if (!is_meant(fault, end) ||
            (params->count && cause >= 0 && (unsigned)cause != end)) {
            continue;
        }
        if (params->action == FAB_FAULT_BIT_ERRORS) {
            errors_begin(fault, end, now);
        } else {
            fault->left[end] = params->count;
        }
    }
}

static void fault_event(SimEvent *event)
{
    Fault *fault = SIM_CONTAINER_OF(event, Fault, event);

    if (fault->params.action == FAB_FAULT_LINK_DOWN) {
        down_event(fault, event->time);
    } else if (fault->params.action == FAB_FAULT_DEGRADE) {
        degrade_event(fault, event->time);
    } else {
        fault_begin(fault, -1, event->time);
    }
}

/* ---- Packets on the wire ----------------------------------------------- */

/* Longest write that counts as a doorbell. */
#define DOORBELL_BYTES 8

static bool is_event(const Fault *fault, const FabPort *port, const FabTlp *tlp)
{
    switch (fault->params.event) {
    case FAB_FAULT_ON_TLP:
        return true;
    case FAB_FAULT_ON_WRITE:
        return tlp->cls == FAB_CLASS_P;
    case FAB_FAULT_ON_READ:
        return tlp->cls == FAB_CLASS_NP;
    case FAB_FAULT_ON_COMPLETION:
        return tlp->cls == FAB_CLASS_CPL;
    case FAB_FAULT_ON_DOORBELL:
        return tlp->cls == FAB_CLASS_P && fab_port_is_downstream(port) &&
               tlp->payload_bytes <= DOORBELL_BYTES;
    default:
        return false;
    }
}

/* Returns whether @fault, of kind POISON, hits a TLP with data from @end. */
static bool is_poisoned(Fault *fault, unsigned end, SimTime now)
{
    const FabFault *params = &fault->params;

    if (!fault->begun || !is_meant(fault, end)) {
        return false;
    }
    if (params->count) {
        return fault->left[end] > 0 && fault->left[end]-- > 0;
    }
    return now < fault->until &&
           sim_random_double(&fault->random) < params->rate;
}

static void fault_sends(FabLinkPart *part, FabTlp *tlp)
{
    const FabPort *port = part->port;
    SimTime now = sim_engine_now(port->owner->engine);
    unsigned end = ((End *)part)->number;

    for (Fault *fault = ((End *)part)->link->list; fault; fault = fault->next) {
        if (!fault->begun && is_meant(fault, end) &&
            is_event(fault, port, tlp) &&
            ++fault->seen == fault->params.number) {
            fault_begin(fault, (int)end, now);
        }
        if (fault->params.action == FAB_FAULT_POISON && tlp->payload_bytes &&
            is_poisoned(fault, end, now)) {
            tlp->poisoned = 1;
        }
    }
}

static void fault_sends_dllp(FabLinkPart *part)
{
    SimTime now = sim_engine_now(part->port->owner->engine);
    unsigned end = ((End *)part)->number;

    for (Fault *fault = ((End *)part)->link->list; fault; fault = fault->next) {
        if (!fault->begun && fault->params.event == FAB_FAULT_ON_DLLP &&
            is_meant(fault, end) && ++fault->seen == fault->params.number) {
            fault_begin(fault, (int)end, now);
        }
    }
}

/* ---- Packets that come in ---------------------------------------------- */

/*
 * Returns whether @tlp, which has come in at @ingress, finds no space. The TLPs
 * that hold credits are in the buffer, or on the wire behind @tlp. A TLP that
 * is being sent on has left the buffer already.
 */
static bool is_over(const FabPort *ingress, const Overflow *overflow,
                    const FabTlp *tlp)
{
    const FabCredits *all = &ingress->params.credits;
    FabClass cls = tlp->cls;
    uint32_t header, data;

    header = all->header[cls] -
             fab_credit_sum_header(ingress->buffer.granted[cls]) -
             fab_credit_sum_header(ingress->buffer.freed[cls]) -
             overflow->lost_header[cls];
    data = all->data[cls] - fab_credit_sum_data(ingress->buffer.granted[cls]) -
           fab_credit_sum_data(ingress->buffer.freed[cls]) -
           overflow->lost_data[cls];
    return (all->header[cls] != FAB_CREDITS_INFINITE &&
            header > overflow->space.header[cls]) ||
           (all->data[cls] != FAB_CREDITS_INFINITE &&
            data > overflow->space.data[cls]);
}

static bool fault_drops(FabLinkPart *part, FabTlp *tlp)
{
    FabPort *ingress = part->port;
    FabComponent *owner = ingress->owner;
    Overflow *overflow = &((End *)part)->overflow;

    if (!overflow->is_there || tlp->link_epoch != ingress->buffer.epoch ||
        !is_over(ingress, overflow, tlp)) {
        return false;
    }
    overflow->lost_header[tlp->cls]++;
    overflow->lost_data[tlp->cls] += fab_tlp_data_credits(tlp);
    ingress->counters.receiver_overflows++;
    owner->fabric->dropped++;
    fab_error_report(ingress, FAB_SEVERITY_FATAL);
    fab_account_lose(owner, tlp, FAB_LOSS_OVERFLOW);
    fab_tlp_free(owner->fabric, tlp);
    return true;
}

static void fault_forget(FabLinkPart *part)
{
    Overflow *overflow = &((End *)part)->overflow;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        overflow->lost_header[cls] = 0;
        overflow->lost_data[cls] = 0;
    }
}

/* ---- Life ---------------------------------------------------------------- */

/* Frees the faults of the link of @part, and takes them from its other end. */
static void fault_free(FabLinkPart *part)
{
    Faults *link = ((End *)part)->link;

    while (link->list) {
        Fault *fault = link->list;

        link->list = fault->next;
        sim_event_cancel(&fault->event);
        g_free(fault);
    }
    fab_link_remove(&link->ends[0].part);
    fab_link_remove(&link->ends[1].part);
    g_free(link);
}

static const FabLinkOps fault_ops = {
    .sends = fault_sends,
    .sends_dllp = fault_sends_dllp,
    .drops = fault_drops,
    .forget = fault_forget,
    .free = fault_free,
};

/* The end of @port, which it gets with its link's other one if there is none.
 */
static End *end_make(FabPort *port)
{
    FabPort *const ends[] = {port, port->peer};
    Faults *link;

    if (end_of(port)) {
        return end_of(port);
    }
    link = g_new0(Faults, 1);
    for (unsigned i = 0; i < 2; i++) {
        link->ends[i].link = link;
        link->ends[i].number = i;
        fab_link_add(ends[i], &link->ends[i].part, &fault_ops, true);
    }
    return &link->ends[0];
}

/* A poisoned TLP can come in at any port of the fabric. */
static void check_all_arrivals(const FabFabric *fabric)
{
    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            if (component->ports[j]->peer) {
                fab_port_check_arrivals(component->ports[j]);
            }
        }
    }
}

/* Those who give the fault count the ends from @end; its members that name ends
 * follow. */
static void ends_turn(const End *end, FabFault *params)
{
    if (end->number == 1) {
        bool from_port = params->from_port;

        params->from_port = params->from_peer;
        params->from_peer = from_port;
    }
}

void fab_port_add_fault(FabPort *port, const FabFault *params)
{
    const End *end;
    Fault *fault = g_new0(Fault, 1);
    FabFabric *fabric = port->owner->fabric;
    g_autofree char *name = NULL;
    unsigned count = 0;

    g_assert(port->peer &&
             (params->event == FAB_FAULT_AT_TIME || params->number > 0));
    end = end_make(port);
    fault->link = end->link;
    for (const Fault *other = fault->link->list; other; other = other->next) {
        count++;
    }
    name = g_strdup_printf("%s.%s fault %u", fault_port(fault, 0)->owner->name,
                           fault_port(fault, 0)->name, count);
    fault->params = *params;
    ends_turn(end, &fault->params);
    sim_random_init(&fault->random, fabric->seed, name);
    sim_event_init(&fault->event, port->owner->engine, fault_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    fault->next = fault->link->list;
    fault->link->list = fault;
    if (params->action == FAB_FAULT_BIT_ERRORS) {
        fab_replay_make(port);
    } else if (params->action == FAB_FAULT_POISON) {
        check_all_arrivals(fabric);
    }
    if (params->event != FAB_FAULT_AT_TIME) {
        return;
    }
    if (params->at > sim_engine_now(port->owner->engine)) {
        sim_event_schedule(&fault->event, params->at);
    } else { /* before anything is sent */
        fault_begin(fault, -1, params->at);
    }
}

void fab_port_set_overflow(FabPort *port, uint32_t surplus)
{
    Overflow *overflow;

    g_assert(port->peer);
    overflow = &end_make(port)->overflow;
    overflow->is_there = true;
    overflow->space = port->params.credits;
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        FabCredits *credits = &port->params.credits;

        if (credits->header[cls] != FAB_CREDITS_INFINITE) {
            credits->header[cls] += surplus;
        }
        if (credits->data[cls] != FAB_CREDITS_INFINITE) {
            credits->data[cls] += surplus * MAX(port->mps_bytes / 16, 1);
        }
    }
    port->counts_received = true;
    fab_port_init_fc(port->peer);
    fab_port_check_arrivals(port);
}
