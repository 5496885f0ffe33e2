/* SPDX-License-Identifier: MIT */
#ifndef FAB_OBSERVE_PRIV_H
#define FAB_OBSERVE_PRIV_H

#include "fab_observe.h"
#include "fab_port_priv.h"

/* The graph of what waits for what; see fab_waits_priv.h. */
typedef struct FabWaits FabWaits;

/* An observer that asks a component for the places of its TLPs. */
typedef struct FabObserver {
    FabWaiterFn fn;
    void *data;
    const FabComponent *component; /* component that holds the TLPs */
    SimTime now;
} FabObserver;

/* The functions by which a kind of component implements fab_observe.h. */
struct FabObserveOps {
    /* NULL: the component has no resources. */
    void (*resources)(const FabComponent *component, FabResourceFn fn,
                      void *data);
    /* NULL: fab_forwarding_blockers(). Returns the result of the last call of
     * @fn; false if it did not call @fn. */
    bool (*blockers)(const FabComponent *component, const FabPort *ingress,
                     FabClass cls, FabBlockerFn fn, void *data);
    /* NULL: all TLPs of the component are at its ports. */
    void (*waiters)(const FabComponent *component, const FabObserver *observer);
    /* Tells of the TLPs that are in the component and not at its ports. NULL:
     * there are none. */
    void (*waits)(const FabComponent *component, FabWaits *waits);
    /* NULL: the component has no DMA engine. */
    void (*dma)(const FabComponent *component, FabDmaWaiterFn fn, void *data);
};

/* The blockers of a component that immediately queues the TLPs from @ingress at
 * another port, in the source with the index of @ingress. */
bool fab_forwarding_blockers(const FabComponent *component,
                             const FabPort *ingress, FabClass cls,
                             FabBlockerFn fn, void *data);

/* Report to @observer all bytes of @tlp, or all TLPs of @fifo, at @place of the
 * component (@port nullable). */
void fab_observer_tlp(const FabObserver *observer, const FabTlp *tlp,
                      FabPlaceKind place, const FabPort *port);
void fab_observer_fifo(const FabObserver *observer, const FabFifo *fifo,
                       FabPlaceKind place);

/* Bytes by which @tlp counts (FabWaiter). */
static inline uint64_t fab_observed_bytes(const FabTlp *tlp)
{
    return fab_tlp_is_completion(tlp)
               ? tlp->payload_bytes
               : MAX(tlp->payload_bytes, tlp->request_bytes);
}

/* fab_port_observe.c: the place of a TLP of @cls that is queued at a port, or
 * would be, and may leave. @link is the state of the port. */
FabPlaceKind fab_port_queue_place(const FabLinkState *link, FabClass cls);
/* fab_port_observe.c: reports the TLPs in the queues of @port and in flight
 * from it. */
void fab_port_waiters(const FabPort *port, const FabObserver *observer);

#endif
