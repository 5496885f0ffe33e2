/* SPDX-License-Identifier: MIT */
#ifndef FAB_MAPPER_PRIV_H
#define FAB_MAPPER_PRIV_H

#include "fab_core.h"

/*
 * The part of a driver that maps each buffer for its device before an
 * operation, and unmaps it after that, as the DMA API of Linux does with an
 * IOMMU. A core does this, one call after the other. A strict host waits, core
 * and all, until the IOMMU has dropped the translation; then the device address
 * is free again. A lazy one (params.iommu.lazy) queues up the address, and
 * waits only when the queue is full, or at the latest after flush_time: then
 * one invalidation drops the whole domain. Until then the device can still use
 * the translations that caches hold.
 */
typedef struct FabMapper FabMapper;

/* A buffer. The caller owns it, and keeps it while it is mapped or a call is
 * under way. */
typedef struct FabMapped FabMapped;
typedef void (*FabMappedFn)(FabMapped *mapped);
struct FabMapped {
    /* Set by the caller. */
    FabBusAddr addr; /* of the host */
    uint64_t size_bytes;
    FabMappedFn done; /* called at the end of each call */
    void *owner;
    /* Result. */
    FabBusAddr
        device_addr; /* FAB_ADDR_UNMAPPED: no device addresses are left */
    /* For the mapper alone. */
    FabBusAddr iova; /* of its first page */
    uint64_t bytes;  /* of its pages */
    FabCoreJob job;
};

/* Makes a mapper for devices of domain 0 of @root, whose IOMMU is on. Its
 * events have the rank @rank. */
FabMapper *fab_mapper_new(FabRoot *root, uint32_t rank);
void fab_mapper_free(FabMapper *mapper);

void fab_mapper_map(FabMapper *mapper, FabMapped *mapped);
void fab_mapper_unmap(FabMapper *mapper, FabMapped *mapped);

#endif
