/* SPDX-License-Identifier: MIT */
#ifndef FAB_CACHE_PRIV_H
#define FAB_CACHE_PRIV_H

#include "fab_parts.h"

/*
 * The last-level cache in front of a host's memory: lines of 64 bytes, in sets
 * with true LRU. Writes by devices go into the cache, too, but a line that is
 * not there may only replace one of the first io_ways of its set (DDIO). A line
 * of the CPU takes a free place, or replaces one of the other ways. Reads by
 * devices leave the cache as it is. It holds addresses, not contents.
 */
typedef struct FabCache FabCache;

FabCache *fab_cache_new(const FabCacheParams *params);
void fab_cache_free(FabCache *cache); /* nullable */

/* Checks the parameters. Fails with FAB_ERROR_CONFIG. */
bool fab_cache_check(const FabMemoryParams *memory, GError **error);

/* A device reads: returns true if all lines are in the cache. */
bool fab_cache_read(FabCache *cache, FabBusAddr addr, uint64_t size_bytes);
/* A device writes. */
void fab_cache_write(FabCache *cache, FabBusAddr addr, uint64_t size_bytes);
/* The CPU reads or writes. */
void fab_cache_touch(FabCache *cache, FabBusAddr addr, uint64_t size_bytes);

/* The number of places that hold a line, and of reads that missed. */
uint64_t fab_cache_held(const FabCache *cache);
uint64_t fab_cache_missed(const FabCache *cache);

#endif
