/* SPDX-License-Identifier: MIT */
#ifndef EXP_SHRINK_H
#define EXP_SHRINK_H

#include "exp_schedule.h"

/* Tells whether @schedule, which has at least one fault, still fails. */
typedef bool ExpShrinkFails(void *owner, const GArray *schedule);

/*
 * Makes @schedule, which fails, smaller and simpler as long as it fails:
 *
 * 1. It removes faults by delta debugging (Zeller and Hildebrandt, "Simplifying
 *    and isolating failure-inducing input", 2002), until none of them can be
 *    left out.
 * 2. It rounds the times and numbers of each fault to few digits, and leaves
 *    out its `end`, as long as that fails, too.
 *
 * Asks @fails at most @most times, and never twice about one schedule. Returns
 * the smallest schedule that failed, to be freed by g_array_unref(); it borrows
 * what @schedule borrows.
 */
GArray *exp_shrink(const GArray *schedule, ExpShrinkFails *fails, void *owner,
                   unsigned most);

#endif
