/* SPDX-License-Identifier: MIT */
#include "rep_plot.h"

#include <math.h>
#include <string.h>

#include "rep_plot_priv.h"
#include "table_file.h"

/* Measures in pixels of the SVG; the PNG has twice as many. */
#define PANEL_WIDTH     430
#define PANEL_HEIGHT    300
#define MARGIN_LEFT     78
#define MARGIN_RIGHT    24
#define MARGIN_BOTTOM   62
#define GAP             34
#define TITLE_HEIGHT    36
#define PANEL_TITLE     30
#define LEGEND_LINE     24
#define FONT_SIZE       12
#define CHARACTER_WIDTH 8
#define VALUE_LABELS    24 /* most bars in a panel that have their value above */
#define BAR_WIDTH       34
#define X_LABELS        8 /* most labels along an axis of powers */

#define INK   "#333333"
#define GRID  "#e0e0e0"
#define MUTED "#808080"

/* The colours of Okabe and Ito, which colour-blind readers tell apart. */
static const char *const palette[] = {
    "#0072B2", "#D55E00", "#009E73", "#CC79A7",
    "#E69F00", "#56B4E9", "#000000", "#8C6D31",
};

/* Open shapes of gnuplot, so that curves differ in print too. */
static const int shapes[] = {6, 4, 8, 12, 10, 14};
#define MEASURED_SHAPE 2 /* a cross, which no curve has */

/* Where things are, in pixels from the lower left corner. */
typedef struct Layout {
    unsigned width;
    unsigned height;
    unsigned panel_width;
    unsigned panel_height;
    unsigned panel_title;
    unsigned margin_bottom;
    unsigned legend_height;
    unsigned n_legend;
    double y_low;
    double y_high;
    double y_step;
} Layout;

/* Everything the parts of the script are made from. */
typedef struct Sheet {
    const RepPlot *plot;
    const PlotData *data;
    Layout layout;
    RepAxis x_axis;
    GString *script;
} Sheet;

static void emit(Sheet *sheet, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void emit(Sheet *sheet, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_string_append_vprintf(sheet->script, format, args);
    va_end(args);
}

/* Quotes text for gnuplot. In single quotes it expands nothing, and the quote
 * itself is written twice. The caller frees it. */
static char *quote(const char *text)
{
    GString *quoted = g_string_new("'");
    const char *c;

    for (c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            g_string_append(quoted, "''");
        } else {
            g_string_append_c(quoted, (unsigned char)*c < 0x20 ? ' ' : *c);
        }
    }
    g_string_append_c(quoted, '\'');
    return g_string_free(quoted, FALSE);
}

/* A number for the script, whatever the locale. */
static char *number(double value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    return g_strdup(g_ascii_formatd(buffer, sizeof(buffer), "%.9g", value));
}

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

