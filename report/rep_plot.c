/* SPDX-License-Identifier: MIT */
#include "rep_plot.h"

#include "rep_gnuplot_priv.h"
#include "rep_plot_sheet_priv.h"
#include "table_file.h"

#define VALUE_FONT 7 /* size of the numbers above bars */
#define VALUE_LABELS                                                           \
    24 /* A panel with more bars than this has no values above them. */

static void emit_head(PlotSheet *sheet, const char *terminal)
{
    const PlotLayout *layout = &sheet->layout;

    rep_gnuplot_begin(sheet->script, terminal, layout->width, layout->height,
                      sheet->plot->font_pt);
    rep_plot_emit(
        sheet,
        "set border 3 lc rgb '" REP_GNUPLOT_INK "' lw 1\n"
        "set tics nomirror out scale 0.6 textcolor rgb '" REP_GNUPLOT_INK "'\n"
        "set grid xtics ytics lt 1 lw 0.8 lc rgb '" REP_GNUPLOT_GRID "'\n"
        "set style fill solid 1.0 noborder\n"
        "set key off\n"
        "set multiplot\n");
    if (sheet->plot->title) {
        unsigned failed = sheet->data->n_failed;
        g_autofree char *within =
            sheet->data->accuracy
                ? g_strdup_printf(" (known within %s)", sheet->data->accuracy)
                : g_strdup("");
        g_autofree char *text =
            failed > 0 ? g_strdup_printf("%s (%u value%s failed)%s",
                                         sheet->plot->title, failed,
                                         failed == 1 ? "" : "s", within)
                       : g_strconcat(sheet->plot->title, within, NULL);
        g_autofree char *title = rep_gnuplot_quote_for(terminal, text);

        rep_gnuplot_add_title(
            sheet->script, terminal, title,
            (double)(layout->width + layout->margin_left - PLOT_MARGIN_RIGHT) /
                2 / layout->width,
            1.0 - (double)PLOT_TITLE_HEIGHT * 0.55 / (double)layout->height);
    }
}

/* Returns the name of a block of data. Each line, set of points or set of bars
 * has one. */
static char *block_name(unsigned panel, unsigned curve, PlotSource source)
{
    static const char *const names[] = {"model", "published", "measured"};

    return g_strdup_printf("$%s_%u_%u", names[source], panel, curve);
}

/* Returns the place of a bar on the x axis. Bars of one group stand side by
 * side. */
static double bar_place(const PlotSheet *sheet, const PlotPoint *point,
                        double *ret_width)
{
    const PlotData *data = sheet->data;
    unsigned n_bars = data->curves->len * data->n_sources;
    unsigned index = point->curve * data->n_sources;
    unsigned source;

    for (source = 0; source < point->source; source++) {
        index += data->has[source];
    }
    *ret_width = 0.8 / n_bars;
    return point->category + (index + 0.5 - n_bars / 2.0) * *ret_width;
}

/* Emits the points of one block and returns their number. */
static unsigned emit_block(PlotSheet *sheet, unsigned panel, unsigned curve,
                           PlotSource source)
{
    g_autofree char *name = block_name(panel, curve, source);
    unsigned n_points = 0;
    unsigned i;

    for (i = 0; i < sheet->data->points->len; i++) {
        const PlotPoint *point = sheet->data->points->pdata[i];

        if (point->panel != panel || point->curve != curve ||
            point->source != source) {
            continue;
        }
        if (n_points++ == 0) {
            rep_plot_emit(sheet, "%s << END\n", name);
        }
        if (sheet->plot->kind == REP_PLOT_LINES) {
            rep_plot_emit(sheet, "%s %s", point->x_text, point->y_text);
        } else {
            double width;
            g_autofree char *place =
                rep_gnuplot_number(bar_place(sheet, point, &width));
            g_autofree char *wide = rep_gnuplot_number(width * 0.92);

            rep_plot_emit(sheet, "%s %s %s", place, point->y_text, wide);
        }
        if (point->half_text) {
            rep_plot_emit(sheet, " %s", point->half_text);
        }
        rep_plot_emit(sheet, "\n");
    }
    if (n_points > 0) {
        rep_plot_emit(sheet, "END\n");
    }
    return n_points;
}

/* Returns true if each panel has a y axis with its own scale. Panels of bars
 * show different quantities. Lines are compared with each other, so they share
 * a scale. */
static bool has_own_scales(const PlotSheet *sheet)
{
    return sheet->plot->kind == REP_PLOT_BARS && sheet->data->panels->len > 1;
}

/* Sets the margins and labels of a panel. Panels side by side share one y axis,
 * unless each has its own scale. */
