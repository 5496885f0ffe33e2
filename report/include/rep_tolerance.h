/* SPDX-License-Identifier: MIT */
#ifndef REP_TOLERANCE_H
#define REP_TOLERANCE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "rep_errors.h"

/* The largest distance of a number from the baseline's. */
typedef struct RepTolerance {
    char *column;     /* nullable: every column */
    bool is_relative; /* the amount is a percentage */
    int64_t amount;   /* in units of the last of @digits digits */
    unsigned digits;
} RepTolerance;

/* Reads "1%", "+-0.02", "COLUMN=1%" or "COLUMN=+-0.02"; a blank may stand for
 * the "=". Returns NULL on bad form. */
RepTolerance *rep_tolerance_parse(const char *text, GError **error);

/* Frees @tolerance (nullable). */
void rep_tolerance_free(RepTolerance *tolerance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepTolerance, rep_tolerance_free)

/* Returns true if a number that is @difference away from @baseline, both as
 * rep_widen() gives them, is near enough. */
bool rep_tolerance_is_met(const RepTolerance *tolerance, RepWide baseline,
                          RepWide difference);

#endif
