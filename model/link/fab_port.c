/* SPDX-License-Identifier: MIT */
#include "fab_arbiter_priv.h"
#include "fab_credits_priv.h"
#include "fab_fabric_priv.h"
#include "fab_flit.h"
#include "fab_link_priv.h"

/* ---- The wire -------------------------------------------------------- */

/* True if DLLPs or an SKP ordered set go before a TLP that could start at @now.
 * It is also true in FLIT mode. */
static inline bool is_behind(const FabPort *port, SimTime now)
{
    return port->dllps.due <= now || port->skp.next <= now;
}

/* When a TLP that could start at @now has the wire behind them. */
static inline SimTime start_behind(FabPort *port, SimTime now)
{
    fab_port_send_due(port, now);
    return MAX(now, port->busy_until);
}

/* ---- Credits --------------------------------------------------------- */

static inline void credits_consume(FabPort *port, const FabTlp *tlp)
{
    port->credits[tlp->cls] -=
        fab_credit_sum_of(port->infinite[tlp->cls], tlp->data_credits);
}

/* The receiver counts @tlp, which has come in at @ingress (CREDITS_RECEIVED,
 * PCIe 5.0 s2.6.1.2). A TLP from before the link was down holds no credits. */
static inline void credits_receive(FabPort *ingress, const FabTlp *tlp)
{
    if (ingress->counts_received &&
        G_LIKELY(tlp->link_epoch == ingress->buffer.epoch)) {
        ingress->buffer.granted[tlp->cls] -= fab_credit_sum_of(
            ingress->buffer.infinite[tlp->cls], tlp->data_credits);
    }
}

/* A TLP is on the wire to @ingress until @end. The receiver makes an Ack when
 * it has come in: at once, or when the Ack latency limit is over, unless the
 * last Ack leaves later (PCIe 5.0 s3.6.3.1). */
static inline void ack_owe(FabPort *ingress, SimTime end, SimTime now)
{
    SimTime received = end + ingress->propagation;

    if (ingress->dllp == FAB_DLLP_SPEC) {
        if (received > ingress->buffer.ack_due) {
            fab_port_add_late_ack(ingress,
                                  received + ingress->buffer.dllp_limit, now);
        }
    } else if (ingress->dllp == FAB_DLLP_EACH) {
        fab_port_add_dllp(ingress, received, now);
    }
}

/* ---- Sending --------------------------------------------------------- */

static void trace_link(FabPort *port, const FabTlp *tlp, SimTime start,
                       SimTime end)
{
    FabFabric *fabric = port->owner->fabric;
    FabTraceRecord record = {FAB_TRACE_LINK, port, tlp,
                             start,          end,  tlp->arrive_at};

    fabric->trace_fn(fabric->trace_data, &record);
}

/*
 * Sets in @tlp, whose bytes come in at @ingress from @first to @last, the time
 * at which the component there acts on it. fab_port_set_latency() has set the
 * latency beforehand, so a hop costs one event and not two.
 */
static inline void ingress_expect(const FabPort *ingress, FabTlp *tlp,
                                  SimTime first, SimTime last)
{
    tlp->tail_at = last + ingress->latency;
    tlp->arrive_at =
        ingress->cuts_through ? first + ingress->latency : tlp->tail_at;
}

SimTime fab_port_occupy(FabPort *port, SimTime now, uint32_t bytes)
{
    SimTime start = now;
    uint64_t wire;

    if (port->in_flits) {
        start = fab_flits_take(port->flits, now, bytes, &port->busy_until);
        port->counters.busy_ps += port->busy_until - start;
        port->counters.wire_sent_bytes += bytes;
        return start;
    }
    if (is_behind(port, now)) {
        start = start_behind(port, now);
    }
    wire = fab_port_wire_time(port, bytes) + port->dllps.time_carry;
    port->dllps.time_carry = wire % FAB_PS_FRACTION;
    port->busy_until = start + wire / FAB_PS_FRACTION;
    port->counters.busy_ps += port->busy_until - start;
    port->counters.wire_sent_bytes += bytes;
    return start;
}

