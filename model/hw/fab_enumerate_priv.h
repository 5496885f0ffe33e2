/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENUMERATE_PRIV_H
#define FAB_ENUMERATE_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_root.h"

/* A bridge's windows begin and end at multiples of this (PCIe 5.0 s7.5.1.3.8
 * and s7.5.1.3.9). */
#define FAB_WINDOW_GRAIN (UINT64_C(1) << 20)

static inline FabWindow fab_window_closed(void)
{
    return (FabWindow){.base = 1, .limit = 0};
}

static inline bool fab_window_is_open(const FabWindow *window)
{
    return window->base <= window->limit;
}

/* False for a closed window, whatever @addr. */
static inline bool fab_window_contains(const FabWindow *window, FabBusAddr addr)
{
    return addr >= window->base && addr <= window->limit;
}

/*
 * fab_enumerate() with the address space given by @mmio. Fails with
 * FAB_ERROR_ADDRESS when bus or device numbers or address space run out, with
 * FAB_ERROR_CONFIG when a BAR or @mmio makes no sense, and with
 * FAB_ERROR_CONNECT when what is connected is no tree. Nothing is changed on
 * failure.
 */
bool fab_enumerate_with(FabComponent *root, const FabMmioParams *mmio,
                        GError **error);

/* Appends @bytes exactly, in the largest unit that divides it: "16 MiB". */
void fab_append_size(GString *out, uint64_t bytes);

#endif
