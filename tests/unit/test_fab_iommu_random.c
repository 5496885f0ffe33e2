/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for any order of accesses, maps and unmaps, the IOMMU gives each
 * TLP the same address at the same time as a naive model. The model keeps a
 * list of pages with time stamps, one of walks, and one of tables in
 * paging-structure caches.
 */
#include <stdlib.h>
#include <string.h>

#include "fab_port_priv.h"
#include "iommu_rig.h"
#include "../suite.h"

typedef struct NaivePage {
    FabBusAddr iova;
    uint64_t bytes;
    FabBusAddr phys;
    bool mapped;
    uint64_t stamp[RIG_PORTS]; /* by first level; 0: not in the IOTLB */
    uint64_t stamp2;           /* the same for the second level */
} NaivePage;

typedef struct NaiveWalk {
    FabBusAddr addr; /* of the page */
    uint64_t bytes;
    FabBusAddr first; /* address of the first access */
    SimTime look;     /* end of the look-up in the second level; -1: over */
    SimTime due;      /* end of the walk; -1: queued, or `look` is not over */
    GArray *waiting;  /* of access numbers */
} NaiveWalk;

/* A table in a paging-structure cache. */
typedef struct NaiveTable {
    unsigned level;
    uint64_t bytes; /* that the table covers */
    FabBusAddr addr;
    uint64_t stamp;
} NaiveTable;

