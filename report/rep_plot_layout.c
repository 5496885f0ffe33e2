/* SPDX-License-Identifier: MIT */
#include "rep_plot_sheet_priv.h"

#include <math.h>
#include <string.h>

#include "rep_gnuplot_priv.h"

/* Measures in pixels of the SVG. */
#define PANEL_WIDTH    430
#define PANEL_HEIGHT   300
#define MARGIN_BOTTOM  62
#define PANEL_TITLE    30
#define LEGEND_LINE    24
#define BAR_WIDTH      34
#define PANEL_LEAST    100 /* least width */
#define NAME_MOST      60  /* characters of a slanted name that have room */
#define SLANTED_WIDTH  6   /* width and height of a slanted character */
#define SLANTED_HEIGHT 4
#define MM_PER_INCH    25.4
#define PT_PER_INCH    72

/* Returns a step of 1, 2, 2.5 or 5 times a power of ten that gives at most
 * eight lines. */
static double choose_step(double span)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double power;
    unsigned i = 0;

    power = pow(10, floor(log10(span / 8)));
    while (i + 1 < G_N_ELEMENTS(steps) && steps[i] * power * 8 < span) {
        i++;
    }
    return steps[i] * power;
}

/* Chooses the range of y and the step between lines. The range includes all
 * points and is a whole number of steps. */
static void choose_y_range(double y_min, double y_max, PlotLayout *layout)
{
    double span = y_max > y_min ? y_max - y_min : 1;

    layout->y_step = choose_step(span);
    layout->y_low = floor(y_min / layout->y_step) * layout->y_step;
    layout->y_high =
        ceil((y_max + span * 0.04) / layout->y_step) * layout->y_step;
}

double rep_plot_y_base(const RepPlot *plot)
{
    switch (plot->y_axis) {
    case REP_AXIS_LOG10:
        return 10;
    case REP_AXIS_LOG2:
    case REP_AXIS_BYTES:
        return 2;
    default:
        return 0;
    }
}

/* Chooses the range of a logarithmic axis: whole powers of its base. */
static void choose_y_powers(double least, double most, double base,
                            PlotLayout *layout)
{
    double low = floor(log(least) / log(base) + 1e-9);
    double high = ceil(log(most) / log(base) - 1e-9);

    layout->y_low = pow(base, low);
    layout->y_high = pow(base, MAX(high, low + 1));
}

/* Returns the least y that the axis must show: 0 or less, unless all points are
 * far from 0 and the plot may leave it out. */
static double floor_of(const RepPlot *plot, double y_min, double y_least,
                       double y_max)
{
    return plot->fits_y && y_least > 0 && y_least > y_max / 2
               ? y_least - (y_max - y_least) * 0.1
               : y_min;
}

/* Chooses the range of y for points from @y_least to @y_max. @y_min is at most
 * 0. */
static void choose_range(PlotSheet *sheet, double y_min, double y_least,
                         double y_max)
{
    const RepPlot *plot = sheet->plot;
    PlotLayout *layout = &sheet->layout;
    double base = rep_plot_y_base(plot);

    if (plot->y_range.most > plot->y_range.least) {
        layout->y_low = plot->y_range.least;
        layout->y_high = plot->y_range.most;
        layout->y_step = choose_step(layout->y_high - layout->y_low);
    } else if (base > 0 && y_max > 0) {
        choose_y_powers(y_least, y_max, base, layout);
    } else {
        choose_y_range(floor_of(plot, y_min, y_least, y_max), y_max, layout);
    }
}

void rep_plot_choose_panel_range(PlotSheet *sheet, unsigned panel)
{
    double y_min = 0, y_max = 0, y_least = G_MAXDOUBLE;
    unsigned i;

    for (i = 0; i < sheet->data->points->len; i++) {
        const PlotPoint *point = g_ptr_array_index(sheet->data->points, i);

        if (point->panel == panel) {
            y_min = MIN(y_min, point->y);
            y_max = MAX(y_max, point->y);
            y_least = MIN(y_least, point->y);
        }
    }
    choose_range(sheet, y_min, y_least, y_max);
}

/* Returns the number of legend lines: one for the sheet, or one for each
 * panel. */
