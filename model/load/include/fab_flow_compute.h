/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_COMPUTE_H
#define FAB_FLOW_COMPUTE_H

#include "fab_flow.h"

/* A device works for itself and does not use the fabric. */
typedef struct FabComputeFlowParams {
    SimTime time; /* duration of the work */
    SimTime start;
} FabComputeFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_compute_flow_new(FabFabric *fabric, const char *name,
                              SimTime warmup,
                              const FabComputeFlowParams *params,
                              GError **error);

#endif
