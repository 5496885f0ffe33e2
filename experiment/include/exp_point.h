/* SPDX-License-Identifier: MIT */
#ifndef EXP_POINT_H
#define EXP_POINT_H

#include "table.h"
#include "topo_plan.h"

#include "exp_explain.h"

/*
 * The simulation of one point of a plan: a fabric of its own, its workload, and
 * the values of the columns.
 */

/* A cell: a text, or a number in units of the last of the column's digits. */
typedef struct ExpCell {
    char *text;
    int64_t number;
} ExpCell;

typedef struct ExpPoint {
    unsigned count; /* of columns */
    ExpCell *cells;
    uint64_t hops;       /* links crossed by TLPs */
    uint64_t events;     /* simulated */
    ExpExplain *explain; /* NULL unless asked for */
    Table *trace;        /* the same: of exp_trace_table_new() */
    char *note;          /* one line that a user should know of; NULL: none */
} ExpPoint;

/* Extras that are wanted of a point; they do not change its cells. */
typedef struct ExpAsked {
    bool explain;           /* explain what limits it */
    uint64_t trace_records; /* number of the last TLPs to keep; 0: none */
} ExpAsked;

/* Simulates @point of the plan that was made of @plan. Several threads may call
 * it at a time. Fails with all errors of the description as the point changes
 * it, with an error of its fabric, or if a flow gets stuck. */
ExpPoint *exp_point_new(const TopoDescription *plan, const TopoPoint *point,
                        const ExpAsked *asked, GError **error);
void exp_point_free(ExpPoint *point);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpPoint, exp_point_free)

/* Checks that the element or flow and the metric of every column exist. All
 * errors go to @errors. */
void exp_point_check_columns(const TopoDescription *description,
                             TopoErrors *errors);

/* Returns true if the cells of @column are texts. */
bool exp_column_is_text(const TopoDescription *description,
                        const TopoColumn *column);

#endif
