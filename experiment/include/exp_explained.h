/* SPDX-License-Identifier: MIT */
#ifndef EXP_EXPLAINED_H
#define EXP_EXPLAINED_H

#include "exp_explain.h"
#include "table_waterfall.h"
#include "topo_plan.h"

/*
 * The explanations of all points of a plan. The points of a curve have the
 * same variant and the same values of all axes but one. That axis is the
 * plot's x axis, or else the last axis whose values are numbers.
 */
typedef struct ExpExplained {
    char *label;   /* of the point: "Loc, transfer=4KiB" */
    char *curve;   /* "Loc", or "" if there is but one */
    char *x_label; /* value of the axis along the curve; "" if there is none */
    int64_t x;     /* and its number */
    ExpExplain *explain;
} ExpExplained;

/* Returns an array for exp_explained_add(); it owns its elements. */
GPtrArray *exp_explained_new(void);

/* Adds a point, in the order of the plan. Takes @explain. */
void exp_explained_add(GPtrArray *explained, const TopoDescription *description,
                       const TopoPoint *point, ExpExplain *explain);

/* A row for each share of each point, and for the places of operations at the
 * smallest and the largest point of each curve. */
Table *exp_explained_table(const GPtrArray *explained,
                           const TopoDescription *description);

/* Text for a terminal: the bottleneck of each curve at its smallest and its
 * largest point, and the places where the time goes there. To be freed. */
char *exp_explained_text(const GPtrArray *explained);

/* The names that segments of the bars may have. */
TableSegments exp_explained_segments(void);

/* The bars for a drawing of the places where the time goes; NULL if no
 * operation was seen. To be freed. */
Table *exp_explained_bars(const GPtrArray *explained);

#endif
