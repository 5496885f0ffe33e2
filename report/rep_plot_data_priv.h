/* SPDX-License-Identifier: MIT */
#ifndef REP_PLOT_DATA_PRIV_H
#define REP_PLOT_DATA_PRIV_H

#include "rep_plot.h"

#define PLOT_CURVES_MAX 32

/* The origin of a value. */
typedef enum PlotSource {
    PLOT_MODEL,
    PLOT_PUBLISHED,
    PLOT_MEASURED,
    PLOT_N_SOURCES,
} PlotSource;

/* One value to draw. The numbers serve to find ranges and places; the texts are
 * printed into the script. */
typedef struct PlotPoint {
    unsigned panel; /* indices into the names */
    unsigned curve;
    unsigned category;
    PlotSource source;
    double x;
    double y;
    char *x_text;
    char *y_text;
} PlotPoint;

/* All that a plot shows, sorted by x where x is a number. */
typedef struct PlotData {
    GPtrArray *panels;        /* of char *; one "" if there are none */
    GPtrArray *curves;        /* of char *; the same */
    GPtrArray *categories;    /* of char *: the texts of x, for bars */
    GPtrArray *points;        /* of PlotPoint * */
    bool has[PLOT_N_SOURCES]; /* PLOT_MODEL always */
    unsigned n_sources;
    bool is_split;                    /* no two panels have a curve in common */
    unsigned homes[PLOT_CURVES_MAX];  /* a panel that has the curve */
    unsigned styles[PLOT_CURVES_MAX]; /* which colour and shape it has */
    double x_min;
    double x_max;
    double y_min;
    double y_max;
} PlotData;

PlotData *rep_plot_data_new(const RepPlot *plot, const Table *model,
                            const Table *published, GError **error);
void rep_plot_data_free(PlotData *data);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlotData, rep_plot_data_free)

#endif
