/* SPDX-License-Identifier: MIT */
#include "fab_iommu_priv.h"

#include "fab_ats_priv.h"
#include "fab_iotlb_priv.h"
#include "fab_port_priv.h"
#include "fab_walk_cache_priv.h"

#define ADDR_END    (1ULL << FAB_IOMMU_ADDR_BITS)
#define FIRST_WALKS 64
#define FIRST_HITS  64
#define GOLDEN      0x9e3779b97f4a7c15ULL
#define LINE_BYTES  64
#define NO_PAGE     UINT64_MAX /* no key of a page */
#define TRANSLATED                                                             \
    (1ULL << 63) /* of the address of a TLP that is translated,                \
                    and waits for others ahead of it */

/* A page that missed the first level, until its translation is known. */
typedef struct Walk {
    uint64_t key;        /* address of the page and number of its size */
    FabTlp *head, *tail; /* TLPs that wait for it, with params.in_order also for
                            other pages; NULL: its walker is busy after it */
    SimTime asked;       /* when it began to wait for a walker */
    SimTime late;        /* sum over the further misses, while it waits for a
                            walker, of their times after `asked` */
    SimTime due;         /* end of the look-up in the second level, or of the
                            walk */
    uint32_t misses;     /* misses before the walk began */
    uint32_t chain;      /* next walk with the same hash, or next free one */
    uint32_t prev, next; /* in its list */
    bool walks;          /* it has a walker */
} Walk;

/* Walks by their numbers; number 0 is none. */
typedef struct WalkList {
    uint32_t head, tail, count;
} WalkList;

/* A translation that ends params.hit after it began. */
typedef struct Hit {
    FabTlp *tlp;
    FabBusAddr phys;
    SimTime due;
} Hit;

struct FabIommu {
    FabIotlb *l1; /* the first level: one, or one for each root port */
    unsigned l1_count;
    SimTime hit_time;
    FabIommuCounters counters;

    FabIotlb l2; /* the second level; unused if params.l2_entries is 0 */

    Walk *walks; /* number 0 is unused */
    uint32_t *walk_buckets;
    uint32_t walks_size; /* a power of two; of both arrays */
    uint32_t walks_made; /* numbers below were in use */
    uint32_t free_walk;
    WalkList looking; /* in the second level, by `due` */
    WalkList queued;  /* for a walker, in order of their misses */
    WalkList walking; /* by `due` */
    SimEvent look_event;
    SimEvent walk_event; /* the end of the first walk; pending if it exists */

    Hit *hits; /* a ring */
    uint32_t hits_mask, hits_head, hits_tail;
    SimEvent hit_event;

    /* params.in_order: requests that wait for the look-up in the first level.
     * The first of them is a miss without a walker. */
    FabFifo stalled;
    SimTime stalled_since; /* when their number changed */

    FabTranslateFn done;
    void *owner;

    FabPageTable table;
    FabWalkCaches caches; /* paging-structure caches */

    SimEngine *engine;
    FabIommuParams params;
};

/* The first level for @tlp. */
static inline FabIotlb *l1_of(const FabIommu *iommu, const FabTlp *tlp)
{
    return G_UNLIKELY(iommu->l1_count > 1) ? &iommu->l1[tlp->ingress->index]
                                           : iommu->l1;
}

/* Ends a translation that was pending. */
static inline void finish(FabIommu *iommu, FabTlp *tlp, FabBusAddr phys,
                          uint32_t size)
{
    if (G_UNLIKELY(tlp->at == FAB_AT_REQUEST)) {
        tlp->data = fab_ats_entry(phys, size);
    }
    iommu->done(iommu->owner, tlp, phys, false);
}

static void finish_fault(FabIommu *iommu, FabTlp *tlp)
{
    if (tlp->at == FAB_AT_REQUEST) { /* the device hears of it */
        tlp->data = 0;
    } else {
        iommu->counters.faults++;
    }
    iommu->done(iommu->owner, tlp, 0, true);
}

/* ---- Mappings -------------------------------------------------------- */

static void invalidate(void *data, FabBusAddr iova, FabBusAddr end,
                       uint32_t size)
{
    FabIommu *iommu = data;

    fab_walk_caches_drop(&iommu->caches, iova, end);
    for (unsigned i = 0; iommu->l1 && i < iommu->l1_count; i++) {
        fab_iotlb_drop(&iommu->l1[i], iova, end);
    }
    fab_iotlb_drop(&iommu->l2, iova, end);
}

