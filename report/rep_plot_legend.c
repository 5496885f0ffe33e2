/* SPDX-License-Identifier: MIT */
#include "rep_plot_sheet_priv.h"

#include "rep_gnuplot_priv.h"

#define MUTED "#808080"

static bool is_named(const PlotData *data)
{
    return data->curves->len > 1 ||
           *(const char *)g_ptr_array_index(data->curves, 0) != '\0';
}

bool rep_plot_is_in_legend(const PlotData *data, unsigned curve, unsigned panel)
{
    return is_named(data) && (!data->is_split || data->homes[curve] == panel);
}

static void append_entry(const PlotSheet *sheet, GString *plots,
                         const char *style, const char *label)
{
    g_autofree char *title = rep_gnuplot_quote_for(sheet->terminal, label);

    g_string_append_printf(plots, "%sNaN %s title %s",
                           plots->len > 0 ? ", \\\n" : "", style, title);
}

/* Adds the entries of the legend that distinguish the model's values from
 * others. They are grey if colours distinguish the curves. */
static void append_kinds(const PlotSheet *sheet, GString *plots)
{
    const char *color =
        is_named(sheet->data) ? MUTED : rep_plot_color(sheet, 0);
    unsigned source;

    for (source = 0; source < PLOT_N_SOURCES; source++) {
        g_autofree char *style = NULL;

        if (!sheet->data->has[source]) {
            continue;
        }
        if (source != PLOT_MODEL) {
            style =
                rep_plot_other_style(sheet, PLOT_FIRST_SHAPE, color, source);
        } else if (sheet->plot->kind == REP_PLOT_BARS) {
            style = g_strdup_printf("with boxes lc rgb '%s'", color);
        } else {
            style = g_strdup_printf("with lines lw 2 lc rgb '%s'", color);
        }
        append_entry(sheet, plots, style,
                     rep_plot_source_label(sheet->plot, source));
    }
}

/* Draws one legend between @left and the right edge, in pixels from the
 * left. */
static void emit_one_legend(PlotSheet *sheet, unsigned panel, unsigned left,
                            unsigned right)
{
    const PlotData *data = sheet->data;
    const PlotLayout *layout = &sheet->layout;
    g_autoptr(GString) plots = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < data->curves->len; i++) {
        g_autofree char *style =
            sheet->plot->kind == REP_PLOT_BARS
                ? g_strdup_printf("with boxes lc rgb '%s'",
                                  rep_plot_color(sheet, i))
            : sheet->plot->steps
                ? g_strdup_printf("with lines lw 2 lc rgb '%s' dt %u",
                                  rep_plot_color(sheet, i),
                                  rep_plot_dash(sheet, i))
                : g_strdup_printf("with linespoints pt %d ps 0.9 lw 2 "
                                  "lc rgb '%s' dt %u",
                                  rep_plot_shape(sheet, i),
                                  rep_plot_color(sheet, i),
                                  rep_plot_dash(sheet, i));

        if (rep_plot_is_in_legend(data, i, panel)) {
            append_entry(sheet, plots, style, data->curves->pdata[i]);
        }
    }
    if (rep_plot_is_mixed(data)) {
        append_kinds(sheet, plots);
    }
    rep_plot_emit(
        sheet,
        "set lmargin at screen %.6f\nset rmargin at screen %.6f\nplot %s\n",
        (double)left / layout->width, (double)right / layout->width,
        plots->str);
}

void rep_plot_emit_legends(PlotSheet *sheet)
{
    const PlotLayout *layout = &sheet->layout;
    unsigned panel;

    rep_plot_emit(sheet,
                  "unset title\nunset xlabel\nunset ylabel\nunset border\n"
                  "unset tics\nunset grid\nunset logscale\n"
                  "set bmargin at screen 0\nset tmargin at screen %.6f\n"
                  "set xrange [0:1]\nset yrange [0:1]\n"
                  "set key inside center center horizontal Left reverse "
                  "samplen 2.5 width 1 textcolor rgb '" REP_GNUPLOT_INK "'\n",
                  (double)layout->legend_height / layout->height);
    if (!sheet->data->is_split) {
        emit_one_legend(sheet, 0, 0, layout->width);
        return;
    }
    for (panel = 0; panel < sheet->data->panels->len; panel++) {
        unsigned left =
            layout->margin_left + panel * (layout->panel_width + PLOT_GAP);

        emit_one_legend(sheet, panel, left, left + layout->panel_width);
    }
}