/* The same for an axis whose labels already carry the unit. */
static char *axis_label(const char *given, const char *column, bool has_unit)
{
    if (given != NULL) {
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
    text = number(bytes);
    return g_strdup_printf("%s %s", text, units[i]);
}

/* Chooses a step of 1, 2, 2.5 or 5 times a power of ten for at most eight
 * lines, and a range of whole steps that includes 0 and all points. */
static void choose_y_range(double y_min, double y_max, Layout *layout)
{
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double span = y_max - y_min;
    double power;
    unsigned i = 0;

    if (span <= 0) {
        span = 1;
    }
    power = pow(10, floor(log10(span / 8)));
    while (i + 1 < G_N_ELEMENTS(steps) && steps[i] * power * 8 < span) {
        i++;
    }
    layout->y_step = steps[i] * power;
    layout->y_low = floor(y_min / layout->y_step) * layout->y_step;
    layout->y_high =
        ceil((y_max + span * 0.04) / layout->y_step) * layout->y_step;
}

static bool is_named(const PlotData *data)
{
    return data->curves->len > 1 ||
           *(const char *)g_ptr_array_index(data->curves, 0) != '\0';
}

static const char *label_of(const RepPlot *plot, PlotSource source)
{
    const char *const given[] = {plot->model_label, plot->published_label,
                                 plot->measured_label};
    static const char *const defaults[] = {"model", "published", "measured"};

    return given[source] != NULL ? given[source] : defaults[source];
}

/* Whether there is anything beside the model to tell it from. */
static bool is_mixed(const PlotData *data)
{
    return data->n_sources > 1;
}

/* Whether the curve is named in the legend of @panel. */
static bool is_in_legend(const PlotData *data, unsigned curve, unsigned panel)
{
    return is_named(data) && (!data->is_split || data->homes[curve] == panel);
}

/* Number of lines the legend takes: one for the sheet, or one a panel. */
static unsigned count_legend_lines(const Sheet *sheet)
{
    const PlotData *data = sheet->data;
    const Layout *layout = &sheet->layout;
    unsigned width = data->is_split ? layout->panel_width : layout->width;
    glong longest = 0;
    unsigned most = 0;
    unsigned panel;
    unsigned fit;
    unsigned i;

    for (i = 0; i < PLOT_N_SOURCES; i++) {
        if (i <= PLOT_PUBLISHED || data->has[i]) {
            longest = MAX(longest, g_utf8_strlen(label_of(sheet->plot, i), -1));
        }
    }
    for (panel = 0; panel < data->panels->len; panel++) {
        unsigned entries = is_mixed(data) ? data->n_sources : 0;

        for (i = 0; i < data->curves->len; i++) {
            if (is_in_legend(data, i, panel)) {
                entries++;
                longest =
                    MAX(longest, g_utf8_strlen(data->curves->pdata[i], -1));
            }
        }
        most = MAX(most, entries);
    }
    fit = width / (unsigned)((longest + 7) * CHARACTER_WIDTH);
    fit = MAX(fit, 1);
    return (most + fit - 1) / fit;
}

/* Whether the names of the groups of bars must be slanted to fit. */
static bool is_slanted(const Sheet *sheet, glong *ret_longest)
{
    const PlotData *data = sheet->data;
    glong room;
    unsigned i;

    *ret_longest = 0;
    for (i = 0; i < data->categories->len; i++) {
        *ret_longest =
            MAX(*ret_longest, g_utf8_strlen(data->categories->pdata[i], -1));
    }
    if (data->categories->len == 0) {
        return false;
    }
    room = sheet->layout.panel_width / data->categories->len / CHARACTER_WIDTH;
    return *ret_longest > room;
}

static void lay_out(Sheet *sheet)
{
    const PlotData *data = sheet->data;
    Layout *layout = &sheet->layout;
    unsigned columns = sheet->plot->stacked ? 1 : data->panels->len;
    unsigned rows = sheet->plot->stacked ? data->panels->len : 1;
    glong longest;

    layout->panel_width = PANEL_WIDTH;
    if (data->panels->len == 1) {
        layout->panel_width = PANEL_WIDTH * 3 / 2;
    }
    if (sheet->plot->kind == REP_PLOT_BARS) {
        unsigned bars =
            data->categories->len * data->curves->len * data->n_sources;

        layout->panel_width = MAX(layout->panel_width, bars * BAR_WIDTH);
    }
    layout->panel_height = PANEL_HEIGHT;
    layout->panel_title = sheet->plot->panel_column != NULL ? PANEL_TITLE : 12;
    layout->margin_bottom = MARGIN_BOTTOM;
    if (sheet->plot->kind == REP_PLOT_BARS && is_slanted(sheet, &longest)) {
        layout->margin_bottom +=
            (unsigned)MIN(longest, 30) * CHARACTER_WIDTH / 2;
    }
    layout->width = MARGIN_LEFT + columns * layout->panel_width +
                    (columns - 1) * GAP + MARGIN_RIGHT;
    layout->n_legend = count_legend_lines(sheet);
    layout->legend_height =
        layout->n_legend > 0 ? layout->n_legend * LEGEND_LINE + 10 : 0;
    layout->height = (sheet->plot->title != NULL ? TITLE_HEIGHT : 8) +
                     layout->legend_height +
                     rows * (layout->panel_title + layout->panel_height +
                             layout->margin_bottom);
    choose_y_range(data->y_min, data->y_max, layout);
}

static const char *color_of(const Sheet *sheet, unsigned curve)
{
    return palette[sheet->data->styles[curve] % G_N_ELEMENTS(palette)];
}

static int shape_of(const Sheet *sheet, unsigned curve)
{
    return shapes[sheet->data->styles[curve] % G_N_ELEMENTS(shapes)];
}

/* Curves beyond the palette repeat its colours with other dashes. */
static unsigned dash_of(const Sheet *sheet, unsigned curve)
{
    return 1 + sheet->data->styles[curve] / G_N_ELEMENTS(palette);
}

static void emit_head(Sheet *sheet, const char *terminal)
{
    unsigned scale = strcmp(terminal, "svg") == 0 ? 1 : 2;
    const Layout *layout = &sheet->layout;

    if (scale == 1) {
        emit(sheet,
             "set terminal svg size %u,%u fixed noenhanced "
             "font 'DejaVu Sans,%d' background '#ffffff'\n",
             layout->width, layout->height, FONT_SIZE);
    } else {
        /* Points are 4/3 of a pixel in the SVG and one in cairo's PNG. */
        emit(sheet,
             "set terminal %s size %u,%u noenhanced font 'DejaVu Sans,%d' "
             "fontscale %u linewidth %u pointscale %u background '#ffffff'\n",
             terminal, layout->width * scale, layout->height * scale,
             FONT_SIZE * 3 / 4, scale, scale, scale);
    }
    emit(sheet, "set encoding utf8\n"
                "set border 3 lc rgb '" INK "' lw 1\n"
                "set tics nomirror out scale 0.6 textcolor rgb '" INK "'\n"
                "set grid xtics ytics lt 1 lw 0.8 lc rgb '" GRID "'\n"
                "set style fill solid 1.0 noborder\n"
                "set key off\n"
                "set multiplot\n");
    if (sheet->plot->title != NULL) {
        g_autofree char *title = quote(sheet->plot->title);

        emit(sheet,
             "set label 1 %s at screen %.6f,%.6f center font ',%d' "
             "textcolor rgb '" INK "'\n",
             title,
             (double)(layout->width + MARGIN_LEFT - MARGIN_RIGHT) / 2 /
                 layout->width,
             1.0 - (double)TITLE_HEIGHT * 0.55 / (double)layout->height,
             scale == 1 ? FONT_SIZE + 3 : (FONT_SIZE + 3) * 3 / 4);
    }
}

/* One block of data for each line, set of points or set of bars. */
static char *block_name(unsigned panel, unsigned curve, PlotSource source)
{
    static const char *const names[] = {"model", "published", "measured"};

    return g_strdup_printf("$%s_%u_%u", names[source], panel, curve);
}

/* The place of a bar: bars of one group stand side by side. */
static double bar_place(const Sheet *sheet, const PlotPoint *point,
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

/* Emits the points of one block; returns their number. */
static unsigned emit_block(Sheet *sheet, unsigned panel, unsigned curve,
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
            emit(sheet, "%s << END\n", name);
        }
        if (sheet->plot->kind == REP_PLOT_LINES) {
            emit(sheet, "%s %s\n", point->x_text, point->y_text);
        } else {
            double width;
            g_autofree char *place = number(bar_place(sheet, point, &width));
            g_autofree char *wide = number(width * 0.92);

            emit(sheet, "%s %s %s\n", place, point->y_text, wide);
        }
    }
    if (n_points > 0) {
        emit(sheet, "END\n");
    }
    return n_points;
}

