/* SPDX-License-Identifier: MIT */
/*
 * The board of a timed cluster. Invariant: a machine that stops at its horizon
 * never gets a message that arrives before its time, and what each machine sees
 * depends only on virtual time. The expected times follow from the definitions
 * in timed_board.h: promise plus latency, along every way.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timed_board.h"
#include "timed_control.h"
#include "../suite.h"

#define TRAINING  1000
#define WAIT_MS   20
#define NAME_LONG TIMED_BOARD_NAME

/* A board for up to four machines, and each one's view of it. */
typedef struct Rig {
    int fd;
    TimedBoard *machine[4];
} Rig;

static Rig rig_new(unsigned machines, const TimedBoardLink *links,
                   unsigned count)
{
    Rig rig = {.fd = timed_board_new(machines, links, count)};

    ck_assert_int_ge(rig.fd, 0);
    for (unsigned i = 0; i < machines; i++) {
        rig.machine[i] = timed_board_open(rig.fd, i);
        ck_assert_ptr_nonnull(rig.machine[i]);
    }
    return rig;
}

static void rig_free(Rig *rig)
{
    for (unsigned i = 0; i < 4; i++) {
        timed_board_close(rig->machine[i]);
    }
    close(rig->fd);
}

/* Two machines with a link whose ends are up from the beginning. */
static Rig pair_new(int64_t latency)
{
    TimedBoardLink link = {"ab", {0, 1}, latency, latency};

    return rig_new(2, &link, 1);
}

START_TEST(test_horizon)
{
    Rig rig = pair_new(350);

    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 350);
    ck_assert_int_eq(timed_board_report(rig.machine[1], 0, 5000), 350);
    /* 1 sends nothing before 5000, so nothing comes before 5350. */
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 5350);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 100, 100), 5350);
    ck_assert_int_eq(timed_board_report(rig.machine[1], 0, 5000), 450);
    ck_assert_int_eq(timed_board_now(rig.machine[1], 0), 100);
    rig_free(&rig);
}
END_TEST

/* A machine that sends at t may get an answer at t + 2 latencies, whatever was
 * promised. */
START_TEST(test_answer)
{
    Rig rig = pair_new(350);
    TimedBoardMessage m;

    timed_board_report(rig.machine[1], 0, 9000);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 100, 100), 9350);
    ck_assert(timed_board_send(rig.machine[0], 0, 100, "x", 1));
    ck_assert_int_eq(timed_board_report(rig.machine[0], 100, 100), 800);
    /* Even if the receiver has not seen it: it cannot promise more. */
    timed_board_report(rig.machine[1], 0, 9000);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 100, 100), 800);
    ck_assert(timed_board_take(rig.machine[1], 0, &m));
    ck_assert_int_eq(m.arrival, 450);
    rig_free(&rig);
}
END_TEST

/* a - b - c: what c sends may come to a through b, and no sooner. */
START_TEST(test_chain)
{
    const TimedBoardLink links[] = {{"ab", {0, 1}, 100, 100},
                                    {"bc", {1, 2}, 30, 30}};
    Rig rig = rig_new(3, links, 2);

    timed_board_report(rig.machine[1], 0, 5000);
    timed_board_report(rig.machine[2], 0, 200);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 330);
    ck_assert_int_eq(timed_board_report(rig.machine[1], 0, 5000), 100);
    ck_assert_int_eq(timed_board_report(rig.machine[2], 0, 200), 130);
    rig_free(&rig);
}
END_TEST

START_TEST(test_training)
{
    TimedBoardLink link = {"ab", {0, 1}, 350, TRAINING};
    Rig rig = rig_new(2, &link, 1);
    TimedBoardMessage m;

    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), TRAINING);
    ck_assert(timed_board_send(rig.machine[1], 1, 0, "1", 1));
    timed_board_report(rig.machine[1], 500, 500);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 500 + TRAINING);
    /* 0 may be at 1500 already when the link comes up at 600. */
    timed_board_set_up(rig.machine[1], 1, 600, true);
    ck_assert(timed_board_send(rig.machine[1], 1, 610, "2", 1));
    ck_assert(timed_board_take(rig.machine[0], 1, &m));
    ck_assert_int_eq(m.arrival, TRAINING);
    ck_assert(timed_board_take(rig.machine[0], 1, &m));
    ck_assert_int_eq(m.arrival, 600 + TRAINING);
    timed_board_report(rig.machine[1], 2000, 2000);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 2350);
    timed_board_set_up(rig.machine[1], 1, 2000, false);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 2000 + TRAINING);
    rig_free(&rig);
}
END_TEST

