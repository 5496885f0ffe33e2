/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Benchmarks of the program itself. A case measures a few figures at once.
 * It runs several times, and the medians count. To compare two things, one
 * run measures both in turn, and their ratio is a figure of that run. So
 * other load on the machine affects both alike.
 */

typedef enum BenchBound {
    BENCH_NO_BOUND,
    BENCH_AT_LEAST,
    BENCH_AT_MOST,
} BenchBound;

typedef struct BenchMetric {
    const char *name; /* NULL ends the list */
    const char *unit;
    BenchBound bound;
    double wanted;
    bool is_ratio; /* ratio of two figures of one run; its bound holds on any
                      machine */
} BenchMetric;

#define BENCH_METRICS_MAX 6

/* Settings for all cases. */
typedef struct BenchSetup {
    const char *scenarios; /* folder of the scenarios */
    const char *cluster;   /* nullable: name of a running cluster */
    const char *scripts;   /* nullable: folder of the cluster's programs, if it
                              is not tests/cluster/bench */
} BenchSetup;

typedef struct BenchCase BenchCase;

/* Measures once and stores a figure for each metric of @bench. */
typedef bool (*BenchFn)(const BenchCase *bench, const BenchSetup *setup,
                        double *ret_figures, GError **error);

struct BenchCase {
    const char *name; /* GROUP/NAME */
    const char *help;
    BenchFn run;
    const void *data;     /* nullable, for `run` */
    const char *scenario; /* nullable: a file that the case needs, in the folder
                             of scenarios */
    BenchMetric metrics[BENCH_METRICS_MAX + 1];
};

/* End the list of a case's metrics, and the list of a group's cases. */
#define BENCH_NO_METRIC                                                        \
    {                                                                          \
        NULL, NULL, BENCH_NO_BOUND, 0, false                                   \
    }
#define BENCH_NO_CASE                                                          \
    {                                                                          \
        NULL, NULL, NULL, NULL, NULL,                                          \
        {                                                                      \
            BENCH_NO_METRIC                                                    \
        }                                                                      \
    }

/* The cases of each group. The last one has no name. */
extern const BenchCase bench_engine_cases[];
extern const BenchCase bench_model_cases[];
extern const BenchCase bench_scenario_cases[];
extern const BenchCase bench_cluster_cases[];

/* Returns true if @bench is in bench_cluster_cases. Such a case needs a
 * cluster. */
bool bench_is_on_cluster(const BenchCase *bench);

/* Returns true if @bench runs without counting first: bench_measure(). */
bool bench_is_warmed_up(const BenchCase *bench);

/* Returns the processor time of this thread in seconds. Other programs do not
 * change it. */
double bench_thread_seconds(void);

/* The medians, the smallest and the largest figures of several runs. */
typedef struct BenchResult {
    unsigned runs;
    double median[BENCH_METRICS_MAX];
    double least[BENCH_METRICS_MAX];
    double most[BENCH_METRICS_MAX];
} BenchResult;

/*
 * Warms up a benchmark of a cluster that runs. Then runs @bench @runs times, or
 * fewer if it is slow: no run begins later than BENCH_SECONDS after the first
 * one, or BENCH_CLUSTER_SECONDS on a cluster. If a run fails, this fails with
 * its error.
 */
bool bench_measure(const BenchCase *bench, const BenchSetup *setup,
                   unsigned runs, BenchResult *ret_result, GError **error);
#define BENCH_SECONDS         10
#define BENCH_CLUSTER_SECONDS 120

/* Sorts the @count figures (at least 1) and returns their median. */
double bench_median(double *figures, unsigned count);

static inline bool bench_holds(const BenchMetric *metric, double figure)
{
    switch (metric->bound) {
    case BENCH_AT_LEAST:
        return figure >= metric->wanted;
    case BENCH_AT_MOST:
        return figure <= metric->wanted;
    default:
        return true;
    }
}

#endif
