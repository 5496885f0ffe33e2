/* SPDX-License-Identifier: MIT */
/*
 * Invariant: in a steady state the model allocates no memory. This holds for
 * reads and writes to memory and to other devices, forwarding between root
 * ports, page walks, and requests through NTBs.
 */
#include "alloc_count.h"
#include "fab_busy.h"
#include "../suite.h"

START_TEST(steady_state_allocates_nothing)
{
    g_autoptr(Busy) busy = busy_new(0);
    uint64_t before, records, hops[2], counters[6];

    fab_fabric_set_trace(fixture_fabric(busy_fixture(busy)), 0, NULL, NULL);
    busy_start(busy);
    fixture_run_until(busy_fixture(busy), 1000 * SIM_US);
    busy_counters(busy, &counters[0], &counters[1], &counters[2]);
    hops[0] = fab_fabric_tlp_hops(fixture_fabric(busy_fixture(busy)));
    before = alloc_count();
    fixture_run_until(busy_fixture(busy), 2000 * SIM_US);
    records = alloc_count() - before;
    ck_assert_uint_eq(records, 0);
    busy_counters(busy, &counters[3], &counters[4], &counters[5]);
    hops[1] = fab_fabric_tlp_hops(fixture_fabric(busy_fixture(busy)));
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_gt(counters[3 + i] - counters[i], 4000);
    }
    ck_assert_uint_gt(hops[1] - hops[0], 50000);
    /* The counter itself works. */
    before = alloc_count();
    g_free(g_malloc(17));
    ck_assert_uint_gt(alloc_count(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_alloc");
    TCase *tcase = tcase_create("alloc");

    tcase_add_test(tcase, steady_state_allocates_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
