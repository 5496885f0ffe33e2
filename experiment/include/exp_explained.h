/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAINED_H
#define EXP_EXPLAINED_H

#include "exp_explain.h"
#include "table_waterfall.h"
#include "topo_plan.h"

/*
 * The explanation of one point of a plan. The points of a curve differ only
 * in the value of one axis: the plot's x axis, or else the last axis whose
 * values are numbers.
 */
typedef struct ExpExplained {
    char *label; /* label of the point, such as "Loc, transfer=4KiB" */
    char *curve; /* such as "Loc"; "" if there is only one curve */
    char *
        x_label; /* value on the axis along the curve; "" if there is no axis */
    int64_t x;   /* the same as a number */
    ExpExplain *explain;
} ExpExplained;

/* Returns an array for exp_explained_add(); it owns its elements. */
GPtrArray *exp_explained_new(void);

/* Adds a point. Points are added in the order of the plan. Takes ownership of
 * @explain. */
void exp_explained_add(GPtrArray *explained, const TopoDescription *description,
                       const TopoPoint *point, ExpExplain *explain);

/* Makes a table with a row for each share of each point. The places of
 * operations are listed only for the smallest and the largest point of each
 * curve. */
Table *exp_explained_table(const GPtrArray *explained,
                           const TopoDescription *description);

/* Returns text for a terminal: for the smallest and the largest point of each
 * curve, the bottleneck and the places where the time goes. The caller frees
 * it. */
char *exp_explained_text(const GPtrArray *explained);

/* Returns all names that segments of the bars may have. */
TableSegments exp_explained_segments(void);

/* Returns the bars for a drawing of where the time goes; NULL if no operation
 * was seen. The caller frees the table. */
Table *exp_explained_bars(const GPtrArray *explained);

#endif
