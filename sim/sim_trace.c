/* SPDX-License-Identifier: MIT */
#include "sim_trace.h"

static void update_mask(SimTrace *trace)
{
    trace->mask = trace->fn || trace->ring ? trace->categories : 0;
}

SimTrace *sim_trace_new(void)
{
    return g_new0(SimTrace, 1);
}

void sim_trace_free(SimTrace *trace)
{
    if (!trace) {
        return;
    }
    g_free(trace->ring);
    g_free(trace);
}

void sim_trace_set_categories(SimTrace *trace, uint32_t categories)
{
    trace->categories = categories;
    update_mask(trace);
}

void sim_trace_set_ring(SimTrace *trace, uint64_t capacity)
{
    g_free(trace->ring);
    trace->ring = capacity ? g_new(SimTraceRecord, capacity) : NULL;
    trace->capacity = capacity;
    trace->added = 0;
    update_mask(trace);
}

void sim_trace_set_callback(SimTrace *trace, SimTraceFn fn, void *user)
{
    trace->fn = fn;
    trace->user = user;
    update_mask(trace);
}

void sim_trace_add(SimTrace *trace, const SimTraceRecord *record)
{
    if (!sim_trace_wants(trace, record->categories)) {
        return;
    }
    if (trace->ring) {
        trace->ring[trace->added++ % trace->capacity] = *record;
    }
    if (trace->fn) {
        trace->fn(record, trace->user);
    }
}

uint64_t sim_trace_ring_count(const SimTrace *trace)
{
    return MIN(trace->added, trace->capacity);
}

uint64_t sim_trace_ring_lost(const SimTrace *trace)
{
    return trace->added - sim_trace_ring_count(trace);
}

const SimTraceRecord *sim_trace_ring_get(const SimTrace *trace, uint64_t index)
{
    if (index >= sim_trace_ring_count(trace)) {
        return NULL;
    }
    index += sim_trace_ring_lost(trace);
    return &trace->ring[index % trace->capacity];
}
