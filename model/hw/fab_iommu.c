/* SPDX-License-Identifier: MIT */
#include "fab_iommu.h"

#include "fab_page_table.h"
#include "fab_walk_cache.h"

#define ADDR_END    (1ULL << FAB_IOMMU_ADDR_BITS)
#define ENTRIES_MAX (1u << 24)
#define WALKS_MAX   (1u << 16)
#define FIRST_WALKS 64
#define FIRST_HITS  64
#define NO_PAGE     1 /* a base that no page has: bit 0 is set */
#define GOLDEN      0x9e3779b97f4a7c15ULL

/*
 * A node is an entry of the IOTLB or the head of a set. Each set is a ring
 * through its head, from most to least recently used; empty entries come last.
 * Heads have the numbers below iommu->sets, so number 0 is never an entry.
 */
typedef struct Node {
    uint64_t key;   /* address of the page and index of its size, or NO_KEY */
    uint64_t delta; /* physical minus virtual address */
    uint32_t prev, next;
    uint32_t chain; /* next node with the same hash; 0: none */
} Node;

#define NO_KEY UINT64_MAX

/* The walk of a page, under way or queued for a walker. */
typedef struct Walk {
    uint64_t key;
    FabTlp *head, *tail; /* TLPs that wait for it */
    SimTime asked;       /* time of the first miss */
    SimTime late;        /* sum over the further misses, while it was queued, of
                            their times after the first one */
    SimTime due;         /* end of the walk, once it has begun */
    uint32_t misses;     /* misses before it began */
    uint32_t chain;      /* place of the next walk with the same hash, plus 1 */
} Walk;

/* A translation that ends params.hit after it began. */
typedef struct Hit {
    FabTlp *tlp;
    FabBusAddr phys;
    SimTime due;
} Hit;

struct FabIommu {
    /* The page that was used last. It is the first of its set. */
    FabBusAddr last_base; /* NO_PAGE: none */
    uint64_t last_mask;   /* bits within the page */
    uint64_t last_delta;
    SimTime hit_time;
    FabIommuCounters counters;

    /* IOTLB. */
    Node *nodes;
    uint32_t *buckets;
    uint32_t bucket_shift;
    uint32_t sets;                   /* a power of two */
    uint32_t cached[FAB_PAGE_SIZES]; /* number of entries by page size */

    /*
     * A ring of walks. The first `active` walks have a walker, and stand in the
     * order in which they end. The others stand in the order of their first
     * misses. walks_head and walks_tail run freely and are masked
     * when used.
     */
    Walk *walks;
    uint32_t *walk_buckets; /* walks_mask + 1 buckets */
    uint32_t walks_mask, walks_head, walks_tail;
    uint32_t active;
    SimEvent walk_event; /* the end of the first walk; pending if it exists */

    Hit *hits; /* a ring */
    uint32_t hits_mask, hits_head, hits_tail;
    SimEvent hit_event;

    FabTranslateFn done;
    void *owner;

    FabPageTable table;
    FabWalkCaches caches; /* paging-structure caches */

    SimEngine *engine;
    FabIommuParams params;
};

static inline uint64_t page_key(FabBusAddr addr, uint32_t size)
{
    return (addr & ~fab_page_mask(size)) | size;
}

static inline uint32_t key_size(uint64_t key)
{
    return key & 3;
}

static inline FabBusAddr key_base(uint64_t key)
{
    return key & ~3ULL;
}

/* ---- IOTLB ----------------------------------------------------------- */

static inline uint32_t *node_bucket(const FabIommu *iommu, uint64_t key)
{
    return &iommu->buckets[key * GOLDEN >> iommu->bucket_shift];
}

static inline void node_unlink(FabIommu *iommu, Node *node)
{
    iommu->nodes[node->prev].next = node->next;
    iommu->nodes[node->next].prev = node->prev;
}

