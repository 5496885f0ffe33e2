/* SPDX-License-Identifier: MIT */
#ifndef EXP_INTERVAL_H
#define EXP_INTERVAL_H

#include "exp_metric.h"

/* The interval of a value whose flows have left work out. */

/* Returns whether the value of @metric of @scope is known even so. The counters
 * of elements are not. */
bool exp_interval_has(ExpScope scope, const char *metric);

/* Returns half the width of the interval at 95 %, as a share of the value; 0:
 * it is exact, or depends on single operations. @has_stop: the workload ends at
 * a given time, and not with its work. */
double exp_interval_share(const ExpSubject *subject, const char *metric,
                          bool has_stop);

/* Returns the number of operations that were simulated, if the value is one of
 * operations, and its flow has left work out; otherwise 0. */
uint64_t exp_interval_seen(const ExpSubject *subject, const char *metric);

#endif
