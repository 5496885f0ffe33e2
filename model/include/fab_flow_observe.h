/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_OBSERVE_H
#define FAB_FLOW_OBSERVE_H

#include "fab_flow.h"

/* What a flow's operations wait for at a moment. */
typedef struct FabFlowWait {
    uint32_t ops;     /* under way, and measured; 0: none */
    const char *step; /* of the operation, a word; static */
    /* It is the flow's own time: of a driver, a kernel, a set-up. Otherwise the
     * operation waits for the orders of a DMA engine, or, if there are none,
     * for the TLPs of the flow. */
    bool own;
    FabEndpoint *device; /* (nullable) only the orders of this one count */
    bool posted; /* for what was written to be seen: reads do not count */
} FabFlowWait;

/* All flows of @fabric (FabFlow), by number; NULL if none was made. */
const GPtrArray *fab_flows(const FabFabric *fabric);

/* What @flow waits for now; ret_wait->ops is 0 unless it has started and is not
 * done. Changes nothing. */
void fab_flow_observe(const FabFlow *flow, FabFlowWait *ret_wait);

#endif
