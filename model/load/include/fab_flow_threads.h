/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_THREADS_H
#define FAB_FLOW_THREADS_H

#include "fab_flow.h"

/*
 * Many threads access @target, each with a few accesses under way. They are
 * threads of a GPU (@device) or of a CPU (@host).
 *
 * Threads of a GPU run in warps. A warp executes one instruction for all its
 * threads: neighbouring threads access @access_bytes at addresses that are
 * @stride_bytes apart. The GPU coalesces these accesses: reads fetch whole
 * sectors, and what is adjacent within a line is one request. The requests
 * share the tags of the DMA engine, but not its latencies. The instruction is
 * over when all its reads have their data, or all its writes have begun to
 * leave. Each takes params.latency inside the GPU.
 *
 * A thread of a CPU is a core. Its accesses are requests of their own, with
 * neighbouring ones @stride_bytes apart. All reads share cpu.mmio_reads. A core
 * needs cpu.mmio_write for a write, and then begins the next one.
 *
 * An operation is an instruction of a warp, or an access of a core.
 */
typedef struct FabThreadsFlowParams {
    FabEndpoint *device; /* NULL: a CPU */
    FabRoot *host;       /* NULL: a GPU */
    FabTlpType direction;
    FabTarget target;
    uint32_t threads;
    uint32_t outstanding;  /* operations under way, of each warp or core */
    uint32_t access_bytes; /* a power of two, at most 16 (GPU) or 64 (CPU) */
    uint32_t stride_bytes; /* a multiple of access_bytes */
    uint64_t count;        /* operations of each warp or core */
    bool random;           /* true: each operation at a random place */
    uint64_t working_set_bytes; /* 0: as for a DMA flow */
    /* Of the GPU. */
    uint32_t warp;         /* threads of a warp, at most 64 */
    uint32_t line_bytes;   /* powers of two, a sector at most a line */
    uint32_t sector_bytes; /* and a line at most 128 */
    SimTime latency;
    SimTime start;
} FabThreadsFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_threads_flow_new(FabFabric *fabric, const char *name,
                              SimTime warmup,
                              const FabThreadsFlowParams *params,
                              GError **error);

#endif
