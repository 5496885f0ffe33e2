/* SPDX-License-Identifier: MIT */
#ifndef REP_EXPORT_H
#define REP_EXPORT_H

#include <glib.h>

/*
 * Results in the formats of other tools.
 *
 *   github-bigger   github-action-benchmark, customBiggerIsBetter: the numbers
 *                   that should be high
 *   github-smaller  the same, customSmallerIsBetter: those that should be low
 *   bencher         Bencher Metric Format
 *   junit           JUnit, a test case for each number; a point that failed is
 * a failure
 *
 * Returns the text, which the caller frees. Fails if the format is unknown, if
 * a file is wrong, or if no number fits the format.
 */
char *rep_export(const char *format, char **files, GError **error);

/* The names of all formats, for messages and help. */
#define REP_EXPORT_FORMATS "github-bigger, github-smaller, bencher or junit"

#endif