static void emit_power_tics(Sheet *sheet, double base)
{
    const PlotData *data = sheet->data;
    int first = (int)ceil(log(data->x_min) / log(base) - 1e-9);
    int last = (int)floor(log(data->x_max) / log(base) + 1e-9);
    int stride = 1 + (last - first) / X_LABELS;
    bool is_first = true;
    int i;

    emit(sheet, "set logscale x %g\nset xtics (", base);
    for (i = first; i <= last; i++) {
        double value = pow(base, i);
        bool is_labelled = (i - first) % stride == 0;
        g_autofree char *at = number(value);
        g_autofree char *label = sheet->x_axis == REP_AXIS_BYTES && value >= 1
                                     ? byte_label(value)
                                     : g_strdup(at);

        emit(sheet, "%s'%s' %s %d", is_first ? "" : ", ",
             is_labelled ? label : "", at, is_labelled ? 0 : 1);
        is_first = false;
    }
    emit(sheet, ")\n");
}

static void emit_x_axis(Sheet *sheet)
{
    const PlotData *data = sheet->data;
    double low = data->x_min;
    double high = data->x_max;
    g_autofree char *low_text = NULL;
    g_autofree char *high_text = NULL;

    if (sheet->x_axis == REP_AXIS_LINEAR) {
        double margin = high > low ? (high - low) * 0.03 : 1;

        low = low >= 0 && low < (high - low) / 2 ? 0 : low - margin;
        high += margin;
    } else {
        emit_power_tics(sheet, sheet->x_axis == REP_AXIS_LOG10 ? 10 : 2);
        low /= sheet->x_axis == REP_AXIS_LOG10 ? 1.5 : 1.35;
        high *= sheet->x_axis == REP_AXIS_LOG10 ? 1.5 : 1.35;
    }
    low_text = number(low);
    high_text = number(high);
    emit(sheet, "set xrange [%s:%s]\n", low_text, high_text);
}

