/* SPDX-License-Identifier: MIT */
#ifndef EXP_POINT_H
#define EXP_POINT_H

#include "table.h"
#include "topo_plan.h"

#include "exp_explain.h"

/*
 * Simulates one point of a plan in a fabric of its own, and computes the
 * values of the columns.
 */

/* A cell: a text, or a number in units of the column's last digit. */
typedef struct ExpCell {
    char *text;
    int64_t number;
    bool has_failed; /* what the number measures has failed */
    int64_t half;    /* half the width of the interval of the number, at 95 %,
                        in its units; 0: it is exact; TABLE_NONE: it is not,
                        and depends on single operations */
    uint64_t seen;   /* operations that were simulated, if the number is one of
                        operations and not of all of them; otherwise 0 */
} ExpCell;

typedef struct ExpPoint {
    unsigned count; /* number of columns */
    ExpCell *cells;
    uint64_t hops;       /* links crossed, summed over all TLPs */
    uint64_t events;     /* events simulated */
    ExpExplain *explain; /* NULL unless it was asked for */
    Table *trace; /* an exp_trace_table_new(); NULL unless it was asked for */
    GArray *latencies; /* of exp_latency_new(); NULL unless they were asked for
                        */
    char *note;        /* one line that the user should read; NULL: none */
    bool has_failed;   /* a flow has wholly failed, and the description has no
                          faults that may be the reason */
} ExpPoint;

/* Optional results of a point. They do not change its cells. */
typedef struct ExpPointOptions {
    bool explain;           /* explain the limits of the point */
    bool latencies;         /* keep the latency of each operation */
    uint64_t trace_records; /* most TLPs to keep; 0: no trace */
} ExpPointOptions;

/* Simulates @point. @plan is the description that the plan was made from. @turn
 * is added to the seed of the point. Several threads may call this at the same
 * time. Fails if the description with the point's changes has errors, if its
 * fabric cannot be built, or if a flow gets stuck. */
ExpPoint *exp_point_new(const TopoDescription *plan, const TopoPoint *point,
                        unsigned turn, const ExpPointOptions *options,
                        GError **error);
/* Does all that exp_point_new() does before it simulates: loads the description
 * with the changes of @point, builds the fabric, makes the loans and the flows.
 * Adds all errors. What depends on a section with errors is left out. The
 * workload may be missing. */
void exp_point_check(const TopoDescription *plan, const TopoPoint *point,
                     TopoErrors *errors);
void exp_point_free(ExpPoint *point);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpPoint, exp_point_free)

/* Checks that the element or flow, and the metric, of every column exist. Adds
 * all errors to @errors. */
void exp_point_check_columns(const TopoDescription *description,
                             TopoErrors *errors);

/* Returns the cell of a column whose source is the variant or an axis. The
 * caller frees its text. */
ExpCell exp_point_known_cell(const TopoPoint *point, const TopoColumn *column);

/* Returns true if the cells of @column are texts, not numbers. */
bool exp_column_is_text(const TopoDescription *description,
                        const TopoColumn *column);

#endif
