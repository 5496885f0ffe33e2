/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_H
#define FAB_FLOW_H

#include "fab_endpoint.h"
#include "fab_route.h"
#include "fab_root.h"
#include "sim_stats.h"

/*
 * Workloads. A flow moves data from one place of the fabric to another and
 * measures how long that takes. Each kind has its own header, fab_flow_KIND.h,
 * with its parameters and fab_KIND_flow_new(), the function that makes a flow
 * of that kind. These functions have in common:
 *
 *   - The fabric must be realized. It owns the flow.
 *   - @name is unique among the flows of the fabric. It also selects the flow's
 *     random stream.
 *   - Buffers and mappings are allocated in the order in which flows are made.
 *   - Operations that end before @warmup are not measured.
 *   - They fail with the errors of fab_route_map(), and with FAB_ERROR_CONFIG
 *     if a parameter is not possible or a buffer does not fit.
 *
 * Flows begin with fab_flows_run().
 */
typedef struct FabFlow FabFlow;

/* One end: the memory of a host (a root), or the memory behind a BAR of any
 * other component that has BARs. */
typedef struct FabTarget {
    FabComponent *component;
    int bar; /* number of the BAR; -1: the largest. For a root: the node whose
                memory it is; -1: interleaved over all nodes */
} FabTarget;

/*
 * The measurements of a flow since the end of its warm-up. An operation counts
 * if it ends in this time. So no latency is left out because it is long, and
 * bytes count as they move, whether or not their operation ends.
 */
typedef struct FabFlowResult {
    uint64_t operations;
    uint64_t failed; /* operations whose read ended with UR, CA or no
                        completion, or whose write is known to be lost */
    uint64_t bytes;  /* that crossed all links between their ends */
    bool has_failed; /* all operations failed, or all data are lost: its
                        other members measure nothing */
    uint64_t sent_bytes, lost_bytes; /* of its data, from the start on */
    SimTime begin, end; /* first operation's begin, or the end of the warm-up if
                           that is later; last operation's end, or the present
                           time if the flow is not done */
    SimTime data_time;  /* of `bytes`: from begin to end, or from the first byte
                           that left to the last that arrived, if that is
                           longer */
    const SimHistogram *latency; /* of the operations that did not fail, in ps;
                                    owned by the flow */
} FabFlowResult;

/* Makes @flow wait until @before is done and @flow's own start time has come.
 * Both belong to the same fabric and have not begun. A flow may wait for
 * several others. */
void fab_flow_after(FabFlow *flow, FabFlow *before);

/* Makes @flow one of those that share the engine @engine, a name: they run one
 * at a time. @notice after it has become free, the engine takes the flow that
 * has waited longest for nothing else; of those that became ready within
 * @notice, the one with the least @place. */
void fab_flow_set_engine(FabFlow *flow, const char *engine, SimTime notice,
                         unsigned place);

const char *fab_flow_name(const FabFlow *flow);
/* The number that observers see in its TLPs: 1, 2 and so on. */
uint32_t fab_flow_number(const FabFlow *flow);
bool fab_flow_is_done(const FabFlow *flow);
void fab_flow_result(const FabFlow *flow, FabFlowResult *ret_result);

/*
 * Starts the flows that are new, and runs the engine until every flow of
 * @fabric is done, or until @stop (SIM_TIME_NONE: no limit). Returns false on a
 * deadlock: no event is left and a flow is not done. In this case @ret_stuck
 * (nullable) gets the first flow, by name, that is not done.
 */
bool fab_flows_run(FabFabric *fabric, SimTime stop, FabFlow **ret_stuck);

#endif
