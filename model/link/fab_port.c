/* SPDX-License-Identifier: MIT */
#include "fab_arbiter_priv.h"
#include "fab_account_priv.h"
#include "fab_link_priv.h"

/* Longest time between two UpdateFCs of a class (PCIe 5.0 s2.6.1.2). It is the
 * only limit for a receiver with params.collect_bytes. */
#define UPDATE_TIME (30 * SIM_US)

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
    if (G_LIKELY(tlp->link_epoch == ingress->buffer.epoch)) {
        ingress->buffer.granted[tlp->cls] -= fab_credit_sum_of(
            ingress->buffer.infinite[tlp->cls], tlp->data_credits);
    }
}

static G_GNUC_NO_INLINE void returns_take(FabPort *port, SimTime now)
{
    const FabCreditReturn *ret = fab_port_return(port, port->returns.head);

    do {
        port->credits[fab_credit_return_class(ret)] +=
            fab_credit_return_sum(ret);
        port->returns.head += FAB_RETURN_BYTES;
        ret = fab_port_return(port, port->returns.head);
    } while (ret->time <= now);
}

/* Adds the credits that have come back by @now. */
static inline void credits_collect(FabPort *port, SimTime now)
{
    if (fab_port_return(port, port->returns.head)->time <= now) {
        returns_take(port, now);
    }
}

static G_GNUC_NO_INLINE void returns_grow(FabPort *port)
{
    uint32_t old = port->returns.mask / FAB_RETURN_BYTES + 1, size = old * 2;
    uint32_t bytes = port->returns.tail - port->returns.head;
    FabCreditReturn *ring =
        FAB_ARENA_NEW(&port->owner->fabric->arena, FabCreditReturn, size);

    for (uint32_t at = 0; at < bytes; at += FAB_RETURN_BYTES) {
        ring[at / FAB_RETURN_BYTES] =
            *fab_port_return(port, port->returns.head + at);
    }
    port->ring = ring;
    port->returns.mask = (size - 1) * FAB_RETURN_BYTES;
    port->returns.head = 0;
    port->returns.tail = bytes;
}

/* Enters credits that will be back at the sender @port at @ret.time. The calls
 * come nearly in the order of these times. */
static inline void returns_insert(FabPort *port, FabCreditReturn ret)
{
    const FabCreditReturn *before;
    uint32_t at;

    /* Besides the entries, there is one behind the last and one before the
     * first. */
    if (G_UNLIKELY(port->returns.tail - port->returns.head +
                       2 * FAB_RETURN_BYTES >
                   port->returns.mask)) {
        returns_grow(port);
    }
    at = port->returns.tail;
    port->returns.tail += FAB_RETURN_BYTES;
    fab_port_return(port, port->returns.tail)->time = SIM_TIME_NONE;
    while ((before = fab_port_return(port, at - FAB_RETURN_BYTES))->time >
           ret.time) {
        *fab_port_return(port, at) = *before;
        at -= FAB_RETURN_BYTES;
    }
    *fab_port_return(port, at) = ret;
}

static inline void wake_at(FabPort *port, SimTime time)
{
    if (!sim_event_is_pending(&port->send_event)) {
        sim_event_schedule(&port->send_event, time);
    } else if (port->send_event.time > time) {
        sim_event_reschedule(&port->send_event, time);
    }
}

void fab_port_wake_at(FabPort *port, SimTime time)
{
    wake_at(port, time);
}

SimTime fab_port_flit_update(const FabPort *port, SimTime time)
{
    const FabFlits *flits = port->flits;

    return fab_flits_end(flits, fab_flits_next(flits, time)) +
           port->peer->params.fec + port->propagation;
}

/* Enters @credits of @ingress, which are at the sender at @time. */
static inline void update_arrives(FabPort *ingress, FabClass cls,
                                  FabCreditSum credits, SimTime time)
{
    FabPort *sender = ingress->peer;

    ingress->buffer.granted[cls] += credits;
    returns_insert(sender, (FabCreditReturn){time, credits | cls});
    if (G_UNLIKELY(sender->waiting)) {
        wake_at(sender, MAX(time, sender->busy_until));
    }
}

