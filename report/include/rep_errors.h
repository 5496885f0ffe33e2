/* SPDX-License-Identifier: MIT */
#ifndef REP_ERRORS_H
#define REP_ERRORS_H

#include <stdint.h>

#include "table_number.h"

/*
 * Errors of numbers against reference values, as integers in thousandths of a
 * percent ("mpct") of the reference.
 */

#define REP_MPCT_MAX                                                           \
    INT64_C(1000000000000) /* larger errors are cut to this                    \
                            */

/* Wide enough for any number of a table in units of 10^-9, times 10^8. */
typedef __int128 RepWide;

/* The errors of several points. */
typedef struct RepErrors {
    unsigned count;
    int64_t mean_mpct; /* of the magnitudes; 0 if there are none */
    int64_t bias_mpct; /* of the errors with their signs */
    int64_t max_mpct;  /* the largest magnitude, with its sign */
    const char *max_x; /* its place, borrowed; NULL if there are no errors */
} RepErrors;

/* @value, which has @digits digits after the point, in units of 10^-9, so that
 * any two numbers can be compared. */
RepWide rep_widen(int64_t value, unsigned digits);

/* @num / @den, @den > 0, rounded to the nearest, halves away from 0. */
int64_t rep_divide(RepWide num, RepWide den);

/* The error of @value against @reference, both in the same units; TABLE_NONE
 * if the reference is 0. */
int64_t rep_error_mpct(RepWide value, RepWide reference);

/* Adds one error, found at @x, which must outlive @errors. The means are sums
 * until rep_errors_finish(). */
void rep_errors_take(RepErrors *errors, int64_t mpct, const char *x);

/* Makes means of the sums. */
void rep_errors_finish(RepErrors *errors);

/* Joins the finished errors of several scenarios: adds @more to @total. */
void rep_errors_add(RepErrors *total, const RepErrors *more);

/* Prints an error in percent, e.g. "-0.25"; "" for TABLE_NONE. The caller frees
 * it. */
char *rep_mpct_print(int64_t mpct);

#endif
