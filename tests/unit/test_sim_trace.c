/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a record reaches the sinks if and only if one of its categories
 * is wanted; the ring keeps the newest records, oldest first, and says how
 * many it has lost.
 */
#include <check.h>
#include <stdlib.h>

#include "sim_trace.h"
#include "../suite.h"

#define LINK   1u
#define SWITCH 2u
#define OTHER  0x80000000u

static void add(SimTrace *trace, uint32_t categories, uint64_t number)
{
    sim_trace_add(trace, &(SimTraceRecord){
                             .time = (SimTime)(number * 10),
                             .categories = categories,
                             .source = (uint32_t)number + 1,
                             .kind = (uint32_t)number + 2,
                             .a = number + 3,
                             .b = number + 4,
                             .c = number + 5,
                         });
}

static void check_record(const SimTraceRecord *record, uint64_t number)
{
    ck_assert_ptr_nonnull(record);
    ck_assert_int_eq(record->time, number * 10);
    ck_assert_uint_eq(record->source, number + 1);
    ck_assert_uint_eq(record->kind, number + 2);
    ck_assert_uint_eq(record->a, number + 3);
    ck_assert_uint_eq(record->b, number + 4);
    ck_assert_uint_eq(record->c, number + 5);
}

START_TEST(test_mask)
{
    g_autoptr(SimTrace) trace = sim_trace_new();

    ck_assert(!sim_trace_wants(trace, UINT32_MAX));
    /* Without a sink nothing is wanted. */
    sim_trace_set_categories(trace, LINK | OTHER);
    ck_assert(!sim_trace_wants(trace, UINT32_MAX));
    add(trace, LINK, 0);
    ck_assert_uint_eq(sim_trace_ring_count(trace), 0);

    sim_trace_set_ring(trace, 10);
    ck_assert(sim_trace_wants(trace, LINK));
    ck_assert(sim_trace_wants(trace, LINK | SWITCH));
    ck_assert(sim_trace_wants(trace, OTHER));
    ck_assert(!sim_trace_wants(trace, SWITCH));
    add(trace, LINK, 1);
    add(trace, SWITCH, 2);
    add(trace, SWITCH | OTHER, 3);
    ck_assert_uint_eq(sim_trace_ring_count(trace), 2);
    check_record(sim_trace_ring_get(trace, 0), 1);
    check_record(sim_trace_ring_get(trace, 1), 3);
    ck_assert_uint_eq(sim_trace_ring_get(trace, 1)->categories, SWITCH | OTHER);

    sim_trace_set_categories(trace, SWITCH);
    ck_assert(!sim_trace_wants(trace, LINK));
    ck_assert(sim_trace_wants(trace, SWITCH));
    sim_trace_set_ring(trace, 0);
    ck_assert(!sim_trace_wants(trace, SWITCH));
    ck_assert_ptr_null(sim_trace_ring_get(trace, 0));
}
END_TEST

START_TEST(test_ring)
{
    g_autoptr(SimTrace) trace = sim_trace_new();
    uint64_t n;

    sim_trace_set_categories(trace, LINK);
    sim_trace_set_ring(trace, 7);
    for (n = 0; n < 50; n++) {
        uint64_t kept = MIN(n, 7);
        uint64_t i;

        ck_assert_uint_eq(sim_trace_ring_count(trace), kept);
        ck_assert_uint_eq(sim_trace_ring_lost(trace), n - kept);
        for (i = 0; i < kept; i++) {
            check_record(sim_trace_ring_get(trace, i), n - kept + i);
        }
        ck_assert_ptr_null(sim_trace_ring_get(trace, kept));
        add(trace, LINK, n);
    }
    sim_trace_set_ring(trace, 3);
    ck_assert_uint_eq(sim_trace_ring_count(trace), 0);
    ck_assert_uint_eq(sim_trace_ring_lost(trace), 0);
}
END_TEST

static void keep(const SimTraceRecord *record, void *user)
{
    GArray *records = user;

    g_array_append_val(records, *record);
}

START_TEST(test_callback)
{
    g_autoptr(SimTrace) trace = sim_trace_new();
    g_autoptr(GArray) records =
        g_array_new(FALSE, FALSE, sizeof(SimTraceRecord));

    sim_trace_set_categories(trace, LINK);
    sim_trace_set_callback(trace, keep, records);
    add(trace, LINK, 1);
    add(trace, SWITCH, 2);
    sim_trace_set_ring(trace, 1);
    add(trace, LINK, 3);
    ck_assert_uint_eq(records->len, 2);
    check_record(&g_array_index(records, SimTraceRecord, 0), 1);
    check_record(&g_array_index(records, SimTraceRecord, 1), 3);
    check_record(sim_trace_ring_get(trace, 0), 3);

    sim_trace_set_callback(trace, NULL, NULL);
    add(trace, LINK, 4);
    ck_assert_uint_eq(records->len, 2);
    check_record(sim_trace_ring_get(trace, 0), 4);
    sim_trace_set_ring(trace, 0);
    ck_assert(!sim_trace_wants(trace, LINK));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_trace");
    TCase *tcase = tcase_create("trace");

    tcase_add_test(tcase, test_mask);
    tcase_add_test(tcase, test_ring);
    tcase_add_test(tcase, test_callback);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
