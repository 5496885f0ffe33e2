/* SPDX-License-Identifier: MIT */
#include "fab_ranges_priv.h"

typedef struct Range {
    FabBusAddr addr;
    FabBusAddr end; /* one past */
} Range;

struct FabRanges {
    FabBusAddr base, end;
    uint64_t gap_bytes;
    GArray *taken; /* of Range, by address */
};

FabRanges *fab_ranges_new(FabBusAddr base, uint64_t size_bytes,
                          uint64_t gap_bytes)
{
    FabRanges *ranges = g_new0(FabRanges, 1);

    g_assert(base <= UINT64_MAX - size_bytes);
    ranges->base = base;
    ranges->end = base + size_bytes;
    ranges->gap_bytes = gap_bytes;
    ranges->taken = g_array_new(FALSE, FALSE, sizeof(Range));
    return ranges;
}

void fab_ranges_free(FabRanges *ranges)
{
    if (ranges) {
        g_array_unref(ranges->taken);
        g_free(ranges);
    }
}

bool fab_ranges_take(FabRanges *ranges, uint64_t size_bytes,
                     uint64_t align_bytes, FabBusAddr *ret_addr)
{
    FabBusAddr from = ranges->base;

    g_assert(size_bytes > 0 && align_bytes > 0);
    for (unsigned i = 0; i <= ranges->taken->len; i++) {
        bool is_last = i == ranges->taken->len;
        const Range *next =
            is_last ? NULL : &g_array_index(ranges->taken, Range, i);
        FabBusAddr limit = is_last ? ranges->end : next->addr;
        uint64_t gap = is_last ? 0 : ranges->gap_bytes;
        FabBusAddr addr = (from + align_bytes - 1) & ~(align_bytes - 1);

        if (addr >= from && addr <= limit && size_bytes <= limit - addr &&
            gap <= limit - addr - size_bytes) {
            Range range = {addr, addr + size_bytes};

            g_array_insert_val(ranges->taken, i, range);
            *ret_addr = addr;
            return true;
        }
        if (next) {
            if (next->end > UINT64_MAX - ranges->gap_bytes) {
                return false;
            }
            from = next->end + ranges->gap_bytes;
        }
    }
    return false;
}

uint64_t fab_ranges_give(FabRanges *ranges, FabBusAddr addr)
{
    unsigned low = 0, high = ranges->taken->len;
    uint64_t size_bytes;
    Range range;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (g_array_index(ranges->taken, Range, middle).addr < addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == ranges->taken->len) {
        return 0;
    }
    range = g_array_index(ranges->taken, Range, low);
    if (range.addr != addr) {
        return 0;
    }
    g_array_remove_index(ranges->taken, low);
    size_bytes = range.end - range.addr;
    return size_bytes;
}
