/* SPDX-License-Identifier: MIT */
#include "table_csv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "table_csv_priv.h"

/* Bounds far beyond any real result. They keep a hostile file from taking more
 * than some hundred megabytes of memory. */
#define FILE_BYTES_MAX (32u << 20)
#define CELL_BYTES_MAX (64u << 10)
#define COLUMNS_MAX    256u
#define CELLS_MAX      (1u << 20)

/* The state while one file is read. */
typedef struct Reader {
    const char *name;
    const char *at;
    const char *end;
    unsigned line;       /* line number of @at, from 1 */
    GStringChunk *texts; /* owns the cells' texts */
    GString *cell;
    GPtrArray *record; /* the cells of the record that was read last */
} Reader;

/* All cells of the file, row by row, before their types are known. */
typedef struct Cells {
    GPtrArray *texts;
    GArray *lines; /* of unsigned: the line in which each row began */
    unsigned n_columns;
} Cells;

static bool fail(const Reader *reader, unsigned line, GError **error,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

static bool fail(const Reader *reader, unsigned line, GError **error,
                 const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX, "%s:%u: %s",
                reader->name, line, what);
    return false;
}

/* Refuses bytes that must not be in any line of a table. It runs before
 * anything is parsed. */
static bool check_characters(const Reader *reader, GError **error)
{
    const char *bad = NULL;
    unsigned line = 1;
    const char *c;

    g_utf8_validate_len(reader->at, (gsize)(reader->end - reader->at), &bad);
    for (c = reader->at; c < reader->end; c++) {
        if (*c == '\0') {
            return fail(reader, line, error,
                        "a NUL byte: this is no text file");
        }
        if (c == bad) {
            return fail(reader, line, error, "text that is not UTF-8");
        }
        if (*c == '\n') {
            line++;
        } else if (((unsigned char)*c < 0x20 && *c != '\t' && *c != '\r') ||
                   *c == 0x7f) {
            return fail(reader, line, error,
                        "control character 0x%02x in a text file",
                        (unsigned)*c);
        }
    }
    return true;
}

static bool at_line_end(const Reader *reader)
{
    return reader->at == reader->end || *reader->at == '\n' ||
           (*reader->at == '\r' && reader->at + 1 < reader->end &&
            reader->at[1] == '\n');
}

static void skip_line_end(Reader *reader)
{
    if (reader->at < reader->end && *reader->at == '\r') {
        reader->at++;
    }
    if (reader->at < reader->end) {
        reader->at++;
        reader->line++;
    }
}

/* Reads a quoted cell. @at is just behind the opening quote. */
static bool read_quoted(Reader *reader, GError **error)
{
    unsigned first_line = reader->line;

    for (;;) {
        if (reader->at == reader->end) {
            return fail(reader, first_line, error,
                        "a quote that is opened here is never closed");
        }
        if (*reader->at == '"') {
            reader->at++;
            if (reader->at == reader->end || *reader->at != '"') {
                break;
            }
        }
        if (*reader->at == '\n') {
            reader->line++;
        }
        /* RFC 4180 keeps line ends inside quotes. Here they always become
         * "\n". */
        if (*reader->at != '\r') {
            g_string_append_c(reader->cell, *reader->at);
        }
        reader->at++;
    }
    if (!at_line_end(reader) && *reader->at != ',') {
        return fail(reader, reader->line, error,
                    "text after a closing quote: a quote inside a quoted cell "
                    "is written twice");
    }
    return true;
}

static bool read_cell(Reader *reader, GError **error)
{
    g_string_truncate(reader->cell, 0);
    if (reader->at < reader->end && *reader->at == '"') {
        reader->at++;
        if (!read_quoted(reader, error)) {
            return false;
        }
    } else {
        while (!at_line_end(reader) && *reader->at != ',') {
            if (*reader->at == '"' || *reader->at == '\r') {
                return fail(reader, reader->line, error,
                            "this line is no CSV: a quote or carriage return "
                            "in a cell that is not quoted");
            }
            g_string_append_c(reader->cell, *reader->at++);
        }
    }
    if (reader->cell->len > CELL_BYTES_MAX) {
        return fail(reader, reader->line, error,
                    "a cell of %zu bytes; at most %u are taken",
                    reader->cell->len, CELL_BYTES_MAX);
    }
    return true;
}

/* Reads one record, up to and including its line end. */
static bool read_record(Reader *reader, GError **error)
{
    g_ptr_array_set_size(reader->record, 0);
    for (;;) {
        if (!read_cell(reader, error)) {
            return false;
        }
        if (reader->record->len == COLUMNS_MAX) {
            return fail(reader, reader->line, error, "more than %u columns",
                        COLUMNS_MAX);
        }
        g_ptr_array_add(reader->record, g_string_chunk_insert_const(
                                            reader->texts, reader->cell->str));
        if (at_line_end(reader)) {
            skip_line_end(reader);
            return true;
        }
        reader->at++;
    }
}

