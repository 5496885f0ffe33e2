/* SPDX-License-Identifier: MIT */
#include "rep_compare_priv.h"

#include <string.h>

#include "rep_series.h"

#include "table_file.h"

char *rep_compare_dup_key(const Table *table, unsigned row, const char *name)
{
    unsigned column = 0;

    table_find_column(table, name, &column);
    return table_dup_key(table, row, column);
}

char *rep_compare_join_key(const Table *table, unsigned row,
                           const GPtrArray *names, const char *glue)
{
    GString *joined = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < names->len && names->pdata[i]; i++) {
        g_autofree char *cell =
            rep_compare_dup_key(table, row, names->pdata[i]);

        g_string_append_printf(joined, "%s%s", i > 0 ? glue : "", cell);
    }
    return g_string_free(joined, FALSE);
}

GHashTable *rep_compare_index_rows(const Table *table, const GPtrArray *keys,
                                   char **ret_twice)
{
    g_autoptr(GHashTable) rows =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    unsigned row;

    for (row = 0; row < table_n_rows(table); row++) {
        char *key = rep_compare_join_key(table, row, keys, REP_KEY_GLUE);

        if (!g_hash_table_insert(rows, key, GUINT_TO_POINTER(row + 1))) {
            *ret_twice = rep_compare_join_key(table, row, keys, " / ");
            return NULL;
        }
    }
    return g_steal_pointer(&rows);
}

/* Returns how many leading columns are the key, by the rule in "farside compare
 * --help". */
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
        g_autoptr(GHashTable) rows =
            rep_compare_index_rows(table, keys, &twice);

        if (rows) {
            break;
        }
        g_ptr_array_add(keys, g_strdup(table_column_name(table, i)));
    }
}

static bool is_in(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Sets the key columns: those that the caller gives, or those in the head of
 * the baseline, or those that the rule gives. */
static bool set_keys(RepCompareWork *work, const char *const *given,
                     GError **error)
{
    GPtrArray *keys = work->result->keys;
    const char *head = table_find_head(work->baseline, "key");
    unsigned i;

    if (!given && !head) {
        choose_keys(work->baseline, keys);
    } else {
        g_auto(GStrv) named =
            given ? g_strdupv((char **)given) : g_strsplit(head, ",", -1);

        for (i = 0; named[i]; i++) {
            g_strstrip(named[i]);
            if (*named[i] != '\0' && !is_in(keys, named[i])) {
                g_ptr_array_add(keys, g_strdup(named[i]));
            }
        }
    }
    if (keys->len == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the key is empty; name at least one column",
                    work->result->name);
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

/* Sets the x column: the one that the caller gives, or the last key column of
 * numbers, or the first key column. */
static bool set_x(RepCompareWork *work, const char *given, GError **error)
{
    RepComparison *result = work->result;
    unsigned i;

    if (given && !is_in(result->keys, given)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: the x column \"%s\" is not part of the key",
                    result->name, given);
        return false;
    }
    if (!given) {
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
static bool set_curves_and_values(RepCompareWork *work, GError **error)
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

        if (!is_in(result->keys, name) &&
            !rep_is_spread(work->baseline, name)) {
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

bool rep_compare_set_columns(RepCompareWork *work,
                             const RepCompareOptions *options, GError **error)
{
    return set_keys(work, options->keys, error) &&
           set_x(work, options->x, error) && set_curves_and_values(work, error);
}
