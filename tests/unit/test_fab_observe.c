/* SPDX-License-Identifier: MIT */
/*
 * Invariant: at any moment, the components report every TLP to an observer
 * exactly once, and no resource is used beyond its size.
 */
#include "fab_busy.h"

#include "fab_observe.h"
#include "../suite.h"

#define STEP  (731 * SIM_NS) /* not in step with any period of the model */
#define STEPS 200

static void count_tlp(void *data, const FabWaiter *waiter)
{
    uint64_t *count = data;

    ck_assert_uint_ge(waiter->bytes, 1);
    ck_assert_ptr_nonnull(waiter->component);
    if (waiter->place != FAB_PLACE_CPU) { /* there it is not a TLP yet */
        ++*count;
    }
}

/* Sets of resource kinds, one bit each: seen so far, seen fully in use, and
 * seen with somebody waiting. */
typedef struct Seen {
    uint32_t kinds, full, wanted;
} Seen;

static void check_resource(void *data, const FabResourceState *state)
{
    Seen *seen = data;

    ck_assert_uint_le(state->used, MAX(state->size, 1));
    seen->kinds |= 1u << state->kind;
    if (state->size && state->used == state->size) {
        seen->full |= 1u << state->kind;
    }
    if (state->is_wanted) {
        seen->wanted |= 1u << state->kind;
    }
}

START_TEST(every_tlp_is_told_of_once)
{
    g_autoptr(Busy) busy = busy_new(0);
    FabFabric *fabric = fixture_fabric(busy_fixture(busy));
    FabComponent *const *components;
    unsigned count;

    busy_start(busy);
    components = fab_fabric_components(fabric, &count);
    for (unsigned step = 1; step <= STEPS; step++) {
        uint64_t told = 0;

        fixture_run_until(busy_fixture(busy), step * STEP);
        for (unsigned i = 0; i < count; i++) {
            fab_observe_waiters(components[i], count_tlp, &told);
        }
        ck_assert_uint_gt(told, 0);
        ck_assert_uint_eq(told, fab_fabric_tlps_alive(fabric));
    }
    busy_stop(busy);
    fixture_run(busy_fixture(busy));
}
END_TEST

START_TEST(resources_are_used_up_to_their_size)
{
    const uint32_t walkers = 1u << FAB_RESOURCE_WALKERS;
    g_autoptr(Busy) busy = busy_new(0);
    FabFabric *fabric = fixture_fabric(busy_fixture(busy));
    FabComponent *const *components;
    unsigned count;
    Seen seen = {0};

    busy_start(busy);
    components = fab_fabric_components(fabric, &count);
    for (unsigned step = 1; step <= STEPS; step++) {
        fixture_run_until(busy_fixture(busy), step * STEP);
        for (unsigned i = 0; i < count; i++) {
            fab_observe_resources(components[i], check_resource, &seen);
        }
    }
    /* Every kind except those of ports, and of devices with ATS or a limit of
     * bytes in flight. */
    ck_assert_uint_eq(seen.kinds, (1u << FAB_RESOURCE_KINDS) - 1 -
                                      (1u << FAB_RESOURCE_TRANSLATIONS) -
                                      (1u << FAB_RESOURCE_FLIGHT) -
                                      (1u << FAB_RESOURCE_LINK) -
                                      (1u << FAB_RESOURCE_BUFFER));
    ck_assert_uint_ne(seen.full & walkers, 0);
    ck_assert_uint_ne(seen.wanted, 0);
    busy_stop(busy);
    fixture_run(busy_fixture(busy));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_observe");
    TCase *tcase = tcase_create("fabric");

    tcase_add_test(tcase, every_tlp_is_told_of_once);
    tcase_add_test(tcase, resources_are_used_up_to_their_size);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
