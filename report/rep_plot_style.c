/* SPDX-License-Identifier: MIT */
#include "rep_plot_sheet_priv.h"

/* The colours of Okabe and Ito. Colour-blind readers can tell them apart. */
static const char *const palette[] = {
    "#0072B2", "#D55E00", "#009E73", "#CC79A7",
    "#E69F00", "#56B4E9", "#000000", "#8C6D31",
};

/* Shapes of gnuplot. All are open. They tell curves apart in print, too. */
static const int shapes[] = {PLOT_FIRST_SHAPE, 4, 8, 12, 10, 14};
#define MEASURED_SHAPE 2 /* a cross, which no curve has */

void rep_plot_emit(PlotSheet *sheet, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(sheet->script, format, args);
    va_end(args);
}

const char *rep_plot_source_label(const RepPlot *plot, PlotSource source)
{
    const char *const given[] = {plot->model_label, plot->published_label,
                                 NULL};
    static const char *const defaults[] = {"model", "published", "measured"};

    return given[source] ? given[source] : defaults[source];
}

bool rep_plot_is_mixed(const PlotData *data)
{
    return data->n_sources > 1;
}

const char *rep_plot_color(const PlotSheet *sheet, unsigned curve)
{
    return palette[sheet->data->styles[curve] % G_N_ELEMENTS(palette)];
}

int rep_plot_shape(const PlotSheet *sheet, unsigned curve)
{
    return shapes[sheet->data->styles[curve] % G_N_ELEMENTS(shapes)];
}

unsigned rep_plot_dash(const PlotSheet *sheet, unsigned curve)
{
    return 1 + sheet->data->styles[curve] / G_N_ELEMENTS(palette) +
           sheet->data->depths[curve];
}

char *rep_plot_other_style(const PlotSheet *sheet, int shape, const char *color,
                           PlotSource source)
{
    bool is_published = source == PLOT_PUBLISHED;

    if (sheet->plot->kind == REP_PLOT_BARS) {
        return g_strdup_printf("with boxes lc rgb '%s' fill solid %s border lc "
                               "rgb '%s'",
                               color, is_published ? "0.3" : "0.08", color);
    }
    return g_strdup_printf("with points pt %d ps 0.9 lw 1.4 lc rgb '%s'",
                           is_published ? shape : MEASURED_SHAPE, color);
}