/* The same as update_send_at() in FLIT mode, in which it takes no time of the
 * wire. */
static G_GNUC_NO_INLINE void update_send_flit(FabPort *ingress, FabClass cls,
                                              FabCreditSum credits,
                                              SimTime time)
{
    if (!ingress->special ||
        !fab_link_loses_update(ingress, cls, &credits, time)) {
        update_arrives(ingress, cls, credits,
                       fab_port_flit_update(ingress, time));
    }
}

/* Sends an UpdateFC with @credits, which leaves at @time. */
static inline void update_send_at(FabPort *ingress, FabClass cls,
                                  FabCreditSum credits, SimTime time)
{
    if (ingress->dllp != FAB_DLLP_FREE) {
        fab_port_add_dllp(ingress, time);
    }
    if (G_UNLIKELY(ingress->special) &&
        fab_link_loses_update(ingress, cls, &credits, time)) {
        return;
    }
    update_arrives(ingress, cls, credits,
                   time + ingress->dllp_time + ingress->propagation);
}

/* Sends an UpdateFC with @credits, which become free at @time, now or later. */
static inline void update_send(FabPort *ingress, FabClass cls,
                               FabCreditSum credits, SimTime time)
{
    time += ingress->params.credit_latency;
    if (G_UNLIKELY(ingress->in_flits)) {
        update_send_flit(ingress, cls, credits, time);
        return;
    }
    if (time < ingress->busy_until) { /* a TLP is on the wire */
        time = ingress->busy_until;
    }
    update_send_at(ingress, cls, credits, time);
}

/* Returns the freed credits of @cls, which are then kept no longer. */
static FabCreditSum freed_take(FabPort *ingress, FabClass cls)
{
    FabCreditSum credits = ingress->buffer.freed[cls];

    ingress->buffer.freed[cls] = 0;
    ingress->buffer.freed_bytes[cls] = 0;
    return credits;
}

void fab_port_update_fc(FabPort *ingress, FabClass cls, SimTime time)
{
    update_send(ingress, cls, freed_take(ingress, cls), time);
}

/* Time until an UpdateFC must follow the first of the credits that it is for.
 */
static inline SimTime update_limit(const FabPort *ingress)
{
    return ingress->collects ? UPDATE_TIME : ingress->buffer.dllp_limit;
}

/*
 * Sends the UpdateFC for the freed credits of @cls when it is due. That may
 * have been before @now, because a port has no timer for it: nobody has asked
 * for these credits since. The wire was free then, as far as is still known.
 * The ring takes no record of the past, so the UpdateFC is on its way at least
 * until
 * @now.
 */
static G_GNUC_NO_INLINE void update_send_due(FabPort *ingress, FabClass cls,
                                             SimTime now)
{
    SimTime due = ingress->buffer.update_due[cls];
    SimTime start = due + ingress->params.credit_latency;

    if (start >= now) {
        fab_port_update_fc(ingress, cls, due);
        return;
    }
    start = MAX(start, now - ingress->dllp_time - ingress->propagation);
    update_send_at(ingress, cls, freed_take(ingress, cls), start);
}

/* Sends the UpdateFCs of @ingress that are due by @now. Returns when the next
 * one is due, or SIM_TIME_NONE. */
static SimTime updates_send_due(FabPort *ingress, SimTime now)
{
    SimTime next = SIM_TIME_NONE;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        if (!ingress->buffer.freed_bytes[cls]) {
            continue;
        }
        if (ingress->buffer.update_due[cls] <= now) {
            update_send_due(ingress, cls, now);
        } else {
            next = MIN(next, ingress->buffer.update_due[cls]);
        }
    }
    return next;
}

/* Returns whether PCIe 5.0 s2.6.1.2 asks for an UpdateFC at once when credits
 * of @cls become free: the TLPs that have come in took all of them, or leave
 * less data credits than the largest payload needs. */
