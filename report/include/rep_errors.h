/* SPDX-License-Identifier: MIT */
#ifndef REP_ERRORS_H
#define REP_ERRORS_H

#include <stdint.h>

#include "table_number.h"

/*
 * Errors of numbers against reference values. An error is an integer in
 * thousandths of a percent ("mpct") of the reference.
 */

#define REP_MPCT_MAX                                                           \
    INT64_C(1000000000000) /* larger errors are cut to this                    \
                            */

/* Fits any number of a table in units of 10^-9, multiplied by 10^8. */
typedef __int128 RepWide;

/* The errors of several points. */
typedef struct RepErrors {
    unsigned count;
    int64_t mean_mpct; /* mean of the magnitudes; 0 if there are no errors */
    int64_t bias_mpct; /* mean of the errors with their signs */
    int64_t max_mpct;  /* the error with the largest magnitude, with its sign */
    const char *max_x; /* the x of that error, borrowed; NULL: no errors */
} RepErrors;

/* Returns @value, which has @digits digits after the point, in units of 10^-9.
 * So numbers with different digits can be compared. */
RepWide rep_widen(int64_t value, unsigned digits);

/* Returns @num / @den, rounded to the nearest integer, halves away from 0. @den
 * is above 0. */
int64_t rep_divide(RepWide num, RepWide den);

/* Returns the error of @value against @reference; TABLE_NONE if the reference
 * is 0. Both are in the same unit. */
int64_t rep_error_mpct(RepWide value, RepWide reference);

/* Adds one error. @x is its place and must outlive @errors. The means are sums
 * until rep_errors_finish() is called. */
void rep_errors_take(RepErrors *errors, int64_t mpct, const char *x);

/* Turns the sums into means. */
void rep_errors_finish(RepErrors *errors);

/* Adds the finished @more, the errors of another scenario, to @total. */
void rep_errors_add(RepErrors *total, const RepErrors *more);

/* Prints an error in percent, such as "-0.25"; "" for TABLE_NONE. The caller
 * frees it. */
char *rep_mpct_print(int64_t mpct);

#endif