typedef struct Naive {
    GArray *tables; /* of NaiveTable */
    FabIommuParams params;
    NaivePage *pages;
    uint32_t page_count;
    uint64_t stamps;
    GPtrArray *walks; /* of NaiveWalk, in the order of the first access */
    SimTime *done;
    FabBusAddr *phys;
    bool *fault;
    uint64_t hits, misses, begun, faults, hits2;
    unsigned ports;
    unsigned *port; /* of each access */
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

/* The stamp of @page in a first level, or in the second one (@level RIG_PORTS).
 */
static uint64_t *stamp_of(NaivePage *page, unsigned level)
{
    return level < RIG_PORTS ? &page->stamp[level] : &page->stamp2;
}

static uint64_t naive_set(const NaivePage *page, uint32_t entries,
                          uint32_t ways)
{
    return page->iova / page->bytes % (ways ? entries / ways : 1);
}

static void naive_fill(Naive *naive, NaivePage *page, unsigned level)
{
    bool is_first = level < RIG_PORTS;
    uint32_t entries =
        is_first ? naive->params.iotlb_entries : naive->params.l2_entries;
    uint32_t ways = is_first ? naive->params.iotlb_ways : naive->params.l2_ways;
    uint32_t held = 0;
    NaivePage *oldest = NULL;

    if (entries == 0) {
        return;
    }
    for (uint32_t i = 0; i < naive->page_count && !*stamp_of(page, level);
         i++) {
        NaivePage *other = &naive->pages[i];

        if (*stamp_of(other, level) &&
            naive_set(other, entries, ways) == naive_set(page, entries, ways)) {
            held++;
            if (!oldest || *stamp_of(other, level) < *stamp_of(oldest, level)) {
                oldest = other;
            }
        }
    }
    if (held == (ways ? ways : entries)) {
        *stamp_of(oldest, level) = 0;
    }
    *stamp_of(page, level) = ++naive->stamps;
}

static uint32_t naive_active(const Naive *naive)
{
    uint32_t active = 0;

    for (uint32_t i = 0; i < naive->walks->len; i++) {
        NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

        active += walk->look < 0 && walk->due >= 0;
    }
    return active;
}

/* The tables that a walk of pages of @bytes reads, from the smallest: each
 * covers 512 entries. There are four levels. */
static NaiveTable naive_table(FabBusAddr addr, uint64_t bytes, unsigned up)
{
    uint64_t covers = bytes * 512;
    unsigned level = bytes == KIB4 ? 0 : bytes == MIB2 ? 1 : 2;

    for (unsigned i = 0; i < up; i++) {
        covers *= 512;
    }
    return (NaiveTable){level + up, covers, addr / covers * covers, 0};
}

static NaiveTable *naive_cached(const Naive *naive, const NaiveTable *wanted)
{
    for (uint32_t i = 0; i < naive->tables->len; i++) {
        NaiveTable *table = &g_array_index(naive->tables, NaiveTable, i);

        if (table->bytes == wanted->bytes && table->addr == wanted->addr) {
            return table;
        }
    }
    return NULL;
}

/* Walks from the smallest table that is cached. The root table never is. */
static uint64_t naive_reads(Naive *naive, FabBusAddr addr, uint64_t bytes)
{
    unsigned up = 0;

    for (;; up++) {
        NaiveTable wanted = naive_table(addr, bytes, up);
        NaiveTable *table;

        if (wanted.level == 3) {
            return up + 1;
        }
        table = naive_cached(naive, &wanted);
        if (table) {
            table->stamp = ++naive->stamps;
            return up + 1;
        }
    }
}

static void naive_keep(Naive *naive, FabBusAddr addr, uint64_t bytes)
{
    for (unsigned up = 0;; up++) {
        NaiveTable wanted = naive_table(addr, bytes, up);
        NaiveTable *table = naive_cached(naive, &wanted);
        uint32_t held = 0, oldest = 0;

        if (wanted.level == 3) {
            return;
        }
        if (table) {
            table->stamp = ++naive->stamps;
            continue;
        }
        wanted.stamp = ++naive->stamps;
        for (uint32_t i = 0; i < naive->tables->len; i++) {
            const NaiveTable *other =
                &g_array_index(naive->tables, NaiveTable, i);

            if (other->level == wanted.level &&
                (held++ == 0 ||
                 other->stamp <
                     g_array_index(naive->tables, NaiveTable, oldest).stamp)) {
                oldest = i;
            }
        }
        if (naive->params.walk_cache[wanted.level] == 0) {
            continue;
        }
        if (held == naive->params.walk_cache[wanted.level]) {
            g_array_remove_index(naive->tables, oldest);
        }
        g_array_append_val(naive->tables, wanted);
    }
}

static void naive_drop(const Naive *naive, FabBusAddr addr, uint64_t bytes)
{
    for (uint32_t i = naive->tables->len; i-- > 0;) {
        const NaiveTable *table = &g_array_index(naive->tables, NaiveTable, i);

        if (table->addr < addr + bytes && addr < table->addr + table->bytes) {
            g_array_remove_index(naive->tables, i);
        }
    }
}

static unsigned naive_place(const Naive *naive, const NaiveWalk *walk)
{
    unsigned at = 0;

    while (naive->walks->pdata[at] != walk) {
        at++;
    }
    return at;
}

/* Starts queued walks while walkers are free. */
static void naive_begin(Naive *naive, SimTime now)
{
    uint32_t active = naive_active(naive);

    for (uint32_t i = 0; i < naive->walks->len && active < naive->params.walks;
         i++) {
        NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

        if (walk->look < 0 && walk->due < 0) {
            active++;
            walk->due = now + naive->params.walk +
                        (SimTime)naive_reads(naive, walk->addr, walk->bytes) *
                            naive->params.walk_read;
            naive->begun++;
            for (uint32_t j = 0; j < walk->waiting->len; j++) {
                naive->wait +=
                    now -
                    naive->asked[g_array_index(walk->waiting, uint32_t, j)];
            }
        }
    }
}

/* Enters @page into the first levels of the accesses that wait for @walk. */
static void naive_fill_firsts(Naive *naive, NaivePage *page,
                              const NaiveWalk *walk)
{
    for (uint32_t j = 0; j < walk->waiting->len; j++) {
        naive_fill(naive, page,
                   naive->port[g_array_index(walk->waiting, uint32_t, j)]);
    }
}

static void naive_remove(Naive *naive, NaiveWalk *walk)
{
    g_array_unref(walk->waiting);
    g_ptr_array_remove(naive->walks, walk);
    g_free(walk);
}

/* The look-up of @walk in the second level is over. */
static void naive_look(Naive *naive, NaiveWalk *walk, const Access *accesses)
{
    NaivePage *page = naive_page(naive, walk->first);
    SimTime now = walk->look;

    walk->look = -1;
    if (!page || !page->stamp2) {
        for (uint32_t j = 0; j < walk->waiting->len; j++) {
            naive->asked[g_array_index(walk->waiting, uint32_t, j)] = now;
        }
        /* It is behind all others. */
        g_ptr_array_steal_index(naive->walks, naive_place(naive, walk));
        g_ptr_array_add(naive->walks, walk);
        naive_begin(naive, now);
        return;
    }
    page->stamp2 = ++naive->stamps;
    naive->hits2 += walk->waiting->len;
    naive_fill_firsts(naive, page, walk);
    for (uint32_t j = 0; j < walk->waiting->len; j++) {
        uint32_t at = g_array_index(walk->waiting, uint32_t, j);

        naive->done[at] = now;
        naive->phys[at] = accesses[at].addr - page->iova + page->phys;
    }
    naive_remove(naive, walk);
}

static void naive_end(Naive *naive, NaiveWalk *walk, const Access *accesses)
{
    NaivePage *page = naive_page(naive, walk->first);
    SimTime now = walk->due;

    if (page) {
        naive_fill_firsts(naive, page, walk);
        naive_fill(naive, page, RIG_PORTS);
        naive_keep(naive, page->iova, page->bytes);
    }
    for (uint32_t j = 0; j < walk->waiting->len; j++) {
        uint32_t at = g_array_index(walk->waiting, uint32_t, j);
        FabBusAddr addr = accesses[at].addr;

        page = naive_page(naive, addr);
        naive->done[at] = now;
        naive->fault[at] = !page;
        naive->phys[at] = page ? addr - page->iova + page->phys : 0;
        naive->faults += !page;
    }
    naive_remove(naive, walk);
    naive_begin(naive, now);
}

static SimTime naive_next(const NaiveWalk *walk)
{
    return walk->look >= 0 ? walk->look : walk->due;
}

/* Ends all look-ups and walks that are due by @time. */
static void naive_run(Naive *naive, SimTime time, const Access *accesses)
{
    for (;;) {
        NaiveWalk *first = NULL;

        for (uint32_t i = 0; i < naive->walks->len; i++) {
            NaiveWalk *walk = g_ptr_array_index(naive->walks, i);

            if (naive_next(walk) >= 0 &&
                (!first || naive_next(walk) < naive_next(first))) {
                first = walk;
            }
        }
        if (!first || naive_next(first) > time) {
            return;
        }
        if (first->look >= 0) {
            naive_look(naive, first, accesses);
        } else {
            naive_end(naive, first, accesses);
        }
    }
}

static void naive_ask(Naive *naive, uint32_t at, FabBusAddr addr, SimTime now)
{
    NaivePage *page = naive_page(naive, addr);
    uint64_t bytes = page ? page->bytes : KIB4;
    NaiveWalk *walk = NULL;

    naive->asked[at] = now;
    if (page && page->stamp[naive->port[at]]) {
        page->stamp[naive->port[at]] = ++naive->stamps;
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
        walk->look = naive->params.l2_entries ? now + naive->params.l2_hit : -1;
        walk->waiting = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_ptr_array_add(naive->walks, walk);
    }
    g_array_append_val(walk->waiting, at);
    naive_begin(naive, now);
}

/* Makes pages of all sizes, adjacent and separate, at random physical
 * addresses. */
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
        memset(page->stamp, 0, sizeof(page->stamp));
        page->stamp2 = 0;
        naive_drop(naive, page->iova, page->bytes);
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
        .tables = g_array_new(FALSE, FALSE, sizeof(NaiveTable)),
        .done = g_new0(SimTime, count),
        .phys = g_new0(FabBusAddr, count),
        .fault = g_new0(bool, count),
        .asked = g_new0(SimTime, count),
        .port = g_new0(unsigned, count),
    };
}

