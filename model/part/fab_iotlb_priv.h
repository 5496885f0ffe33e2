/* SPDX-License-Identifier: MIT */
#ifndef FAB_IOTLB_PRIV_H
#define FAB_IOTLB_PRIV_H

#include "fab_page_table_priv.h"

/*
 * A cache of translations: an IOTLB of an IOMMU, or the ATC of a device. It
 * holds pages of all sizes, in sets with true LRU.
 */

typedef struct FabIotlbNode FabIotlbNode;

typedef struct FabIotlb {
    /* The page that was used last. It is the first of its set. */
    FabBusAddr last_base; /* FAB_IOTLB_NO_PAGE: none */
    uint64_t last_mask;   /* bits within the page */
    uint64_t last_delta;  /* physical minus device address */
    FabIotlbNode *nodes;
    uint32_t *buckets;
    uint32_t bucket_shift;
    uint32_t sets; /* a power of two */
    uint32_t entries;
    uint32_t cached[FAB_PAGE_SIZES]; /* number of entries by page size */
} FabIotlb;

#define FAB_IOTLB_NO_PAGE 1 /* a base that no page has: bit 0 is set */

/* Checks a cache of @entries in @ways (0: fully associative): entries / ways
 * must be a power of two. @what, such as "an IOTLB", names it in @error. */
bool fab_iotlb_check(uint32_t entries, uint32_t ways, const char *what,
                     GError **error);

/* Makes the zeroed @iotlb, and frees what it holds. */
void fab_iotlb_init(FabIotlb *iotlb, uint32_t entries, uint32_t ways);
void fab_iotlb_done(FabIotlb *iotlb);

/* True if @addr is in the page that was used last. */
static inline bool fab_iotlb_is_last(const FabIotlb *iotlb, FabBusAddr addr)
{
    return (addr & ~iotlb->last_mask) == iotlb->last_base;
}

/* The number of the size of the page that was used last. */
static inline uint32_t fab_iotlb_last_size(const FabIotlb *iotlb)
{
    return iotlb->last_mask == fab_page_mask(0)   ? 0
           : iotlb->last_mask == fab_page_mask(1) ? 1
                                                  : 2;
}

/* Finds the page of @addr, which becomes the one that was used last. Returns
 * false if it is not here. */
bool fab_iotlb_find(FabIotlb *iotlb, FabBusAddr addr);

/* Enters the page of @size at @addr in place of the least recently used page of
 * its set. It becomes the one that was used last. */
void fab_iotlb_fill(FabIotlb *iotlb, FabBusAddr addr, uint32_t size,
                    uint64_t delta);

/* The number of entries in use. */
static inline uint64_t fab_iotlb_held(const FabIotlb *iotlb)
{
    uint64_t held = 0;

    for (uint32_t size = 0; size < FAB_PAGE_SIZES; size++) {
        held += iotlb->cached[size];
    }
    return held;
}

/* Drops all pages that overlap [@iova, @end), which is not empty. */
void fab_iotlb_drop(FabIotlb *iotlb, FabBusAddr iova, FabBusAddr end);

#endif
