/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENUMERATE_PRIV_H
#define FAB_ENUMERATE_PRIV_H

#include "fab_account_priv.h"
#include "fab_root.h"

/* A bridge's ranges begin and end at multiples of this (PCIe 5.0 s7.5.1.3.8
 * and s7.5.1.3.9). */
#define FAB_BRIDGE_RANGE_GRAIN (UINT64_C(1) << 20)

static inline FabBridgeRange fab_bridge_range_closed(void)
{
    return (FabBridgeRange){.base = 1, .limit = 0};
}

static inline bool fab_bridge_range_is_open(const FabBridgeRange *range)
{
    return range->base <= range->limit;
}

/* The result is false for every @addr if the range is closed. */
static inline bool fab_bridge_range_contains(const FabBridgeRange *range,
                                             FabBusAddr addr)
{
    return addr >= range->base && addr <= range->limit;
}

/* Appends @bytes in the largest unit of which it is a multiple: "16 MiB". */
void fab_append_size(GString *out, uint64_t bytes);

/*
 * Assigns bus numbers, BARs and bridge ranges of the hierarchy below @root, a
 * FAB_KIND_ROOT component. Fails with FAB_ERROR_ADDRESS when bus numbers,
 * device numbers or address space run out, with FAB_ERROR_CONFIG when a BAR or
 * the root's address space makes no sense, and with FAB_ERROR_CONNECT when the
 * connections do not form a tree. A failure changes nothing.
 */
bool fab_enumerate(FabComponent *root, GError **error);

#endif