/* fab_port_deliver(). It belongs to each hop. */
static inline void deliver(FabPort *port, FabTlp *tlp, SimTime start,
                           SimTime end)
{
    ingress_expect(port->peer, tlp, start + port->propagation,
                   end + port->propagation);
    fab_fifo_push(&port->flight, tlp);
    if (port->flight.head == tlp) {
        sim_event_schedule(&port->arrive_event, tlp->arrive_at);
    }
}

SimTime fab_port_flit_begin(const FabPort *port, SimTime time)
{
    return port->in_flits
               ? MAX(time, fab_flits_begin(port->flits,
                                           fab_flits_next(port->flits, time)))
               : time;
}

SimTime fab_port_received(const FabPort *port, SimTime end)
{
    if (port->in_flits) {
        end = fab_flits_end(port->flits, fab_flits_number(port->flits, end)) +
              port->peer->params.fec;
    }
    return end + port->propagation;
}

/* In FLIT mode a receiver has the header when it has decoded the flit in which
 * that ends, and the last byte in the same way. */
static void deliver_flit(FabPort *port, FabTlp *tlp, SimTime start, SimTime end)
{
    const FabFlits *flits = port->flits;
    SimTime header = start + (SimTime)(fab_tlp_header_bytes(tlp) *
                                       port->byte_time / FAB_PS_FRACTION);
    SimTime fec = port->peer->params.fec;
    uint64_t last = fab_flits_number(flits, end);
    uint64_t first = fab_flits_number(flits, MIN(header, end));

    deliver(port, tlp, fab_flits_end(flits, first) + fec,
            fab_flits_end(flits, last) + fec);
}

void fab_port_deliver(FabPort *port, FabTlp *tlp, SimTime start, SimTime end)
{
    if (port->in_flits) {
        deliver_flit(port, tlp, start, end);
    } else {
        deliver(port, tlp, start, end);
    }
}

/* Counts @tlp, which has @bytes and takes @time on the wire. */
static inline void sent_count(FabPort *port, FabTlp *tlp, uint32_t bytes,
                              SimTime time)
{
    tlp->hops++;
    port->counters.tlps_sent[tlp->cls]++;
    port->counters.payload_sent_bytes += tlp->payload_bytes;
    port->counters.wire_sent_bytes += bytes;
    port->counters.busy_ps += time;
}

/* The rest of transmit() for a link that is special or traced. */
static void transmit_rarely(FabPort *port, FabTlp *tlp, SimTime now,
                            SimTime start, SimTime end)
{
    if (!port->special || !fab_link_discards(port, tlp, end)) {
        sent_count(port, tlp, fab_port_tlp_bytes(port, tlp), end - start);
        if (port->special) {
            fab_link_sends(port, tlp);
        }
        if (!port->special || !fab_link_carries(port, tlp, start, end)) {
            ack_owe(port->peer, end, now);
            fab_port_deliver(port, tlp, start, end);
        }
    }
    if (port->traced) {
        trace_link(port, tlp, start, end);
    }
}

/* Puts @tlp on the wire of @port from @start to @end. */
static inline void transmit_at(FabPort *port, FabTlp *tlp, SimTime now,
                               SimTime start, SimTime end)
{
    FabPort *peer = port->peer;

    port->busy_until = end;

    credits_consume(port, tlp);
    if (tlp->ingress) {
        fab_credits_release(tlp->ingress, tlp, end, now);
    }
    tlp->ingress = peer;
    tlp->link_epoch = peer->buffer.epoch;
    tlp->ready_at = 0;
    if (port->waiting) {
        port->waiting = false;
        port->counters.credit_wait_ps += now - port->waiting_since;
    }
    if (G_UNLIKELY(port->special || port->traced || port->in_flits)) {
        transmit_rarely(port, tlp, now, start, end);
    } else {
        sent_count(port, tlp, tlp->wire_bytes, end - start);
        ack_owe(peer, end, now);
        deliver(port, tlp, start, end);
    }
}