static void naive_done(Naive *naive)
{
    ck_assert_uint_eq(naive->walks->len, 0);
    g_ptr_array_unref(naive->walks);
    g_array_unref(naive->tables);
    g_free(naive->pages);
    g_free(naive->done);
    g_free(naive->phys);
    g_free(naive->fault);
    g_free(naive->asked);
    g_free(naive->port);
}

static void compare_counters(const Rig *rig, const Naive *naive)
{
    const FabIommuCounters *counters = fab_iommu_counters(rig->iommu);

    ck_assert_uint_eq(counters->hits, naive->hits);
    ck_assert_uint_eq(counters->misses, naive->misses);
    ck_assert_uint_eq(counters->walks, naive->begun);
    ck_assert_uint_eq(counters->faults, naive->faults);
    ck_assert_uint_eq(counters->l2_hits, naive->hits2);
    assert_time_eq(counters->wait_ps, naive->wait);
}

/* @gap_ps is the mean time between accesses. With a long gap one access is
 * under way at a time; with a short one hundreds wait. */
static void compare_random(const FabIommuParams *params, SimTime gap_ps,
                           uint32_t seed)
{
    static FabPort ports[RIG_PORTS] = {
        {.index = 0}, {.index = 1}, {.index = 2}};

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
        /* In both, walks that end at this time come before the access. */
        sim_engine_run_until(rig->engine, now);
        naive_run(&naive, now, rig->accesses);
        if (g_rand_int_range(rand, 0, 20) == 0) {
            random_change(&naive, rig, rand);
        }
        page = &naive.pages[g_rand_int_range(rand, 0, (int)naive.page_count)];
        addr = page->iova +
               (uint64_t)(g_rand_double(rand) * (double)page->bytes) / 64 * 64;
        naive.port[i] =
            params->per_port ? g_rand_int_range(rand, 0, RIG_PORTS) : 0;
        rig->ingress = &ports[naive.port[i]];
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
    FabIommuParams params = rig_usual;

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

/* Walks take different times, so they do not end in the order of their misses.
 */
START_TEST(walks_with_caches_match_naive_model)
{
    static const uint32_t caches[][3] = {
        {0, 0, 0}, {2, 1, 1}, {0, 3, 0}, {64, 64, 64}, {1, 0, 2}};
    static const SimTime gaps[] = {20000, 2000, 200};
    FabIommuParams params = rig_usual;

    params.iotlb_entries = 8;
    params.walk = 1001;
    params.walk_read = 1700;
    memcpy(params.walk_cache, caches[_i], sizeof(caches[_i]));
    for (uint32_t gap = 0; gap < G_N_ELEMENTS(gaps); gap++) {
        for (uint32_t walks = 1; walks <= 6; walks += 5) {
            params.walks = walks;
            compare_random(&params, gaps[gap], 10 * walks + gap);
        }
    }
}
END_TEST

/* Two levels, one first level for all ports and one for each. Look-ups and
 * walks take times that never end together. */
START_TEST(two_levels_match_naive_model)
{
    static const uint32_t levels[][4] = {
        /* entries and ways of the first level, and of the second */
        {4, 0, 24, 0},
        {8, 2, 32, 4},
        {2, 1, 6, 3},
        {16, 0, 4, 0}};
    static const SimTime gaps[] = {20000, 2000, 200};
    FabIommuParams params = rig_usual;

    params.iotlb_entries = levels[_i / 2][0];
    params.iotlb_ways = levels[_i / 2][1];
    params.l2_entries = levels[_i / 2][2];
    params.l2_ways = levels[_i / 2][3];
    params.per_port = _i % 2;
    params.hit = 500;
    params.l2_hit = 1303;
    params.walk = 7001;
    for (uint32_t gap = 0; gap < G_N_ELEMENTS(gaps); gap++) {
        params.walks = gap == 1 ? 1 : 6;
        compare_random(&params, gaps[gap], 100 + gap);
    }
}
END_TEST

START_TEST(entries_need_not_be_a_power_of_two)
{
    FabIommuParams params = rig_usual;

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

int main(void)
{
    Suite *suite = suite_create("fab_iommu_random");
    TCase *tcase = tcase_create("fab_iommu_random");

    tcase_add_loop_test(tcase, random_accesses_match_naive_model, 0, 4);
    tcase_add_loop_test(tcase, walks_with_caches_match_naive_model, 0, 5);
    tcase_add_loop_test(tcase, two_levels_match_naive_model, 0, 8);
    tcase_add_test(tcase, entries_need_not_be_a_power_of_two);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
