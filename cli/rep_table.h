/* SPDX-License-Identifier: MIT */
#ifndef REP_TABLE_H
#define REP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "rep_file.h"

/*
 * A table of results in memory: head lines, typed columns, rows. Numbers are
 * integers throughout; a decimal is an integer that counts units of its last
 * digit, so what is printed depends on neither locale nor rounding.
 */
typedef struct RepTable RepTable;

typedef enum RepType {
    REP_TEXT,
    REP_INTEGER,
    REP_DECIMAL,
} RepType;

#define REP_DIGITS_MAX 9         /* most digits after the point */
#define REP_NONE       INT64_MIN /* a number that is not there; prints empty */

/* Returns a table without columns. */
RepTable *rep_table_new(void);

/* Frees @table (nullable). */
void rep_table_free(RepTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepTable, rep_table_free)

/* Appends a column before the first row is added; names are unique. @digits is
 * the number of digits after the point, 0 unless @type is REP_DECIMAL. Returns
 * the column's index. */
unsigned rep_table_add_column(RepTable *table, const char *name, RepType type,
                              unsigned digits);

/* Appends a row of empty cells and returns its index. */
unsigned rep_table_add_row(RepTable *table);

/* Sets a cell of a text column to a copy of @text, which is UTF-8. Control
 * characters other than tab and newline become spaces. */
void rep_table_set_text(RepTable *table, unsigned row, unsigned column,
                        const char *text);

/* Sets a cell of a number column: the integer, or the decimal in units of its
 * last digit (1.50 with two digits is 150), or REP_NONE. */
void rep_table_set_number(RepTable *table, unsigned row, unsigned column,
                          int64_t value);

/* Appends a copy of row @row of @from, or of all rows; it has the same
 * columns. */
void rep_table_append_row(RepTable *table, const RepTable *from, unsigned row);
void rep_table_append(RepTable *table, const RepTable *from);

unsigned rep_table_n_columns(const RepTable *table);
unsigned rep_table_n_rows(const RepTable *table);
const char *rep_table_column_name(const RepTable *table, unsigned column);
RepType rep_table_column_type(const RepTable *table, unsigned column);
unsigned rep_table_column_digits(const RepTable *table, unsigned column);

/* Finds a column by name; returns false if there is none. */
bool rep_table_find_column(const RepTable *table, const char *name,
                           unsigned *ret_column);

/* The text of a cell of a text column; owned by the table. */
const char *rep_table_text(const RepTable *table, unsigned row,
                           unsigned column);

/* The number of a cell of a number column, as rep_table_set_number() takes it;
 * REP_NONE for an empty cell. */
int64_t rep_table_number(const RepTable *table, unsigned row, unsigned column);

/* The cell as the CSV file has it, without quotes. The caller frees it. */
char *rep_table_dup_cell(const RepTable *table, unsigned row, unsigned column);

/* Prints @value, in units of the last of @digits digits, e.g. "-0.05"; empty
 * for REP_NONE. The caller frees it. */
char *rep_number_print(int64_t value, unsigned digits);

/* Reads a number: "-", digits without needless leading zeros, perhaps "." and
 * at most REP_DIGITS_MAX digits. Returns false, with the results untouched, if
 * @text is anything else or does not fit. */
bool rep_number_parse(const char *text, int64_t *ret_value,
                      unsigned *ret_digits);

/* The line of the file that the row was read from, or, for REP_HEADER_ROW, the
 * line that names the columns; 0 if it was read from no file. */
#define REP_HEADER_ROW G_MAXUINT
unsigned rep_table_line(const RepTable *table, unsigned row);
void rep_table_set_line(RepTable *table, unsigned row, unsigned line);

/* Appends the head line "# KEY: VALUE". Line breaks in @value become spaces. A
 * key may occur several times. */
void rep_table_add_head(RepTable *table, const char *key, const char *value);

unsigned rep_table_n_heads(const RepTable *table);
const char *rep_table_head_key(const RepTable *table, unsigned index);
const char *rep_table_head_value(const RepTable *table, unsigned index);

/* The value of the first head line of this key; NULL if there is none. */
const char *rep_table_find_head(const RepTable *table, const char *key);

/* The first four head lines of every result file: program and version, path
 * of the scenario, hash of its inputs, seed. */
void rep_table_add_origin(RepTable *table, const char *version,
                          const char *scenario, const char *hash,
                          uint64_t seed);

/* Sorts the rows by the given columns, in that order; text by bytes. Rows that
 * are equal in them keep their order. */
void rep_table_sort(RepTable *table, const unsigned *columns,
                    unsigned n_columns);

/* Returns the table as CSV (RFC 4180, lines end in "\n") with its head. */
char *rep_table_to_csv(const RepTable *table);

/* Writes rep_table_to_csv() to @path, as rep_file_write() does. */
bool rep_table_write(const RepTable *table, const char *path, GError **error);

/* Reads CSV. Lines that begin with "#" are head lines if they have the form
 * "# KEY: VALUE" and skipped otherwise; the first other line names the
 * columns. A column in which every cell is an integer or empty becomes
 * REP_INTEGER; of numbers, REP_DECIMAL with the most digits any of them has;
 * else REP_TEXT. Sizes are bounded, and every row must have a cell for each
 * column. @name stands for the file in messages "NAME:LINE: ...". */
RepTable *rep_table_parse(const char *data, gsize length, const char *name,
                          GError **error);

/* Reads the file at @path with rep_table_parse(). */
RepTable *rep_table_read(const char *path, GError **error);

/* Returns the table for a terminal: one line a row, columns aligned, numbers
 * to the right, no head lines. The caller frees it. */
char *rep_table_format(const RepTable *table);

/* Returns a new table with one row for each value of @row_column and one
 * column of @value_column's for each of the curves, a curve being the text of
 * the @n_curves columns @curves. Cells that are missing stay empty; of several
 * for one cell the last counts. */
RepTable *rep_table_pivot(const RepTable *table, unsigned row_column,
                          const unsigned *curves, unsigned n_curves,
                          unsigned value_column);

#endif
