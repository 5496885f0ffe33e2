/* SPDX-License-Identifier: MIT */
#include "rep_compare.h"

#include <string.h>

#include "table_file.h"

struct RepComparison {
    char *name;
    char *x;
    GPtrArray *keys;          /* of char *: all key columns */
    GPtrArray *curve_columns; /* of char *, NULL-terminated: keys but x */
    GPtrArray *values;        /* of char *, NULL-terminated */
    GPtrArray *curves;        /* of RepCurve * */
    GPtrArray *points;        /* of RepPoint * */
    RepCurve total;
};

/* What the comparison needs only while it is made. */
typedef struct Work {
    RepComparison *result;
    const Table *baseline;
    const Table *fresh;
    const GPtrArray *tolerances; /* nullable: the caller's */
    GPtrArray *head_tolerances;  /* from the baseline's head */
    GHashTable *curve_index;     /* name and column -> index + 1 */
} Work;

static void curve_free(gpointer data)
{
    RepCurve *curve = data;

    g_free(curve->name);
    g_free(curve);
}

static void point_free(gpointer data)
{
    RepPoint *point = data;

    g_free(point->key);
    g_free(point->x);
    g_free(point->baseline);
    g_free(point->fresh);
    g_free(point);
}

void rep_comparison_free(RepComparison *comparison)
{
    if (comparison == NULL) {
        return;
    }
    g_free(comparison->name);
    g_free(comparison->x);
    g_free(comparison->total.name);
    g_ptr_array_unref(comparison->keys);
    g_ptr_array_unref(comparison->curve_columns);
    g_ptr_array_unref(comparison->values);
    g_ptr_array_unref(comparison->curves);
    g_ptr_array_unref(comparison->points);
    g_free(comparison);
}

const char *rep_comparison_name(const RepComparison *comparison)
{
    return comparison->name;
}

unsigned rep_comparison_n_curves(const RepComparison *comparison)
{
    return comparison->curves->len;
}

const RepCurve *rep_comparison_curve(const RepComparison *comparison,
                                     unsigned index)
{
    return g_ptr_array_index(comparison->curves, index);
}

unsigned rep_comparison_n_points(const RepComparison *comparison)
{
    return comparison->points->len;
}

const RepPoint *rep_comparison_point(const RepComparison *comparison,
                                     unsigned index)
{
    return g_ptr_array_index(comparison->points, index);
}

const RepCurve *rep_comparison_total(const RepComparison *comparison)
{
    return &comparison->total;
}

bool rep_comparison_is_different(const RepComparison *comparison)
{
    const RepCurve *total = &comparison->total;

    return total->n_outside + total->n_missing + total->n_extra > 0;
}

const char *rep_comparison_x(const RepComparison *comparison)
{
    return comparison->x;
}

const char *const *rep_comparison_curve_columns(const RepComparison *c)
{
    return (const char *const *)c->curve_columns->pdata;
}

const char *const *rep_comparison_values(const RepComparison *comparison)
{
    return (const char *const *)comparison->values->pdata;
}

static char *key_cell(const Table *table, unsigned row, const char *name)
{
    unsigned column = 0;

    table_find_column(table, name, &column);
    return table_dup_key(table, row, column);
}

/* The cells of the columns @names (NULL-terminated), joined by @glue. */
static char *join_cells(const Table *table, unsigned row,
                        const GPtrArray *names, const char *glue)
{
    GString *joined = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < names->len && names->pdata[i] != NULL; i++) {
        g_autofree char *cell = key_cell(table, row, names->pdata[i]);

        g_string_append_printf(joined, "%s%s", i > 0 ? glue : "", cell);
    }
    return g_string_free(joined, FALSE);
}

/* Key cells as they are joined to find a row: no cell holds this character. */
#define KEY_GLUE "\x1f"

/* Maps the key of each row to its index + 1. Returns NULL if two rows have the
 * same; *ret_twice is then the key. */
