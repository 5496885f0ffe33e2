/* SPDX-License-Identifier: MIT */
#ifndef REP_MARKDOWN_H
#define REP_MARKDOWN_H

#include "rep_report.h"

/* Returns the text of docs/reference/fidelity.md, made from the results of the
 * report. The caller frees it. */
char *rep_report_to_markdown(const RepReport *report);

#endif
