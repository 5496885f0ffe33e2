/* SPDX-License-Identifier: MIT */
#include "fab_outage_priv.h"

#include "fab_account_priv.h"
#include "fab_link_priv.h"
#include "fab_waits_priv.h"
#include "fab_answer_priv.h"

typedef struct FabOutage {
    FabLinkPart part;
    unsigned down;   /* number of reasons for which it is down now */
    FabFifo dropped; /* taken, and not yet discarded; by arrive_at */
    SimEvent drop_event;
} FabOutage;

static const FabLinkOps outage_ops;

static FabOutage *outage_of(const FabPort *port)
{
    return (FabOutage *)fab_link_find(port, &outage_ops);
}

/* ---- Discarding ------------------------------------------------------- */

static bool outage_discards(FabLinkPart *part, FabTlp *tlp, SimTime end)
{
    FabOutage *outage = (FabOutage *)part;
    FabPort *port = part->port;

    if (outage->down == 0) {
        return false;
    }
    if (tlp->cls == FAB_CLASS_P && port->owner->ops->sees_discards) {
        tlp->transaction = 0; /* the owner lets its order fail */
    }
    tlp->ingress = port;
    tlp->link_epoch = port->buffer.epoch - 1;
    tlp->tail_at = end;
    tlp->arrive_at = end;
    fab_fifo_push(&outage->dropped, tlp);
    if (outage->dropped.head == tlp) {
        sim_event_schedule(&outage->drop_event, end);
    }
    return true;
}

/* Answers the non-posted request @tlp as if the far component did. */
static void complete(FabPort *port, FabTlp *tlp, SimTime now)
{
    FabComponent *owner = port->owner;
    FabTlp *cpl = fab_tlp_refuse_for(owner, tlp, fab_link_status(port),
                                     fab_port_bridge(port) ? port->bridge.bdf
                                                           : owner->bdf,
                                     FAB_LOSS_LINK_DOWN);

    cpl->ingress = port;
    cpl->link_epoch = port->buffer.epoch - 1;
    cpl->tail_at = now;
    fab_tlp_measure(cpl);
    owner->ops->receive(owner, port, cpl);
}

static void drop_event(SimEvent *event)
{
    FabOutage *outage = SIM_CONTAINER_OF(event, FabOutage, drop_event);
    FabPort *port = outage->part.port;
    FabTlp *tlp = fab_fifo_pop(&outage->dropped);

    if (outage->dropped.head) {
        sim_event_schedule(event, outage->dropped.head->arrive_at);
    }
    if (tlp->cls == FAB_CLASS_NP && fab_port_is_downstream(port)) {
        fab_link_trace_lost(port, tlp);
        complete(port, tlp, event->time);
        return;
    }
    fab_link_lose(port, tlp);
}

/* ---- Down and up ------------------------------------------------------ */

/* Loses the TLPs on the wire from @port. Those that have come in wholly go on,
 * if the far component is not reset. */
static void flight_lose(FabPort *port, SimTime now)
{
    FabFifo flight = port->flight;

    port->flight = (FabFifo){0};
    while (flight.head) {
        FabTlp *tlp = fab_fifo_pop(&flight);

        if (fab_port_is_downstream(port->peer) &&
            tlp->tail_at - port->peer->latency <= now) {
            fab_fifo_push(&port->flight, tlp);
        } else {
            fab_link_lose(port, tlp);
        }
    }
    sim_event_cancel(&port->arrive_event);
    if (port->flight.head) {
        sim_event_schedule(&port->arrive_event, port->flight.head->arrive_at);
    }
}

static void end_down(FabPort *port, SimTime now)
{
    flight_lose(port, now);
    fab_link_forget(port);
    port->is_down = true;
    fab_link_set_special(&outage_of(port)->part, true);
    port->buffer.epoch++;
    fab_port_forget_dllps(port);
    fab_port_forget_returns(port);
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        port->buffer.freed[cls] = 0;
        port->buffer.freed_bytes[cls] = 0;
        /* A TLP that is discarded needs no credits. */
        fab_port_set_infinite(port, cls, FAB_INFINITE_ALL);
        port->credits[cls] =
            fab_credit_sum(FAB_CREDITS_INFINITE, FAB_CREDITS_INFINITE);
    }
    if (port->active) {
        fab_port_wake_at(port, MAX(now, port->busy_until));
    }
}

static void end_up(FabPort *port, SimTime now)
{
    port->is_down = false;
    fab_link_set_special(&outage_of(port)->part, false);
    fab_port_init_fc(port);
    if (port->active) {
        fab_port_wake_at(port, MAX(now, port->busy_until));
    }
}

/* ---- For observers ---------------------------------------------------- */

static void outage_waits(const FabLinkPart *part, FabWaits *waits)
{
    fab_waits_moves_all(waits, &((const FabOutage *)part)->dropped);
}

static void outage_waiters(const FabLinkPart *part, const FabObserver *observer)
{
    fab_observer_fifo(observer, &((const FabOutage *)part)->dropped,
                      FAB_PLACE_TRANSIT);
}

/* ---- Life ------------------------------------------------------------- */

static void outage_free(FabLinkPart *part)
{
    FabOutage *outage = (FabOutage *)part;

    fab_link_remove(part);
    fab_fifo_clear(part->port->owner->fabric, &outage->dropped);
    sim_event_cancel(&outage->drop_event);
    g_free(outage);
}

static const FabLinkOps outage_ops = {
    .discards = outage_discards,
    .waits = outage_waits,
    .waiters = outage_waiters,
    .free = outage_free,
};

static FabOutage *outage_make(FabPort *port)
{
    FabOutage *outage = outage_of(port);

    if (!outage) {
        outage = g_new0(FabOutage, 1);
        sim_event_init(&outage->drop_event, port->owner->engine, drop_event,
                       SIM_PRIORITY_NORMAL, port->rank);
        fab_link_add(port, &outage->part, &outage_ops, false);
    }
    return outage;
}

/* Calls @change for the links below the component of @port, if that is the
 * Upstream Port of a switch, which loses or gets back its link. */
static void below(FabPort *port, void (*change)(FabPort *port))
{
    const FabComponent *owner = port->owner;

    for (unsigned i = 0; i < owner->port_count; i++) {
        FabPort *other = owner->ports[i];

        if (other->up == port && other->role == FAB_PORT_DOWNSTREAM &&
            other->peer) {
            change(other);
        }
    }
}

void fab_outage_begin(FabPort *port)
{
    FabPort *const ends[] = {port, port->peer};
    SimTime now = sim_engine_now(port->owner->engine);

    for (unsigned i = 0; i < 2; i++) {
        if (outage_make(ends[i])->down++ == 0) {
            end_down(ends[i], now);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        below(ends[i], fab_outage_begin);
    }
}

void fab_outage_end(FabPort *port)
{
    FabPort *const ends[] = {port, port->peer};
    SimTime now = sim_engine_now(port->owner->engine);

    for (unsigned i = 0; i < 2; i++) {
        if (--outage_of(ends[i])->down == 0) {
            end_up(ends[i], now);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        below(ends[i], fab_outage_end);
    }
}
