/* SPDX-License-Identifier: MIT */
#ifndef REP_STATEMENTS_H
#define REP_STATEMENTS_H

#include "rep_report.h"

/*
 * Sentences of a published text that name a direction or a bound, and whether
 * results agree with them. They come from a CSV with the columns
 *
 *   scenario    name of a scenario of the report
 *   statement   the sentence
 *   column      a column of numbers of its result
 *   first       a row: the values of its key columns, with "/" between them
 *   second      another one
 *   of          "difference": first - second, in the unit of the column;
 *               "percent": the same in percent of the second
 *   least,most  the range of that number in which the statement holds
 *   why         for a statement that does not hold: the reason
 */
typedef struct RepStatement {
    char *scenario;
    char *text;
    char *first, *second;
    char *value; /* of the results, with its sign and "%" if it is percent */
    char *range; /* such as "0.700 to 1.000" */
    char *why;   /* "" if there is none */
    bool holds;
} RepStatement;

/* Reads the statements of @path and compares them with the results of @report.
 * Returns an array of RepStatement; the caller unrefs it. Errors name file and
 * line. */
GPtrArray *rep_statements_read(const RepReport *report, const char *path,
                               GError **error);

#endif
