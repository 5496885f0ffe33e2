/* SPDX-License-Identifier: MIT */
#include "rep_compare_files.h"

#include <string.h>

#include "rep_comparison_view.h"
#include "rep_junit.h"
#include "table_csv.h"
#include "table_file.h"
#include "table_format.h"

/* Sums over all files. */
typedef struct Compare {
    const RepCompareFiles *how;
    GString *text;
    GPtrArray *comparisons; /* of RepComparison * */
    GHashTable *columns;    /* names of all columns in any file */
    bool is_different;
} Compare;

static void append_table(const Compare *compare, const Table *table)
{
    if (compare->how->markdown) {
        g_autofree char *markdown = table_format_markdown(table);

        g_string_append(compare->text, markdown);
    } else {
        table_format_append(compare->text, table);
    }
}

/* Returns the number of points that are outside, missing or extra. */
static unsigned count_failures(const RepCurve *curve)
{
    return curve->n_outside + curve->n_missing + curve->n_extra;
}

static void append_comparison(const Compare *compare,
                              const RepComparison *comparison)
{
    unsigned n_worst = (unsigned)compare->how->n_worst;
    unsigned n_shown =
        compare->how->only_failures
            ? MIN(n_worst, count_failures(rep_comparison_total(comparison)))
            : n_worst;
    g_autoptr(Table) points = rep_comparison_points_table(comparison, n_shown);
    g_autoptr(Table) curves = rep_comparison_curves_table(comparison);
    g_autofree char *verdict = rep_comparison_verdict(comparison);

    if (table_n_rows(points) > 0) {
        append_table(compare, points);
        g_string_append_c(compare->text, '\n');
    }
    if (!compare->how->only_failures) {
        append_table(compare, curves);
        g_string_append_c(compare->text, '\n');
    }
    g_string_append_printf(compare->text, "%s\n", verdict);
}

/* Compares two tables. */
static bool compare_tables(Compare *compare, const Table *baseline,
                           const Table *fresh, const char *name,
                           const char *plot, GError **error)
{
    RepComparison *comparison =
        rep_compare(baseline, fresh, &compare->how->options, name, error);
    unsigned i;

    if (!comparison) {
        return false;
    }
    g_ptr_array_add(compare->comparisons, comparison);
    for (i = 0; i < table_n_columns(baseline); i++) {
        g_hash_table_add(compare->columns,
                         g_strdup(table_column_name(baseline, i)));
    }
    compare->is_different =
        compare->is_different || rep_comparison_is_different(comparison);
    if (!compare->how->only_failures ||
        rep_comparison_is_different(comparison)) {
        g_string_append_printf(compare->text, "%s%s\n\n",
                               compare->how->markdown ? "#### " : "", name);
        append_comparison(compare, comparison);
    }
    return !plot ||
           rep_comparison_plot(comparison, baseline, fresh, plot, error);
}

static bool compare_files(Compare *compare, const char *baseline_path,
                          const char *fresh_path, const char *name,
                          const char *plot, GError **error)
{
    g_autoptr(Table) baseline = table_read(baseline_path, error);
    g_autoptr(Table) fresh = baseline ? table_read(fresh_path, error) : NULL;

    return fresh && compare_tables(compare, baseline, fresh, name, plot, error);
}

