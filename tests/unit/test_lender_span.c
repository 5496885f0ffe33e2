/* SPDX-License-Identifier: MIT */
/*
 * Spans of a device's addresses overlap, and move behind each other, as numbers
 * without a limit would; a place beyond the last address is none.
 */
#include <check.h>
#include <glib.h>
#include <stdbool.h>

#include "../suite.h"
#include "lender_span.h"

#define PAGE ((__u64)4096)
#define LAST (~(__u64)0)

typedef struct lender_span Span;

/* Interrupt messages of x86: 0xfee00000 to 0xfeefffff. */
START_TEST(behind_the_interrupts)
{
    const Span busy = lender_span_of(0xfee00000, 0x100000);
    Span place = lender_span_of(0xfeeff000, PAGE);

    ck_assert(lender_span_move_behind(&place, &busy, PAGE));
    ck_assert_uint_eq(place.first, 0xfef00000);
    ck_assert_uint_eq(place.last, 0xfef00fff);
    ck_assert(!lender_span_move_behind(&place, &busy, PAGE));
    /* A large alignment skips more: 256 MiB. */
    place = lender_span_of(0xf0000000, 0x10000000);
    ck_assert(lender_span_move_behind(&place, &busy, 0x10000000));
    ck_assert_uint_eq(place.first, 0x100000000);
    ck_assert_uint_eq(place.last, 0x10fffffff);
}
END_TEST

/* A region that the IOMMU keeps may end at the last address, or a page before
 * it. */
START_TEST(no_place_at_the_end)
{
    const Span end = lender_span_of(LAST - PAGE + 1, PAGE);
    const Span before = lender_span_of(LAST - 2 * PAGE + 1, PAGE);
    Span place = lender_span_of(LAST - 2 * PAGE + 1, 2 * PAGE);

    ck_assert_uint_eq(end.last, LAST);
    ck_assert(lender_spans_overlap(&end, &place));
    ck_assert(lender_span_move_behind(&place, &end, PAGE));
    ck_assert(lender_span_is_empty(&place));
    place = lender_span_of(LAST - 2 * PAGE + 1, 2 * PAGE);
    ck_assert(lender_span_move_behind(&place, &before, PAGE));
    ck_assert(lender_span_is_empty(&place));
    /* The last page itself is a place. */
    place = before;
    ck_assert(lender_span_move_behind(&place, &before, PAGE));
    ck_assert_uint_eq(place.first, LAST - PAGE + 1);
    ck_assert_uint_eq(place.last, LAST);
    ck_assert(!lender_span_move_behind(&place, &before, PAGE));
}
END_TEST

START_TEST(nothing_overlaps_nothing)
{
    const Span none = lender_span_of(0, 0), all = {0, LAST};
    Span place = lender_span_of(0, PAGE);

    ck_assert(lender_span_is_empty(&none));
    ck_assert(!lender_spans_overlap(&none, &all));
    ck_assert(!lender_span_move_behind(&place, &none, PAGE));
    ck_assert(lender_span_move_behind(&place, &all, PAGE));
    ck_assert(lender_span_is_empty(&place));
    ck_assert(!lender_span_move_behind(&place, &all, PAGE));
}
END_TEST

/* The same with numbers of 128 bits. */
START_TEST(equals_wide_numbers)
{
    GRand *random = g_rand_new_with_seed(1);

    for (int i = 0; i < 100000; i++) {
        /* Near the start, in the middle, or near the end. */
        const __u64 from[] = {0, (__u64)1 << 32, LAST - 64 * PAGE + 1};
        __u64 base = from[g_rand_int_range(random, 0, 3)];
        __u64 align = PAGE << g_rand_int_range(random, 0, 5);
        __u64 size = PAGE * g_rand_int_range(random, 1, 17);
        Span place =
            lender_span_of(base + PAGE * g_rand_int_range(random, 0, 48), size);
        Span busy =
            lender_span_of(base + PAGE * g_rand_int_range(random, 0, 48),
                           PAGE * g_rand_int_range(random, 1, 17));
        unsigned __int128 first =
            ((unsigned __int128)busy.last + align) / align * align;
        bool overlap = place.first <= busy.last && busy.first <= place.last;
        bool there = first + size - 1 <= LAST;
        Span was = place;

        ck_assert_int_eq(lender_span_move_behind(&place, &busy, align),
                         overlap);
        ck_assert_int_eq(lender_span_is_empty(&place), overlap && !there);
        if (!lender_span_is_empty(&place)) {
            ck_assert_uint_eq(place.first, overlap ? (__u64)first : was.first);
            ck_assert_uint_eq(place.last - place.first, size - 1);
        }
    }
    g_rand_free(random);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lender_span");
    TCase *tc = tcase_create("span");

    tcase_add_test(tc, behind_the_interrupts);
    tcase_add_test(tc, no_place_at_the_end);
    tcase_add_test(tc, nothing_overlaps_nothing);
    tcase_add_test(tc, equals_wide_numbers);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
