/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "rep_comparison_view.h"
#include "rep_junit.h"
#include "table_csv.h"
#include "table_format.h"

static const char details[] =
    "BASELINE and NEW are two CSV files, or two folders. For folders, all CSV\n"
    "files of the same name are compared. Rows are joined by their key. Every\n"
    "other cell is a point. A point that only one side has is a difference.\n"
    "Explanations and traces in NEW are left out unless BASELINE has them,\n"
    "too.\n"
    "\n"
    "The key is a list of columns. --key gives it, or a line \"# key:\n"
    "COLUMN,COLUMN\" in the head of BASELINE. Otherwise it is all columns\n"
    "before the first decimal one; in a file without decimals it is the\n"
    "leading text columns. While two rows of BASELINE have the same key, the\n"
    "next column is added, up to the last but one. Columns that BASELINE does\n"
    "not have are ignored.\n"
    "\n"
    "A tolerance is a part of BASELINE's value (1%) or an amount (+-0.02),\n"
    "for one column (COLUMN=1%) or for all. If a column has several, one must\n"
    "be met. Tolerances for one column go before those for all, and the\n"
    "command line goes before lines \"# tolerance: COLUMN 1%\" in the head of\n"
    "BASELINE. Without a tolerance numbers must be equal. Texts must always\n"
    "be equal.\n"
    "\n"
    "With --one-sided a number may be better than BASELINE's by any amount.\n"
    "Lines \"# better: COLUMN higher\" (or lower) in the heads say what is\n"
    "better; the key `better` of a column in a scenario makes them.\n"
    "\n"
    "A curve is a set of points that differ only in the x column. That is the\n"
    "last key column of numbers, or else the first key column. Errors are in\n"
    "percent of BASELINE: the mean of their magnitudes, the bias (their mean\n"
    "with signs) and the largest one.\n"
    "\n"
    "Exit status: 0 all points are within tolerance, 1 there are differences,\n"
    "2 bad usage or input.";

/* The options, and results that are collected over all files. */
typedef struct Compare {
    char *key;
    char *x;
    char **tolerance_texts;
    char *plot;
    char *junit;
    int n_worst;
    gboolean only_failures;
    gboolean markdown;
    gboolean one_sided;
    gboolean subset;
    GStrv keys;
    GPtrArray *tolerances;  /* of RepTolerance * */
    GPtrArray *comparisons; /* of RepComparison * */
    GHashTable *columns;    /* names of all columns in any file */
    bool is_different;
} Compare;

static void compare_done(Compare *compare)
{
    g_free(compare->key);
    g_free(compare->x);
    g_strfreev(compare->tolerance_texts);
    g_free(compare->plot);
    g_free(compare->junit);
    g_strfreev(compare->keys);
    g_ptr_array_unref(compare->tolerances);
    g_ptr_array_unref(compare->comparisons);
    g_hash_table_unref(compare->columns);
}

static void print_table(const Compare *compare, const Table *table)
{
    if (compare->markdown) {
        g_autofree char *text = table_format_markdown(table);

        fputs(text, stdout);
    } else {
        cmd_print_table(table);
    }
}

/* Returns the number of points that are outside, missing or extra. */
static unsigned count_failures(const RepCurve *curve)
{
    return curve->n_outside + curve->n_missing + curve->n_extra;
}

static void print_comparison(const Compare *compare,
                             const RepComparison *comparison)
{
    unsigned n_worst = (unsigned)compare->n_worst;
    unsigned n_shown =
        compare->only_failures
            ? MIN(n_worst, count_failures(rep_comparison_total(comparison)))
            : n_worst;
    g_autoptr(Table) points = rep_comparison_points_table(comparison, n_shown);
    g_autoptr(Table) curves = rep_comparison_curves_table(comparison);
    g_autofree char *verdict = rep_comparison_verdict(comparison);

    if (table_n_rows(points) > 0) {
        print_table(compare, points);
        putchar('\n');
    }
    if (!compare->only_failures) {
        print_table(compare, curves);
        putchar('\n');
    }
    puts(verdict);
}