/* Links @node behind @before. */
static inline void node_link(FabIommu *iommu, Node *node, uint32_t before)
{
    uint32_t at = (uint32_t)(node - iommu->nodes);

    node->prev = before;
    node->next = iommu->nodes[before].next;
    iommu->nodes[node->next].prev = at;
    iommu->nodes[before].next = at;
}

static inline uint32_t key_set(const FabIommu *iommu, uint64_t key)
{
    return key >> fab_page_shifts[key_size(key)] & (iommu->sets - 1);
}

/* Makes @node the most recently used. */
static inline void node_touch(FabIommu *iommu, Node *node)
{
    uint32_t set = key_set(iommu, node->key);

    if (node->prev != set) {
        node_unlink(iommu, node);
        node_link(iommu, node, set);
    }
    iommu->last_base = key_base(node->key);
    iommu->last_mask = fab_page_mask(key_size(node->key));
    iommu->last_delta = node->delta;
}

static inline Node *node_find_key(const FabIommu *iommu, uint64_t key)
{
    uint32_t at = *node_bucket(iommu, key);

    while (at && iommu->nodes[at].key != key) {
        at = iommu->nodes[at].chain;
    }
    return at ? &iommu->nodes[at] : NULL;
}

static inline Node *node_find(const FabIommu *iommu, FabBusAddr addr)
{
    for (uint32_t size = 0; size < FAB_PAGE_SIZES; size++) {
        if (iommu->cached[size]) {
            Node *node = node_find_key(iommu, page_key(addr, size));

            if (node) {
                return node;
            }
        }
    }
    return NULL;
}

/* Removes the page of @node from the IOTLB. The empty node keeps its position
 * in its set. */
static void node_forget(FabIommu *iommu, Node *node)
{
    uint32_t at = (uint32_t)(node - iommu->nodes);
    uint32_t *link = node_bucket(iommu, node->key);

    while (*link != at) {
        link = &iommu->nodes[*link].chain;
    }
    *link = node->chain;
    iommu->cached[key_size(node->key)]--;
    if (iommu->last_base == key_base(node->key)) {
        iommu->last_base = NO_PAGE;
    }
    node->key = NO_KEY;
}

/* Enters the page of @addr, a part of @range, in place of the least recently
 * used page of its set. */
static void node_fill(FabIommu *iommu, const FabPageRange *range,
                      FabBusAddr addr)
{
    uint64_t key = page_key(addr, range->size);
    Node *node = node_find_key(iommu, key);

    if (!node) {
        uint32_t *bucket = node_bucket(iommu, key);

        node = &iommu->nodes[iommu->nodes[key_set(iommu, key)].prev];
        if (node->key != NO_KEY) {
            node_forget(iommu, node);
        }
        node->key = key;
        node->delta = range->delta;
        node->chain = *bucket;
        *bucket = (uint32_t)(node - iommu->nodes);
        iommu->cached[range->size]++;
    }
    node_touch(iommu, node);
}

/* Drops the pages of [@iova, @end), all of size @size, from the IOTLB. */
static void invalidate(void *data, FabBusAddr iova, FabBusAddr end,
                       uint32_t size)
{
    FabIommu *iommu = data;
    uint64_t pages = (end - iova) >> fab_page_shifts[size];
    bool by_page = pages < iommu->params.iotlb_entries;
    uint64_t tries = by_page ? pages : iommu->params.iotlb_entries;

    fab_walk_caches_drop(&iommu->caches, iova, end);
    for (uint64_t i = 0; i < tries && iommu->cached[size]; i++) {
        Node *node;

        if (by_page) {
            node = node_find_key(iommu,
                                 iova + (i << fab_page_shifts[size]) + size);
        } else {
            node = &iommu->nodes[iommu->sets + i];
            if (node->key == NO_KEY || key_base(node->key) < iova ||
                key_base(node->key) >= end) {
                node = NULL;
            }
        }
        if (node) {
            uint32_t set = key_set(iommu, node->key);

            node_forget(iommu, node);
            node_unlink(iommu, node);
            node_link(iommu, node, iommu->nodes[set].prev);
        }
    }
}

