/* SPDX-License-Identifier: MIT */
#ifndef EXP_PLAN_H
#define EXP_PLAN_H

#include "exp_explained.h"
#include "exp_journal.h"
#include "table.h"
#include "topo_plan.h"

/* A function called after each point, in the thread that called
 * exp_plan_run(). @done counts the points of the journal, too. */
typedef void (*ExpProgressFn)(void *data, unsigned done, unsigned count);

/* A function called in the same thread after all points are done. @text is one
 * line about a point with valid results that the user should know. */
typedef void (*ExpNoteFn)(void *data, const char *text);

/* The effort of a run. */
typedef struct ExpCost {
    unsigned points;
    unsigned resumed; /* points that the journal had */
    unsigned failed;  /* points in which a flow has wholly failed without
                         faults in the description */
    uint64_t hops;    /* links crossed, summed over all TLPs */
    uint64_t events;  /* events simulated */
    double seconds;
} ExpCost;

/* Excludes the points of an axis whose value is beyond a number. */
typedef struct ExpLimit {
    char *axis;
    int64_t number; /* in base units */
} ExpLimit;

typedef struct ExpPlanOptions {
    unsigned threads;
    const GPtrArray *limits; /* nullable: of ExpLimit */
    ExpProgressFn progress;  /* nullable */
    ExpNoteFn note;          /* nullable */
    void *data;
    GPtrArray *explained; /* nullable: gets an ExpExplained for each point */
    const char *point;    /* nullable: only points whose label has this text */
    unsigned shard, n_shards; /* of n_shards parts only the one with this
                                 number, from 0; n_shards 0: all points */
    ExpJournal *journal; /* nullable: its points are not simulated again, and it
                            gets all others */
    GPtrArray *failed;   /* nullable: all points are simulated even if some
                            fail, and it gets a message (char *) for each */
    const bool
        *only; /* nullable: by index in the plan, the points to simulate */
    Table *latencies;       /* nullable: rows are added to this
                               exp_latency_table_new() */
    uint64_t trace_records; /* most TLPs that the trace keeps of each point */
    Table *trace; /* nullable: rows are added to this exp_trace_table_new() */
} ExpPlanOptions;

/*
 * Simulates every point of @description's plan and returns the table of
 * results with its head. The result does not depend on the number of
 * threads. @ret_cost is nullable. If points fail, the error is that of the
 * first one in the order of the plan. With options->failed such points have no
 * row but a head line. A part of a plan has a head line "shard".
 */
Table *exp_plan_run(const TopoDescription *description,
                    const ExpPlanOptions *options, ExpCost *ret_cost,
                    GError **error);

/* Does for every point what exp_plan_run() does before it simulates, and adds
 * all errors that it finds; those that several points have once. @description
 * may be one of topo_load_partly(): what depends on a section with errors is
 * left out. */
void exp_plan_check(const TopoDescription *description, TopoErrors *errors);

/* Returns a table with a row for each point that exp_plan_run() would simulate.
 * Only the cells that are known before a simulation are set: those of variants
 * and axes. */
Table *exp_plan_outline(const TopoDescription *description,
                        const ExpPlanOptions *options, GError **error);

/* The same for all points. If it fails, adds the error to @errors, unless there
 * are errors already, and returns NULL. */
Table *exp_plan_outline_whole(const TopoDescription *description,
                              TopoErrors *errors);

/* Parses "AXIS=VALUE". VALUE may have a unit. */
ExpLimit *exp_limit_parse(const char *text, GError **error);
void exp_limit_free(void *limit);

#endif
