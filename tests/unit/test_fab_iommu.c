/* SPDX-License-Identifier: MIT */
/*
 * Invariant: whatever the order of accesses, maps and unmaps, the IOMMU gives
 * each TLP the address, and at the time, that a naive model gives it which
 * keeps a list of pages with time stamps and a list of walks; and where a
 * formula knows how long a series of misses takes, it takes that long.
 */
#include <stdlib.h>

#include <check.h>

#include "alloc_count.h"
#include "fab_iommu.h"

#define KIB4 (1ULL << 12)
#define MIB2 (1ULL << 21)
#define GIB1 (1ULL << 30)
#define RANK 7

#define assert_time_eq(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))

/* One access: what is asked for and what came of it. */
typedef struct Access {
    FabTlp tlp;
    SimTime time; /* of the request */
    SimTime done; /* -1: not yet */
    FabBusAddr phys;
    bool fault;
    bool inside; /* fab_iommu_translate() is running for it */
    uint32_t order;
} Access;

typedef struct Rig {
    SimEngine *engine;
    FabIommu *iommu;
    Access *accesses;
    uint32_t count;
    uint32_t ended;
    void (*more)(struct Rig *rig, Access *access); /* nullable */
    uint32_t next;                                 /* for `more` */
    uint64_t stride;
    uint32_t pages;
} Rig;

static const FabIommuParams usual = {
    .enabled = true,
    .iotlb_entries = 64,
    .walk = 280 * SIM_NS,
    .walks = 6,
    .page_bytes = KIB4,
};

static void access_done(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault)
{
    Rig *rig = owner;
    Access *access = SIM_CONTAINER_OF(tlp, Access, tlp);

    ck_assert(!access->inside);
    assert_time_eq(access->done, -1);
    access->done = sim_engine_now(rig->engine);
    access->phys = phys;
    access->fault = fault;
    access->order = rig->ended++;
    if (rig->more) {
        rig->more(rig, access);
    }
}

static Rig *rig_new(const FabIommuParams *params, uint32_t count)
{
    Rig *rig = g_new0(Rig, 1);

    rig->engine = sim_engine_new();
    rig->iommu = fab_iommu_new(rig->engine, params);
    rig->accesses = g_new0(Access, count);
    rig->count = count;
    fab_iommu_set_done(rig->iommu, access_done, rig);
    ck_assert(fab_iommu_realize(rig->iommu, RANK, NULL));
    return rig;
}

static void rig_free(Rig *rig)
{
    fab_iommu_free(rig->iommu);
    sim_engine_free(rig->engine);
    g_free(rig->accesses);
    g_free(rig);
}

