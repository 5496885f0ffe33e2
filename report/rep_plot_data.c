/* SPDX-License-Identifier: MIT */
#include "rep_plot_data_priv.h"

#include "rep_series.h"

#include <string.h>

#include "table_file.h"

#define ROW_MOST       4  /* most panels with lines side by side */
#define PANEL_LEAST_MM 55 /* least width of a panel on paper */
#define BARS_MOST      48 /* most bars side by side */

/* The columns of one table that the plot uses. */
typedef struct Columns {
    unsigned x;
    unsigned y;
    unsigned half;
    unsigned panel;
    unsigned curves[8];
    unsigned n_curves;
    bool has_panel;
    bool has_half;
} Columns;

static void point_free(gpointer data)
{
    PlotPoint *point = data;

    g_free(point->x_text);
    g_free(point->y_text);
    g_free(point->half_text);
    g_free(point);
}

void rep_plot_data_free(PlotData *data)
{
    if (!data) {
        return;
    }
    g_ptr_array_unref(data->panels);
    g_ptr_array_unref(data->curves);
    g_ptr_array_unref(data->categories);
    g_ptr_array_unref(data->points);
    g_free(data);
}

static bool find_column(const Table *table, const char *which, const char *name,
                        unsigned *ret_column, GError **error)
{
    if (table_find_column(table, name, ret_column)) {
        return true;
    }
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                "plot: the %s table has no column \"%s\"", which, name);
    return false;
}

static bool find_number_column(const Table *table, const char *which,
                               const char *name, unsigned *ret_column,
                               GError **error)
{
    if (!find_column(table, which, name, ret_column, error)) {
        return false;
    }
    if (table_column_type(table, *ret_column) == TABLE_TEXT) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: column \"%s\" of the %s table holds text, not "
                    "numbers",
                    name, which);
        return false;
    }
    return true;
}

static bool find_columns(const RepPlot *plot, const Table *table,
                         const char *which, Columns *columns, GError **error)
{
    unsigned i;

    if (!(plot->kind == REP_PLOT_LINES ? find_number_column : find_column)(
            table, which, plot->x_column, &columns->x, error) ||
        !find_number_column(table, which, plot->y_column, &columns->y, error)) {
        return false;
    }
    columns->has_half =
        plot->half_column &&
        table_find_column(table, plot->half_column, &columns->half);
    columns->has_panel = plot->panel_column;
    if (columns->has_panel && !find_column(table, which, plot->panel_column,
                                           &columns->panel, error)) {
        return false;
    }
    for (i = 0; plot->curves && plot->curves[i]; i++) {
        if (i == G_N_ELEMENTS(columns->curves)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "plot: at most %u columns may name a curve", i);
            return false;
        }
        if (!find_column(table, which, plot->curves[i], &columns->curves[i],
                         error)) {
            return false;
        }
    }
    columns->n_curves = i;
    return true;
}

/* Finds the index of @name in @names. Adds a new name, unless there are @most
 * names already: then it fails. */
static bool intern(GPtrArray *names, const char *name, unsigned most,
                   const char *what, unsigned *ret_index, GError **error)
{
    if (g_ptr_array_find_with_equal_func(names, name, g_str_equal, ret_index)) {
        return true;
    }
    if (names->len == most) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: there are more than %u %s; leave out points, or "
                    "name another column",
                    most, what);
        return false;
    }
    g_ptr_array_add(names, g_strdup(name));
    *ret_index = names->len - 1;
    return true;
}

static double cell_value(const Table *table, unsigned row, unsigned column)
{
    double value = (double)table_number(table, row, column);
    unsigned digits = table_column_digits(table, column);

    for (; digits > 0; digits--) {
        value /= 10;
    }
    return value;
}

/* The value of @column as a name: a bare number, "on" or "off" says nothing
 * without the name of its column. */
static char *name_cell(const Table *table, unsigned row, unsigned column)
{
    g_autofree char *cell = table_dup_cell(table, row, column);
    g_autofree char *what = g_strdup(table_column_name(table, column));
    bool is_switch = strcmp(cell, "on") == 0 || strcmp(cell, "off") == 0;
    char *end;

    (void)g_ascii_strtod(cell, &end);
    if ((end == cell || *end != '\0') && !is_switch) {
        return g_steal_pointer(&cell);
    }
    return g_strdup_printf("%s %s", g_strdelimit(what, "_", ' '), cell);
}

