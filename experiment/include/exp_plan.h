/* SPDX-License-Identifier: MIT */
#ifndef EXP_PLAN_H
#define EXP_PLAN_H

#include "exp_explained.h"
#include "table.h"
#include "topo_plan.h"

/* Called after each point, in the thread that called exp_plan_run(). */
typedef void (*ExpProgressFn)(void *data, unsigned done, unsigned count);

/* Called in the same thread when all points are done: with one line of text on
 * a point whose result is valid, but of which the user should know more. */
typedef void (*ExpNoteFn)(void *data, const char *text);

/* The cost of a run. */
typedef struct ExpCost {
    unsigned points;
    uint64_t hops;   /* links crossed by TLPs */
    uint64_t events; /* simulated */
    double seconds;
} ExpCost;

/* Leaves out the points of an axis beyond a number. */
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
    const char *point;    /* nullable: only points with this in their label */
    uint64_t
        trace_records; /* number of the last TLPs to keep of each point, in */
    Table *trace;      /* nullable: this table, an exp_trace_table_new() */
} ExpPlanOptions;

/*
 * Simulates every point of @description's plan and returns the table of
 * results with its head. The number of threads does not change a byte of it.
 * @ret_cost is nullable. If points fail, the error is that of the first one in
 * the order of the plan.
 */
Table *exp_plan_run(const TopoDescription *description,
                    const ExpPlanOptions *options, ExpCost *ret_cost,
                    GError **error);

/* Reads "AXIS=VALUE", VALUE with its unit. */
ExpLimit *exp_limit_parse(const char *text, GError **error);
void exp_limit_free(void *limit);

#endif