static void emit_panel_frame(PlotSheet *sheet, unsigned panel)
{
    const PlotLayout *layout = &sheet->layout;
    const RepPlot *plot = sheet->plot;
    unsigned row = panel / layout->columns;
    unsigned column = panel % layout->columns;
    unsigned rows =
        (sheet->data->panels->len + layout->columns - 1) / layout->columns;
    unsigned left =
        layout->margin_left + column * (layout->panel_width + PLOT_GAP);
    unsigned bottom =
        layout->legend_height + layout->margin_bottom +
        (rows - 1 - row) * (layout->panel_title + layout->panel_height +
                            layout->margin_bottom);
    g_autofree char *title = rep_gnuplot_quote_for(
        sheet->terminal, sheet->data->panels->pdata[panel]);
    g_autofree char *x_text = rep_plot_axis_label(
        plot->x_label, plot->x_column, sheet->x_axis == REP_AXIS_BYTES);
    g_autofree char *y_text =
        rep_plot_axis_label(plot->y_label, plot->y_column, false);
    g_autofree char *x_label = rep_gnuplot_quote_for(sheet->terminal, x_text);
    g_autofree char *y_label = rep_gnuplot_quote_for(sheet->terminal, y_text);

    rep_plot_emit(sheet,
                  "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                  "set bmargin at screen %.6f\nset tmargin at screen %.6f\n",
                  (double)left / layout->width,
                  (double)(left + layout->panel_width) / layout->width,
                  (double)bottom / layout->height,
                  (double)(bottom + layout->panel_height) / layout->height);
    rep_plot_emit(sheet,
                  "set title %s textcolor rgb '" REP_GNUPLOT_INK
                  "' offset 0,-0.4\n",
                  title);
    rep_plot_emit(sheet, "set xlabel %s textcolor rgb '" REP_GNUPLOT_INK "'\n",
                  x_label);
    if (column == 0) {
        rep_plot_emit(sheet,
                      "set ylabel %s textcolor rgb '" REP_GNUPLOT_INK
                      "'\nset format y '%%g'\n",
                      y_label);
    } else if (has_own_scales(sheet)) {
        rep_plot_emit(sheet, "unset ylabel\nset format y '%%g'\n");
    } else {
        rep_plot_emit(sheet, "unset ylabel\nset format y ''\n");
    }
}

/* Returns how one block is drawn: the text after "plot BLOCK". */
static char *style_of(const PlotSheet *sheet, unsigned curve, PlotSource source)
{
    const char *color = rep_plot_color(sheet, curve);

    if (source != PLOT_MODEL) {
        g_autofree char *style = rep_plot_other_style(
            sheet, rep_plot_shape(sheet, curve), color, source);

        return g_strconcat(sheet->plot->kind == REP_PLOT_BARS ? "using 1:2:3 "
                                                              : "using 1:2 ",
                           style, NULL);
    }
    if (sheet->plot->kind == REP_PLOT_BARS) {
        return g_strdup_printf("using 1:2:3 with boxes lc rgb '%s'", color);
    }
    if (rep_plot_is_mixed(sheet->data) || sheet->plot->steps) {
        return g_strdup_printf("using 1:2 with %s lw 2 lc rgb '%s' dt %u",
                               sheet->plot->steps ? "steps" : "lines", color,
                               rep_plot_dash(sheet, curve));
    }
    return g_strdup_printf("using 1:2 with linespoints pt %d ps 0.7 lw 2 "
                           "lc rgb '%s' dt %u",
                           rep_plot_shape(sheet, curve), color,
                           rep_plot_dash(sheet, curve));
}

/* Returns true if a point of the block has an interval around its y. */
static bool has_half(const PlotSheet *sheet, unsigned panel, unsigned curve,
                     PlotSource source)
{
    for (unsigned i = 0; i < sheet->data->points->len; i++) {
        const PlotPoint *point = sheet->data->points->pdata[i];

        if (point->panel == panel && point->curve == curve &&
            point->source == source && point->half_text) {
            return true;
        }
    }
    return false;
}

static bool has_value_labels(const PlotSheet *sheet)
{
    return sheet->plot->kind == REP_PLOT_BARS &&
           sheet->data->points->len / sheet->data->panels->len <= VALUE_LABELS;
}