static char *join_curve(const Table *table, unsigned row,
                        const Columns *columns)
{
    GString *name = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < columns->n_curves; i++) {
        g_autofree char *cell = name_cell(table, row, columns->curves[i]);

        g_string_append_printf(name, "%s%s", i > 0 ? " / " : "", cell);
    }
    return g_string_free(name, FALSE);
}

static bool add_point(PlotData *data, const RepPlot *plot, const Table *table,
                      unsigned row, const Columns *columns, PlotSource source,
                      GError **error)
{
    g_autofree char *panel = columns->has_panel
                                 ? name_cell(table, row, columns->panel)
                                 : g_strdup("");
    g_autofree char *curve = join_curve(table, row, columns);
    PlotPoint *point = g_new0(PlotPoint, 1);

    g_ptr_array_add(data->points, point);
    point->source = source;
    point->x_text = table_dup_cell(table, row, columns->x);
    point->y_text = table_dup_cell(table, row, columns->y);
    point->y = cell_value(table, row, columns->y);
    if (columns->has_half &&
        table_number(table, row, columns->half) != TABLE_NONE) {
        point->half = cell_value(table, row, columns->half);
        point->half_text = table_dup_cell(table, row, columns->half);
    }
    if (!intern(data->panels, panel, REP_PLOT_PANELS_MAX, "panels",
                &point->panel, error) ||
        !intern(data->curves, curve, REP_PLOT_CURVES_MAX, "curves",
                &point->curve, error)) {
        return false;
    }
    if (plot->kind == REP_PLOT_LINES) {
        point->x = cell_value(table, row, columns->x);
        return true;
    }
    if (!intern(data->categories, point->x_text, REP_PLOT_CATEGORIES_MAX,
                "groups of bars", &point->category, error)) {
        return false;
    }
    point->x = point->category;
    return true;
}

static bool add_table(PlotData *data, const RepPlot *plot, const Table *table,
                      PlotSource source, GError **error)
{
    static const char *const names[] = {"model's", "published", "measured"};
    const char *which = names[source];
    Columns columns = {0};
    unsigned row;

    if (!table || (source != PLOT_MODEL && table_n_rows(table) == 0)) {
        return true;
    }
    data->has[source] = true;
    data->n_sources++;
    if (source == PLOT_MODEL) {
        data->accuracy = rep_accuracy(table);
    }

    if (!find_columns(plot, table, which, &columns, error)) {
        return false;
    }
    for (row = 0; row < table_n_rows(table); row++) {
        bool is_empty = table_number(table, row, columns.y) == TABLE_NONE ||
                        (plot->kind == REP_PLOT_LINES &&
                         table_number(table, row, columns.x) == TABLE_NONE);

        data->n_failed +=
            source == PLOT_MODEL && table_has_failed(table, row, columns.y);
        if (!is_empty &&
            !add_point(data, plot, table, row, &columns, source, error)) {
            return false;
        }
    }
    return true;
}

static int compare_x(gconstpointer a, gconstpointer b)
{
    const PlotPoint *p = *(PlotPoint *const *)a;
    const PlotPoint *q = *(PlotPoint *const *)b;

    return (p->x > q->x) - (p->x < q->x);
}

static void set_ranges(PlotData *data)
{
    unsigned i;

    for (i = 0; i < data->points->len; i++) {
        const PlotPoint *point = data->points->pdata[i];

        data->x_min = i == 0 ? point->x : MIN(data->x_min, point->x);
        data->x_max = i == 0 ? point->x : MAX(data->x_max, point->x);
        data->y_min = MIN(data->y_min, point->y);
        data->y_max = MAX(data->y_max, point->y + point->half);
        data->y_least = i == 0 ? point->y : MIN(data->y_least, point->y);
    }
}

unsigned rep_plot_columns(const RepPlot *plot, unsigned n_panels)
{
    if (plot->stacked) {
        return 1;
    }
    if (plot->width_mm > 0) {
        return CLAMP((unsigned)(plot->width_mm / PANEL_LEAST_MM), 1, n_panels);
    }
    if (plot->kind == REP_PLOT_BARS || n_panels <= ROW_MOST) {
        return n_panels;
    }
    return MIN((n_panels + 1) / 2, ROW_MOST);
}

/* If a panel alone has more bars than can be read in one row, puts its groups
 * in several panels below each other, each with its own scale. */