static void keep(void *data, FabBusAddr iova, FabBusAddr end, uint32_t size)
{
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

uint64_t fab_iommu_clear(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes)
{
    return fab_page_table_unmap(&iommu->table, iova, size_bytes, keep, NULL);
}

void fab_iommu_invalidate(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes)
{
    invalidate(iommu, iova, iova + size_bytes, 0);
}

/* ---- Walks ----------------------------------------------------------- */

static inline uint32_t *walk_bucket(const FabIommu *iommu, uint64_t key)
{
    return &iommu->walk_buckets[key * GOLDEN >> 32 & (iommu->walks_size - 1)];
}

static Walk *walk_find(const FabIommu *iommu, uint64_t key)
{
    uint32_t at = *walk_bucket(iommu, key);

    while (at && iommu->walks[at].key != key) {
        at = iommu->walks[at].chain;
    }
    return at ? &iommu->walks[at] : NULL;
}

static void walks_grow(FabIommu *iommu)
{
    iommu->walks_size *= 2;
    iommu->walks = g_renew(Walk, iommu->walks, iommu->walks_size);
    g_free(iommu->walk_buckets);
    iommu->walk_buckets = g_new0(uint32_t, iommu->walks_size);
    /* All of them are in use. */
    for (uint32_t i = 1; i < iommu->walks_made; i++) {
        uint32_t *bucket = walk_bucket(iommu, iommu->walks[i].key);

        iommu->walks[i].chain = *bucket;
        *bucket = i;
    }
}

/* Makes a walk for the page of @key, for which @tlp waits. */
static uint32_t walk_new(FabIommu *iommu, FabTlp *tlp, uint64_t key,
                         SimTime now)
{
    uint32_t at = iommu->free_walk;
    uint32_t *bucket;

    if (at) {
        iommu->free_walk = iommu->walks[at].chain;
    } else {
        if (G_UNLIKELY(iommu->walks_made == iommu->walks_size)) {
            walks_grow(iommu);
        }
        at = iommu->walks_made++;
    }
    bucket = walk_bucket(iommu, key);
    iommu->walks[at] = (Walk){
        .key = key,
        .head = tlp,
        .tail = tlp,
        .asked = now,
        .misses = 1,
        .chain = *bucket,
    };
    *bucket = at;
    return at;
}

static void walk_unlink(FabIommu *iommu, uint32_t at)
{
    uint32_t *link = walk_bucket(iommu, iommu->walks[at].key);

    while (*link != at) {
        link = &iommu->walks[*link].chain;
    }
    *link = iommu->walks[at].chain;
}

static void walk_free(FabIommu *iommu, uint32_t at)
{
    walk_unlink(iommu, at);
    iommu->walks[at].chain = iommu->free_walk;
    iommu->free_walk = at;
}

/* Enters a walk behind @before; 0: at the head. */
static void list_insert(FabIommu *iommu, WalkList *list, uint32_t at,
                        uint32_t before)
{
    Walk *walk = &iommu->walks[at];

    walk->prev = before;
    walk->next = before ? iommu->walks[before].next : list->head;
    if (before) {
        iommu->walks[before].next = at;
    } else {
        list->head = at;
    }
    if (walk->next) {
        iommu->walks[walk->next].prev = at;
    } else {
        list->tail = at;
    }
    list->count++;
}

static uint32_t list_pop(FabIommu *iommu, WalkList *list)
{
    uint32_t at = list->head;

    list->head = iommu->walks[at].next;
    if (list->head) {
        iommu->walks[list->head].prev = 0;
    } else {
        list->tail = 0;
    }
    list->count--;
    return at;
}

/* ---- Order ----------------------------------------------------------- */

/* The last walk among those that still have TLPs in `walking`; NULL: none. */
static Walk *last_walking(const FabIommu *iommu)
{
    uint32_t at = iommu->walking.tail;

    while (at && !iommu->walks[at].head) {
        at = iommu->walks[at].prev;
    }
    return at ? &iommu->walks[at] : NULL;
}

/* The walk that ends after all others; NULL: none is under way. */
static Walk *last_walk(const FabIommu *iommu)
{
    uint32_t at = iommu->looking.tail;

    return at ? &iommu->walks[at] : last_walking(iommu);
}

static void walk_join(Walk *walk, FabTlp *tlp)
{
    tlp->next = NULL;
    walk->tail->next = tlp;
    walk->tail = tlp;
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

/* @tlp has hit @l1. Returns whether its translation is known now. */
static inline bool hit_begin(FabIommu *iommu, FabTlp *tlp, const FabIotlb *l1,
                             FabBusAddr *ret_phys)
{
    Walk *last;

    iommu->counters.hits++;
    if (G_UNLIKELY(tlp->at == FAB_AT_REQUEST)) {
        tlp->data =
            fab_ats_entry(tlp->addr + l1->last_delta, fab_iotlb_last_size(l1));
    }
    if (G_UNLIKELY(iommu->params.in_order) && (last = last_walk(iommu))) {
        tlp->addr = (tlp->addr + l1->last_delta) | TRANSLATED;
        walk_join(last, tlp);
        return false;
    }
    if (iommu->hit_time) {
        hit_wait(iommu, tlp, tlp->addr + l1->last_delta);
        return false;
    }
    *ret_phys = tlp->addr + l1->last_delta;
    return true;
}

/* ---- Misses ---------------------------------------------------------- */

/* The time of a walk for the page of @key. */
static SimTime walk_time(FabIommu *iommu, uint64_t key)
{
    return iommu->params.walk + fab_walk_caches_reads(&iommu->caches,
                                                      fab_page_key_base(key),
                                                      fab_page_key_size(key)) *
                                    iommu->params.walk_read;
}

/* Enters a walk into `walking`. */
static void walking_insert(FabIommu *iommu, uint32_t at)
{
    uint32_t before = iommu->walking.tail;

    while (before && iommu->walks[before].due > iommu->walks[at].due) {
        before = iommu->walks[before].prev;
    }
    list_insert(iommu, &iommu->walking, at, before);
}

/* The walk @at has ended. Its walker stays busy for params.replay for each line
 * of @tlp, a read. */
static void walk_release(FabIommu *iommu, uint32_t at, const FabTlp *tlp)
{
    Walk *walk = &iommu->walks[at];
    uint32_t *bucket;

    if (G_LIKELY(!iommu->params.replay) || tlp->type != FAB_TLP_MRD) {
        walk_free(iommu, at);
        return;
    }
    /* Later misses on the page do not find it. */
    walk_unlink(iommu, at);
    bucket = walk_bucket(iommu, NO_PAGE);
    walk->key = NO_PAGE;
    walk->chain = *bucket;
    *bucket = at;
    walk->head = walk->tail = NULL;
    walk->due += iommu->params.replay *
                 ((tlp->request_bytes + LINE_BYTES - 1) / LINE_BYTES);
    walking_insert(iommu, at);
}

/* Gives a walker to the first walk that waits for one. */
static void walk_begin(FabIommu *iommu, SimTime now)
{
    uint32_t at = list_pop(iommu, &iommu->queued);
    Walk *walk = &iommu->walks[at], *last;

    walk->due = now + walk_time(iommu, walk->key);
    if (G_UNLIKELY(iommu->params.in_order) && (last = last_walking(iommu))) {
        walk->due = MAX(walk->due, last->due);
    }
    walk->walks = true;
    iommu->counters.walks++;
    iommu->counters.wait_ps += (now - walk->asked) * walk->misses - walk->late;
    walking_insert(iommu, at);
}

/* The walk @at needs a walker. */
static void walk_ask(FabIommu *iommu, uint32_t at, SimTime now)
{
    list_insert(iommu, &iommu->queued, at, iommu->queued.tail);
    if (iommu->walking.count < iommu->params.walks) {
        walk_begin(iommu, now);
        if (iommu->walking.count == 1 || iommu->params.walk_read ||
            iommu->params.replay) {
            sim_event_reschedule(&iommu->walk_event,
                                 iommu->walks[iommu->walking.head].due);
        }
    }
}

static void miss(FabIommu *iommu, FabTlp *tlp)
{
    const FabPageRange *range = fab_page_table_find(&iommu->table, tlp->addr);
    uint64_t key = fab_page_key(tlp->addr, range ? range->size : 0);
    SimTime now = sim_engine_now(iommu->engine);
    Walk *walk = walk_find(iommu, key);
    uint32_t at;

    iommu->counters.misses++;
    tlp->next = NULL;
    if (walk) {
        walk_join(iommu->params.in_order ? last_walk(iommu) : walk, tlp);
        if (!walk->walks) {
            walk->misses++;
            walk->late += now - walk->asked;
        }
        return;
    }
    at = walk_new(iommu, tlp, key, now);
    if (!iommu->params.l2_entries) {
        walk_ask(iommu, at, now);
        return;
    }
    iommu->walks[at].due = now + iommu->params.l2_hit;
    list_insert(iommu, &iommu->looking, at, iommu->looking.tail);
    if (iommu->looking.count == 1) {
        sim_event_schedule(&iommu->look_event, iommu->walks[at].due);
    }
}

/* Returns whether @tlp, which has missed, must wait until fewer walks are
 * under way. */
static bool must_stall(FabIommu *iommu, const FabTlp *tlp)
{
    const FabPageRange *range;

    if (iommu->walking.count + iommu->looking.count < iommu->params.walks) {
        return false;
    }
    range = fab_page_table_find(&iommu->table, tlp->addr);
    return !walk_find(iommu, fab_page_key(tlp->addr, range ? range->size : 0));
}

/* The number of stalled requests changes now. */
static void stalled_note(FabIommu *iommu)
{
    SimTime now = sim_engine_now(iommu->engine);

    iommu->counters.wait_ps +=
        iommu->stalled.count * (now - iommu->stalled_since);
    iommu->stalled_since = now;
}

static void stall(FabIommu *iommu, FabTlp *tlp)
{
    stalled_note(iommu);
    fab_fifo_push(&iommu->stalled, tlp);
}

/* Enters the page of @tlp into its first level, and into those of the TLPs of
 * the same page behind it. */
static void l1_fill(FabIommu *iommu, const FabTlp *tlp, uint32_t size,
                    uint64_t delta)
{
    uint64_t key = fab_page_key(tlp->addr, size);

    fab_iotlb_fill(l1_of(iommu, tlp), tlp->addr, size, delta);
    while (G_UNLIKELY(iommu->l1_count > 1) && (tlp = tlp->next)) {
        if (fab_page_key(tlp->addr, size) == key) {
            fab_iotlb_fill(l1_of(iommu, tlp), tlp->addr, size, delta);
        }
    }
}

/* Ends the translations of the TLPs from @tlp on. */
static void tlps_release(FabIommu *iommu, FabTlp *tlp)
{
    while (tlp) {
        FabTlp *next = tlp->next;
        const FabPageRange *range;

        if (G_UNLIKELY(tlp->addr & TRANSLATED)) {
            iommu->done(iommu->owner, tlp, tlp->addr & ~TRANSLATED, false);
        } else if ((range = fab_page_table_find(&iommu->table, tlp->addr))) {
            finish(iommu, tlp, tlp->addr + range->delta, range->size);
        } else {
            finish_fault(iommu, tlp);
        }
        tlp = next;
    }
}

/* The page of @tlp is translated. Ends the translations of the TLPs from @tlp
 * on, up to @tail, or lets them wait for the walks ahead of them. */
static void tlps_translated(FabIommu *iommu, FabTlp *tlp, FabTlp *tail,
                            uint32_t size, uint64_t delta)
{
    uint64_t key = fab_page_key(tlp->addr, size);
    Walk *last = iommu->params.in_order ? last_walking(iommu) : NULL;

    for (FabTlp *next = tlp; next; next = next->next) {
        if (fab_page_key(next->addr, size) != key) {
            continue;
        }
        if (next->at == FAB_AT_REQUEST) {
            next->data = fab_ats_entry(next->addr + delta, size);
        }
        next->addr = (next->addr + delta) | TRANSLATED;
    }
    if (last) {
        last->tail->next = tlp;
        last->tail = tail;
    } else {
        tlps_release(iommu, tlp);
    }
}

/* Looks up the stalled requests, up to a miss that still has no walker. */
static void stalled_resume(FabIommu *iommu)
{
    FabTlp *tlp;

    while (G_UNLIKELY((tlp = iommu->stalled.head))) {
        FabIotlb *l1 = l1_of(iommu, tlp);
        bool is_hit =
            fab_iotlb_is_last(l1, tlp->addr) || fab_iotlb_find(l1, tlp->addr);
        FabBusAddr phys;

        if (!is_hit && must_stall(iommu, tlp)) {
            return;
        }
        stalled_note(iommu);
        fab_fifo_pop(&iommu->stalled);
        if (!is_hit) {
            miss(iommu, tlp);
        } else if (hit_begin(iommu, tlp, l1, &phys)) {
            iommu->done(iommu->owner, tlp, phys, false);
        }
    }
}

/* The look-up of the first walk in the second level has ended. */
static void look_ended(SimEvent *event)
{
    FabIommu *iommu = SIM_CONTAINER_OF(event, FabIommu, look_event);
    uint32_t at = list_pop(iommu, &iommu->looking);
    Walk *walk = &iommu->walks[at];
    FabTlp *tlp = walk->head, *tail;
    SimTime now = sim_engine_now(iommu->engine);
    uint64_t delta;
    uint32_t size;

    if (iommu->looking.head) {
        sim_event_schedule(event, iommu->walks[iommu->looking.head].due);
    }
    if (!fab_iotlb_find(&iommu->l2, tlp->addr)) {
        /* Each of its misses waits for a walker from now on. */
        walk->asked = now;
        walk->late = 0;
        walk_ask(iommu, at, now);
        return;
    }
    size = fab_iotlb_last_size(&iommu->l2);
    delta = iommu->l2.last_delta;
    iommu->counters.l2_hits += walk->misses;
    l1_fill(iommu, tlp, size, delta);
    tail = walk->tail;
    walk_free(iommu, at);
    tlps_translated(iommu, tlp, tail, size, delta);
    stalled_resume(iommu);
}

/* The first walk has ended. The IOMMU is consistent before iommu->done() gets
 * the TLPs, because that function may translate, map and unmap. */
static void walk_ended(SimEvent *event)
{
    FabIommu *iommu = SIM_CONTAINER_OF(event, FabIommu, walk_event);
    uint32_t at = list_pop(iommu, &iommu->walking);
    FabTlp *tlp = iommu->walks[at].head;
    const FabPageRange *range =
        tlp ? fab_page_table_find(&iommu->table, tlp->addr) : NULL;

    if (range) {
        l1_fill(iommu, tlp, range->size, range->delta);
        if (iommu->params.l2_entries) {
            fab_iotlb_fill(&iommu->l2, tlp->addr, range->size, range->delta);
        }
        fab_walk_caches_fill(&iommu->caches, tlp->addr, range->size);
    }
    if (tlp) {
        walk_release(iommu, at, tlp);
    } else { /* the walker was busy with a read's lines */
        walk_free(iommu, at);
    }
    if (iommu->queued.count && iommu->walking.count < iommu->params.walks) {
        walk_begin(iommu, sim_engine_now(iommu->engine));
    }
    if (iommu->walking.count) {
        sim_event_schedule(event, iommu->walks[iommu->walking.head].due);
    }
    tlps_release(iommu, tlp);
    stalled_resume(iommu);
}

FabTranslation fab_iommu_translate(FabIommu *iommu, FabTlp *tlp,
                                   FabBusAddr *ret_phys)
{
    FabIotlb *l1 = l1_of(iommu, tlp);
    FabBusAddr addr = tlp->addr;

    if (G_UNLIKELY(iommu->stalled.head) && addr < ADDR_END) {
        stall(iommu, tlp);
        return FAB_TRANSLATION_PENDING;
    }
    if (G_UNLIKELY(!fab_iotlb_is_last(l1, addr))) {
        if (addr >= ADDR_END) {
            iommu->counters.faults++;
            return FAB_TRANSLATION_FAULT;
        }
        if (!fab_iotlb_find(l1, addr)) {
            if (G_UNLIKELY(iommu->params.in_order) && must_stall(iommu, tlp)) {
                stall(iommu, tlp);
            } else {
                miss(iommu, tlp);
            }
            return FAB_TRANSLATION_PENDING;
        }
    }
    return hit_begin(iommu, tlp, l1, ret_phys) ? FAB_TRANSLATION_DONE
                                               : FAB_TRANSLATION_PENDING;
}

/* ---- Life ------------------------------------------------------------ */

FabIommu *fab_iommu_new(SimEngine *engine, const FabIommuParams *params)
{
    FabIommu *iommu = g_new0(FabIommu, 1);

    iommu->engine = engine;
    iommu->params = *params;
    iommu->hit_time = params->hit;
    iommu->l1_count = 1;
    fab_page_table_init(&iommu->table);
    return iommu;
}

void fab_iommu_free(FabIommu *iommu)
{
    if (!iommu) {
        return;
    }
    sim_event_cancel(&iommu->look_event);
    sim_event_cancel(&iommu->walk_event);
    sim_event_cancel(&iommu->hit_event);
    fab_page_table_done(&iommu->table);
    fab_walk_caches_done(&iommu->caches);
    for (unsigned i = 0; iommu->l1 && i < iommu->l1_count; i++) {
        fab_iotlb_done(&iommu->l1[i]);
    }
    fab_iotlb_done(&iommu->l2);
    g_free(iommu->l1);
    g_free(iommu->walks);
    g_free(iommu->walk_buckets);
    g_free(iommu->hits);
    g_free(iommu);
}

void fab_iommu_set_ports(FabIommu *iommu, unsigned ports)
{
    g_assert(!iommu->l1 && ports > 0);
    iommu->l1_count = ports;
}

bool fab_iommu_realize(FabIommu *iommu, uint32_t rank, GError **error)
{
    g_assert(!iommu->l1);
    if (!fab_iommu_check(&iommu->params, error)) {
        return false;
    }
    iommu->l1 = g_new0(FabIotlb, iommu->l1_count);
    for (unsigned i = 0; i < iommu->l1_count; i++) {
        fab_iotlb_init(&iommu->l1[i], iommu->params.iotlb_entries,
                       iommu->params.iotlb_ways);
    }
    if (iommu->params.l2_entries) {
        fab_iotlb_init(&iommu->l2, iommu->params.l2_entries,
                       iommu->params.l2_ways);
    }
    fab_walk_caches_init(&iommu->caches, iommu->params.walk_cache);
    iommu->walks = g_new(Walk, FIRST_WALKS);
    iommu->walk_buckets = g_new0(uint32_t, FIRST_WALKS);
    iommu->walks_size = FIRST_WALKS;
    iommu->walks_made = 1;
    iommu->hits = g_new(Hit, FIRST_HITS);
    iommu->hits_mask = FIRST_HITS - 1;
    sim_event_init(&iommu->look_event, iommu->engine, look_ended,
                   SIM_PRIORITY_NORMAL, rank);
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
    return iommu->walking.count;
}

uint32_t fab_iommu_queued(const FabIommu *iommu)
{
    return iommu->queued.count + iommu->stalled.count;
}

void fab_iommu_foreach(const FabIommu *iommu, FabIommuFn fn, void *data)
{
    const WalkList *const lists[] = {&iommu->walking, &iommu->queued,
                                     &iommu->looking};

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        for (uint32_t at = lists[i]->head; at; at = iommu->walks[at].next) {
            for (const FabTlp *tlp = iommu->walks[at].head; tlp;
                 tlp = tlp->next) {
                fn(data, tlp, lists[i] == &iommu->queued);
            }
        }
    }
    for (const FabTlp *tlp = iommu->stalled.head; tlp; tlp = tlp->next) {
        fn(data, tlp, true);
    }
    for (uint32_t i = iommu->hits_head; i != iommu->hits_tail; i++) {
        fn(data, iommu->hits[i & iommu->hits_mask].tlp, false);
    }
}

void fab_iommu_caching(const FabIommu *iommu, uint64_t page_bytes,
                       FabCaching *sum)
{
    const FabIommuParams *params = &iommu->params;
    const FabIommuCounters *counters = &iommu->counters;
    SimTime look = params->l2_entries ? params->l2_hit : 0;
    SimTime walk = params->walk + FAB_WALK_LEVELS * params->walk_read;

    for (unsigned i = 0; i < iommu->l1_count; i++) {
        sum->held += fab_iotlb_held(&iommu->l1[i]);
    }
    sum->held += fab_iotlb_held(&iommu->l2);
    sum->missed +=
        (counters->l2_hits + counters->walks) * look + counters->walks * walk;
    if (page_bytes > sum->seen_bytes / 2) {
        sum->unseen_ps += (double)(look + walk) / (double)page_bytes;
    }
}