START_TEST(test_full)
{
    static uint8_t bytes[TIMED_BOARD_MESSAGE];
    Rig rig = pair_new(10);
    TimedBoardMessage m;
    unsigned sent = 0, taken = 0;

    /* Sizes that are no divisors of the ring's, over many of its rounds */
    for (unsigned round = 0; round < 50; round++) {
        for (;; sent++) {
            size_t size = 1 + (size_t)sent * 7919 % TIMED_BOARD_MESSAGE;

            memset(bytes, (int)(sent & 0xff), size);
            if (!timed_board_send(rig.machine[0], 0, sent, bytes, size)) {
                break;
            }
        }
        ck_assert_uint_gt(sent, taken);
        while (taken + round % 3 < sent) {
            size_t size = 1 + (size_t)taken * 7919 % TIMED_BOARD_MESSAGE;

            ck_assert(timed_board_take(rig.machine[1], 0, &m));
            ck_assert_uint_eq(m.size, size);
            ck_assert_uint_eq(m.sequence, taken);
            ck_assert_int_eq(m.arrival, taken + 10);
            ck_assert_uint_eq(m.bytes[0], taken & 0xff);
            ck_assert_uint_eq(m.bytes[size - 1], taken & 0xff);
            taken++;
        }
    }
    ck_assert(!timed_board_send(rig.machine[0], 0, sent, bytes,
                                TIMED_BOARD_MESSAGE + 1));
    rig_free(&rig);
}
END_TEST

START_TEST(test_gone)
{
    Rig rig = pair_new(350);

    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 350);
    timed_board_leave(rig.machine[0], 1);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0),
                     TIMED_BOARD_NEVER);
    for (unsigned i = 0; i < 1000; i++) { /* nobody takes these */
        ck_assert(timed_board_send(rig.machine[0], 0, i, "x", 1));
    }
    rig_free(&rig);
}
END_TEST

/* A machine that returns is waited for again, and gets nothing of what was sent
 * before. Its own last messages still come, after those of the link's training.
 */
START_TEST(test_return)
{
    TimedBoardLink link = {"ab", {0, 1}, 350, TRAINING};
    Rig rig = rig_new(2, &link, 1);
    TimedBoardMessage m;

    timed_board_set_limit(rig.machine[0], 5000);
    timed_board_report(rig.machine[0], 5000, 5000);
    timed_board_report(rig.machine[1], 5000, 5000);
    ck_assert(timed_board_send(rig.machine[0], 0, 5000, "old", 3));
    ck_assert_uint_eq(timed_board_departures(rig.machine[0], 1), 0);
    timed_board_set_busy(rig.machine[1], true);
    timed_board_leave(rig.machine[0], 1);
    timed_board_leave(rig.machine[0], 1);
    ck_assert_uint_eq(timed_board_departures(rig.machine[0], 1), 1);
    ck_assert_uint_eq(timed_board_returns(rig.machine[0], 1), 0);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 5000, 5000),
                     TIMED_BOARD_NEVER);
    ck_assert(timed_board_send(rig.machine[0], 0, 5000, "lost", 4));

    timed_board_return(rig.machine[0], 1);
    timed_board_close(rig.machine[1]);
    rig.machine[1] = timed_board_open(rig.fd, 1);
    ck_assert_ptr_nonnull(rig.machine[1]);
    ck_assert_uint_eq(timed_board_returns(rig.machine[0], 1), 1);
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    ck_assert(!timed_board_is_busy(rig.machine[0], 1));
    ck_assert_int_eq(timed_board_report(rig.machine[0], 5000, 5000),
                     5000 + TRAINING);
    ck_assert(!timed_board_take(rig.machine[1], 0, &m));
    ck_assert(timed_board_send(rig.machine[1], 1, 5000, "new", 3));
    ck_assert(timed_board_take(rig.machine[0], 1, &m));
    ck_assert_int_eq(m.arrival, 5000 + TRAINING);
    rig_free(&rig);
}
END_TEST

