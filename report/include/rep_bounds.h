/* SPDX-License-Identifier: MIT */
#ifndef REP_BOUNDS_H
#define REP_BOUNDS_H

#include "rep_result.h"

/*
 * Judges results by the bounds of the published values: the column
 * bound_percent of the published table has the largest error that the model may
 * have at a row. A value without a bound is shown, but not judged.
 */
typedef struct RepBounds {
    Table *points; /* a row for each value with a bound or a model's value */
    Table *sums;   /* the errors of fitted and predicted values */
    unsigned n_judged; /* values with a bound */
    unsigned n_open;   /* values with neither: not modelled */
    unsigned
        n_outside; /* judged and beyond the bound, or without a model's value
                    */
} RepBounds;

/* Fails as rep_fidelity_new() does. @result has a plot and published values. */
RepBounds *rep_bounds_new(const RepResult *result, GError **error);

/* Frees @bounds (nullable). */
void rep_bounds_free(RepBounds *bounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepBounds, rep_bounds_free)

/* Appends the errors of published values with their bounds. False and @error if
 * none has a bound, or if one is outside. */
bool rep_bounds_append(GString *text, const RepResult *result, GError **error);

#endif
