/* SPDX-License-Identifier: MIT */
#ifndef REP_TOLERANCE_H
#define REP_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "rep_errors.h"

/* The largest difference that a number may have from the baseline's. */
typedef struct RepTolerance {
    char *column;     /* nullable: for every column */
    bool is_relative; /* the amount is a percentage of the baseline's number */
    int64_t amount;   /* in units of the last of @digits digits */
    unsigned digits;
} RepTolerance;

/* Parses "1%", "+-0.02", "COLUMN=1%" or "COLUMN=+-0.02". A blank may replace
 * the "=". Returns NULL if the form is wrong. */
RepTolerance *rep_tolerance_parse(const char *text, GError **error);

/* The same for each of @texts (nullable, ended by NULL); of RepTolerance, to be
 * freed. */
GPtrArray *rep_tolerances_parse(char *const *texts, GError **error);

/* Frees @tolerance (nullable). */
void rep_tolerance_free(RepTolerance *tolerance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepTolerance, rep_tolerance_free)

/* Returns true if the tolerance accepts @difference at @baseline. Both are as
 * rep_widen() returns them. */
bool rep_tolerance_is_met(const RepTolerance *tolerance, RepWide baseline,
                          RepWide difference);

#endif
