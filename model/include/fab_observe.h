/* SPDX-License-Identifier: MIT */
#ifndef FAB_OBSERVE_H
#define FAB_OBSERVE_H

#include "fab_component.h"

/*
 * What a component tells an observer about this moment: the resources it has,
 * what holds TLPs up, and where TLPs and DMA orders wait. Observing changes
 * nothing. After realize.
 */

/* ---- Resources -------------------------------------------------------- */

typedef enum FabResourceKind {
    /* Servers: they work as fast as they can while there is work. */
    FAB_RESOURCE_LINK,      /* one direction of a link */
    FAB_RESOURCE_MEMORY,    /* the channel of a host's memory */
    FAB_RESOURCE_WALKERS,   /* page walkers of an IOMMU */
    FAB_RESOURCE_COMPLETER, /* what is behind the BARs of an endpoint */
    FAB_RESOURCE_CPU,       /* the writes of a host's CPU */
    /* Pools: so many requests at a time, each for its round trip. */
    FAB_RESOURCE_TAGS,         /* reads of an endpoint's DMA engine */
    FAB_RESOURCE_BUFFER,       /* receive buffer of a port: credits */
    FAB_RESOURCE_NTB_TAGS,     /* requests that an NTB issues as its own */
    FAB_RESOURCE_FORWARD_TAGS, /* reads between the ports of a root */
    FAB_RESOURCE_MEMORY_READS, /* reads of memory under way */
    FAB_RESOURCE_KINDS,
} FabResourceKind;

static inline bool fab_resource_is_pool(FabResourceKind kind)
{
    return kind >= FAB_RESOURCE_TAGS;
}

/* A resource of a component; LINK and BUFFER are those of its ports. */
typedef struct FabResourceState {
    FabResourceKind kind;
    uint32_t size;       /* tags, walkers or reads; 0: it has no number */
    uint32_t unit_bytes; /* the most that one of them is for; 0: not known */
    uint32_t used;       /* now; without a size: 1 while it works */
    bool is_wanted;      /* a request waits for one of them */
    uint64_t requests;   /* served so far; 0 where nobody counts */
} FabResourceState;

typedef void (*FabResourceFn)(void *data, const FabResourceState *state);

/* Calls @fn for each resource of @component but those of its ports: always the
 * same ones, in the same order. */
void fab_observe_resources(const FabComponent *component, FabResourceFn fn,
                           void *data);

/* What a port may lack credits for: FAB_CLASS_ headers, then data. */
#define FAB_CREDIT_KINDS     (2 * FAB_CLASSES)
#define FAB_CREDIT_DATA(cls) (FAB_CLASSES + (cls))

/* Whether @lacks, a set of bits 1 << kind of credits, has one of class @cls. */
static inline bool fab_credits_lack_class(uint32_t lacks, unsigned cls)
{
    return lacks & (1u << cls | 1u << FAB_CREDIT_DATA(cls));
}

/* What the sender of a link does. */
typedef struct FabLinkState {
    bool has_work;   /* TLPs are queued */
    bool is_sending; /* the wire is taken */
    uint32_t lacks;  /* kinds of credits that the first TLPs of queues lack,
                        those left out that may not leave yet */
    bool is_ordered; /* a TLP that has its credits waits behind a posted one
                        that has not */
} FabLinkState;

void fab_port_observe(const FabPort *port, FabLinkState *ret_state);

/* Time that the wire itself takes for @bytes, framing included. */
SimTime fab_port_wire_time(const FabPort *port, uint64_t bytes);
/* Time of the DLLPs that the port owes and has not sent yet. */
SimTime fab_port_dllp_owed(const FabPort *port);
/* Time of an SKP ordered set, and from one to the next (0: there are none). */
SimTime fab_port_skp_time(const FabPort *port);
SimTime fab_port_skp_interval(const FabPort *port);

/* ---- What holds TLPs up ----------------------------------------------- */

typedef struct FabBlocker {
    const FabPort *egress;    /* they are queued there; NULL: */
    FabResourceKind resource; /* a resource of the component itself */
} FabBlocker;

/* Returns true if @blocker explains the wait, so that no other is wanted. */
typedef bool (*FabBlockerFn)(void *data, const FabBlocker *blocker);

/*
 * Calls @fn with what holds up the TLPs of @cls that came in at @ingress, a
 * port of @component, until it returns true. Calls it for nothing if they are
 * on their way through the component.
 */
void fab_observe_blockers(const FabComponent *component, const FabPort *ingress,
                          FabClass cls, FabBlockerFn fn, void *data);

/* ---- What waits ------------------------------------------------------- */

/* Kinds of places, by what those who are there wait for. */
typedef enum FabPlaceKind {
    FAB_PLACE_OWN,     /* a flow's own time: a driver, a kernel, a set-up */
    FAB_PLACE_CPU,     /* writes and reads of a CPU, before they leave it */
    FAB_PLACE_DEVICE,  /* endpoint: before the first write, after the last data,
                          and behind its BARs */
    FAB_PLACE_TAG,     /* a tag of the endpoint, or a place at its port */
    FAB_PLACE_TURN,    /* others on the same link */
    FAB_PLACE_CREDITS, /* credits */
    FAB_PLACE_ORDER,   /* what must go first */
    FAB_PLACE_SERIAL,  /* leaving, byte by byte */
    FAB_PLACE_WIRE,    /* the way along the cable */
    FAB_PLACE_TRANSIT, /* the way through a component */
    FAB_PLACE_FORWARD, /* root: a tag or a place at another root port */
    FAB_PLACE_NTB_TAG, /* NTB: a tag */
    FAB_PLACE_IOMMU,   /* translation, the wait for a walker too */
    FAB_PLACE_MEMORY,  /* memory, the wait for it too */
    FAB_PLACE_KINDS,
} FabPlaceKind;

/* A TLP, or what will be one, and where it is. Requests count with the bytes
 * they ask for, so that one weighs as much as its answer. */
typedef struct FabWaiter {
    uint32_t flow;
    FabClass cls;
    uint64_t bytes; /* at least 1 */
    FabPlaceKind place;
    const FabComponent *component; /* where the place is */
    const FabPort *port; /* of TURN, CREDITS, ORDER, SERIAL, WIRE; else NULL */
} FabWaiter;

typedef void (*FabWaiterFn)(void *data, const FabWaiter *waiter);

/* Calls @fn for every TLP that is in @component, or on a link away from it, and
 * for every write and read of its CPU that is no TLP yet. */
void fab_observe_waiters(const FabComponent *component, FabWaiterFn fn,
                         void *data);

/* How far an order of a DMA engine is; one that reads is in several phases at
 * once. */
typedef enum FabDmaPhase {
    FAB_DMA_UNISSUED, /* a read of which nothing is asked for yet */
    FAB_DMA_READING,  /* a read, of which something is asked for */
    FAB_DMA_WRITING,  /* a write that has not left wholly */
    FAB_DMA_DRAINING, /* data of a read are in, and their tag is not free yet */
} FabDmaPhase;

typedef struct FabDmaWaiter {
    uint32_t flow;
    FabDmaPhase phase;
    uint64_t bytes;      /* of DRAINING, at least 1 */
    FabPlaceKind place;  /* where it is; not of READING, whose TLPs tell */
    const FabPort *port; /* of that place, or NULL */
} FabDmaWaiter;

typedef void (*FabDmaWaiterFn)(void *data, const FabDmaWaiter *waiter);

/* Calls @fn for the orders of @component's DMA engine that are not done. */
void fab_observe_dma(const FabComponent *component, FabDmaWaiterFn fn,
                     void *data);

#endif
