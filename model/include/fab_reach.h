/* SPDX-License-Identifier: MIT */
#ifndef FAB_REACH_H
#define FAB_REACH_H

#include "fab_fabric.h"

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
 * IOMMU's map does. What was mapped until then stays.
 */
bool fab_reach(FabComponent *from, FabComponent *to, FabBusAddr addr,
               uint64_t size_bytes, FabBusAddr *ret_addr, GError **error);

#endif
