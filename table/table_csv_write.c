/* SPDX-License-Identifier: MIT */
#include "table_csv.h"

#include <string.h>

#include "table_csv_priv.h"

/* Returns true if @text without quotes would be read as something else: several
 * cells, a comment, a byte order mark, or an empty line. */
static bool needs_quotes(const char *text, bool is_alone)
{
    if (*text == '\0') {
        return is_alone;
    }
    return strpbrk(text, ",\"\n\t") || *text == '#' || *text == ' ' ||
           text[strlen(text) - 1] == ' ' ||
           g_str_has_prefix(text, TABLE_BYTE_ORDER_MARK);
}

static void append_cell(GString *csv, const char *text, bool is_alone)
{
    const char *c;

    if (!needs_quotes(text, is_alone)) {
        g_string_append(csv, text);
        return;
    }
    g_string_append_c(csv, '"');
    for (c = text; *c != '\0'; c++) {
        if (*c == '"') {
            g_string_append_c(csv, '"');
        }
        g_string_append_c(csv, *c);
    }
    g_string_append_c(csv, '"');
}

char *table_to_csv(const Table *table)
{
    GString *csv = g_string_new(NULL);
    unsigned n_columns = table_n_columns(table);
    unsigned row;
    unsigned i;

    for (i = 0; i < table_n_heads(table); i++) {
        const char *key = table_head_key(table, i);

        g_string_append_printf(csv, "# %s%s %s\n", key,
                               strcmp(key, "farside") == 0 ? "" : ":",
                               table_head_value(table, i));
    }
    for (i = 0; i < n_columns; i++) {
        g_string_append(csv, i > 0 ? "," : "");
        append_cell(csv, table_column_name(table, i), n_columns == 1);
    }
    g_string_append_c(csv, '\n');
    for (row = 0; row < table_n_rows(table); row++) {
        for (i = 0; i < n_columns; i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);

            g_string_append(csv, i > 0 ? "," : "");
            append_cell(csv, cell, n_columns == 1);
        }
        g_string_append_c(csv, '\n');
    }
    return g_string_free(csv, FALSE);
}

bool table_write(const Table *table, const char *path, GError **error)
{
    g_autofree char *csv = table_to_csv(table);

    return table_file_write(path, csv, strlen(csv), error);
}