static void rig_map(Rig *rig, FabBusAddr iova, FabBusAddr phys, uint64_t size,
                    uint64_t page)
{
    GError *error = NULL;

    fab_iommu_map(rig->iommu, iova, phys, size, page, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

/* Asks for access @at of @addr, now. */
static FabTranslation rig_ask(Rig *rig, uint32_t at, FabBusAddr addr)
{
    Access *access = &rig->accesses[at];
    FabTranslation result;

    *access = (Access){
        .tlp = {.type = FAB_TLP_MWR, .addr = addr, .payload_bytes = 64},
        .time = sim_engine_now(rig->engine),
        .done = -1,
        .inside = true,
    };
    result = fab_iommu_translate(rig->iommu, &access->tlp, &access->phys);
    access->inside = false;
    if (result != FAB_TRANSLATION_PENDING) {
        access->done = access->time;
        access->fault = result == FAB_TRANSLATION_FAULT;
        access->order = rig->ended++;
    }
    return result;
}

/* Asks, waits, and tells whether it was a hit. */
static bool rig_touch(Rig *rig, FabBusAddr addr)
{
    uint64_t hits = fab_iommu_counters(rig->iommu)->hits;

    rig_ask(rig, 0, addr);
    sim_engine_run(rig->engine);
    ck_assert(rig->accesses[0].done >= 0);
    return fab_iommu_counters(rig->iommu)->hits == hits + 1;
}

/* The naive model */

typedef struct NaivePage {
    FabBusAddr iova;
    uint64_t bytes;
    FabBusAddr phys;
    bool mapped;
    uint64_t stamp; /* 0: not in the IOTLB */
} NaivePage;

typedef struct NaiveWalk {
    FabBusAddr addr; /* of the page */
    uint64_t bytes;
    FabBusAddr first; /* asked for */
    SimTime due;      /* -1: queued */
    GArray *waiting;  /* of access numbers */
} NaiveWalk;

typedef struct Naive {
    FabIommuParams params;
    NaivePage *pages;
    uint32_t page_count;
    uint64_t stamps;
    GPtrArray *walks; /* in order */
    SimTime *done;
    FabBusAddr *phys;
    bool *fault;
    uint64_t hits, misses, begun, faults;
    SimTime wait;
    SimTime *asked;
} Naive;

static NaivePage *naive_page(Naive *naive, FabBusAddr addr)
{
    for (uint32_t i = 0; i < naive->page_count; i++) {
        NaivePage *page = &naive->pages[i];

        if (page->mapped && addr >= page->iova &&
            addr < page->iova + page->bytes) {
            return page;
        }
    }
    return NULL;
}

static uint64_t naive_set(const Naive *naive, const NaivePage *page)
{
    uint32_t ways = naive->params.iotlb_ways;
    uint64_t sets = ways ? naive->params.iotlb_entries / ways : 1;

    return page->iova / page->bytes % sets;
}

static void naive_fill(Naive *naive, NaivePage *page)
{
    uint32_t ways = naive->params.iotlb_ways, held = 0;
    NaivePage *oldest = NULL;

    for (uint32_t i = 0; i < naive->page_count && !page->stamp; i++) {
        NaivePage *other = &naive->pages[i];

        if (other->stamp && naive_set(naive, other) == naive_set(naive, page)) {
            held++;
            if (!oldest || other->stamp < oldest->stamp) {
                oldest = other;
            }
        }
    }
    if (held == (ways ? ways : naive->params.iotlb_entries)) {
        oldest->stamp = 0;
    }
    page->stamp = ++naive->stamps;
}

static uint32_t naive_active(const Naive *naive)
{
    uint32_t active = 0;

    for (uint32_t i = 0; i < naive->walks->len; i++) {
        NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

        active += walk->due >= 0;
    }
    return active;
}

/* Gives walkers to those who wait for one. */
static void naive_begin(Naive *naive, SimTime now)
{
    for (uint32_t i = 0; i < naive->walks->len; i++) {
        NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

        if (walk->due < 0 && naive_active(naive) < naive->params.walks) {
            walk->due = now + naive->params.walk;
            naive->begun++;
            for (uint32_t j = 0; j < walk->waiting->len; j++) {
                naive->wait +=
                    now -
                    naive->asked[g_array_index(walk->waiting, uint32_t, j)];
            }
        }
    }
}

static void naive_end(Naive *naive, NaiveWalk *walk, const Access *accesses)
{
    NaivePage *page = naive_page(naive, walk->first);
    SimTime now = walk->due;

    if (page) {
        naive_fill(naive, page);
    }
    for (uint32_t j = 0; j < walk->waiting->len; j++) {
        uint32_t at = g_array_index(walk->waiting, uint32_t, j);
        FabBusAddr addr = accesses[at].tlp.addr;

        page = naive_page(naive, addr);
        naive->done[at] = now;
        naive->fault[at] = !page;
        naive->phys[at] = page ? addr - page->iova + page->phys : 0;
        naive->faults += !page;
    }
    g_array_unref(walk->waiting);
    g_ptr_array_remove(naive->walks, walk);
    g_free(walk);
    naive_begin(naive, now);
}

/* Ends what ends by @time. */
static void naive_run(Naive *naive, SimTime time, const Access *accesses)
{
    for (;;) {
        NaiveWalk *first = NULL;

        for (uint32_t i = 0; i < naive->walks->len; i++) {
            NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

            if (walk->due >= 0 && (!first || walk->due < first->due)) {
                first = walk;
            }
        }
        if (!first || first->due > time) {
            return;
        }
        naive_end(naive, first, accesses);
    }
}

static void naive_ask(Naive *naive, uint32_t at, FabBusAddr addr, SimTime now)
{
    NaivePage *page = naive_page(naive, addr);
    uint64_t bytes = page ? page->bytes : KIB4;
    NaiveWalk *walk = NULL;

    naive->asked[at] = now;
    if (page && page->stamp) {
        page->stamp = ++naive->stamps;
        naive->hits++;
        naive->done[at] = now + naive->params.hit;
        naive->phys[at] = addr - page->iova + page->phys;
        return;
    }
    naive->misses++;
    for (uint32_t i = 0; i < naive->walks->len && !walk; i++) {
        NaiveWalk *other = g_ptr_array_index(naive->walks, i);

        if (other->bytes == bytes && other->addr == addr / bytes * bytes) {
            walk = other;
        }
    }
    if (!walk) {
        walk = g_new0(NaiveWalk, 1);
        walk->addr = addr / bytes * bytes;
        walk->bytes = bytes;
        walk->first = addr;
        walk->due = -1;
        walk->waiting = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_ptr_array_add(naive->walks, walk);
    }
    g_array_append_val(walk->waiting, at);
    naive_begin(naive, now);
}

/* Pages of all sizes, side by side and apart, at shuffled physical addresses */
static void naive_make_pages(Naive *naive, uint32_t per_size, GRand *rand)
{
    static const uint64_t sizes[] = {KIB4, MIB2, GIB1};
    uint32_t at = 0;

    naive->pages = g_new0(NaivePage, 3 * per_size);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t j = 0; j < per_size; j++) {
            uint64_t place = j < per_size / 2 ? j : 3 * j;

            naive->pages[at++] = (NaivePage){
                .iova = ((uint64_t)(i + 1) << 40) + place * sizes[i],
                .bytes = sizes[i],
                .phys = (((uint64_t)(i + 5) << 40) +
                         g_rand_int_range(rand, 0, 1 << 10) * sizes[i]),
                .mapped = true,
            };
        }
    }
    naive->page_count = at;
}

