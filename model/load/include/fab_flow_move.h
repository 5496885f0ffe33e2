/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_MOVE_H
#define FAB_FLOW_MOVE_H

#include "fab_flow.h"

/*
 * @device's DMA engine moves data from @from to @to, neither of which is its
 * own memory. So work the engines of NTB adapters, of switches and of CPUs. The
 * engine reads a chunk, and writes it when all of it is in. Its buffer holds
 * what is read or to be read and has not left yet, so a slow write slows the
 * reads down, and the other way round.
 *
 * Operations follow each other. An operation ends when its last TLP begins to
 * leave. Bytes count as they are written.
 */
typedef struct FabMoveFlowParams {
    FabEndpoint *device;
    FabTarget from, to;
    uint64_t size_bytes; /* of an operation */
    uint64_t count;      /* number of operations */
    SimTime setup;       /* before an operation */
    bool queued;         /* only the first operation has a setup */
    SimTime copy;        /* before each operation, after its setup: the driver
                            copies the data into a buffer of its own */
    uint32_t chunk_bytes;
    uint32_t buffer_bytes; /* at least chunk_bytes */
    SimTime start;
} FabMoveFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_move_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMoveFlowParams *params, GError **error);

#endif
