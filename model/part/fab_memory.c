/* SPDX-License-Identifier: MIT */
#include "fab_memory_priv.h"

#include "fab_size.h"

#define GIB4          (1ULL << 32)
#define MIB           (1ULL << 20)
#define SIZE_LIMIT    (1ULL << 47)
/* Largest size whose time can be computed at once without overflow. */
#define PIECE_BYTES   (1u << 22)
#define BANDWIDTH_MIN 1000000 /* bytes/s; less would overflow SimTime */

typedef struct Watch {
    uint64_t value; /* last written to it */
    FabBusAddr addr;
    FabBusAddr last; /* last address inside */
    FabWatchFn fn;   /* NULL: ended, to be removed */
    void *owner;
    unsigned handle;
} Watch;

/* Part of the RAM. Buffers are allocated from its lowest free address upward.
 */
typedef struct Region {
    FabBusAddr addr;
    FabBusAddr free;
    FabBusAddr end; /* one past */
} Region;

struct FabMemory {
    /* Watches in the order in which they began. All lie between the bounds. */
    Watch *watches;
    uint32_t watch_count, watch_places;
    uint32_t calls; /* of fab_memory_notify() under way */
    bool has_ended; /* a watch that has ended is still in the list */
    unsigned last_handle;
    FabBusAddr watch_first, watch_last;

    /* The channel is free at free + carry / bandwidth ps. */
    SimTime free;
    uint64_t carry;
    uint64_t bandwidth;   /* bytes/s */
    uint64_t ps_per_byte; /* time of a byte, whole ps */
    uint64_t rest;        /* time of a byte beyond that, in 1 / bandwidth ps */
    SimTime latency;

    Region low, high;
    FabMemoryParams params;
};

FabMemory *fab_memory_new(const FabMemoryParams *params, FabBusAddr low_end)
{
    FabMemory *mem = g_new0(FabMemory, 1);
    uint64_t size = MIN(params->size_bytes, SIZE_LIMIT);

    low_end = MIN(MIN(low_end, GIB4), size);
    mem->params = *params;
    mem->latency = params->latency;
    mem->low = (Region){0, MIN(MIB, low_end), low_end};
    mem->high = (Region){GIB4, GIB4, GIB4 + (size - low_end)};
    mem->bandwidth = params->bandwidth_bytes_s;
    if (mem->bandwidth) {
        mem->ps_per_byte = (uint64_t)SIM_S / mem->bandwidth;
        mem->rest = (uint64_t)SIM_S % mem->bandwidth;
    } else {
        mem->bandwidth = 1;
    }
    return mem;
}

void fab_memory_free(FabMemory *mem)
{
    if (!mem) {
        return;
    }
    g_free(mem->watches);
    g_free(mem);
}

bool fab_memory_check(const FabMemory *mem, GError **error)
{
    const FabMemoryParams *params = &mem->params;

    if (!params->size_bytes || params->size_bytes > SIZE_LIMIT) {
        g_autofree char *size = fab_size_text(params->size_bytes);
        g_autofree char *limit = fab_size_text(SIZE_LIMIT);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a memory of %s: must be 1B to %s", size, limit);
        return false;
    }
    if (params->latency < 0 || params->latency > SIM_S) {
        g_autofree char *latency = fab_time_text(params->latency);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a memory latency of %s: must be 0 to 1 s", latency);
        return false;
    }
    if (params->bandwidth_bytes_s &&
        (params->bandwidth_bytes_s < BANDWIDTH_MIN ||
         params->bandwidth_bytes_s > INT64_MAX)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a memory bandwidth of %" G_GUINT64_FORMAT
                    " bytes/s: must be at least %d, or 0 for no limit",
                    params->bandwidth_bytes_s, BANDWIDTH_MIN);
        return false;
    }
    if (!params->reads) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "0 memory reads at a time: must be at least 1");
        return false;
    }
    return true;
}

/* ---- Addresses ----------------------------------------------------------- */

FabBusAddr fab_memory_end(const FabMemory *mem)
{
    return mem->high.end > GIB4 ? mem->high.end : mem->low.end;
}

static bool region_contains(const Region *region, FabBusAddr addr,
                            uint64_t size_bytes)
{
    return addr >= region->addr && addr < region->end &&
           size_bytes <= region->end - addr;
}

SIM_HOT bool fab_memory_contains(const FabMemory *mem, FabBusAddr addr,
                                 uint64_t size_bytes)
{
    return region_contains(&mem->low, addr, size_bytes) ||
           region_contains(&mem->high, addr, size_bytes);
}

static bool region_alloc(Region *region, uint64_t size_bytes,
                         uint64_t align_bytes, FabBusAddr *ret_addr)
{
    /* Not past 2^63 + 2^48, so this does not overflow. */
    FabBusAddr addr = (region->free + align_bytes - 1) & ~(align_bytes - 1);

    if (!region_contains(region, addr, size_bytes)) {
        return false;
    }
    region->free = addr + size_bytes;
    *ret_addr = addr;
    return true;
}

