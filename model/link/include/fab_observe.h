/* SPDX-License-Identifier: MIT */
#ifndef FAB_OBSERVE_H
#define FAB_OBSERVE_H

#include "fab_component.h"

/*
 * The present state of a component, for an observer: its resources, what holds
 * TLPs up, and where TLPs and DMA orders wait. Observing changes nothing. All
 * functions are to be called after realize.
 */

/* ---- Resources -------------------------------------------------------- */

typedef enum FabResourceKind {
    /* Servers: they work as fast as they can while there is work. */
    FAB_RESOURCE_LINK,      /* one direction of a link */
    FAB_RESOURCE_MEMORY,    /* the channel of a host's memory */
    FAB_RESOURCE_WALKERS,   /* page walkers of an IOMMU */
    FAB_RESOURCE_COMPLETER, /* memory or registers behind an endpoint's BARs */
    FAB_RESOURCE_CPU, /* the writes of a host's CPU; its size is the number
                         of cores that store, 0: one that writes */
    /* Pools: a request holds one member of the pool for its round trip. */
    FAB_RESOURCE_TAGS,         /* reads of an endpoint's DMA engine */
    FAB_RESOURCE_FLIGHT,       /* bytes of these reads, as reads of the largest
                                  size */
    FAB_RESOURCE_BUFFER,       /* receive buffer of a port: credits */
    FAB_RESOURCE_NTB_TAGS,     /* requests that an NTB issues as its own */
    FAB_RESOURCE_FORWARD_TAGS, /* reads between the ports of a root */
    FAB_RESOURCE_MEMORY_READS, /* reads of memory under way */
    FAB_RESOURCE_TRANSLATIONS, /* Translation Requests of an endpoint */
    FAB_RESOURCE_KINDS,
} FabResourceKind;

static inline bool fab_resource_is_pool(FabResourceKind kind)
{
    return kind >= FAB_RESOURCE_TAGS;
}

/* A resource of a component. LINK and BUFFER belong to its ports instead. */
typedef struct FabResourceState {
    FabResourceKind kind;
    uint32_t size;       /* number of tags, walkers or reads; 0: a server that
                            has no number */
    uint32_t unit_bytes; /* largest request for one of them; 0: not known */
    uint32_t used;       /* number in use; if size is 0: 1 while it works */
    bool is_wanted;      /* a request waits for one of them */
    uint64_t requests;   /* requests served so far; 0 if they are not counted */
} FabResourceState;

typedef void (*FabResourceFn)(void *data, const FabResourceState *state);

/* Calls @fn for each resource of @component, except those of its ports. Each
 * call gives the same resources in the same order. */
void fab_observe_resources(const FabComponent *component, FabResourceFn fn,
                           void *data);

/* Kinds of credits: headers of each FAB_CLASS_, then data of each. */
#define FAB_CREDIT_KINDS     (2 * FAB_CLASSES)
#define FAB_CREDIT_DATA(cls) (FAB_CLASSES + (cls))

/* Returns whether @lacks, a set of bits (1 << kind of credits), has a bit of
 * @cls. */
static inline bool fab_credits_lack_class(uint32_t lacks, unsigned cls)
{
    return lacks & (1u << cls | 1u << FAB_CREDIT_DATA(cls));
}

/* The state of the sender of a link. */
typedef struct FabLinkState {
    bool has_work;   /* TLPs are queued */
    bool is_sending; /* the wire is in use */
    uint32_t lacks;  /* kinds of credits that the first TLPs of queues lack; a
                        TLP that is not ready to leave does not count */
    bool is_ordered; /* a TLP with credits waits behind a posted TLP without */
} FabLinkState;

void fab_port_observe(const FabPort *port, FabLinkState *ret_state);

/* True if the link of @port is slower or narrower than both ends can do. */
bool fab_port_is_degraded(const FabPort *port);
/* Time of the DLLPs that the port has made and has not counted yet. */
SimTime fab_port_dllp_owed(const FabPort *port);
/* Duration of an SKP ordered set, and the interval between two of them (0:
 * there are none). */