static void emit_categories(Sheet *sheet)
{
    const PlotData *data = sheet->data;
    glong longest;
    bool slanted = is_slanted(sheet, &longest);
    unsigned i;

    emit(sheet, "unset xtics\nset xtics %s scale 0 (",
         slanted ? "rotate by 35 right" : "norotate");
    for (i = 0; i < data->categories->len; i++) {
        g_autofree char *name = quote(data->categories->pdata[i]);

        emit(sheet, "%s%s %u", i > 0 ? ", " : "", name, i);
    }
    emit(sheet, ")\nset xrange [-0.6:%u.6]\nset grid noxtics\n",
         data->categories->len - 1);
}

static void emit_y_axis(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    g_autofree char *low = number(layout->y_low);
    g_autofree char *high = number(layout->y_high);
    g_autofree char *step = number(layout->y_step);

    emit(sheet, "set yrange [%s:%s]\nset ytics %s\n", low, high, step);
}

static void emit_axes(Sheet *sheet)
{
    if (sheet->plot->kind == REP_PLOT_BARS) {
        emit_categories(sheet);
    } else {
        emit_x_axis(sheet);
    }
    emit_y_axis(sheet);
}

/* Bars in several panels are of several quantities, each with a scale of its
 * own; lines are to be compared. */
static bool has_own_scales(const Sheet *sheet)
{
    return sheet->plot->kind == REP_PLOT_BARS && sheet->data->panels->len > 1;
}

static void choose_panel_range(Sheet *sheet, unsigned panel)
{
    double y_min = 0, y_max = 0;
    unsigned i;

    for (i = 0; i < sheet->data->points->len; i++) {
        const PlotPoint *point = g_ptr_array_index(sheet->data->points, i);

        if (point->panel == panel) {
            y_min = MIN(y_min, point->y);
            y_max = MAX(y_max, point->y);
        }
    }
    choose_y_range(y_min, y_max, &sheet->layout);
}

/* Margins of a panel, and what only some panels have: panels abreast share
 * one y axis, unless each has a scale of its own. */
