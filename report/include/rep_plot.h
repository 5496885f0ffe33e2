/* SPDX-License-Identifier: MIT */
#ifndef REP_PLOT_H
#define REP_PLOT_H

#include <stdbool.h>

#include <glib.h>

#include "table.h"

/*
 * Plots of a table, drawn by gnuplot. The same tables give the same bytes.
 */

/* The most of each thing that one drawing can have. */
#define REP_PLOT_CURVES_MAX     32
#define REP_PLOT_PANELS_MAX     12
#define REP_PLOT_CATEGORIES_MAX 128 /* groups of bars */

typedef enum RepPlotKind {
    REP_PLOT_LINES, /* a line for each curve over a column of numbers */
    REP_PLOT_BARS,  /* a bar for each curve and each value of a column */
} RepPlotKind;

typedef enum RepAxis {
    REP_AXIS_AUTO, /* bytes if the column's name ends in "_bytes", else linear
                    */
    REP_AXIS_LINEAR,
    REP_AXIS_LOG2, /* powers of two */
    REP_AXIS_LOG10,
    REP_AXIS_BYTES, /* powers of two, with labels such as "4 KiB" */
} RepAxis;

/* The ends of an axis. If they are equal, the points choose them. */
typedef struct RepRange {
    double least;
    double most;
} RepRange;

/* A plot to draw. Strings are borrowed UTF-8 and may hold any character. */
typedef struct RepPlot {
    RepPlotKind kind;
    const char *title;         /* nullable */
    const char *x_column;      /* a column of numbers; for bars any column */
    const char *y_column;      /* a column of numbers */
    const char *half_column;   /* nullable: a column of the model's table with
                                  half the width of an interval around y */
    const char *const *curves; /* nullable, NULL-terminated: columns whose texts
                                  together name a curve */
    const char *panel_column;  /* nullable: one panel for each of its values */
    RepAxis x_axis;            /* only for lines */
    RepAxis y_axis;            /* linear unless it is one of the powers */
    RepRange x_range;          /* not for bars */
    RepRange y_range;          /* of all panels */
    bool fits_y; /* the y axis need not begin at 0 if all points are far from it
                  */
    bool tex;    /* rep_plot_write() draws PREFIX.tex, too, for TikZ */
    bool no_legend;
    const char *x_label; /* nullable: made from the column's name */
    const char *y_label; /* nullable: made from the column's name */
    double width_mm;     /* 0: chosen by the contents */
    double font_pt;      /* size of the text on a sheet of that width */
    bool pdf;            /* rep_plot_write() draws PREFIX.pdf, too */
    bool steps;   /* lines go level from each point to the next one's x */
    bool stacked; /* panels stand one above the other, not side by side */
    const char *model_label;     /* nullable: default "model" */
    const char *published_label; /* nullable: default "published" */
    const Table *measured;       /* nullable: values of a third source */
} RepPlot;

/* Returns the gnuplot script of the plot for the terminal "svg", "pngcairo",
 * "pdfcairo" or "tikz".
 * @model is drawn as lines or bars. @published (nullable) has the same columns
 * and is drawn as points or as paler bars of the same colours. Measured values
 * are drawn as crosses or as the palest bars. Returns NULL if a column is
 * missing or has the wrong type, or if there is nothing to draw. */
char *rep_plot_script(const RepPlot *plot, const Table *model,
                      const Table *published, const char *terminal,
                      GError **error);

/* Draws the plot to PREFIX.svg and PREFIX.png. Fails with TABLE_ERROR_PROGRAM
 * if gnuplot is not installed. */
bool rep_plot_write(const RepPlot *plot, const Table *model,
                    const Table *published, const char *prefix, GError **error);

/* Returns a label made from a column's name and its unit. For example,
 * "bandwidth_GBps" becomes "bandwidth (GB/s)". The caller frees it. */
char *rep_plot_label(const char *column);

#endif
