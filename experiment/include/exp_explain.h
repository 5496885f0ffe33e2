/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAIN_H
#define EXP_EXPLAIN_H

#include "fab_profile.h"

#include "exp_path.h"
#include "table.h"

/*
 * Which element limits a point, and where the time of its operations goes, in
 * words and numbers.
 */

/* What limits. */
typedef enum ExpLimiting {
    EXP_LIMITING_NOTHING,  /* no resource, and no flow's own time */
    EXP_LIMITING_RESOURCE, /* a resource that is busy, or full */
    EXP_LIMITING_OWN,      /* fixed times of a driver, a kernel, a device */
} ExpLimiting;

typedef struct ExpBottleneck {
    ExpLimiting kind;
    const FabResource *resource; /* RESOURCE; NOTHING: the busiest; nullable */
    const FabFlow *flow;         /* OWN: whose */
    const char *step;            /* OWN: its largest part; static */
    uint32_t share;              /* of the window: busy, full, own time; ppm */
} ExpBottleneck;

/*
 * The bottleneck of what @profile, which is finished, has seen of @flows (of
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
ExpBottleneck exp_bottleneck_find(const FabProfile *profile,
                                  const GPtrArray *flows);

/* The same as one plain sentence; to be freed. */
char *exp_bottleneck_text(const ExpBottleneck *bottleneck,
                          const FabProfile *profile, const GPtrArray *flows);

/* "link host.sw0 dsp0 -> host.gpu0", "memory of host" and so on; to be
 * freed. */
char *exp_resource_name(const FabResource *resource);

/* A row of an explanation. Strings that are not static are its own. */
typedef struct ExpExplainRow {
    const char *record; /* "server", "window", "wait", "place" */
    char *flow;         /* of a place */
    char *step;         /* of a place: of the operation */
    char *element;
    const char *what;
    uint32_t share;  /* ppm of the window; of a place: of the operation */
    int64_t time_ps; /* of a place; else TABLE_NONE */
    char *cause;     /* nullable: of a wait */
} ExpExplainRow;

/* One point explained. */
typedef struct ExpExplain {
    char *text;    /* the bottleneck; NULL if no fabric was run */
    char *element; /* and its name; NULL if it is none */
    uint32_t share;
    GPtrArray *rows;  /* of ExpExplainRow */
    GPtrArray *flows; /* names of those that have places, of char * */
} ExpExplain;

/* @profile, nullable, is finished; @flows are FabFlow and @paths ExpPath by
 * index, one of which is NULL in each place. @names are those of the flows. */
ExpExplain *exp_explain_new(const FabProfile *profile, const GPtrArray *flows,
                            const GPtrArray *paths, const GPtrArray *names);
void exp_explain_free(ExpExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpExplain, exp_explain_free)

#endif
