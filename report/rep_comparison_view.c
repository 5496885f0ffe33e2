/* SPDX-License-Identifier: MIT */
#include "rep_comparison_view.h"

#include <string.h>

#include "rep_plot.h"
#include "table_csv.h"

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
                   curve->errors.max_x ? curve->errors.max_x : "");
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

/* Returns the least error, in thousandths of a percent, that the curves of
 * @column must have so that not more of them remain than a drawing has room
 * for. */
static int64_t least_error(const RepComparison *comparison, const char *column)
{
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (unsigned i = 0; i < rep_comparison_n_curves(comparison); i++) {
        const RepCurve *curve = rep_comparison_curve(comparison, i);
        int64_t error = ABS(curve->errors.max_mpct);

        if (strcmp(curve->column, column) == 0) {
            unsigned at = 0;

            while (at < errors->len &&
                   g_array_index(errors, int64_t, at) > error) {
                at++;
            }
            g_array_insert_val(errors, at, error);
        }
    }
    return errors->len > REP_PLOT_CURVES_MAX
               ? g_array_index(errors, int64_t, REP_PLOT_CURVES_MAX - 1)
               : 0;
}

/* Returns a table of the differences of @column: curve, x, and the difference
 * in percent of the baseline. Values of x become numbers if all of them are. */
static Table *make_deltas(const RepComparison *comparison, const char *column)
{
    static const char *const names[] = {"curve", "x", "difference_percent"};
    int64_t least = least_error(comparison, column);
    g_autoptr(Table) texts = table_new();
    g_autoptr(GHashTable) curves = g_hash_table_new(NULL, NULL);
    g_autofree char *csv = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        table_add_column(texts, names[i], TABLE_TEXT, 0);
    }
    for (unsigned i = 0; i < rep_comparison_n_points(comparison); i++) {
        const RepPoint *point = rep_comparison_point(comparison, i);
        const RepCurve *curve = rep_comparison_curve(comparison, point->curve);
        g_autofree char *error = NULL;
        unsigned row;

        if (strcmp(curve->column, column) != 0 ||
            point->error_mpct == TABLE_NONE ||
            ABS(curve->errors.max_mpct) < least ||
            (!g_hash_table_contains(curves, curve) &&
             g_hash_table_size(curves) == REP_PLOT_CURVES_MAX)) {
            continue;
        }
        g_hash_table_add(curves, (void *)curve);
        error = rep_mpct_print(point->error_mpct);
        row = table_add_row(texts);
        table_set_text(texts, row, 0, curve->name);
        table_set_text(texts, row, 1, point->x);
        table_set_text(texts, row, 2, error);
    }
    csv = table_to_csv(texts);
    return table_parse(csv, strlen(csv), rep_comparison_name(comparison), NULL);
}

/* Draws PREFIX.delta.svg and .png: how far @column is from the baseline. If
 * there are too many curves, those that differ most. */
static bool plot_delta(const RepComparison *comparison, const char *column,
                       const char *prefix, GError **error)
{
    static const char *const curves[] = {"curve", NULL};
    g_autofree char *path = g_strconcat(prefix, ".delta", NULL);
    g_autofree char *y_label =
        g_strdup_printf("%s, difference from the baseline, %%", column);
    g_autoptr(Table) deltas = make_deltas(comparison, column);
    RepPlot plot = {
        .kind = REP_PLOT_LINES,
        .title = rep_comparison_name(comparison),
        .x_column = "x",
        .x_label = rep_comparison_x(comparison),
        .y_column = "difference_percent",
        .y_label = y_label,
        .curves = curves,
    };

    if (!deltas || table_n_rows(deltas) == 0) {
        return true; /* no point is in both, or the baseline has only zeros */
    }
    plot.kind = has_numbers(deltas, "x") ? REP_PLOT_LINES : REP_PLOT_BARS;
    if (plot.kind == REP_PLOT_LINES &&
        g_str_has_suffix(rep_comparison_x(comparison), "_bytes")) {
        plot.x_axis = REP_AXIS_BYTES;
    }
    return rep_plot_write(&plot, deltas, NULL, path, error);
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

    if (curves[0] && curves[1] && is_panel(baseline, curves[0])) {
        plot.panel_column = curves[0];
        plot.curves = curves + 1;
    }
    for (i = 0; values[i]; i++) {
        g_autofree char *path =
            !values[1] ? g_strdup(prefix)
                       : g_strdup_printf("%s-%s", prefix, values[i]);

        plot.y_column = values[i];
        g_strdelimit(path + strlen(prefix), "/", '_');
        if (has_numbers(baseline, values[i]) && has_numbers(fresh, values[i]) &&
            (!rep_plot_write(&plot, fresh, baseline, path, error) ||
             !plot_delta(comparison, values[i], path, error))) {
            return false;
        }
    }
    return true;
}
