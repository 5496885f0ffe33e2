/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_DMA_H
#define FAB_FLOW_DMA_H

#include "fab_flow.h"

typedef enum FabArrivals {
    FAB_ARRIVALS_CLOSED,   /* an operation arrives when another one is done */
    FAB_ARRIVALS_PERIODIC, /* an operation arrives every interval */
    FAB_ARRIVALS_POISSON,  /* intervals are exponentially distributed */
} FabArrivals;

/*
 * A device's DMA engine writes to or reads from @target. An operation begins
 * when it arrives; with FAB_ARRIVALS_CLOSED it begins when the engine gets the
 * order. A read is over when all its data have arrived. A write is over when
 * its last TLP begins to leave the device.
 */
typedef struct FabDmaFlowParams {
    FabEndpoint *device;
    FabTlpType direction; /* FAB_TLP_MWR or FAB_TLP_MRD */
    bool then_read; /* an operation is a write and then, when its last TLP has
                       left, a read of the same bytes; it is over when the data
                       of the read are in, and both count as bytes */
    FabTarget target;
    bool warm; /* the host's CPU has used the working set before; @target is
                  memory */
    uint64_t size_bytes;  /* size of an operation */
    uint64_t count;       /* number of operations */
    uint32_t outstanding; /* largest number of outstanding operations, at most
                             65536; later arrivals wait; 0: as many as keep the
                             engine busy */
    bool maps_each; /* a driver maps the buffer of each operation before it, and
                       unmaps it after it; an operation is over when its buffer
                       is unmapped. Behind a write, the device writes an entry
                       of 8 bytes, by which the driver sees its end. @target is
                       the memory of the device's own host, or of its borrower.
                       An operation for whose buffer the borrower's DMA window
                       has no room fails. Without an IOMMU there, and for a
                       guest, this costs nothing */
    bool random;    /* true: random slots of size_bytes; false: ascending
                       addresses, from the start again after the end */
    uint64_t working_set_bytes; /* size of the range that operations use; 0:
                                   size_bytes * count, but (with more than one
                                   operation) no more than 64 MiB or the size of
                                   the BAR */
    FabArrivals arrivals;
    SimTime interval; /* mean time between arrivals */
    SimTime start;    /* periodic: time of the first arrival; Poisson: begin of
                         the first interval, which ends with an arrival */
} FabDmaFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_dma_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabDmaFlowParams *params, GError **error);

#endif