/* A message that the model accepts of a machine that is no more does not reach
 * the one that has returned. */
START_TEST(test_accept_after_return)
{
    Rig rig = pair_new(350);
    TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .wants_accept = 1};

    timed_board_add_model(rig.machine[0]);
    timed_board_set_up(rig.machine[1], 1, 0, true);
    ck_assert(timed_board_cross(rig.machine[1], 1, 10, &crossing, "x", 1));
    ck_assert_int_eq(timed_board_accepted(rig.machine[1]), -1);
    timed_board_leave(rig.machine[0], 1);
    timed_board_return(rig.machine[0], 1);
    timed_board_accept(rig.machine[0], 1, 60);
    ck_assert_int_eq(timed_board_accepted(rig.machine[1]), TIMED_BOARD_NEVER);
    rig_free(&rig);
}
END_TEST

/* The fault that came first has switched the machine off, and the next machine
 * is not off. Its events go on from those of the one before. */
START_TEST(test_faults_of_a_machine)
{
    Rig rig = pair_new(350);

    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 1), -1);
    timed_board_count_event(rig.machine[1], 7, 900);
    timed_board_count_event(rig.machine[1], 7, 1000);
    timed_board_fall(rig.machine[1], 7);
    timed_board_fall(rig.machine[1], 0);
    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 1), 7);
    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 0), -1);
    timed_board_leave(rig.machine[0], 1);
    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 1), -1);
    timed_board_return(rig.machine[0], 1);
    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 1), -1);
    ck_assert_int_eq(timed_board_events(rig.machine[0], 7).count, 2);
    ck_assert_int_eq(timed_board_events(rig.machine[0], 7).last_ns, 1000);
    ck_assert_int_eq(timed_board_events(rig.machine[0], 0).count, 0);
    timed_board_fall(rig.machine[1], 0);
    ck_assert_int_eq(timed_board_fallen(rig.machine[0], 1), 0);
    timed_board_forget_events(rig.machine[0]);
    ck_assert_int_eq(timed_board_events(rig.machine[0], 7).count, 0);
    rig_free(&rig);
}
END_TEST

/* A CPU's store begins at the time at which a message arrives. The store enters
 * the model when its machine has promised more, so when that has delivered the
 * message; and it delivers it before it knows when the store has left. */
START_TEST(test_store_and_message)
{
    Rig rig = pair_new(350);
    TimedBoard *model = timed_board_open_model(rig.fd);
    TimedCrossing crossing = {.kind = TIMED_CROSSING_WRITE, .wants_accept = 1};
    const int64_t bounds[] = {TIMED_BOARD_NEVER, 360}, accepts[] = {-1, 10};
    uint8_t bytes[TIMED_BOARD_MESSAGE];
    TimedBoardMessage m;

    ck_assert_ptr_nonnull(model);
    timed_board_add_model(model);
    timed_board_set_up(rig.machine[0], 0, 0, true);
    timed_board_set_up(rig.machine[1], 1, 0, true);
    timed_board_report(rig.machine[0], 5, 300);
    timed_board_deliver(model, 0, 10, "m", 1);
    ck_assert(timed_board_cross(rig.machine[1], 1, 10, &crossing, "x", 1));
    ck_assert(timed_board_take_crossing(model, &crossing, bytes));
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 0);
    ck_assert(timed_board_take(rig.machine[1], 0, &m));
    ck_assert_int_eq(m.arrival, 10);
    ck_assert_int_eq(timed_board_report(rig.machine[1], 10, m.arrival), 11);
    /* No farther, until it is known when the store has left */
    ck_assert_int_eq(timed_board_report(rig.machine[1], 10, 500), 11);
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 300);
    timed_board_accept(model, 1, 60);
    ck_assert_int_gt(timed_board_report(rig.machine[1], 10, 60), 60);
    timed_board_close(model);
    rig_free(&rig);
}
END_TEST

