/* SPDX-License-Identifier: MIT */
#include "fab_cache_priv.h"

#include <string.h>

#define LINE_BYTES 64
#define WAYS_MAX   64u
#define NO_LINE    UINT64_MAX

/*
 * A set is an array of lines. The first io_ways places may hold lines that
 * devices brought in; each of the two parts is sorted by last use.
 */
struct FabCache {
    FabCacheParams params;
    uint64_t sets;
    uint64_t *lines; /* [set * ways + way]: number of the line */
    uint64_t held, missed;
};

bool fab_cache_check(const FabMemoryParams *memory, GError **error)
{
    const FabCacheParams *params = &memory->cache;
    const char *wrong = NULL;

    if (params->size_bytes == 0) {
        return true;
    }
    if (params->ways < 1 || params->ways > WAYS_MAX) {
        wrong = "the cache must have 1 to 64 ways";
    } else if (params->size_bytes % (LINE_BYTES * params->ways)) {
        wrong = "the size of the cache must be a multiple of 64 bytes times "
                "its ways";
    } else if (params->io_ways > params->ways) {
        wrong = "the cache has fewer ways than devices may use";
    } else if (params->latency < 0 || params->latency > memory->latency) {
        wrong = "the cache is slower than the memory behind it";
    }
    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s", wrong);
    }
    return !wrong;
}

FabCache *fab_cache_new(const FabCacheParams *params)
{
    FabCache *cache = g_new0(FabCache, 1);
    uint64_t count;

    cache->params = *params;
    cache->sets = params->size_bytes / (LINE_BYTES * params->ways);
    count = cache->sets * params->ways;
    cache->lines = g_new(uint64_t, count);
    for (uint64_t i = 0; i < count; i++) {
        cache->lines[i] = NO_LINE;
    }
    return cache;
}

void fab_cache_free(FabCache *cache)
{
    if (cache) {
        g_free(cache->lines);
        g_free(cache);
    }
}

static inline uint64_t *set_of(FabCache *cache, uint64_t line)
{
    return &cache->lines[line % cache->sets * cache->params.ways];
}

/* The way of @set that holds @line; the number of ways if none does. */
static unsigned find(const FabCache *cache, const uint64_t *set, uint64_t line)
{
    unsigned way = 0;

    while (way < cache->params.ways && set[way] != line) {
        way++;
    }
    return way;
}

/* Puts @line into place @first of @set, where the line was used last, and moves
 * the lines from there to @last down, over that at @last. */
static void use(uint64_t *set, unsigned first, unsigned last, uint64_t line)
{
    memmove(&set[first + 1], &set[first], (last - first) * sizeof(*set));
    set[first] = line;
}

bool fab_cache_read(FabCache *cache, FabBusAddr addr, uint64_t size_bytes)
{
    uint64_t last = (addr + size_bytes - 1) / LINE_BYTES;
    bool hit = true;

    for (uint64_t line = addr / LINE_BYTES; hit && line <= last; line++) {
        hit = find(cache, set_of(cache, line), line) < cache->params.ways;
    }
    cache->missed += hit ? 0 : 1;
    return hit;
}

void fab_cache_write(FabCache *cache, FabBusAddr addr, uint64_t size_bytes)
{
    uint64_t last = (addr + size_bytes - 1) / LINE_BYTES;
    unsigned io_ways = cache->params.io_ways;

    for (uint64_t line = addr / LINE_BYTES; line <= last; line++) {
        uint64_t *set = set_of(cache, line);
        unsigned way = find(cache, set, line);

        if (way < cache->params.ways) { /* updated where it is */
            use(set, way < io_ways ? 0 : io_ways, way, line);
        } else if (io_ways > 0) {
            cache->held += set[io_ways - 1] == NO_LINE ? 1 : 0;
            use(set, 0, io_ways - 1, line);
        }
    }
}

void fab_cache_touch(FabCache *cache, FabBusAddr addr, uint64_t size_bytes)
{
    uint64_t last = (addr + size_bytes - 1) / LINE_BYTES;
    unsigned ways = cache->params.ways, io_ways = cache->params.io_ways;

    for (uint64_t line = addr / LINE_BYTES; line <= last; line++) {
        uint64_t *set = set_of(cache, line);
        unsigned way = find(cache, set, line);

        if (way == ways) {
            way = find(cache, set, NO_LINE);
            cache->held += way < ways ? 1 : 0;
        }
        if (way == ways) {
            way = ways - 1; /* the oldest outside the ways of devices */
        }
        use(set, way < io_ways || io_ways == ways ? 0 : io_ways, way, line);
    }
}

uint64_t fab_cache_held(const FabCache *cache)
{
    return cache->held;
}

uint64_t fab_cache_missed(const FabCache *cache)
{
    return cache->missed;
}
