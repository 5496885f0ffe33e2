/* SPDX-License-Identifier: MIT */
#ifndef FAB_MEMORY_H
#define FAB_MEMORY_H

#include "fab_root.h"

/*
 * The memory of a host. It tells when reads and writes are served and where
 * buffers lie, and tells watchers of writes. It holds no contents but those of
 * watched words, and has no events: it answers at once with the time at which
 * something will be over.
 *
 * Reads and writes share one pipelined channel, first come first served. Each
 * takes a slot of bytes / bandwidth; slots follow each other without a gap
 * while there is work, and fractions of a ps are carried on, so that a busy
 * channel moves exactly its bandwidth. The latency of a read runs beside its
 * slot and those of others. Calls must come with non-decreasing times.
 *
 * The caller limits how many reads are under way at once (params->reads),
 * because a read that waits for its turn must not hold up writes.
 */
typedef struct FabMemory FabMemory;

/*
 * RAM lies at [0, @low_end) and, for what is left, from 4 GiB up. @low_end is
 * where the 32-bit addresses for BARs begin (FabMmioParams.low_base); beyond
 * 4 GiB it counts as 4 GiB. A bandwidth of 0 stands for no limit.
 */
FabMemory *fab_memory_new(const FabMemoryParams *params, FabBusAddr low_end);

/* Frees @mem (nullable). Its watches end. */
void fab_memory_free(FabMemory *mem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMemory, fab_memory_free)

/* Checks the parameters. Fails with FAB_ERROR_CONFIG. */
bool fab_memory_check(const FabMemory *mem, GError **error);

/* One past the highest address. */
FabBusAddr fab_memory_end(const FabMemory *mem);

/* True if all of [@addr, +@size_bytes) is RAM. A range that straddles 4 GiB
 * never is; of an empty one the first address counts. */
bool fab_memory_contains(const FabMemory *mem, FabBusAddr addr,
                         uint64_t size_bytes);

/*
 * Reserves @size_bytes, aligned to @align_bytes: above 4 GiB if there is room,
 * otherwise below, but never in the first MiB. Returns false when it does not
 * fit, @size_bytes is 0 or @align_bytes is no power of two. Nothing is ever
 * given back.
 */
bool fab_memory_alloc(FabMemory *mem, uint64_t size_bytes, uint64_t align_bytes,
                      FabBusAddr *ret_addr);

/* A write of @size_bytes comes at @now. Returns when it is visible: the end of
 * its slot. */
SimTime fab_memory_write(FabMemory *mem, SimTime now, uint32_t size_bytes);

/* A read of @size_bytes comes at @now. Returns when its data are ready: the
 * latency after its slot began, or the end of its slot if that is later.
 * Reads become ready in the order they came. */
SimTime fab_memory_read(FabMemory *mem, SimTime now, uint32_t size_bytes);

/* The end of the last slot given out. */
SimTime fab_memory_busy_until(const FabMemory *mem);

/* Watches [@addr, +@size_bytes). Returns a handle, never 0. */
unsigned fab_memory_watch(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                          FabWatchFn fn, void *owner);

/* True if there is a watch; and if there may be one of a byte of
 * [@addr, +@size_bytes). Where there is none, fab_memory_notify() need not be
 * called. */
bool fab_memory_watched(const FabMemory *mem);
bool fab_memory_watched_at(const FabMemory *mem, FabBusAddr addr,
                           uint64_t size_bytes);

/* The data of the last write that fab_memory_notify() told of, to the watched
 * range that holds @addr; 0 if there was none, or no watch. */
uint64_t fab_memory_peek(const FabMemory *mem, FabBusAddr addr);

/* Ends a watch. Does nothing if there is none with this handle. */
void fab_memory_unwatch(FabMemory *mem, unsigned handle);

/*
 * A write of @data to [@addr, +@size_bytes) has become visible: calls the
 * watchers of its bytes, in the order in which they began, with the address and
 * data of the write. A watcher may begin watches, end its own or others, which
 * are not called any more then, and cause further writes. A watch that begins
 * meanwhile does not see this write.
 */
void fab_memory_notify(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                       uint64_t data);

#endif
