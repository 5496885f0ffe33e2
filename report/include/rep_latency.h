/* SPDX-License-Identifier: MIT */
#ifndef REP_LATENCY_H
#define REP_LATENCY_H

#include <stdbool.h>

#include "table.h"

/* Returns true if a drawing has room for all points and flows of @latencies. */
bool rep_latency_fits(const Table *latencies);

/* Draws @latencies, which exp_latency_table_add() filled, twice: the share of
 * operations that took no longer than a time (PREFIX.cdf.svg and .png), and the
 * share in each of 50 classes of equal width (PREFIX.histogram.svg and .png).
 * Each point is a curve and each flow a panel. Fails with TABLE_ERROR_PROGRAM
 * if gnuplot is not installed, and with TABLE_ERROR_VALUE if there are no
 * operations. */
bool rep_latency_write(const char *title, const Table *latencies,
                       const char *prefix, GError **error);

#endif