bool fab_iommu_map(FabIommu *iommu, FabBusAddr iova, FabBusAddr phys,
                   uint64_t size_bytes, uint64_t page_bytes, GError **error)
{
    return fab_page_table_map(&iommu->table, iova, phys, size_bytes, page_bytes,
                              error);
}

uint64_t fab_iommu_unmap(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes)
{
    return fab_page_table_unmap(&iommu->table, iova, size_bytes, invalidate,
                                iommu);
}

/* ---- Walks ----------------------------------------------------------- */

static inline Walk *walk_at(const FabIommu *iommu, uint32_t place)
{
    return &iommu->walks[place & iommu->walks_mask];
}

static inline uint32_t *walk_bucket(const FabIommu *iommu, uint64_t key)
{
    return &iommu->walk_buckets[key * GOLDEN >> 32 & iommu->walks_mask];
}

/* Enters the walk at @place into the hash. */
static void walk_enter(FabIommu *iommu, uint32_t place)
{
    Walk *walk = walk_at(iommu, place);
    uint32_t *bucket = walk_bucket(iommu, walk->key);

    walk->chain = *bucket;
    *bucket = (place & iommu->walks_mask) + 1;
}

/* Removes a walk from the hash. */
static void walk_leave(FabIommu *iommu, const Walk *walk)
{
    uint32_t at = (uint32_t)(walk - iommu->walks) + 1;
    uint32_t *link = walk_bucket(iommu, walk->key);

    while (*link != at) {
        link = &iommu->walks[*link - 1].chain;
    }
    *link = walk->chain;
}

static Walk *walk_find(const FabIommu *iommu, uint64_t key, uint32_t *ret_at)
{
    uint32_t at = *walk_bucket(iommu, key);

    while (at) {
        Walk *walk = &iommu->walks[at - 1];

        if (walk->key == key) {
            *ret_at = at - 1;
            return walk;
        }
        at = walk->chain;
    }
    return NULL;
}

static void walks_grow(FabIommu *iommu)
{
    uint32_t count = iommu->walks_tail - iommu->walks_head;
    uint32_t places = 2 * (iommu->walks_mask + 1);
    Walk *walks = g_new(Walk, places);

    for (uint32_t i = 0; i < count; i++) {
        walks[i] = *walk_at(iommu, iommu->walks_head + i);
    }
    g_free(iommu->walks);
    g_free(iommu->walk_buckets);
    iommu->walks = walks;
    iommu->walk_buckets = g_new0(uint32_t, places);
    iommu->walks_mask = places - 1;
    iommu->walks_head = 0;
    iommu->walks_tail = count;
    for (uint32_t i = 0; i < count; i++) {
        walk_enter(iommu, i);
    }
}

/* The time of a walk for the page of @key. */
static SimTime walk_time(FabIommu *iommu, uint64_t key)
{
    return iommu->params.walk +
           fab_walk_caches_reads(&iommu->caches, key_base(key), key_size(key)) *
               iommu->params.walk_read;
}

/* Moves the walk at @place forward, before those that end later. */
static void walk_sort(FabIommu *iommu, uint32_t place)
{
    Walk walk = *walk_at(iommu, place);

    while (place != iommu->walks_head &&
           walk_at(iommu, place - 1)->due > walk.due) {
        Walk *before = walk_at(iommu, place - 1);

        walk_leave(iommu, walk_at(iommu, place));
        walk_leave(iommu, before);
        *walk_at(iommu, place) = *before;
        *before = walk;
        walk_enter(iommu, place);
        walk_enter(iommu, --place);
    }
}

