/* SPDX-License-Identifier: MIT */
#ifndef REP_HTML_PRIV_H
#define REP_HTML_PRIV_H

#include <stdbool.h>

#include "table.h"

/* Pieces of HTML, appended to a text. Texts that are passed in are escaped. */

void rep_html_add_text(GString *out, const char *text);

/* Adds <TAG class="CLASS">text</TAG>; @class (nullable) is ours, and needs no
 * escape. */
void rep_html_add_element(GString *out, const char *tag, const char *class,
                          const char *text);

/* Adds a cell with a number. */
void rep_html_add_number(GString *out, unsigned number);

/* Adds a cell with an error in percent, empty for TABLE_NONE; @has_sign says
 * that the sign matters. */
void rep_html_add_percent(GString *out, int64_t mpct, bool has_sign);

/* Begins a table with the names of its columns, NULL-terminated; those that
 * begin with "#" are of numbers. */
void rep_html_begin_table(GString *out, const char *const *columns);

/* Begins a table with the columns of @table. */
void rep_html_begin_table_like(GString *out, const Table *table);

void rep_html_end_table(GString *out);

/* Adds all of @table. */
void rep_html_add_table(GString *out, const Table *table);

/* Begins a section that the reader unfolds; "</details>" ends it. */
void rep_html_begin_details(GString *out, const char *summary);

#endif
