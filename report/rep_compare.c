/* SPDX-License-Identifier: MIT */
#include "rep_compare_priv.h"

#include <string.h>

#include "rep_series.h"
#include "table_file.h"

/* Returns the index of the curve for the row's cell in the column @value. */
static unsigned find_curve(RepCompareWork *work, const Table *table,
                           unsigned row, const char *value)
{
    RepComparison *result = work->result;
    g_autofree char *id = NULL;
    g_autofree char *cells =
        rep_compare_join_key(table, row, result->curve_columns, REP_KEY_GLUE);
    unsigned index;
    RepCurve *curve;

    id = g_strconcat(cells, REP_KEY_GLUE, value, NULL);
    index = GPOINTER_TO_UINT(g_hash_table_lookup(work->curve_index, id));
    if (index > 0) {
        return index - 1;
    }
    curve = g_new0(RepCurve, 1);
    curve->name =
        rep_compare_join_key(table, row, result->curve_columns, " / ");
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

/* Adds the points of one row. @baseline_row and @fresh_row are row indices + 1;
 * 0 if the table does not have the row. */
static void add_points(RepCompareWork *work, unsigned baseline_row,
                       unsigned fresh_row)
{
    RepComparison *result = work->result;
    const Table *table = baseline_row > 0 ? work->baseline : work->fresh;
    unsigned row = (baseline_row > 0 ? baseline_row : fresh_row) - 1;
    unsigned i;

    for (i = 0; i + 1 < result->values->len; i++) {
        const char *value = result->values->pdata[i];
        RepPoint *point = g_new0(RepPoint, 1);

        point->curve = find_curve(work, table, row, value);
        point->key = rep_compare_join_key(table, row, result->keys, " / ");
        point->x = rep_compare_dup_key(table, row, result->x);
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
            rep_compare_judge(work, value, point);
        }
        g_ptr_array_add(result->points, point);
    }
}

static bool join_rows(RepCompareWork *work, GError **error)
{
    RepComparison *result = work->result;
    g_autofree char *twice = NULL;
    g_autoptr(GHashTable) baseline =
        rep_compare_index_rows(work->baseline, result->keys, &twice);
    g_autoptr(GHashTable) fresh =
        baseline ? rep_compare_index_rows(work->fresh, result->keys, &twice)
                 : NULL;
    unsigned row;

    if (!fresh) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: two rows of the %s file have the key \"%s\"; name "
                    "more columns of the key",
                    result->name, !baseline ? "baseline" : "new", twice);
        return false;
    }
    for (row = 0; row < table_n_rows(work->baseline); row++) {
        g_autofree char *key = rep_compare_join_key(work->baseline, row,
                                                    result->keys, REP_KEY_GLUE);

        if (!work->subset || g_hash_table_contains(fresh, key)) {
            add_points(work, row + 1,
                       GPOINTER_TO_UINT(g_hash_table_lookup(fresh, key)));
        }
    }
    for (row = 0; row < table_n_rows(work->fresh); row++) {
        g_autofree char *key =
            rep_compare_join_key(work->fresh, row, result->keys, REP_KEY_GLUE);

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
    /* The worst come first: points that one side lacks, then those outside the
     * tolerance. */
    static const int badness[] = {[REP_WITHIN] = 0,
                                  [REP_OUTSIDE] = 1,
                                  [REP_MISSING] = 2,
                                  [REP_EXTRA] = 2};
    int64_t error_x = magnitude_of(x->error_mpct);
    int64_t error_y = magnitude_of(y->error_mpct);

    if (badness[x->verdict] != badness[y->verdict]) {
        return badness[y->verdict] - badness[x->verdict];
    }
    /* A point within tolerance without an error is a text that is equal, or its
     * baseline is 0. */
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
    /* The sort is stable, so equal points stay in the order of their rows. */
    g_ptr_array_sort(result->points, compare_points);
}

RepComparison *rep_compare(const Table *baseline, const Table *fresh,
                           const RepCompareOptions *options, const char *name,
                           GError **error)
{
    g_autoptr(RepComparison) result = rep_comparison_new(name);
    g_autoptr(GPtrArray) head_tolerances =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free);
    g_autoptr(GHashTable) curve_index =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    RepCompareWork work = {result,
                           baseline,
                           fresh,
                           options->tolerances,
                           head_tolerances,
                           curve_index,
                           options->one_sided,
                           options->subset};

    if (!rep_is_exact(baseline, "the baseline", error) ||
        !rep_is_exact(fresh, "the other table", error) ||
        !rep_compare_set_columns(&work, options, error) ||
        !rep_compare_read_tolerances(&work, error) ||
        !join_rows(&work, error)) {
        return NULL;
    }
    sum_up(result);
    return g_steal_pointer(&result);
}
