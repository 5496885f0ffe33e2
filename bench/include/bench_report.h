/* SPDX-License-Identifier: MIT */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench_case.h"
#include "table.h"

/* Returns the cases (const BenchCase *) that match one of @patterns (ended by
 * NULL; NULL: all cases), with * and ?. */
GPtrArray *bench_choose(char **patterns);
/* Returns the first pattern that matches no case; NULL if there is none. */
const char *bench_find_unmatched(char **patterns);

/* The reason for which @bench cannot be run, to be freed; NULL if it can. */
char *bench_refusal(const BenchCase *bench, const BenchSetup *setup);

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

void bench_report_result(BenchReport *report, const BenchCase *bench,
                         const BenchResult *result);
/* A benchmark without figures: a row of the table, and a head line of the CSV.
 */
void bench_report_failure(BenchReport *report, const BenchCase *bench);

#endif
