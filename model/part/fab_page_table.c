/* SPDX-License-Identifier: MIT */
#include "fab_page_table_priv.h"

#include "fab_iommu_priv.h"

#define ADDR_END (1ULL << FAB_IOMMU_ADDR_BITS)
#define PHYS_END (1ULL << 52) /* limit of a table entry */

void fab_page_table_init(FabPageTable *table)
{
    table->ranges = g_array_new(FALSE, FALSE, sizeof(FabPageRange));
}

void fab_page_table_done(FabPageTable *table)
{
    g_array_unref(table->ranges);
}

bool fab_page_size_find(uint64_t page_bytes, uint32_t *ret_size)
{
    for (uint32_t i = 0; i < FAB_PAGE_SIZES; i++) {
        if (page_bytes == 1ULL << fab_page_shifts[i]) {
            *ret_size = i;
            return true;
        }
    }
    return false;
}

/* Index of the first range that ends beyond @iova. */
static uint32_t find_range_at(const FabPageTable *table, FabBusAddr iova)
{
    uint32_t low = 0, high = table->ranges->len;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (g_array_index(table->ranges, FabPageRange, middle).end <= iova) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const FabPageRange *fab_page_table_find(FabPageTable *table, FabBusAddr iova)
{
    const FabPageRange *range;
    uint32_t at = table->last_range;

    if (at < table->ranges->len) {
        range = &g_array_index(table->ranges, FabPageRange, at);
        if (iova >= range->iova && iova < range->end) {
            return range;
        }
    }
    at = find_range_at(table, iova);
    if (at == table->ranges->len) {
        return NULL;
    }
    range = &g_array_index(table->ranges, FabPageRange, at);
    if (iova < range->iova) {
        return NULL;
    }
    table->last_range = at;
    return range;
}

static bool check_map(FabBusAddr iova, FabBusAddr phys, uint64_t size_bytes,
                      uint64_t page_bytes, uint32_t *ret_size, GError **error)
{
    const char *what = NULL;
    uint64_t value = 0;

    if (!fab_page_size_find(page_bytes, ret_size)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "page size 0x%" G_GINT64_MODIFIER
                    "x is none of 4 KiB, 2 MiB and 1 GiB",
                    page_bytes);
        return false;
    }
    if (iova & (page_bytes - 1)) {
        what = "device address";
        value = iova;
    } else if (phys & (page_bytes - 1)) {
        what = "physical address";
        value = phys;
    } else if (!size_bytes || (size_bytes & (page_bytes - 1))) {
        what = "size";
        value = size_bytes;
    }
    if (what) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "cannot map: %s 0x%" G_GINT64_MODIFIER
                    "x is not a multiple of the page size 0x%" G_GINT64_MODIFIER
                    "x%s",
                    what, value, page_bytes, size_bytes ? "" : " above 0");
        return false;
    }
    if (iova >= ADDR_END || size_bytes > ADDR_END - iova) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "cannot map 0x%" G_GINT64_MODIFIER
                    "x bytes at device address 0x%" G_GINT64_MODIFIER
                    "x: they end beyond %d bits",
                    size_bytes, iova, FAB_IOMMU_ADDR_BITS);
        return false;
    }
    if (phys >= PHYS_END || size_bytes > PHYS_END - phys) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "cannot map 0x%" G_GINT64_MODIFIER
                    "x bytes to physical address 0x%" G_GINT64_MODIFIER
                    "x: they end beyond 52 bits",
                    size_bytes, phys);
        return false;
    }
    return true;
}

bool fab_page_table_map(FabPageTable *table, FabBusAddr iova, FabBusAddr phys,
                        uint64_t size_bytes, uint64_t page_bytes,
                        GError **error)
{
    FabPageRange range = {
        .iova = iova,
        .end = iova + size_bytes,
        .delta = phys - iova,
    };
    uint32_t at;

    if (!check_map(iova, phys, size_bytes, page_bytes, &range.size, error)) {
        return false;
    }
    at = find_range_at(table, iova);
    if (at < table->ranges->len) {
        const FabPageRange *next =
            &g_array_index(table->ranges, FabPageRange, at);

        if (next->iova < range.end) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                        "cannot map device addresses 0x%" G_GINT64_MODIFIER
                        "x to 0x%" G_GINT64_MODIFIER "x: 0x%" G_GINT64_MODIFIER
                        "x to 0x%" G_GINT64_MODIFIER "x are mapped already",
                        iova, range.end - 1, next->iova, next->end - 1);
            return false;
        }
    }
    g_array_insert_val(table->ranges, at, range);
    return true;
}

uint64_t fab_page_table_unmap(FabPageTable *table, FabBusAddr iova,
                              uint64_t size_bytes, FabUnmappedFn fn, void *data)
{
    uint64_t unmapped = 0;
    FabBusAddr end;
    uint32_t at;

    if (iova >= ADDR_END) {
        return 0;
    }
    end = iova + MIN(size_bytes, ADDR_END - iova);
    at = find_range_at(table, iova);
    while (at < table->ranges->len) {
        FabPageRange *range = &g_array_index(table->ranges, FabPageRange, at);
        uint64_t mask = fab_page_mask(range->size);
        FabBusAddr first = (MAX(iova, range->iova) + mask) & ~mask;
        FabBusAddr last = MIN(end, range->end) & ~mask;

        if (range->iova >= end) {
            break;
        }
        if (first >= last) {
            at++;
            continue;
        }
        unmapped += last - first;
        fn(data, first, last, range->size);
        if (first == range->iova && last == range->end) {
            g_array_remove_index(table->ranges, at);
        } else if (first == range->iova) {
            range->iova = last;
            at++;
        } else {
            FabPageRange rest = *range;

            range->end = first;
            at++;
            if (last < rest.end) {
                rest.iova = last;
                g_array_insert_val(table->ranges, at, rest);
            }
        }
    }
    return unmapped;
}