/* Returns when @tlp has left that begins at @start and would leave at @end: a
 * port may be slower than its wire. */
static inline SimTime service_end(FabPort *port, const FabTlp *tlp,
                                  SimTime start, SimTime end)
{
    SimTime more = fab_port_service_time(port, tlp) - (end - start);

    more = MAX(more, 0);
    port->counters.service_ps += more;
    return end + more;
}

static G_GNUC_NO_INLINE void transmit_flit(FabPort *port, FabTlp *tlp,
                                           SimTime now)
{
    SimTime end;
    SimTime start =
        fab_flits_take(port->flits, now, fab_flit_tlp_bytes(tlp), &end);

    transmit_at(port, tlp, now, start,
                port->has_service ? service_end(port, tlp, start, end) : end);
}

static inline void transmit(FabPort *port, FabTlp *tlp, SimTime now)
{
    SimTime start = now, end;
    uint64_t wire;

    if (is_behind(port, now)) {
        if (G_UNLIKELY(port->in_flits)) {
            transmit_flit(port, tlp, now);
            return;
        }
        start = start_behind(port, now);
    }
    wire = fab_port_wire_time(port, tlp->wire_bytes) + port->dllps.time_carry;
    port->dllps.time_carry = wire % FAB_PS_FRACTION;
    end = start + wire / FAB_PS_FRACTION;
    if (port->has_service) {
        end = service_end(port, tlp, start, end);
    }
    transmit_at(port, tlp, now, start, end);
}

/* A TLP lacks credits: waits for the first that come back, or for the time at
 * which the receiver has to send some. Another TLP may leave at @wake. */
static SIM_HOT void credits_await(FabPort *port, SimTime now, SimTime wake)
{
    if (!port->waiting) {
        port->waiting = true;
        port->waiting_since = now;
    }
    if (port->peer->dllp == FAB_DLLP_SPEC) {
        wake = MIN(wake, fab_credits_send_due(port->peer, now));
    }
    wake = MIN(wake, fab_port_return(port, port->returns.head)->time);
    if (wake != SIM_TIME_NONE) {
        fab_port_wake_at(port, MAX(wake, now));
    }
}

/* Sends @tlp, which it has taken from @source. */
static SIM_HOT G_GNUC_NO_INLINE void
send_taken(FabPort *port, const FabSource *source, FabTlp *tlp, SimTime now)
{
    transmit(port, tlp, now);
    if (port->active) {
        fab_port_wake_at(port, fab_port_next_try(port));
    }
    if (source->drained) {
        source->drained(source->owner, port, tlp);
    }
}

/* Sends the TLP whose turn it is among those of several queues, if one can
 * leave. */
static SIM_HOT G_GNUC_NO_INLINE void try_send_among(FabPort *port, SimTime now)
{
    FabSource *source;
    FabTlp *tlp;

    fab_credits_collect(port, now);
    tlp = fab_port_take(port, now, &source);
    if (tlp) {
        send_taken(port, source, tlp, now);
    } else if (port->starved) {
        credits_await(port, now, port->wake);
    } else if (port->wake != SIM_TIME_NONE) {
        fab_port_wake_at(port, port->wake);
    }
}

/* Sends @tlp, the first of the only queue, if credits have come back for it. */
static SIM_HOT G_GNUC_NO_INLINE void try_send_starved(FabPort *port,
                                                      FabTlp *tlp, SimTime now)
{
    fab_credits_collect(port, now);
    if (fab_port_has_credits(port, tlp)) {
        send_taken(port, fab_port_take_only(port), tlp, now);
    } else {
        credits_await(port, now, SIM_TIME_NONE);
    }
}

