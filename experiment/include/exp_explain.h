/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAIN_H
#define EXP_EXPLAIN_H

#include "fab_profile.h"

#include "exp_path.h"
#include "table.h"

/*
 * An explanation of one point: the element that limits it, and the places
 * where its operations spend their time.
 */

/* A row of an explanation. It owns the strings that are not const. */
typedef struct ExpExplainRow {
    const char *record; /* "server", "window", "wait", "place" */
    char *flow;         /* for a place */
    char *step;         /* for a place: the step of the operation */
    char *element;
    const char *what;
    uint32_t share; /* in ppm: of the interval; for a place, of the operation */
    int64_t time_ps; /* for a place; otherwise TABLE_NONE */
    char *cause;     /* for a wait; nullable */
} ExpExplainRow;

/* One point explained. */
typedef struct ExpExplain {
    char *text;    /* the bottleneck as a sentence; NULL if no fabric was run */
    char *failure; /* what failed, and where; nullable */
    char *element; /* the name of the element that limits; NULL if none does */
    uint32_t share;
    GPtrArray *rows;  /* of ExpExplainRow */
    GPtrArray *flows; /* of char *: the names of the flows that have places */
} ExpExplain;

/* Explains the point that @profile saw. @profile is finished, or NULL if no
 * fabric was run. @flows (of FabFlow), @paths (of ExpPath) and @names have an
 * entry for each flow. Either its FabFlow or its ExpPath is NULL. */
ExpExplain *exp_explain_new(const FabProfile *profile, const GPtrArray *flows,
                            const GPtrArray *paths, const GPtrArray *names);
void exp_explain_free(ExpExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpExplain, exp_explain_free)

#endif