static void emit_panel_frame(Sheet *sheet, unsigned panel)
{
    const Layout *layout = &sheet->layout;
    const RepPlot *plot = sheet->plot;
    unsigned row = plot->stacked ? panel : 0;
    unsigned column = plot->stacked ? 0 : panel;
    unsigned rows = plot->stacked ? sheet->data->panels->len : 1;
    unsigned left = MARGIN_LEFT + column * (layout->panel_width + GAP);
    unsigned bottom =
        layout->legend_height + layout->margin_bottom +
        (rows - 1 - row) * (layout->panel_title + layout->panel_height +
                            layout->margin_bottom);
    g_autofree char *title = quote(sheet->data->panels->pdata[panel]);
    g_autofree char *x_text = axis_label(plot->x_label, plot->x_column,
                                         sheet->x_axis == REP_AXIS_BYTES);
    g_autofree char *y_text = axis_label(plot->y_label, plot->y_column, false);
    g_autofree char *x_label = quote(x_text);
    g_autofree char *y_label = quote(y_text);

    emit(sheet,
         "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
         "set bmargin at screen %.6f\nset tmargin at screen %.6f\n",
         (double)left / layout->width,
         (double)(left + layout->panel_width) / layout->width,
         (double)bottom / layout->height,
         (double)(bottom + layout->panel_height) / layout->height);
    emit(sheet, "set title %s textcolor rgb '" INK "' offset 0,-0.4\n", title);
    emit(sheet, "set xlabel %s textcolor rgb '" INK "'\n", x_label);
    if (column == 0) {
        emit(sheet,
             "set ylabel %s textcolor rgb '" INK "'\nset format y '%%g'\n",
             y_label);
    } else if (has_own_scales(sheet)) {
        emit(sheet, "unset ylabel\nset format y '%%g'\n");
    } else {
        emit(sheet, "unset ylabel\nset format y ''\n");
    }
}

/* The look of bars or points that are not the model's. */
static char *other_style(const Sheet *sheet, int shape, const char *color,
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

/* How one block is drawn, the part after "plot BLOCK". */
static char *style_of(const Sheet *sheet, unsigned curve, PlotSource source)
{
    const char *color = color_of(sheet, curve);

    if (source != PLOT_MODEL) {
        g_autofree char *style =
            other_style(sheet, shape_of(sheet, curve), color, source);

        return g_strconcat(sheet->plot->kind == REP_PLOT_BARS ? "using 1:2:3 "
                                                              : "using 1:2 ",
                           style, NULL);
    }
    if (sheet->plot->kind == REP_PLOT_BARS) {
        return g_strdup_printf("using 1:2:3 with boxes lc rgb '%s'", color);
    }
    if (is_mixed(sheet->data)) {
        return g_strdup_printf("using 1:2 with lines lw 2 lc rgb '%s' dt %u",
                               color, dash_of(sheet, curve));
    }
    return g_strdup_printf("using 1:2 with linespoints pt %d ps 0.7 lw 2 "
                           "lc rgb '%s' dt %u",
                           shape_of(sheet, curve), color,
                           dash_of(sheet, curve));
}

static bool has_value_labels(const Sheet *sheet)
{
    return sheet->plot->kind == REP_PLOT_BARS &&
           sheet->data->points->len / sheet->data->panels->len <= VALUE_LABELS;
}

static void emit_panel(Sheet *sheet, unsigned panel)
{
    unsigned n_curves = sheet->data->curves->len;
    g_autoptr(GString) plots = g_string_new(NULL);
    unsigned i;

    /* Lines first, so that the points lie on top of them. */
    for (i = 0; i < PLOT_N_SOURCES * n_curves; i++) {
        unsigned curve = i % n_curves;
        PlotSource source = (PlotSource)(i / n_curves);
        g_autofree char *name = block_name(panel, curve, source);
        g_autofree char *style = style_of(sheet, curve, source);

        if (emit_block(sheet, panel, curve, source) == 0) {
            continue;
        }
        g_string_append_printf(plots, "%s%s %s", plots->len > 0 ? ", \\\n" : "",
                               name, style);
        if (has_value_labels(sheet)) {
            g_string_append_printf(plots,
                                   ", \\\n%s using 1:2:2 with labels "
                                   "offset 0,0.5 font ',7' textcolor rgb '" INK
                                   "'",
                                   name);
        }
    }
    if (has_own_scales(sheet)) {
        choose_panel_range(sheet, panel);
        emit_y_axis(sheet);
    }
    emit_panel_frame(sheet, panel);
    emit(sheet, "plot %s\nunset label 1\n", plots->str);
}

static void append_entry(GString *plots, const char *style, const char *label)
{
    g_autofree char *title = quote(label);

    g_string_append_printf(plots, "%sNaN %s title %s",
                           plots->len > 0 ? ", \\\n" : "", style, title);
}

/* What tells values of the model from others in the legend: in grey, if the
 * colours tell the curves apart. */
static void append_kinds(const Sheet *sheet, GString *plots)
{
    const char *color = is_named(sheet->data) ? MUTED : color_of(sheet, 0);
    unsigned source;

    for (source = 0; source < PLOT_N_SOURCES; source++) {
        g_autofree char *style = NULL;

        if (!sheet->data->has[source]) {
            continue;
        }
        if (source != PLOT_MODEL) {
            style = other_style(sheet, shapes[0], color, source);
        } else if (sheet->plot->kind == REP_PLOT_BARS) {
            style = g_strdup_printf("with boxes lc rgb '%s'", color);
        } else {
            style = g_strdup_printf("with lines lw 2 lc rgb '%s'", color);
        }
        append_entry(plots, style, label_of(sheet->plot, source));
    }
}

/* One legend, between two places from the left in pixels. */
static void emit_one_legend(Sheet *sheet, unsigned panel, unsigned left,
                            unsigned right)
{
    const PlotData *data = sheet->data;
    const Layout *layout = &sheet->layout;
    g_autoptr(GString) plots = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < data->curves->len; i++) {
        g_autofree char *style =
            sheet->plot->kind == REP_PLOT_BARS
                ? g_strdup_printf("with boxes lc rgb '%s'", color_of(sheet, i))
                : g_strdup_printf("with linespoints pt %d ps 0.9 lw 2 "
                                  "lc rgb '%s' dt %u",
                                  shape_of(sheet, i), color_of(sheet, i),
                                  dash_of(sheet, i));

        if (is_in_legend(data, i, panel)) {
            append_entry(plots, style, data->curves->pdata[i]);
        }
    }
    if (is_mixed(data)) {
        append_kinds(sheet, plots);
    }
    emit(sheet,
         "set lmargin at screen %.6f\nset rmargin at screen %.6f\nplot %s\n",
         (double)left / layout->width, (double)right / layout->width,
         plots->str);
}

