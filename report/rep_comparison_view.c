/* SPDX-License-Identifier: MIT */
#include "rep_comparison_view.h"

#include <string.h>

#include "rep_plot.h"

#define PANELS_MAX 6 /* most panels; a column with more values makes none */

static const char *verdict_word(RepVerdict verdict)
{
    static const char *const words[] = {
        [REP_WITHIN] = "ok",
        [REP_OUTSIDE] = "OUTSIDE",
        [REP_MISSING] = "MISSING",
        [REP_EXTRA] = "EXTRA",
    };

    return words[verdict];
}

static void set_mpct(Table *table, unsigned row, unsigned column,
                     const RepCurve *curve, int64_t mpct)
{
    table_set_number(table, row, column,
                     curve->errors.count > 0 ? mpct : TABLE_NONE);
}

Table *rep_comparison_points_table(const RepComparison *comparison,
                                   unsigned most)
{
    static const TableColumn columns[] = {
        {"worst points", TABLE_TEXT, 0}, {"column", TABLE_TEXT, 0},
        {"baseline", TABLE_TEXT, 0},     {"new", TABLE_TEXT, 0},
        {"error %", TABLE_DECIMAL, 3},   {"verdict", TABLE_TEXT, 0},
    };
    Table *table = table_new();
    unsigned n_points = rep_comparison_n_points(comparison);
    unsigned i;

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (i = 0; i < MIN(n_points, most); i++) {
        const RepPoint *point = rep_comparison_point(comparison, i);
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, point->key);
        table_set_text(table, row, 1,
                       rep_comparison_curve(comparison, point->curve)->column);
        table_set_text(table, row, 2, point->baseline);
        table_set_text(table, row, 3, point->fresh);
        table_set_number(table, row, 4, point->error_mpct);
        table_set_text(table, row, 5, verdict_word(point->verdict));
    }
    return table;
}

static void add_curve_row(Table *table, const RepCurve *curve, const char *name,
                          const char *column)
{
    unsigned row = table_add_row(table);

    table_set_text(table, row, 0, name);
    table_set_text(table, row, 1, column);
    table_set_number(table, row, 2, curve->n_points);
    set_mpct(table, row, 3, curve, curve->errors.mean_mpct);
    set_mpct(table, row, 4, curve, curve->errors.bias_mpct);
    set_mpct(table, row, 5, curve, curve->errors.max_mpct);
    table_set_text(table, row, 6,
                   curve->errors.max_x != NULL ? curve->errors.max_x : "");
    table_set_number(table, row, 7, curve->n_outside);
    table_set_number(table, row, 8, curve->n_missing);
    table_set_number(table, row, 9, curve->n_extra);
}

Table *rep_comparison_curves_table(const RepComparison *comparison)
{
    static const TableColumn columns[] = {
        {"curve", TABLE_TEXT, 0},
        {"column", TABLE_TEXT, 0},
        {"points", TABLE_INTEGER, 0},
    };
    static const char *const numbers[] = {"mean %", "bias %", "max %"};
    static const char *const counts[] = {"outside", "missing", "extra"};
    Table *table = table_new();
    unsigned i;

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (i = 0; i < G_N_ELEMENTS(numbers); i++) {
        table_add_column(table, numbers[i], TABLE_DECIMAL, 3);
    }
    table_add_column(table, "max at", TABLE_TEXT, 0);
    for (i = 0; i < G_N_ELEMENTS(counts); i++) {
        table_add_column(table, counts[i], TABLE_INTEGER, 0);
    }
    for (i = 0; i < rep_comparison_n_curves(comparison); i++) {
        const RepCurve *curve = rep_comparison_curve(comparison, i);

        add_curve_row(table, curve, curve->name, curve->column);
    }
    return table;
}

