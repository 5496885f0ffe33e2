/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_DMA_H
#define FAB_FLOW_DMA_H

#include "fab_flow.h"

typedef enum FabArrivals {
    FAB_ARRIVALS_CLOSED,   /* the next as soon as one is done */
    FAB_ARRIVALS_PERIODIC, /* every interval */
    FAB_ARRIVALS_POISSON,  /* exponential intervals */
} FabArrivals;

/*
 * A device's DMA engine writes to or reads from @target. An operation begins
 * when it arrives (closed: when it is ordered). A read is over when all its
 * data have arrived, a write when its last TLP begins to leave the device.
 */
typedef struct FabDmaFlowParams {
    FabEndpoint *device;
    FabTlpType direction; /* FAB_TLP_MWR or FAB_TLP_MRD */
    FabTarget target;
    uint64_t size_bytes;  /* of an operation */
    uint64_t count;       /* operations */
    uint32_t outstanding; /* operations at a time, 65536 at most; later
                             arrivals wait; 0: as many as keep the engine
                             busy */
    bool random;          /* any slot of size_bytes; else in order of address
                             and round again */
    uint64_t working_set_bytes; /* operations fall into; 0: size_bytes*count,
                                   but (with more than one operation) no more
                                   than 64 MiB or the size of the BAR */
    FabArrivals arrivals;
    SimTime interval; /* mean, between arrivals */
    SimTime start;    /* periodic: of the first arrival; Poisson: of the time
                         that passes until the first arrival */
} FabDmaFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_dma_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabDmaFlowParams *params, GError **error);

#endif