/* Compares a file that the other side does not have: every point is missing. */
static bool compare_with_nothing(Compare *compare, const char *path,
                                 const char *name, GError **error)
{
    g_autoptr(Table) baseline = table_read(path, error);
    g_autoptr(Table) fresh = table_new();
    unsigned i;

    if (!baseline) {
        return false;
    }
    for (i = 0; i < table_n_columns(baseline); i++) {
        table_add_column(fresh, table_column_name(baseline, i),
                         table_column_type(baseline, i),
                         table_column_digits(baseline, i));
    }
    return compare_tables(compare, baseline, fresh, name, NULL, error);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the sorted names of the CSV files in a folder; NULL on failure. */
static GPtrArray *list_files(const char *path, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) folder = g_dir_open(path, 0, &cause);
    GPtrArray *names;
    const char *name;

    if (!folder) {
        g_set_error_literal(error, TABLE_ERROR, TABLE_ERROR_FILE,
                            cause->message);
        return NULL;
    }
    names = g_ptr_array_new_with_free_func(g_free);
    while ((name = g_dir_read_name(folder))) {
        if (g_str_has_suffix(name, ".csv")) {
            g_ptr_array_add(names, g_strdup(name));
        }
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static bool has_name(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Explanations and traces are written beside the results of `run`. They are
 * compared only if the baseline has them, too. */
static bool is_beside_result(const char *name)
{
    return g_str_has_suffix(name, ".explain.csv") ||
           g_str_has_suffix(name, ".trace.csv");
}

static bool compare_folders(Compare *compare, const char *baseline_path,
                            const char *fresh_path, GError **error)
{
    g_autoptr(GPtrArray) baseline = list_files(baseline_path, error);
    g_autoptr(GPtrArray) fresh =
        baseline ? list_files(fresh_path, error) : NULL;
    unsigned i;

    if (!fresh) {
        return false;
    }
    if (baseline->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "there is no CSV file in %s", baseline_path);
        return false;
    }
    for (i = 0; i < baseline->len; i++) {
        const char *name = baseline->pdata[i];
        g_autofree char *a = g_build_filename(baseline_path, name, NULL);
        g_autofree char *b = g_build_filename(fresh_path, name, NULL);
        g_autofree char *shown = g_filename_display_name(name);
        g_autofree char *plot = NULL;

        if (compare->how->plot) {
            plot = g_strdup_printf("%s-%.*s", compare->how->plot,
                                   (int)(strlen(name) - strlen(".csv")), name);
        }
        if (compare->how->options.subset && !has_name(fresh, name)) {
            continue;
        }
        if (!(has_name(fresh, name)
                  ? compare_files(compare, a, b, shown, plot, error)
                  : compare_with_nothing(compare, a, shown, error))) {
            return false;
        }
        if (!compare->how->only_failures) {
            g_string_append_c(compare->text, '\n');
        }
    }
    for (i = 0; i < fresh->len; i++) {
        if (!has_name(baseline, fresh->pdata[i]) &&
            !is_beside_result(fresh->pdata[i])) {
            g_string_append_printf(
                compare->text,
                "%s: EXTRA, there is no baseline for this file\n",
                (const char *)fresh->pdata[i]);
            compare->is_different = true;
        }
    }
    return true;
}

/* Appends the sums over all files, last, so that they are in sight. */
static void append_total(const Compare *compare)
{
    unsigned points = 0, outside = 0, missing = 0, extra = 0, different = 0;

    for (unsigned i = 0; i < compare->comparisons->len; i++) {
        const RepComparison *comparison = compare->comparisons->pdata[i];
        const RepCurve *total = rep_comparison_total(comparison);

        points += total->n_points;
        outside += total->n_outside;
        missing += total->n_missing;
        extra += total->n_extra;
        different += rep_comparison_is_different(comparison);
    }
    g_string_append_printf(
        compare->text,
        "%sTotal: %s, %u of %u files differ; %u points, %u outside, %u "
        "missing, %u extra%s\n",
        compare->how->markdown ? "**" : "",
        compare->is_different ? "DIFFERENT" : "same", different,
        compare->comparisons->len, points, outside, missing, extra,
        compare->how->markdown ? "**" : "");
}

/* Reports a tolerance for a column that no file has. It is probably
 * misspelt. */
static bool check_tolerances(const Compare *compare, GError **error)
{
    unsigned i;

    for (i = 0; i < compare->how->options.tolerances->len; i++) {
        const RepTolerance *tolerance =
            compare->how->options.tolerances->pdata[i];

        if (tolerance->column &&
            !g_hash_table_contains(compare->columns, tolerance->column)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "--tolerance %s: there is no such column",
                        tolerance->column);
            return false;
        }
    }
    return true;
}

static bool compare_paths(Compare *compare, const char *baseline,
                          const char *fresh, GError **error)
{
    bool is_folder = g_file_test(baseline, G_FILE_TEST_IS_DIR);
    const char *absent = !g_file_test(baseline, G_FILE_TEST_EXISTS) ? baseline
                         : !g_file_test(fresh, G_FILE_TEST_EXISTS)  ? fresh
                                                                    : NULL;

    if (absent) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                    "cannot read %s: there is no such file or folder", absent);
        return false;
    }

    if (is_folder != (bool)g_file_test(fresh, G_FILE_TEST_IS_DIR)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s is a folder, the other is not; name two files or two "
                    "folders",
                    is_folder ? baseline : fresh);
        return false;
    }
    if (is_folder) {
        if (!compare_folders(compare, baseline, fresh, error)) {
            return false;
        }
    } else {
        g_autofree char *name = g_filename_display_basename(baseline);

        if (!compare_files(compare, baseline, fresh, name, compare->how->plot,
                           error)) {
            return false;
        }
    }
    if (!check_tolerances(compare, error)) {
        return false;
    }
    if (is_folder || compare->how->only_failures || compare->how->markdown) {
        append_total(compare);
    }
    if (compare->how->junit) {
        g_autofree char *xml = rep_junit_print(compare->comparisons);

        return table_file_write(compare->how->junit, xml, strlen(xml), error);
    }
    return true;
}

bool rep_compare_files(const RepCompareFiles *how, const char *baseline,
                       const char *fresh, GString *text, bool *ret_different,
                       GError **error)
{
    g_autoptr(GPtrArray) comparisons =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_comparison_free);
    g_autoptr(GHashTable) columns =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Compare compare = {.how = how,
                       .text = text,
                       .comparisons = comparisons,
                       .columns = columns};

    if (how->n_worst < 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "--worst %d: it is a number of points", how->n_worst);
        return false;
    }
    if (!compare_paths(&compare, baseline, fresh, error)) {
        return false;
    }
    *ret_different = compare.is_different;
    return true;
}
