/* SPDX-License-Identifier: MIT */
/*
 * Invariant: for series of accesses, maps and unmaps whose results and times
 * follow from a formula or a definition, the IOMMU gives these results at these
 * times. It refuses invalid requests, and these change nothing.
 */
#include <stdlib.h>

#include "alloc_count.h"
#include "iommu_rig.h"
#include "../suite.h"

START_TEST(distinct_misses_take_ceil_of_pages_by_walkers)
{
    enum {
        PAGES = 1000
    };

    for (uint32_t walks = 1; walks <= 1024; walks = walks * 3 + 1) {
        FabIommuParams params = rig_usual;
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
    FabIommuParams params = rig_usual;
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
    /* The waits for a walker: 280 ns for the first access of page 1, 180 ns for
     * the second. */
    assert_time_eq(fab_iommu_counters(rig->iommu)->wait_ps, 460 * SIM_NS);
    rig_free(rig);
}
END_TEST

/* Accesses the pages in turn, again and again. When a translation ends, it
 * requests the next one. */
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
    Rig *rig = rig_new(&rig_usual, ACCESSES);

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
    assert_time_eq(sim_engine_now(rig->engine), ACCESSES / 6 * rig_usual.walk);
    rig_free(rig);
}
END_TEST

START_TEST(least_recently_used_keeps_what_fits_and_nothing_more)
{
    static const uint64_t sizes[] = {KIB4, MIB2, GIB1};
    static const uint32_t ways[] = {0, 1, 2, 4, 64};
    FabIommuParams params = rig_usual;

    params.iotlb_ways = ways[_i];
    for (uint32_t s = 0; s < G_N_ELEMENTS(sizes); s++) {
        Rig *rig = rig_new(&params, 1);

        rig_map(rig, 0, sizes[s], 129 * sizes[s], sizes[s]);
        for (uint32_t i = 0; i < 10 * 64; i++) {
            FabBusAddr addr = i % 64 * sizes[s] + i / 64 * 64;

            ck_assert_int_eq(rig_touch(rig, addr), i >= 64);
            ck_assert_uint_eq(rig->accesses[0].phys, addr + sizes[s]);
        }
        /* Twice as many pages, accessed in turn, evict each other, whatever the
         * number of ways. */
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
        FabIommuParams params = rig_usual;
        Rig *rig = rig_new(&params, PAGES * PER_PAGE);
        /* Accesses during the walk of their page are misses. An access at the
         * time at which the walk ends is a hit. */
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
    FabIommuParams params = rig_usual;
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
    /* An access that has hit keeps its translation. */
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
    Rig *rig = rig_new(&rig_usual, 2);

    rig_map(rig, KIB4, 0, KIB4, KIB4);
    for (uint32_t i = 0; i < 2; i++) {
        SimTime start = sim_engine_now(rig->engine);

        ck_assert_int_eq(rig_ask(rig, i, 2 * KIB4), FAB_TRANSLATION_PENDING);
        sim_engine_run(rig->engine);
        ck_assert(rig->accesses[i].fault);
        assert_time_eq(rig->accesses[i].done, start + rig_usual.walk);
    }
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, 2);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->faults, 2);
    ck_assert_int_eq(rig_ask(rig, 0, 1), FAB_TRANSLATION_PENDING);
    ck_assert_int_eq(rig_ask(rig, 1, UINT64_MAX), FAB_TRANSLATION_FAULT);
    ck_assert_int_eq(rig_ask(rig, 1, 1ULL << 56), FAB_TRANSLATION_FAULT);
    ck_assert_int_eq(rig_ask(rig, 1, (1ULL << 56) + KIB4),
                     FAB_TRANSLATION_FAULT);
    sim_engine_run(rig->engine);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->faults, 6);
    ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits, 0);
    rig_free(rig);
}
END_TEST

