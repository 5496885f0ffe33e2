/* SPDX-License-Identifier: MIT */
#ifndef EXP_BOTTLENECK_H
#define EXP_BOTTLENECK_H

#include "fab_profile.h"

/* The element that limits a point. */

typedef enum ExpLimiting {
    EXP_LIMITING_NOTHING,  /* no resource, and no flow's own time */
    EXP_LIMITING_RESOURCE, /* a resource that is busy, or full */
    EXP_LIMITING_OWN,      /* fixed times of a driver, a kernel, a device */
} ExpLimiting;

typedef struct ExpBottleneck {
    ExpLimiting kind;
    const FabResource *resource; /* RESOURCE; NOTHING: the busiest; nullable */
    const FabFlow *flow;         /* OWN: the one with the time */
    const char *step;            /* OWN: its largest part; static */
    uint32_t share; /* of the interval: busy, full, own time; in ppm */
} ExpBottleneck;

/*
 * Finds the bottleneck in what @profile, which is finished, has seen of @flows
 * (of FabFlow; those that are NULL are left out).
 *
 * Candidates are the busiest server, the innermost pool that was empty half the
 * time, and the flow with the largest share of own time. Of two nested pools
 * the inner one has the shorter round trip: the outer one holds its requests
 * before and after. A server is preferred to a pool if it was busy for nine
 * tenths of the time that the pool was empty: a larger pool would bring no more
 * than the rest. Otherwise the larger share counts, and must be at least half
 * the time. Lack of credits counts as an empty pool only if nothing beyond the
 * receiver waits for something else; otherwise the cause there counts.
 */
ExpBottleneck exp_bottleneck_find(const FabProfile *profile,
                                  const GPtrArray *flows);

/* The same as one plain sentence; to be freed. */
char *exp_bottleneck_text(const ExpBottleneck *bottleneck,
                          const FabProfile *profile, const GPtrArray *flows);

#endif