/* Sends the TLP whose turn it is, if one can leave. One is queued. All that
 * this function calls comes last in it, so it saves no registers. */
static SIM_HOT G_GNUC_NO_INLINE void try_send_queued(FabPort *port, SimTime now)
{
    FabTlp *tlp;

    if (!fab_port_has_one_queue(port)) {
        try_send_among(port, now);
        return;
    }
    tlp = fab_port_first(port);
    if (tlp->ready_at > now) {
        fab_port_wake_at(port, tlp->ready_at);
    } else if (fab_port_has_credits(port, tlp)) {
        send_taken(port, fab_port_take_only(port), tlp, now);
    } else {
        try_send_starved(port, tlp, now);
    }
}

/* The same if the link is special, or a TLP lacked credits before. */
static G_GNUC_NO_INLINE void try_send_rarely(FabPort *port, SimTime now)
{
    if (port->special && fab_link_takes_wire(port, now)) {
        return;
    }
    if (!port->active) {
        return;
    }
    if (port->starved && port->peer->dllp == FAB_DLLP_SPEC) {
        /* TLPs of other classes may leave, so it did not wait for credits. */
        fab_credits_send_due(port->peer, now);
    }
    try_send_queued(port, now);
}

/* The wire is free: sends the TLP whose turn it is, if one can leave. */
static inline void port_try_send(FabPort *port, SimTime now)
{
    if (G_UNLIKELY(port->special || port->starved)) {
        try_send_rarely(port, now);
    } else if (port->active) {
        try_send_queued(port, now);
    }
}

/* The wire is not free yet. */
static G_GNUC_NO_INLINE void send_event_early(FabPort *port)
{
    if (port->active || (port->special && fab_link_is_pending(port))) {
        sim_event_schedule(&port->send_event, port->busy_until);
    }
}

static SIM_HOT void port_send_event(SimEvent *event)
{
    FabPort *port = SIM_CONTAINER_OF(event, FabPort, send_event);
    SimTime now = event->time;

    if (G_LIKELY(now >= port->busy_until)) {
        port_try_send(port, now);
    } else {
        send_event_early(port);
    }
}

SIM_HOT void fab_port_send(FabPort *port, unsigned source, FabTlp *tlp)
{
    fab_tlp_measure(tlp);
    fab_port_forward(port, source, tlp);
}

/* Queues @tlp. Nothing can leave before @earliest. */
static inline void enqueue(FabPort *port, unsigned source, FabTlp *tlp,
                           SimTime now, SimTime earliest)
{
    FabSource *queue = &port->sources[source];

    fab_fifo_push(&queue->queue[tlp->cls], tlp);
    queue->held |= 1u << tlp->cls;
    if (tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO)) {
        queue->relaxed++;
    }
    port->active |= 1ull << source;
    if (now >= earliest) {
        port_try_send(port, now);
    } else {
        fab_port_wake_at(port, earliest);
    }
}

/* Sends @tlp without queueing it, because it is the only one. */
static inline void send_only(FabPort *port, unsigned source, FabTlp *tlp,
                             SimTime now)
{
    fab_port_served(port, source);
    send_taken(port, &port->sources[source], tlp, now);
}

/* The same, unless no credits have come back for it. */
static SIM_HOT G_GNUC_NO_INLINE void
send_only_starved(FabPort *port, unsigned source, FabTlp *tlp, SimTime now)
{
    fab_credits_collect(port, now);
    if (fab_port_has_credits(port, tlp)) {
        send_only(port, source, tlp, now);
    } else {
        enqueue(port, source, tlp, now, now);
    }
}

