/* SPDX-License-Identifier: MIT */
#include "fab_devmem.h"

#include <errno.h>
#include <glib.h>

struct FabDevmem {
    FabBusAddr addr;
    uint32_t page_bytes, pages;
    bool is_bound;
    uint32_t *free; /* a ring: pages come back in the order of their use */
    uint32_t free_first, free_count;
    uint32_t *token_of;  /* by page; 0: the user does not have it */
    GHashTable *page_of; /* by token: page + 1 */
    uint32_t next_token;
    FabDevmemCounters counters;
};

FabDevmem *fab_devmem_bind(FabBusAddr addr, uint64_t size_bytes,
                           uint32_t page_bytes)
{
    FabDevmem *devmem = g_new0(FabDevmem, 1);

    g_assert(page_bytes > 0 && size_bytes / page_bytes > 0 &&
             size_bytes / page_bytes < UINT32_MAX);
    devmem->addr = addr;
    devmem->page_bytes = page_bytes;
    devmem->pages = size_bytes / page_bytes;
    devmem->is_bound = true;
    devmem->free = g_new(uint32_t, devmem->pages);
    devmem->token_of = g_new0(uint32_t, devmem->pages);
    devmem->page_of = g_hash_table_new(NULL, NULL);
    devmem->next_token = 1;
    for (uint32_t i = 0; i < devmem->pages; i++) {
        devmem->free[i] = i;
    }
    devmem->free_count = devmem->pages;
    return devmem;
}

void fab_devmem_free(FabDevmem *devmem)
{
    if (devmem) {
        g_hash_table_unref(devmem->page_of);
        g_free(devmem->token_of);
        g_free(devmem->free);
        g_free(devmem);
    }
}

bool fab_devmem_take(FabDevmem *devmem, uint32_t *ret_page)
{
    if (!devmem->is_bound) {
        return false;
    }
    if (devmem->free_count == 0) {
        devmem->counters.exhausted++;
        return false;
    }
    *ret_page = devmem->free[devmem->free_first];
    devmem->free_first = (devmem->free_first + 1) % devmem->pages;
    devmem->free_count--;
    return true;
}

void fab_devmem_put(FabDevmem *devmem, uint32_t page)
{
    g_assert(page < devmem->pages && devmem->token_of[page] == 0 &&
             devmem->free_count < devmem->pages);
    devmem->free[(devmem->free_first + devmem->free_count++) % devmem->pages] =
        page;
}

FabBusAddr fab_devmem_addr(const FabDevmem *devmem, uint32_t page)
{
    return devmem->addr + (FabBusAddr)page * devmem->page_bytes;
}

uint32_t fab_devmem_give(FabDevmem *devmem, uint32_t page)
{
    uint32_t token = devmem->next_token++;
    uint32_t held;

    g_assert(page < devmem->pages && devmem->token_of[page] == 0);
    if (devmem->next_token == 0) {
        devmem->next_token = 1;
    }
    devmem->token_of[page] = token;
    g_hash_table_insert(devmem->page_of, GUINT_TO_POINTER(token),
                        GUINT_TO_POINTER(page + 1));
    devmem->counters.given++;
    held = g_hash_table_size(devmem->page_of);
    devmem->counters.most_held = MAX(devmem->counters.most_held, held);
    return token;
}

/* Frees the page of @token. Returns false if the user does not have it. */
static bool token_return(FabDevmem *devmem, uint32_t token)
{
    uint32_t page = GPOINTER_TO_UINT(
        g_hash_table_lookup(devmem->page_of, GUINT_TO_POINTER(token)));

    if (page == 0) {
        devmem->counters.unknown++;
        return false;
    }
    g_hash_table_remove(devmem->page_of, GUINT_TO_POINTER(token));
    devmem->token_of[page - 1] = 0;
    devmem->counters.returned++;
    fab_devmem_put(devmem, page - 1);
    return true;
}

int fab_devmem_dontneed(FabDevmem *devmem, const FabDevmemTokens *tokens,
                        unsigned count)
{
    unsigned looked_at = 0;
    int freed = 0;

    if (count > FAB_DEVMEM_TOKENS) {
        return -EINVAL;
    }
    for (unsigned i = 0; i < count; i++) {
        for (uint32_t j = 0; j < tokens[i].count; j++) {
            if (looked_at++ == FAB_DEVMEM_FRAGMENTS) {
                return freed;
            }
            freed += token_return(devmem, tokens[i].first + j);
        }
    }
    return freed;
}

void fab_devmem_unbind(FabDevmem *devmem)
{
    devmem->is_bound = false;
    for (uint32_t page = 0; page < devmem->pages; page++) {
        if (devmem->token_of[page] != 0) {
            token_return(devmem, devmem->token_of[page]);
        }
    }
}

bool fab_devmem_is_bound(const FabDevmem *devmem)
{
    return devmem->is_bound;
}

uint32_t fab_devmem_free_pages(const FabDevmem *devmem)
{
    return devmem->free_count;
}

uint32_t fab_devmem_held(const FabDevmem *devmem)
{
    return g_hash_table_size(devmem->page_of);
}

const FabDevmemCounters *fab_devmem_counters(const FabDevmem *devmem)
{
    return &devmem->counters;
}