/* Gives a walker to the first walk that has none. */
static void walk_begin(FabIommu *iommu, SimTime now)
{
    uint32_t place = iommu->walks_head + iommu->active;
    Walk *walk = walk_at(iommu, place);

    walk->due = now + walk_time(iommu, walk->key);
    iommu->active++;
    iommu->counters.walks++;
    iommu->counters.wait_ps += (now - walk->asked) * walk->misses - walk->late;
    if (iommu->params.walk_read) {
        walk_sort(iommu, place);
    }
}

static void walk_ask(FabIommu *iommu, FabTlp *tlp, uint64_t key, SimTime now)
{
    Walk *walk;

    if (G_UNLIKELY(iommu->walks_tail - iommu->walks_head > iommu->walks_mask)) {
        walks_grow(iommu);
    }
    walk = walk_at(iommu, iommu->walks_tail);
    *walk = (Walk){
        .key = key,
        .head = tlp,
        .tail = tlp,
        .asked = now,
        .misses = 1,
    };
    walk_enter(iommu, iommu->walks_tail++);
    if (iommu->active < iommu->params.walks) {
        walk_begin(iommu, now);
        if (iommu->active == 1 || iommu->params.walk_read) {
            sim_event_reschedule(&iommu->walk_event,
                                 walk_at(iommu, iommu->walks_head)->due);
        }
    }
}

static void miss(FabIommu *iommu, FabTlp *tlp)
{
    const FabPageRange *range = fab_page_table_find(&iommu->table, tlp->addr);
    uint64_t key = page_key(tlp->addr, range ? range->size : 0);
    SimTime now = sim_engine_now(iommu->engine);
    uint32_t at;
    Walk *walk = walk_find(iommu, key, &at);

    iommu->counters.misses++;
    tlp->next = NULL;
    if (!walk) {
        walk_ask(iommu, tlp, key, now);
        return;
    }
    walk->tail->next = tlp;
    walk->tail = tlp;
    if (((at - iommu->walks_head) & iommu->walks_mask) >= iommu->active) {
        walk->misses++;
        walk->late += now - walk->asked;
    }
}

/* The first walk has ended. The IOMMU is consistent before iommu->done() gets
 * the TLPs, because that function may translate, map and unmap. */
static void walk_ended(SimEvent *event)
{
    FabIommu *iommu = SIM_CONTAINER_OF(event, FabIommu, walk_event);
    Walk *first = walk_at(iommu, iommu->walks_head);
    FabTlp *tlp = first->head;
    const FabPageRange *range = fab_page_table_find(&iommu->table, tlp->addr);

    if (range) {
        node_fill(iommu, range, tlp->addr);
        fab_walk_caches_fill(&iommu->caches, tlp->addr, range->size);
    }
    walk_leave(iommu, first);
    iommu->walks_head++;
    iommu->active--;
    if (iommu->walks_tail - iommu->walks_head > iommu->active) {
        walk_begin(iommu, sim_engine_now(iommu->engine));
    }
    if (iommu->active) {
        sim_event_schedule(event, walk_at(iommu, iommu->walks_head)->due);
    }
    while (tlp) {
        FabTlp *next = tlp->next;

        range = fab_page_table_find(&iommu->table, tlp->addr);
        if (range) {
            iommu->done(iommu->owner, tlp, tlp->addr + range->delta, false);
        } else {
            iommu->counters.faults++;
            iommu->done(iommu->owner, tlp, 0, true);
        }
        tlp = next;
    }
}

/* ---- Hits ------------------------------------------------------------ */

static void hits_grow(FabIommu *iommu)
{
    uint32_t count = iommu->hits_tail - iommu->hits_head;
    Hit *hits = g_new(Hit, 2 * count);

    for (uint32_t i = 0; i < count; i++) {
        hits[i] = iommu->hits[(iommu->hits_head + i) & iommu->hits_mask];
    }
    g_free(iommu->hits);
    iommu->hits = hits;
    iommu->hits_mask = 2 * count - 1;
    iommu->hits_head = 0;
    iommu->hits_tail = count;
}