/* Adds "# KEY: VALUE" to the table's head, and "# farside VERSION", which has
 * no colon. Other comments are skipped. */
static void read_comment(Reader *reader, Table *table)
{
    const char *start = reader->at;
    g_autofree char *text = NULL;
    const char *colon;
    char *key;

    while (!at_line_end(reader)) {
        reader->at++;
    }
    text = g_strndup(start + 1, (gsize)(reader->at - start - 1));
    skip_line_end(reader);
    key = g_strstrip(text);
    if (g_str_has_prefix(key, "farside ")) {
        table_add_head(table, "farside", key + strlen("farside "));
        return;
    }
    colon = strchr(key, ':');
    if (colon && colon > key) {
        g_autofree char *name = g_strndup(key, (gsize)(colon - key));

        table_add_head(table, g_strstrip(name), colon + 1);
    }
}

static bool check_header(const Reader *reader, unsigned line, GError **error)
{
    unsigned i;
    unsigned j;

    for (i = 0; i < reader->record->len; i++) {
        const char *name = g_ptr_array_index(reader->record, i);

        if (*name == '\0') {
            return fail(reader, line, error, "column %u has no name", i + 1);
        }
        for (j = 0; j < i; j++) {
            if (strcmp(name, g_ptr_array_index(reader->record, j)) == 0) {
                return fail(reader, line, error, "two columns named \"%s\"",
                            name);
            }
        }
    }
    return true;
}

/* Adds the record that was read last to @cells. The first record is the
 * header. */
static bool take_record(const Reader *reader, unsigned line, Cells *cells,
                        GError **error)
{
    unsigned i;

    if (cells->n_columns == 0) {
        if (!check_header(reader, line, error)) {
            return false;
        }
        cells->n_columns = reader->record->len;
    }
    if (reader->record->len != cells->n_columns) {
        return fail(reader, line, error,
                    "this line is no row of the table: %u cell%s, but the "
                    "header has %u",
                    reader->record->len, reader->record->len == 1 ? "" : "s",
                    cells->n_columns);
    }
    if (cells->texts->len + reader->record->len > CELLS_MAX) {
        return fail(reader, line, error, "more than %u cells", CELLS_MAX);
    }
    for (i = 0; i < reader->record->len; i++) {
        g_ptr_array_add(cells->texts, g_ptr_array_index(reader->record, i));
    }
    g_array_append_val(cells->lines, line);
    return true;
}

static const char *cell_text(const Cells *cells, unsigned row, unsigned column)
{
    return g_ptr_array_index(cells->texts, row * cells->n_columns + column);
}

/* Returns true if @text looks like a number, even one with too many digits. */
static bool looks_numeric(const char *text)
{
    int64_t value;
    unsigned digits;
    const char *c = text + (*text == '-');
    unsigned points = 0;

    if (table_number_parse(text, &value, &digits)) {
        return true;
    }
    if (!g_ascii_isdigit(*c) || (*c == '0' && g_ascii_isdigit(c[1]))) {
        return false;
    }
    for (; *c != '\0'; c++) {
        points += *c == '.';
        if (!g_ascii_isdigit(*c) && *c != '.') {
            return false;
        }
    }
    return points <= 1 && c[-1] != '.';
}

/* True if @text is a cell of a column of numbers without one. */
static bool is_no_number(const char *text)
{
    return *text == '\0' || strcmp(text, TABLE_FAILED) == 0;
}

/* Derives the type of a column from its cells and adds it to the table. */
static bool add_column(const Reader *reader, const Cells *cells,
                       unsigned column, Table *table, GError **error)
{
    const char *name = cell_text(cells, 0, column);
    unsigned most = 0;
    bool has_number = false;
    unsigned row;

    for (row = 1; row < cells->lines->len; row++) {
        const char *text = cell_text(cells, row, column);

        if (!is_no_number(text) && !looks_numeric(text)) {
            table_add_column(table, name, TABLE_TEXT, 0);
            return true;
        }
        /* "failed" stands for a number. */
        has_number = has_number || *text != '\0';
    }
    if (!has_number) {
        table_add_column(table, name, TABLE_TEXT, 0);
        return true;
    }
    for (row = 1; row < cells->lines->len; row++) {
        const char *text = cell_text(cells, row, column);
        unsigned digits = 0;
        int64_t value;

        if (!is_no_number(text) && !table_number_parse(text, &value, &digits)) {
            return fail(reader, g_array_index(cells->lines, unsigned, row),
                        error,
                        "column \"%s\": %.40s has too many digits, or more "
                        "than %d of them after the point",
                        name, text, TABLE_DIGITS_MAX);
        }
        most = MAX(most, digits);
    }
    table_add_column(table, name, most > 0 ? TABLE_DECIMAL : TABLE_INTEGER,
                     most);
    return true;
}

