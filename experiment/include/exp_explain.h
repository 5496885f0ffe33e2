/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAIN_H
#define EXP_EXPLAIN_H

#include "fab_profile.h"

#include "exp_path.h"
#include "table.h"

/*
 * An explanation of one point, in words and numbers: the element that limits
 * it, and the places where the time of its operations goes.
 */

/* A row of an explanation. Strings that are not static are its own. */
typedef struct ExpExplainRow {
    const char *record; /* "server", "window", "wait", "place" */
    char *flow;         /* of a place */
    char *step;         /* of a place: of the operation */
    char *element;
    const char *what;
    uint32_t share;  /* ppm of the interval; of a place: of the operation */
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

/* Explains the point that @profile (nullable, finished) has seen. @flows (of
 * FabFlow) and @paths (of ExpPath) have the same length; at each index one of
 * the two is NULL. @names are the names of the flows. */
ExpExplain *exp_explain_new(const FabProfile *profile, const GPtrArray *flows,
                            const GPtrArray *paths, const GPtrArray *names);
void exp_explain_free(ExpExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpExplain, exp_explain_free)

#endif
