/* SPDX-License-Identifier: MIT */
#include "fab_walk_cache_priv.h"

#define NONE UINT64_MAX

/* Bits of an address within a table of @level. */
static inline unsigned table_shift(unsigned level)
{
    return fab_page_shifts[level] + 9;
}

static FabWalkEntry *entry_find(FabWalkCaches *caches, unsigned level,
                                uint64_t table)
{
    for (uint32_t i = 0; i < caches->count[level]; i++) {
        if (caches->entries[level][i].table == table) {
            return &caches->entries[level][i];
        }
    }
    return NULL;
}

/* The entry that was used least recently. An empty one was never used. */
static FabWalkEntry *entry_oldest(FabWalkCaches *caches, unsigned level)
{
    FabWalkEntry *oldest = &caches->entries[level][0];

    for (uint32_t i = 1; i < caches->count[level]; i++) {
        if (caches->entries[level][i].used < oldest->used) {
            oldest = &caches->entries[level][i];
        }
    }
    return oldest;
}

uint32_t fab_walk_caches_reads(FabWalkCaches *caches, FabBusAddr addr,
                               uint32_t size)
{
    for (unsigned level = size; level < FAB_WALK_CACHES; level++) {
        FabWalkEntry *entry =
            entry_find(caches, level, addr >> table_shift(level));

        if (entry) {
            entry->used = ++caches->uses;
            return level - size + 1;
        }
    }
    return FAB_WALK_LEVELS - size;
}

void fab_walk_caches_fill(FabWalkCaches *caches, FabBusAddr addr, uint32_t size)
{
    for (unsigned level = size; level < FAB_WALK_CACHES; level++) {
        uint64_t table = addr >> table_shift(level);
        FabWalkEntry *entry = entry_find(caches, level, table);

        if (!entry && caches->count[level]) {
            entry = entry_oldest(caches, level);
        }
        if (entry) {
            entry->table = table;
            entry->used = ++caches->uses;
        }
    }
}

void fab_walk_caches_drop(FabWalkCaches *caches, FabBusAddr iova,
                          FabBusAddr end)
{
    for (unsigned level = 0; level < FAB_WALK_CACHES; level++) {
        for (uint32_t i = 0; i < caches->count[level]; i++) {
            FabWalkEntry *entry = &caches->entries[level][i];

            if (entry->table != NONE &&
                entry->table >= iova >> table_shift(level) &&
                entry->table <= (end - 1) >> table_shift(level)) {
                *entry = (FabWalkEntry){.table = NONE};
            }
        }
    }
}

void fab_walk_caches_init(FabWalkCaches *caches, const uint32_t *counts)
{
    for (unsigned level = 0; level < FAB_WALK_CACHES; level++) {
        caches->count[level] = counts[level];
        caches->entries[level] = g_new(FabWalkEntry, counts[level]);
        for (uint32_t i = 0; i < counts[level]; i++) {
            caches->entries[level][i] = (FabWalkEntry){.table = NONE};
        }
    }
}

void fab_walk_caches_done(FabWalkCaches *caches)
{
    for (unsigned level = 0; level < FAB_WALK_CACHES; level++) {
        g_free(caches->entries[level]);
    }
}