static void emit_panel(PlotSheet *sheet, unsigned panel)
{
    unsigned n_curves = sheet->data->curves->len;
    bool is_bars = sheet->plot->kind == REP_PLOT_BARS;
    g_autoptr(GString) plots = g_string_new(NULL);
    g_autofree char *font = rep_gnuplot_font(sheet->terminal, VALUE_FONT);
    unsigned i;

    /* Lines come first, so that the points are drawn over them. */
    for (i = 0; i < PLOT_N_SOURCES * n_curves; i++) {
        unsigned curve = i % n_curves;
        PlotSource source = (PlotSource)(i / n_curves);
        g_autofree char *name = block_name(panel, curve, source);
        g_autofree char *style = style_of(sheet, curve, source);
        bool is_spread;

        if (emit_block(sheet, panel, curve, source) == 0) {
            continue;
        }
        g_string_append_printf(plots, "%s%s %s", plots->len > 0 ? ", \\\n" : "",
                               name, style);
        is_spread = has_half(sheet, panel, curve, source);
        if (is_spread) {
            int half = is_bars ? 4 : 3;

            /* Not yerrorbars: gnuplot clears a box in the middle of these. */
            g_string_append_printf(
                plots,
                ", \\\n%s using 1:($2-$%d):(0):(2*$%d) with vectors heads size "
                "screen 0.004,90 lw 1.2 lc rgb '%s'",
                name, half, half,
                is_bars ? REP_GNUPLOT_INK : rep_plot_color(sheet, curve));
        }
        if (has_value_labels(sheet)) {
            g_string_append_printf(
                plots,
                ", \\\n%s using 1:%s:2 with labels "
                "offset 0,0.5 %stextcolor rgb '" REP_GNUPLOT_INK "'",
                name, is_spread ? "($2+$4)" : "2", font);
        }
    }
    if (has_own_scales(sheet)) {
        rep_plot_choose_panel_range(sheet, panel);
        rep_plot_emit_y_axis(sheet);
    }
    if (sheet->data->n_groups < sheet->data->categories->len) {
        double first = panel * sheet->data->n_groups;

        rep_plot_emit(sheet, "set xrange [%.1f:%.1f]\n", first - 0.6,
                      first + sheet->data->n_groups - 0.4);
    }
    emit_panel_frame(sheet, panel);
    rep_plot_emit(sheet, "plot %s\nunset label 1\n", plots->str);
}

static bool check_logarithm(const char *column, bool is_log, double least,
                            const RepRange *range, GError **error)
{
    if (is_log && range->most > range->least && range->least <= 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: the logarithmic axis of \"%s\" cannot begin at 0 or "
                    "less; let its range begin above 0",
                    column);
        return false;
    }
    if (is_log && least <= 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: \"%s\" has values of 0 or less, which a "
                    "logarithmic axis cannot show",
                    column);
        return false;
    }
    return true;
}

static bool check_axis(PlotSheet *sheet, GError **error)
{
    const RepPlot *plot = sheet->plot;

    sheet->x_axis = plot->x_axis;
    if (plot->kind == REP_PLOT_BARS) {
        sheet->x_axis = REP_AXIS_LINEAR;
    } else if (plot->x_axis == REP_AXIS_AUTO) {
        sheet->x_axis =
            g_str_has_suffix(plot->x_column, "_bytes") && sheet->data->x_min > 0
                ? REP_AXIS_BYTES
                : REP_AXIS_LINEAR;
    }
    return check_logarithm(plot->x_column, sheet->x_axis != REP_AXIS_LINEAR,
                           sheet->data->x_min, &plot->x_range, error) &&
           check_logarithm(plot->y_column, rep_plot_y_base(plot) > 0,
                           sheet->data->y_least, &plot->y_range, error);
}

char *rep_plot_script(const RepPlot *plot, const Table *model,
                      const Table *published, const char *terminal,
                      GError **error)
{
    g_autoptr(PlotData) data = rep_plot_data_new(plot, model, published, error);
    PlotSheet sheet = {.plot = plot, .data = data, .terminal = terminal};
    unsigned i;

    if (!data || !check_axis(&sheet, error)) {
        return NULL;
    }
    sheet.script = g_string_new(NULL);
    rep_plot_lay_out(&sheet);
    emit_head(&sheet, terminal);
    rep_plot_emit_axes(&sheet);
    for (i = 0; i < data->panels->len; i++) {
        emit_panel(&sheet, i);
    }
    if (sheet.layout.n_legend > 0) {
        rep_plot_emit_legends(&sheet);
    }
    rep_plot_emit(&sheet, "unset multiplot\n");
    return g_string_free(sheet.script, FALSE);
}

/* The arguments of rep_plot_script(). */
typedef struct Drawing {
    const RepPlot *plot;
    const Table *model;
    const Table *published; /* nullable */
} Drawing;

static char *make_script(const void *drawing, const char *terminal,
                         GError **error)
{
    const Drawing *self = drawing;

    return rep_plot_script(self->plot, self->model, self->published, terminal,
                           error);
}

bool rep_plot_write(const RepPlot *plot, const Table *model,
                    const Table *published, const char *prefix, GError **error)
{
    const Drawing drawing = {plot, model, published};

    return rep_gnuplot_write(prefix, make_script, &drawing, error) &&
           (!plot->pdf ||
            rep_gnuplot_write_pdf(prefix, make_script, &drawing, error)) &&
           (!plot->tex ||
            rep_gnuplot_write_tex(prefix, make_script, &drawing, error));
}
