/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_PACE_H
#define FAB_FLOW_PACE_H

#include "fab_flow.h"

/*
 * Flows that leave work out. While all flows of a fabric that are under way are
 * steady, their next work would take as long as the last. Then each of them
 * leaves out as much as it would do in the same time, which is added to the
 * clock of their results; what is in queues and on links stays as it is. They
 * simulate their ends, and whatever begins or ends among them, as always.
 */

/* Lets the flows of @fabric leave work out if the time of a unit is known
 * within @share of it, at 95 %. To be called before the first
 * fab_flows_run(). */
void fab_flows_set_accuracy(FabFabric *fabric, double share);

/* The time that was left out, which sim_engine_now() lacks. */
SimTime fab_flows_skipped(const FabFabric *fabric);

/* The work that a flow has left out. */
typedef struct FabFlowSkipped {
    SimTime time;
    SimTime half; /* half the width of the interval of `time`, at 95 % */
    uint64_t operations;
    SimTime half_inside; /* the part of `half` for bytes within the others */
    double latency_sum;  /* of these operations, by the mean of others */
    double half_latency; /* of the mean latency of all its operations */
    bool never_steady; /* it was long enough to become steady, and never was */
} FabFlowSkipped;

void fab_flow_skipped(const FabFlow *flow, FabFlowSkipped *ret_skipped);

#endif