/* Compares two tables and prints the result. */
static bool compare_tables(Compare *compare, const Table *baseline,
                           const Table *fresh, const char *name,
                           const char *plot, GError **error)
{
    RepCompareOptions options = {
        .keys = (const char *const *)compare->keys,
        .x = compare->x,
        .tolerances = compare->tolerances,
        .one_sided = compare->one_sided,
        .subset = compare->subset,
    };
    RepComparison *comparison =
        rep_compare(baseline, fresh, &options, name, error);
    unsigned i;

    if (comparison == NULL) {
        return false;
    }
    g_ptr_array_add(compare->comparisons, comparison);
    for (i = 0; i < table_n_columns(baseline); i++) {
        g_hash_table_add(compare->columns,
                         g_strdup(table_column_name(baseline, i)));
    }
    compare->is_different =
        compare->is_different || rep_comparison_is_different(comparison);
    if (!compare->only_failures || rep_comparison_is_different(comparison)) {
        printf("%s%s\n\n", compare->markdown ? "#### " : "", name);
        print_comparison(compare, comparison);
    }
    return plot == NULL ||
           rep_comparison_plot(comparison, baseline, fresh, plot, error);
}

static bool compare_files(Compare *compare, const char *baseline_path,
                          const char *fresh_path, const char *name,
                          const char *plot, GError **error)
{
    g_autoptr(Table) baseline = table_read(baseline_path, error);
    g_autoptr(Table) fresh =
        baseline != NULL ? table_read(fresh_path, error) : NULL;

    return fresh != NULL &&
           compare_tables(compare, baseline, fresh, name, plot, error);
}

/* Compares a file that the other side does not have: every point is missing. */
static bool compare_with_nothing(Compare *compare, const char *path,
                                 const char *name, GError **error)
{
    g_autoptr(Table) baseline = table_read(path, error);
    g_autoptr(Table) fresh = table_new();
    unsigned i;

    if (baseline == NULL) {
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

    if (folder == NULL) {
        g_set_error_literal(error, TABLE_ERROR, TABLE_ERROR_FILE,
                            cause->message);
        return NULL;
    }
    names = g_ptr_array_new_with_free_func(g_free);
    while ((name = g_dir_read_name(folder)) != NULL) {
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
        baseline != NULL ? list_files(fresh_path, error) : NULL;
    unsigned i;

    if (fresh == NULL) {
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

        if (compare->plot != NULL) {
            plot = g_strdup_printf("%s-%.*s", compare->plot,
                                   (int)(strlen(name) - strlen(".csv")), name);
        }
        if (compare->subset && !has_name(fresh, name)) {
            continue;
        }
        if (!(has_name(fresh, name)
                  ? compare_files(compare, a, b, shown, plot, error)
                  : compare_with_nothing(compare, a, shown, error))) {
            return false;
        }
        if (!compare->only_failures) {
            putchar('\n');
        }
    }
    for (i = 0; i < fresh->len; i++) {
        if (!has_name(baseline, fresh->pdata[i]) &&
            !is_beside_result(fresh->pdata[i])) {
            printf("%s: EXTRA, there is no baseline for this file\n",
                   (const char *)fresh->pdata[i]);
            compare->is_different = true;
        }
    }
    return true;
}

/* Prints the sums over all files, last, so that they are in sight. */
static void print_total(const Compare *compare)
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
    printf("%sTotal: %s, %u of %u files differ; %u points, %u outside, %u "
           "missing, %u extra%s\n",
           compare->markdown ? "**" : "",
           compare->is_different ? "DIFFERENT" : "same", different,
           compare->comparisons->len, points, outside, missing, extra,
           compare->markdown ? "**" : "");
}

static bool set_options(Compare *compare, GError **error)
{
    unsigned i;

    if (compare->key != NULL) {
        compare->keys = g_strsplit(compare->key, ",", -1);
    }
    for (i = 0; compare->tolerance_texts != NULL &&
                compare->tolerance_texts[i] != NULL;
         i++) {
        RepTolerance *tolerance =
            rep_tolerance_parse(compare->tolerance_texts[i], error);

        if (tolerance == NULL) {
            return false;
        }
        g_ptr_array_add(compare->tolerances, tolerance);
    }
    if (compare->n_worst < 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "--worst %d: it is a number of points", compare->n_worst);
        return false;
    }
    return true;
}

