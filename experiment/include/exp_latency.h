/* SPDX-License-Identifier: MIT */
#ifndef EXP_LATENCY_H
#define EXP_LATENCY_H

#include "exp_point.h"

/*
 * The latencies of all operations of a plan, not only their mean and
 * percentiles. The least and the greatest are exact; others are kept in
 * classes of less than 0.8 % of their value.
 */

/* Returns a table without rows for the latencies of @description. Its columns
 * are the label of the point, the flow, the latency, the number of operations
 * that took it, and the share of the flow's operations that took no longer. */
Table *exp_latency_table_new(const TopoDescription *description);

/* Adds the latencies of the point @label: those of its @count runs, one for
 * each seed, together. */
void exp_latency_table_add(Table *table, const TopoDescription *description,
                           const char *label, const ExpPoint *const *runs,
                           unsigned count);

/* Returns an array with the latencies of @flows (of FabFlow,
 * nullable entries). The caller frees it. */
GArray *exp_latency_new(const GPtrArray *flows);

#endif
