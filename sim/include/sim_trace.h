/* SPDX-License-Identifier: MIT */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "sim_time.h"

/*
 * Trace records. What the categories, sources, kinds and words mean is up to
 * those who write and read them. A record costs nothing but one test of a mask
 * while nobody wants its category:
 *
 *     if (sim_trace_wants(trace, CATEGORY)) {
 *         sim_trace_add(trace, &(SimTraceRecord){.time = now, ...});
 *     }
 */
typedef struct SimTraceRecord {
    SimTime time;
    uint32_t categories; /* one bit each */
    uint32_t source;
    uint32_t kind;
    uint64_t a, b, c;
} SimTraceRecord;

/* @record is valid during the call only. */
typedef void (*SimTraceFn)(const SimTraceRecord *record, void *user);

/* Fields are private. */
typedef struct SimTrace {
    uint32_t mask; /* categories, if there is a sink; otherwise 0 */
    uint32_t categories;
    SimTraceFn fn;
    void *user;
    SimTraceRecord *ring;
    uint64_t capacity;
    uint64_t added; /* to the ring, ever */
} SimTrace;

/* Returns a trace that wants nothing: no category, no sink. */
SimTrace *sim_trace_new(void);
/* @trace is nullable. */
void sim_trace_free(SimTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTrace, sim_trace_free)

/* Sets the categories wanted; takes effect while there is a sink. */
void sim_trace_set_categories(SimTrace *trace, uint32_t categories);

/* Keeps the last @capacity records in memory; 0 removes the ring. What was
 * kept before is forgotten. */
void sim_trace_set_ring(SimTrace *trace, uint64_t capacity);

/* Calls @fn (nullable: no more calls) with @user for each record wanted. */
void sim_trace_set_callback(SimTrace *trace, SimTraceFn fn, void *user);

static inline bool sim_trace_wants(const SimTrace *trace, uint32_t categories)
{
    return (trace->mask & categories) != 0;
}

/* Hands @record to the sinks if it is of a wanted category. */
void sim_trace_add(SimTrace *trace, const SimTraceRecord *record);

/* Number of records in the ring, and of those it has lost. */
uint64_t sim_trace_ring_count(const SimTrace *trace);
uint64_t sim_trace_ring_lost(const SimTrace *trace);
/* The record @index of the ring, 0 being the oldest; NULL beyond the last. */
const SimTraceRecord *sim_trace_ring_get(const SimTrace *trace, uint64_t index);

#endif
