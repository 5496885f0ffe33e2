/* SPDX-License-Identifier: MIT */
#ifndef REP_MARKDOWN_H
#define REP_MARKDOWN_H

#include "rep_report.h"

/* Returns the text of docs/reference/fidelity.md, made from the results of the
 * report and the file of statements at @path (nullable; rep_statements.h). The
 * caller frees it. Fails if rep_statements_read() does. */
char *rep_report_to_markdown(const RepReport *report, const char *path,
                             GError **error);

#endif