bool fab_memory_alloc(FabMemory *mem, uint64_t size_bytes, uint64_t align_bytes,
                      FabBusAddr *ret_addr)
{
    if (!size_bytes || !align_bytes || (align_bytes & (align_bytes - 1))) {
        return false;
    }
    return region_alloc(&mem->high, size_bytes, align_bytes, ret_addr) ||
           region_alloc(&mem->low, size_bytes, align_bytes, ret_addr);
}

/* ---- Times ------------------------------------------------------------ */

/* Takes the next slot. Returns when it begins. */
static SimTime slot_take(FabMemory *mem, SimTime now, uint32_t size_bytes)
{
    SimTime start;

    if (now > mem->free) {
        mem->free = now;
        mem->carry = 0;
    }
    start = mem->free;
    while (size_bytes) {
        uint32_t piece = MIN(size_bytes, PIECE_BYTES);

        mem->free += (SimTime)(piece * mem->ps_per_byte);
        mem->carry += piece * mem->rest;
        if (mem->carry >= mem->bandwidth) {
            mem->free += (SimTime)(mem->carry / mem->bandwidth);
            mem->carry %= mem->bandwidth;
        }
        size_bytes -= piece;
    }
    return start;
}

SIM_HOT SimTime fab_memory_write(FabMemory *mem, SimTime now,
                                 uint32_t size_bytes)
{
    slot_take(mem, now, size_bytes);
    return mem->free;
}

SIM_HOT SimTime fab_memory_read(FabMemory *mem, SimTime now,
                                uint32_t size_bytes)
{
    SimTime start = slot_take(mem, now, size_bytes);

    return MAX(start + mem->latency, mem->free);
}

SimTime fab_memory_busy_until(const FabMemory *mem)
{
    return mem->free;
}

/* ---- Watches ------------------------------------------------------------- */

unsigned fab_memory_watch(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                          FabWatchFn fn, void *owner)
{
    FabBusAddr last = addr + (MAX(size_bytes, 1) - 1);

    if (last < addr) {
        last = UINT64_MAX;
    }
    if (mem->watch_count == mem->watch_places) {
        mem->watch_places = MAX(2 * mem->watch_places, 8);
        mem->watches = g_renew(Watch, mem->watches, mem->watch_places);
    }
    if (!mem->watch_count) {
        mem->watch_first = addr;
        mem->watch_last = last;
    }
    mem->watch_first = MIN(mem->watch_first, addr);
    mem->watch_last = MAX(mem->watch_last, last);
    if (!++mem->last_handle) {
        mem->last_handle = 1;
    }
    mem->watches[mem->watch_count++] = (Watch){
        .addr = addr,
        .last = last,
        .fn = fn,
        .owner = owner,
        .handle = mem->last_handle,
    };
    return mem->last_handle;
}

bool fab_memory_watched_at(const FabMemory *mem, FabBusAddr addr,
                           uint64_t size_bytes)
{
    return mem->watch_count && size_bytes && addr <= mem->watch_last &&
           addr + (size_bytes - 1) >= mem->watch_first;
}

/* Removes the watches that have ended. */
static void watches_sweep(FabMemory *mem)
{
    uint32_t count = 0;

    mem->has_ended = false;
    mem->watch_first = UINT64_MAX;
    mem->watch_last = 0;
    for (uint32_t i = 0; i < mem->watch_count; i++) {
        const Watch *watch = &mem->watches[i];

        if (watch->fn) {
            mem->watch_first = MIN(mem->watch_first, watch->addr);
            mem->watch_last = MAX(mem->watch_last, watch->last);
            mem->watches[count++] = *watch;
        }
    }
    mem->watch_count = count;
}

uint64_t fab_memory_peek(const FabMemory *mem, FabBusAddr addr)
{
    for (uint32_t i = 0; i < mem->watch_count; i++) {
        const Watch *watch = &mem->watches[i];

        if (watch->fn && addr >= watch->addr && addr <= watch->last) {
            return watch->value;
        }
    }
    return 0;
}

void fab_memory_unwatch(FabMemory *mem, unsigned handle)
{
    for (uint32_t i = 0; i < mem->watch_count; i++) {
        if (mem->watches[i].handle == handle) {
            mem->watches[i].fn = NULL;
            mem->has_ended = true;
        }
    }
    /* A notification under way uses indices of the list, so they must stay. */
    if (mem->has_ended && !mem->calls) {
        watches_sweep(mem);
    }
}

void fab_memory_notify(FabMemory *mem, FabBusAddr addr, uint64_t size_bytes,
                       uint64_t data)
{
    uint32_t count = mem->watch_count;
    FabBusAddr last = addr + (size_bytes - 1);

    if (!fab_memory_watched_at(mem, addr, size_bytes)) {
        return;
    }
    mem->calls++;
    for (uint32_t i = 0; i < count; i++) {
        /* A watcher may begin another watch, which may move the list. */
        const Watch *watch = &mem->watches[i];

        if (watch->fn && addr <= watch->last && last >= watch->addr) {
            mem->watches[i].value = data;
            watch->fn(watch->owner, addr, data);
        }
    }
    if (!--mem->calls && mem->has_ended) {
        watches_sweep(mem);
    }
}
