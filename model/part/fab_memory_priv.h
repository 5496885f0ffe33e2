/* SPDX-License-Identifier: MIT */
#ifndef FAB_MEMORY_PRIV_H
#define FAB_MEMORY_PRIV_H

#include "fab_parts.h"

/*
 * The memory of a host. It computes when reads and writes are served, allocates
 * buffers, and notifies watchers of writes. It holds no contents except the
 * values of watched words. It has no events: each call returns at once the time
 * at which the read or write will be over.
 *
 * Reads and writes share one pipelined channel, first come first served. Each
 * takes a slot of bytes / bandwidth. Slots follow each other without a gap
 * while there is work, and fractions of a ps are carried over, so a busy
 * channel moves exactly its bandwidth. The latency of a read runs in parallel
 * with the slots. Calls must come with non-decreasing times.
 *
 * The caller limits the number of reads under way (params->reads), because a
 * read that waits for its turn must not hold up writes.
 */
typedef struct FabMemory FabMemory;

/*
 * RAM occupies [0, @low_end), and the rest of it begins at 4 GiB. @low_end is
 * the begin of the 32-bit addresses for BARs (FabMmioParams.low_base); a value
 * above 4 GiB counts as 4 GiB. A bandwidth of 0 stands for no limit.
 */
FabMemory *fab_memory_new(const FabMemoryParams *params, FabBusAddr low_end);

/* Frees @mem (nullable). Its watches end. */
void fab_memory_free(FabMemory *mem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMemory, fab_memory_free)

/* Checks the parameters. Fails with FAB_ERROR_CONFIG. */
bool fab_memory_check(const FabMemory *mem, GError **error);

/* One past the highest address. */
FabBusAddr fab_memory_end(const FabMemory *mem);

/* True if all of [@addr, +@size_bytes) is RAM. The result is false for a range
 * that straddles 4 GiB. For an empty range the first address counts. */
bool fab_memory_contains(const FabMemory *mem, FabBusAddr addr,
                         uint64_t size_bytes);

/*
 * Reserves @size_bytes, aligned to @align_bytes: above 4 GiB if there is room,
 * otherwise below, but never in the first MiB. Returns false when it does not
 * fit, @size_bytes is 0 or @align_bytes is not a power of two. Buffers are
 * never freed.
 */
bool fab_memory_alloc(FabMemory *mem, uint64_t size_bytes, uint64_t align_bytes,
                      FabBusAddr *ret_addr);

/* Adds a write of @size_bytes at @now. Returns when it is visible: the end of
 * its slot. */
SimTime fab_memory_write(FabMemory *mem, SimTime now, uint32_t size_bytes);

/* Adds a read of @size_bytes at @now. Returns when its data are ready: the
 * latency after its slot began, or the end of its slot if that is later. Reads
 * become ready in the order of the calls. */
SimTime fab_memory_read(FabMemory *mem, SimTime now, uint32_t size_bytes);

/* The end of the last slot. */
SimTime fab_memory_busy_until(const FabMemory *mem);

/* Watches [@addr, +@size_bytes). Returns a handle, never 0. */
unsigned fab_memory_watch(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                          FabWatchFn fn, void *owner);

/* True if there may be a watch in [@addr, +@size_bytes). If the result is
 * false, fab_memory_notify() need not be called. */
bool fab_memory_watched_at(const FabMemory *mem, FabBusAddr addr,
                           uint64_t size_bytes);

/* The data of the last write that fab_memory_notify() announced for the watched
 * range that holds @addr; 0 if there was no write or is no watch. */
uint64_t fab_memory_peek(const FabMemory *mem, FabBusAddr addr);

/* Ends a watch. Does nothing if there is none with this handle. */
void fab_memory_unwatch(FabMemory *mem, unsigned handle);

/*
 * Announces that a write of @data to [@addr, +@size_bytes) is visible. Calls
 * the watchers of its bytes, in the order in which the watches began, with the
 * address and data of the write. A watcher may begin watches, end its own watch
 * or others, and cause further writes. A watch that ends meanwhile is not
 * called any more. A watch that begins meanwhile does not see this write.
 */
void fab_memory_notify(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                       uint64_t data);

#endif
