/* SPDX-License-Identifier: MIT */
/*
 * Invariant: two devices of different partitions that have sent HELLO get the
 * two ends of one socket pair, whatever happened before and whatever other
 * clients do at the same socket. No other client gets a file.
 */
#define _GNU_SOURCE
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "broker_rig.h"
#include "farside_wire.h"
#include "../suite.h"

#define LINK     "cable0"
#define ENDS_MAX 8 /* clients that may wait at the same time */

typedef struct Hello {
    struct farside_wire_head head;
    struct farside_wire_hello body;
} Hello;

static BrokerRig *rig;
static unsigned files; /* number of files open before the first device */

static void add_link(const char *name, const char *path)
{
    GError *error = NULL;

    if (!clu_broker_add_link(rig->broker, name, path, &error)) {
        ck_abort_msg("%s", error->message);
    }
}

static void setup(void)
{
    g_autofree char *path = NULL;

    rig = rig_new();
    path = rig_path(rig, LINK);
    add_link(LINK, path);
    files = rig_count_files();
}

static void teardown(void)
{
    rig_free(rig);
}

/* ---- Devices ---------------------------------------------------------- */

static Hello make_hello(unsigned partition)
{
    return (Hello){.head = {.magic = FARSIDE_WIRE_MAGIC,
                            .version = FARSIDE_WIRE_VERSION,
                            .type = FARSIDE_WIRE_HELLO,
                            .length = sizeof(struct farside_wire_hello)},
                   .body = {.partition = (uint8_t)partition,
                            .generation = 3,
                            .link_up = 1}};
}

static int connect_silent(void)
{
    return rig_connect(rig, LINK, SOCK_SEQPACKET);
}

/* Connects and sends HELLO. The broker has not handled either yet. */
static int connect_device(unsigned partition)
{
    Hello hello = make_hello(partition);
    int fd = connect_silent();

    rig_send(fd, &hello, sizeof(hello), -1);
    return fd;
}

/* Receives PEER from @fd, which the broker must have closed then. Returns the
 * file that came with it. */
