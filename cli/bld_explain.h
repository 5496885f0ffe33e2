/* SPDX-License-Identifier: MIT */
#ifndef BLD_EXPLAIN_H
#define BLD_EXPLAIN_H

#include "fab_usage.h"

#include "bld_path.h"
#include "rep_table.h"

/*
 * Which element limits a point, and where the time of its operations goes, in
 * words and numbers.
 */

/* What limits. */
typedef enum BldLimiting {
    BLD_LIMITING_NOTHING,  /* no resource, and no flow's own time */
    BLD_LIMITING_RESOURCE, /* a resource that is busy, or full */
    BLD_LIMITING_OWN,      /* fixed times of a driver, a kernel, a device */
} BldLimiting;

typedef struct BldBottleneck {
    BldLimiting kind;
    const FabResource *resource; /* RESOURCE; NOTHING: the busiest; nullable */
    const FabFlow *flow;         /* OWN: whose */
    const char *step;            /* OWN: its largest part; static */
    uint32_t share;              /* of the window: busy, full, own time; ppm */
} BldBottleneck;

/*
 * The bottleneck of what @usage, which is finished, has seen of @flows (of
 * FabFlow; those NULL are left out).
 *
 * Candidates are the busiest server, the innermost window that was full half
 * the time, and the flow with the largest share of own time. A window within
 * the round trip of another has the shorter round trip: its requests are held
 * by the other before and after. A server is preferred to a window whose full
 * time it was busy in for nine tenths: a larger window would bring no more than
 * the rest. Otherwise the larger share counts, and must be at least half the
 * time. Lack of credits counts as a full window only if nothing beyond the
 * receiver waits for something else; otherwise that is followed to its cause.
 */
BldBottleneck bld_bottleneck_find(const FabUsage *usage,
                                  const GPtrArray *flows);

/* The same as one plain sentence; to be freed. */
char *bld_bottleneck_text(const BldBottleneck *bottleneck,
                          const FabUsage *usage, const GPtrArray *flows);

/* "link host.sw0 dsp0 -> host.gpu0", "memory of host" and so on; to be
 * freed. */
char *bld_resource_name(const FabResource *resource);

/* A row of an explanation. Strings that are not static are its own. */
typedef struct BldExplainRow {
    const char *record; /* "server", "window", "wait", "place" */
    char *flow;         /* of a place */
    char *step;         /* of a place: of the operation */
    char *element;
    const char *what;
    uint32_t share;  /* ppm of the window; of a place: of the operation */
    int64_t time_ps; /* of a place; else REP_NONE */
    char *cause;     /* nullable: of a wait */
} BldExplainRow;

/* One point explained. */
typedef struct BldExplain {
    char *text;    /* the bottleneck; NULL if no fabric was run */
    char *element; /* and its name; NULL if it is none */
    uint32_t share;
    GPtrArray *rows;  /* of BldExplainRow */
    GPtrArray *flows; /* names of those that have places, of char * */
} BldExplain;

/* @usage, nullable, is finished; @flows are FabFlow and @paths BldPath by
 * index, one of which is NULL in each place. @names are those of the flows. */
BldExplain *bld_explain_new(const FabUsage *usage, const GPtrArray *flows,
                            const GPtrArray *paths, const GPtrArray *names);
void bld_explain_free(BldExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BldExplain, bld_explain_free)

#endif
