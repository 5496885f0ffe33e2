/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a fabric alone determines its TLPs, their order, and their times
 * to the picosecond. The order in which it was built, earlier runs, and other
 * fabrics running in parallel change nothing. After the last operation no TLP
 * is left and all credits are returned.
 */
#include "fab_busy.h"
#include "../suite.h"

#define RUN (160 * SIM_US)

static uint64_t hash_of(uint64_t shuffle)
{
    g_autoptr(Busy) busy = busy_new(shuffle);

    busy_start(busy);
    fixture_run_until(busy_fixture(busy), RUN);
    ck_assert_uint_gt(busy_records(busy), 10000);
    return busy_hash(busy);
}

/* The busy fabric exercises IOMMU, forwarding and NTBs, and then drains. */
START_TEST(everything_is_busy_and_drains)
{
    g_autoptr(Busy) busy = busy_new(0);
    uint64_t walks, pieces, translated;

    busy_start(busy);
    fixture_run_until(busy_fixture(busy), RUN);
    busy_counters(busy, &walks, &pieces, &translated);
    ck_assert_uint_gt(walks, 1000);
    ck_assert_uint_gt(pieces, 1000);
    ck_assert_uint_gt(translated, 1000);
    ck_assert_uint_eq(
        fab_fabric_unsupported(fixture_fabric(busy_fixture(busy))), 0);
    busy_stop(busy);
    fixture_run(busy_fixture(busy));
    fixture_assert_drained(busy_fixture(busy));
}
END_TEST

START_TEST(two_runs_are_equal)
{
    ck_assert_uint_eq(hash_of(0), hash_of(0));
}
END_TEST

START_TEST(order_of_creation_does_not_matter)
{
    ck_assert_uint_eq(hash_of(0), hash_of(_i));
}
END_TEST

static void *hash_in_thread(void *data)
{
    uint64_t *hash = data;

    *hash = hash_of(*hash);
    return NULL;
}

START_TEST(threads_do_not_meet)
{
    uint64_t hashes[2] = {0, 3}, alone = hash_of(0);
    GThread *thread[2];

    for (unsigned i = 0; i < 2; i++) {
        thread[i] = g_thread_new("fabric", hash_in_thread, &hashes[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        g_thread_join(thread[i]);
        ck_assert_uint_eq(hashes[i], alone);
    }
}
END_TEST

/* Two fabrics run in one thread, in alternating steps of 1 us. */
START_TEST(fabrics_do_not_meet)
{
    g_autoptr(Busy) a = busy_new(0);
    g_autoptr(Busy) b = busy_new(5);

    busy_start(a);
    busy_start(b);
    for (SimTime time = 0; time <= RUN; time += SIM_US) {
        fixture_run_until(busy_fixture(a), time);
        fixture_run_until(busy_fixture(b), time);
    }
    ck_assert_uint_eq(busy_hash(a), busy_hash(b));
    ck_assert_uint_eq(busy_hash(a), hash_of(0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_determinism");
    TCase *tcase = tcase_create("determinism");

    tcase_add_test(tcase, everything_is_busy_and_drains);
    tcase_add_test(tcase, two_runs_are_equal);
    tcase_add_loop_test(tcase, order_of_creation_does_not_matter, 1, 9);
    tcase_add_test(tcase, threads_do_not_meet);
    tcase_add_test(tcase, fabrics_do_not_meet);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
