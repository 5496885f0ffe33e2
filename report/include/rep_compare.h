/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARE_H
#define REP_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "rep_tolerance.h"
#include "table.h"

/*
 * A comparison of two tables, point by point. Rows are joined by their key.
 * Each cell outside the key is a point. Errors of numbers are integers, in
 * thousandths of a percent of the baseline's value.
 */
typedef struct RepComparison RepComparison;

/* The rules of a comparison. They are borrowed during the call. */
typedef struct RepCompareOptions {
    const char *const *keys;     /* nullable, NULL-terminated: columns */
    const char *x;               /* nullable: the key column along a curve */
    const GPtrArray *tolerances; /* nullable: of RepTolerance *; tried before
                                    those in the baseline's head */
    gboolean one_sided; /* a number that is better than the baseline's is within
                       tolerance, if the head says what is better */
    gboolean subset;    /* points that only the baseline has are left out */
} RepCompareOptions;

typedef enum RepVerdict {
    REP_WITHIN,
    REP_OUTSIDE, /* the difference exceeds the tolerance */
    REP_MISSING, /* only the baseline has it */
    REP_EXTRA,   /* only the new table has it */
} RepVerdict;

/* One point of a curve: one cell in both tables. */
typedef struct RepPoint {
    unsigned curve; /* index of its curve */
    char *key;      /* the cells of the key, joined by " / " */
    char *x;        /* the cell of the x column */
    char *baseline; /* the two cells as text; "" if there is none */
    char *fresh;
    int64_t error_mpct; /* TABLE_NONE unless both are numbers and the baseline
                           is not 0 */
    RepVerdict verdict;
} RepPoint;

/* Points that differ only in x. */
typedef struct RepCurve {
    char *name; /* the other cells of the key, joined by " / "; or "all" */
    const char *column; /* the column with the values */
    unsigned n_points;  /* points that both tables have */
    unsigned n_outside;
    unsigned n_missing;
    unsigned n_extra;
    RepErrors errors; /* of those points that have an error */
} RepCurve;

/* Compares @fresh with @baseline. @name stands for the pair in messages. Fails
 * if a key column does not exist, if two rows have the same key, or if there is
 * nothing to compare. */
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

/* Return the points, the worst first: missing and extra ones, then those
 * outside the tolerance, then the others. Each group is sorted by the size of
 * the error. */
unsigned rep_comparison_n_points(const RepComparison *comparison);
const RepPoint *rep_comparison_point(const RepComparison *comparison,
                                     unsigned index);

/* Returns the sums over all points, as if they were one curve. */
const RepCurve *rep_comparison_total(const RepComparison *comparison);

/* Returns true if any point is outside, missing or extra. */
bool rep_comparison_is_different(const RepComparison *comparison);

/* Return the x column, and the columns that together name a curve
 * (NULL-terminated). A plot uses them. */
const char *rep_comparison_x(const RepComparison *comparison);
const char *const *rep_comparison_curve_columns(const RepComparison *c);

/* Returns the columns with values, NULL-terminated. */
const char *const *rep_comparison_values(const RepComparison *comparison);

#endif
