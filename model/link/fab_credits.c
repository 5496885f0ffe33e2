/* SPDX-License-Identifier: MIT */
#include "fab_credits_priv.h"

#include "fab_account_priv.h"
#include "fab_link_priv.h"

/* Longest time between two UpdateFCs of a class (PCIe 5.0 s2.6.1.2). It is the
 * only limit for a receiver with params.collect_bytes. */
#define UPDATE_TIME (30 * SIM_US)

static void ring_grow(FabPort *port)
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

void fab_credits_make_room(FabPort *port, SimTime now)
{
    fab_credits_collect(port, now);
    if (fab_credits_ring_is_full(port)) {
        ring_grow(port);
    }
}

SimTime fab_port_flit_update(const FabPort *port, SimTime time)
{
    const FabFlits *flits = port->flits;

    return fab_flits_end(flits, fab_flits_next(flits, time)) +
           port->peer->params.fec + port->propagation;
}

/* Sends an UpdateFC with @credits in FLIT mode, in which it takes no time of
 * the wire. */
static void update_send_flit(FabPort *ingress, FabClass cls,
                             FabCreditSum credits, SimTime time, SimTime now)
{
    if (!ingress->special ||
        !fab_link_loses_update(ingress, cls, &credits, time)) {
        fab_credits_arrive(ingress, cls, credits,
                           fab_port_flit_update(ingress, time), now);
    }
}

/* Sends an UpdateFC with @credits, which leaves at @time, @now or later. */
static inline void update_send_at(FabPort *ingress, FabClass cls,
                                  FabCreditSum credits, SimTime time,
                                  SimTime now)
{
    if (ingress->dllp != FAB_DLLP_FREE) {
        fab_port_add_dllp(ingress, time, now);
    }
    if (G_UNLIKELY(ingress->special) &&
        fab_link_loses_update(ingress, cls, &credits, time)) {
        return;
    }
    fab_credits_arrive(ingress, cls, credits,
                       time + ingress->dllp_time + ingress->propagation, now);
}

void fab_credits_send_rarely(FabPort *ingress, FabClass cls,
                             FabCreditSum credits, SimTime time, SimTime now)
{
    if (ingress->in_flits) {
        update_send_flit(ingress, cls, credits, time, now);
    } else {
        update_send_at(ingress, cls, credits, MAX(time, ingress->busy_until),
                       now);
    }
}

/* Returns the freed credits of @cls, which are then kept no longer. */
static FabCreditSum freed_take(FabPort *ingress, FabClass cls)
{
    FabCreditSum credits = ingress->buffer.freed[cls];

    ingress->buffer.freed[cls] = 0;
    ingress->buffer.freed_bytes[cls] = 0;
    return credits;
}

/* fab_port_update_fc() @now. */
static G_GNUC_NO_INLINE void update_fc(FabPort *ingress, FabClass cls,
                                       SimTime time, SimTime now)
{
    fab_credits_send(ingress, cls, freed_take(ingress, cls), time, now);
}

void fab_port_update_fc(FabPort *ingress, FabClass cls, SimTime time)
{
    update_fc(ingress, cls, time, sim_engine_now(ingress->owner->engine));
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
 * until @now.
 */
static G_GNUC_NO_INLINE void update_send_due(FabPort *ingress, FabClass cls,
                                             SimTime now)
{
    SimTime due = ingress->buffer.update_due[cls];
    SimTime start = due + ingress->params.credit_latency;

    if (start >= now) {
        update_fc(ingress, cls, due, now);
        return;
    }
    start = MAX(start, now - ingress->dllp_time - ingress->propagation);
    update_send_at(ingress, cls, freed_take(ingress, cls), start, now);
}

SimTime fab_credits_send_due(FabPort *ingress, SimTime now)
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
    uint32_t least = cls == FAB_CLASS_NP ? 1 : ingress->mps_bytes / 16;

    return !fab_credit_sum_suffices(ingress->buffer.granted[cls], least);
}

/* Returns whether the UpdateFC for the freed credits of the class of @tlp need
 * not wait for more: those of the next TLP of this size would come too late. */
static inline bool is_update_full(const FabPort *ingress, const FabTlp *tlp,
                                  SimTime time)
{
    const FabBuffer *buffer = &ingress->buffer;

    if (G_UNLIKELY(ingress->collects)) {
        return buffer->freed_bytes[tlp->cls] >= ingress->params.collect_bytes;
    }
    /* time + fab_port_tlp_wire_time() >= due, without its division */
    return (SimTime)fab_port_wire_time(ingress,
                                       fab_port_tlp_bytes(ingress, tlp)) >=
           (buffer->update_due[tlp->cls] - time) * FAB_PS_FRACTION;
}

/* Adds the credits of @tlp to the freed ones of its class, and sends an
 * UpdateFC for them if they are to wait for no more. */
static inline void credits_add(FabPort *ingress, const FabTlp *tlp,
                               SimTime time, SimTime now)
{
    FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    buffer->freed_at[cls] = time;
    buffer->freed[cls] +=
        fab_credit_sum_of(buffer->infinite[cls], tlp->data_credits);
    buffer->freed_bytes[cls] += tlp->wire_bytes;
    if (is_update_urgent(ingress, cls) || is_update_full(ingress, tlp, time)) {
        update_fc(ingress, cls, time, now);
    }
}

/* fab_credits_gather() for the first of the freed credits. */
static SIM_HOT G_GNUC_NO_INLINE void
gather_first(FabPort *ingress, const FabTlp *tlp, SimTime time, SimTime now)
{
    FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    if (buffer->freed_bytes[cls]) {
        update_send_due(ingress, cls, now);
    }
    buffer->update_due[cls] = time + update_limit(ingress);
    credits_add(ingress, tlp, time, now);
    if (buffer->freed_bytes[cls] && ingress->peer->waiting) {
        fab_port_wake_at(ingress->peer, MAX(buffer->update_due[cls],
                                            ingress->peer->busy_until));
    }
}

SIM_HOT void fab_credits_gather(FabPort *ingress, const FabTlp *tlp,
                                SimTime time, SimTime now)
{
    const FabBuffer *buffer = &ingress->buffer;
    FabClass cls = tlp->cls;

    /* A TLP that leaves through a slow egress can free its place later than a
     * TLP that came in after it. The two need separate UpdateFCs, so that none
     * is sent too early. */
    if (buffer->freed_bytes[cls] && time >= buffer->freed_at[cls] &&
        time <= buffer->update_due[cls]) {
        credits_add(ingress, tlp, time, now);
    } else {
        gather_first(ingress, tlp, time, now);
    }
}

static inline void discard(FabTlp *tlp, SimTime time, FabFabric *fabric)
{
    fab_credits_release(tlp->ingress, tlp, time,
                        sim_engine_now(fabric->engine));
    fab_tlp_free(fabric, tlp);
}

SIM_HOT void fab_port_discard(FabTlp *tlp, SimTime time)
{
    discard(tlp, time, tlp->ingress->owner->fabric);
}

SIM_HOT void fab_port_consume(FabTlp *tlp, SimTime time)
{
    FabFabric *fabric = tlp->ingress->owner->fabric;

    fab_account_arrived(&fabric->accounts, tlp, sim_engine_now(fabric->engine));
    discard(tlp, time, fabric);
}
