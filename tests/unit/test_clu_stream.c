/* SPDX-License-Identifier: MIT */
/*
 * Held streams. Invariant: what waits is written only when it is let, and only
 * when the other end has read all of what was written before.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_stream.h"
#include "../suite.h"

#define BYTES 20000

static void on_data(void *owner, const uint8_t *data, size_t length)
{
}

static void on_closed(void *owner)
{
}

static CluStream *stream_new(int *ret_other)
{
    static const CluStreamOps ops = {.data = on_data, .closed = on_closed};
    CluStream *stream;
    int ends[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    stream = clu_stream_new(NULL, ends[0], &ops, NULL);
    clu_stream_hold(stream);
    *ret_other = ends[1];
    return stream;
}

START_TEST(the_other_end_must_have_read_all)
{
    static uint8_t bytes[BYTES], got[BYTES];
    size_t at;
    CluStream *stream;
    int other;

    for (at = 0; at < BYTES; at++) {
        bytes[at] = (uint8_t)(at * 7 / 5);
    }
    stream = stream_new(&other);
    clu_stream_write(stream, bytes, BYTES);
    ck_assert_int_eq(recv(other, got, 1, MSG_DONTWAIT), -1);
    ck_assert_uint_eq(clu_stream_let(stream, 2 * BYTES), BYTES);
    clu_stream_write(stream, "x", 1);
    for (at = 0; at < BYTES;) {
        ssize_t n;

        ck_assert_uint_eq(clu_stream_let(stream, 1), 0);
        ck_assert_uint_gt(clu_stream_unread(stream), 1);
        n = read(other, got + at, 4096);
        ck_assert_int_gt(n, 0);
        at += (size_t)n;
    }
    ck_assert_uint_eq(clu_stream_unread(stream), 1);
    ck_assert_mem_eq(got, bytes, BYTES);
    ck_assert_uint_eq(clu_stream_let(stream, 1), 1);
    clu_stream_free(stream);
    close(other);
}
END_TEST

/* A stream whose socket is replaced keeps what waits. */
START_TEST(a_replaced_socket_gets_what_waits)
{
    int other, ends[2];
    CluStream *stream = stream_new(&other);
    char got[8] = "";

    clu_stream_write(stream, "late", 4);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    clu_stream_replace(stream, ends[0]);
    ck_assert_int_eq(read(other, got, sizeof(got)), 0); /* it is closed */
    ck_assert_uint_eq(clu_stream_let(stream, 100), 4);
    ck_assert_int_eq(read(ends[1], got, sizeof(got)), 4);
    ck_assert_str_eq(got, "late");
    clu_stream_free(stream);
    close(other);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream");
    TCase *tcase = tcase_create("stream");

    tcase_add_test(tcase, the_other_end_must_have_read_all);
    tcase_add_test(tcase, a_replaced_socket_gets_what_waits);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
