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

/* Forgets all values, e.g. at the end of a warm-up. */
void sim_histogram_reset(SimHistogram *histogram);

void sim_histogram_add(SimHistogram *histogram, uint64_t value);
/* Adds @value @times times. */
void sim_histogram_add_many(SimHistogram *histogram, uint64_t value,
                            uint64_t times);
/* Adds all values of @from, which is not changed, to @histogram. */
void sim_histogram_merge(SimHistogram *histogram, const SimHistogram *from);

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

/* Mean and variance of any values, in one pass (Welford). A value type. */
typedef struct SimTally {
    uint64_t count;
    double mean;
    double squares; /* sum of squared differences from the mean */
    double min;
    double max;
} SimTally;

void sim_tally_init(SimTally *tally);
void sim_tally_add(SimTally *tally, double value);
/* Of the sample (divisor count - 1); 0 for less than two values. */
double sim_tally_variance(const SimTally *tally);

/*
 * The quantile of Student's t distribution with @freedom (1 or more) degrees of
 * freedom that bounds the part @confidence (0 to 1, exclusive) around 0: 12.706
 * for 0.95 and 1. From the series 26.7.3 and 26.7.4 of Abramowitz and Stegun,
 * "Handbook of Mathematical Functions".
 */
double sim_stats_student(double confidence, unsigned freedom);

/*
 * A level that changes over time: a queue length, or 0 and 1 for idle and
 * busy. Its time-weighted average is kept as an exact integer. A value type.
 */
typedef struct SimLevel {
    SimTime start;
    SimTime last;
    int64_t level;
    int64_t max;
    __int128 area; /* level times ps, from start to last */
} SimLevel;

/* Starts measuring at @now with @level. */
void sim_level_init(SimLevel *level, SimTime now, int64_t value);
/* Measures anew from @now, e.g. after a warm-up; the level stays. */
void sim_level_reset(SimLevel *level, SimTime now);
/* The level is @value, or @delta more, from @now on. @now never decreases. */
void sim_level_set(SimLevel *level, SimTime now, int64_t value);
void sim_level_add(SimLevel *level, SimTime now, int64_t delta);
/* The average from the start until @now; the level itself at the start. */
double sim_level_mean(const SimLevel *level, SimTime now);

#endif