static void hit_wait(FabIommu *iommu, FabTlp *tlp, FabBusAddr phys)
{
    SimTime due = sim_engine_now(iommu->engine) + iommu->hit_time;

    if (G_UNLIKELY(iommu->hits_tail - iommu->hits_head > iommu->hits_mask)) {
        hits_grow(iommu);
    }
    iommu->hits[iommu->hits_tail++ & iommu->hits_mask] = (Hit){tlp, phys, due};
    if (iommu->hits_tail - iommu->hits_head == 1) {
        sim_event_schedule(&iommu->hit_event, due);
    }
}

static void hit_ended(SimEvent *event)
{
    FabIommu *iommu = SIM_CONTAINER_OF(event, FabIommu, hit_event);
    Hit hit = iommu->hits[iommu->hits_head++ & iommu->hits_mask];

    if (iommu->hits_head != iommu->hits_tail) {
        sim_event_schedule(
            event, iommu->hits[iommu->hits_head & iommu->hits_mask].due);
    }
    iommu->done(iommu->owner, hit.tlp, hit.phys, false);
}

FabTranslation fab_iommu_translate(FabIommu *iommu, FabTlp *tlp,
                                   FabBusAddr *ret_phys)
{
    FabBusAddr addr = tlp->addr;

    if (G_UNLIKELY((addr & ~iommu->last_mask) != iommu->last_base)) {
        Node *node;

        if (addr >= ADDR_END) {
            iommu->counters.faults++;
            return FAB_TRANSLATION_FAULT;
        }
        node = node_find(iommu, addr);
        if (!node) {
            miss(iommu, tlp);
            return FAB_TRANSLATION_PENDING;
        }
        node_touch(iommu, node);
    }
    iommu->counters.hits++;
    if (iommu->hit_time) {
        hit_wait(iommu, tlp, addr + iommu->last_delta);
        return FAB_TRANSLATION_PENDING;
    }
    *ret_phys = addr + iommu->last_delta;
    return FAB_TRANSLATION_DONE;
}

/* ---- Life ------------------------------------------------------------ */

FabIommu *fab_iommu_new(SimEngine *engine, const FabIommuParams *params)
{
    FabIommu *iommu = g_new0(FabIommu, 1);

    iommu->engine = engine;
    iommu->params = *params;
    iommu->hit_time = params->hit;
    iommu->last_base = NO_PAGE;
    iommu->last_mask = fab_page_mask(0);
    fab_page_table_init(&iommu->table);
    return iommu;
}

void fab_iommu_free(FabIommu *iommu)
{
    if (!iommu) {
        return;
    }
    sim_event_cancel(&iommu->walk_event);
    sim_event_cancel(&iommu->hit_event);
    fab_page_table_done(&iommu->table);
    fab_walk_caches_done(&iommu->caches);
    g_free(iommu->nodes);
    g_free(iommu->buckets);
    g_free(iommu->walks);
    g_free(iommu->walk_buckets);
    g_free(iommu->hits);
    g_free(iommu);
}

static bool check_params(const FabIommuParams *params, GError **error)
{
    uint32_t entries = params->iotlb_entries, ways = params->iotlb_ways;
    uint32_t size;

    if (!entries || entries > ENTRIES_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "an IOTLB of %u entries: must be 1 to %u", entries,
                    ENTRIES_MAX);
        return false;
    }
    if (ways && (entries % ways || (entries / ways & (entries / ways - 1)))) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "an IOTLB of %u entries in %u ways: entries / ways must be "
                    "a power of two",
                    entries, ways);
        return false;
    }
    if (!params->walks || params->walks > WALKS_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%u page walks at a time: must be 1 to %u", params->walks,
                    WALKS_MAX);
        return false;
    }
    /* With a walk shorter than a hit, TLPs of one page would overtake each
     * other. */
    if (params->hit < 0 || params->walk < params->hit || params->walk > SIM_S) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "an IOTLB hit of %" G_GINT64_FORMAT
                    " ps and a page walk of %" G_GINT64_FORMAT
                    " ps: must be 0 to 1 s, and a walk no shorter than a hit",
                    (gint64)params->hit, (gint64)params->walk);
        return false;
    }
    if (params->walk_read < 0 || params->walk_read > SIM_S) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a read of a page table of %" G_GINT64_FORMAT
                    " ps: must be 0 to 1 s",
                    (gint64)params->walk_read);
        return false;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(params->walk_cache); i++) {
        if (params->walk_cache[i] > FAB_WALK_CACHE_MOST) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "a paging-structure cache of %u entries: must be at "
                        "most %u",
                        params->walk_cache[i], FAB_WALK_CACHE_MOST);
            return false;
        }
    }
    if (!fab_page_size_find(params->page_bytes, &size)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "IOMMU pages of %" G_GUINT64_FORMAT
                    " bytes: must be 4 KiB, 2 MiB or 1 GiB",
                    params->page_bytes);
        return false;
    }
    return true;
}

