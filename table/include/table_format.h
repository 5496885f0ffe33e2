/* SPDX-License-Identifier: MIT */
#ifndef TABLE_FORMAT_H
#define TABLE_FORMAT_H

#include "table.h"

/* Returns the table for a terminal: one line for each row, columns aligned,
 * numbers to the right, without head lines. The caller frees it. */
char *table_format(const Table *table);

/* Appends table_format() to @text. */
void table_format_append(GString *text, const Table *table);

/* Returns the table as Markdown. The caller frees it. */
char *table_format_markdown(const Table *table);

#endif