static bool fill_rows(const Reader *reader, const Cells *cells, Table *table,
                      GError **error)
{
    unsigned row;
    unsigned column;

    table_set_line(table, TABLE_HEADER_ROW,
                   g_array_index(cells->lines, unsigned, 0));
    for (row = 1; row < cells->lines->len; row++) {
        unsigned to = table_add_row(table);

        table_set_line(table, to, g_array_index(cells->lines, unsigned, row));
        for (column = 0; column < cells->n_columns; column++) {
            const char *text = cell_text(cells, row, column);
            unsigned most = table_column_digits(table, column);
            unsigned digits = 0;
            int64_t value = TABLE_NONE;

            if (table_column_type(table, column) == TABLE_TEXT) {
                table_set_text(table, to, column, text);
                continue;
            }
            if (is_no_number(text)) {
                if (*text) {
                    table_set_failed(table, to, column);
                }
                continue;
            }
            if (!table_number_parse(text, &value, &digits) ||
                !table_number_scale(&value, most - digits)) {
                return fail(reader, g_array_index(cells->lines, unsigned, row),
                            error,
                            "column \"%s\": %.40s is too large beside numbers "
                            "of %u digits after the point",
                            table_column_name(table, column), text, most);
            }
            table_set_number(table, to, column, value);
        }
    }
    return true;
}

static bool parse(Reader *reader, Cells *cells, Table *table, GError **error)
{
    unsigned column;

    if (!check_characters(reader, error)) {
        return false;
    }
    if (reader->end - reader->at >= 3 &&
        memcmp(reader->at, TABLE_BYTE_ORDER_MARK, 3) == 0) {
        reader->at += 3;
    }
    while (reader->at < reader->end) {
        unsigned line = reader->line;

        if (at_line_end(reader)) {
            skip_line_end(reader);
        } else if (*reader->at == '#') {
            read_comment(reader, table);
        } else if (!read_record(reader, error) ||
                   !take_record(reader, line, cells, error)) {
            return false;
        }
    }
    if (cells->n_columns == 0) {
        return fail(reader, reader->line, error,
                    "no header: the first line that is no comment must name "
                    "the columns");
    }
    for (column = 0; column < cells->n_columns; column++) {
        if (!add_column(reader, cells, column, table, error)) {
            return false;
        }
    }
    return fill_rows(reader, cells, table, error);
}

Table *table_parse(const char *data, gsize length, const char *name,
                   GError **error)
{
    g_autoptr(Table) table = table_new();
    Reader reader = {.name = name, .at = data, .end = data + length, .line = 1};
    Cells cells = {0};
    bool is_good;

    if (length > FILE_BYTES_MAX) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                    "%s: more than %u bytes", name, FILE_BYTES_MAX);
        return NULL;
    }
    reader.texts = g_string_chunk_new(4096);
    reader.cell = g_string_new(NULL);
    reader.record = g_ptr_array_new();
    cells.texts = g_ptr_array_new();
    cells.lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
    is_good = parse(&reader, &cells, table, error);
    g_array_unref(cells.lines);
    g_ptr_array_unref(cells.texts);
    g_ptr_array_unref(reader.record);
    g_string_free(reader.cell, TRUE);
    g_string_chunk_free(reader.texts);
    return is_good ? g_steal_pointer(&table) : NULL;
}

/* Reads at most one byte more than is allowed, so that even an endless file
 * ends in an error. */
static char *read_bounded(const char *path, gsize *ret_length, GError **error)
{
    g_autofree char *data = g_malloc(FILE_BYTES_MAX + 1);
    FILE *file = fopen(path, "rb");
    int code = errno;

    if (file) {
        *ret_length = fread(data, 1, FILE_BYTES_MAX + 1, file);
        code = ferror(file) ? errno : 0;
        fclose(file);
    }
    if (code != 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE, "cannot read %s: %s",
                    path, g_strerror(code));
        return NULL;
    }
    return g_steal_pointer(&data);
}

Table *table_read(const char *path, GError **error)
{
    gsize length = 0;
    g_autofree char *data = read_bounded(path, &length, error);

    return data ? table_parse(data, length, path, error) : NULL;
}