static void random_change(Naive *naive, Rig *rig, GRand *rand)
{
    NaivePage *page =
        &naive->pages[g_rand_int_range(rand, 0, (int)naive->page_count)];

    if (page->mapped) {
        ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, page->iova, page->bytes),
                          page->bytes);
        page->stamp = 0;
    } else {
        page->phys += page->bytes;
        rig_map(rig, page->iova, page->phys, page->bytes, page->bytes);
    }
    page->mapped = !page->mapped;
}

static void naive_init(Naive *naive, const FabIommuParams *params,
                       uint32_t count)
{
    *naive = (Naive){
        .params = *params,
        .walks = g_ptr_array_new(),
        .done = g_new0(SimTime, count),
        .phys = g_new0(FabBusAddr, count),
        .fault = g_new0(bool, count),
        .asked = g_new0(SimTime, count),
    };
}

static void naive_done(Naive *naive)
{
    ck_assert_uint_eq(naive->walks->len, 0);
    g_ptr_array_unref(naive->walks);
    g_free(naive->pages);
    g_free(naive->done);
    g_free(naive->phys);
    g_free(naive->fault);
    g_free(naive->asked);
}

static void compare_counters(const Rig *rig, const Naive *naive)
{
    const FabIommuCounters *counters = fab_iommu_counters(rig->iommu);

    ck_assert_uint_eq(counters->hits, naive->hits);
    ck_assert_uint_eq(counters->misses, naive->misses);
    ck_assert_uint_eq(counters->walks, naive->begun);
    ck_assert_uint_eq(counters->faults, naive->faults);
    assert_time_eq(counters->wait_ps, naive->wait);
}

/* @gap_ps is the mean time between accesses: from one at a time to hundreds
 * waiting. */
static void compare_random(const FabIommuParams *params, SimTime gap_ps,
                           uint32_t seed)
{
    enum {
        ACCESSES = 3000
    };
    Rig *rig = rig_new(params, ACCESSES);
    GRand *rand = g_rand_new_with_seed(seed);
    SimTime now = 0;
    Naive naive;

    naive_init(&naive, params, ACCESSES);
    naive_make_pages(&naive, 16, rand);
    for (uint32_t i = 0; i < naive.page_count; i++) {
        NaivePage *page = &naive.pages[i];

        rig_map(rig, page->iova, page->phys, page->bytes, page->bytes);
    }
    for (uint32_t i = 0; i < ACCESSES; i++) {
        const NaivePage *page;
        FabBusAddr addr;

        now += g_rand_int_range(rand, 0, (gint32)(2 * gap_ps));
        /* Both let what ends at that time come first. */
        sim_engine_run_until(rig->engine, now);
        naive_run(&naive, now, rig->accesses);
        if (g_rand_int_range(rand, 0, 20) == 0) {
            random_change(&naive, rig, rand);
        }
        page = &naive.pages[g_rand_int_range(rand, 0, (int)naive.page_count)];
        addr = page->iova +
               (uint64_t)(g_rand_double(rand) * (double)page->bytes) / 64 * 64;
        rig_ask(rig, i, addr);
        naive_ask(&naive, i, addr, now);
    }
    sim_engine_run(rig->engine);
    naive_run(&naive, SIM_TIME_NONE, rig->accesses);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        const Access *access = &rig->accesses[i];

        assert_time_eq(access->done, naive.done[i]);
        ck_assert_int_eq(access->fault, naive.fault[i]);
        if (!access->fault) {
            ck_assert_uint_eq(access->phys, naive.phys[i]);
        }
    }
    compare_counters(rig, &naive);
    naive_done(&naive);
    g_rand_free(rand);
    rig_free(rig);
}

START_TEST(random_accesses_match_naive_model)
{
    static const uint32_t ways[] = {0, 1, 2, 4};
    static const SimTime gaps[] = {20000, 2000, 200};
    FabIommuParams params = usual;

    params.iotlb_entries = 16;
    params.iotlb_ways = ways[_i];
    params.walk = 7001;
    for (uint32_t gap = 0; gap < G_N_ELEMENTS(gaps); gap++) {
        for (uint32_t walks = 1; walks <= 6; walks += 5) {
            params.walks = walks;
            params.hit = gap == 1 ? 3100 : 0;
            compare_random(&params, gaps[gap], 1 + gap);
        }
    }
}
END_TEST

START_TEST(entries_need_not_be_a_power_of_two)
{
    FabIommuParams params = usual;

    params.iotlb_entries = 11;
    compare_random(&params, 100000, 42);
    params.iotlb_entries = 12;
    params.iotlb_ways = 3;
    compare_random(&params, 100000, 43);
    params.iotlb_entries = 1;
    params.iotlb_ways = 1;
    compare_random(&params, 100000, 44);
}
END_TEST

