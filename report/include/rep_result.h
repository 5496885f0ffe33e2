/* SPDX-License-Identifier: MIT */
#ifndef REP_RESULT_H
#define REP_RESULT_H

#include "topo_description.h"

#include "table.h"

/* The results of one scenario with those of others, as its `plot:` says. */
typedef struct RepResult {
    const TopoDescription *description;
    const Table *model;
    const Table *published; /* nullable */
    const Table *measured;  /* nullable */
} RepResult;

/* The results for a terminal: a heading, and a table, or one for each panel
 * with a row an x and a column a curve. The caller frees it. */
char *rep_result_text(const RepResult *result);

/* The errors against the published, or the measured, values, @others, curve by
 * curve; @name stands for them in messages. The caller frees it. */
Table *rep_result_errors(const RepResult *result, const Table *others,
                         const char *name, GError **error);

/* The points that were measured, beside the model's and the published ones. The
 * caller frees it. */
Table *rep_result_measured(const RepResult *result, GError **error);

/* Draws PREFIX.svg and PREFIX.png; the description has a plot. */
bool rep_result_draw(const RepResult *result, const char *prefix,
                     GError **error);

#endif
