/* SPDX-License-Identifier: MIT */
#ifndef FAB_OBSERVE_PRIV_H
#define FAB_OBSERVE_PRIV_H

#include "fab_observe.h"
#include "fab_port_priv.h"

/* The observer who asks a component where its TLPs are. */
typedef struct FabObserver {
    FabWaiterFn fn;
    void *data;
    const FabComponent *component; /* that is asked */
    SimTime now;
} FabObserver;

/* A kind of component tells of itself by these: see fab_observe.h. */
struct FabObserveOps {
    /* Nullable: it has none. */
    void (*resources)(const FabComponent *component, FabResourceFn fn,
                      void *data);
    /* Nullable: it forwards, as fab_forwarding_blockers() tells. Returns what
     * the last call of @fn did; false without one. */
    bool (*blockers)(const FabComponent *component, const FabPort *ingress,
                     FabClass cls, FabBlockerFn fn, void *data);
    /* Nullable: no TLP is anywhere but at its ports. */
    void (*waiters)(const FabComponent *component, const FabObserver *observer);
    /* Nullable: it has no DMA engine. */
    void (*dma)(const FabComponent *component, FabDmaWaiterFn fn, void *data);
};

/* The blockers of a component that queues what comes in at @ingress at once,
 * as the source of the same number at another port. */
bool fab_forwarding_blockers(const FabComponent *component,
                             const FabPort *ingress, FabClass cls,
                             FabBlockerFn fn, void *data);

/* Tells @observer of @tlp, which is at @place of its component (@port nullable)
 * with all its bytes; and of all TLPs of @fifo. */
void fab_observer_tlp(const FabObserver *observer, const FabTlp *tlp,
                      FabPlaceKind place, const FabPort *port);
void fab_observer_fifo(const FabObserver *observer, const FabFifo *fifo,
                       FabPlaceKind place);

/* Bytes that @tlp counts with. */
static inline uint64_t fab_observed_bytes(const FabTlp *tlp)
{
    return fab_tlp_is_completion(tlp)
               ? tlp->payload_bytes
               : MAX(tlp->payload_bytes, tlp->request_bytes);
}

/* fab_port_observe.c: tells of the TLPs in the queues of @port and in flight
 * from it. */
void fab_port_waiters(const FabPort *port, const FabObserver *observer);

#endif
