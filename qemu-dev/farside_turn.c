/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's main loop gives the big lock away only while it polls. During a long
 * DMA there is always work to do, so the poll returns at once. Another thread
 * that waits for the lock is woken up, but finds it taken again before it runs.
 * A drive that reads a peer's memory by requests holds the lock for
 * milliseconds in each turn, and a CPU needs it several times for each
 * interrupt. Measured beside two busy loops, the lender's CPU was late by 2 s,
 * which is when Device Lending takes a host for dead.
 *
 * So the main loop pauses without the lock, in proportion to the time that it
 * has spent on peers. The CPUs then have their share of the time, whatever the
 * amount of DMA: in the same measurement they were late by 0.1 s.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/notify.h"
#include "qemu/timer.h"
#include "farside_qemu.h"
#include "farside_time.h"
#include "farside_turn.h"

/* The main loop pauses when it has spent this time on peers without a rest. */
#define SPENT_NS SCALE_MS
/* The pause takes this part of the time that was spent. */
#define SHARE 4
#define PAUSE_MAX_NS (50 * SCALE_MS)

static struct {
    unsigned users;
    pthread_t thread; /* of the main loop */
    int64_t began; /* at which this turn's work for peers began; 0: none did */
    int64_t polled; /* at which the turn began */
    int64_t spent; /* on peers, without a rest */
} turn;

void farside_turn_note(void)
{
    if (turn.began == 0 && turn.users > 0 &&
        pthread_equal(pthread_self(), turn.thread)) {
        turn.began = get_clock();
    }
}

/* Others may take the lock now. Nothing is under way in this thread. */
static void pause_turn(int64_t ns)
{
    bql_unlock();
    g_usleep(ns / SCALE_US);
    bql_lock();
}

/* The main loop is about to poll. */
static void turn_ends(Notifier *notifier, void *data)
{
    const MainLoopPoll *poll = data;
    int64_t now, spent, rest;

    if (poll->state != MAIN_LOOP_POLL_FILL) {
        return;
    }
    now = get_clock();
    spent = turn.began ? now - turn.began : 0;
    turn.began = 0;
    /* In the poll, and in work that is not ours */
    rest = now - turn.polled - spent;
    turn.spent = MAX(turn.spent - rest, 0) + spent;
    if (turn.spent >= SPENT_NS) {
        pause_turn(MIN(turn.spent / SHARE, PAUSE_MAX_NS));
        turn.spent = 0;
        now = get_clock();
    }
    turn.polled = now;
}

static Notifier turn_notifier = {.notify = turn_ends};

void farside_turn_add_user(void)
{
    if (farside_time()) {
        return;
    }
    if (turn.users++ == 0) {
        turn.thread = pthread_self();
        main_loop_poll_add_notifier(&turn_notifier);
    }
}

void farside_turn_remove_user(void)
{
    if (!farside_time() && --turn.users == 0) {
        main_loop_poll_remove_notifier(&turn_notifier);
    }
}
