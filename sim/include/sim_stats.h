/* SPDX-License-Identifier: MIT */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "sim_time.h"

/*
 * Histogram of unsigned values, e.g. latencies in ps, with log-linear
 * buckets: values below 256 are kept exactly, others in buckets of 1/128 of
 * the power of two below them. Memory is fixed (about 58 KiB). The error of
 * a quantile is less than 0.4 % of its value; count, sum, least and greatest
 * value are exact.
 */
typedef struct SimHistogram SimHistogram;

SimHistogram *sim_histogram_new(void);
/* @histogram is nullable. */
void sim_histogram_free(SimHistogram *histogram);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimHistogram, sim_histogram_free)

void sim_histogram_add(SimHistogram *histogram, uint64_t value);
/* Adds @value @times times. */
void sim_histogram_add_many(SimHistogram *histogram, uint64_t value,
                            uint64_t times);

uint64_t sim_histogram_count(const SimHistogram *histogram);
/* The sum, or UINT64_MAX when it is greater. */
uint64_t sim_histogram_sum(const SimHistogram *histogram);
/* These four are 0 for an empty histogram. */
uint64_t sim_histogram_min(const SimHistogram *histogram);
uint64_t sim_histogram_max(const SimHistogram *histogram);
double sim_histogram_mean(const SimHistogram *histogram);
/*
 * The least value that @per_million / 1000000 of the values do not exceed
 * (nearest rank): 500000 is the median, 999000 the 99.9th percentile, 0 the
 * least and 1000000 the greatest value.
 */
uint64_t sim_histogram_quantile(const SimHistogram *histogram,
                                uint32_t per_million);

/*
 * Gives the values in ascending order, those of one bucket together: what
 * sim_histogram_quantile() would return for them, and their number. *@bucket is
 * 0 for the first call and belongs to this function then. Returns false if
 * there are no more.
 */
bool sim_histogram_next(const SimHistogram *histogram, unsigned int *bucket,
                        uint64_t *ret_value, uint64_t *ret_count);

/*
 * The quantile of Student's t distribution with @freedom (1 or more) degrees of
 * freedom that bounds the part @confidence (0 to 1, exclusive) around 0: 12.706
 * for 0.95 and 1. From the series 26.7.3 and 26.7.4 of Abramowitz and Stegun,
 * "Handbook of Mathematical Functions".
 */
double sim_stats_student(double confidence, unsigned freedom);

#endif
