/* SPDX-License-Identifier: MIT */
#ifndef REP_HTML_PRIV_H
#define REP_HTML_PRIV_H

#include <stdbool.h>

#include "table.h"

/* Append pieces of HTML to a text. They escape the texts that are passed in. */

void rep_html_add_text(GString *out, const char *text);

/* Adds <TAG class="CLASS">text</TAG>. @class (nullable) is not escaped. */
void rep_html_add_element(GString *out, const char *tag, const char *class,
                          const char *text);

/* Adds a table cell with a number. */
void rep_html_add_number(GString *out, unsigned number);

/* Adds a table cell with an error in percent; empty for TABLE_NONE. @has_sign
 * is true if the sign has a meaning. */
void rep_html_add_percent(GString *out, int64_t mpct, bool has_sign);

/* Begins a table. @columns are the names of its columns, NULL-terminated. A
 * name that begins with "#" marks a column of numbers. */
void rep_html_begin_table(GString *out, const char *const *columns);

/* Begins a table with the same columns as @table. */
void rep_html_begin_table_like(GString *out, const Table *table);

void rep_html_end_table(GString *out);

/* Adds all of @table. */
void rep_html_add_table(GString *out, const Table *table);

/* Begins a section that the reader can unfold. "</details>" ends it. */
void rep_html_begin_details(GString *out, const char *summary);

#endif
