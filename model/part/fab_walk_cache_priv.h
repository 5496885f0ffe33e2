/* SPDX-License-Identifier: MIT */
#ifndef FAB_WALK_CACHE_PRIV_H
#define FAB_WALK_CACHE_PRIV_H

#include "fab_page_table_priv.h"

/*
 * The paging-structure caches of an IOMMU (VT-d 3.3 s6.2.5): one for each level
 * of tables. An entry spares a walk the way from the root to the table of that
 * level. A walk through four levels reads four tables for a page of 4 KiB,
 * three for 2 MiB and two for 1 GiB; with an entry it reads only those from its
 * table on. Each cache is fully associative, with true LRU.
 */

/* Levels by what a table of the level covers: 2 MiB, 1 GiB, 512 GiB. The table
 * of level n has the entries of pages of size n. */
#define FAB_WALK_CACHES     3
#define FAB_WALK_LEVELS     4 /* of tables */
#define FAB_WALK_CACHE_MOST 4096u

typedef struct FabWalkEntry {
    uint64_t table; /* number of the table; UINT64_MAX: none */
    uint64_t used;  /* when it was used last, by FabWalkCaches.uses */
} FabWalkEntry;

typedef struct FabWalkCaches {
    FabWalkEntry *entries[FAB_WALK_CACHES];
    uint32_t count[FAB_WALK_CACHES];
    uint64_t uses;
} FabWalkCaches;

/* Makes the zeroed @caches, with @counts entries by level. */
void fab_walk_caches_init(FabWalkCaches *caches, const uint32_t *counts);
void fab_walk_caches_done(FabWalkCaches *caches);

/* The number of tables that a walk for the page of size @size at @addr reads.
 * Marks the entry that it uses. */
uint32_t fab_walk_caches_reads(FabWalkCaches *caches, FabBusAddr addr,
                               uint32_t size);

/* A walk for the page of size @size at @addr has found its tables. */
void fab_walk_caches_fill(FabWalkCaches *caches, FabBusAddr addr,
                          uint32_t size);

/* Drops the entries of tables that cover a part of [@iova, @end). */
void fab_walk_caches_drop(FabWalkCaches *caches, FabBusAddr iova,
                          FabBusAddr end);

#endif
