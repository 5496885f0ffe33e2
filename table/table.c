/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <string.h>

#include "table_number.h"

typedef struct Column {
    char *name;
    TableType type;
    unsigned digits;
    GPtrArray *texts;   /* of const char * into the chunk; TABLE_TEXT */
    GArray *numbers;    /* of int64_t; the other types */
    GHashTable *failed; /* nullable: of the rows whose number has failed */
} Column;

typedef struct Head {
    char *key;
    char *value;
} Head;

struct Table {
    GPtrArray *columns; /* of Column * */
    GPtrArray *heads;   /* of Head * */
    GStringChunk *texts;
    GArray *lines; /* of unsigned: the line in the file, by row */
    unsigned header_line;
    unsigned n_rows;
};

static void column_free(gpointer data)
{
    Column *column = data;

    g_free(column->name);
    g_clear_pointer(&column->texts, g_ptr_array_unref);
    g_clear_pointer(&column->numbers, g_array_unref);
    g_clear_pointer(&column->failed, g_hash_table_unref);
    g_free(column);
}

static void head_free(gpointer data)
{
    Head *head = data;

    g_free(head->key);
    g_free(head->value);
    g_free(head);
}

Table *table_new(void)
{
    Table *table = g_new0(Table, 1);

    table->columns = g_ptr_array_new_with_free_func(column_free);
    table->heads = g_ptr_array_new_with_free_func(head_free);
    table->texts = g_string_chunk_new(4096);
    table->lines = g_array_new(FALSE, FALSE, sizeof(unsigned));
    return table;
}

void table_free(Table *table)
{
    if (!table) {
        return;
    }
    g_ptr_array_unref(table->columns);
    g_ptr_array_unref(table->heads);
    g_string_chunk_free(table->texts);
    g_array_unref(table->lines);
    g_free(table);
}

static Column *column_at(const Table *table, unsigned column)
{
    g_assert(column < table->columns->len);
    return g_ptr_array_index(table->columns, column);
}

unsigned table_add_column(Table *table, const char *name, TableType type,
                          unsigned digits)
{
    Column *column = g_new0(Column, 1);

    g_assert(table->n_rows == 0);
    g_assert(digits <= (type == TABLE_DECIMAL ? TABLE_DIGITS_MAX : 0));
    g_assert(!table_find_column(table, name, NULL));
    column->name = g_strdup(name);
    column->type = type;
    column->digits = digits;
    if (type == TABLE_TEXT) {
        column->texts = g_ptr_array_new();
    } else {
        column->numbers = g_array_new(FALSE, FALSE, sizeof(int64_t));
    }
    g_ptr_array_add(table->columns, column);
    return table->columns->len - 1;
}

void table_add_columns(Table *table, const TableColumn *columns,
                       unsigned n_columns)
{
    unsigned i;

    for (i = 0; i < n_columns; i++) {
        table_add_column(table, columns[i].name, columns[i].type,
                         columns[i].digits);
    }
}

unsigned table_add_row(Table *table)
{
    const int64_t none = TABLE_NONE;
    const unsigned no_line = 0;
    unsigned i;

    g_array_append_val(table->lines, no_line);

    for (i = 0; i < table->columns->len; i++) {
        Column *column = column_at(table, i);

        if (column->type == TABLE_TEXT) {
            g_ptr_array_add(column->texts, (char *)"");
        } else {
            g_array_append_val(column->numbers, none);
        }
    }
    return table->n_rows++;
}

