/* SPDX-License-Identifier: MIT */
#ifndef TABLE_CSV_H
#define TABLE_CSV_H

#include "table.h"
#include "table_file.h"

/* Returns the table and its head as CSV (RFC 4180, but lines end in "\n"). */
char *table_to_csv(const Table *table);

/* Writes table_to_csv() to @path with table_file_write(). */
bool table_write(const Table *table, const char *path, GError **error);

/* Parses CSV. A line "# KEY: VALUE" becomes a head line; other lines that
 * begin with "#" are skipped. The first remaining line names the columns.
 * Columns with only integers and empty cells become TABLE_INTEGER. Columns
 * with only numbers become TABLE_DECIMAL; the number with the most digits
 * decides how many they have. All others become TABLE_TEXT. The size is
 * bounded, and every row must have a cell for each column. Errors have the
 * form "NAME:LINE: ...". */
Table *table_parse(const char *data, gsize length, const char *name,
                   GError **error);

/* Reads the file at @path with table_parse(). */
Table *table_read(const char *path, GError **error);

#endif