static void wrap_bars(PlotData *data, const RepPlot *plot)
{
    unsigned n_groups = data->categories->len;
    unsigned n_bars = n_groups * data->curves->len * data->n_sources;
    unsigned rows =
        MIN((n_bars + BARS_MOST - 1) / BARS_MOST, REP_PLOT_PANELS_MAX);
    unsigned i;

    data->n_groups = n_groups;
    if (plot->width_mm > 0 || data->panels->len > 1 || rows < 2) {
        return;
    }
    data->n_groups = (n_groups + rows - 1) / rows;
    for (i = 0; i < data->points->len; i++) {
        PlotPoint *point = data->points->pdata[i];

        point->panel = point->category / data->n_groups;
    }
    while (data->panels->len * data->n_groups < n_groups) {
        g_ptr_array_add(data->panels, g_strdup(""));
    }
}

/* Panels side by side without a common curve each have their own legend, and
 * each begins with the first colour. Bars are different: they share one row of
 * places. */
static void choose_styles(PlotData *data, const RepPlot *plot)
{
    bool is_placed[REP_PLOT_CURVES_MAX] = {false};
    unsigned counts[REP_PLOT_PANELS_MAX] = {0};
    unsigned i;

    data->is_split =
        data->panels->len > 1 && plot->kind == REP_PLOT_LINES &&
        rep_plot_columns(plot, data->panels->len) == data->panels->len;
    for (i = 0; i < data->points->len; i++) {
        const PlotPoint *point = data->points->pdata[i];

        if (is_placed[point->curve] &&
            data->homes[point->curve] != point->panel) {
            data->is_split = false;
        }
        is_placed[point->curve] = true;
        data->homes[point->curve] = point->panel;
    }
    for (i = 0; i < data->curves->len; i++) {
        data->styles[i] = data->is_split ? counts[data->homes[i]]++ : i;
    }
}

/* Two lines closer than this part of the y range look like one. */
#define LOOKS_EQUAL 0.004

/* Returns the model's points of each curve, in the order of their x. */
static GPtrArray *sort_by_curve(const PlotData *data)
{
    GPtrArray *lines =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    unsigned i;

    for (i = 0; i < data->curves->len; i++) {
        g_ptr_array_add(lines, g_ptr_array_new());
    }
    for (i = 0; i < data->points->len; i++) {
        PlotPoint *point = data->points->pdata[i];

        if (point->source == PLOT_MODEL) {
            g_ptr_array_add(lines->pdata[point->curve], point);
        }
    }
    return lines;
}

static bool looks_equal(const GPtrArray *a, const GPtrArray *b, double least)
{
    unsigned i;

    for (i = 0; i < a->len && a->len == b->len; i++) {
        const PlotPoint *p = a->pdata[i], *q = b->pdata[i];
        double distance = p->y > q->y ? p->y - q->y : q->y - p->y;

        if (p->panel != q->panel || p->x != q->x || distance > least) {
            return false;
        }
    }
    return i > 0 && a->len == b->len;
}

/* A curve that lies on others is dashed, so that they are seen through its
 * gaps. */
static void find_depths(PlotData *data)
{
    g_autoptr(GPtrArray) lines = sort_by_curve(data);
    double least = (data->y_max - data->y_min) * LOOKS_EQUAL;
    unsigned i, j;

    for (i = 0; i < lines->len; i++) {
        for (j = 0; j < i; j++) {
            if (looks_equal(lines->pdata[j], lines->pdata[i], least)) {
                data->depths[i] = data->depths[j] + 1;
            }
        }
    }
}

PlotData *rep_plot_data_new(const RepPlot *plot, const Table *model,
                            const Table *published, GError **error)
{
    g_autoptr(PlotData) data = g_new0(PlotData, 1);

    data->panels = g_ptr_array_new_with_free_func(g_free);
    data->curves = g_ptr_array_new_with_free_func(g_free);
    data->categories = g_ptr_array_new_with_free_func(g_free);
    data->points = g_ptr_array_new_with_free_func(point_free);
    if (!add_table(data, plot, model, PLOT_MODEL, error) ||
        !add_table(data, plot, published, PLOT_PUBLISHED, error) ||
        !add_table(data, plot, plot->measured, PLOT_MEASURED, error)) {
        return NULL;
    }
    if (data->points->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "plot: no row has both \"%s\" and \"%s\"", plot->x_column,
                    plot->y_column);
        return NULL;
    }
    if (plot->kind == REP_PLOT_BARS) {
        wrap_bars(data, plot);
    }
    set_ranges(data);
    choose_styles(data, plot);
    /* The sort is stable: points with equal x stay in the order of their
     * rows. */
    g_ptr_array_sort(data->points, compare_x);
    if (plot->kind == REP_PLOT_LINES) {
        find_depths(data);
    }
    return g_steal_pointer(&data);
}