/* The legend is a plot of nothing below the panels, as wide as the sheet, or
 * one below each panel. */
static void emit_legends(Sheet *sheet)
{
    const Layout *layout = &sheet->layout;
    unsigned panel;

    emit(sheet,
         "unset title\nunset xlabel\nunset ylabel\nunset border\n"
         "unset tics\nunset grid\nunset logscale\n"
         "set bmargin at screen 0\nset tmargin at screen %.6f\n"
         "set xrange [0:1]\nset yrange [0:1]\n"
         "set key inside center center horizontal Left reverse "
         "samplen 2.5 width 1 textcolor rgb '" INK "'\n",
         (double)layout->legend_height / layout->height);
    if (!sheet->data->is_split) {
        emit_one_legend(sheet, 0, 0, layout->width);
        return;
    }
    for (panel = 0; panel < sheet->data->panels->len; panel++) {
        unsigned left = MARGIN_LEFT + panel * (layout->panel_width + GAP);

        emit_one_legend(sheet, panel, left, left + layout->panel_width);
    }
}

static bool check_axis(Sheet *sheet, GError **error)
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
    if (sheet->x_axis != REP_AXIS_LINEAR && sheet->data->x_min <= 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: \"%s\" has values of 0 or less, which a "
                    "logarithmic axis cannot show",
                    plot->x_column);
        return false;
    }
    return true;
}

char *rep_plot_script(const RepPlot *plot, const Table *model,
                      const Table *published, const char *terminal,
                      GError **error)
{
    g_autoptr(PlotData) data = rep_plot_data_new(plot, model, published, error);
    Sheet sheet = {.plot = plot, .data = data};
    unsigned i;

    if (data == NULL || !check_axis(&sheet, error)) {
        return NULL;
    }
    sheet.script = g_string_new(NULL);
    lay_out(&sheet);
    emit_head(&sheet, terminal);
    emit_axes(&sheet);
    for (i = 0; i < data->panels->len; i++) {
        emit_panel(&sheet, i);
    }
    if (sheet.layout.n_legend > 0) {
        emit_legends(&sheet);
    }
    emit(&sheet, "unset multiplot\n");
    return g_string_free(sheet.script, FALSE);
}