static void iotlb_init(FabIommu *iommu)
{
    uint32_t entries = iommu->params.iotlb_entries;
    uint32_t ways = iommu->params.iotlb_ways;
    uint32_t bits = g_bit_storage(2 * entries - 1);

    iommu->sets = ways ? entries / ways : 1;
    iommu->buckets = g_new0(uint32_t, (gsize)1 << bits);
    iommu->bucket_shift = 64 - bits;
    iommu->nodes = g_new0(Node, (gsize)iommu->sets + entries);
    for (uint32_t set = 0; set < iommu->sets; set++) {
        iommu->nodes[set].prev = set;
        iommu->nodes[set].next = set;
    }
    for (uint32_t i = 0; i < entries; i++) {
        Node *node = &iommu->nodes[iommu->sets + i];

        node->key = NO_KEY;
        node_link(iommu, node, i & (iommu->sets - 1));
    }
}

bool fab_iommu_realize(FabIommu *iommu, uint32_t rank, GError **error)
{
    g_assert(!iommu->nodes);
    if (!check_params(&iommu->params, error)) {
        return false;
    }
    iotlb_init(iommu);
    fab_walk_caches_init(&iommu->caches, iommu->params.walk_cache);
    iommu->walks = g_new(Walk, FIRST_WALKS);
    iommu->walk_buckets = g_new0(uint32_t, FIRST_WALKS);
    iommu->walks_mask = FIRST_WALKS - 1;
    iommu->hits = g_new(Hit, FIRST_HITS);
    iommu->hits_mask = FIRST_HITS - 1;
    sim_event_init(&iommu->walk_event, iommu->engine, walk_ended,
                   SIM_PRIORITY_NORMAL, rank);
    sim_event_init(&iommu->hit_event, iommu->engine, hit_ended,
                   SIM_PRIORITY_NORMAL, rank);
    return true;
}

void fab_iommu_set_done(FabIommu *iommu, FabTranslateFn fn, void *owner)
{
    iommu->done = fn;
    iommu->owner = owner;
}

const FabIommuCounters *fab_iommu_counters(const FabIommu *iommu)
{
    return &iommu->counters;
}

uint32_t fab_iommu_walking(const FabIommu *iommu)
{
    return iommu->active;
}

uint32_t fab_iommu_queued(const FabIommu *iommu)
{
    return iommu->walks_tail - iommu->walks_head - iommu->active;
}

void fab_iommu_foreach(const FabIommu *iommu, FabIommuFn fn, void *data)
{
    for (uint32_t i = iommu->walks_head; i != iommu->walks_tail; i++) {
        bool waits = i - iommu->walks_head >= iommu->active;

        for (const FabTlp *tlp = walk_at(iommu, i)->head; tlp;
             tlp = tlp->next) {
            fn(data, tlp, waits);
        }
    }
    for (uint32_t i = iommu->hits_head; i != iommu->hits_tail; i++) {
        fn(data, iommu->hits[i & iommu->hits_mask].tlp, false);
    }
}