static bool is_bad_control(char c)
{
    return ((unsigned char)c < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
}

void table_set_text(Table *table, unsigned row, unsigned column,
                    const char *text)
{
    Column *at = column_at(table, column);
    g_autofree char *clean = g_strdup(text);
    char *c;

    g_assert(at->type == TABLE_TEXT && row < table->n_rows);
    for (c = clean; *c != '\0'; c++) {
        if (is_bad_control(*c)) {
            *c = ' ';
        }
    }
    at->texts->pdata[row] = g_string_chunk_insert_const(table->texts, clean);
}

void table_set_number(Table *table, unsigned row, unsigned column,
                      int64_t value)
{
    Column *at = column_at(table, column);

    g_assert(at->type != TABLE_TEXT && row < table->n_rows);
    g_array_index(at->numbers, int64_t, row) = value;
}

void table_set_failed(Table *table, unsigned row, unsigned column)
{
    Column *at = column_at(table, column);

    table_set_number(table, row, column, TABLE_NONE);
    if (!at->failed) {
        at->failed = g_hash_table_new(NULL, NULL);
    }
    g_hash_table_add(at->failed, GUINT_TO_POINTER(row));
}

bool table_has_failed(const Table *table, unsigned row, unsigned column)
{
    const Column *at = column_at(table, column);

    return at->failed &&
           g_hash_table_contains(at->failed, GUINT_TO_POINTER(row));
}

void table_append_row(Table *table, const Table *from, unsigned row)
{
    unsigned n_columns = table_n_columns(from);
    unsigned at = table_add_row(table);
    unsigned i;

    g_assert(n_columns == table_n_columns(table));
    for (i = 0; i < n_columns; i++) {
        if (table_column_type(from, i) == TABLE_TEXT) {
            table_set_text(table, at, i, table_text(from, row, i));
        } else if (table_has_failed(from, row, i)) {
            table_set_failed(table, at, i);
        } else {
            table_set_number(table, at, i, table_number(from, row, i));
        }
    }
}

void table_append(Table *table, const Table *from)
{
    unsigned i;

    for (i = 0; i < table_n_rows(from); i++) {
        table_append_row(table, from, i);
    }
}

unsigned table_n_columns(const Table *table)
{
    return table->columns->len;
}

unsigned table_n_rows(const Table *table)
{
    return table->n_rows;
}

const char *table_column_name(const Table *table, unsigned column)
{
    return column_at(table, column)->name;
}

TableType table_column_type(const Table *table, unsigned column)
{
    return column_at(table, column)->type;
}

unsigned table_column_digits(const Table *table, unsigned column)
{
    return column_at(table, column)->digits;
}

bool table_find_column(const Table *table, const char *name,
                       unsigned *ret_column)
{
    unsigned i;

    for (i = 0; i < table->columns->len; i++) {
        if (strcmp(column_at(table, i)->name, name) == 0) {
            if (ret_column) {
                *ret_column = i;
            }
            return true;
        }
    }
    return false;
}

const char *table_text(const Table *table, unsigned row, unsigned column)
{
    const Column *at = column_at(table, column);

    g_assert(at->type == TABLE_TEXT && row < table->n_rows);
    return g_ptr_array_index(at->texts, row);
}

int64_t table_number(const Table *table, unsigned row, unsigned column)
{
    const Column *at = column_at(table, column);

    g_assert(at->type != TABLE_TEXT && row < table->n_rows);
    return g_array_index(at->numbers, int64_t, row);
}

char *table_dup_cell(const Table *table, unsigned row, unsigned column)
{
    if (table_column_type(table, column) == TABLE_TEXT) {
        return g_strdup(table_text(table, row, column));
    }
    if (table_has_failed(table, row, column)) {
        return g_strdup(TABLE_FAILED);
    }
    return table_number_print(table_number(table, row, column),
                              table_column_digits(table, column));
}

char *table_dup_key(const Table *table, unsigned row, unsigned column)
{
    char *cell = table_dup_cell(table, row, column);

    if (table_column_type(table, column) == TABLE_DECIMAL) {
        size_t length = strlen(cell);

        while (length > 0 && cell[length - 1] == '0') {
            length--;
        }
        if (length > 0 && cell[length - 1] == '.') {
            length--;
        }
        cell[length] = '\0';
    }
    return cell;
}

unsigned table_line(const Table *table, unsigned row)
{
    return row == TABLE_HEADER_ROW ? table->header_line
                                   : g_array_index(table->lines, unsigned, row);
}

void table_set_line(Table *table, unsigned row, unsigned line)
{
    if (row == TABLE_HEADER_ROW) {
        table->header_line = line;
    } else {
        g_array_index(table->lines, unsigned, row) = line;
    }
}

void table_add_head(Table *table, const char *key, const char *value)
{
    Head *head = g_new0(Head, 1);
    char *c;

    head->key = g_strdup(key);
    head->value = g_strdup(value);
    for (c = head->value; *c != '\0'; c++) {
        if (is_bad_control(*c) || *c == '\n') {
            *c = ' ';
        }
    }
    g_strstrip(head->value);
    g_ptr_array_add(table->heads, head);
}

unsigned table_n_heads(const Table *table)
{
    return table->heads->len;
}

const char *table_head_key(const Table *table, unsigned index)
{
    const Head *head = g_ptr_array_index(table->heads, index);

    return head->key;
}

const char *table_head_value(const Table *table, unsigned index)
{
    const Head *head = g_ptr_array_index(table->heads, index);

    return head->value;
}

const char *table_find_head(const Table *table, const char *key)
{
    unsigned i;

    for (i = 0; i < table->heads->len; i++) {
        if (strcmp(table_head_key(table, i), key) == 0) {
            return table_head_value(table, i);
        }
    }
    return NULL;
}

void table_add_origin(Table *table, const char *version, const char *scenario,
                      const char *hash, uint64_t seed)
{
    g_autofree char *seed_text = g_strdup_printf("%" G_GUINT64_FORMAT, seed);

    table_add_head(table, "farside", version);
    table_add_head(table, "scenario", scenario);
    table_add_head(table, "hash", hash);
    table_add_head(table, "seed", seed_text);
}