/* fab_port_forward() when the time is known at which @tlp may leave. */
static inline void forward_ready(FabPort *port, unsigned source, FabTlp *tlp,
                                 SimTime now)
{
    SimTime earliest = port->busy_until;

    port->sources[source].last_ingress = tlp->ingress;
    if (tlp->ingress) {
        tlp->ingress->last_egress = port;
    }
    tlp->egress_order = port->order++;
    if (!port->active && !port->special) { /* no other TLP can leave before */
        earliest = MAX(earliest, tlp->ready_at);
        if (now >= earliest &&
            port->arbitration == FAB_ARBITRATION_ROUND_ROBIN) {
            if (fab_port_has_credits(port, tlp)) {
                send_only(port, source, tlp, now);
            } else {
                send_only_starved(port, source, tlp, now);
            }
            return;
        }
    }
    enqueue(port, source, tlp, now, earliest);
}

/* With cut-through the last byte must not leave before it has come in. @wire is
 * the time of @tlp on the wire, which rounding may make a ps longer. */
static inline void cut_through(FabTlp *tlp, SimTime wire)
{
    tlp->ready_at = MAX(tlp->ready_at, tlp->tail_at - (wire + 1));
}

static G_GNUC_NO_INLINE void forward_flit(FabPort *port, unsigned source,
                                          FabTlp *tlp, SimTime now)
{
    cut_through(tlp, fab_port_tlp_wire_time(port, tlp));
    forward_ready(port, source, tlp, now);
}

SIM_HOT void fab_port_forward(FabPort *port, unsigned source, FabTlp *tlp)
{
    SimTime now = sim_engine_now(port->owner->engine);

    if (tlp->tail_at > now) {
        if (G_UNLIKELY(port->in_flits)) {
            forward_flit(port, source, tlp, now);
            return;
        }
        cut_through(tlp, fab_port_wire_time(port, tlp->wire_bytes) /
                             FAB_PS_FRACTION);
    }
    forward_ready(port, source, tlp, now);
}

static SIM_HOT void port_arrive_event(SimEvent *event)
{
    FabPort *port = SIM_CONTAINER_OF(event, FabPort, arrive_event);
    FabPort *peer = port->peer;
    FabTlp *tlp = fab_fifo_pop(&port->flight);

    if (port->flight.head) {
        sim_event_schedule(event, port->flight.head->arrive_at);
    }
    credits_receive(peer, tlp);
    peer->owner->ops->receive(peer->owner, peer, tlp);
}

/* The same for a port whose peer checks what comes in. */
static void port_arrive_checked_event(SimEvent *event)
{
    FabPort *port = SIM_CONTAINER_OF(event, FabPort, arrive_event);
    FabPort *peer = port->peer;
    FabTlp *tlp = fab_fifo_pop(&port->flight);

    if (port->flight.head) {
        sim_event_schedule(event, port->flight.head->arrive_at);
    }
    credits_receive(peer, tlp);
    if (!fab_link_drops(peer, tlp)) {
        peer->counters.poisoned_tlps += tlp->poisoned;
        peer->owner->ops->receive(peer->owner, peer, tlp);
    }
}

void fab_port_check_arrivals(FabPort *ingress)
{
    FabPort *sender = ingress->peer;

    g_assert(!sim_event_is_pending(&sender->arrive_event));
    sim_event_init(&sender->arrive_event, sender->owner->engine,
                   port_arrive_checked_event, SIM_PRIORITY_NORMAL,
                   sender->rank + 1);
    sim_engine_set_fetch(sender->owner->engine, port_arrive_checked_event,
                         fab_port_arrive_fetch);
}

void fab_port_init_events(FabPort *port)
{
    SimEngine *engine = port->owner->engine;

    sim_event_init(&port->send_event, engine, port_send_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    sim_event_init(&port->arrive_event, engine, port_arrive_event,
                   SIM_PRIORITY_NORMAL, port->rank + 1);
    sim_engine_set_fetch(engine, port_send_event, fab_port_send_fetch);
    sim_engine_set_fetch(engine, port_arrive_event, fab_port_arrive_fetch);
}
