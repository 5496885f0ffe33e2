/* SPDX-License-Identifier: MIT */
#ifndef EXP_TIMELINE_H
#define EXP_TIMELINE_H

#include "fab_fabric.h"
#include "topo_description.h"
#include "trc_file.h"

/*
 * The packets of a trace of a timed cluster, as the model has moved them: on
 * which links each of them was, and when it arrived. The model of the cluster
 * is run again, with all accesses at the times of the trace.
 */

/* A TLP on a link. */
typedef struct ExpTimelineHop {
    size_t packet; /* index of the request in the trace; its completions have
                      the same */
    const FabTraceRecord *record; /* times in ps since the machines' start */
} ExpTimelineHop;

typedef struct ExpTimelineOps {
    void (*hop)(void *owner, const ExpTimelineHop *hop);
    /* A request or completion has arrived at the other host. @time_ns is
     * virtual time. */
    void (*arrived)(void *owner, size_t packet, int64_t time_ns);
} ExpTimelineOps;

/* The date of virtual time 0 in traces of timed clusters, in ns since 1970:
 * 2026-01-01. */
#define EXP_TIMELINE_EPOCH_NS (INT64_C(1767225600) * 1000000000)

/* Moves all packets of @file on the fabric of @description. Fails if an end of
 * the trace is no end of a link of the description, if the times are not those
 * of a timed cluster, or if the fabric cannot be built. */
bool exp_timeline_run(const TopoDescription *description, const TrcFile *file,
                      const ExpTimelineOps *ops, void *owner, GError **error);

#endif
