/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAINED_H
#define EXP_EXPLAINED_H

#include "exp_explain.h"
#include "table_waterfall.h"
#include "topo_plan.h"

/*
 * The explanations of all points of a plan. A curve is what has the same
 * variant and the same value of all axes but one, which is that of the plot's x
 * axis, or the last whose values are numbers.
 */
typedef struct ExpExplained {
    char *label;   /* of the point: "Loc, transfer=4KiB" */
    char *curve;   /* "Loc", or "" if there is but one */
    char *x_label; /* value of the axis along the curve; "" if there is none */
    int64_t x;     /* and its number */
    ExpExplain *explain;
} ExpExplained;

/* An array for exp_explained_add(), which owns what it holds. */
GPtrArray *exp_explained_new(void);

/* Adds a point, in the order of the plan. Takes @explain. */
void exp_explained_add(GPtrArray *explained, const TopoDescription *description,
                       const TopoPoint *point, ExpExplain *explain);

/* A row for each share of each point, and for the places of operations at the
 * smallest and the largest point of each curve. */
Table *exp_explained_table(const GPtrArray *explained,
                           const TopoDescription *description);

/* What limits each curve, at its smallest and its largest point, and where the
 * time goes there, for a terminal; to be freed. */
char *exp_explained_text(const GPtrArray *explained);

/* What their segments may be. */
TableSegments exp_explained_segments(void);

/* The bars of a drawing of where the time goes, for rep_waterfall_write(); NULL
 * if no operation was seen. */
Table *exp_explained_bars(const GPtrArray *explained);

#endif
