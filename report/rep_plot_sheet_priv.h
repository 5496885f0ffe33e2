/* SPDX-License-Identifier: MIT */
#ifndef REP_PLOT_SHEET_PRIV_H
#define REP_PLOT_SHEET_PRIV_H

#include "rep_plot_data_priv.h"

/*
 * The sheet on which a plot is drawn. The script is made in four steps, each
 * in its own file: choose the layout, set the axes, draw the panels, draw
 * the legends.
 */

/* Measures in pixels of the SVG. */
#define PLOT_MARGIN_LEFT     78
#define PLOT_MARGIN_RIGHT    24
#define PLOT_GAP             34 /* between two panels */
#define PLOT_TITLE_HEIGHT    36
#define PLOT_CHARACTER_WIDTH 8

#define PLOT_FIRST_SHAPE                                                       \
    6 /* number of gnuplot's open circle, the shape of the first curve */

/* Positions in pixels from the lower left corner. */
typedef struct PlotLayout {
    unsigned width;
    unsigned height;
    unsigned columns; /* panels side by side */
    unsigned panel_width;
    unsigned panel_height;
    unsigned panel_title;
    unsigned margin_left;
    unsigned margin_bottom;
    unsigned legend_height;
    unsigned n_legend; /* number of lines of all legends */
    double y_low;
    double y_high;
    double y_step; /* of a linear axis */
} PlotLayout;

/* All data for the parts of the script. */
typedef struct PlotSheet {
    const RepPlot *plot;
    const PlotData *data;
    const char *terminal; /* of gnuplot */
    PlotLayout layout;
    RepAxis x_axis;
    GString *script;
} PlotSheet;

/* Appends formatted text to the script. */
void rep_plot_emit(PlotSheet *sheet, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Chooses all positions, and the range of y for all panels. */
void rep_plot_lay_out(PlotSheet *sheet);

/* Returns the base of a logarithmic y axis; 0 if the axis is linear. */
double rep_plot_y_base(const RepPlot *plot);

/* Chooses the range of y from the points of one panel. */
void rep_plot_choose_panel_range(PlotSheet *sheet, unsigned panel);

/* Returns true if the names of groups of bars must be slanted to fit.
 * *ret_longest is the length of the longest name in characters. */
bool rep_plot_is_slanted(const PlotSheet *sheet, glong *ret_longest);

/* Set both axes, or the y axis alone. */
void rep_plot_emit_axes(PlotSheet *sheet);
void rep_plot_emit_y_axis(PlotSheet *sheet);

/* Returns the label of an axis: @given (nullable), or a text made from the name
 * of @column. @has_unit is true if the numbers carry the unit. The caller frees
 * the label. */
char *rep_plot_axis_label(const char *given, const char *column, bool has_unit);

/* Draws the legends below the panels. */
void rep_plot_emit_legends(PlotSheet *sheet);

/* Returns true if the curve is named in the legend of @panel. */
bool rep_plot_is_in_legend(const PlotData *data, unsigned curve,
                           unsigned panel);

/* Returns true if the plot has values of several sources, so that the legend
 * must name them. */
bool rep_plot_is_mixed(const PlotData *data);

/* Returns the word for values of @source in the legend. */
const char *rep_plot_source_label(const RepPlot *plot, PlotSource source);

/* Return the look of a curve. Curves beyond the palette use its colours again
 * with other dashes. */
const char *rep_plot_color(const PlotSheet *sheet, unsigned curve);
int rep_plot_shape(const PlotSheet *sheet, unsigned curve);
unsigned rep_plot_dash(const PlotSheet *sheet, unsigned curve);

/* Returns the look of published or measured values of a curve with @shape and
 * @color. The caller frees it. */
char *rep_plot_other_style(const PlotSheet *sheet, int shape, const char *color,
                           PlotSource source);

#endif