static unsigned count_legend_lines(const PlotSheet *sheet)
{
    const PlotData *data = sheet->data;
    const PlotLayout *layout = &sheet->layout;
    unsigned width = data->is_split ? layout->panel_width : layout->width;
    glong longest = 0;
    unsigned most = 0;
    unsigned panel;
    unsigned fit;
    unsigned i;

    for (i = 0; i < PLOT_N_SOURCES; i++) {
        if (i <= PLOT_PUBLISHED || data->has[i]) {
            longest =
                MAX(longest,
                    g_utf8_strlen(rep_plot_source_label(sheet->plot, i), -1));
        }
    }
    for (panel = 0; panel < data->panels->len; panel++) {
        unsigned entries = rep_plot_is_mixed(data) ? data->n_sources : 0;

        for (i = 0; i < data->curves->len; i++) {
            if (rep_plot_is_in_legend(data, i, panel)) {
                entries++;
                longest =
                    MAX(longest, g_utf8_strlen(data->curves->pdata[i], -1));
            }
        }
        most = MAX(most, entries);
    }
    fit = width / (unsigned)((longest + 7) * PLOT_CHARACTER_WIDTH);
    fit = MAX(fit, 1);
    return (most + fit - 1) / fit;
}

bool rep_plot_is_slanted(const PlotSheet *sheet, glong *ret_longest)
{
    const PlotData *data = sheet->data;
    glong most;
    unsigned i;

    *ret_longest = 0;
    for (i = 0; i < data->categories->len; i++) {
        *ret_longest =
            MAX(*ret_longest, g_utf8_strlen(data->categories->pdata[i], -1));
    }
    if (data->categories->len == 0) {
        return false;
    }
    most = sheet->layout.panel_width / data->n_groups / PLOT_CHARACTER_WIDTH;
    return *ret_longest > most;
}

/* Returns the margin in which the slanted names of groups of bars end on the
 * left. */
static unsigned slanted_margin(const PlotSheet *sheet)
{
    const PlotData *data = sheet->data;
    double group = (double)sheet->layout.panel_width / data->n_groups;
    double margin = PLOT_MARGIN_LEFT;
    unsigned i;

    for (i = 0; i < data->categories->len; i++) {
        glong length = g_utf8_strlen(data->categories->pdata[i], -1);
        double place = (i % data->n_groups + 0.5) * group;

        margin = MAX(margin, MIN(length, NAME_MOST) * SLANTED_WIDTH - place);
    }
    return (unsigned)margin;
}

void rep_plot_lay_out(PlotSheet *sheet)
{
    const PlotData *data = sheet->data;
    PlotLayout *layout = &sheet->layout;
    bool is_wrapped = data->n_groups < data->categories->len;
    unsigned columns =
        is_wrapped ? 1 : rep_plot_columns(sheet->plot, data->panels->len);
    unsigned rows = (data->panels->len + columns - 1) / columns;
    glong longest;

    layout->columns = columns;

    layout->panel_width = PANEL_WIDTH;
    if (data->panels->len == 1) {
        layout->panel_width = PANEL_WIDTH * 3 / 2;
    }
    if (sheet->plot->width_mm > 0) {
        /* The layout is in pixels of a text of REP_GNUPLOT_FONT_SIZE. */
        double pixels = sheet->plot->width_mm / MM_PER_INCH * PT_PER_INCH *
                        REP_GNUPLOT_FONT_SIZE / sheet->plot->font_pt;
        double rest = pixels - PLOT_MARGIN_LEFT - PLOT_MARGIN_RIGHT -
                      (columns - 1.0) * PLOT_GAP;

        layout->panel_width = (unsigned)MAX(rest / columns, PANEL_LEAST);
    } else if (sheet->plot->kind == REP_PLOT_BARS) {
        unsigned bars = data->n_groups * data->curves->len * data->n_sources;

        layout->panel_width = MAX(layout->panel_width, bars * BAR_WIDTH);
    }
    layout->panel_height = sheet->plot->width_mm > 0
                               ? MIN(PANEL_HEIGHT, layout->panel_width * 3 / 4)
                               : PANEL_HEIGHT;
    layout->panel_title = sheet->plot->panel_column ? PANEL_TITLE : 12;
    layout->margin_left = PLOT_MARGIN_LEFT;
    layout->margin_bottom = MARGIN_BOTTOM;
    if (sheet->plot->kind == REP_PLOT_BARS &&
        rep_plot_is_slanted(sheet, &longest)) {
        if (!(sheet->plot->width_mm > 0)) {
            layout->margin_left = slanted_margin(sheet);
        }
        layout->margin_bottom +=
            (unsigned)MIN(longest, NAME_MOST) * SLANTED_HEIGHT;
    }
    layout->width = layout->margin_left + columns * layout->panel_width +
                    (columns - 1) * PLOT_GAP + PLOT_MARGIN_RIGHT;
    layout->n_legend = sheet->plot->no_legend ? 0 : count_legend_lines(sheet);
    layout->legend_height =
        layout->n_legend > 0 ? layout->n_legend * LEGEND_LINE + 10 : 0;
    layout->height = (sheet->plot->title ? PLOT_TITLE_HEIGHT : 8) +
                     layout->legend_height +
                     rows * (layout->panel_title + layout->panel_height +
                             layout->margin_bottom);
    choose_range(sheet, data->y_min, data->y_least, data->y_max);
}