Table *rep_comparison_errors_table(const RepComparison *comparison)
{
    static const TableColumn columns[] = {
        {"curve", TABLE_TEXT, 0},     {"column", TABLE_TEXT, 0},
        {"points", TABLE_INTEGER, 0}, {"mean_%", TABLE_DECIMAL, 3},
        {"bias_%", TABLE_DECIMAL, 3}, {"largest_%", TABLE_DECIMAL, 3},
        {"at", TABLE_TEXT, 0},
    };
    Table *table = table_new();
    unsigned i;

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (i = 0; i < rep_comparison_n_curves(comparison); i++) {
        const RepCurve *curve = rep_comparison_curve(comparison, i);
        unsigned row;

        if (curve->errors.count == 0) {
            continue;
        }
        row = table_add_row(table);
        table_set_text(table, row, 0, curve->name);
        table_set_text(table, row, 1, curve->column);
        table_set_number(table, row, 2, curve->errors.count);
        table_set_number(table, row, 3, curve->errors.mean_mpct);
        table_set_number(table, row, 4, curve->errors.bias_mpct);
        table_set_number(table, row, 5, curve->errors.max_mpct);
        table_set_text(table, row, 6, curve->errors.max_x);
    }
    return table;
}

char *rep_comparison_verdict(const RepComparison *comparison)
{
    const RepCurve *total = rep_comparison_total(comparison);
    g_autofree char *mean = rep_mpct_print(total->errors.mean_mpct);
    g_autofree char *bias = rep_mpct_print(total->errors.bias_mpct);
    g_autofree char *max = rep_mpct_print(ABS(total->errors.max_mpct));
    GString *line = g_string_new(NULL);

    g_string_append_printf(
        line, "%s: %u points, %u outside, %u missing, %u extra",
        rep_comparison_is_different(comparison) ? "DIFFERENT" : "same",
        total->n_points, total->n_outside, total->n_missing, total->n_extra);
    if (total->errors.count > 0) {
        g_string_append_printf(
            line, "; error mean %s %%, bias %s %%, max %s %%", mean, bias, max);
    }
    return g_string_free(line, FALSE);
}

/* Returns true if the column has few enough values for a panel each. */
static bool is_panel(const Table *table, const char *name)
{
    g_autoptr(GHashTable) seen =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    unsigned column = 0;
    unsigned row;

    table_find_column(table, name, &column);
    for (row = 0; row < table_n_rows(table); row++) {
        g_hash_table_add(seen, table_dup_cell(table, row, column));
    }
    return g_hash_table_size(seen) <= PANELS_MAX;
}

static bool has_numbers(const Table *table, const char *name)
{
    unsigned column;

    return table_find_column(table, name, &column) &&
           table_column_type(table, column) != TABLE_TEXT;
}

bool rep_comparison_plot(const RepComparison *comparison, const Table *baseline,
                         const Table *fresh, const char *prefix, GError **error)
{
    const char *const *curves = rep_comparison_curve_columns(comparison);
    const char *const *values = rep_comparison_values(comparison);
    const char *x = rep_comparison_x(comparison);
    RepPlot plot = {
        .kind = has_numbers(baseline, x) ? REP_PLOT_LINES : REP_PLOT_BARS,
        .title = rep_comparison_name(comparison),
        .x_column = x,
        .curves = curves,
        .fits_y = true,
        .model_label = "new",
        .published_label = "baseline",
    };
    unsigned i;

    if (curves[0] != NULL && curves[1] != NULL &&
        is_panel(baseline, curves[0])) {
        plot.panel_column = curves[0];
        plot.curves = curves + 1;
    }
    for (i = 0; values[i] != NULL; i++) {
        g_autofree char *path =
            values[1] == NULL ? g_strdup(prefix)
                              : g_strdup_printf("%s-%s", prefix, values[i]);

        plot.y_column = values[i];
        g_strdelimit(path + strlen(prefix), "/", '_');
        if (has_numbers(baseline, values[i]) && has_numbers(fresh, values[i]) &&
            !rep_plot_write(&plot, fresh, baseline, path, error)) {
            return false;
        }
    }
    return true;
}
