/* SPDX-License-Identifier: MIT */
#include "rep_result.h"

#include <string.h>

#include "rep_comparison_view.h"
#include "rep_fidelity.h"
#include "rep_plot.h"
#include "table_file.h"
#include "table_format.h"
#include "table_pivot.h"

#define FONT_PT 7 /* default size of text on paper */
#define STACK_MM                                                               \
    120 /* panels of a narrower drawing stand one above the other */

static const TopoColumn *column_at(const TopoDescription *description,
                                   int index)
{
    return description->columns->pdata[index];
}

/* Returns the rows of @table in which @column is @text. */
static Table *filter_rows(const Table *table, unsigned column, const char *text)
{
    Table *part = table_new();

    for (unsigned i = 0; i < table_n_columns(table); i++) {
        table_add_column(part, table_column_name(table, i),
                         table_column_type(table, i),
                         table_column_digits(table, i));
    }
    for (unsigned i = 0; i < table_n_rows(table); i++) {
        g_autofree char *cell = table_dup_cell(table, i, column);

        if (strcmp(cell, text) == 0) {
            table_append_row(part, table, i);
        }
    }
    return part;
}

static void add_table(GString *out, const Table *table)
{
    g_autofree char *text = table_format(table);

    g_string_append_printf(out, "%s\n", text);
}

/* Adds a table with a row for each x and a column for each curve; all rows if
 * some have the same x and curve. */
static void add_pivot(GString *out, const TopoPlot *plot, const Table *table)
{
    unsigned curve = (unsigned)plot->curves;
    g_autoptr(Table) pivot = table_pivot(table, plot->x, &curve, 1, plot->y);

    add_table(out, pivot ? pivot : table);
}

/* Adds a heading and a table for each value of the panel column. */
static void add_panels(GString *out, const TopoDescription *description,
                       const Table *table)
{
    const TopoPlot *plot = description->plot;
    unsigned column = (unsigned)plot->panels;
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (unsigned i = 0; i < table_n_rows(table); i++) {
        char *panel = table_dup_cell(table, i, column);

        if (g_hash_table_add(seen, panel)) {
            g_autoptr(Table) part = filter_rows(table, column, panel);

            g_string_append_printf(out, "%s, %s\n", panel,
                                   column_at(description, plot->y)->name);
            add_pivot(out, plot, part);
        }
    }
}

char *rep_result_text(const RepResult *result)
{
    const TopoDescription *description = result->description;
    const TopoPlot *plot = description->plot;
    GString *out = g_string_new(NULL);

    g_string_append(out, plot ? plot->title : description->name);
    if (description->workload && description->workload->seeds > 1) {
        g_string_append_printf(out, " (means of %u seeds)",
                               description->workload->seeds);
    }
    g_string_append(out, "\n\n");
    if (!plot || plot->curves < 0) {
        add_table(out, result->model);
    } else if (plot->panels < 0) {
        add_pivot(out, plot, result->model);
    } else {
        add_panels(out, description, result->model);
    }
    return g_string_free(out, FALSE);
}

Table *rep_result_errors(const RepResult *result, const Table *others,
                         const char *name, GError **error)
{
    const TopoDescription *description = result->description;
    const TopoPlot *plot = description->plot;
    const char *keys[4] = {NULL};
    unsigned count = 0;
    RepCompareOptions options = {.keys = keys,
                                 .x = column_at(description, plot->x)->name};
    g_autoptr(RepComparison) comparison = NULL;

    if (plot->panels >= 0) {
        keys[count++] = column_at(description, plot->panels)->name;
    }
    if (plot->curves >= 0) {
        keys[count++] = column_at(description, plot->curves)->name;
    }
    keys[count++] = column_at(description, plot->x)->name;
    comparison = rep_compare(others, result->model, &options, name, error);
    return comparison ? rep_comparison_errors_table(comparison) : NULL;
}

Table *rep_result_measured(const RepResult *result, GError **error)
{
    static const TableColumn columns[] = {
        {"error_%", TABLE_DECIMAL, 3},
        {"published", TABLE_TEXT, 0},
    };
    static const char *const texts[] = {"curve", "at", "measured", "model"};
    g_autoptr(RepFidelity) fidelity =
        rep_fidelity_new(result->description, result->model, result->published,
                         result->measured, error);
    Table *points;

    if (!fidelity) {
        return NULL;
    }
    points = table_new();
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        table_add_column(points, texts[i], TABLE_TEXT, 0);
    }
    table_add_columns(points, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);
        unsigned row;

        if (*point->measured == '\0') {
            continue;
        }
        row = table_add_row(points);
        table_set_text(points, row, 0,
                       rep_fidelity_curve(fidelity, point->curve)->name);
        table_set_text(points, row, 1, point->x);
        table_set_text(points, row, 2, point->measured);
        table_set_text(points, row, 3, point->model);
        table_set_number(points, row, 4, point->measured_mpct);
        table_set_text(points, row, 5, point->published);
    }
    return points;
}