/* Reports a tolerance for a column that no file has. It is probably
 * misspelt. */
static bool check_tolerances(const Compare *compare, GError **error)
{
    unsigned i;

    for (i = 0; i < compare->tolerances->len; i++) {
        const RepTolerance *tolerance = compare->tolerances->pdata[i];

        if (tolerance->column != NULL &&
            !g_hash_table_contains(compare->columns, tolerance->column)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "--tolerance %s: there is no such column",
                        tolerance->column);
            return false;
        }
    }
    return true;
}

static bool run(Compare *compare, const char *baseline, const char *fresh,
                GError **error)
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

        if (!compare_files(compare, baseline, fresh, name, compare->plot,
                           error)) {
            return false;
        }
    }
    if (!check_tolerances(compare, error)) {
        return false;
    }
    if (is_folder || compare->only_failures || compare->markdown) {
        print_total(compare);
    }
    if (compare->junit != NULL) {
        g_autofree char *xml = rep_junit_print(compare->comparisons);

        return table_file_write(compare->junit, xml, strlen(xml), error);
    }
    return true;
}

static int compare_main(const CmdVerb *verb, Compare *compare, int argc,
                        char **argv)
{
    const GOptionEntry entries[] = {
        {"key", 0, 0, G_OPTION_ARG_STRING, &compare->key,
         "Columns that tell the rows apart", "COLUMN,..."},
        {"x", 0, 0, G_OPTION_ARG_STRING, &compare->x,
         "Key column along a curve", "COLUMN"},
        {"tolerance", 0, 0, G_OPTION_ARG_STRING_ARRAY,
         &compare->tolerance_texts,
         "How far a number may be from the baseline; repeatable",
         "[COLUMN=]1%|+-0.02"},
        {"worst", 0, 0, G_OPTION_ARG_INT, &compare->n_worst,
         "Show the N worst points of a file (default: 10)", "N"},
        {"plot", 0, 0, G_OPTION_ARG_FILENAME, &compare->plot,
         "Draw NEW over BASELINE to PREFIX.svg and PREFIX.png, and the "
         "differences to PREFIX.delta.svg and .png",
         "PREFIX"},
        {"only-failures", 'f', 0, G_OPTION_ARG_NONE, &compare->only_failures,
         "Print only files and points that differ, and the total", NULL},
        {"markdown", 'm', 0, G_OPTION_ARG_NONE, &compare->markdown,
         "Print Markdown, for a comment on a pull request", NULL},
        {"one-sided", 0, 0, G_OPTION_ARG_NONE, &compare->one_sided,
         "Accept any change in the good direction of a column", NULL},
        {"subset", 0, 0, G_OPTION_ARG_NONE, &compare->subset,
         "Leave out points that NEW does not have", NULL},
        {"junit", 0, 0, G_OPTION_ARG_FILENAME, &compare->junit,
         "Write a JUnit report with a test case for each curve", "FILE"},
        G_OPTION_ENTRY_NULL,
    };
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (!set_options(compare, &error) ||
        !run(compare, args.words[0], args.words[1], &error)) {
        cmd_complain(argv[0], error);
        return CMD_USAGE;
    }
    return compare->is_different ? CMD_DIFFERENT : CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Compare compare = {
        .n_worst = 10,
        .tolerances =
            g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free),
        .comparisons =
            g_ptr_array_new_with_free_func((GDestroyNotify)rep_comparison_free),
        .columns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
    };
    int status = compare_main(verb, &compare, argc, argv);

    compare_done(&compare);
    return status;
}

const CmdVerb cmd_compare = {
    .name = "compare",
    .summary = "compare two result files, or two folders of them",
    .synopsis = "BASELINE NEW",
    .min_words = 2,
    .max_words = 2,
    .details = details,
    .run = run_verb};
