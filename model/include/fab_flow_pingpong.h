/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_PINGPONG_H
#define FAB_FLOW_PINGPONG_H

#include "fab_flow.h"

/*
 * Kernels on two GPUs pass a counter to and fro. Without @via each stores into
 * the memory behind the other's BAR and watches its own. With it the counter is
 * in the memory of a host: both store there, and each reads it again and again
 * until the other has stored.
 */
typedef struct FabPingPongFlowParams {
    FabEndpoint *device[2];
    FabRoot *via;   /* nullable */
    uint64_t count; /* round trips */
    SimTime store;  /* from a kernel's decision to the store at the port */
    SimTime notice; /* mean time until a kernel sees a store to its memory */
    SimTime gap;    /* least time between two reads of a host's memory */
    SimTime jitter; /* the most that is added to the gap, at random */
    SimTime start;
} FabPingPongFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_pingpong_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabPingPongFlowParams *params,
                               GError **error);

#endif
