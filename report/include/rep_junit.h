/* SPDX-License-Identifier: MIT */
#ifndef REP_JUNIT_H
#define REP_JUNIT_H

#include "rep_compare.h"

/* Returns the comparisons (of RepComparison *) as a JUnit report with a test
 * suite for each comparison and a test case for each curve. The caller frees
 * it. */
char *rep_junit_print(const GPtrArray *comparisons);

#endif
