/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_OBSERVE_H
#define FAB_FLOW_OBSERVE_H

#include "fab_flow.h"

/* The state of a flow's operations at a moment. */
typedef struct FabFlowWait {
    uint32_t ops;     /* under way, and measured; 0: none */
    const char *step; /* of the operation, a word; static */
    /* True while it is the flow's own time: of a driver, a kernel, a set-up.
     * Otherwise the operation waits for the orders of a DMA engine, or, if
     * there are none, for the TLPs of the flow. */
    bool own;
    FabEndpoint *device; /* (nullable) only the orders of this one count */
    bool posted; /* it waits until its writes are seen: reads do not count */
} FabFlowWait;

/* All flows of @fabric (FabFlow), by number; NULL if none was made. */
const GPtrArray *fab_flows(const FabFabric *fabric);

/* Tells what @flow waits for now, and changes nothing. ret_wait->ops is 0
 * before the flow has started and after it is done. */
void fab_flow_observe(const FabFlow *flow, FabFlowWait *ret_wait);

#endif
