/* SPDX-License-Identifier: MIT */
#include "table_pivot.h"

#include <string.h>

/* Returns the name of the curve's column. It is never @taken, the name of the
 * first column. */
static char *curve_name(const Table *table, unsigned row,
                        const unsigned *curves, unsigned n_curves,
                        const char *taken)
{
    GString *name = g_string_new(NULL);
    unsigned i;

    for (i = 0; i < n_curves; i++) {
        g_autofree char *cell = table_dup_cell(table, row, curves[i]);

        g_string_append_printf(name, "%s%s", i > 0 ? " / " : "", cell);
    }
    if (strcmp(name->str, taken) == 0) {
        g_string_prepend(name, "curve ");
    }
    return g_string_free(name, FALSE);
}

static void copy_cell(const Table *from, unsigned from_row,
                      unsigned from_column, Table *to, unsigned to_row,
                      unsigned to_column)
{
    if (table_column_type(from, from_column) == TABLE_TEXT) {
        table_set_text(to, to_row, to_column,
                       table_text(from, from_row, from_column));
    } else {
        table_set_number(to, to_row, to_column,
                         table_number(from, from_row, from_column));
    }
}

Table *table_pivot(const Table *table, unsigned row_column,
                   const unsigned *curves, unsigned n_curves,
                   unsigned value_column)
{
    g_autoptr(Table) pivot = table_new();
    g_autoptr(GHashTable) taken_cells =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) rows =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *taken = table_column_name(table, row_column);
    unsigned row;

    table_add_column(pivot, taken, table_column_type(table, row_column),
                     table_column_digits(table, row_column));
    for (row = 0; row < table_n_rows(table); row++) {
        g_autofree char *name = curve_name(table, row, curves, n_curves, taken);

        if (!table_find_column(pivot, name, NULL)) {
            table_add_column(pivot, name,
                             table_column_type(table, value_column),
                             table_column_digits(table, value_column));
        }
    }
    for (row = 0; row < table_n_rows(table); row++) {
        g_autofree char *name = curve_name(table, row, curves, n_curves, taken);
        char *key = table_dup_cell(table, row, row_column);
        unsigned to = GPOINTER_TO_UINT(g_hash_table_lookup(rows, key));
        unsigned column = 0;

        if (to == 0) {
            to = table_add_row(pivot) + 1;
            copy_cell(table, row, row_column, pivot, to - 1, 0);
        }
        g_hash_table_insert(rows, key, GUINT_TO_POINTER(to));
        table_find_column(pivot, name, &column);
        if (!g_hash_table_add(taken_cells,
                              g_strdup_printf("%u %u", to, column))) {
            return NULL;
        }
        copy_cell(table, row, value_column, pivot, to - 1, column);
    }
    return g_steal_pointer(&pivot);
}