static GHashTable *index_rows(const Table *table, const GPtrArray *keys,
                              char **ret_twice)
{
    g_autoptr(GHashTable) rows =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    unsigned row;

    for (row = 0; row < table_n_rows(table); row++) {
        char *key = join_cells(table, row, keys, KEY_GLUE);

        if (!g_hash_table_insert(rows, key, GUINT_TO_POINTER(row + 1))) {
            *ret_twice = join_cells(table, row, keys, " / ");
            return NULL;
        }
    }
    return g_steal_pointer(&rows);
}

/* Chooses the number of leading columns that are the key by the rule that
 * "farside compare --help" states. */
static unsigned count_keys(const Table *table)
{
    unsigned n_columns = table_n_columns(table);
    unsigned n_keys = 0;

    while (n_keys < n_columns &&
           table_column_type(table, n_keys) != TABLE_DECIMAL) {
        n_keys++;
    }
    if (n_keys == n_columns) {
        n_keys = 0;
        while (n_keys < n_columns &&
               table_column_type(table, n_keys) == TABLE_TEXT) {
            n_keys++;
        }
    }
    return CLAMP(n_keys, 1, MAX(n_columns, 2) - 1);
}

static void choose_keys(const Table *table, GPtrArray *keys)
{
    unsigned n_keys = count_keys(table);
    unsigned i;

    for (i = 0; i < n_keys; i++) {
        g_ptr_array_add(keys, g_strdup(table_column_name(table, i)));
    }
    for (; i + 1 < table_n_columns(table); i++) {
        g_autofree char *twice = NULL;
        g_autoptr(GHashTable) rows = index_rows(table, keys, &twice);

        if (rows != NULL) {
            break;
        }
        g_ptr_array_add(keys, g_strdup(table_column_name(table, i)));
    }
}

static bool is_in(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Sets the key columns: the caller's, those the baseline's head names, or by
 * rule. */
static bool set_keys(Work *work, const char *const *given, GError **error)
{
    GPtrArray *keys = work->result->keys;
    const char *head = table_find_head(work->baseline, "key");
    unsigned i;

    if (given == NULL && head == NULL) {
        choose_keys(work->baseline, keys);
    } else {
        g_auto(GStrv) named = given != NULL ? g_strdupv((char **)given)
                                            : g_strsplit(head, ",", -1);

        for (i = 0; named[i] != NULL; i++) {
            g_strstrip(named[i]);
            if (*named[i] != '\0' && !is_in(keys, named[i])) {
                g_ptr_array_add(keys, g_strdup(named[i]));
            }
        }
    }
    if (keys->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the key is empty", work->result->name);
        return false;
    }
    for (i = 0; i < keys->len; i++) {
        const char *key = keys->pdata[i];

        if (!table_find_column(work->baseline, key, NULL) ||
            !table_find_column(work->fresh, key, NULL)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s: the %s file has no column \"%s\", which is part "
                        "of the key",
                        work->result->name,
                        table_find_column(work->baseline, key, NULL)
                            ? "new"
                            : "baseline",
                        key);
            return false;
        }
    }
    return true;
}

static bool is_number_column(const Table *table, const char *name)
{
    unsigned column = 0;

    table_find_column(table, name, &column);
    return table_column_type(table, column) != TABLE_TEXT;
}

/* Sets the x column: the caller's, else the last key column of numbers, else
 * the first key column. */
static bool set_x(Work *work, const char *given, GError **error)
{
    RepComparison *result = work->result;
    unsigned i;

    if (given != NULL && !is_in(result->keys, given)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the x column \"%s\" is not part of the key",
                    result->name, given);
        return false;
    }
    if (given == NULL) {
        given = result->keys->pdata[0];
        for (i = 0; i < result->keys->len; i++) {
            if (is_number_column(work->baseline, result->keys->pdata[i])) {
                given = result->keys->pdata[i];
            }
        }
    }
    result->x = g_strdup(given);
    return true;
}