START_TEST(distinct_misses_take_ceil_of_pages_by_walkers)
{
    enum {
        PAGES = 1000
    };

    for (uint32_t walks = 1; walks <= 1024; walks = walks * 3 + 1) {
        FabIommuParams params = usual;
        Rig *rig;
        SimTime wait = 0;

        params.walks = walks;
        rig = rig_new(&params, PAGES);
        rig_map(rig, 0, 0, PAGES * KIB4, KIB4);
        for (uint32_t i = 0; i < PAGES; i++) {
            ck_assert_int_eq(rig_ask(rig, i, i * KIB4),
                             FAB_TRANSLATION_PENDING);
            wait += i / walks * params.walk;
        }
        sim_engine_run(rig->engine);
        assert_time_eq(sim_engine_now(rig->engine),
                       (PAGES + walks - 1) / walks * params.walk);
        for (uint32_t i = 0; i < PAGES; i++) {
            ck_assert_uint_eq(rig->accesses[i].order, i);
            assert_time_eq(rig->accesses[i].done,
                           (SimTime)(i / walks + 1) * params.walk);
        }
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, PAGES);
        assert_time_eq(fab_iommu_counters(rig->iommu)->wait_ps, wait);
        rig_free(rig);
    }
}
END_TEST

START_TEST(misses_on_a_page_share_one_walk)
{
    FabIommuParams params = usual;
    Rig *rig;

    params.walks = 1;
    rig = rig_new(&params, 6);
    rig_map(rig, 0, GIB1, 2 * KIB4, KIB4);
    rig_ask(rig, 0, 0x0);
    rig_ask(rig, 1, KIB4); /* queued */
    sim_engine_run_until(rig->engine, 100 * SIM_NS);
    rig_ask(rig, 2, KIB4 + 0x40); /* joins the queued one */
    rig_ask(rig, 3, 0xfc0);       /* joins the walk */
    sim_engine_run_until(rig->engine, 300 * SIM_NS);
    rig_ask(rig, 4, KIB4 + 0x80); /* joins when it is walked */
    ck_assert_int_eq(rig_ask(rig, 5, 0x80), FAB_TRANSLATION_DONE);
    sim_engine_run(rig->engine);

    assert_time_eq(rig->accesses[0].done, 280 * SIM_NS);
    assert_time_eq(rig->accesses[3].done, 280 * SIM_NS);
    assert_time_eq(rig->accesses[1].done, 560 * SIM_NS);
    assert_time_eq(rig->accesses[2].done, 560 * SIM_NS);
    assert_time_eq(rig->accesses[4].done, 560 * SIM_NS);
    ck_assert_uint_eq(rig->accesses[0].order, 0);
    ck_assert_uint_eq(rig->accesses[3].order, 1);
    ck_assert_uint_eq(rig->accesses[5].order, 2);
    ck_assert_uint_eq(rig->accesses[1].order, 3);
    ck_assert_uint_eq(rig->accesses[2].order, 4);
    ck_assert_uint_eq(rig->accesses[4].order, 5);
    ck_assert_uint_eq(rig->accesses[3].phys, GIB1 + 0xfc0);
    ck_assert_uint_eq(rig->accesses[4].phys, GIB1 + KIB4 + 0x80);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, 2);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->misses, 5);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits, 1);
    /* 280 ns for the first of page 1, 180 ns for the second. */
    assert_time_eq(fab_iommu_counters(rig->iommu)->wait_ps, 460 * SIM_NS);
    rig_free(rig);
}
END_TEST

/* Page after page in a circle: whoever is done asks for the next. */
static void ask_next(Rig *rig, Access *access)
{
    while (rig->next < rig->count) {
        uint32_t at = rig->next++;

        if (rig_ask(rig, at, at % rig->pages * rig->stride) ==
            FAB_TRANSLATION_PENDING) {
            return;
        }
    }
}

START_TEST(far_beyond_the_working_set_walks_limit)
{
    enum {
        ACCESSES = 6000,
        OUTSTANDING = 32
    };
    Rig *rig = rig_new(&usual, ACCESSES);

    rig->pages = 4096;
    rig->stride = KIB4;
    rig->more = ask_next;
    rig_map(rig, 0, 0, rig->pages * KIB4, KIB4);
    for (uint32_t i = 0; i < OUTSTANDING; i++) {
        ask_next(rig, NULL);
    }
    sim_engine_run(rig->engine);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits, 0);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, ACCESSES);
    assert_time_eq(sim_engine_now(rig->engine), ACCESSES / 6 * usual.walk);
    rig_free(rig);
}
END_TEST

START_TEST(least_recently_used_keeps_what_fits_and_nothing_more)
{
    static const uint64_t sizes[] = {KIB4, MIB2, GIB1};
    static const uint32_t ways[] = {0, 1, 2, 4, 64};
    FabIommuParams params = usual;

    params.iotlb_ways = ways[_i];
    for (uint32_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
        Rig *rig = rig_new(&params, 1);

        rig_map(rig, 0, sizes[s], 129 * sizes[s], sizes[s]);
        for (uint32_t i = 0; i < 10 * 64; i++) {
            FabBusAddr addr = i % 64 * sizes[s] + i / 64 * 64;

            ck_assert_int_eq(rig_touch(rig, addr), i >= 64);
            ck_assert_uint_eq(rig->accesses[0].phys, addr + sizes[s]);
        }
        /* Twice as many in a circle push each other out, whatever the ways. */
        for (uint32_t i = 0; i < 4 * 128; i++) {
            ck_assert_int_eq(rig_touch(rig, i % 128 * sizes[s]), i < 64);
        }
        rig_free(rig);
    }
}
END_TEST

