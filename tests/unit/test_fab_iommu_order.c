/* SPDX-License-Identifier: MIT */
/*
 * Invariant: in order, requests leave an IOMMU as they came, and a miss without
 * a walker stops those behind it, at the times of a formula. A walker stays
 * busy with the lines of a read.
 */
#include <stdlib.h>

#include "iommu_rig.h"
#include "../suite.h"

/* Each miss is followed by hits, all at once. In order, the i-th miss finds a
 * walker at floor(i / walkers) walks, and the hits behind it wait until its
 * walk has ended. Otherwise no hit waits. */
START_TEST(requests_keep_their_order)
{
    enum {
        MISSES = 50,
        HITS = 3,
        COUNT = MISSES * (1 + HITS)
    };

    for (uint32_t i = 0; i < 2 * 7; i++) {
        FabIommuParams params = rig_usual;
        SimTime wait = 0, begin;
        Rig *rig;

        params.walks = 1 + i / 2;
        params.in_order = i % 2;
        rig = rig_new(&params, COUNT);
        rig_map(rig, 0, GIB1, (MISSES + 1) * KIB4, KIB4);
        ck_assert(!rig_touch(rig, 0));
        begin = sim_engine_now(rig->engine);
        for (uint32_t n = 0; n < COUNT; n++) {
            rig_ask(rig, n, n % (1 + HITS) ? 64 : (1 + n / (1 + HITS)) * KIB4);
        }
        sim_engine_run(rig->engine);
        for (uint32_t n = 0; n < COUNT; n++) {
            SimTime round = n / (1 + HITS) / params.walks * params.walk;
            bool hits = n % (1 + HITS);

            assert_time_eq(rig->accesses[n].done - begin,
                           hits && !params.in_order ? 0 : round + params.walk);
            ck_assert(!params.in_order || rig->accesses[n].order == 1 + n);
            ck_assert_uint_eq(rig->accesses[n].phys,
                              GIB1 + rig->accesses[n].addr);
            wait += hits && !params.in_order ? 0 : round;
        }
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->hits, MISSES * HITS);
        ck_assert_uint_eq(fab_iommu_counters(rig->iommu)->walks, 1 + MISSES);
        assert_time_eq(fab_iommu_counters(rig->iommu)->wait_ps, wait);
        ck_assert_uint_eq(fab_iommu_queued(rig->iommu), 0);
        rig_free(rig);
    }
}
END_TEST

/* A walker that walked for a read stays busy for each 64 B of it, so the n-th
 * walk ends after floor(n / walkers) (walk + replay) and a walk. After a write
 * it is free at once. */
START_TEST(replay_keeps_a_walker_busy)
{
    static const uint32_t sizes[] = {0, 4, 64, 65, 256, 512};
    enum {
        PAGES = 100
    };

    for (uint32_t i = 0; i < 2 * G_N_ELEMENTS(sizes); i++) {
        uint32_t bytes = sizes[i / 2];
        FabIommuParams params = rig_usual;
        SimTime turn;
        Rig *rig;

        params.in_order = i % 2;
        params.replay = 20 * SIM_NS;
        turn = params.walk + (bytes + 63) / 64 * params.replay;
        rig = rig_new(&params, PAGES);
        rig->read_bytes = bytes;
        rig_map(rig, 0, GIB1, PAGES * KIB4, KIB4);
        for (uint32_t n = 0; n < PAGES; n++) {
            rig_ask(rig, n, n * KIB4);
        }
        sim_engine_run(rig->engine);
        for (uint32_t n = 0; n < PAGES; n++) {
            assert_time_eq(rig->accesses[n].done,
                           n / params.walks * turn + params.walk);
        }
        ck_assert_uint_eq(fab_iommu_walking(rig->iommu), 0);
        rig_free(rig);
    }
}
END_TEST

/* Accesses a page at random, mapped or not, when one has ended. */
static void ask_random(Rig *rig, Access *access)
{
    while (rig->next < rig->count) {
        uint32_t at = rig->next++;
        uint32_t page = at * 2654435761u >> 16;

        rig->read_bytes = page % 3 * 100;
        if (rig_ask(rig, at, page % rig->pages * KIB4) ==
            FAB_TRANSLATION_PENDING) {
            return;
        }
    }
}

/* All parameters together: every access ends once, in order, with the address
 * that the table has. Every fourth page is not mapped. */
START_TEST(all_end_in_order)
{
    enum {
        PAGES = 400,
        ACCESSES = 20000,
        OUTSTANDING = 50
    };

    for (uint32_t i = 0; i < 16; i++) {
        FabIommuParams params = rig_usual;
        const FabIommuCounters *counters;
        Rig *rig;

        params.in_order = true;
        params.walks = 1 + i % 5;
        params.replay = i % 2 * 30 * SIM_NS;
        params.hit = i / 2 % 2 * 10 * SIM_NS;
        params.l2_entries = i / 4 % 2 * 128;
        params.l2_hit = 20 * SIM_NS;
        params.walk_read = i / 8 % 2 * 5 * SIM_NS;
        params.walk_cache[0] = 4;
        rig = rig_new(&params, ACCESSES);
        rig->pages = PAGES;
        rig->more = ask_random;
        for (uint32_t n = 0; n < PAGES; n++) {
            if (n % 4) {
                rig_map(rig, n * KIB4, GIB1 + n * KIB4, KIB4, KIB4);
            }
        }
        for (uint32_t n = 0; n < OUTSTANDING; n++) {
            ask_random(rig, NULL);
        }
        sim_engine_run(rig->engine);
        ck_assert_uint_eq(rig->ended, ACCESSES);
        for (uint32_t n = 0; n < ACCESSES; n++) {
            const Access *access = &rig->accesses[n];
            bool is_mapped = access->addr / KIB4 % 4;

            ck_assert(access->done >= access->time);
            ck_assert_uint_eq(access->order, n);
            ck_assert(access->fault == !is_mapped);
            ck_assert(!is_mapped || access->phys == GIB1 + access->addr);
        }
        counters = fab_iommu_counters(rig->iommu);
        ck_assert_uint_eq(counters->hits + counters->misses, ACCESSES);
        ck_assert_uint_gt(counters->hits, 0);
        ck_assert_uint_gt(counters->wait_ps, 0);
        ck_assert_uint_eq(fab_iommu_walking(rig->iommu), 0);
        ck_assert_uint_eq(fab_iommu_queued(rig->iommu), 0);
        rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_iommu_order");
    TCase *tcase = tcase_create("fab_iommu_order");

    tcase_add_test(tcase, requests_keep_their_order);
    tcase_add_test(tcase, replay_keeps_a_walker_busy);
    tcase_add_test(tcase, all_end_in_order);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
