/* SPDX-License-Identifier: MIT */
#ifndef FAB_RANGES_PRIV_H
#define FAB_RANGES_PRIV_H

#include <glib.h>

#include "fab_tlp.h"

/*
 * Allocates ranges of an address space, such as device addresses of an IOMMU or
 * parts of a DMA window. An allocation takes the lowest range that fits.
 */
typedef struct FabRanges FabRanges;

/* Ranges lie in [@base, +@size_bytes), with at least @gap_bytes between two. */
FabRanges *fab_ranges_new(FabBusAddr base, uint64_t size_bytes,
                          uint64_t gap_bytes);
/* Frees @ranges (nullable). */
void fab_ranges_free(FabRanges *ranges);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabRanges, fab_ranges_free)

/* Takes @size_bytes (not 0), aligned to @align_bytes (a power of two).
 * Returns false if no free range is large enough. */
bool fab_ranges_take(FabRanges *ranges, uint64_t size_bytes,
                     uint64_t align_bytes, FabBusAddr *ret_addr);

/* Gives back the range that was taken at @addr. Returns its size; 0 if there
 * is none. */
uint64_t fab_ranges_give(FabRanges *ranges, FabBusAddr addr);

#endif
