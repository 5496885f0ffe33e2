/* SPDX-License-Identifier: MIT */
#ifndef EXP_PLAN_H
#define EXP_PLAN_H

#include "exp_explained.h"
#include "table.h"
#include "topo_plan.h"

/* Called from the thread that called exp_plan_run(), after each point. */
typedef void (*ExpProgressFn)(void *data, unsigned done, unsigned count);

/* Called likewise, when all points are done, with what went wrong in one that a
 * user should know of though it is a result, as a line of text. */
typedef void (*ExpNoteFn)(void *data, const char *text);

/* What it cost. */
typedef struct ExpCost {
    unsigned points;
    uint64_t hops;   /* links crossed by TLPs */
    uint64_t events; /* simulated */
    double seconds;
} ExpCost;

/* Points of an axis beyond a number are left out. */
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
    GPtrArray *explained;   /* nullable: gets a ExpExplained for each point */
    const char *point;      /* nullable: only points with this in their label */
    uint64_t trace_records; /* the last TLPs of each point, so many; and */
    Table *trace;           /* nullable: where to, a exp_trace_table_new() */
} ExpPlanOptions;

/*
 * Simulates every point of @description's plan and returns the table, with its
 * head; the same bytes whatever the number of threads. @ret_cost is nullable.
 * Fails with the error of the first point, in the order of the plan, that has
 * one.
 */
Table *exp_plan_run(const TopoDescription *description,
                    const ExpPlanOptions *options, ExpCost *ret_cost,
                    GError **error);

/* Reads "AXIS=VALUE", VALUE with its unit. */
ExpLimit *exp_limit_parse(const char *text, GError **error);
void exp_limit_free(void *limit);

#endif
