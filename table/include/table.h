/* SPDX-License-Identifier: MIT */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "table_number.h"

/*
 * A table of results in memory: head lines, typed columns and rows. All
 * numbers are integers. A decimal is an integer that counts units of its
 * last digit, so neither locale nor rounding changes the printed text.
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

/* Appends a column and returns its index. All columns are added before the
 * first row. Names are unique. @digits is the number of digits after the point;
 * it is 0 unless @type is TABLE_DECIMAL. */
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

/* Sets a cell of a text column to a copy of @text, which must be UTF-8. Control
 * characters become spaces, except tab and newline. */
void table_set_text(Table *table, unsigned row, unsigned column,
                    const char *text);

/* Sets a cell of a number column. @value is the integer, or the decimal in
 * units of its last digit (1.50 with two digits is 150), or TABLE_NONE. */
void table_set_number(Table *table, unsigned row, unsigned column,
                      int64_t value);

/* Append a copy of one row of @from, or of all its rows. @from has the same
 * columns as @table. */
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

/* Returns the text of a cell of a text column; owned by the table. */
const char *table_text(const Table *table, unsigned row, unsigned column);

/* Returns the number in a cell of a number column, in the form that
 * table_set_number() takes; TABLE_NONE for an empty cell. */
int64_t table_number(const Table *table, unsigned row, unsigned column);
/* The text of a cell whose number could not be measured, because what it
 * measures failed. */
#define TABLE_FAILED "failed"

/* Makes a cell of numbers such a cell, once and for all. table_number() returns
 * TABLE_NONE for it. */
void table_set_failed(Table *table, unsigned row, unsigned column);
bool table_has_failed(const Table *table, unsigned row, unsigned column);

/* Returns the cell as it is in the CSV file, without quotes. The caller frees
 * it. */
char *table_dup_cell(const Table *table, unsigned row, unsigned column);

/* Returns the cell as part of a key. Equal values have equal texts, so a
 * decimal has no zeros at its end. The caller frees it. */
char *table_dup_key(const Table *table, unsigned row, unsigned column);

/* Returns the line of the file that the row was read from; 0 if the table was
 * not read from a file. TABLE_HEADER_ROW stands for the line with the names of
 * the columns. */
#define TABLE_HEADER_ROW G_MAXUINT
unsigned table_line(const Table *table, unsigned row);
void table_set_line(Table *table, unsigned row, unsigned line);

/* Appends the head line "# KEY: VALUE". Line breaks in @value become spaces.
 * The same key may be added several times. */
void table_add_head(Table *table, const char *key, const char *value);

unsigned table_n_heads(const Table *table);
const char *table_head_key(const Table *table, unsigned index);
const char *table_head_value(const Table *table, unsigned index);

/* Returns the value of the first head line with this key; NULL if there is
 * none. */
const char *table_find_head(const Table *table, const char *key);

/* Appends the first four head lines of every result file: the program with its
 * version, the path of the scenario, the hash of its inputs, and the seed. */
void table_add_origin(Table *table, const char *version, const char *scenario,
                      const char *hash, uint64_t seed);

#endif
