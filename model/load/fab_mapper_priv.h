/* SPDX-License-Identifier: MIT */
#ifndef FAB_MAPPER_PRIV_H
#define FAB_MAPPER_PRIV_H

#include "fab_core.h"
#include "fab_lend.h"

/*
 * The part of a driver that maps each buffer for its device before an
 * operation, and unmaps it after that, as the DMA API of Linux does with an
 * IOMMU. A core does this, one call after the other. A strict host waits, core
 * and all, until the IOMMU has dropped the translation; then the device address
 * is free again. A lazy one (params.iommu.lazy) queues up the address, and
 * waits only when the queue is full, or at the latest after flush_time: then
 * one invalidation drops the whole domain. Until then the device can still use
 * the translations that caches hold.
 *
 * The driver of a lent device works in the same way on the host that has
 * borrowed it. Its device addresses are those of the DMA window, which may be
 * full. Then the mapping fails; or it waits until a part of the window is given
 * back, and those behind it wait, too.
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
    FabBusAddr device_addr; /* FAB_ADDR_UNMAPPED: no device addresses are left,
                               or the DMA window has no room */
    /* For the mapper alone. */
    FabBusAddr iova; /* of its first page */
    uint64_t bytes;  /* of its pages */
    FabCoreJob job;
    FabMapped *next; /* that waits behind it */
};

typedef struct FabMapperParams {
    FabRoot *root; /* the host of the driver */
    FabLend *lend; /* of the device; NULL: it is one of domain 0 of @root */
    bool waits;    /* a mapping waits for room in the window of @lend */
    uint32_t rank; /* of its events */
} FabMapperParams;

/* Returns whether the driver of @device on @root maps buffers: the IOMMU of
 * @root is on, and @root has not borrowed the device for a guest. */
bool fab_mapper_is_needed(FabEndpoint *device, FabRoot *root);

/* Makes a mapper for a device that needs one. */
FabMapper *fab_mapper_new(const FabMapperParams *params);
void fab_mapper_free(FabMapper *mapper);

void fab_mapper_map(FabMapper *mapper, FabMapped *mapped);
void fab_mapper_unmap(FabMapper *mapper, FabMapped *mapped);

#endif