START_TEST(sequential_stream_misses_once_a_page)
{
    enum {
        PAGES = 100,
        PER_PAGE = KIB4 / 64
    };
    static const SimTime gaps[] = {5 * SIM_NS, 9 * SIM_NS, 300 * SIM_NS};

    for (uint32_t g = 0; g < G_N_ELEMENTS(gaps); g++) {
        FabIommuParams params = usual;
        Rig *rig = rig_new(&params, PAGES * PER_PAGE);
        /* Those that come while the page is walked wait for it; one that comes
         * just as the walk ends is late enough. */
        uint64_t misses;

        params.walk = 280 * SIM_NS;
        misses = PAGES * (uint64_t)((params.walk - 1) / gaps[g] + 1);
        rig_map(rig, 0, 0, PAGES * KIB4, KIB4);
        for (uint32_t i = 0; i < rig->count; i++) {
            sim_engine_run_until(rig->engine, i * gaps[g]);
            rig_ask(rig, i, i * 64);
        }
        sim_engine_run(rig->engine);
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, PAGES);
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->misses, misses);
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits,
                          PAGES * PER_PAGE - misses);
        assert_time_eq(fab_iommu_counters(rig->iommu)->wait_ps, 0);
        for (uint32_t i = 1; i < rig->count; i++) {
            ck_assert_uint_eq(rig->accesses[i].order, i);
        }
        rig_free(rig);
    }
}
END_TEST

START_TEST(hits_pend_for_the_hit_time_in_order)
{
    enum {
        ACCESSES = 500
    };
    FabIommuParams params = usual;
    Rig *rig;

    params.hit = 10 * SIM_NS;
    rig = rig_new(&params, ACCESSES);
    rig_map(rig, 0, KIB4, 2 * KIB4, KIB4);
    ck_assert(!rig_touch(rig, 0));
    ck_assert(!rig_touch(rig, KIB4));
    rig->ended = 0;
    for (uint32_t i = 0; i < ACCESSES; i++) {
        sim_engine_run_until(rig->engine, SIM_US + i / 2 * 50);
        ck_assert_int_eq(rig_ask(rig, i, i % 2 * KIB4 + 8),
                         FAB_TRANSLATION_PENDING);
    }
    /* What they found they keep. */
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, 2 * KIB4), 2 * KIB4);
    sim_engine_run(rig->engine);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        assert_time_eq(rig->accesses[i].done, SIM_US + i / 2 * 50 + params.hit);
        ck_assert_uint_eq(rig->accesses[i].order, i);
        ck_assert_uint_eq(rig->accesses[i].phys, KIB4 + i % 2 * KIB4 + 8);
        ck_assert(!rig->accesses[i].fault);
    }
    rig_free(rig);
}
END_TEST

START_TEST(unmapped_address_faults_after_a_walk)
{
    Rig *rig = rig_new(&usual, 2);

    rig_map(rig, KIB4, 0, KIB4, KIB4);
    for (uint32_t i = 0; i < 2; i++) {
        SimTime start = sim_engine_now(rig->engine);

        ck_assert_int_eq(rig_ask(rig, i, 2 * KIB4), FAB_TRANSLATION_PENDING);
        sim_engine_run(rig->engine);
        ck_assert(rig->accesses[i].fault);
        assert_time_eq(rig->accesses[i].done, start + usual.walk);
    }
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, 2);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->faults, 2);
    ck_assert_int_eq(rig_ask(rig, 0, 1), FAB_TRANSLATION_PENDING);
    ck_assert_int_eq(rig_ask(rig, 1, UINT64_MAX), FAB_TRANSLATION_FAULT);
    ck_assert_int_eq(rig_ask(rig, 1, 1ULL << 48), FAB_TRANSLATION_FAULT);
    ck_assert_int_eq(rig_ask(rig, 1, (1ULL << 48) + KIB4),
                     FAB_TRANSLATION_FAULT);
    sim_engine_run(rig->engine);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->faults, 6);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits, 0);
    rig_free(rig);
}
END_TEST

