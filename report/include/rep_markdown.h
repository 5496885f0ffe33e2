/* SPDX-License-Identifier: MIT */
#ifndef REP_MARKDOWN_H
#define REP_MARKDOWN_H

#include "rep_report.h"
#include "rep_statements.h"

/* Returns the text of docs/reference/fidelity.md, made from the results of the
 * report, and of the RepStatements in @statements (nullable). The caller frees
 * it. */
char *rep_report_to_markdown(const RepReport *report,
                             const GPtrArray *statements);

#endif
