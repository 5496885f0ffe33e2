/* SPDX-License-Identifier: MIT */
/*
 * Invariant: TCP's sender never exceeds the window and sends each byte again
 * until it is acknowledged; its receiver hands over every byte once and in
 * turn, whatever is lost, doubled or out of order. A dmabuf's pages are free,
 * with the driver or with the user, and a call frees at most what the kernel
 * documents.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "../suite.h"
#include "fab_devmem.h"
#include "fab_tcp_priv.h"
#include "sim_random.h"

#define MSS 1000u

/* ---- The sender ------------------------------------------------------ */

START_TEST(initial_window_is_ten_segments_and_doubles)
{
    FabTcpSender sender;
    uint64_t seq;
    uint32_t bytes, sent = 0;

    fab_tcp_sender_init(&sender, MSS, 1u << 20);
    sender.end = 1u << 20;
    while (fab_tcp_sender_next(&sender, 4 * MSS, &seq, &bytes)) {
        ck_assert_uint_eq(seq, sent);
        ck_assert_uint_eq(bytes % MSS, 0);
        sent += bytes;
    }
    ck_assert_uint_eq(sent, 10 * MSS);
    /* Slow start: each acknowledged byte allows one more. */
    ck_assert(fab_tcp_sender_ack(&sender, 10 * MSS, 1u << 20, false));
    sent = 0;
    while (fab_tcp_sender_next(&sender, 4 * MSS, &seq, &bytes)) {
        sent += bytes;
    }
    ck_assert_uint_eq(sent, 20 * MSS);
}
END_TEST

START_TEST(peer_window_limits)
{
    FabTcpSender sender;
    uint64_t seq;
    uint32_t bytes;

    fab_tcp_sender_init(&sender, MSS, 3 * MSS);
    sender.end = 100 * MSS;
    ck_assert(fab_tcp_sender_next(&sender, 64 * MSS, &seq, &bytes));
    ck_assert_uint_eq(bytes, 3 * MSS);
    ck_assert(!fab_tcp_sender_next(&sender, 64 * MSS, &seq, &bytes));
    /* A closed window stops everything; its update opens it. */
    ck_assert(fab_tcp_sender_ack(&sender, 3 * MSS, 0, false));
    ck_assert(!fab_tcp_sender_next(&sender, 64 * MSS, &seq, &bytes));
    ck_assert(!fab_tcp_sender_ack(&sender, 3 * MSS, 2 * MSS, false));
    ck_assert(fab_tcp_sender_next(&sender, 64 * MSS, &seq, &bytes));
    ck_assert_uint_eq(bytes, 2 * MSS);
}
END_TEST

START_TEST(third_duplicate_sends_the_segment_again)
{
    FabTcpSender sender;
    uint64_t seq;
    uint32_t bytes;

    fab_tcp_sender_init(&sender, MSS, 1u << 20);
    sender.end = 1u << 20;
    ck_assert(fab_tcp_sender_next(&sender, 10 * MSS, &seq, &bytes));
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(!fab_tcp_sender_ack(&sender, 0, 1u << 20, true));
        ck_assert_uint_eq(sender.must_resend, i == 2);
    }
    ck_assert(fab_tcp_sender_next(&sender, 64 * MSS, &seq, &bytes));
    ck_assert_uint_eq(seq, 0);
    ck_assert_uint_eq(bytes, MSS);
    ck_assert_uint_eq(sender.ssthresh, 5 * MSS);
    /* A partial acknowledgement sends the next hole, a full one ends the
     * recovery (RFC 6582). */
    ck_assert(fab_tcp_sender_ack(&sender, 4 * MSS, 1u << 20, true));
    ck_assert(sender.must_resend && sender.in_recovery);
    ck_assert(fab_tcp_sender_next(&sender, MSS, &seq, &bytes));
    ck_assert_uint_eq(seq, 4 * MSS);
    ck_assert(fab_tcp_sender_ack(&sender, sender.most, 1u << 20, false));
    ck_assert(!sender.in_recovery);
    ck_assert_uint_eq(sender.cwnd, 5 * MSS);
}
END_TEST

START_TEST(timeout_begins_again_with_one_segment)
{
    FabTcpSender sender;
    uint64_t seq;
    uint32_t bytes;

    fab_tcp_sender_init(&sender, MSS, 1u << 20);
    sender.end = 10 * MSS;
    ck_assert(fab_tcp_sender_next(&sender, 10 * MSS, &seq, &bytes));
    fab_tcp_sender_timeout(&sender);
    ck_assert(fab_tcp_sender_next(&sender, 10 * MSS, &seq, &bytes));
    ck_assert_uint_eq(seq, 0);
    ck_assert_uint_eq(bytes, MSS);
    ck_assert_uint_eq(sender.retransmits, 1);
    ck_assert(!fab_tcp_sender_next(&sender, 10 * MSS, &seq, &bytes));
}
END_TEST

