/* SPDX-License-Identifier: MIT */
#ifndef FAB_CREDITS_PRIV_H
#define FAB_CREDITS_PRIV_H

#include "fab_port_priv.h"

/*
 * Credits on their way back: a receiver frees the place of a TLP and sends an
 * UpdateFC, and the sender collects the credits. This belongs to each hop, so
 * the usual case is here: the link is plain, and each TLP has an UpdateFC.
 */

/* True if the ring of @port has no room for one more. Besides the entries,
 * there is one behind the last and one before the first. */
static inline bool fab_credits_ring_is_full(const FabPort *port)
{
    return port->returns.tail - port->returns.head + 2 * FAB_RETURN_BYTES >
           port->returns.mask;
}

/* Adds the credits that have come back by @now to those of @port. Until a TLP
 * lacks some, or the ring is full, nobody has to look. */
static inline void fab_credits_collect(FabPort *port, SimTime now)
{
    const FabCreditReturn *ret = fab_port_return(port, port->returns.head);

    while (ret->time <= now) {
        port->credits[fab_credit_return_class(ret)] +=
            fab_credit_return_sum(ret);
        port->returns.head += FAB_RETURN_BYTES;
        ret = fab_port_return(port, port->returns.head);
    }
}

/* Collects, and makes the ring of @port larger if it is full nevertheless. */
void fab_credits_make_room(FabPort *port, SimTime now);

/* Enters credits that will be back at the sender @port at @ret.time. The calls
 * come nearly in the order of these times. */
static inline void fab_credits_enter(FabPort *port, FabCreditReturn ret,
                                     SimTime now)
{
    const FabCreditReturn *before;
    uint32_t at;

    if (fab_credits_ring_is_full(port)) {
        fab_credits_make_room(port, now);
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

/* Enters @credits of @ingress, which are at the sender at @time. */
static inline void fab_credits_arrive(FabPort *ingress, FabClass cls,
                                      FabCreditSum credits, SimTime time,
                                      SimTime now)
{
    FabPort *sender = ingress->peer;

    if (ingress->counts_received) {
        ingress->buffer.granted[cls] += credits;
    }
    fab_credits_enter(sender, (FabCreditReturn){time, credits | cls}, now);
    if (G_UNLIKELY(sender->waiting)) {
        fab_port_wake_at(sender, MAX(time, sender->busy_until));
    }
}

/* Sends an UpdateFC with @credits, which become free at @time, @now or later,
 * on a link that is special or in FLIT mode. */
void fab_credits_send_rarely(FabPort *ingress, FabClass cls,
                             FabCreditSum credits, SimTime time, SimTime now);

/* The same on any link. */
static inline void fab_credits_send(FabPort *ingress, FabClass cls,
                                    FabCreditSum credits, SimTime time,
                                    SimTime now)
{
    time += ingress->params.credit_latency;
    if (G_UNLIKELY(ingress->special || ingress->in_flits)) {
        fab_credits_send_rarely(ingress, cls, credits, time, now);
        return;
    }
    time = MAX(time, ingress->busy_until); /* a TLP may be on the wire */
    if (ingress->dllp != FAB_DLLP_FREE) {
        fab_port_add_dllp(ingress, time, now);
    }
    fab_credits_arrive(ingress, cls, credits,
                       time + ingress->dllp_time + ingress->propagation, now);
}

/*
 * Keeps the credits of @tlp, freed at @time, under FAB_DLLP_SPEC. Their
 * UpdateFC leaves no later than the limit after the first of them was freed
 * (PCIe 5.0 s2.6.1.2). A sender that waits comes for it at that time; see
 * credits_await().
 */
void fab_credits_gather(FabPort *ingress, const FabTlp *tlp, SimTime time,
                        SimTime now);
/* Sends the UpdateFCs of @ingress that are due by @now, under FAB_DLLP_SPEC.
 * Returns when the next one is due, or SIM_TIME_NONE. */
SimTime fab_credits_send_due(FabPort *ingress, SimTime now);

/* Frees the place of @tlp in the receive buffer of @ingress at @time, @now or
 * later. It belongs to each hop. */
static inline void fab_credits_release(FabPort *ingress, const FabTlp *tlp,
                                       SimTime time, SimTime now)
{
    FabClass cls = tlp->cls;
    unsigned infinite = ingress->buffer.infinite[cls];

    if (infinite == FAB_INFINITE_ALL ||
        tlp->link_epoch != ingress->buffer.epoch) {
        return;
    }
    if (ingress->dllp == FAB_DLLP_SPEC) {
        fab_credits_gather(ingress, tlp, time, now);
    } else {
        fab_credits_send(ingress, cls,
                         fab_credit_sum_of(infinite, tlp->data_credits), time,
                         now);
    }
}

#endif
