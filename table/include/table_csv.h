/* SPDX-License-Identifier: MIT */
#ifndef TABLE_CSV_H
#define TABLE_CSV_H

#include "table.h"
#include "table_file.h"

/* Returns the table as CSV (RFC 4180, lines end in "\n") with its head. */
char *table_to_csv(const Table *table);

/* Writes table_to_csv() to @path, as table_file_write() does. */
bool table_write(const Table *table, const char *path, GError **error);

/* Reads CSV. Lines that begin with "#" are head lines if they have the form
 * "# KEY: VALUE" and skipped otherwise; the first other line names the
 * columns. A column in which every cell is an integer or empty becomes
 * TABLE_INTEGER; of numbers, TABLE_DECIMAL with the most digits any of them
 * has; else TABLE_TEXT. Sizes are bounded, and every row must have a cell for
 * each column. @name stands for the file in messages "NAME:LINE: ...". */
Table *table_parse(const char *data, gsize length, const char *name,
                   GError **error);

/* Reads the file at @path with table_parse(). */
Table *table_read(const char *path, GError **error);

#endif