START_TEST(test_stand)
{
    Rig rig = pair_new(350);

    timed_board_set_limit(rig.machine[0], 1000);
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    ck_assert_int_eq(timed_board_stand(rig.machine[0], 1000, 0, WAIT_MS), 1000);
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    ck_assert_int_eq(timed_board_stand(rig.machine[1], 1000, 0, WAIT_MS), 1000);
    ck_assert(timed_board_all_stand(rig.machine[0]));
    /* Input has come: each must say that it has seen it. */
    timed_board_next_round(rig.machine[0]);
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    timed_board_stand(rig.machine[0], 1000, 1, WAIT_MS);
    timed_board_stand(rig.machine[1], 1000, 1, WAIT_MS);
    ck_assert(timed_board_all_stand(rig.machine[0]));
    /* One of them is in the middle of an access. */
    timed_board_set_busy(rig.machine[1], true);
    ck_assert(timed_board_is_busy(rig.machine[0], 1));
    ck_assert(!timed_board_is_busy(rig.machine[0], 0));
    timed_board_set_busy(rig.machine[1], false);
    ck_assert(!timed_board_is_busy(rig.machine[0], 1));
    timed_board_set_limit(rig.machine[0], 2000);
    ck_assert(!timed_board_all_stand(rig.machine[0]));
    ck_assert_int_eq(timed_board_stand(rig.machine[1], 1000, 1, WAIT_MS), 2000);
    rig_free(&rig);
}
END_TEST

#define LATE_US 20000
#define SOON_US 900000

static void *stand_late(void *data)
{
    usleep(LATE_US);
    timed_board_stand(data, 1000, 0, WAIT_MS);
    return NULL;
}

/* The supervisor goes on as soon as the last machine stands. */
START_TEST(test_await_stand)
{
    Rig rig = pair_new(350);
    pthread_t thread;

    timed_board_set_limit(rig.machine[0], 1000);
    timed_board_stand(rig.machine[0], 1000, 0, 0);
    ck_assert(!timed_board_await_stand(rig.machine[0], LATE_US));
    ck_assert_int_eq(pthread_create(&thread, NULL, stand_late, rig.machine[1]),
                     0);
    ck_assert(timed_board_await_stand(rig.machine[0], SOON_US));
    pthread_join(thread, NULL);
    ck_assert(timed_board_await_stand(rig.machine[0], 0));
    rig_free(&rig);
}
END_TEST

START_TEST(test_refused)
{
    char name[NAME_LONG + 1];
    const TimedBoardLink bad[] = {
        {"x", {0, 2}, 1, 1}, {"x", {1, 1}, 1, 1},  {"x", {0, 1}, 0, 1},
        {"x", {0, 1}, 2, 1}, {name, {0, 1}, 1, 1},
    };
    TimedBoardLink good = {"x", {0, 1}, 1, 1};
    Rig rig = rig_new(2, &good, 1);
    int file = fileno(tmpfile());

    memset(name, 'n', NAME_LONG);
    name[NAME_LONG] = '\0';
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        errno = 0;
        ck_assert_int_eq(timed_board_new(2, &bad[i], 1), -1);
        ck_assert_int_eq(errno, EINVAL);
    }
    ck_assert_int_eq(timed_board_new(0, NULL, 0), -1);
    ck_assert_int_eq(timed_board_new(TIMED_BOARD_MACHINES + 1, NULL, 0), -1);
    ck_assert_ptr_null(timed_board_open(rig.fd, 2)); /* there are 0 and 1 */
    ck_assert_ptr_null(timed_board_open(file, 0));
    ck_assert_int_eq(ftruncate(file, 16 << 20), 0);
    ck_assert_ptr_null(timed_board_open(file, 0)); /* large, but no board */
    ck_assert_int_eq(timed_board_find(rig.machine[0], "x"), 0);
    ck_assert_int_eq(timed_board_find(rig.machine[1], "x"), 1);
    ck_assert_int_eq(timed_board_find(rig.machine[1], "y"), -1);
    rig_free(&rig);
}
END_TEST

