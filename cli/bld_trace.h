/* SPDX-License-Identifier: MIT */
#ifndef BLD_TRACE_H
#define BLD_TRACE_H

#include "bld_fabric.h"
#include "rep_table.h"

/*
 * The last TLPs that crossed a link, or that nothing claimed: a flight recorder
 * for one simulated point.
 */
typedef struct BldTrace BldTrace;

/* Records the last @records of @bld's fabric, which must outlive the trace,
 * from now on. */
BldTrace *bld_trace_new(const BldFabric *bld, uint64_t records);
void bld_trace_free(BldTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BldTrace, bld_trace_free)

/* An empty table with a column for everything a record tells. */
RepTable *bld_trace_table_new(void);

/* Adds a row for each record, oldest first; @label names the point. */
void bld_trace_add_rows(const BldTrace *trace, const char *label,
                        RepTable *table);

#endif
