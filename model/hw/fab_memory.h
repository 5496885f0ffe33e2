/* SPDX-License-Identifier: MIT */
#ifndef FAB_MEMORY_H
#define FAB_MEMORY_H

#include "fab_root.h"

/*
 * The memory of a host: when reads and writes are served, where buffers lie,
 * and who wants to know of writes. It holds no contents but
 * those of watched words, and has no events: it
 * answers at once with the time at which something will be over.
 *
 * Reads and writes share one pipelined channel, first come first served. Each
 * takes a slot of bytes / bandwidth; slots follow each other without a gap
 * while there is work, and fractions of a ps are carried on, so that a busy
 * channel moves exactly its bandwidth. The latency of a read runs beside its
 * slot and those of others. Calls must come with non-decreasing times.
 *
 * How many reads are under way at once (params->reads) is for the caller to
 * limit: a read that waits for its turn must not hold up writes.
 */
typedef struct FabMemory FabMemory;

/*
 * RAM lies at [0, @low_end) and, for what is left, from 4 GiB up. @low_end is
 * where the 32-bit addresses for BARs begin (FabMmioParams.low_base); beyond
 * 4 GiB it counts as 4 GiB. A bandwidth of 0 stands for no limit.
 */
FabMemory *fab_memory_new(const FabMemoryParams *params, FabBusAddr low_end);

/* (nullable) Watchers are forgotten. */
void fab_memory_free(FabMemory *mem);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabMemory, fab_memory_free)

/* Whether it can be run. Fails with FAB_ERROR_CONFIG. */
bool fab_memory_check(const FabMemory *mem, GError **error);

/* One past the highest address. */
FabBusAddr fab_memory_end(const FabMemory *mem);

/* Whether RAM is at all of [@addr, +@size_bytes). No range that straddles 4 GiB
 * is; an empty one is where its first byte would be. */
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

/* Whether anybody watches; and whether somebody may watch a byte of
 * [@addr, +@size_bytes). What nobody watches need not be notified. */
bool fab_memory_watched(const FabMemory *mem);
bool fab_memory_watched_at(const FabMemory *mem, FabBusAddr addr,
                           uint64_t size_bytes);

/* What was last written, as fab_memory_notify() told, where @addr is watched;
 * 0 if nothing was, or nobody watches. */
uint64_t fab_memory_peek(const FabMemory *mem, FabBusAddr addr);

/* Ends a watch; does nothing when there is none of this handle. */
void fab_memory_unwatch(FabMemory *mem, unsigned handle);

/*
 * A write of @data to [@addr, +@size_bytes) has become visible: calls those who
 * watch a byte of it, in the order they began to, with the address and data of
 * the write. They may watch, unwatch (themselves or others, who are then not
 * called any more) and cause further writes. Who begins to watch meanwhile does
 * not see this write.
 */
void fab_memory_notify(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                       uint64_t data);

#endif