static int take_peer(int fd)
{
    uint8_t bytes[sizeof(struct farside_wire_head) + 1];
    struct farside_wire_head head;
    int file;

    ck_assert_int_eq(rig_receive(fd, bytes, sizeof(bytes), &file),
                     sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    ck_assert_uint_eq(head.magic, FARSIDE_WIRE_MAGIC);
    ck_assert_uint_eq(head.version, FARSIDE_WIRE_VERSION);
    ck_assert_uint_eq(head.type, FARSIDE_WIRE_PEER);
    ck_assert_uint_eq(head.length, 0);
    ck_assert_int_ge(file, 0);
    ck_assert(rig_is_closed(fd));
    close(fd);
    ck_assert_int_eq(fcntl(file, F_SETFL, O_NONBLOCK), 0);
    return file;
}

/* Asserts that @a and @b are the two ends of one socket pair that keeps packets
 * apart, and that no other process has an end of it. Closes both. */
static void check_pair(int a, int b)
{
    char bytes[8];
    int file;

    rig_send(a, "abc", 3, -1);
    rig_send(a, "de", 2, -1);
    ck_assert_int_eq(rig_receive(b, bytes, sizeof(bytes), &file), 3);
    ck_assert_mem_eq(bytes, "abc", 3);
    ck_assert_int_eq(rig_receive(b, bytes, sizeof(bytes), &file), 2);
    rig_send(b, "f", 1, -1);
    ck_assert_int_eq(rig_receive(a, bytes, sizeof(bytes), &file), 1);
    ck_assert(rig_is_quiet(a));
    close(b);
    ck_assert(rig_is_closed(a));
    close(a);
}

/* Checks that two devices can still meet, and that no file was left open. */
static void check_link_works(void)
{
    int a = connect_device(0);
    int b = connect_device(1);

    rig_run(rig);
    a = take_peer(a);
    check_pair(a, take_peer(b));
    ck_assert_uint_eq(rig_count_files(), files);
}

/* ---- Meeting ---------------------------------------------------------- */

START_TEST(devices_meet_in_either_order)
{
    unsigned first = (unsigned)_i;
    int a = connect_device(first);
    int b;

    rig_run(rig);
    ck_assert(rig_is_quiet(a));
    ck_assert_uint_eq(rig_last(rig, 1, CLU_BROKER_WAITS)->id, first);
    ck_assert_str_eq(rig->notices[0].name, LINK);
    b = connect_device(1 - first);
    rig_run(rig);
    ck_assert_uint_eq(rig_last(rig, 3, CLU_BROKER_JOINED)->id, 1 - first);
    ck_assert_int_eq(rig->notices[1].event, CLU_BROKER_JOINED);
    ck_assert_uint_eq(rig->notices[1].id, first);
    a = take_peer(a);
    check_pair(a, take_peer(b));
    ck_assert_uint_eq(rig_count_files(), files);
    rig_run(rig);
    ck_assert_uint_eq(rig->notice_count, 3);
}
END_TEST

START_TEST(a_third_device_waits_for_its_turn)
{
    int first = connect_device(0);
    int second, third, a, b;

    rig_run(rig);
    second = connect_device(0);
    rig_run(rig);
    rig_last(rig, 2, CLU_BROKER_CLASHES);
    third = connect_device(1);
    rig_run(rig);
    a = take_peer(first);
    check_pair(a, take_peer(third));
    ck_assert(rig_is_quiet(second));
    b = connect_device(1);
    rig_run(rig);
    a = take_peer(second);
    check_pair(a, take_peer(b));
}
END_TEST

/* The socket pair tells the survivor of the death. It connects to the broker
 * again, and so does the device that was killed and started again. */
START_TEST(devices_meet_again_after_a_death)
{
    for (unsigned i = 0; i < 100; i++) {
        int a = connect_device(0);
        int b = connect_device(1);

        rig_run(rig);
        a = take_peer(a);
        b = take_peer(b);
        close(i % 2 ? a : b);
        ck_assert(rig_is_closed(i % 2 ? b : a));
        close(i % 2 ? b : a);
    }
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

/* If _i is 1, the broker sees the death and the new devices at the same time.
 */
START_TEST(a_dead_device_is_not_met)
{
    int dead = connect_device(0);
    int a, b;

    rig_run(rig);
    close(dead);
    if (_i == 0) {
        rig_run(rig);
        rig_last(rig, 2, CLU_BROKER_LEFT);
    }
    b = connect_device(1);
    rig_run(rig);
    ck_assert(rig_is_quiet(b));
    a = connect_device(0);
    rig_run(rig);
    a = take_peer(a);
    check_pair(a, take_peer(b));
}
END_TEST

/* A device connects again before the broker has noticed its death. */
START_TEST(a_device_that_returns_does_not_clash_with_itself)
{
    int fd = connect_device(1);

    rig_run(rig);
    close(fd);
    fd = connect_device(1);
    rig_run(rig);
    rig_last(rig, 3, CLU_BROKER_WAITS);
    ck_assert(rig_is_quiet(fd));
    close(fd);
    check_link_works();
}
END_TEST

/* A device that has shut down writing is disconnected. A device that has shut
 * down reading cannot be joined, and its peer is disconnected to try again. */
START_TEST(half_open_sockets_are_closed)
{
    int fd = connect_device(0);
    int peer;

    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    rig_run(rig);
    ck_assert(rig_is_closed(fd));
    close(fd);

    fd = connect_device(0);
    rig_run(rig);
    ck_assert_int_eq(shutdown(fd, SHUT_RD), 0);
    peer = connect_device(1);
    rig_run(rig);
    ck_assert(rig_is_closed(peer));
    close(peer);
    close(fd);
    check_link_works();
}
END_TEST

/* ---- Clients that break the protocol ----------------------------------- */

/* A message with one fault, and the reason that the broker reports. */
typedef struct Bad {
    const char *reason;
    size_t size;    /* bytes sent; those after HELLO are zeros */
    size_t at;      /* offset of the two bytes that are changed */
    uint16_t value; /* their new value */
} Bad;

static const Bad bads[] = {
    {"it sent bytes that are no message", 1, 0, 0},
    {"it sent bytes that are no message", sizeof(struct farside_wire_head) - 1,
     0, FARSIDE_WIRE_MAGIC & 0xffff},
    {"it sent bytes that are no message", sizeof(struct farside_wire_head), 0,
     FARSIDE_WIRE_MAGIC & 0xffff},
    {"it sent bytes that are no message", sizeof(Hello) - 1, 0,
     FARSIDE_WIRE_MAGIC & 0xffff},
    {"it sent bytes that are no message", sizeof(Hello) + 1, 0,
     FARSIDE_WIRE_MAGIC & 0xffff},
    {"it sent bytes that are no message", FARSIDE_WIRE_MAX, 0,
     FARSIDE_WIRE_MAGIC & 0xffff},
    {"it sent bytes that are no message", sizeof(Hello), 0, 0x1234},
    {"it sent bytes that are no message", sizeof(Hello),
     offsetof(struct farside_wire_head, length), 31},
    {"it sent bytes that are no message", sizeof(Hello),
     offsetof(struct farside_wire_head, length) + 2, 0xffff},
    {"it speaks another version of the protocol", sizeof(Hello),
     offsetof(struct farside_wire_head, version), FARSIDE_WIRE_VERSION + 1},
    {"it speaks another version of the protocol", sizeof(Hello),
     offsetof(struct farside_wire_head, version), 0},
    {"its first message is no HELLO", sizeof(Hello),
     offsetof(struct farside_wire_head, type), FARSIDE_WIRE_RAM},
    {"its first message is no HELLO", sizeof(Hello),
     offsetof(struct farside_wire_head, type), FARSIDE_WIRE_PEER},
    {"its first message is no HELLO", sizeof(Hello),
     offsetof(struct farside_wire_head, type), 0xffff},
    {"its first message is no HELLO", sizeof(Hello), offsetof(Hello, body),
     8 | 3 << 8},
    {"its first message is no HELLO", sizeof(Hello), offsetof(Hello, body),
     0xffff},
};

/* Another device waits meanwhile, and is not disturbed. */
START_TEST(bad_messages_are_refused)
{
    const Bad *bad = &bads[_i];
    uint8_t bytes[FARSIDE_WIRE_MAX] = {0};
    Hello hello = make_hello(0);
    int good = connect_device(0);
    int peer, fd;

    rig_run(rig);
    memcpy(bytes, &hello, sizeof(hello));
    memcpy(bytes + bad->at, &bad->value, sizeof(bad->value));
    fd = connect_silent();
    rig_send(fd, bytes, bad->size, -1);
    rig_run(rig);
    ck_assert(rig_is_closed(fd));
    ck_assert_str_eq(rig_last(rig, 2, CLU_BROKER_REFUSED)->reason, bad->reason);
    close(fd);
    peer = connect_device(1);
    rig_run(rig);
    good = take_peer(good);
    check_pair(good, take_peer(peer));
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

START_TEST(a_file_is_refused_and_not_kept)
{
    Hello hello = make_hello(0);
    int fd = connect_silent();

    rig_send(fd, &hello, sizeof(hello), STDERR_FILENO);
    rig_run(rig);
    ck_assert(rig_is_closed(fd));
    ck_assert_str_eq(rig_last(rig, 1, CLU_BROKER_REFUSED)->reason,
                     "it sent bytes that are no message");
    close(fd);
    check_link_works();
}
END_TEST

START_TEST(a_second_message_is_refused)
{
    Hello hello = make_hello(1);
    int fd = connect_device(1);

    rig_send(fd, &hello, sizeof(hello), -1);
    rig_run(rig);
    ck_assert(rig_is_closed(fd));
    ck_assert_str_eq(rig_last(rig, 2, CLU_BROKER_REFUSED)->reason,
                     "it sent more than HELLO");
    close(fd);
    check_link_works();
}
END_TEST

START_TEST(silence_is_refused_after_a_while)
{
    gint64 start = g_get_monotonic_time();
    int silent = connect_silent();
    int good = connect_device(0);

    while (!rig_is_closed(silent)) {
        g_main_context_iteration(rig->context, TRUE);
    }
    ck_assert_int_ge(g_get_monotonic_time() - start, 1900000);
    ck_assert_str_eq(rig_last(rig, 2, CLU_BROKER_REFUSED)->reason,
                     "it did not send HELLO in time");
    close(silent);
    /* A device that has sent HELLO may wait for ever. */
    ck_assert(rig_is_quiet(good));
    close(good);
    check_link_works();
}
END_TEST

START_TEST(not_more_than_a_few_wait)
{
    int fds[ENDS_MAX + 1];

    for (unsigned i = 0; i < G_N_ELEMENTS(fds); i++) {
        fds[i] = connect_device(0);
        rig_run(rig);
    }
    ck_assert_str_eq(rig_last(rig, ENDS_MAX + 1, CLU_BROKER_REFUSED)->reason,
                     "too many devices wait already");
    ck_assert(rig_is_closed(fds[ENDS_MAX]));
    close(fds[ENDS_MAX]);
    /* One device leaves and another connects; the others are not disturbed. */
    close(fds[3]);
    fds[3] = connect_device(0);
    rig_run(rig);
    for (unsigned i = 0; i < ENDS_MAX; i++) {
        ck_assert(rig_is_quiet(fds[i]));
        close(fds[i]);
    }
    rig_run(rig);
    check_link_works();
}
END_TEST

/* Devices connect, leave and send garbage at random. A naive model computes
 * which are joined. */
START_TEST(random_devices)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)_i + 1);
    int waiting[2] = {-1, -1}; /* at most one of each partition */

    for (unsigned step = 0; step < 2000; step++) {
        unsigned partition = g_rand_boolean(rand);
        int *mine = &waiting[partition];
        int *other = &waiting[1 - partition];
        Hello hello = make_hello(partition);
        uint8_t *bytes = (uint8_t *)&hello;
        int fd;

        switch (g_rand_int_range(rand, 0, 4)) {
        case 0: /* sends garbage, often with a correct head */
            for (unsigned i = g_rand_boolean(rand) ? 0 : sizeof(hello.head) - 1;
                 i < sizeof(hello); i++) {
                bytes[i] = (uint8_t)g_rand_int(rand);
            }
            bytes[sizeof(hello.head)] |= 2;
            fd = connect_silent();
            rig_send(fd, bytes,
                     (gsize)g_rand_int_range(rand, 1, sizeof(hello) + 1), -1);
            rig_run(rig);
            ck_assert(rig_is_closed(fd));
            close(fd);
            break;
        case 1: /* leaves; the broker may not have noticed it before the next */
            if (*mine >= 0) {
                close(*mine);
                *mine = -1;
            }
            break;
        default:
            if (*mine >= 0) {
                break;
            }
            fd = connect_device(partition);
            rig_run(rig);
            if (*other >= 0) {
                fd = take_peer(fd);
                check_pair(fd, take_peer(*other));
                *other = -1;
            } else {
                ck_assert(rig_is_quiet(fd));
                *mine = fd;
            }
            break;
        }
    }
    for (unsigned i = 0; i < 2; i++) {
        if (waiting[i] >= 0) {
            close(waiting[i]);
        }
    }
    rig_run(rig);
    check_link_works();
}
END_TEST

