/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_MMIO_H
#define FAB_FLOW_MMIO_H

#include "fab_flow.h"

/*
 * The CPU of @host writes to or reads from @target, one operation after the
 * other, over at most a page. A write is over, and the next begins, when it has
 * left the CPU, see fab_root_write_then(). If it is to be @seen, the host whose
 * memory it goes to polls, and the write is over when that CPU has seen it
 * (core.poll is the mean of a uniform distribution from 0 on).
 */
typedef struct FabMmioFlowParams {
    FabRoot *host;
    FabTlpType direction;
    FabTarget target;
    uint32_t size_bytes; /* at most 64 */
    uint64_t count;
    bool seen; /* of writes to a host's memory */
    SimTime start;
} FabMmioFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_mmio_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMmioFlowParams *params, GError **error);

#endif
