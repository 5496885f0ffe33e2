/* SPDX-License-Identifier: MIT */
/* The map of a host: its addresses lead to memory, ports or watched words. */
#include "fab_root_priv.h"

FabPort *fab_root_route(FabRoot *root, FabBusAddr addr)
{
    for (unsigned i = 0; i < root->ports; i++) {
        FabPort *port = root->component.ports[i];
        const FabBridge *bridge = &port->bridge;

        if (port->peer &&
            ((addr >= bridge->memory.base && addr <= bridge->memory.limit) ||
             (addr >= bridge->prefetchable.base &&
              addr <= bridge->prefetchable.limit))) {
            return port;
        }
    }
    return NULL;
}

void fab_root_warm(FabRoot *root, FabBusAddr addr, uint64_t size_bytes)
{
    if (root->completer.cache && size_bytes) {
        fab_cache_touch(root->completer.cache, addr, size_bytes);
    }
}

bool fab_root_alloc(FabRoot *root, uint64_t size_bytes, uint64_t align_bytes,
                    FabBusAddr *ret_addr)
{
    return fab_memory_alloc(root->completer.memory, size_bytes, align_bytes,
                            ret_addr);
}

void fab_root_memory_ranges(const FabRoot *root, FabRange ranges[2])
{
    uint64_t size_bytes = root->params.memory.size_bytes;
    uint64_t low = MIN(root->params.mmio.low_base, UINT64_C(4) << 30);

    low = MIN(low, size_bytes);
    ranges[0] = (FabRange){0, low};
    ranges[1] = (FabRange){UINT64_C(4) << 30, size_bytes - low};
}

unsigned fab_root_watch(FabRoot *root, FabBusAddr addr, uint64_t size_bytes,
                        FabWatchFn fn, void *owner)
{
    return fab_memory_watch(root->completer.memory, addr, size_bytes, fn,
                            owner);
}

void fab_root_unwatch(FabRoot *root, unsigned handle)
{
    fab_memory_unwatch(root->completer.memory, handle);
}
