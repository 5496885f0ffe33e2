/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/*
 * Benchmarks of the program itself. A case measures a few figures at once; it
 * runs several times, and the medians count. To compare two things, one run
 * measures both in turn, and their ratio is a figure of that run, so other
 * load on the machine meets both.
 */

typedef enum BenchBound {
    BENCH_NO_BOUND,
    BENCH_AT_LEAST,
    BENCH_AT_MOST,
} BenchBound;

typedef struct BenchMetric {
    const char *name; /* NULL: there are no more */
    const char *unit;
    BenchBound bound;
    double wanted;
    bool is_ratio; /* of two figures of one run: holds on any machine */
} BenchMetric;

#define BENCH_METRICS_MAX 6

/* Settings for all cases. */
typedef struct BenchSetup {
    const char *scenarios; /* folder of the scenarios */
    const char *cluster;   /* nullable: name of one that runs */
    const char *scripts;   /* folder of the programs that measure on it */
} BenchSetup;

typedef struct BenchCase BenchCase;

/* Measures once, and stores a figure for each metric of @bench. */
typedef bool (*BenchFn)(const BenchCase *bench, const BenchSetup *setup,
                        double *ret_figures, GError **error);

struct BenchCase {
    const char *name; /* GROUP/NAME */
    const char *help;
    BenchFn run;
    const void *data;     /* nullable, for run */
    const char *scenario; /* nullable: needed; below the scenarios' folder */
    BenchMetric metrics[BENCH_METRICS_MAX + 1];
};

/* The ends of a case's metrics, and of a group's cases. */
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

/* The cases of a group, ended by one without a name. */
extern const BenchCase bench_engine_cases[];
extern const BenchCase bench_model_cases[];
extern const BenchCase bench_scenario_cases[];
extern const BenchCase bench_cluster_cases[];

/* Returns true if @bench is one of bench_cluster_cases, and so needs a
 * cluster. */
bool bench_is_on_cluster(const BenchCase *bench);

/* Processor time that this thread has used, in seconds; that of other programs
 * does not count. */
double bench_thread_seconds(void);

/* Medians of several runs, and the extremes. */
typedef struct BenchResult {
    unsigned runs;
    double median[BENCH_METRICS_MAX];
    double least[BENCH_METRICS_MAX];
    double most[BENCH_METRICS_MAX];
} BenchResult;

/*
 * Runs @bench @runs times, or fewer if that takes long: no run begins later
 * than BENCH_SECONDS after the first, or BENCH_CLUSTER_SECONDS on a cluster.
 * Fails with the error of a run.
 */
bool bench_measure(const BenchCase *bench, const BenchSetup *setup,
                   unsigned runs, BenchResult *ret_result, GError **error);
#define BENCH_SECONDS         10
#define BENCH_CLUSTER_SECONDS 120

/* Sorts the @count figures, 1 at least, and returns their median. */
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