static inline bool is_update_urgent(const FabPort *ingress, FabClass cls)
{
    unsigned infinite = ingress->buffer.infinite[cls];
    FabCreditSum left = ingress->buffer.granted[cls];
    uint32_t least = cls == FAB_CLASS_NP ? 1 : ingress->mps_bytes / 16;

    return (!(infinite & FAB_INFINITE_HEADER) &&
            fab_credit_sum_header(left) == 0) ||
           (!(infinite & FAB_INFINITE_DATA) &&
            fab_credit_sum_data(left) < least);
}

/* Returns whether the UpdateFC for the freed credits of the class of @tlp need
 * not wait for more: those of the next TLP of this size would come too late. */
static inline bool is_update_full(const FabPort *ingress, const FabTlp *tlp,
                                  SimTime time)
{
    return G_UNLIKELY(ingress->collects)
               ? ingress->buffer.freed_bytes[tlp->cls] >=
                     ingress->params.collect_bytes
               : time + fab_port_tlp_wire_time(ingress, tlp) >=
                     ingress->buffer.update_due[tlp->cls];
}

/* Adds the credits of @tlp to the freed ones of its class, and sends an
 * UpdateFC for them if they are to wait for no more. */
static inline void credits_add(FabPort *ingress, const FabTlp *tlp,
                               SimTime time)
{
    FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    buffer->freed_at[cls] = time;
    buffer->freed[cls] +=
        fab_credit_sum_of(buffer->infinite[cls], tlp->data_credits);
    buffer->freed_bytes[cls] += tlp->wire_bytes;
    if (is_update_urgent(ingress, cls) || is_update_full(ingress, tlp, time)) {
        fab_port_update_fc(ingress, cls, time);
    }
}

/* credits_gather() for the first of the freed credits. */
static G_GNUC_NO_INLINE void
credits_gather_first(FabPort *ingress, const FabTlp *tlp, SimTime time)
{
    FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    if (buffer->freed_bytes[cls]) {
        update_send_due(ingress, cls, sim_engine_now(ingress->owner->engine));
    }
    buffer->update_due[cls] = time + update_limit(ingress);
    credits_add(ingress, tlp, time);
    if (buffer->freed_bytes[cls] && ingress->peer->waiting) {
        wake_at(ingress->peer,
                MAX(buffer->update_due[cls], ingress->peer->busy_until));
    }
}

/*
 * Keeps the credits of @tlp, freed at @time, under FAB_DLLP_SPEC. Their
 * UpdateFC leaves no later than the limit after the first of them was freed
 * (PCIe 5.0 s2.6.1.2). A sender that waits comes for it at that time; see
 * credits_await().
 */
static inline void credits_gather(FabPort *ingress, const FabTlp *tlp,
                                  SimTime time)
{
    const FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    /* A TLP that leaves through a slow egress can free its place later than a
     * TLP that came in after it. The two need separate UpdateFCs, so that none
     * is sent too early. */
    if (buffer->freed_bytes[cls] && time >= buffer->freed_at[cls] &&
        time <= buffer->update_due[cls]) {
        credits_add(ingress, tlp, time);
    } else {
        credits_gather_first(ingress, tlp, time);
    }
}

/* Frees the place of @tlp in the receive buffer of @ingress at @time, now or
 * later. It belongs to each hop. */
static inline void release(FabPort *ingress, const FabTlp *tlp, SimTime time)
{
    FabClass cls = tlp->cls;
    unsigned infinite = ingress->buffer.infinite[cls];

    if (infinite == FAB_INFINITE_ALL ||
        tlp->link_epoch != ingress->buffer.epoch) {
        return;
    }
    if (ingress->dllp == FAB_DLLP_SPEC) {
        credits_gather(ingress, tlp, time);
    } else {
        update_send(ingress, cls,
                    fab_credit_sum_of(infinite, tlp->data_credits), time);
    }
}

static inline void discard(FabTlp *tlp, SimTime time)
{
    FabPort *ingress = tlp->ingress;

    release(ingress, tlp, time);
    fab_tlp_free(ingress->owner->fabric, tlp);
}

