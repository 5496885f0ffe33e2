/* SPDX-License-Identifier: MIT */
#ifndef BLD_PLAN_H
#define BLD_PLAN_H

#include "bld_explained.h"
#include "rep_table.h"
#include "topo_plan.h"

/* Called from the thread that called bld_plan_run(), after each point. */
typedef void (*BldProgressFn)(void *data, unsigned done, unsigned count);

/* Called likewise, when all points are done, with what went wrong in one that a
 * user should know of though it is a result, as a line of text. */
typedef void (*BldNoteFn)(void *data, const char *text);

/* What it cost. */
typedef struct BldCost {
    unsigned points;
    uint64_t hops;   /* links crossed by TLPs */
    uint64_t events; /* simulated */
    double seconds;
} BldCost;

/* Points of an axis beyond a number are left out. */
typedef struct BldLimit {
    char *axis;
    int64_t number; /* in base units */
} BldLimit;

typedef struct BldPlanOptions {
    unsigned threads;
    const GPtrArray *limits; /* nullable: of BldLimit */
    BldProgressFn progress;  /* nullable */
    BldNoteFn note;          /* nullable */
    void *data;
    GPtrArray *explained;   /* nullable: gets a BldExplained for each point */
    const char *point;      /* nullable: only points with this in their label */
    uint64_t trace_records; /* the last TLPs of each point, so many; and */
    RepTable *trace;        /* nullable: where to, a bld_trace_table_new() */
} BldPlanOptions;

/*
 * Simulates every point of @description's plan and returns the table, with its
 * head; the same bytes whatever the number of threads. @ret_cost is nullable.
 * Fails with the error of the first point, in the order of the plan, that has
 * one.
 */
RepTable *bld_plan_run(const TopoDescription *description,
                       const BldPlanOptions *options, BldCost *ret_cost,
                       GError **error);

/* Reads "AXIS=VALUE", VALUE with its unit. */
BldLimit *bld_limit_parse(const char *text, GError **error);
void bld_limit_free(void *limit);

#endif
