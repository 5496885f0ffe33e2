/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_MMIO_H
#define FAB_FLOW_MMIO_H

#include "fab_flow.h"

/*
 * The CPU of @host writes to or reads from @target, one operation after the
 * other, in a range of at most one page. A write is over when it has left the
 * CPU (see fab_root_write_then()); then the next one begins. With @seen, the
 * CPU of the host that owns the target memory polls, and a write is over when
 * that CPU has seen it (cpu.poll is the mean of a uniform distribution that
 * begins at 0).
 */
typedef struct FabMmioFlowParams {
    FabRoot *host;
    FabTlpType direction;
    FabTarget target;
    uint32_t size_bytes; /* at most 64 */
    uint64_t count;
    bool seen; /* only for writes to a host's memory */
    SimTime start;
} FabMmioFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_mmio_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMmioFlowParams *params, GError **error);

#endif
