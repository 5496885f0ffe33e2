/* SPDX-License-Identifier: MIT */
#ifndef EXP_TRACE_H
#define EXP_TRACE_H

#include "exp_fabric.h"
#include "table.h"

/*
 * A recorder of TLPs for one simulated point. It keeps the last TLPs that
 * crossed a link or that no component claimed.
 */
typedef struct ExpTrace ExpTrace;

/* Starts to record. The trace keeps the last @records TLPs, at least 1. @fabric
 * must outlive the trace. The caller frees the trace. */
ExpTrace *exp_trace_new(const ExpFabric *fabric, uint64_t records);
void exp_trace_free(ExpTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpTrace, exp_trace_free)

/* Returns an empty table with a column for each field of a record. */
Table *exp_trace_table_new(void);

/* Adds a row for each record, oldest first. @label names the point. */
void exp_trace_add_rows(const ExpTrace *trace, const char *label, Table *table);

#endif
