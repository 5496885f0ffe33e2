/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARISON_VIEW_H
#define REP_COMPARISON_VIEW_H

#include "rep_compare.h"

/* Show a comparison as tables, as a line of text, and as plots. The caller
 * frees the results. */

/* Returns a table with a row for each of the @most worst points. */
Table *rep_comparison_points_table(const RepComparison *comparison,
                                   unsigned most);

/* Returns a table with a row for each curve, with its errors and counts. */
Table *rep_comparison_curves_table(const RepComparison *comparison);

/* Returns a table with a row for each curve that has errors; it shows only the
 * errors. */
Table *rep_comparison_errors_table(const RepComparison *comparison);

/* Returns one line about all points together, without a line end. */
char *rep_comparison_verdict(const RepComparison *comparison);

/* Draws a plot for each column of numbers, with the baseline as points, and
 * beside it PREFIX.delta with the differences in percent. If there are several
 * columns, the name of each is appended to @prefix after "-". */
bool rep_comparison_plot(const RepComparison *comparison, const Table *baseline,
                         const Table *fresh, const char *prefix,
                         GError **error);

#endif
