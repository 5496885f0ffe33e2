/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench_case.h"
#include "table.h"

/* Returns the cases (const BenchCase *) that match one of @patterns (ended by
 * NULL; NULL: all cases), with * and ?. NULL and G_OPTION_ERROR if a pattern
 * matches no case. */
GPtrArray *bench_choose(char **patterns, GError **error);

/* Calls @print with a line about each of @cases, without its end. */
void bench_list(const GPtrArray *cases, int (*print)(const char *line));

/* The figures of a run. */
typedef struct BenchReport {
    Table *table;           /* for a terminal */
    Table *csv;             /* a row for each figure */
    unsigned broken;        /* number of bounds that do not hold */
    unsigned broken_ratios; /* those of them that are for ratios */
    unsigned failed;        /* number of benchmarks without a result */
} BenchReport;

void bench_report_init(BenchReport *report);
void bench_report_done(BenchReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BenchReport, bench_report_done)

/* A run of benchmarks. */
typedef struct BenchRun {
    BenchSetup setup;
    int runs;
    gboolean require;                 /* what cannot be run is a failure */
    gboolean check, check_all;        /* bounds of ratios, all bounds */
    void (*begins)(const char *name); /* one begins; "": it has ended */
    void (*tell)(const char *text);   /* a line about what went wrong */
} BenchRun;

/* False and G_OPTION_ERROR if @run cannot be done so often. */
bool bench_run_check(const BenchRun *run, GError **error);

/* Runs @cases (of BenchCase). One that fails does not end the others: they may
 * have taken minutes. */
void bench_run(const BenchRun *run, const GPtrArray *cases,
               BenchReport *report);

/* Tells how many of @count benchmarks failed, and whether a bound that is to be
 * checked does not hold. Returns true if all is well. */
bool bench_run_judge(const BenchRun *run, unsigned count,
                     const BenchReport *report);

#endif
