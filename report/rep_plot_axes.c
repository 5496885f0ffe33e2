/* SPDX-License-Identifier: MIT */
#include "rep_plot_sheet_priv.h"

#include <math.h>
#include <string.h>

#include "rep_gnuplot_priv.h"

#define X_LABELS       8  /* most labels on a logarithmic x axis */
#define X_LABEL_PIXELS 64 /* width of one, with a gap */

char *rep_plot_label(const char *column)
{
    static const struct {
        const char *suffix;
        const char *unit;
    } units[] = {
        {"_GBps", "GB/s"}, {"_MBps", "MB/s"},     {"_Gbps", "Gb/s"},
        {"_bytes", "B"},   {"_ps", "ps"},         {"_ns", "ns"},
        {"_us", "µs"},     {"_ms", "ms"},         {"_s", "s"},
        {"_percent", "%"}, {"_Mps", "million/s"}, {"_kiops", "1000 IO/s"},
    };
    char *label;
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(units); i++) {
        if (g_str_has_suffix(column, units[i].suffix) &&
            strlen(column) > strlen(units[i].suffix)) {
            label = g_strdup_printf(
                "%.*s (%s)", (int)(strlen(column) - strlen(units[i].suffix)),
                column, units[i].unit);
            return g_strdelimit(label, "_", ' ');
        }
    }
    return g_strdelimit(g_strdup(column), "_", ' ');
}

char *rep_plot_axis_label(const char *given, const char *column, bool has_unit)
{
    if (given) {
        return g_strdup(given);
    }
    if (has_unit && g_str_has_suffix(column, "_bytes")) {
        g_autofree char *stem =
            g_strndup(column, strlen(column) - strlen("_bytes"));
        g_autofree char *size = g_strconcat(stem, "_size", NULL);

        return rep_plot_label(size);
    }
    return rep_plot_label(column);
}

static char *byte_label(double bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    unsigned i = 0;
    g_autofree char *text = NULL;

    while (bytes >= 1024 && i + 1 < G_N_ELEMENTS(units)) {
        bytes /= 1024;
        i++;
    }
    text = rep_gnuplot_number(bytes);
    return g_strdup_printf("%s %s", text, units[i]);
}

static void emit_power_tics(PlotSheet *sheet, double base, double low,
                            double high)
{
    int first = (int)ceil(log(low) / log(base) - 1e-9);
    int last = (int)floor(log(high) / log(base) + 1e-9);
    int labels = sheet->plot->width_mm > 0
                     ? CLAMP((int)sheet->layout.panel_width / X_LABEL_PIXELS, 2,
                             X_LABELS)
                     : X_LABELS;
    int stride = 1 + (last - first) / labels;
    bool is_first = true;
    int i;

    rep_plot_emit(sheet, "set logscale x %g\nset xtics (", base);
    for (i = first; i <= last; i++) {
        double value = pow(base, i);
        bool is_labelled = (i - first) % stride == 0;
        g_autofree char *at = rep_gnuplot_number(value);
        g_autofree char *label = sheet->x_axis == REP_AXIS_BYTES && value >= 1
                                     ? byte_label(value)
                                     : g_strdup(at);

        rep_plot_emit(sheet, "%s'%s' %s %d", is_first ? "" : ", ",
                      is_labelled ? label : "", at, is_labelled ? 0 : 1);
        is_first = false;
    }
    rep_plot_emit(sheet, ")\n");
}

static void emit_x_axis(PlotSheet *sheet)
{
    const RepRange *given = &sheet->plot->x_range;
    bool is_given = given->most > given->least;
    double low = is_given ? given->least : sheet->data->x_min;
    double high = is_given ? given->most : sheet->data->x_max;
    g_autofree char *low_text = NULL;
    g_autofree char *high_text = NULL;

    if (sheet->x_axis == REP_AXIS_LINEAR) {
        double margin = high > low ? (high - low) * 0.03 : 1;

        if (!is_given) {
            low = low >= 0 && low < (high - low) / 2 ? 0 : low - margin;
            high += margin;
        }
    } else {
        emit_power_tics(sheet, sheet->x_axis == REP_AXIS_LOG10 ? 10 : 2, low,
                        high);
        low /= sheet->x_axis == REP_AXIS_LOG10 ? 1.5 : 1.35;
        high *= sheet->x_axis == REP_AXIS_LOG10 ? 1.5 : 1.35;
    }
    low_text = rep_gnuplot_number(low);
    high_text = rep_gnuplot_number(high);
    rep_plot_emit(sheet, "set xrange [%s:%s]\n", low_text, high_text);
}

static void emit_categories(PlotSheet *sheet)
{
    const PlotData *data = sheet->data;
    glong longest;
    bool slanted = rep_plot_is_slanted(sheet, &longest);
    unsigned i;

    rep_plot_emit(sheet, "unset xtics\nset xtics %s scale 0 (",
                  slanted ? "rotate by 35 right" : "norotate");
    for (i = 0; i < data->categories->len; i++) {
        g_autofree char *name =
            rep_gnuplot_quote_for(sheet->terminal, data->categories->pdata[i]);

        rep_plot_emit(sheet, "%s%s %u", i > 0 ? ", " : "", name, i);
    }
    rep_plot_emit(sheet, ")\nset xrange [-0.6:%u.6]\nset grid noxtics\n",
                  data->categories->len - 1);
}

void rep_plot_emit_y_axis(PlotSheet *sheet)
{
    const PlotLayout *layout = &sheet->layout;
    g_autofree char *low = rep_gnuplot_number(layout->y_low);
    g_autofree char *high = rep_gnuplot_number(layout->y_high);
    g_autofree char *step = rep_gnuplot_number(layout->y_step);

    if (rep_plot_y_base(sheet->plot) > 0) {
        rep_plot_emit(sheet,
                      "set logscale y %g\nset yrange [%s:%s]\n"
                      "set ytics autofreq\n",
                      rep_plot_y_base(sheet->plot), low, high);
    } else {
        rep_plot_emit(sheet, "set yrange [%s:%s]\nset ytics %s\n", low, high,
                      step);
    }
}

void rep_plot_emit_axes(PlotSheet *sheet)
{
    if (sheet->plot->kind == REP_PLOT_BARS) {
        emit_categories(sheet);
    } else {
        emit_x_axis(sheet);
    }
    rep_plot_emit_y_axis(sheet);
}
