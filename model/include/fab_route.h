/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROUTE_H
#define FAB_ROUTE_H

#include "fab_ntb.h"

/*
 * How one end of the fabric reaches another: maps what has to be mapped (DMA
 * windows of NTBs on the way, Requester IDs in their tables, IOMMU pages of
 * every host whose IOMMU is on) and returns the address to use.
 *
 * @from is a device, or a root for its CPU. [@addr, +@size_bytes) is a range in
 * the address space of @to's host: memory if @to is a root, behind a BAR if it
 * is a device. Between hosts the way with the fewest cables is taken; of equal
 * ones the first by the names of adapters, then by their cables. After realize.
 *
 * Fails with FAB_ERROR_WINDOW if no cables lead there or window space does not
 * suffice, with FAB_ERROR_ADDRESS if the range is empty or wraps, and as the
 * IOMMU's map does. What is mapped stays for good.
 *
 * A device that is lent (fab_lend.h) reaches what its borrower has, through the
 * windows of the lend: FAB_ERROR_LENT says that something belongs to somebody
 * else, FAB_ERROR_NO_ROOM that the DMA window is full.
 */
bool fab_route_map(FabComponent *from, FabComponent *to, FabBusAddr addr,
                   uint64_t size_bytes, FabBusAddr *ret_addr, GError **error);

/*
 * The same for a buffer without which the device can go on: when the DMA window
 * is full the address is FAB_ADDR_UNMAPPED, at which, and beyond which, every
 * operation of a DMA engine fails before it begins.
 */
bool fab_route_map_buffer(FabComponent *from, FabComponent *to, FabBusAddr addr,
                          uint64_t size_bytes, FabBusAddr *ret_addr,
                          GError **error);

/* A way that can be taken back. */
typedef struct FabMapping FabMapping;

typedef enum FabMapFlags {
    FAB_MAP_TO_DEVICE_ADDR = 0x1, /* the range is in device addresses of @to's
                                     host: do not map it in its IOMMU */
    FAB_MAP_FROM_HOST_ADDR = 0x2, /* give an address of @from's host, not one
                                     for its devices */
} FabMapFlags;

/* As fab_route_map(), but never by the windows of a lend. On failure nothing is
 * left of what was mapped. */
FabMapping *fab_mapping_new(FabComponent *from, FabComponent *to,
                            FabBusAddr addr, uint64_t size_bytes,
                            unsigned flags, GError **error);
FabBusAddr fab_mapping_addr(const FabMapping *mapping);
/* Unmaps everything. (nullable) */
void fab_mapping_free(FabMapping *mapping);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMapping, fab_mapping_free)

/* The adapter in @from's host through which the way to @to begins; NULL if
 * there is no way, or both are in one host. After realize. */
FabNtb *fab_route_adapter(FabComponent *from, FabComponent *to);

#endif
