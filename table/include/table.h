/* SPDX-License-Identifier: MIT */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "table_number.h"

/*
 * A table of results in memory: head lines, typed columns, rows. Numbers are
 * integers throughout; a decimal is an integer that counts units of its last
 * digit, so what is printed depends on neither locale nor rounding.
 */
typedef struct Table Table;

typedef enum TableType {
    TABLE_TEXT,
    TABLE_INTEGER,
    TABLE_DECIMAL,
} TableType;

/* Returns a table without columns. */
Table *table_new(void);

/* Frees @table (nullable). */
void table_free(Table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

/* Appends a column before the first row is added; names are unique. @digits is
 * the number of digits after the point, 0 unless @type is TABLE_DECIMAL.
 * Returns the column's index. */
unsigned table_add_column(Table *table, const char *name, TableType type,
                          unsigned digits);

typedef struct TableColumn {
    const char *name;
    TableType type;
    unsigned digits;
} TableColumn;

/* Appends several columns, as table_add_column() does. */
void table_add_columns(Table *table, const TableColumn *columns,
                       unsigned n_columns);

/* Appends a row of empty cells and returns its index. */
unsigned table_add_row(Table *table);

/* Sets a cell of a text column to a copy of @text, which is UTF-8. Control
 * characters other than tab and newline become spaces. */
void table_set_text(Table *table, unsigned row, unsigned column,
                    const char *text);

/* Sets a cell of a number column: the integer, or the decimal in units of its
 * last digit (1.50 with two digits is 150), or TABLE_NONE. */
void table_set_number(Table *table, unsigned row, unsigned column,
                      int64_t value);

/* Appends a copy of row @row of @from, or of all rows; it has the same
 * columns. */
void table_append_row(Table *table, const Table *from, unsigned row);
void table_append(Table *table, const Table *from);

unsigned table_n_columns(const Table *table);
unsigned table_n_rows(const Table *table);
const char *table_column_name(const Table *table, unsigned column);
TableType table_column_type(const Table *table, unsigned column);
unsigned table_column_digits(const Table *table, unsigned column);

/* Finds a column by name; returns false if there is none. */
bool table_find_column(const Table *table, const char *name,
                       unsigned *ret_column);

/* The text of a cell of a text column; owned by the table. */
const char *table_text(const Table *table, unsigned row, unsigned column);

/* The number of a cell of a number column, as table_set_number() takes it;
 * TABLE_NONE for an empty cell. */
int64_t table_number(const Table *table, unsigned row, unsigned column);

/* The cell as the CSV file has it, without quotes. The caller frees it. */
char *table_dup_cell(const Table *table, unsigned row, unsigned column);

/* The cell as part of a key: equal values have equal texts, so a decimal has no
 * zeros at its end. The caller frees it. */
char *table_dup_key(const Table *table, unsigned row, unsigned column);

/* The line of the file that the row was read from, or, for TABLE_HEADER_ROW,
 * the line that names the columns; 0 if it was read from no file. */
#define TABLE_HEADER_ROW G_MAXUINT
unsigned table_line(const Table *table, unsigned row);
void table_set_line(Table *table, unsigned row, unsigned line);

/* Appends the head line "# KEY: VALUE". Line breaks in @value become spaces. A
 * key may occur several times. */
void table_add_head(Table *table, const char *key, const char *value);

unsigned table_n_heads(const Table *table);
const char *table_head_key(const Table *table, unsigned index);
const char *table_head_value(const Table *table, unsigned index);

/* The value of the first head line of this key; NULL if there is none. */
const char *table_find_head(const Table *table, const char *key);

/* The first four head lines of every result file: program and version, path
 * of the scenario, hash of its inputs, seed. */
void table_add_origin(Table *table, const char *version, const char *scenario,
                      const char *hash, uint64_t seed);

#endif