/* ---- Resources -------------------------------------------------------- */

/* A client that connects while no file descriptor is free waits in the
 * backlog. */
START_TEST(want_of_files_is_waited_for)
{
    struct rlimit few, many;
    int a = connect_device(0);
    int b = connect_device(1);
    int spare = dup(STDERR_FILENO);

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &many), 0);
    few = many;
    few.rlim_cur = (rlim_t)spare;
    close(spare);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_run(rig);
    ck_assert(rig_is_quiet(a));
    ck_assert(rig_is_quiet(b));
    /* The broker sleeps meanwhile. */
    ck_assert(!g_main_context_pending(rig->context));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &many), 0);
    while (rig_is_quiet(b)) {
        g_main_context_iteration(rig->context, TRUE);
    }
    a = take_peer(a);
    check_pair(a, take_peer(b));
    ck_assert_uint_eq(rig_count_files(), files);
}
END_TEST

/* ---- Paths ------------------------------------------------------------ */

static void check_no_link(const char *path, int code)
{
    g_autoptr(GError) error = NULL;

    ck_assert(!clu_broker_add_link(rig->broker, "other", path, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert(error->domain == G_FILE_ERROR);
    ck_assert_int_eq(error->code, code);
    ck_assert_ptr_nonnull(strstr(error->message, path));
    ck_assert_uint_eq(rig_count_files(), files);
}

START_TEST(paths_that_cannot_be)
{
    g_autofree char *taken = rig_path(rig, LINK);
    g_autofree char *nowhere = rig_path(rig, "nowhere/cable");
    g_autofree char *file = rig_path(rig, "file");
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    g_autofree char *lengthy = NULL;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    lengthy = rig_path(rig, name);
    check_no_link(lengthy, G_FILE_ERROR_NAMETOOLONG);
    check_no_link(nowhere, G_FILE_ERROR_NOENT);
    check_no_link(taken, G_FILE_ERROR_FAILED); /* EADDRINUSE */
    ck_assert(g_file_set_contents(file, "mine", -1, NULL));
    check_no_link(file, G_FILE_ERROR_FAILED);
    ck_assert_int_eq(g_unlink(file), 0);
    /* The broker that had the path has kept it. */
    check_link_works();
}
END_TEST

START_TEST(a_socket_left_behind_is_replaced)
{
    g_autofree char *path = rig_path(rig, "stale");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
    ck_assert_int_eq(bind(fd, (void *)&address, sizeof(address)), 0);
    close(fd);
    ck_assert_int_eq(g_access(path, F_OK), 0);
    add_link("stale", path);
    close(rig_connect(rig, "stale", SOCK_SEQPACKET));
}
END_TEST

/* A file that has replaced the broker's socket is not removed. */
START_TEST(only_its_own_socket_is_removed)
{
    g_autofree char *path = rig_path(rig, "moved");

    add_link("moved", path);
    ck_assert_int_eq(g_unlink(path), 0);
    ck_assert(g_file_set_contents(path, "mine", -1, NULL));
    clu_broker_free(rig->broker);
    ck_assert_int_eq(g_access(path, F_OK), 0);
    ck_assert_int_eq(g_unlink(path), 0);
    rig->broker = clu_broker_new(rig->context);
}
END_TEST

/* Waiting devices are disconnected. Devices that have met are not affected. */
START_TEST(freeing_leaves_nothing)
{
    int a = connect_device(0);
    int b = connect_device(1);
    int waiting, silent;

    rig_run(rig);
    a = take_peer(a);
    b = take_peer(b);
    waiting = connect_device(0);
    silent = connect_silent();
    rig_run(rig);
    clu_broker_free(rig->broker);
    rig->broker = NULL;
    ck_assert(!g_main_context_iteration(rig->context, FALSE));
    ck_assert(rig_is_closed(waiting));
    ck_assert(rig_is_closed(silent));
    close(waiting);
    close(silent);
    check_pair(a, b);
    ck_assert_uint_eq(rig_count_files(), files - 1);
    clu_broker_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_broker_link");
    TCase *tcase = tcase_create("link");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, devices_meet_in_either_order, 0, 2);
    tcase_add_test(tcase, a_third_device_waits_for_its_turn);
    tcase_add_test(tcase, devices_meet_again_after_a_death);
    tcase_add_loop_test(tcase, a_dead_device_is_not_met, 0, 2);
    tcase_add_test(tcase, a_device_that_returns_does_not_clash_with_itself);
    tcase_add_test(tcase, half_open_sockets_are_closed);
    tcase_add_loop_test(tcase, bad_messages_are_refused, 0, G_N_ELEMENTS(bads));
    tcase_add_test(tcase, a_file_is_refused_and_not_kept);
    tcase_add_test(tcase, a_second_message_is_refused);
    tcase_add_test(tcase, silence_is_refused_after_a_while);
    tcase_add_test(tcase, not_more_than_a_few_wait);
    tcase_add_loop_test(tcase, random_devices, 0, 4);
    tcase_add_test(tcase, want_of_files_is_waited_for);
    tcase_add_test(tcase, paths_that_cannot_be);
    tcase_add_test(tcase, a_socket_left_behind_is_replaced);
    tcase_add_test(tcase, only_its_own_socket_is_removed);
    tcase_add_test(tcase, freeing_leaves_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
