/* SPDX-License-Identifier: MIT */
#include "table_format.h"

/* Returns @text for a terminal: on one line, without control characters. */
static char *printable(const char *text)
{
    GString *clean = g_string_new(NULL);
    const char *c;

    for (c = text; *c != '\0'; c = g_utf8_next_char(c)) {
        gunichar u = g_utf8_get_char(c);

        if (u == '\n' || u == '\t') {
            u = ' ';
        } else if (!g_unichar_isprint(u) && !g_unichar_ismark(u)) {
            u = '?';
        }
        g_string_append_unichar(clean, u);
    }
    return g_string_free(clean, FALSE);
}

/* Returns the number of columns of a terminal that @text takes. */
static unsigned text_width(const char *text)
{
    unsigned width = 0;
    const char *c;

    for (c = text; *c != '\0'; c = g_utf8_next_char(c)) {
        gunichar u = g_utf8_get_char(c);

        if (!g_unichar_iszerowidth(u)) {
            width += g_unichar_iswide(u) ? 2 : 1;
        }
    }
    return width;
}

static void append_padded(GString *line, const char *text, unsigned width,
                          bool to_right)
{
    unsigned pad = width - text_width(text);

    g_string_append_printf(line, "%*s%s%*s", to_right ? (int)pad : 0, "", text,
                           to_right ? 0 : (int)pad, "");
}

static void end_line(GString *out)
{
    while (out->len > 0 && out->str[out->len - 1] == ' ') {
        g_string_truncate(out, out->len - 1);
    }
    g_string_append_c(out, '\n');
}

/* Returns the text of one cell. @row -1 is the header. */
static char *line_cell(const Table *table, int64_t row, unsigned column)
{
    g_autofree char *cell = NULL;

    if (row < 0) {
        return printable(table_column_name(table, column));
    }
    cell = table_dup_cell(table, (unsigned)row, column);
    return printable(cell);
}

/* Numbers are aligned to the right, even those in a text column. */
static bool is_right_aligned(const Table *table, unsigned column)
{
    unsigned row;

    if (table_column_type(table, column) != TABLE_TEXT) {
        return true;
    }
    for (row = 0; row < table_n_rows(table); row++) {
        const char *text = table_text(table, row, column);
        int64_t value;
        unsigned digits;

        if (*text != '\0' && !table_number_parse(text, &value, &digits)) {
            return false;
        }
    }
    return row > 0;
}

char *table_format(const Table *table)
{
    unsigned n_columns = table_n_columns(table);
    int64_t n_rows = table_n_rows(table);
    g_autofree unsigned *widths = g_new0(unsigned, n_columns + 1);
    g_autofree bool *to_right = g_new0(bool, n_columns + 1);
    GString *out = g_string_new(NULL);
    int64_t row;
    unsigned i;

    for (i = 0; i < n_columns; i++) {
        to_right[i] = is_right_aligned(table, i);
    }
    for (row = -1; row < n_rows; row++) {
        for (i = 0; i < n_columns; i++) {
            g_autofree char *cell = line_cell(table, row, i);

            widths[i] = MAX(widths[i], text_width(cell));
        }
    }
    for (row = -1; row < n_rows; row++) {
        for (i = 0; i < n_columns; i++) {
            g_autofree char *cell = line_cell(table, row, i);

            g_string_append(out, i > 0 ? "  " : "");
            append_padded(out, cell, widths[i], to_right[i]);
        }
        end_line(out);
        for (i = 0; row < 0 && i < n_columns; i++) {
            g_autofree char *rule = g_strnfill(widths[i], '-');

            g_string_append_printf(out, "%s%s", i > 0 ? "  " : "", rule);
        }
        if (row < 0) {
            end_line(out);
        }
    }
    return g_string_free(out, FALSE);
}

/* Appends @text as a cell of Markdown: a bar or a line end would end it. */
static void append_markdown(GString *out, const char *text)
{
    g_string_append(out, " ");
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '\\' || *text == '*' || *text == '_' ||
            *text == '`' || *text == '<') {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, *text == '\n' ? ' ' : *text);
    }
    g_string_append(out, " |");
}

void table_format_append(GString *text, const Table *table)
{
    g_autofree char *formatted = table_format(table);

    g_string_append(text, formatted);
}

char *table_format_markdown(const Table *table)
{
    GString *out = g_string_new("|");
    unsigned n_columns = table_n_columns(table);

    for (unsigned i = 0; i < n_columns; i++) {
        append_markdown(out, table_column_name(table, i));
    }
    g_string_append(out, "\n|");
    for (unsigned i = 0; i < n_columns; i++) {
        g_string_append(out, table_column_type(table, i) == TABLE_TEXT
                                 ? " --- |"
                                 : " ---: |");
    }
    g_string_append_c(out, '\n');
    for (unsigned row = 0; row < table_n_rows(table); row++) {
        g_string_append_c(out, '|');
        for (unsigned i = 0; i < n_columns; i++) {
            g_autofree char *cell = table_dup_cell(table, row, i);

            append_markdown(out, cell);
        }
        g_string_append_c(out, '\n');
    }
    return g_string_free(out, FALSE);
}
