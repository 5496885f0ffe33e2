/* SPDX-License-Identifier: MIT */
#ifndef NTT_REPORT_H
#define NTT_REPORT_H

#include "ntt_judge.h"
#include "table.h"

/* Reports of results, of NttResult. */

/* The worst verdict of a cell, with the number of its steps; to be freed. ""
 * if there is no result. */
char *ntt_report_cell(const GPtrArray *results, const NttChip *chip,
                      const NttClient *client);

/* The table of chips and clients that have results. */
Table *ntt_report_table(const GPtrArray *results);

/* The text below the table: faults with what was printed, then what has
 * changed, known defects, and what is not possible, each once. To be freed. */
char *ntt_report_text(const GPtrArray *results);

/* A JUnit report: a suite for each chip, a case for each step. A fault is a
 * failure; what is expected not to work is skipped, with the reason. To be
 * freed. */
char *ntt_report_junit(const GPtrArray *results);

unsigned ntt_report_count(const GPtrArray *results, NttVerdict verdict);

#endif
