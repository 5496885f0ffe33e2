/* SPDX-License-Identifier: MIT */
#include "fab_outage.h"

#include "fab_dpc.h"
#include "fab_fabric_priv.h"
#include "fab_fault_priv.h"
#include "fab_observe_priv.h"
#include "fab_replay.h"

struct FabOutage {
    FabPort *port;
    unsigned down;   /* number of reasons for which it is down now */
    FabFifo dropped; /* taken, and not yet discarded; by arrive_at */
    SimEvent drop_event;
};

bool fab_outage_is_down(const FabPort *port)
{
    return port->outage->down > 0;
}

/* ---- Discarding ------------------------------------------------------- */

void fab_outage_drop(FabPort *port, FabTlp *tlp, SimTime start, SimTime end)
{
    FabFifo *dropped = &port->outage->dropped;
    FabPortCounters *counters = &port->counters;

    /* It does not go on the wire. */
    counters->tlps_sent[tlp->cls]--;
    counters->payload_sent_bytes -= tlp->payload_bytes;
    counters->wire_sent_bytes -= FAB_TLP_FRAME_BYTES + fab_tlp_bytes(tlp);
    counters->busy_ps -= end - start;
    tlp->hops--;
    if (tlp->cls == FAB_CLASS_P && port->owner->kind == FAB_KIND_ENDPOINT) {
        tlp->transaction = 0; /* the device knows, and lets its order fail */
    }
    tlp->ingress = port;
    tlp->link_epoch = port->link_epoch - 1;
    tlp->tail_at = end;
    tlp->arrive_at = end;
    fab_fifo_push(dropped, tlp);
    if (dropped->head == tlp) {
        sim_event_schedule(&port->outage->drop_event, end);
    }
}

static void trace_lost(FabPort *port, const FabTlp *tlp)
{
    FabFabric *fabric = port->owner->fabric;
    SimTime now = sim_engine_now(fabric->engine);
    FabTraceRecord record = {FAB_TRACE_LOST, port, tlp, now, now, now};

    if (fabric->trace_categories & FAB_TRACE_LOST) {
        fabric->trace_fn(fabric->trace_data, &record);
    }
}

void fab_outage_lose(FabPort *port, FabTlp *tlp)
{
    port->counters.lost_tlps++;
    trace_lost(port, tlp);
    fab_account_lose(port->owner, tlp, FAB_LOSS_LINK_DOWN);
    fab_tlp_free(port->owner->fabric, tlp);
}

/* Answers the non-posted request @tlp as if the far component did. */
static void complete(FabPort *port, FabTlp *tlp, SimTime now)
{
    FabComponent *owner = port->owner;
    FabTlp *cpl = fab_tlp_refuse_for(
        owner, tlp, fab_dpc_status(port),
        port->has_bridge ? port->bridge.bdf : owner->bdf, FAB_LOSS_LINK_DOWN);

    cpl->ingress = port;
    cpl->link_epoch = port->link_epoch - 1;
    cpl->tail_at = now;
    fab_tlp_measure(cpl);
    owner->ops->receive(owner, port, cpl);
}

static void drop_event(SimEvent *event)
{
    FabOutage *outage = SIM_CONTAINER_OF(event, FabOutage, drop_event);
    FabPort *port = outage->port;
    FabTlp *tlp = fab_fifo_pop(&outage->dropped);

    if (outage->dropped.head) {
        sim_event_schedule(event, outage->dropped.head->arrive_at);
    }
    if (tlp->cls == FAB_CLASS_NP && fab_port_is_downstream(port)) {
        trace_lost(port, tlp);
        complete(port, tlp, event->time);
        return;
    }
    fab_outage_lose(port, tlp);
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
            fab_outage_lose(port, tlp);
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
    if (port->replay) {
        fab_replay_reset(port);
    }
    if (port->faults) {
        fab_fault_forget(port);
    }
    port->special = true;
    port->link_epoch++;
    port->owes_ack = false;
    port->dllp_owed = 0;
    fab_port_forget_returns(port);
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        port->freed[cls] = 0;
        port->freed_bytes[cls] = 0;
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
    fab_port_set_special(port);
    fab_port_init_fc(port);
    if (port->active) {
        fab_port_wake_at(port, MAX(now, port->busy_until));
    }
}

static void outage_make(FabPort *port)
{
    FabOutage *outage;

    if (port->outage) {
        return;
    }
    outage = g_new0(FabOutage, 1);
    outage->port = port;
    sim_event_init(&outage->drop_event, port->owner->engine, drop_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    port->outage = outage;
}

/* Calls @change for the links below the switch at @port, whose Upstream Port
 * loses or gets back its link. */
static void below(FabPort *port, void (*change)(FabPort *port))
{
    const FabComponent *owner = port->owner;

    if (owner->kind != FAB_KIND_SWITCH || fab_port_is_downstream(port)) {
        return;
    }
    for (unsigned i = 1; i < owner->port_count; i++) {
        if (owner->ports[i]->peer) {
            change(owner->ports[i]);
        }
    }
}

void fab_outage_begin(FabPort *port)
{
    FabPort *const ends[] = {port, port->peer};
    SimTime now = sim_engine_now(port->owner->engine);

    for (unsigned i = 0; i < 2; i++) {
        outage_make(ends[i]);
        if (ends[i]->outage->down++ == 0) {
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
        if (--ends[i]->outage->down == 0) {
            end_up(ends[i], now);
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        below(ends[i], fab_outage_end);
    }
}

/* ---- For observers ---------------------------------------------------- */

void fab_outage_waits(const FabPort *port, FabWaits *waits)
{
    for (const FabTlp *tlp = port->outage->dropped.head; tlp; tlp = tlp->next) {
        fab_waits_moves(waits, tlp);
    }
}

void fab_outage_waiters(const FabPort *port, const FabObserver *observer)
{
    fab_observer_fifo(observer, &port->outage->dropped, FAB_PLACE_TRANSIT);
}

/* ---- Life ------------------------------------------------------------- */

void fab_outage_free(FabPort *port)
{
    FabOutage *outage = port->outage;

    fab_fifo_clear(port->owner->fabric, &outage->dropped);
    sim_event_cancel(&outage->drop_event);
    g_free(outage);
}
