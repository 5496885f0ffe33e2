/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_H
#define FAB_PROFILE_H

#include "fab_flow.h"
#include "fab_observe.h"

/*
 * A profile tells what every resource of a fabric did while flows ran, and
 * where the time of their operations went.
 *
 * A profile samples the fabric. It divides the run into consecutive intervals,
 * which grow with the length of the run, samples once at a random moment of
 * each interval, and lets the sample count for the whole interval. Sampling
 * changes nothing: a run gives the same results with and without a profile. A
 * run without one has no extra cost. Shares that come from the fabric's
 * counters are exact. Shares that come from samples are off by at most about
 * one hundredth of the observed time. The same fabric and seed give the same
 * numbers.
 */
typedef struct FabProfile FabProfile;

/* Shares are parts per million of the observed time. */
typedef struct FabResource {
    FabResourceKind kind;
    const FabComponent *component;
    const FabPort *port; /* LINK: the sender; BUFFER: the receiver; else NULL */
    uint32_t size;       /* number of tags, walkers or reads; else 0 */
    uint32_t busy;       /* server: share of time that it works; pool: mean
                            share of its members in use */
    uint32_t full;       /* pool: share of time in which all members are in use
                            and a request waits for one */
    SimTime hold;        /* pool of tags: mean time that a tag is in use */
    uint32_t unit_bytes; /* largest request for one member; 0: not known */
    /* Of a LINK. */
    uint32_t tlp, dllp, skp; /* parts of busy */
    uint32_t slack;    /* part of tlp beyond the wire's own time: the port is
                          slower than the link */
    uint32_t degraded; /* share of time in which the link is slower or narrower
                          than both ends can do */
    FabSpeed speed;    /* of the link while it was degraded last */
    uint32_t width;    /* the same */
    uint32_t has_work; /* share of time in which a TLP is queued */
    uint32_t starved;  /* share of time in which the wire is idle because
                          credits are missing */
    uint32_t lacks[FAB_CREDIT_KINDS]; /* by kind of credits: share of time in
                                         which a queued TLP lacks them, whether
                                         or not others are sent */
    uint32_t ordered; /* share of time in which a TLP with credits waits behind
                         one without */
    /* The most frequent cause of missing credits: the first resource downstream
     * that does not itself wait for another. NULL: no credits were missing. */
    const struct FabResource *cause;
} FabResource;

/* A place where the mean operation of a flow spends time. Places are sorted by
 * when their step was first seen, then by when the place was first seen. That
 * is mostly the order along the way. */
typedef struct FabPlace {
    FabPlaceKind kind;
    const char *step; /* of the operation: "operation", "command", "data" ... */
    const FabComponent *component; /* NULL: the flow's own time */
    const FabPort *port; /* for TURN, CREDITS, ORDER, SERIAL, WIRE; else NULL */
    bool is_completion;  /* a completion waits there, not a request */
    uint32_t share; /* of the operation, in parts per million; the shares of a
                       flow add up to a million, except for rounding */
} FabPlace;

/*
 * Makes a profile that observes @fabric from @begin on. @fabric is realized and
 * must outlive the profile. The profile does not see flows that are added
 * later.
 *
 * Each moment of an operation counts for the place that the operation waits at.
 * If a read has many bytes on their way, the moment is split among the places
 * of these bytes. Bytes that are not requested yet do not count while others
 * are on their way. For its endpoint a write is over when it has left, so it
 * waits at the egress.
 */
FabProfile *fab_profile_new(FabFabric *fabric, SimTime begin);
void fab_profile_free(FabProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabProfile, fab_profile_free)

/* Ends the observation; once, after the run, before the results are read. */
void fab_profile_finish(FabProfile *profile);

/* All resources, sorted by the names of component and port, unused ones
 * included. They belong to the profile. */
const FabResource *fab_profile_resources(const FabProfile *profile,
                                         unsigned *ret_count);

/* The places of @flow's mean operation; none if no sample found an operation
 * under way. */
const FabPlace *fab_profile_places(const FabProfile *profile,
                                   const FabFlow *flow, unsigned *ret_count);

/* Share of the observed time, in parts per million, in which the flow had an
 * operation under way. */
uint32_t fab_profile_under_way(const FabProfile *profile, const FabFlow *flow);

#endif
