/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_H
#define FAB_PROFILE_H

#include "fab_flow.h"
#include "fab_observe.h"

/*
 * A profile tells what every resource of a fabric did while flows ran, and
 * where the time of their operations went.
 *
 * It looks at the fabric at random moments, one in each of intervals that
 * follow each other and grow as the run does, and counts what it sees for the
 * length of the interval. Looking changes nothing: a run gives the same results
 * with a profile and without one, and costs no more without one. Shares that
 * come from the fabric's counters are exact. Shares that come from looking are
 * off by at most about one in a hundred of the observed time. The same fabric
 * and seed give the same numbers.
 */
typedef struct FabProfile FabProfile;

/* Shares are parts per million of the observed time. */
typedef struct FabResource {
    FabResourceKind kind;
    const FabComponent *component;
    const FabPort *port; /* LINK: the sender; BUFFER: the receiver; else NULL */
    uint32_t size;       /* tags, walkers, reads; else 0 */
    uint32_t busy;       /* server: it works; pool: mean part of it in use */
    uint32_t full;       /* pool: all in use, and a request waits for one */
    SimTime hold;        /* pool of tags: mean time that one is in use */
    uint32_t unit_bytes; /* the most that one is for; 0: not known */
    /* Of a LINK. */
    uint32_t tlp, dllp, skp; /* parts of busy */
    uint32_t slack;    /* part of tlp beyond the wire's own time: the port is
                          slower than the link */
    uint32_t has_work; /* something is queued, sent or not */
    uint32_t starved;  /* the wire is idle, for want of credits */
    uint32_t lacks[FAB_CREDIT_KINDS]; /* something is queued and lacks these,
                                         while others are sent too */
    uint32_t ordered; /* a TLP has credits, and waits behind one that has not */
    /* The most frequent cause of the lack of credits: the first resource
     * downstream that did not itself wait for another. NULL: none lacked. */
    const struct FabResource *cause;
    uint32_t cause_share; /* of the time that credits lacked */
} FabResource;

/* A place where the mean operation of a flow spends time. Places are in the
 * order in which their steps were first seen, within a step in the order in
 * which they were; that is mostly the order along the way. */
typedef struct FabPlace {
    FabPlaceKind kind;
    const char *step; /* of the operation: "operation", "command", "data" ... */
    const FabComponent *component; /* NULL: the flow's own time */
    const FabPort *port;           /* TURN, CREDITS, ORDER, SERIAL, WIRE */
    bool is_completion;            /* an answer waits there, not a request */
    uint32_t share; /* of the operation, parts per million; they add up to a
                       million, but for rounding */
} FabPlace;

/*
 * Makes a profile that begins to look at @fabric at @begin. @fabric is realized
 * and must outlive the profile; flows that are added later are not seen.
 *
 * Each moment of an operation counts for the place of what the operation waits
 * for then. If a read has many bytes on their way, the moment is split among
 * their places; bytes that are not asked for yet do not count while others are
 * on their way. A write is over for its endpoint when it has left: it waits
 * where it leaves.
 */
FabProfile *fab_profile_new(FabFabric *fabric, SimTime begin);
void fab_profile_free(FabProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabProfile, fab_profile_free)

/* Ends the observation; once, after the run, before the results are read. */
void fab_profile_finish(FabProfile *profile);

/* The observed time; 0 if the run ended before it began. */
SimTime fab_profile_interval(const FabProfile *profile);

/* All resources, by name of component, then port, with those that were never
 * used. They belong to the profile. */
const FabResource *fab_profile_resources(const FabProfile *profile,
                                         unsigned *ret_count);

/* The places of @flow's mean operation; none if no look found it under way. */
const FabPlace *fab_profile_places(const FabProfile *profile,
                                   const FabFlow *flow, unsigned *ret_count);

/* Share of the observed time, in parts per million, in which the flow had an
 * operation under way. */
uint32_t fab_profile_under_way(const FabProfile *profile, const FabFlow *flow);

#endif
