/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_PINGPONG_H
#define FAB_FLOW_PINGPONG_H

#include "fab_flow.h"

/*
 * Kernels on two GPUs pass a counter back and forth. Without @via, each kernel
 * stores into the memory behind the other GPU's BAR and watches its own memory.
 * With @via, the counter is in the memory of that host. Both kernels store
 * there, and each one reads the counter repeatedly until the other one has
 * stored. In place of the second kernel the CPU of that host may do so: its
 * polls are no TLPs (cpu.poll is the mean of a uniform distribution that begins
 * at 0).
 */
typedef struct FabPingPongFlowParams {
    FabEndpoint *device[2]; /* the second is nullable: the CPU of @via */
    FabRoot *via;           /* nullable */
    uint64_t count;         /* round trips */
    SimTime store; /* from a kernel's decision until the store is at the port */
    SimTime notice; /* mean time until a kernel sees a store to its memory */
    SimTime period; /* between two looks of the kernel, so that the time is
                       uniform over a range of this size; at most twice
                       notice */
    SimTime gap;    /* minimum time between two reads of a host's memory */
    SimTime jitter; /* maximum random time that is added to the gap */
    SimTime read;   /* time of such a read inside the GPU, half of it before and
                       half after; 0: the DMA engine makes it, in its time */
    SimTime start;
} FabPingPongFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_pingpong_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabPingPongFlowParams *params,
                               GError **error);

#endif
