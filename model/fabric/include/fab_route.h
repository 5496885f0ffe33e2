/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROUTE_H
#define FAB_ROUTE_H

#include "fab_ntb.h"

/*
 * Maps a range for a component elsewhere in the fabric, and returns the address
 * that this component must use. The function sets up the whole way: windows of
 * NTBs, Requester IDs in their tables, and IOMMU pages of every host whose
 * IOMMU is on. To be called after realize. The mapping is permanent.
 *
 * @from is a device, or a root for its CPU. [@addr, +@size_bytes) is a range in
 * the address space of @to's host: memory if @to is a root, a part of a BAR if
 * @to is a device. Between hosts the function takes the way with the fewest
 * cables. Among equal ways it takes the first by the names of the adapters,
 * then by the numbers of their cables.
 *
 * Fails with FAB_ERROR_WINDOW if no cables lead there or window space does not
 * suffice, and with FAB_ERROR_ADDRESS if the range is empty or wraps, or if no
 * device addresses are left.
 *
 * A device that is lent (fab_lend.h) uses the memory and devices of its
 * borrower, through the windows of the lend. For such a device FAB_ERROR_LENT
 * says that one of the ends belongs to another borrower, and FAB_ERROR_NO_ROOM
 * says that the DMA window is full.
 */
bool fab_route_map(FabComponent *from, FabComponent *to, FabBusAddr addr,
                   uint64_t size_bytes, FabBusAddr *ret_addr, GError **error);

/*
 * Does the same as fab_route_map(), for a buffer that the device can do
 * without. When the DMA window is full, the function succeeds and returns
 * FAB_ADDR_UNMAPPED. An order of a DMA engine to this address, or to one above
 * it, fails before it begins.
 */
bool fab_route_map_buffer(FabComponent *from, FabComponent *to, FabBusAddr addr,
                          uint64_t size_bytes, FabBusAddr *ret_addr,
                          GError **error);

/*
 * Does the same as fab_route_map(), over the way @cable out of @near. This
 * adapter is in the host of @from, and the one at the far end in the host of
 * @to. A device that is lent uses the windows of the lend only if they lead
 * over this way. Fails with FAB_ERROR_WINDOW if the way does not lead there.
 */
bool fab_route_map_over(FabNtb *near, unsigned cable, FabComponent *from,
                        FabComponent *to, FabBusAddr addr, uint64_t size_bytes,
                        FabBusAddr *ret_addr, GError **error);

/* A mapping that can be undone. */
typedef struct FabMapping FabMapping;

typedef enum FabMapFlags {
    FAB_MAP_TO_DEVICE_ADDR = 0x1, /* @addr is a device address of @to's host: do
                                     not map the range in the IOMMU there */
    FAB_MAP_FROM_HOST_ADDR = 0x2, /* return an address of @from's host, not a
                                     device address */
} FabMapFlags;

/* Maps a range like fab_route_map(), but never uses the windows of a lend. A
 * failure leaves nothing mapped. */
FabMapping *fab_mapping_new(FabComponent *from, FabComponent *to,
                            FabBusAddr addr, uint64_t size_bytes,
                            unsigned flags, GError **error);
FabBusAddr fab_mapping_addr(const FabMapping *mapping);
/* Undoes @mapping (nullable). */
void fab_mapping_free(FabMapping *mapping);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMapping, fab_mapping_free)

/* The first adapter on the way from @from to @to, in @from's host. NULL if
 * there is no way, or if both are in one host. To be called after realize. */
FabNtb *fab_route_adapter(FabComponent *from, FabComponent *to);

#endif