void fab_port_discard(FabTlp *tlp, SimTime time)
{
    discard(tlp, time);
}

void fab_port_consume(FabTlp *tlp, SimTime time)
{
    FabFabric *fabric = tlp->ingress->owner->fabric;

    fab_account_arrived(&fabric->accounts, tlp, sim_engine_now(fabric->engine));
    discard(tlp, time);
}

/* A TLP is on the wire to @ingress until @end. The receiver makes an Ack when
 * it has come in: at once, or when the Ack latency limit is over, unless the
 * last Ack leaves later (PCIe 5.0 s3.6.3.1). */
static inline void ack_owe(FabPort *ingress, SimTime end)
{
    SimTime received = end + ingress->propagation;

    if (ingress->dllp == FAB_DLLP_SPEC) {
        if (received > ingress->buffer.ack_due) {
            fab_port_add_late_ack(ingress,
                                  received + ingress->buffer.dllp_limit);
        }
    } else if (ingress->dllp == FAB_DLLP_EACH) {
        fab_port_add_dllp(ingress, received);
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
    wire = fab_port_wire_time(port, bytes) + port->time_carry;
    port->time_carry = wire % FAB_PS_FRACTION;
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
static void transmit_rarely(FabPort *port, FabTlp *tlp, SimTime start,
                            SimTime end)
{
    if (!port->special || !fab_link_discards(port, tlp, end)) {
        sent_count(port, tlp, fab_port_tlp_bytes(port, tlp), end - start);
        if (port->special) {
            fab_link_sends(port, tlp);
        }
        if (!port->special || !fab_link_carries(port, tlp, start, end)) {
            ack_owe(port->peer, end);
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
        release(tlp->ingress, tlp, end);
    }
    tlp->ingress = peer;
    tlp->link_epoch = peer->buffer.epoch;
    tlp->ready_at = 0;
    if (port->waiting) {
        port->waiting = false;
        port->counters.credit_wait_ps += now - port->waiting_since;
    }
    if (G_UNLIKELY(port->special || port->traced || port->in_flits)) {
        transmit_rarely(port, tlp, start, end);
    } else {
        sent_count(port, tlp, tlp->wire_bytes, end - start);
        ack_owe(peer, end);
        deliver(port, tlp, start, end);
    }
}

/* Returns when @tlp has left that begins at @start and would leave at @end: a
 * port may be slower than its wire. */
static inline SimTime service_end(FabPort *port, const FabTlp *tlp,
                                  SimTime start, SimTime end)
{
    SimTime service = fab_service_time(&port->params.service, tlp);

    if (service <= end - start) {
        return end;
    }
    port->counters.service_ps += service - (end - start);
    return start + service;
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
    wire = fab_port_wire_time(port, tlp->wire_bytes) + port->time_carry;
    port->time_carry = wire % FAB_PS_FRACTION;
    end = start + wire / FAB_PS_FRACTION;
    if (port->has_service) {
        end = service_end(port, tlp, start, end);
    }
    transmit_at(port, tlp, now, start, end);
}

/* A TLP lacks credits: waits for the first that come back, or for the time at
 * which the receiver has to send some. Another TLP may leave at @wake. */
static void credits_await(FabPort *port, SimTime now, SimTime wake)
{
    if (!port->waiting) {
        port->waiting = true;
        port->waiting_since = now;
    }
    if (port->peer->dllp == FAB_DLLP_SPEC) {
        wake = MIN(wake, updates_send_due(port->peer, now));
    }
    wake = MIN(wake, fab_port_return(port, port->returns.head)->time);
    if (wake != SIM_TIME_NONE) {
        wake_at(port, MAX(wake, now));
    }
}

/* Sends @tlp, which it has taken from @source. */
static G_GNUC_NO_INLINE void send_taken(FabPort *port, const FabSource *source,
                                        FabTlp *tlp, SimTime now)
{
    transmit(port, tlp, now);
    if (port->active) {
        wake_at(port, fab_port_next_try(port));
    }
    if (source->drained) {
        source->drained(source->owner, port, tlp);
    }
}

/* Sends the TLP whose turn it is among those of several queues, if one can
 * leave. */
static G_GNUC_NO_INLINE void try_send_among(FabPort *port, SimTime now)
{
    FabSource *source;
    FabTlp *tlp = fab_port_take(port, now, &source);

    if (tlp) {
        send_taken(port, source, tlp, now);
    } else if (port->starved) {
        credits_await(port, now, port->wake);
    } else if (port->wake != SIM_TIME_NONE) {
        wake_at(port, port->wake);
    }
}

/* The wire is free: sends the TLP whose turn it is, if one can leave. */
static G_GNUC_NO_INLINE void port_try_send(FabPort *port, SimTime now)
{
    FabTlp *tlp;

    if (G_UNLIKELY(port->special) && fab_link_takes_wire(port, now)) {
        return;
    }
    if (!port->active) {
        return;
    }
    if (G_UNLIKELY(port->starved) && port->peer->dllp == FAB_DLLP_SPEC) {
        /* TLPs of other classes may leave, so it did not wait for credits. */
        updates_send_due(port->peer, now);
    }
    credits_collect(port, now);
    if (!fab_port_has_one_queue(port)) {
        try_send_among(port, now);
        return;
    }
    tlp = fab_port_first(port);
    if (tlp->ready_at > now) {
        wake_at(port, tlp->ready_at);
    } else if (!fab_port_has_credits(port, tlp)) {
        credits_await(port, now, SIM_TIME_NONE);
    } else {
        send_taken(port, fab_port_take_only(port), tlp, now);
    }
}

static void port_send_event(SimEvent *event)
{
    FabPort *port = SIM_CONTAINER_OF(event, FabPort, send_event);

    if (G_LIKELY(event->time >= port->busy_until)) {
        port_try_send(port, event->time);
    } else if (port->active || (port->special && fab_link_is_pending(port))) {
        sim_event_schedule(event, port->busy_until);
    }
}

void fab_port_send(FabPort *port, unsigned source, FabTlp *tlp)
{
    fab_tlp_measure(tlp);
    fab_port_forward(port, source, tlp);
}

/* Sends @tlp without queueing it, because it is the only one. Returns false if
 * it must wait for credits. */
static inline bool send_only(FabPort *port, unsigned source, FabTlp *tlp,
                             SimTime now)
{
    credits_collect(port, now);
    if (!fab_port_has_credits(port, tlp)) {
        return false;
    }
    fab_port_served(port, source);
    send_taken(port, &port->sources[source], tlp, now);
    return true;
}

void fab_port_forward(FabPort *port, unsigned source, FabTlp *tlp)
{
    SimTime now = sim_engine_now(port->owner->engine);
    FabSource *queue = &port->sources[source];
    SimTime earliest = port->busy_until;

    queue->last_ingress = tlp->ingress;
    if (tlp->ingress) {
        tlp->ingress->last_egress = port;
    }
    tlp->egress_order = port->order++;
    if (tlp->tail_at > now) {
        /* With cut-through the last byte must not leave before it has come in.
         * Rounding may cost one ps. */
        SimTime time = fab_port_tlp_wire_time(port, tlp) + 1;

        tlp->ready_at = MAX(tlp->ready_at, tlp->tail_at - time);
    }
    if (!port->active && !port->special) { /* no other TLP can leave before */
        earliest = MAX(earliest, tlp->ready_at);
        if (now >= earliest &&
            port->arbitration == FAB_ARBITRATION_ROUND_ROBIN &&
            send_only(port, source, tlp, now)) {
            return;
        }
    }
    fab_fifo_push(&queue->queue[tlp->cls], tlp);
    queue->held |= 1u << tlp->cls;
    if (tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO)) {
        queue->relaxed++;
    }
    port->active |= 1ull << source;
    if (now >= earliest) {
        port_try_send(port, now);
    } else {
        wake_at(port, earliest);
    }
}

static void port_arrive_event(SimEvent *event)
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
