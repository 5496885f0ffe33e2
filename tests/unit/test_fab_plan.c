/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the arithmetic of window entries agrees with the worked example of
 * the SmartIO manual and with examples worked out by hand. A plan that does not
 * fit names the first term that is too large, and how much is missing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_fabric.h"
#include "fab_plan.h"
#include "../suite.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Three nodes with two GPUs each. One node borrows the GPUs of another node,
 * and all four GPUs reach each other. */
static const FabPlanTarget manual_gpus = {
    .bar_bytes = {64 * MIB, 32 * GIB, 32 * MIB},
    .count = 2,
};
static const FabPlanWindow two_automatic[2];

static FabPlanParams manual_params(void)
{
    return (FabPlanParams){
        .window_bytes = 128 * GIB,
        .entries = 128,
        .reserved = 12,
        .nodes = 3,
        .borrowers = 2,
        .targets = &manual_gpus,
        .target_count = 1,
        .windows = two_automatic,
        .window_count = 2,
    };
}

static FabPlan compute(const FabPlanParams *params, uint64_t *windows)
{
    g_autoptr(GError) error = NULL;
    FabPlan plan;

    ck_assert_msg(fab_plan_compute(params, &plan, windows, &error), "%s",
                  error ? error->message : "");
    return plan;
}

static void check_sum(const FabPlanParams *params, const FabPlan *plan)
{
    ck_assert_uint_eq(plan->reserved_bytes + plan->msi_bytes +
                          plan->bars_bytes + plan->windows_bytes +
                          plan->left_bytes,
                      params->window_bytes);
}

START_TEST(manual_example)
{
    FabPlanParams params = manual_params();
    uint64_t windows[2];
    FabPlan plan = compute(&params, windows);

    ck_assert_uint_eq(plan.entry_bytes, 1 * GIB);
    ck_assert_uint_eq(plan.reserved_bytes, 2 * 12 * GIB);
    ck_assert_uint_eq(plan.ondemand_bytes, 104 * GIB);
    ck_assert_uint_eq(plan.msi_bytes, 2 * GIB);
    ck_assert_uint_eq(plan.bars_bytes, 68 * GIB);
    ck_assert_uint_eq(plan.free_bytes, 34 * GIB);
    ck_assert_uint_eq(windows[0], 17 * GIB);
    ck_assert_uint_eq(windows[1], 17 * GIB);
    ck_assert_uint_eq(plan.left_bytes, 0);
    ck_assert_int_eq(plan.broken, FAB_PLAN_FITS);
    check_sum(&params, &plan);
}
END_TEST

/* With one borrower 35 entries are free. A window consists of whole entries, so
 * the first gets 17 and the second 18. */
START_TEST(odd_share_goes_to_the_last)
{
    FabPlanParams params = manual_params();
    uint64_t windows[2];
    FabPlan plan;

    params.borrowers = 1;
    plan = compute(&params, windows);
    ck_assert_uint_eq(plan.free_bytes, 35 * GIB);
    ck_assert_uint_eq(windows[0], 17 * GIB);
    ck_assert_uint_eq(windows[1], 18 * GIB);
    check_sum(&params, &plan);
}
END_TEST

/* 32 GiB are 128 entries of 256 MiB. With 2 nodes 116 of them are on demand,
 * and 115 are left after the MSI. A GPU of weight 4 gets 92 entries, and a
 * drive of weight 1 gets 23. If the GPU's borrower has 10 GiB of RAM, the GPU
 * takes only 40 entries and the drive gets 75. */
START_TEST(shares_by_weight_and_ram)
{
    FabPlanWindow windows[] = {{.weight = 4}, {.weight = 1}};
    FabPlanParams params = {
        .window_bytes = 32 * GIB,
        .entries = 128,
        .reserved = 12,
        .nodes = 2,
        .borrowers = 1,
        .windows = windows,
        .window_count = 2,
    };
    uint64_t sizes[2];
    FabPlan plan = compute(&params, sizes);

    ck_assert_uint_eq(plan.free_bytes, 115 * 256 * MIB);
    ck_assert_uint_eq(sizes[0], 92 * 256 * MIB);
    ck_assert_uint_eq(sizes[1], 23 * 256 * MIB);
    windows[0].ram_bytes = 10 * GIB;
    plan = compute(&params, sizes);
    ck_assert_uint_eq(sizes[0], 40 * 256 * MIB);
    ck_assert_uint_eq(sizes[1], 75 * 256 * MIB);
    check_sum(&params, &plan);
}
END_TEST

/* Sizes given by hand are rounded up to whole entries. The automatic windows
 * share the rest. */
START_TEST(by_hand)
{
    FabPlanWindow windows[] = {{0}, {.bytes = 4 * GIB + 1}, {.bytes = 1}};
    FabPlanParams params = manual_params();
    uint64_t sizes[3];
    FabPlan plan;

    params.windows = windows;
    params.window_count = 3;
    plan = compute(&params, sizes);
    ck_assert_uint_eq(sizes[1], 5 * GIB);
    ck_assert_uint_eq(sizes[2], 1 * GIB);
    ck_assert_uint_eq(sizes[0], 28 * GIB);
    check_sum(&params, &plan);
}
END_TEST

/* A borrower with its IOMMU off needs a window that covers its RAM. Its devices
 * share this window. A second borrower needs its own. */
