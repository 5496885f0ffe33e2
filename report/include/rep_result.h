/* SPDX-License-Identifier: MIT */
#ifndef REP_RESULT_H
#define REP_RESULT_H

#include "topo_description.h"

#include "rep_plot.h"
#include "table.h"

/* The results of one scenario with the values that its `plot:` compares them
 * with. */
typedef struct RepResult {
    const TopoDescription *description;
    const Table *model;
    const Table *published; /* nullable */
    const Table *measured;  /* nullable */
} RepResult;

/*
 * Reads the published and the measured values of @description, each NULL if it
 * has none, before a simulation: that may take an hour, and a mistake in a CSV
 * file should be reported at once. The published ones are needed if results are
 * to be judged by their bounds. False and @error.
 */
bool rep_result_read(const TopoDescription *description, bool needs_bounds,
                     Table **ret_published, Table **ret_measured,
                     GError **error);

/* Appends rep_result_text() and the errors against published and measured
 * values, with which only exact results are compared. */
bool rep_result_append(GString *text, const RepResult *result, GError **error);

/* Returns the results for a terminal: a heading and a table with a row for each
 * x and a column for each curve. With panels, each has its own table. The
 * caller frees it. */
char *rep_result_text(const RepResult *result);

/* Returns the errors against @others, the published or the measured values,
 * for each curve. @name stands for these values in messages. The caller
 * frees it. */
Table *rep_result_errors(const RepResult *result, const Table *others,
                         const char *name, GError **error);

/* Returns the measured points beside the model's and the published ones. The
 * caller frees it. */
Table *rep_result_measured(const RepResult *result, GError **error);

/* Adds errors if the drawing would have more curves, panels or groups of bars
 * than it has space for. @points is a table of results in which the cells of
 * variants and axes suffice. The plot is optional. */
void rep_result_check_plot(const TopoDescription *description,
                           const Table *points, TopoErrors *errors);

/* The same, with one error. */
bool rep_result_can_draw(const TopoDescription *description,
                         const Table *points, GError **error);

/* The look of a drawing. */
typedef struct RepLook {
    double width_mm;   /* on paper; 0: chosen by the contents */
    double font_pt;    /* on paper, with a width; 0: 7 points */
    const char *title; /* nullable: the plot's; "none": no title */
    gboolean pdf;      /* PREFIX.pdf, too */
    gboolean tex;      /* PREFIX.tex, too */
    gboolean no_legend;
    RepRange x_range,
        y_range; /* instead of the plot's, if they are not empty */
} RepLook;

/* Draws PREFIX.svg and PREFIX.png. The description must have a plot. @look is
 * nullable. */
bool rep_result_draw(const RepResult *result, const char *prefix,
                     const RepLook *look, GError **error);

/* Loads the scenario that the head of the results @table of @file names, with
 * the changes that the run was given. NULL and @error if there is none, it has
 * no plot, or its columns are others. */
TopoDescription *rep_result_scenario(const Table *table, const char *file,
                                     GError **error);

#endif
