/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_OBSERVE_H
#define FAB_FLOW_OBSERVE_H

#include "fab_flow.h"

/* The state of a flow's operations at one moment. */
typedef struct FabFlowWait {
    uint32_t ops;     /* number of measured operations under way, without: */
    uint32_t stores;  /* number of them that are stores in a core of @host */
    FabRoot *host;    /* nullable */
    const char *step; /* name of the operation's step, one word; static */
    /* True while a driver, a kernel or a set-up takes the time. False while the
     * operation waits for the orders of a DMA engine, or, if there are none,
     * for the TLPs of the flow. */
    bool own;
    FabEndpoint *device; /* (nullable) count the orders of this device only */
    bool posted; /* the operation waits until its writes are seen; do not count
                    reads */
} FabFlowWait;

/* All flows of @fabric (FabFlow), by number; NULL if none was made. */
const GPtrArray *fab_flows(const FabFabric *fabric);

/* Returns what @flow waits for now, and changes nothing. ret_wait->ops is 0
 * before the flow has started and after it is done. */
void fab_flow_observe(const FabFlow *flow, FabFlowWait *ret_wait);

#endif
