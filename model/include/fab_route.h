/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROUTE_H
#define FAB_ROUTE_H

#include "fab_ntb.h"

/*
 * Maps a range for a component that is elsewhere in the fabric, and returns the
 * address that it has to use. It maps everything on the way: windows of NTBs,
 * Requester IDs in their tables, IOMMU pages of every host whose IOMMU is on.
 *
 * @from is a device, or a root for its CPU. [@addr, +@size_bytes) is a range in
 * the address space of @to's host: memory if @to is a root, behind a BAR if it
 * is a device. Between hosts the way with the fewest cables is taken; among
 * equal ways the first by the names of adapters, then by their cables. After
 * realize.
 *
 * Fails with FAB_ERROR_WINDOW if no cables lead there or window space does not
 * suffice, and with FAB_ERROR_ADDRESS if the range is empty or wraps, or if no
 * device addresses are left. The mapping stays for good.
 *
 * A device that is lent (fab_lend.h) uses the memory and devices of its
 * borrower, through the windows of the lend. FAB_ERROR_LENT says then that one
 * of the ends belongs to another borrower, FAB_ERROR_NO_ROOM that the DMA
 * window is full.
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

/* A mapping that can be taken back. */
typedef struct FabMapping FabMapping;

typedef enum FabMapFlags {
    FAB_MAP_TO_DEVICE_ADDR = 0x1, /* the range is in device addresses of @to's
                                     host: do not map it in its IOMMU */
    FAB_MAP_FROM_HOST_ADDR = 0x2, /* give an address of @from's host, not one
                                     for its devices */
} FabMapFlags;

/* As fab_route_map(), but never through the windows of a lend. A failure leaves
 * no part of it mapped. */
FabMapping *fab_mapping_new(FabComponent *from, FabComponent *to,
                            FabBusAddr addr, uint64_t size_bytes,
                            unsigned flags, GError **error);
FabBusAddr fab_mapping_addr(const FabMapping *mapping);
/* Undoes @mapping (nullable). */
void fab_mapping_free(FabMapping *mapping);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMapping, fab_mapping_free)

/* The adapter in @from's host through which the way to @to begins; NULL if
 * there is no way, or both are in one host. After realize. */
FabNtb *fab_route_adapter(FabComponent *from, FabComponent *to);

#endif