START_TEST(unmap_during_a_walk_faults_and_fills_nothing)
{
    Rig *rig = rig_new(&usual, 4);

    rig_map(rig, 0, MIB2, MIB2, MIB2);
    rig_ask(rig, 0, 0);
    rig_ask(rig, 1, KIB4);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, MIB2), MIB2);
    sim_engine_run(rig->engine);
    ck_assert(rig->accesses[0].fault && rig->accesses[1].fault);
    ck_assert_int_eq(rig_ask(rig, 2, 0), FAB_TRANSLATION_PENDING);

    /* Mapped while the walk is under way: found. Larger pages are joined by
     * what asked for smaller ones. */
    rig_map(rig, 0, 2 * MIB2, MIB2, MIB2);
    rig_ask(rig, 3, 64);
    sim_engine_run(rig->engine);
    ck_assert(!rig->accesses[2].fault && !rig->accesses[3].fault);
    ck_assert_uint_eq(rig->accesses[2].phys, 2 * MIB2);
    ck_assert_uint_eq(rig->accesses[3].phys, 2 * MIB2 + 64);
    ck_assert(rig_touch(rig, MIB2 - 64));

    /* A large page becomes small ones under those who wait for it. */
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, MIB2), MIB2);
    rig_map(rig, 0, MIB2, MIB2, MIB2);
    rig_ask(rig, 1, 5 * KIB4);
    rig_ask(rig, 2, 6 * KIB4);
    rig_ask(rig, 3, 7 * KIB4);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, MIB2), MIB2);
    rig_map(rig, 5 * KIB4, GIB1, KIB4, KIB4);
    rig_map(rig, 7 * KIB4, 2 * GIB1, KIB4, KIB4);
    sim_engine_run(rig->engine);
    ck_assert_uint_eq(rig->accesses[1].phys, GIB1);
    ck_assert(!rig->accesses[1].fault);
    ck_assert(rig->accesses[2].fault);
    ck_assert_uint_eq(rig->accesses[3].phys, 2 * GIB1);
    ck_assert(!rig->accesses[3].fault);
    rig_free(rig);
}
END_TEST

/* Bit per page of 4 KiB as the naive model of what is mapped */
START_TEST(unmap_takes_whole_pages_only)
{
    enum {
        PAGES = 64,
        SMALL = 512
    };
    Rig *rig = rig_new(&usual, 1);
    GRand *rand = g_rand_new_with_seed(5);
    bool small[PAGES] = {false};

    for (uint32_t round = 0; round < 400; round++) {
        uint32_t first = (uint32_t)g_rand_int_range(rand, 0, PAGES);
        uint32_t count = (uint32_t)g_rand_int_range(rand, 1, 20);
        uint64_t cut = (uint64_t)g_rand_int_range(rand, 0, 2) * 100;
        uint64_t expected = 0;
        bool taken = false;

        count = MIN(count, PAGES - first);
        for (uint32_t i = first; i < first + count; i++) {
            taken |= small[i];
        }
        if (round % 2) {
            GError *error = NULL;

            ck_assert_int_eq(fab_iommu_map(rig->iommu, first * KIB4,
                                           GIB1 + first * KIB4, count * KIB4,
                                           KIB4, &error),
                             !taken);
            ck_assert_int_eq(!taken, !error);
            g_clear_error(&error);
            for (uint32_t i = first; i < first + count && !taken; i++) {
                small[i] = true;
            }
        } else {
            for (uint32_t i = first; i < first + count; i++) {
                if (small[i] &&
                    (!cut || (i > first && i < first + count - 1))) {
                    small[i] = false;
                    expected += KIB4;
                }
            }
            ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, first * KIB4 + cut,
                                              count * KIB4 - 2 * cut),
                              expected);
        }
        for (uint32_t i = 0; i < PAGES; i++) {
            rig_touch(rig, i * KIB4 + 16);
            ck_assert_int_eq(rig->accesses[0].fault, !small[i]);
            if (small[i]) {
                ck_assert_uint_eq(rig->accesses[0].phys, GIB1 + i * KIB4 + 16);
            }
        }
    }
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, 0), 0);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, UINT64_MAX, UINT64_MAX), 0);
    rig_map(rig, GIB1, 0, 3 * GIB1, GIB1);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, GIB1 + 1, 2 * GIB1), GIB1);
    rig_touch(rig, GIB1);
    ck_assert(!rig->accesses[0].fault);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, GIB1, UINT64_MAX), 2 * GIB1);
    g_rand_free(rand);
    rig_free(rig);
}
END_TEST

/* Unmapping frees the entry for others: it is the first to be replaced. */
START_TEST(unmapped_entry_is_used_first)
{
    FabIommuParams params = usual;
    Rig *rig;

    params.iotlb_entries = 4;
    rig = rig_new(&params, 1);
    rig_map(rig, 0, 0, 8 * KIB4, KIB4);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert(!rig_touch(rig, i * KIB4));
    }
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 3 * KIB4, KIB4), KIB4);
    ck_assert(!rig_touch(rig, 5 * KIB4));
    ck_assert(rig_touch(rig, 0));
    ck_assert(rig_touch(rig, KIB4));
    ck_assert(rig_touch(rig, 2 * KIB4));
    ck_assert(rig_touch(rig, 5 * KIB4));
    rig_free(rig);
}
END_TEST

/* Within what is called with a result anything may be asked for. */
static void change_and_ask(Rig *rig, Access *access)
{
    if (rig->next < rig->count) {
        uint32_t at = rig->next++;
        FabBusAddr page = access->tlp.addr & ~(KIB4 - 1);

        ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, page, KIB4), KIB4);
        rig_map(rig, page + rig->stride, page, KIB4, KIB4);
        ck_assert_int_eq(rig_ask(rig, at, page + rig->stride),
                         FAB_TRANSLATION_PENDING);
    }
}

