/* SPDX-License-Identifier: MIT */
#ifndef EXP_PLAN_PRIV_H
#define EXP_PLAN_PRIV_H

#include "exp_point.h"

/* Returns an empty table for the results of @description: first the columns of
 * the description. If it has several seeds, three columns follow for each
 * number that may differ: the least and the most value, and half the width of
 * the 95 % confidence interval of the mean. */
Table *exp_plan_table_new(const TopoDescription *description);

/* Adds the row of a point: the means over its @count runs, one for each seed.
 */
void exp_plan_table_add(Table *table, const TopoDescription *description,
                        const ExpPoint *const *runs, unsigned count);

#endif
