/* SPDX-License-Identifier: MIT */
#ifndef EXP_RUN_H
#define EXP_RUN_H

#include "exp_plan.h"

/* The run of one scenario, with the files that it writes. */

/* The options of a run in the words of a user. */
typedef struct ExpRunWords {
    char *folder;  /* nullable: "results" */
    char *point;   /* nullable: as in ExpPlanOptions */
    char *shard;   /* nullable: "I/N", a part of a plan; I is from 1 to N */
    char **limits; /* nullable: of "AXIS=VALUE" */
    int threads;
    int trace_records;
    gboolean explain, latencies, keep_going;
    gboolean resume; /* go on with the journal of an earlier run */
} ExpRunWords;

typedef struct ExpRunOptions {
    const char *folder;
    GPtrArray *limits; /* owned */
    /* The members threads, limits, progress, note, data, point, shard, n_shards
     * and trace_records. `note` is not NULL. */
    ExpPlanOptions plan;
    bool explain, latencies, keep_going, resume;
} ExpRunOptions;

/* Makes the options, without `progress`, `note` and `data`, of @words, which
 * are borrowed. False and @error if one is wrong, a G_OPTION_ERROR but for
 * limits. To be cleared in either case. */
bool exp_run_parse(const ExpRunWords *words, ExpRunOptions *ret_options,
                   GError **error);
void exp_run_options_clear(ExpRunOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ExpRunOptions, exp_run_options_clear)

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

/* Simulates, and writes PREFIX.csv. False and @error if there are no results.
 */
bool exp_run_simulate(ExpRun *run, GError **error);
/* The results are written: removes the journal if no point has failed, and
 * writes PREFIX.trace.csv. */
bool exp_run_finish(ExpRun *run, GError **error);
/* Writes @table to PREFIX and @ending. */
bool exp_run_write(const ExpRun *run, const Table *table, const char *ending,
                   GError **error);

/* Notes how many points are safe, and how to go on, if any is. */
void exp_run_tell_kept(const ExpRun *run);
/* Notes each point that has failed, and how many have. */
void exp_run_tell_failed(const ExpRun *run);
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

/* The progress of a run. */
typedef struct ExpProgress {
    const char *name; /* of the scenario */
    const char *unit; /* what is counted */
    int64_t begin_us; /* time of the first call; 0: none yet */
    unsigned first;   /* points that were done then */
} ExpProgress;

/* Returns the points of @count that are @done, and the time that the others
 * will take if they are like them, for a terminal; to be freed. @now_us is the
 * time of a clock that never stands at 0. */
char *exp_progress_text(ExpProgress *progress, int64_t now_us, unsigned done,
                        unsigned count);

#endif
