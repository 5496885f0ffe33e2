/* SPDX-License-Identifier: MIT */
#ifndef EXP_RUN_H
#define EXP_RUN_H

#include "exp_plan.h"

/* The run of one scenario, with the files that it writes. */

typedef struct ExpRunOptions {
    const char *folder;
    /* The members threads, limits, progress, note, data, point, shard, n_shards
     * and trace_records. `note` is not NULL. */
    ExpPlanOptions plan;
    bool explain, latencies, keep_going;
    bool resume; /* go on with the journal of an earlier run */
} ExpRunOptions;

typedef struct ExpRun {
    ExpRunOptions options;
    const TopoDescription *description;
    char *prefix; /* FOLDER/NAME, the beginning of the paths that are written,
                     with a suffix if the results are only a part */
    Table *table;
    Table *trace;         /* nullable */
    Table *latencies;     /* nullable */
    GPtrArray *explained; /* nullable: of ExpExplained */
    char *journal_path;
    ExpJournal *journal; /* nullable */
    GPtrArray *failed;   /* nullable: of char *, messages of points */
    ExpCost cost;
} ExpRun;

/* Borrows all that the arguments have. */
ExpRun *exp_run_new(const TopoDescription *description,
                    const ExpRunOptions *options);
void exp_run_free(ExpRun *run); /* (nullable) */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpRun, exp_run_free)

/* True if a run is asked for more than its results. It keeps no journal then,
 * because only results are in it. */
bool exp_run_wants_more(const ExpRunOptions *options);

/* Simulates, and writes PREFIX.csv. False and @error if there are no results.
 */
bool exp_run_simulate(ExpRun *run, GError **error);
/* The results are written: removes the journal if no point has failed, and
 * writes PREFIX.trace.csv. */
bool exp_run_finish(ExpRun *run, GError **error);
/* Writes @table to PREFIX and @ending. */
bool exp_run_write(const ExpRun *run, const Table *table, const char *ending,
                   GError **error);

/* Says how many points are safe, and how to go on; NULL if none is. To be
 * freed. */
char *exp_run_kept(const ExpRun *run);
/* Called in any thread: the program ends, and the journal with it. */
void exp_run_halt(ExpRun *run);

/* The number of points that have failed. */
unsigned exp_run_n_failed(const ExpRun *run);
/* Its cost, in a line; to be freed. */
char *exp_run_cost_text(const ExpRun *run);

/* False and @error if two of @descriptions would write the same files, or if
 * none of them has the axis of a limit. One of several is enough, so that one
 * command can run many. */
bool exp_run_check(const GPtrArray *descriptions, const GPtrArray *limits,
                   GError **error);

/* Parses "I/N", a part of a plan; I is from 1 to N. */
bool exp_run_parse_shard(const char *text, unsigned *ret_shard,
                         unsigned *ret_count);

#endif