/* Sorts the columns into those that name a curve and those with values. */
static bool set_curves_and_values(Work *work, GError **error)
{
    RepComparison *result = work->result;
    unsigned i;

    for (i = 0; i < result->keys->len; i++) {
        if (strcmp(result->keys->pdata[i], result->x) != 0) {
            g_ptr_array_add(result->curve_columns,
                            g_strdup(result->keys->pdata[i]));
        }
    }
    g_ptr_array_add(result->curve_columns, NULL);
    for (i = 0; i < table_n_columns(work->baseline); i++) {
        const char *name = table_column_name(work->baseline, i);

        if (!is_in(result->keys, name)) {
            g_ptr_array_add(result->values, g_strdup(name));
        }
    }
    if (result->values->len == 0 || table_n_rows(work->baseline) == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the baseline has no %s to compare", result->name,
                    result->values->len == 0 ? "column beside the key"
                                             : "rows");
        return false;
    }
    g_ptr_array_add(result->values, NULL);
    return true;
}

static bool read_head_tolerances(Work *work, GError **error)
{
    unsigned i;

    for (i = 0; i < table_n_heads(work->baseline); i++) {
        RepTolerance *tolerance;

        if (strcmp(table_head_key(work->baseline, i), "tolerance") != 0) {
            continue;
        }
        tolerance =
            rep_tolerance_parse(table_head_value(work->baseline, i), error);
        if (tolerance == NULL) {
            g_prefix_error(error, "%s: ", work->result->name);
            return false;
        }
        g_ptr_array_add(work->head_tolerances, tolerance);
        if (tolerance->column != NULL &&
            !table_find_column(work->baseline, tolerance->column, NULL)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s: a tolerance for \"%s\", but there is no such "
                        "column",
                        work->result->name, tolerance->column);
            return false;
        }
    }
    return true;
}

/* A pair of cells that are both numbers, in units of 10^-9. */
typedef struct Pair {
    RepWide baseline;
    RepWide difference;
} Pair;

/* Looks at the tolerances in @list for exactly @column (NULL: for every
 * column); *ret_found tells whether there was one, the result whether one of
 * them is met. */
