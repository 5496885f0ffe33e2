/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_H
#define FAB_PROFILE_H

#include "fab_flow.h"

/*
 * What every resource of a fabric was doing while its flows ran, and where the
 * time of their operations went.
 *
 * A usage looks at the fabric at random moments, one in each of intervals that
 * follow each other and grow as the run does, and counts what it sees for the
 * length of the interval. Looking changes nothing: the run gives the same
 * results with it and without, and a fabric nobody looks at pays nothing. What
 * is busy by the fabric's own counters is exact; shares that were looked for
 * are off by about one in a hundred of the window at most. The same fabric and
 * seed give the same numbers.
 */
typedef struct FabProfile FabProfile;

typedef enum FabResourceKind {
    /* Servers: they work as fast as they can while there is work. */
    FAB_RESOURCE_LINK,      /* one direction of a link */
    FAB_RESOURCE_MEMORY,    /* the channel of a host's memory */
    FAB_RESOURCE_WALKERS,   /* page walkers of an IOMMU */
    FAB_RESOURCE_COMPLETER, /* what is behind the BARs of a device */
    FAB_RESOURCE_CPU,       /* the writes of a host's CPU */
    /* Windows: so many requests at a time, each for its round trip. */
    FAB_RESOURCE_TAGS,         /* reads of a device's DMA engine */
    FAB_RESOURCE_BUFFER,       /* receive buffer of a port: credits */
    FAB_RESOURCE_NTB_TAGS,     /* proxied by an NTB */
    FAB_RESOURCE_FORWARD_TAGS, /* forwarded between root ports */
    FAB_RESOURCE_MEMORY_READS, /* reads of memory under way */
    FAB_RESOURCE_KINDS,
} FabResourceKind;

static inline bool fab_resource_is_window(FabResourceKind kind)
{
    return kind >= FAB_RESOURCE_TAGS;
}

/* What a port may lack credits for: FAB_CLASS_ headers, then data. */
#define FAB_CREDIT_KINDS     (2 * FAB_CLASSES)
#define FAB_CREDIT_DATA(cls) (FAB_CLASSES + (cls))

/* Shares are of the window of observation, in parts per million. */
typedef struct FabResource {
    FabResourceKind kind;
    const FabComponent *component;
    const FabPort *port; /* LINK: the sender; BUFFER: the receiver; else NULL */
    uint32_t size;       /* tags, walkers, reads; else 0 */
    uint32_t busy;       /* of a server; of a window: mean use of its size */
    uint32_t full;       /* of a window: all in use, and somebody waits */
    SimTime hold;        /* of a window with tags: mean time of one in use */
    uint32_t unit_bytes; /* and what one is for at most, if it is known */
    /* Of a LINK. */
    uint32_t tlp, dllp, skp; /* parts of busy */
    uint32_t slack;    /* part of tlp beyond the wire's own time: the port is
                          slower than the link */
    uint32_t has_work; /* something is queued, sent or not */
    uint32_t starved;  /* the wire is idle, for want of credits */
    uint32_t lacks[FAB_CREDIT_KINDS]; /* something is queued and lacks these,
                                         while others are sent too */
    uint32_t ordered; /* something has credits and waits behind what has not */
    /* What the lack of credits came of, most of the time: the first resource
     * downstream that did not itself wait for another; NULL: never starved. */
    const struct FabResource *cause;
    uint32_t cause_share; /* of the time that credits lacked */
} FabResource;

/* What a place is to who waits there. */
typedef enum FabPlaceKind {
    FAB_PLACE_OWN,     /* the flow's own time: a driver, a kernel, a set-up */
    FAB_PLACE_CPU,     /* writes and reads of a CPU, before they leave it */
    FAB_PLACE_DEVICE,  /* device: before the first write, after the last data,
                          and behind its BARs */
    FAB_PLACE_TAG,     /* for a tag of the device, or room at its port */
    FAB_PLACE_TURN,    /* for others on the same link */
    FAB_PLACE_CREDITS, /* for credits */
    FAB_PLACE_ORDER,   /* behind what must go first */
    FAB_PLACE_SERIAL,  /* leaving, byte by byte */
    FAB_PLACE_WIRE,    /* on the cable */
    FAB_PLACE_TRANSIT, /* through an element */
    FAB_PLACE_FORWARD, /* root: for a tag or room to be forwarded */
    FAB_PLACE_NTB_TAG, /* NTB: for a tag */
    FAB_PLACE_IOMMU,   /* translation, the wait for a walker too */
    FAB_PLACE_MEMORY,  /* memory, the wait for it too */
    FAB_PLACE_KINDS,
} FabPlaceKind;

/* A place where the mean operation of a flow spends time. In order of when its
 * step was first seen, then of when it was itself: mostly that of the way. */
typedef struct FabPlace {
    FabPlaceKind kind;
    const char *step; /* of the operation: "operation", "command", "data" ... */
    const FabComponent *component; /* NULL: the flow's own time */
    const FabPort *port;           /* TURN, CREDITS, ORDER, SERIAL, WIRE */
    bool is_completion;            /* of what answers, not of what asks */
    uint32_t share; /* of the operation, parts per million; they add up to a
                       million, but for rounding */
} FabPlace;

/*
 * Begins to look at @fabric, which is realized, at @begin. To be made before
 * the flows run, and freed before the fabric.
 *
 * An operation spends each moment where what it waits for is then: if a flow's
 * read has many bytes on their way, the moment is split among their places;
 * bytes not asked for yet do not count while others are out. A write is over,
 * for its device, when it has left: it waits where it leaves.
 */
FabProfile *fab_profile_new(FabFabric *fabric, SimTime begin);
void fab_profile_free(FabProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabProfile, fab_profile_free)

/* To be called once, after the run and before what follows. */
void fab_profile_finish(FabProfile *profile);

/* Length of the window of observation, 0 if the run ended before it began. */
SimTime fab_profile_interval(const FabProfile *profile);

/* All resources, by name of component, then port; those that never did or
 * lacked anything too. They are the usage's. */
const FabResource *fab_profile_resources(const FabProfile *profile,
                                         unsigned *ret_count);

/* The places of @flow's mean operation; none if it was never seen under way. */
const FabPlace *fab_profile_places(const FabProfile *profile,
                                   const FabFlow *flow, unsigned *ret_count);

/* Share of the window, in parts per million, in which the flow had an operation
 * under way. */
uint32_t fab_profile_under_way(const FabProfile *profile, const FabFlow *flow);

#endif