START_TEST(results_may_change_what_is_mapped)
{
    enum {
        CHAINS = 200
    };
    Rig *rig = rig_new(&usual, 5 * CHAINS);

    rig->more = change_and_ask;
    rig->stride = MIB2;
    rig_map(rig, 0, 0, CHAINS * KIB4, KIB4);
    for (uint32_t i = 0; i < CHAINS; i++) {
        rig_ask(rig, rig->next++, i * KIB4);
    }
    sim_engine_run(rig->engine);
    ck_assert_uint_eq(rig->ended, 5 * CHAINS);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, 5 * CHAINS);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->faults, 0);
    assert_time_eq(sim_engine_now(rig->engine),
                   (5 * CHAINS + 5) / 6 * usual.walk);
    for (uint32_t i = 0; i < 5 * CHAINS; i++) {
        uint64_t page = rig->accesses[i].tlp.addr;

        ck_assert_uint_eq(rig->accesses[i].phys,
                          page >= MIB2 ? page - MIB2 : page);
    }
    rig_free(rig);
}
END_TEST

/* 1: mapping works before realize; 2: a walk may take no time at all. */
START_TEST(mapping_before_realize_counts)
{
    FabIommuParams params = usual;
    Rig rig = {.engine = sim_engine_new(), .accesses = g_new0(Access, 1)};

    params.walk = 0;
    rig.iommu = fab_iommu_new(rig.engine, &params);
    rig_map(&rig, 0, GIB1, 2 * KIB4, KIB4);
    ck_assert_uint_eq(fab_iommu_unmap(rig.iommu, KIB4, KIB4), KIB4);
    fab_iommu_set_done(rig.iommu, access_done, &rig);
    ck_assert(fab_iommu_realize(rig.iommu, RANK, NULL));
    ck_assert_int_eq(rig_ask(&rig, 0, 0x123), FAB_TRANSLATION_PENDING);
    sim_engine_run(rig.engine);
    ck_assert_uint_eq(rig.accesses[0].phys, GIB1 + 0x123);
    assert_time_eq(rig.accesses[0].done, 0);
    rig_touch(&rig, KIB4);
    ck_assert(rig.accesses[0].fault);

    /* Freed with a walk pending, whose event must not run any more. */
    rig_ask(&rig, 0, KIB4);
    fab_iommu_free(rig.iommu);
    ck_assert_uint_eq(sim_engine_run(rig.engine), 0);
    sim_engine_free(rig.engine);
    g_free(rig.accesses);
    fab_iommu_free(NULL);
}
END_TEST

typedef struct BadMap {
    FabBusAddr iova, phys;
    uint64_t size, page;
    const char *message;
} BadMap;

static const BadMap bad_maps[] = {
    {0x1000, 0, 0x1000, 0x2000,
     "page size 0x2000 is none of 4 KiB, 2 MiB and 1 GiB"},
    {0x1000, 0, 0x1000, 0, "page size 0x0 is none of 4 KiB, 2 MiB and 1 GiB"},
    {0x1800, 0, 0x1000, 0x1000,
     "cannot map: device address 0x1800 is not a multiple of the page size "
     "0x1000"},
    {0x200000, 0x1000, 0x200000, 0x200000,
     "cannot map: physical address 0x1000 is not a multiple of the page size "
     "0x200000"},
    {0, 0, 0x1234, 0x1000,
     "cannot map: size 0x1234 is not a multiple of the page size 0x1000"},
    {0, 0, 0, 0x1000,
     "cannot map: size 0x0 is not a multiple of the page size 0x1000 above 0"},
    {0x40004000, 0, 0x3000, 0x1000,
     "cannot map device addresses 0x40004000 to 0x40006fff: 0x40005000 to "
     "0x40008fff are mapped already"},
    {0x40008000, 0, 0x1000, 0x1000,
     "cannot map device addresses 0x40008000 to 0x40008fff: 0x40005000 to "
     "0x40008fff are mapped already"},
    {0x40000000, 0, 0x40000000, 0x40000000,
     "cannot map device addresses 0x40000000 to 0x7fffffff: 0x40005000 to "
     "0x40008fff are mapped already"},
    {0xfffffffff000, 0, 0x2000, 0x1000,
     "cannot map 0x2000 bytes at device address 0xfffffffff000: they end "
     "beyond 48 bits"},
    {0xfffffffffffff000, 0, 0x2000, 0x1000,
     "cannot map 0x2000 bytes at device address 0xfffffffffffff000: they end "
     "beyond 48 bits"},
    {0, 0xffffffffff000, 0x2000, 0x1000,
     "cannot map 0x2000 bytes to physical address 0xffffffffff000: they end "
     "beyond 52 bits"},
};

START_TEST(bad_maps_are_refused_and_change_nothing)
{
    const BadMap *bad = &bad_maps[_i];
    Rig *rig = rig_new(&usual, 1);
    GError *error = NULL;

    rig_map(rig, 0x40005000, 0, 0x4000, 0x1000);
    ck_assert(!fab_iommu_map(rig->iommu, bad->iova, bad->phys, bad->size,
                             bad->page, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_ADDRESS));
    ck_assert_str_eq(error->message, bad->message);
    g_error_free(error);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, UINT64_MAX), 0x4000);
    rig_free(rig);
}
END_TEST

typedef struct BadParams {
    FabIommuParams params;
    const char *message;
} BadParams;

