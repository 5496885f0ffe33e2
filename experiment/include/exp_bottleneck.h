/* SPDX-License-Identifier: MIT */
#ifndef EXP_BOTTLENECK_H
#define EXP_BOTTLENECK_H

#include "fab_profile.h"

/* Finds the element that limits a simulated point. */

typedef enum ExpLimiting {
    EXP_LIMITING_NOTHING,  /* neither a resource nor a flow's own time */
    EXP_LIMITING_RESOURCE, /* a busy server, or an empty pool */
    EXP_LIMITING_OWN,      /* fixed times of a driver, a kernel or a device */
} ExpLimiting;

typedef struct ExpBottleneck {
    ExpLimiting kind;
    const FabResource *resource; /* RESOURCE: the limit; else the busiest */
    const FabFlow *flow;         /* for OWN: the flow with the own time */
    const char *step; /* for OWN: the largest part; static, nullable */
    uint32_t share;   /* of the interval, in ppm: busy, empty or own time */
} ExpBottleneck;

/*
 * Finds the bottleneck in @profile, which must be finished. @flows (of
 * FabFlow) may have NULL entries, which are ignored.
 *
 * There are three candidates: the busiest server; the innermost pool that
 * was empty half the time; and the flow with the largest share of own time.
 *
 * Of two nested pools the inner one has the shorter round trip, because the
 * outer one holds its requests before and after. A server goes before a pool
 * if it was busy for at least nine tenths of the time that the pool was
 * empty: a larger pool could gain no more than the last tenth. Otherwise the
 * larger share wins. It must be at least half the time. If a receiver gives
 * no credits because something beyond it waits, that cause counts, not the
 * lack of credits.
 */
ExpBottleneck exp_bottleneck_find(const FabProfile *profile,
                                  const GPtrArray *flows);

/* Describes @bottleneck in one sentence. The caller frees it. */
char *exp_bottleneck_text(const ExpBottleneck *bottleneck,
                          const FabProfile *profile, const GPtrArray *flows);

#endif