/* A copy begins as the board is, and then both go their own ways. A machine
 * that stood on the board must stand on the copy itself. */
START_TEST(test_copy)
{
    Rig rig = pair_new(350);
    TimedBoard *a = rig.machine[0], *copy;
    TimedBoardMessage m;
    int fd;

    timed_board_set_limit(a, 2000);
    timed_board_report(a, 100, 100);
    ck_assert(timed_board_send(a, 0, 100, "early", 6));
    timed_board_stand(a, 2000, timed_board_round(a), 0);
    timed_board_stand(rig.machine[1], 2000, timed_board_round(a), 0);
    ck_assert(timed_board_all_stand(a));

    fd = timed_board_copy(a);
    ck_assert_int_ge(fd, 0);
    copy = timed_board_open(rig.fd, 1);
    ck_assert(timed_board_become(copy, fd));
    ck_assert(!timed_board_all_stand(copy));
    ck_assert(timed_board_send(a, 0, 2000, "late", 5));
    timed_board_set_limit(copy, 3000);
    ck_assert_int_eq(timed_board_limit(a), 2000);

    ck_assert(timed_board_take(copy, 0, &m));
    ck_assert_str_eq((const char *)m.bytes, "early");
    ck_assert_int_eq(m.arrival, 450);
    ck_assert(!timed_board_take(copy, 0, &m));
    ck_assert(timed_board_take(rig.machine[1], 0, &m));
    ck_assert_str_eq((const char *)m.bytes, "early");
    ck_assert(timed_board_take(rig.machine[1], 0, &m));
    ck_assert_str_eq((const char *)m.bytes, "late");

    ck_assert_uint_eq(timed_board_wakeups(copy), 0);
    timed_board_wake_model(copy);
    ck_assert_uint_eq(timed_board_wakeups(copy), 1);
    ck_assert_uint_eq(timed_board_wakeups(a), 0);
    timed_board_close(copy);
    close(fd);
    rig_free(&rig);
}
END_TEST

/* The model must not compute past a crossing that it has not taken, although
 * all machines have promised more since. */
START_TEST(test_untaken_crossing)
{
    static const int64_t bounds[] = {TIMED_BOARD_NEVER, TIMED_BOARD_NEVER};
    static const int64_t accepts[] = {-1, -1};
    TimedCrossing crossing = {.kind = TIMED_CROSSING_READ, .bytes = 4};
    static uint8_t bytes[TIMED_BOARD_MESSAGE];
    Rig rig = pair_new(350);
    TimedBoard *model;

    timed_board_add_model(rig.machine[0]);
    model = timed_board_open_model(rig.fd);
    for (unsigned i = 0; i < 2; i++) {
        timed_board_set_up(rig.machine[i], i, 0, true);
        timed_board_report(rig.machine[i], 0, 100);
    }
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 100);
    ck_assert(timed_board_cross(rig.machine[0], 0, 100, &crossing, "r", 2));
    ck_assert(timed_board_cross(rig.machine[0], 0, 120, &crossing, "r", 2));
    timed_board_report(rig.machine[0], 120, 900);
    timed_board_report(rig.machine[1], 120, 800);
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 100);
    ck_assert(timed_board_take_crossing(model, &crossing, bytes));
    ck_assert_int_eq(crossing.time, 100);
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 120);
    ck_assert(timed_board_take_crossing(model, &crossing, bytes));
    ck_assert_int_eq(timed_board_report_model(model, bounds, accepts), 800);
    timed_board_close(model);
    rig_free(&rig);
}
END_TEST

/* Training may become shorter, but never shorter than the latency. */
START_TEST(test_shorter_training)
{
    TimedBoardLink link = {"ab", {0, 1}, 350, TRAINING};
    Rig rig = rig_new(2, &link, 1);

    timed_board_report(rig.machine[1], 0, 500);
    timed_board_set_training(rig.machine[0], 0, 2 * TRAINING);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 500 + TRAINING);
    timed_board_set_training(rig.machine[0], 0, 400);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 500 + 400);
    timed_board_set_training(rig.machine[0], 0, 1);
    ck_assert_int_eq(timed_board_report(rig.machine[0], 0, 0), 500 + 350);
    rig_free(&rig);
}
END_TEST