static const BadParams bad_params[] = {
    {{.iotlb_entries = 0, .walks = 1, .page_bytes = KIB4},
     "an IOTLB of 0 entries: must be 1 to 16777216"},
    {{.iotlb_entries = UINT32_MAX, .walks = 1, .page_bytes = KIB4},
     "an IOTLB of 4294967295 entries: must be 1 to 16777216"},
    {{.iotlb_entries = 64, .iotlb_ways = 3, .walks = 1, .page_bytes = KIB4},
     "an IOTLB of 64 entries in 3 ways: entries / ways must be a power of two"},
    {{.iotlb_entries = 24, .iotlb_ways = 2, .walks = 1, .page_bytes = KIB4},
     "an IOTLB of 24 entries in 2 ways: entries / ways must be a power of two"},
    {{.iotlb_entries = 24, .iotlb_ways = 48, .walks = 1, .page_bytes = KIB4},
     "an IOTLB of 24 entries in 48 ways: entries / ways must be a power of "
     "two"},
    {{.iotlb_entries = 64, .walks = 0, .page_bytes = KIB4},
     "0 page walks at a time: must be 1 to 65536"},
    {{.iotlb_entries = 64, .walks = 1, .walk = -1, .page_bytes = KIB4},
     "an IOTLB hit of 0 ps and a page walk of -1 ps: must be 0 to 1 s, and a "
     "walk no shorter than a hit"},
    {{.iotlb_entries = 64, .walks = 1, .hit = 5, .page_bytes = KIB4},
     "an IOTLB hit of 5 ps and a page walk of 0 ps: must be 0 to 1 s, and a "
     "walk no shorter than a hit"},
    {{.iotlb_entries = 64, .walks = 1, .page_bytes = 8192},
     "IOMMU pages of 8192 bytes: must be 4 KiB, 2 MiB or 1 GiB"},
};

START_TEST(bad_parameters_are_refused)
{
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autoptr(FabIommu) iommu = fab_iommu_new(engine, &bad_params[_i].params);
    GError *error = NULL;

    ck_assert(!fab_iommu_realize(iommu, RANK, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONFIG));
    ck_assert_str_eq(error->message, bad_params[_i].message);
    g_error_free(error);
}
END_TEST

/* Without assertions, as check allocates for each. */
static void count_done(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault)
{
    Rig *rig = owner;

    rig->ended++;
}

START_TEST(steady_state_allocates_nothing)
{
    enum {
        ACCESSES = 20000
    };
    FabIommuParams params = usual;
    uint64_t allocations = 0;
    Rig *rig;

    params.hit = SIM_NS;
    rig = rig_new(&params, ACCESSES);
    rig->pages = 96;
    rig_map(rig, 0, 0, rig->pages * KIB4, KIB4);
    fab_iommu_set_done(rig->iommu, count_done, rig);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        if (i == ACCESSES / 2) {
            allocations = alloc_count();
        }
        rig_ask(rig, i, i * 7919ULL % 331 % rig->pages * KIB4);
        if (i % 300 == 299) {
            sim_engine_run(rig->engine);
        }
    }
    sim_engine_run(rig->engine);
    allocations = alloc_count() - allocations;
    ck_assert_uint_eq(allocations, 0);
    ck_assert_uint_eq(rig->ended, ACCESSES);
    ck_assert_uint_gt(fab_iommu_counters(rig->iommu)->hits, 0);
    ck_assert_uint_gt(fab_iommu_counters(rig->iommu)->walks, 1000);

    /* The counter does count. */
    allocations = alloc_count();
    g_free(g_malloc(1));
    allocations = alloc_count() - allocations;
    ck_assert_uint_eq(allocations, 1);
    rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_iommu");
    TCase *tcase = tcase_create("fab_iommu");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, random_accesses_match_naive_model, 0, 4);
    tcase_add_test(tcase, entries_need_not_be_a_power_of_two);
    tcase_add_test(tcase, distinct_misses_take_ceil_of_pages_by_walkers);
    tcase_add_test(tcase, misses_on_a_page_share_one_walk);
    tcase_add_test(tcase, far_beyond_the_working_set_walks_limit);
    tcase_add_loop_test(
        tcase, least_recently_used_keeps_what_fits_and_nothing_more, 0, 5);
    tcase_add_test(tcase, sequential_stream_misses_once_a_page);
    tcase_add_test(tcase, hits_pend_for_the_hit_time_in_order);
    tcase_add_test(tcase, unmapped_address_faults_after_a_walk);
    tcase_add_test(tcase, unmap_during_a_walk_faults_and_fills_nothing);
    tcase_add_test(tcase, unmap_takes_whole_pages_only);
    tcase_add_test(tcase, unmapped_entry_is_used_first);
    tcase_add_test(tcase, results_may_change_what_is_mapped);
    tcase_add_test(tcase, mapping_before_realize_counts);
    tcase_add_loop_test(tcase, bad_maps_are_refused_and_change_nothing, 0,
                        G_N_ELEMENTS(bad_maps));
    tcase_add_loop_test(tcase, bad_parameters_are_refused, 0,
                        G_N_ELEMENTS(bad_params));
    tcase_add_test(tcase, steady_state_allocates_nothing);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
