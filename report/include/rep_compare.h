/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARE_H
#define REP_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "rep_tolerance.h"
#include "table.h"

/*
 * Comparison of two tables, point by point. Rows are joined by their key; each
 * cell of the other columns is a point. Errors of numbers are integers, in
 * thousandths of a percent of the baseline's value.
 */
typedef struct RepComparison RepComparison;

/* The rules of a comparison; borrowed for the call. */
typedef struct RepCompareOptions {
    const char *const *keys;     /* nullable, NULL-terminated: columns */
    const char *x;               /* nullable: the key column along a curve */
    const GPtrArray *tolerances; /* nullable: of RepTolerance *; they go before
                                    those in the baseline's head */
} RepCompareOptions;

typedef enum RepVerdict {
    REP_WITHIN,
    REP_OUTSIDE, /* further away than the tolerance */
    REP_MISSING, /* only the baseline has it */
    REP_EXTRA,   /* only the new table has it */
} RepVerdict;

/* One point of a curve: a cell. */
typedef struct RepPoint {
    unsigned curve; /* index of its curve */
    char *key;      /* the key's cells, joined by " / " */
    char *x;        /* the cell of the x column */
    char *baseline; /* the two cells as text; "" if there is none */
    char *fresh;
    int64_t error_mpct; /* TABLE_NONE unless both are numbers, baseline not 0 */
    RepVerdict verdict;
} RepPoint;

/* The points that differ in nothing but x. */
typedef struct RepCurve {
    char *name;         /* the other key cells, joined by " / "; or "all" */
    const char *column; /* the column of the values */
    unsigned n_points;  /* that both tables have */
    unsigned n_outside;
    unsigned n_missing;
    unsigned n_extra;
    RepErrors errors; /* of the points that have one */
} RepCurve;

/* Compares @fresh with @baseline; @name stands for the pair in messages. Fails
 * if the key columns do not exist or do not tell the rows apart, or if there
 * is nothing to compare. */
RepComparison *rep_compare(const Table *baseline, const Table *fresh,
                           const RepCompareOptions *options, const char *name,
                           GError **error);

/* Frees @comparison (nullable). */
void rep_comparison_free(RepComparison *comparison);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepComparison, rep_comparison_free)

const char *rep_comparison_name(const RepComparison *comparison);

unsigned rep_comparison_n_curves(const RepComparison *comparison);
const RepCurve *rep_comparison_curve(const RepComparison *comparison,
                                     unsigned index);

/* Points, the worst first: missing and extra ones, then those outside the
 * tolerance, then the rest, each by the magnitude of the error. */
unsigned rep_comparison_n_points(const RepComparison *comparison);
const RepPoint *rep_comparison_point(const RepComparison *comparison,
                                     unsigned index);

/* All points together, as if they were one curve. */
const RepCurve *rep_comparison_total(const RepComparison *comparison);

/* Returns true if any point is outside, missing or extra. */
bool rep_comparison_is_different(const RepComparison *comparison);

/* The x column, and the columns that together name a curve, NULL-terminated;
 * both for a plot. */
const char *rep_comparison_x(const RepComparison *comparison);
const char *const *rep_comparison_curve_columns(const RepComparison *c);

/* The columns with the values, NULL-terminated. */
const char *const *rep_comparison_values(const RepComparison *comparison);

#endif
