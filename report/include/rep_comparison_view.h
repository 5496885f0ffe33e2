/* SPDX-License-Identifier: MIT */
#ifndef REP_COMPARISON_VIEW_H
#define REP_COMPARISON_VIEW_H

#include "rep_compare.h"

/* A comparison as tables, as a line, and as plots. The caller frees what is
 * returned. */

/* The first @most points, the worst ones: a row each. */
Table *rep_comparison_points_table(const RepComparison *comparison,
                                   unsigned most);

/* A row a curve, with its errors and counts. */
Table *rep_comparison_curves_table(const RepComparison *comparison);

/* The errors alone of the curves that have any: a row each. */
Table *rep_comparison_errors_table(const RepComparison *comparison);

/* One line on all points together, without its end. */
char *rep_comparison_verdict(const RepComparison *comparison);

/* Draws a plot for each column of numbers, the baseline as points. Of several
 * columns each has its name behind @prefix, after "-". */
bool rep_comparison_plot(const RepComparison *comparison, const Table *baseline,
                         const Table *fresh, const char *prefix,
                         GError **error);

#endif
