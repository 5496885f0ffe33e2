/* SPDX-License-Identifier: MIT */
#ifndef FAB_ARBITER_PRIV_H
#define FAB_ARBITER_PRIV_H

#include "fab_port_priv.h"

/*
 * Selects the TLP that an egress sends next. The usual case is here, because it
 * belongs to most hops: one source has TLPs, all of one class.
 */

/* Returns whether @mask has at most one bit. */
static inline bool fab_is_single(uint64_t mask)
{
    return !(mask & (mask - 1));
}

/* The first TLP of the first queue. A TLP must be queued. */
static inline FabTlp *fab_port_first(const FabPort *port)
{
    const FabSource *source = &port->sources[__builtin_ctzll(port->active)];

    return source->queue[__builtin_ctz(source->held)].head;
}

/* A TLP of @source has its turn, in a round. */
static inline void fab_port_served(FabPort *port, unsigned source)
{
    port->round_robin = (source + 1) % FAB_SOURCES_MAX;
}

/* Returns whether only the first TLP of one queue can be next. A TLP must be
 * queued. */
static inline bool fab_port_has_one_queue(const FabPort *port)
{
    const FabSource *source = &port->sources[__builtin_ctzll(port->active)];

    return fab_is_single(port->active) && fab_is_single(source->held) &&
           !source->relaxed && port->arbitration == FAB_ARBITRATION_ROUND_ROBIN;
}

/* Removes the first TLP of the only queue. Returns its source. */
static inline FabSource *fab_port_take_only(FabPort *port)
{
    unsigned index = __builtin_ctzll(port->active);
    FabSource *source = &port->sources[index];
    FabFifo *queue = &source->queue[__builtin_ctz(source->held)];

    fab_fifo_pop(queue);
    /* No branch, because the processor could not foresee it. */
    source->held = queue->head ? source->held : 0;
    port->active = queue->head ? port->active : 0;
    fab_port_served(port, index);
    return source;
}

/* Removes the TLP that is sent next from its source. Returns NULL if no TLP may
 * leave now. In this case port->wake says when to look again, and port->starved
 * says whether a TLP lacks credits. A TLP must be queued. */
FabTlp *fab_port_take(FabPort *port, SimTime now, FabSource **ret_source);

/* fab_port_next_try() in all cases. */
SimTime fab_port_next_try_among(const FabPort *port);

/*
 * No queued TLP, of which there must be one, can leave before this time. With
 * cut-through a TLP may come in more slowly than it could leave, so the first
 * one is often not ready when the wire becomes free.
 */
static inline SimTime fab_port_next_try(const FabPort *port)
{
    SimTime ready = fab_port_first(port)->ready_at;

    if (ready <= port->busy_until) {
        return port->busy_until;
    }
    return fab_port_has_one_queue(port) && !port->special
               ? ready
               : fab_port_next_try_among(port);
}

#endif
