/* SPDX-License-Identifier: MIT */
#ifndef EXP_TRACE_H
#define EXP_TRACE_H

#include "exp_fabric.h"
#include "table.h"

/*
 * The last TLPs that crossed a link, or that nothing claimed: a flight recorder
 * for one simulated point.
 */
typedef struct ExpTrace ExpTrace;

/* Records the last @records of @bld's fabric, which must outlive the trace,
 * from now on. */
ExpTrace *exp_trace_new(const ExpFabric *bld, uint64_t records);
void exp_trace_free(ExpTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpTrace, exp_trace_free)

/* An empty table with a column for everything a record tells. */
Table *exp_trace_table_new(void);

/* Adds a row for each record, oldest first; @label names the point. */
void exp_trace_add_rows(const ExpTrace *trace, const char *label, Table *table);

#endif
