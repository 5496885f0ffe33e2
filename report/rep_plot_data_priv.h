/* SPDX-License-Identifier: MIT */
#ifndef REP_PLOT_DATA_PRIV_H
#define REP_PLOT_DATA_PRIV_H

#include "rep_plot.h"

/* The origin of a value. */
typedef enum PlotSource {
    PLOT_MODEL,
    PLOT_PUBLISHED,
    PLOT_MEASURED,
    PLOT_N_SOURCES,
} PlotSource;

/* One value to draw. Ranges and places are computed from the numbers. The texts
 * are printed into the script. */
typedef struct PlotPoint {
    unsigned panel; /* indexes into the lists of names */
    unsigned curve;
    unsigned category;
    PlotSource source;
    double x;
    double y;
    double half;
    char *x_text;
    char *y_text;
    char *half_text; /* half the width of an interval around y; NULL: none */
} PlotPoint;

/* All values of a plot. They are sorted by x if x is a number. */
typedef struct PlotData {
    GPtrArray *panels;        /* of char *; one "" if there are no panels */
    GPtrArray *curves;        /* of char *; one "" if there are no curves */
    GPtrArray *categories;    /* of char *: the texts of x; for bars */
    unsigned n_groups;        /* most groups of bars in a panel */
    GPtrArray *points;        /* of PlotPoint * */
    bool has[PLOT_N_SOURCES]; /* has[PLOT_MODEL] is always true */
    unsigned n_sources;
    unsigned n_failed;    /* values of the model that could not be measured */
    const char *accuracy; /* of the model's values; NULL: they are exact */
    bool is_split; /* no curve is in two panels, so each has its own legend */
    unsigned homes[REP_PLOT_CURVES_MAX];  /* by curve: a panel that has it */
    unsigned styles[REP_PLOT_CURVES_MAX]; /* by curve: the index of its colour
                                         and shape */
    unsigned depths[REP_PLOT_CURVES_MAX]; /* by curve: number of curves below
                                             it that it lies on */
    double x_min;
    double x_max;
    double y_min; /* at most 0 */
    double y_max;
    double y_least; /* the smallest y */
} PlotData;

/* Returns how many of @n_panels stand side by side; the others are below. */
unsigned rep_plot_columns(const RepPlot *plot, unsigned n_panels);

PlotData *rep_plot_data_new(const RepPlot *plot, const Table *model,
                            const Table *published, GError **error);
void rep_plot_data_free(PlotData *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlotData, rep_plot_data_free)

#endif