START_TEST(unmap_during_a_walk_faults_and_fills_nothing)
{
    Rig *rig = rig_new(&rig_usual, 4);

    rig_map(rig, 0, MIB2, MIB2, MIB2);
    rig_ask(rig, 0, 0);
    rig_ask(rig, 1, KIB4);
    ck_assert_uint_eq(fab_iommu_unmap(rig->iommu, 0, MIB2), MIB2);
    sim_engine_run(rig->engine);
    ck_assert(rig->accesses[0].fault && rig->accesses[1].fault);
    ck_assert_int_eq(rig_ask(rig, 2, 0), FAB_TRANSLATION_PENDING);

    /* A walk finds a page that was mapped while the walk was under way, even if
     * the page is larger than assumed at the start of the walk. */
    rig_map(rig, 0, 2 * MIB2, MIB2, MIB2);
    rig_ask(rig, 3, 64);
    sim_engine_run(rig->engine);
    ck_assert(!rig->accesses[2].fault && !rig->accesses[3].fault);
    ck_assert_uint_eq(rig->accesses[2].phys, 2 * MIB2);
    ck_assert_uint_eq(rig->accesses[3].phys, 2 * MIB2 + 64);
    ck_assert(rig_touch(rig, MIB2 - 64));

    /* Small pages replace a large page while accesses wait for its walk. */
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

/* The naive model of the mapping is one flag per page of 4 KiB. */
START_TEST(unmap_takes_whole_pages_only)
{
    enum {
        PAGES = 64,
        SMALL = 512
    };
    Rig *rig = rig_new(&rig_usual, 1);
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

/* Unmapping frees the IOTLB entry, which is the next to be used. */
START_TEST(unmapped_entry_is_used_first)
{
    FabIommuParams params = rig_usual;
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

/* The callback for a result may itself unmap, map and translate. */
static void change_and_ask(Rig *rig, Access *access)
{
    if (rig->next < rig->count) {
        uint32_t at = rig->next++;
        FabBusAddr page = access->addr & ~(KIB4 - 1);

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
    Rig *rig = rig_new(&rig_usual, 5 * CHAINS);

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
                   (5 * CHAINS + 5) / 6 * rig_usual.walk);
    for (uint32_t i = 0; i < 5 * CHAINS; i++) {
        uint64_t page = rig->accesses[i].addr;

        ck_assert_uint_eq(rig->accesses[i].phys,
                          page >= MIB2 ? page - MIB2 : page);
    }
    rig_free(rig);
}
END_TEST

/* Mapping and unmapping work before realize, and a walk may take no time. */
START_TEST(mapping_before_realize_counts)
{
    FabIommuParams params = rig_usual;
    Rig rig = {.engine = sim_engine_new(), .accesses = g_new0(Access, 1)};

    params.walk = 0;
    rig.iommu = fab_iommu_new(rig.engine, &params);
    rig_map(&rig, 0, GIB1, 2 * KIB4, KIB4);
    ck_assert_uint_eq(fab_iommu_unmap(rig.iommu, KIB4, KIB4), KIB4);
    fab_iommu_set_done(rig.iommu, rig_done, &rig);
    ck_assert(fab_iommu_realize(rig.iommu, RANK, NULL));
    ck_assert_int_eq(rig_ask(&rig, 0, 0x123), FAB_TRANSLATION_PENDING);
    sim_engine_run(rig.engine);
    ck_assert_uint_eq(rig.accesses[0].phys, GIB1 + 0x123);
    assert_time_eq(rig.accesses[0].done, 0);
    rig_touch(&rig, KIB4);
    ck_assert(rig.accesses[0].fault);

    /* Frees the IOMMU with a walk pending: the event of the walk must not run.
     */
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
    {0xfffffffffff000, 0, 0x2000, 0x1000,
     "cannot map 0x2000 bytes at device address 0xfffffffffff000: they end "
     "beyond 56 bits"},
    {0xfffffffffffff000, 0, 0x2000, 0x1000,
     "cannot map 0x2000 bytes at device address 0xfffffffffffff000: they end "
     "beyond 56 bits"},
    {0, 0xffffffffff000, 0x2000, 0x1000,
     "cannot map 0x2000 bytes to physical address 0xffffffffff000: they end "
     "beyond 52 bits"},
};

START_TEST(bad_maps_are_refused_and_change_nothing)
{
    const BadMap *bad = &bad_maps[_i];
    Rig *rig = rig_new(&rig_usual, 1);
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
     "an IOTLB hit of 0ps and a page walk of -1ps: must be 0 to 1 s, and a "
     "walk no shorter than a hit"},
    {{.iotlb_entries = 64, .walks = 1, .hit = 5, .page_bytes = KIB4},
     "an IOTLB hit of 5ps and a page walk of 0ps: must be 0 to 1 s, and a "
     "walk no shorter than a hit"},
    {{.iotlb_entries = 64, .walks = 1, .replay = -1, .page_bytes = KIB4},
     "a replay of -1ps: must be 0 to 1 s"},
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

/* A walk reads four tables for a page of 4 KiB, three for 2 MiB, two for 1 GiB.
 * With paging-structure caches, a neighbour costs the last table alone, one in
 * the next table one more, and so on; after an unmapping its tables are gone.
 */
START_TEST(walks_read_the_tables_that_no_cache_has)
{
    static const struct {
        FabBusAddr addr;
        unsigned reads;
    } steps[] = {
        {0x10000000000, 4},        {0x10000001000, 1},
        {0x10000000000 + MIB2, 2}, {0x10000000000 + GIB1, 3},
        {0x18000000000, 4},        {0x20000000000, 3},
        {0x20000000000 + MIB2, 1}, {0x20000000000 + GIB1, 2},
        {0x30000000000, 2},        {0x30000000000 + GIB1, 1},
    };
    FabIommuParams params = rig_usual;
    Rig *rig;

    params.walk = 30 * SIM_NS;
    params.walk_read = 100 * SIM_NS;
    for (unsigned i = 0; i < 3; i++) {
        params.walk_cache[i] = 16;
    }
    rig = rig_new(&params, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        uint64_t page = i < 5 ? KIB4 : i < 8 ? MIB2 : GIB1;

        rig_map(rig, steps[i].addr, (FabBusAddr)(i + 1) << 42, page, page);
        ck_assert(!rig_touch(rig, steps[i].addr));
        assert_time_eq(rig->accesses[0].done - rig->accesses[0].time,
                       (30 + 100 * steps[i].reads) * SIM_NS);
    }
    fab_iommu_unmap(rig->iommu, steps[1].addr, KIB4);
    rig_map(rig, steps[1].addr, 0, KIB4, KIB4);
    ck_assert(!rig_touch(rig, steps[1].addr));
    assert_time_eq(rig->accesses[0].done - rig->accesses[0].time, 430 * SIM_NS);
    rig_free(rig);
}
END_TEST

/* Makes no assertions, because ck_assert() allocates memory. */
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
    FabIommuParams params = rig_usual;
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

    /* The counter itself works. */
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
    tcase_add_test(tcase, walks_read_the_tables_that_no_cache_has);
    tcase_add_test(tcase, steady_state_allocates_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