static RepAxis axis_of(TopoScale scale, const char *column)
{
    if (scale == TOPO_SCALE_LINEAR) {
        return REP_AXIS_LINEAR;
    }
    if (scale == TOPO_SCALE_LOG10) {
        return REP_AXIS_LOG10;
    }
    return g_str_has_suffix(column, "_bytes") ? REP_AXIS_BYTES : REP_AXIS_LOG2;
}

/* Adds an error if @column (-1: none) has more than @most values in @points. */
static void check_values(const TopoDescription *description,
                         const Table *points, int column, unsigned most,
                         const char *what, TopoErrors *errors)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (unsigned i = 0; column >= 0 && i < table_n_rows(points); i++) {
        g_hash_table_add(seen, table_dup_cell(points, i, (unsigned)column));
    }
    if (g_hash_table_size(seen) > most) {
        topo_errors_add(errors, description->plot->place,
                        "the plot has %u %s, and one drawing has room for %u; "
                        "leave out points, or name another column",
                        g_hash_table_size(seen), what, most);
    }
}

void rep_result_check_plot(const TopoDescription *description,
                           const Table *points, TopoErrors *errors)
{
    const TopoPlot *plot = description->plot;

    if (!plot) {
        return;
    }
    check_values(description, points, plot->curves, REP_PLOT_CURVES_MAX,
                 "curves", errors);
    check_values(description, points, plot->panels, REP_PLOT_PANELS_MAX,
                 "panels", errors);
    if (table_column_type(points, plot->x) == TABLE_TEXT) {
        check_values(description, points, (int)plot->x, REP_PLOT_CATEGORIES_MAX,
                     "groups of bars", errors);
    }
}

bool rep_result_draw(const RepResult *result, const char *prefix,
                     const RepLook *look, GError **error)
{
    const TopoDescription *description = result->description;
    const TopoPlot *plot = description->plot;
    const char *curves[2] = {NULL};
    const TopoColumn *x = column_at(description, plot->x);
    g_autofree char *half =
        g_strdup_printf("%s_ci95", column_at(description, plot->y)->name);
    RepPlot drawing = {
        .kind = table_column_type(result->model, plot->x) == TABLE_TEXT
                    ? REP_PLOT_BARS
                    : REP_PLOT_LINES,
        .title = plot->title,
        .x_column = x->name,
        .y_column = column_at(description, plot->y)->name,
        .x_label = plot->x_label,
        .y_label = plot->y_label,
        .x_range = {plot->x_least, plot->x_most},
        .y_range = {plot->y_least, plot->y_most},
        .measured = result->measured,
    };

    if (table_find_column(result->model, half, NULL)) {
        drawing.half_column = half;
    }
    if (look) {
        drawing.width_mm = look->width_mm;
        drawing.font_pt = look->font_pt > 0 ? look->font_pt : FONT_PT;
        drawing.pdf = look->pdf;
        drawing.tex = look->tex;
        drawing.no_legend = look->no_legend;
        if (look->x_range.most > look->x_range.least) {
            drawing.x_range = look->x_range;
        }
        if (look->y_range.most > look->y_range.least) {
            drawing.y_range = look->y_range;
        }
        drawing.stacked = look->width_mm > 0 && look->width_mm < STACK_MM;
        if (look->title) {
            drawing.title =
                strcmp(look->title, "none") == 0 ? NULL : look->title;
        }
    }
    if (plot->curves >= 0) {
        curves[0] = column_at(description, plot->curves)->name;
        drawing.curves = curves;
    }
    if (plot->panels >= 0) {
        drawing.panel_column = column_at(description, plot->panels)->name;
    }
    drawing.x_axis = axis_of(plot->x_scale, x->name);
    drawing.y_axis =
        axis_of(plot->y_scale, column_at(description, plot->y)->name);
    return rep_plot_write(&drawing, result->model, result->published, prefix,
                          error);
}
