/* SPDX-License-Identifier: MIT */
/*
 * The automatic size of a DMA window is the fair share of what is free, rounded
 * down, and at most the borrower's RAM.
 */
#include <check.h>
#include <glib.h>

#include "../suite.h"
#include "dl_window.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* The worked example of the SmartIO manual: 34 of 128 entries are free, and two
 * devices get 17 each. */
START_TEST(manual_example)
{
    ck_assert_uint_eq(dlend_window_share(34, 1, 2, 0), 17);
    ck_assert_uint_eq(dlend_window_share(17, 1, 1, 0), 17);
}
END_TEST

/* A drive beside an accelerator that nobody has borrowed gets a fifth. */
START_TEST(weights)
{
    ck_assert_uint_eq(dlend_window_share(5 * GIB, DLEND_WEIGHT, 5, 0), GIB);
    ck_assert_uint_eq(
        dlend_window_share(5 * GIB, DLEND_WEIGHT_ACCELERATOR, 5, 0), 4 * GIB);
    ck_assert_uint_eq(dlend_window_weight(0x010802), DLEND_WEIGHT);
    ck_assert_uint_eq(dlend_window_weight(0x020000), DLEND_WEIGHT);
    ck_assert_uint_eq(dlend_window_weight(0x030200), DLEND_WEIGHT_ACCELERATOR);
    ck_assert_uint_eq(dlend_window_weight(0x120000), DLEND_WEIGHT_ACCELERATOR);
    /* The base class alone decides. */
    ck_assert_uint_eq(dlend_window_weight(0x0c0312), DLEND_WEIGHT);
}
END_TEST

START_TEST(never_more_than_ram)
{
    ck_assert_uint_eq(dlend_window_share(GIB, 1, 1, 256 * MIB), 256 * MIB);
    ck_assert_uint_eq(dlend_window_share(GIB, 1, 8, 256 * MIB), 128 * MIB);
    ck_assert_uint_eq(dlend_window_share(0, 1, 1, 256 * MIB), 0);
}
END_TEST

/* Random values beside a product of 128 bits. Devices that are borrowed in turn
 * never get more than there is. */
START_TEST(equals_wide_product)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (unsigned i = 0; i < 100000; i++) {
        uint64_t free_bytes =
            ((uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
            g_rand_int_range(rand, 0, 64);
        uint32_t weight = g_rand_int_range(rand, 1, DLEND_WEIGHT_MAX + 1);
        uint64_t total = weight + ((uint64_t)g_rand_int(rand) << 8 >>
                                   g_rand_int_range(rand, 0, 40));
        uint64_t share = dlend_window_share(free_bytes, weight, total, 0);

        ck_assert_uint_eq(share,
                          (unsigned __int128)free_bytes * weight / total);
        ck_assert_uint_le(share, free_bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dl_window");
    TCase *tc = tcase_create("share");

    tcase_add_test(tc, manual_example);
    tcase_add_test(tc, weights);
    tcase_add_test(tc, never_more_than_ram);
    tcase_add_test(tc, equals_wide_product);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