/* ---- The receiver ---------------------------------------------------- */

START_TEST(receiver_trims_what_it_has)
{
    FabTcpReceiver receiver;
    FabTcpSegment segment;

    fab_tcp_receiver_init(&receiver);
    ck_assert_uint_eq(fab_tcp_receiver_take(&receiver, 10, 10, NULL), 10);
    ck_assert(!fab_tcp_receiver_pop(&receiver, &segment));
    ck_assert_uint_eq(fab_tcp_receiver_take(&receiver, 10, 10, NULL), 0);
    ck_assert_uint_eq(fab_tcp_receiver_take(&receiver, 15, 10, NULL), 5);
    ck_assert_uint_eq(fab_tcp_receiver_take(&receiver, 0, 15, NULL), 10);
    for (uint64_t next = 0; next < 25; next += segment.bytes) {
        ck_assert(fab_tcp_receiver_pop(&receiver, &segment));
        ck_assert_uint_eq(segment.seq, next);
    }
    ck_assert_uint_eq(receiver.next, 25);
    ck_assert_uint_eq(receiver.accepted_bytes, 25);
    ck_assert_uint_eq(receiver.duplicate_bytes, 10 + 5 + 5);
    ck_assert_uint_eq(receiver.waiting_bytes, 0);
    ck_assert_uint_eq(fab_tcp_receiver_take(&receiver, 0, 25, NULL), 0);
    fab_tcp_receiver_done(&receiver);
}
END_TEST

/* Segments of any bounds, lost, doubled and in any order. Every byte comes
 * once, in turn. */
START_TEST(random_segments_give_each_byte_once)
{
    enum {
        TOTAL = 5000
    };
    SimRandom random;

    sim_random_init(&random, _i, "segments");
    for (unsigned round = 0; round < 20; round++) {
        FabTcpReceiver receiver;
        FabTcpSegment segment;
        uint64_t next = 0, given = 0;

        fab_tcp_receiver_init(&receiver);
        while (receiver.next < TOTAL) {
            uint64_t seq = receiver.next + sim_random_below(&random, 300);
            uint32_t bytes = 1 + sim_random_below(&random, 200);

            seq -= MIN(seq, sim_random_below(&random, 100));
            given += bytes;
            fab_tcp_receiver_take(&receiver, seq, bytes, NULL);
            while (fab_tcp_receiver_pop(&receiver, &segment)) {
                ck_assert_uint_eq(segment.seq, next);
                next += segment.bytes;
            }
        }
        ck_assert_uint_eq(given,
                          receiver.accepted_bytes + receiver.duplicate_bytes);
        ck_assert_uint_eq(receiver.accepted_bytes,
                          next + receiver.waiting_bytes);
        fab_tcp_receiver_done(&receiver);
    }
}
END_TEST

/* A sender and a receiver over a channel that loses packets either way, and
 * whose time-out is a round in which nothing moves. */
START_TEST(lossy_channel_loses_no_byte)
{
    FabTcpSender sender;
    FabTcpReceiver receiver;
    FabTcpSegment segment;
    SimRandom random;
    uint64_t delivered = 0;

    sim_random_init(&random, 100 + _i, "channel");
    fab_tcp_sender_init(&sender, MSS, 50 * MSS);
    fab_tcp_receiver_init(&receiver);
    sender.end = 2000 * MSS + 123;
    while (sender.una < sender.end) {
        uint64_t seq, before = sender.una;
        uint32_t bytes;

        ck_assert_uint_le(sender.nxt - sender.una, 50 * MSS);
        while (fab_tcp_sender_next(&sender, 8 * MSS, &seq, &bytes)) {
            for (uint32_t done = 0; done < bytes; done += MSS) {
                if (sim_random_below(&random, 20) > 0) {
                    fab_tcp_receiver_take(&receiver, seq + done,
                                          MIN(MSS, bytes - done), NULL);
                }
                while (fab_tcp_receiver_pop(&receiver, &segment)) {
                    ck_assert_uint_eq(segment.seq, delivered);
                    delivered += segment.bytes;
                }
                if (sim_random_below(&random, 20) > 0) {
                    fab_tcp_sender_ack(&sender, receiver.next, 50 * MSS,
                                       receiver.waiting_bytes > 0);
                }
            }
        }
        if (sender.una == before) {
            fab_tcp_sender_timeout(&sender);
        }
    }
    ck_assert_uint_eq(delivered, sender.end);
    ck_assert_uint_eq(receiver.accepted_bytes, sender.end);
    ck_assert_uint_gt(sender.retransmits, 0);
    fab_tcp_receiver_done(&receiver);
}
END_TEST

/* ---- The dmabuf ------------------------------------------------------ */