SimTime fab_port_skp_time(const FabPort *port);
SimTime fab_port_skp_interval(const FabPort *port);

/* ---- What holds TLPs up ----------------------------------------------- */

typedef struct FabBlocker {
    const FabPort *egress;    /* the TLPs are queued there; NULL: a resource
                                 of the component holds them up */
    FabResourceKind resource; /* this resource, if egress is NULL */
} FabBlocker;

/* Returns true to end the search, because @blocker explains the wait. */
typedef bool (*FabBlockerFn)(void *data, const FabBlocker *blocker);

/*
 * Calls @fn with each blocker of the TLPs of @cls that came in at @ingress, a
 * port of @component, until @fn returns true. Does not call @fn if nothing
 * holds them up on their way through the component.
 */
void fab_observe_blockers(const FabComponent *component, const FabPort *ingress,
                          FabClass cls, FabBlockerFn fn, void *data);

/* ---- What waits ------------------------------------------------------- */

/* Kinds of places, by what TLPs and operations wait for there. */
typedef enum FabPlaceKind {
    FAB_PLACE_OWN,     /* a flow's own time: a driver, a kernel, a set-up */
    FAB_PLACE_CPU,     /* writes and reads of a CPU, before they leave it */
    FAB_PLACE_DEVICE,  /* endpoint: before the first write, after the last data,
                          and behind its BARs */
    FAB_PLACE_TAG,     /* a tag of the endpoint, or a place at its port */
    FAB_PLACE_TURN,    /* other TLPs on the same link */
    FAB_PLACE_CREDITS, /* credits */
    FAB_PLACE_ORDER,   /* TLPs that must go first by the ordering rules */
    FAB_PLACE_SERIAL,  /* the end of their own sending, byte by byte */
    FAB_PLACE_WIRE,    /* the way along the cable */
    FAB_PLACE_TRANSIT, /* the way through a component */
    FAB_PLACE_FORWARD, /* root: a tag or a place at another root port */
    FAB_PLACE_NTB_TAG, /* NTB: a tag */
    FAB_PLACE_IOMMU,   /* translation, including the wait for a walker */
    FAB_PLACE_MEMORY,  /* memory, including the wait for it */
    FAB_PLACE_ATC,     /* endpoint: translation */
    FAB_PLACE_KINDS,
} FabPlaceKind;

/* A TLP, or an operation that will become one, and its place. A request counts
 * with the bytes that it requests, so it weighs as much as its completions. */
typedef struct FabWaiter {
    uint32_t flow;
    FabClass cls;
    uint64_t bytes; /* at least 1 */
    FabPlaceKind place;
    const FabComponent *component; /* component that the place is in */
    const FabPort *port; /* for TURN, CREDITS, ORDER, SERIAL, WIRE; else NULL */
} FabWaiter;

typedef void (*FabWaiterFn)(void *data, const FabWaiter *waiter);

/* Calls @fn for every TLP that is in @component or on a link away from it, and
 * for every write and read of its CPU that is not a TLP yet. */
void fab_observe_waiters(const FabComponent *component, FabWaiterFn fn,
                         void *data);

/* The progress of an order to a DMA engine. A read can be in several phases at
 * once. */
typedef enum FabDmaPhase {
    FAB_DMA_UNISSUED, /* a read without any request sent */
    FAB_DMA_READING,  /* a read with requests sent */
    FAB_DMA_WRITING,  /* a write whose last TLP has not left */
    FAB_DMA_DRAINING, /* data of a read are in, and their tag is not free yet */
} FabDmaPhase;

typedef struct FabDmaWaiter {
    uint32_t flow;
    FabDmaPhase phase;
    uint64_t bytes;      /* set for DRAINING only: at least 1 */
    FabPlaceKind place;  /* not set for READING: its TLPs have the places */
    const FabPort *port; /* of that place, or NULL */
} FabDmaWaiter;

typedef void (*FabDmaWaiterFn)(void *data, const FabDmaWaiter *waiter);

/* Calls @fn for the orders of @component's DMA engine that are not done. */
void fab_observe_dma(const FabComponent *component, FabDmaWaiterFn fn,
                     void *data);

#endif
