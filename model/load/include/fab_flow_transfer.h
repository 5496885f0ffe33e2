/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_TRANSFER_H
#define FAB_FLOW_TRANSFER_H

#include "fab_flow.h"

/*
 * A driver on @driver's CPU lets two GPUs copy from the memory of the first to
 * the memory of the second, one copy after the other. A copy begins with the
 * work of the driver. Then the driver rings the first GPU's doorbell, and that
 * GPU reads control data from the driver's memory. Without @via, the first GPU
 * writes directly to the second. With @via, the copy is cut into chunks. The
 * first GPU writes each chunk to a buffer in @via's memory. The second GPU
 * reads the chunk from there when it has learned of it. With several buffers
 * both GPUs work at the same time.
 */
typedef struct FabTransferFlowParams {
    FabEndpoint *from, *to;
    FabRoot *via; /* nullable */
    FabRoot *driver;
    uint64_t size_bytes;
    uint32_t copies;
    SimTime cpu_time;       /* CPU time of the driver, per copy */
    uint32_t control_bytes; /* control data for the first GPU, per copy */
    uint64_t chunk_bytes;
    uint32_t buffers;     /* buffers of one chunk each in @via's memory */
    uint32_t round_trips; /* number of consecutive reads by which the second GPU
                             learns of a chunk */
    SimTime start;
} FabTransferFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_transfer_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabTransferFlowParams *params,
                               GError **error);

#endif
