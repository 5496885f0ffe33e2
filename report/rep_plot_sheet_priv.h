/* SPDX-License-Identifier: MIT */
#ifndef REP_PLOT_SHEET_PRIV_H
#define REP_PLOT_SHEET_PRIV_H

#include "rep_plot_data_priv.h"

/*
 * The sheet on which a plot is drawn. Its script is made in steps, a file each:
 * the layout is chosen, the axes are set, panels are drawn, then the legends.
 */

/* Measures in pixels of the SVG. */
#define PLOT_MARGIN_LEFT     78
#define PLOT_MARGIN_RIGHT    24
#define PLOT_GAP             34 /* between two panels */
#define PLOT_TITLE_HEIGHT    36
#define PLOT_CHARACTER_WIDTH 8

#define PLOT_FIRST_SHAPE 6 /* gnuplot's open circle, of the first curve */

/* Places, in pixels from the lower left corner. */
typedef struct PlotLayout {
    unsigned width;
    unsigned height;
    unsigned panel_width;
    unsigned panel_height;
    unsigned panel_title;
    unsigned margin_bottom;
    unsigned legend_height;
    unsigned n_legend; /* lines that the legends take */
    double y_low;
    double y_high;
    double y_step;
} PlotLayout;

/* Everything the parts of the script are made from. */
typedef struct PlotSheet {
    const RepPlot *plot;
    const PlotData *data;
    PlotLayout layout;
    RepAxis x_axis;
    GString *script;
} PlotSheet;

/* Appends to the script. */
void rep_plot_emit(PlotSheet *sheet, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Chooses the places of everything, and the range of y for all panels. */
void rep_plot_lay_out(PlotSheet *sheet);

/* Chooses the range of y from the points of one panel. */
void rep_plot_choose_panel_range(PlotSheet *sheet, unsigned panel);

/* Returns true if the names of the groups of bars must be slanted to fit;
 * *ret_longest is the length of the longest, in characters. */
bool rep_plot_is_slanted(const PlotSheet *sheet, glong *ret_longest);

/* Sets both axes, or that of y alone. */
void rep_plot_emit_axes(PlotSheet *sheet);
void rep_plot_emit_y_axis(PlotSheet *sheet);

/* The label of an axis: @given (nullable), or made of the name of @column;
 * @has_unit says that the numbers carry the unit. The caller frees it. */
char *rep_plot_axis_label(const char *given, const char *column, bool has_unit);

/* Draws the legends below the panels. */
void rep_plot_emit_legends(PlotSheet *sheet);

/* Returns true if the curve is named in the legend of @panel. */
bool rep_plot_is_in_legend(const PlotData *data, unsigned curve,
                           unsigned panel);

/* Returns true if there is anything beside the model to tell it from. */
bool rep_plot_is_mixed(const PlotData *data);

/* The word for values of @source in the legend. */
const char *rep_plot_source_label(const RepPlot *plot, PlotSource source);

/* The look of a curve. Curves beyond the palette repeat its colours with other
 * dashes. */
const char *rep_plot_color(const PlotSheet *sheet, unsigned curve);
int rep_plot_shape(const PlotSheet *sheet, unsigned curve);
unsigned rep_plot_dash(const PlotSheet *sheet, unsigned curve);

/* The look of bars or points that are not the model's, of a curve that has
 * @shape and @color. The caller frees it. */
char *rep_plot_other_style(const PlotSheet *sheet, int shape, const char *color,
                           PlotSource source);

#endif