static bool meets_any(const GPtrArray *list, const char *column,
                      const Pair *pair, bool *ret_found)
{
    unsigned i;

    *ret_found = false;
    for (i = 0; list != NULL && i < list->len; i++) {
        const RepTolerance *tolerance = list->pdata[i];

        if (g_strcmp0(tolerance->column, column) == 0) {
            *ret_found = true;
            if (rep_tolerance_is_met(tolerance, pair->baseline,
                                     pair->difference)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_tolerated(const Work *work, const char *column, const Pair *pair)
{
    const GPtrArray *lists[] = {work->tolerances, work->head_tolerances};
    const char *names[] = {column, NULL};
    unsigned i;

    if (pair->difference == 0) {
        return true;
    }
    for (i = 0; i < 4; i++) {
        bool is_found;
        bool is_within = meets_any(lists[i / 2], names[i % 2], pair, &is_found);

        if (is_found) {
            return is_within;
        }
    }
    return false;
}

/* Judges two cells that are both there. */
static void judge(const Work *work, const char *column, RepPoint *point)
{
    int64_t baseline;
    int64_t fresh;
    unsigned baseline_digits;
    unsigned fresh_digits;
    bool is_within;

    if (table_number_parse(point->baseline, &baseline, &baseline_digits) &&
        table_number_parse(point->fresh, &fresh, &fresh_digits)) {
        Pair pair = {.baseline = rep_widen(baseline, baseline_digits)};
        RepWide value = rep_widen(fresh, fresh_digits);

        pair.difference = value - pair.baseline;
        point->error_mpct =
            pair.difference == 0 ? 0 : rep_error_mpct(value, pair.baseline);
        is_within = is_tolerated(work, column, &pair);
    } else {
        is_within = strcmp(point->baseline, point->fresh) == 0;
    }
    point->verdict = is_within ? REP_WITHIN : REP_OUTSIDE;
}

/* The index of the curve that the row's cell of @value belongs to. */
static unsigned find_curve(Work *work, const Table *table, unsigned row,
                           const char *value)
{
    RepComparison *result = work->result;
    g_autofree char *id = NULL;
    g_autofree char *cells =
        join_cells(table, row, result->curve_columns, KEY_GLUE);
    unsigned index;
    RepCurve *curve;

    id = g_strconcat(cells, KEY_GLUE, value, NULL);
    index = GPOINTER_TO_UINT(g_hash_table_lookup(work->curve_index, id));
    if (index > 0) {
        return index - 1;
    }
    curve = g_new0(RepCurve, 1);
    curve->name = join_cells(table, row, result->curve_columns, " / ");
    if (*curve->name == '\0') {
        g_free(curve->name);
        curve->name = g_strdup("all");
    }
    curve->column = value;
    g_ptr_array_add(result->curves, curve);
    g_hash_table_insert(work->curve_index, g_steal_pointer(&id),
                        GUINT_TO_POINTER(result->curves->len));
    return result->curves->len - 1;
}

static char *dup_value(const Table *table, unsigned row, const char *name)
{
    unsigned column;

    if (!table_find_column(table, name, &column)) {
        return g_strdup("");
    }
    return table_dup_cell(table, row, column);
}

/* Adds the points of one row. @baseline_row and @fresh_row are indices + 1, 0
 * if that table does not have the row. */
static void add_points(Work *work, unsigned baseline_row, unsigned fresh_row)
{
    RepComparison *result = work->result;
    const Table *table = baseline_row > 0 ? work->baseline : work->fresh;
    unsigned row = (baseline_row > 0 ? baseline_row : fresh_row) - 1;
    unsigned i;

    for (i = 0; i + 1 < result->values->len; i++) {
        const char *value = result->values->pdata[i];
        RepPoint *point = g_new0(RepPoint, 1);

        point->curve = find_curve(work, table, row, value);
        point->key = join_cells(table, row, result->keys, " / ");
        point->x = key_cell(table, row, result->x);
        point->error_mpct = TABLE_NONE;
        point->baseline = baseline_row > 0 ? dup_value(work->baseline,
                                                       baseline_row - 1, value)
                                           : g_strdup("");
        point->fresh = fresh_row > 0
                           ? dup_value(work->fresh, fresh_row - 1, value)
                           : g_strdup("");
        if (baseline_row == 0) {
            point->verdict = REP_EXTRA;
        } else if (fresh_row == 0 ||
                   (*point->fresh == '\0' && *point->baseline != '\0')) {
            point->verdict = REP_MISSING;
        } else if (*point->baseline == '\0' && *point->fresh != '\0') {
            point->verdict = REP_EXTRA;
        } else {
            judge(work, value, point);
        }
        g_ptr_array_add(result->points, point);
    }
}

static bool join_rows(Work *work, GError **error)
{
    RepComparison *result = work->result;
    g_autofree char *twice = NULL;
    g_autoptr(GHashTable) baseline =
        index_rows(work->baseline, result->keys, &twice);
    g_autoptr(GHashTable) fresh =
        baseline != NULL ? index_rows(work->fresh, result->keys, &twice) : NULL;
    unsigned row;

    if (fresh == NULL) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: two rows of the %s file have the key \"%s\"; name "
                    "more columns of the key",
                    result->name, baseline == NULL ? "baseline" : "new", twice);
        return false;
    }
    for (row = 0; row < table_n_rows(work->baseline); row++) {
        g_autofree char *key =
            join_cells(work->baseline, row, result->keys, KEY_GLUE);

        add_points(work, row + 1,
                   GPOINTER_TO_UINT(g_hash_table_lookup(fresh, key)));
    }
    for (row = 0; row < table_n_rows(work->fresh); row++) {
        g_autofree char *key =
            join_cells(work->fresh, row, result->keys, KEY_GLUE);

        if (!g_hash_table_contains(baseline, key)) {
            add_points(work, 0, row + 1);
        }
    }
    return true;
}

static int64_t magnitude_of(int64_t mpct)
{
    return mpct == TABLE_NONE ? REP_MPCT_MAX + 1 : ABS(mpct);
}

static void count_point(RepCurve *curve, const RepPoint *point)
{
    curve->n_points +=
        point->verdict == REP_WITHIN || point->verdict == REP_OUTSIDE;
    curve->n_outside += point->verdict == REP_OUTSIDE;
    curve->n_missing += point->verdict == REP_MISSING;
    curve->n_extra += point->verdict == REP_EXTRA;
    if (point->error_mpct != TABLE_NONE) {
        rep_errors_take(&curve->errors, point->error_mpct, point->x);
    }
}

static int compare_points(gconstpointer a, gconstpointer b)
{
    const RepPoint *x = *(RepPoint *const *)a;
    const RepPoint *y = *(RepPoint *const *)b;
    /* Worst first: there or not there comes before too far away. */
    static const int badness[] = {[REP_WITHIN] = 0,
                                  [REP_OUTSIDE] = 1,
                                  [REP_MISSING] = 2,
                                  [REP_EXTRA] = 2};
    int64_t error_x = magnitude_of(x->error_mpct);
    int64_t error_y = magnitude_of(y->error_mpct);

    if (badness[x->verdict] != badness[y->verdict]) {
        return badness[y->verdict] - badness[x->verdict];
    }
    /* A point within tolerance that has no error is text that is equal. */
    if (x->verdict == REP_WITHIN) {
        error_x = x->error_mpct == TABLE_NONE ? -1 : error_x;
        error_y = y->error_mpct == TABLE_NONE ? -1 : error_y;
    }
    return (error_x < error_y) - (error_x > error_y);
}

static void sum_up(RepComparison *result)
{
    unsigned i;

    for (i = 0; i < result->points->len; i++) {
        const RepPoint *point = result->points->pdata[i];

        count_point(result->curves->pdata[point->curve], point);
        count_point(&result->total, point);
    }
    for (i = 0; i < result->curves->len; i++) {
        RepCurve *curve = result->curves->pdata[i];

        rep_errors_finish(&curve->errors);
    }
    rep_errors_finish(&result->total.errors);
    /* Stable, so that equals stay in the order of the rows. */
    g_ptr_array_sort(result->points, compare_points);
}

RepComparison *rep_compare(const Table *baseline, const Table *fresh,
                           const RepCompareOptions *options, const char *name,
                           GError **error)
{
    g_autoptr(RepComparison) result = g_new0(RepComparison, 1);
    g_autoptr(GPtrArray) head_tolerances =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free);
    g_autoptr(GHashTable) curve_index =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Work work = {result,          baseline,   fresh, options->tolerances,
                 head_tolerances, curve_index};

    result->name = g_strdup(name);
    result->keys = g_ptr_array_new_with_free_func(g_free);
    result->curve_columns = g_ptr_array_new_with_free_func(g_free);
    result->values = g_ptr_array_new_with_free_func(g_free);
    result->curves = g_ptr_array_new_with_free_func(curve_free);
    result->points = g_ptr_array_new_with_free_func(point_free);
    result->total.name = g_strdup("all");
    if (!set_keys(&work, options->keys, error) ||
        !set_x(&work, options->x, error) ||
        !set_curves_and_values(&work, error) ||
        !read_head_tolerances(&work, error) || !join_rows(&work, error)) {
        return NULL;
    }
    sum_up(result);
    return g_steal_pointer(&result);
}
