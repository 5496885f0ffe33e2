/* SPDX-License-Identifier: MIT */
/*
 * Frames between a supervisor and an agent. Invariant: the reader returns each
 * frame as it was encoded, in whatever pieces the bytes arrive. A frame that
 * lost bytes is dropped, and no other frame with it.
 */
#include <check.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "clu_agent.h"
#include "../suite.h"

/* A PING with the body "hi", encoded by hand. */
static const uint8_t ping[] = {0x02, 0x02, 0x01, 0x01, 0x02, 0x07, 0x01, 0x01,
                               0x02, 0x02, 0x02, 0x01, 0x03, 0x68, 0x69, 0x00};

static CluAgentReader reader;
static uint8_t coded[CLU_AGENT_CODED_MAX];

START_TEST(test_known_bytes)
{
    CluAgentFrame frame;
    bool found;

    ck_assert_uint_eq(clu_agent_encode(coded, CLU_AGENT_PING, 7, "hi", 2),
                      sizeof ping);
    ck_assert_mem_eq(coded, ping, sizeof ping);

    clu_agent_reader_init(&reader);
    ck_assert_uint_eq(
        clu_agent_reader_feed(&reader, ping, sizeof ping, &found, &frame),
        sizeof ping);
    ck_assert(found);
    ck_assert_uint_eq(frame.type, CLU_AGENT_PING);
    ck_assert_uint_eq(frame.version, 1);
    ck_assert_uint_eq(frame.session, 7);
    ck_assert_uint_eq(frame.length, 2);
    ck_assert_mem_eq(frame.body, "hi", 2);
}
END_TEST

START_TEST(test_cut_anywhere_drops_one)
{
    /* Each prefix and each suffix of a frame, followed by a whole frame. */
    for (size_t cut = 1; cut < sizeof ping - 1; cut++) {
        for (int tail = 0; tail < 2; tail++) {
            GByteArray *line = g_byte_array_new();
            int frames = 0;
            CluAgentFrame frame;
            bool found;

            if (tail) {
                g_byte_array_append(line, ping + cut, sizeof ping - cut);
            } else {
                g_byte_array_append(line, ping, cut);
                g_byte_array_append(line, (const uint8_t *)"", 1);
            }
            g_byte_array_append(
                line, coded,
                clu_agent_encode(coded, CLU_AGENT_SYNC, 0, "01234567", 8));
            clu_agent_reader_init(&reader);
            for (size_t at = 0; at < line->len;) {
                at += clu_agent_reader_feed(&reader, line->data + at,
                                            line->len - at, &found, &frame);
                if (found) {
                    frames++;
                    ck_assert_uint_eq(frame.type, CLU_AGENT_SYNC);
                    ck_assert_mem_eq(frame.body, "01234567", 8);
                }
            }
            ck_assert_int_eq(frames, 1);
            ck_assert_uint_eq(clu_agent_reader_dropped(&reader), 1);
            g_byte_array_unref(line);
        }
    }
}
END_TEST

static uint32_t pick_length(GRand *rand)
{
    static const uint32_t edges[] = {0,   1,   241,   242,   243,   253,
                                     254, 255, 65534, 65535, 65536, 508};

    return g_rand_boolean(rand)
               ? edges[g_rand_int_range(rand, 0, G_N_ELEMENTS(edges))]
               : (uint32_t)g_rand_int_range(rand, 0, CLU_AGENT_BODY_MAX + 1);
}

/* Bodies with many or few zero bytes, sent in pieces. Some frames are damaged.
 */
START_TEST(test_random_stream)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(_i);
    g_autofree uint8_t *body = g_malloc(CLU_AGENT_BODY_MAX);
    GPtrArray *sent =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    GByteArray *line = g_byte_array_new();
    uint64_t damaged = 0;
    guint next = 0;

    for (int i = 0; i < 40; i++) {
        uint32_t length = pick_length(rand);
        int one_in = 1 << g_rand_int_range(rand, 0, 10);
        size_t size;

        for (uint32_t at = 0; at < length; at++) {
            body[at] = g_rand_int_range(rand, 0, one_in) == 0
                           ? 0
                           : g_rand_int_range(rand, 0, 256);
        }
        size = clu_agent_encode(coded, CLU_AGENT_STDIN, i, body, length);
        ck_assert_uint_le(size, CLU_AGENT_CODED_MAX);
        ck_assert_ptr_eq(memchr(coded, 0, size), coded + size - 1);
        if (g_rand_int_range(rand, 0, 4) == 0) {
            /* Remove bytes from the middle of the frame. */
            size_t from = g_rand_int_range(rand, 0, size - 1);
            size_t to = g_rand_int_range(rand, from + 1, size);
            if (size - (to - from) == 1) {
                continue;
            }
            memmove(coded + from, coded + to, size - to);
            size -= to - from;
            damaged++;
        } else {
            g_ptr_array_add(sent, g_bytes_new(body, length));
        }
        g_byte_array_append(line, coded, size);
    }

    clu_agent_reader_init(&reader);
    for (size_t at = 0; at < line->len;) {
        size_t piece = g_rand_int_range(rand, 1, 5000);
        size_t end = MIN(line->len, at + piece);
        while (at < end) {
            CluAgentFrame frame;
            bool found;

            at += clu_agent_reader_feed(&reader, line->data + at, end - at,
                                        &found, &frame);
            if (found) {
                gsize length;
                const void *data;

                ck_assert_uint_lt(next, sent->len);
                data = g_bytes_get_data(sent->pdata[next++], &length);
                ck_assert_uint_eq(frame.length, length);
                ck_assert_uint_eq(frame.type, CLU_AGENT_STDIN);
                if (length > 0) {
                    ck_assert_mem_eq(frame.body, data, length);
                }
            }
        }
    }
    ck_assert_uint_eq(next, sent->len);
    ck_assert_uint_eq(clu_agent_reader_dropped(&reader), damaged);
    g_byte_array_unref(line);
    g_ptr_array_unref(sent);
}
END_TEST

/* After any bytes and a 0, the reader reads the next frame. */
START_TEST(test_garbage)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1000 + _i);
    uint8_t noise[3000];
    CluAgentFrame frame;
    bool found;

    clu_agent_reader_init(&reader);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            noise[i] = g_rand_int_range(rand, 0, 256);
            /* In many rounds no byte is 0: frames that are too long. */
            noise[i] += noise[i] == 0 && round % 100 < 60;
        }
        for (size_t at = 0; at < sizeof noise;) {
            at += clu_agent_reader_feed(&reader, noise + at, sizeof noise - at,
                                        &found, &frame);
        }
    }
    clu_agent_reader_feed(&reader, (const uint8_t *)"", 1, &found, &frame);
    clu_agent_reader_feed(&reader, ping, sizeof ping, &found, &frame);
    ck_assert(found);
    ck_assert_uint_eq(frame.session, 7);
    ck_assert_uint_gt(clu_agent_reader_dropped(&reader), 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_agent_frame");
    TCase *tcase = tcase_create("frame");

    tcase_add_test(tcase, test_known_bytes);
    tcase_add_test(tcase, test_cut_anywhere_drops_one);
    tcase_add_loop_test(tcase, test_random_stream, 0, 20);
    tcase_add_loop_test(tcase, test_garbage, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
