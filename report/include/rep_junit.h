/* SPDX-License-Identifier: MIT */
#ifndef REP_JUNIT_H
#define REP_JUNIT_H

#include "rep_compare.h"

/* Returns the comparisons (of RepComparison *) as a JUnit report with a test
 * suite for each comparison and a test case for each curve. The caller frees
 * it. */
char *rep_junit_print(const GPtrArray *comparisons);

/* Escapes @text for XML 1.0, which has no control characters. The caller frees
 * the result. */
char *rep_junit_escape(const char *text);

#endif