START_TEST(call_takes_128_runs_and_frees_1024_fragments)
{
    g_autoptr(FabDevmem) devmem = fab_devmem_bind(0x1000, 4096 * 4096, 4096);
    FabDevmemTokens runs[FAB_DEVMEM_TOKENS + 1];
    uint32_t page, first = 0;

    for (unsigned i = 0; i < 2000; i++) {
        uint32_t token;

        ck_assert(fab_devmem_take(devmem, &page));
        ck_assert_uint_eq(fab_devmem_addr(devmem, page),
                          0x1000 + 4096 * (FabBusAddr)page);
        token = fab_devmem_give(devmem, page);
        first = i == 0 ? token : first;
        ck_assert_uint_eq(token, first + i);
    }
    ck_assert_uint_eq(fab_devmem_held(devmem), 2000);
    ck_assert_uint_eq(fab_devmem_free_pages(devmem), 4096 - 2000);
    /* One run too many: nothing is freed. */
    for (unsigned i = 0; i <= FAB_DEVMEM_TOKENS; i++) {
        runs[i] = (FabDevmemTokens){first + i, 1};
    }
    ck_assert_int_eq(fab_devmem_dontneed(devmem, runs, FAB_DEVMEM_TOKENS + 1),
                     -EINVAL);
    ck_assert_uint_eq(fab_devmem_held(devmem), 2000);
    ck_assert_int_eq(fab_devmem_dontneed(devmem, runs, FAB_DEVMEM_TOKENS), 128);
    /* A run of 1,500: the call frees 1,024 and says so. */
    runs[0] = (FabDevmemTokens){first + 128, 1500};
    ck_assert_int_eq(fab_devmem_dontneed(devmem, runs, 1), 1024);
    ck_assert_uint_eq(fab_devmem_held(devmem), 2000 - 128 - 1024);
    /* Those that were freed are not freed twice. */
    runs[0] = (FabDevmemTokens){first, 128};
    ck_assert_int_eq(fab_devmem_dontneed(devmem, runs, 1), 0);
    ck_assert_uint_eq(fab_devmem_counters(devmem)->unknown, 128);
    runs[0] = (FabDevmemTokens){first + 128 + 1024, 848};
    ck_assert_int_eq(fab_devmem_dontneed(devmem, runs, 1), 848);
    ck_assert_uint_eq(fab_devmem_held(devmem), 0);
    ck_assert_uint_eq(fab_devmem_free_pages(devmem), 4096);
    ck_assert_uint_eq(fab_devmem_counters(devmem)->most_held, 2000);
}
END_TEST

START_TEST(exhausted_buffer_gives_no_page_until_a_token_returns)
{
    g_autoptr(FabDevmem) devmem = fab_devmem_bind(0, 8 * 4096, 4096);
    FabDevmemTokens run = {0, 1};
    uint32_t page;

    for (unsigned i = 0; i < 8; i++) {
        ck_assert(fab_devmem_take(devmem, &page));
        run.first = fab_devmem_give(devmem, page);
    }
    ck_assert(!fab_devmem_take(devmem, &page));
    ck_assert_uint_eq(fab_devmem_counters(devmem)->exhausted, 1);
    ck_assert_int_eq(fab_devmem_dontneed(devmem, &run, 1), 1);
    ck_assert(fab_devmem_take(devmem, &page));
    ck_assert(!fab_devmem_take(devmem, &page));
}
END_TEST

START_TEST(end_of_binding_takes_all_back)
{
    g_autoptr(FabDevmem) devmem = fab_devmem_bind(0, 8 * 4096, 4096);
    uint32_t page;

    for (unsigned i = 0; i < 5; i++) {
        ck_assert(fab_devmem_take(devmem, &page));
        fab_devmem_give(devmem, page);
    }
    fab_devmem_unbind(devmem);
    ck_assert(!fab_devmem_is_bound(devmem));
    ck_assert_uint_eq(fab_devmem_held(devmem), 0);
    ck_assert_uint_eq(fab_devmem_free_pages(devmem), 8);
    ck_assert(!fab_devmem_take(devmem, &page));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_tcp");
    TCase *tcase = tcase_create("fab_tcp");

    tcase_add_test(tcase, initial_window_is_ten_segments_and_doubles);
    tcase_add_test(tcase, peer_window_limits);
    tcase_add_test(tcase, third_duplicate_sends_the_segment_again);
    tcase_add_test(tcase, timeout_begins_again_with_one_segment);
    tcase_add_test(tcase, receiver_trims_what_it_has);
    tcase_add_loop_test(tcase, random_segments_give_each_byte_once, 0, 10);
    tcase_add_loop_test(tcase, lossy_channel_loses_no_byte, 0, 10);
    tcase_add_test(tcase, call_takes_128_runs_and_frees_1024_fragments);
    tcase_add_test(tcase, exhausted_buffer_gives_no_page_until_a_token_returns);
    tcase_add_test(tcase, end_of_binding_takes_all_back);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