/* Texts and descriptors pass a line; a line whose other end is closed says so.
 */
START_TEST(test_control)
{
    static TimedControlPacket packet;
    int line[2], ends[2], copy;
    char byte = 0;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line), 0);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert(!timed_control_receive(line[1], &packet, 0));
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert(timed_control_send(line[0], "branch\nfd 3\n", &ends[1], 1));
    ck_assert(timed_control_send(line[0], "probe", NULL, 0));
    ck_assert(timed_control_receive(line[1], &packet, 1000));
    ck_assert_str_eq(packet.text, "branch\nfd 3\n");
    ck_assert_uint_eq(packet.count, 1);
    copy = packet.fds[0];
    ck_assert_int_eq(write(copy, "x", 1), 1);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'x');
    timed_control_close(&packet);
    ck_assert_int_eq(write(copy, "x", 1), -1);
    ck_assert(timed_control_receive(line[1], &packet, 1000));
    ck_assert_str_eq(packet.text, "probe");
    ck_assert_uint_eq(packet.count, 0);
    close(line[0]);
    ck_assert(!timed_control_receive(line[1], &packet, 1000));
    ck_assert_int_eq(errno, EPIPE);
    close(line[1]);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* A process that shall end with a line is killed when the other end closes. */
START_TEST(test_end_with_line)
{
    int line[2], status;
    pid_t pid;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, line), 0);
    pid = fork();
    if (pid == 0) {
        close(line[0]);
        if (!timed_control_die_with(line[1]) ||
            !timed_control_send(line[1], "ok", NULL, 0)) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    close(line[1]);
    ck_assert_int_eq(recv(line[0], &status, sizeof(status), 0), 3);
    ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    close(line[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}
END_TEST

/*
 * Machines as threads. Each does something at times of its own, and sends then
 * and when a message comes. It writes down what it sees.
 */
#define PLAYERS  4
#define END_TIME 300000
#define LOG_MAX  (1 << 20)

typedef struct Player {
    TimedBoard *board;
    unsigned self, spins;
    int64_t now, horizon;
    uint64_t random;
    TimedBoardMessage *waiting[64]; /* indexed by channel; the first one */
    char *log;
    size_t length;
} Player;

static uint64_t draw(Player *p)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return p->random >> 33;
}

static void pull(Player *p)
{
    for (unsigned c = 0; c < timed_board_channels(p->board); c++) {
        TimedBoardMessage m;

        if (!timed_board_is_inbound(p->board, c) || p->waiting[c] ||
            !timed_board_take(p->board, c, &m)) {
            continue;
        }
        ck_assert_int_ge(m.arrival, p->now); /* never from the past */
        p->waiting[c] = malloc(sizeof(m));
        *p->waiting[c] = m;
    }
}

static int next_channel(const Player *p)
{
    int best = -1;

    for (unsigned c = 0; c < timed_board_channels(p->board); c++) {
        if (p->waiting[c] &&
            (best < 0 || p->waiting[c]->arrival < p->waiting[best]->arrival ||
             (p->waiting[c]->arrival == p->waiting[best]->arrival &&
              timed_board_source(p->board, c) <
                  timed_board_source(p->board, (unsigned)best)))) {
            best = (int)c;
        }
    }
    return best;
}

static void send_somewhere(Player *p)
{
    unsigned channels = timed_board_channels(p->board);
    unsigned c = (unsigned)(draw(p) % channels);

    while (timed_board_is_inbound(p->board, c) ||
           timed_board_source(p->board, c) != p->self) {
        c = (c + 1) % channels;
    }
    while (!timed_board_send(p->board, c, p->now, &p->now, sizeof(p->now))) {
        pull(p);
    }
}

static void note(Player *p, const char *what, int64_t value)
{
    int n = snprintf(p->log + p->length, LOG_MAX - p->length, "%lld %s %lld\n",
                     (long long)p->now, what, (long long)value);

    p->length += (size_t)n;
    ck_assert_uint_lt(p->length, LOG_MAX);
}

/* Goes to the next thing that happens, at @own at the latest. */
static void go_on(Player *p, int64_t own)
{
    for (;;) {
        int channel;
        int64_t until;

        pull(p);
        channel = next_channel(p);
        until = channel >= 0 && p->waiting[channel]->arrival < own
                    ? p->waiting[channel]->arrival
                    : own;
        p->horizon = timed_board_report(p->board, p->now, until);
        if (p->horizon > until) {
            pull(p);
            channel = next_channel(p);
            if (channel < 0 || p->waiting[channel]->arrival >= until) {
                p->now = until;
                return;
            }
        } else {
            timed_board_wait(p->board, until, p->spins, WAIT_MS);
        }
    }
}

static void *play(void *data)
{
    Player *p = data;
    int64_t own = (int64_t)(draw(p) % 500);

    while (p->now < END_TIME) {
        int channel;

        go_on(p, own);
        if (p->now == own) { /* local things come first */
            note(p, "own", own);
            own += 1 + (int64_t)(draw(p) % 700);
            if (draw(p) % 2 == 0) {
                send_somewhere(p);
            }
        }
        while ((channel = next_channel(p)) >= 0 &&
               p->waiting[channel]->arrival <= p->now) {
            TimedBoardMessage *m = p->waiting[channel];

            note(p, "message", (int64_t)m->sequence * 100 + channel);
            free(m);
            p->waiting[channel] = NULL;
            if (draw(p) % 3 == 0) {
                send_somewhere(p);
            }
            pull(p);
        }
    }
    timed_board_leave(p->board, p->self);
    return NULL;
}

/* Returns all logs together, to be freed. */
static char *play_all(unsigned spins)
{
    static const TimedBoardLink links[] = {
        {"ab", {0, 1}, 350, 350}, {"bc", {1, 2}, 90, 90},
        {"cd", {2, 3}, 350, 350}, {"da", {3, 0}, 1000, 1000},
        {"ac", {0, 2}, 500, 500},
    };
    Rig rig = rig_new(PLAYERS, links, sizeof(links) / sizeof(*links));
    char *all = calloc(PLAYERS, LOG_MAX);
    pthread_t thread[PLAYERS];
    Player player[PLAYERS];

    memset(player, 0, sizeof(player));
    for (unsigned i = 0; i < PLAYERS; i++) {
        player[i].board = rig.machine[i];
        player[i].self = i;
        player[i].spins = spins;
        player[i].random = i + 1;
        player[i].log = malloc(LOG_MAX);
        pthread_create(&thread[i], NULL, play, &player[i]);
    }
    for (unsigned i = 0; i < PLAYERS; i++) {
        pthread_join(thread[i], NULL);
        ck_assert_uint_gt(player[i].length, 1000);
        strcat(all, player[i].log);
        free(player[i].log);
        for (unsigned c = 0; c < 64; c++) {
            free(player[i].waiting[c]);
        }
    }
    rig_free(&rig);
    return all;
}

START_TEST(test_repeats)
{
    char *first = play_all(0);
    char *second = play_all(2000);

    ck_assert_str_eq(first, second);
    free(first);
    free(second);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timed_board");
    TCase *cases = tcase_create("board");

    tcase_add_test(cases, test_horizon);
    tcase_add_test(cases, test_answer);
    tcase_add_test(cases, test_chain);
    tcase_add_test(cases, test_training);
    tcase_add_test(cases, test_full);
    tcase_add_test(cases, test_gone);
    tcase_add_test(cases, test_return);
    tcase_add_test(cases, test_accept_after_return);
    tcase_add_test(cases, test_faults_of_a_machine);
    tcase_add_test(cases, test_store_and_message);
    tcase_add_test(cases, test_stand);
    tcase_add_test(cases, test_await_stand);
    tcase_add_test(cases, test_refused);
    tcase_add_test(cases, test_untaken_crossing);
    tcase_add_test(cases, test_copy);
    tcase_add_test(cases, test_shorter_training);
    tcase_add_test(cases, test_control);
    tcase_add_test(cases, test_end_with_line);
    tcase_add_test(cases, test_repeats);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
