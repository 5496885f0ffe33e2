/* SPDX-License-Identifier: MIT */
#ifndef FAB_PAGE_TABLE_PRIV_H
#define FAB_PAGE_TABLE_PRIV_H

#include "fab_fabric.h"

/*
 * The page tables of an IOMMU, from device addresses to physical addresses.
 * They are kept as runs of pages that were mapped together.
 */

/* Page sizes have numbers: 0 for 4 KiB, 1 for 2 MiB, 2 for 1 GiB. */
#define FAB_PAGE_SIZES 3
static const uint8_t fab_page_shifts[FAB_PAGE_SIZES] = {12, 21, 30};

static inline uint64_t fab_page_mask(uint32_t size)
{
    return (1ULL << fab_page_shifts[size]) - 1;
}

/* A page as one number: its address, and in the low bits that of its size. */
static inline uint64_t fab_page_key(FabBusAddr addr, uint32_t size)
{
    return (addr & ~fab_page_mask(size)) | size;
}

static inline uint32_t fab_page_key_size(uint64_t key)
{
    return key & 3;
}

static inline FabBusAddr fab_page_key_base(uint64_t key)
{
    return key & ~3ULL;
}

/* Finds the number of @page_bytes. Returns false if there is no such size. */
bool fab_page_size_find(uint64_t page_bytes, uint32_t *ret_size);

/* A run of pages that were mapped together. */
typedef struct FabPageRange {
    FabBusAddr iova;
    FabBusAddr end; /* one past */
    uint64_t delta; /* physical address minus @iova */
    uint32_t size;  /* number of the page size */
} FabPageRange;

typedef struct FabPageTable {
    GArray *ranges;      /* of FabPageRange, by address */
    uint32_t last_range; /* index of the range found last */
} FabPageTable;

/* Initialise the zeroed @table, and free its contents. */
void fab_page_table_init(FabPageTable *table);
void fab_page_table_done(FabPageTable *table);

/* See fab_iommu_map(). */
bool fab_page_table_map(FabPageTable *table, FabBusAddr iova, FabBusAddr phys,
                        uint64_t size_bytes, uint64_t page_bytes,
                        GError **error);

/* Called for [@iova, @end), pages of size @size that are no longer mapped. */
typedef void (*FabUnmappedFn)(void *data, FabBusAddr iova, FabBusAddr end,
                              uint32_t size);

/* See fab_iommu_unmap(). Calls @fn for each run of pages. */
uint64_t fab_page_table_unmap(FabPageTable *table, FabBusAddr iova,
                              uint64_t size_bytes, FabUnmappedFn fn,
                              void *data);

/* The range that maps @iova; NULL if none does. Valid until the next change. */
const FabPageRange *fab_page_table_find(FabPageTable *table, FabBusAddr iova);

#endif
