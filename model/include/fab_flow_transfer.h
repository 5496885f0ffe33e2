/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_TRANSFER_H
#define FAB_FLOW_TRANSFER_H

#include "fab_flow.h"

/*
 * A driver on @driver's CPU has the memory of one GPU copied to another's, one
 * copy after the other. A copy begins with the work of the driver. Then the
 * driver rings the first GPU's doorbell, and that GPU reads control data from
 * the driver's memory. Without @via the first GPU writes to the second
 * directly. With it the copy is cut into chunks. The first GPU writes each to a
 * buffer in @via's memory, and the second reads it from there, once it knows of
 * it; several buffers let both be busy.
 */
typedef struct FabTransferFlowParams {
    FabEndpoint *from, *to;
    FabRoot *via; /* nullable */
    FabRoot *driver;
    uint64_t size_bytes;
    uint32_t copies;
    SimTime cpu_time;       /* of the driver, per copy */
    uint32_t control_bytes; /* read by the first GPU, per copy */
    uint64_t chunk_bytes;
    uint32_t buffers;     /* chunks in memory at a time */
    uint32_t round_trips; /* reads, one after the other, by which the second
                             GPU learns of a chunk */
    SimTime start;
} FabTransferFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_transfer_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabTransferFlowParams *params,
                               GError **error);

#endif
