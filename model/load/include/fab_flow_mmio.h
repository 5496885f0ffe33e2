/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_MMIO_H
#define FAB_FLOW_MMIO_H

#include "fab_flow.h"

/* The way in which the CPU of the target's host sees a write. */
typedef enum FabSeen {
    FAB_SEEN_NOT,
    FAB_SEEN_POLLING,
    FAB_SEEN_INTERRUPT,
    FAB_SEEN_ANSWERED,
} FabSeen;

/*
 * The CPU of @host writes to or reads from @target, one operation after the
 * other, in a range of at most one page. A write is over when it has left the
 * CPU (see fab_root_write_then()). The next one begins @between later, when the
 * CPU is done with instructions that do not access @target. With @seen, a
 * write is over when the CPU of the host that owns the target memory has seen
 * it. That CPU polls (cpu.poll is the mean of a uniform distribution that
 * begins at 0), or the write is an MSI, whose handler starts after
 * cpu.interrupt. With FAB_SEEN_ANSWERED the CPU that polls then writes as many
 * bytes to the memory of @host, and the write is over when @host's CPU, which
 * polls, has seen these: a ping-pong.
 */
typedef struct FabMmioFlowParams {
    FabRoot *host;
    FabTlpType direction;
    FabTarget target;
    uint32_t size_bytes; /* at most 64 */
    uint64_t count;
    SimTime between; /* from the end of an operation to the begin of the next */
    FabSeen seen;    /* only for writes to a host's memory */
    SimTime start;
} FabMmioFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_mmio_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMmioFlowParams *params, GError **error);

#endif