START_TEST(ram_of_each_borrower)
{
    FabPlanWindow windows[] = {
        {.covers_ram = true, .ram_bytes = 16 * GIB, .borrower = 1},
        {.covers_ram = true, .ram_bytes = 16 * GIB, .borrower = 1},
        {.covers_ram = true, .ram_bytes = 24 * GIB, .borrower = 2},
    };
    FabPlanParams params = manual_params();
    uint64_t sizes[3];
    FabPlan plan;

    params.windows = windows;
    params.window_count = 2;
    plan = compute(&params, sizes);
    ck_assert_uint_eq(plan.windows_bytes, 16 * GIB);
    ck_assert_uint_eq(sizes[0], 16 * GIB);
    ck_assert_uint_eq(sizes[1], 0);
    ck_assert_int_eq(plan.broken, FAB_PLAN_FITS);
    params.window_count = 3;
    plan = compute(&params, sizes);
    ck_assert_uint_eq(sizes[2], 24 * GIB);
    ck_assert_int_eq(plan.broken, FAB_PLAN_WINDOWS);
    ck_assert_uint_eq(plan.short_bytes, (16 + 24 - 34) * GIB);
}
END_TEST

/* Each case makes one term larger than the terms before it leave room for. */
START_TEST(first_term_that_breaks)
{
    static const FabPlanTarget many = {.bar_bytes = {GIB}, .count = 103};
    static const FabPlanWindow large = {.bytes = 36 * GIB};
    static const FabPlanWindow three[3];
    static const FabPlanTarget all_but_two = {.bar_bytes = {GIB}, .count = 100};
    FabPlanParams params[] = {manual_params(), manual_params(), manual_params(),
                              manual_params(), manual_params()};
    static const struct {
        FabPlanTerm term;
        uint64_t short_gib;
        const char *name;
    } expected[] = {
        {FAB_PLAN_RESERVED, 4, "reserved"},
        {FAB_PLAN_MSI, 1, "prefetch_msi"},
        {FAB_PLAN_BARS, 1, "prefetch_BARs"},
        {FAB_PLAN_WINDOWS, 2, "DMA windows"},
        {FAB_PLAN_WINDOWS, 1, "DMA windows"},
    };

    params[0].nodes = 12; /* 11 * 12 = 132 */
    params[1].borrowers = 105;
    params[2].targets = &many; /* 103 entries, and 102 are left */
    params[3].windows = &large;
    params[3].window_count = 1;
    params[4].targets = &all_but_two; /* 2 entries left for 3 windows */
    params[4].windows = three;
    params[4].window_count = 3;
    for (unsigned i = 0; i < G_N_ELEMENTS(params); i++) {
        FabPlan plan = compute(&params[i], NULL);

        ck_assert_msg(plan.broken == expected[i].term, "case %u: %s", i,
                      fab_plan_term_name(plan.broken));
        ck_assert_uint_eq(plan.short_bytes, expected[i].short_gib * GIB);
        ck_assert_str_eq(fab_plan_term_name(plan.broken), expected[i].name);
    }
}
END_TEST

/* With every term at its maximum no sum overflows, and the plan does not fit.
 */
START_TEST(no_overflow)
{
    static const FabPlanTarget huge = {
        .bar_bytes = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                      UINT64_MAX, UINT64_MAX},
        .count = UINT32_MAX,
    };
    static const FabPlanWindow windows[] = {
        {.bytes = UINT64_MAX},
        {.covers_ram = true, .ram_bytes = UINT64_MAX},
        {.weight = 65536},
    };
    FabPlanParams params = {
        .window_bytes = UINT64_C(1) << 63,
        .entries = UINT32_C(1) << 31,
        .reserved = UINT32_MAX,
        .nodes = UINT32_MAX,
        .borrowers = UINT32_MAX,
        .targets = &huge,
        .target_count = 1,
        .windows = windows,
        .window_count = 3,
    };

    ck_assert_int_eq(compute(&params, NULL).broken, FAB_PLAN_RESERVED);
    params.nodes = 1;
    ck_assert_int_eq(compute(&params, NULL).broken, FAB_PLAN_MSI);
    params.borrowers = 0;
    ck_assert_int_eq(compute(&params, NULL).broken, FAB_PLAN_BARS);
    params.target_count = 0;
    ck_assert_int_eq(compute(&params, NULL).broken, FAB_PLAN_WINDOWS);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    static const FabPlanWindow no_ram = {.covers_ram = true};
    static const FabPlanWindow heavy = {.weight = 65537};
    FabPlanParams params[] = {manual_params(), manual_params(),
                              manual_params(), manual_params(),
                              manual_params(), manual_params()};
    FabPlan plan = {.entry_bytes = 42};

    params[0].window_bytes = 100 * GIB;
    params[1].entries = 0;
    params[2].entries = 100;
    params[3].nodes = 0;
    params[4].windows = &no_ram;
    params[4].window_count = 1;
    params[5].windows = &heavy;
    params[5].window_count = 1;
    for (unsigned i = 0; i < G_N_ELEMENTS(params); i++) {
        g_autoptr(GError) error = NULL;

        ck_assert_msg(!fab_plan_compute(&params[i], &plan, NULL, &error),
                      "case %u", i);
        ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONFIG));
        ck_assert_uint_eq(plan.entry_bytes, 42);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_plan");
    TCase *tc = tcase_create("plan");

    tcase_add_test(tc, manual_example);
    tcase_add_test(tc, odd_share_goes_to_the_last);
    tcase_add_test(tc, shares_by_weight_and_ram);
    tcase_add_test(tc, by_hand);
    tcase_add_test(tc, ram_of_each_borrower);
    tcase_add_test(tc, first_term_that_breaks);
    tcase_add_test(tc, no_overflow);
    tcase_add_test(tc, nonsense_is_refused);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
