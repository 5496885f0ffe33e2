/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_board_priv.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Looks between two offers of the processor to others */
#define YIELD 32

/* Also true at the end of time. */
static int64_t add(int64_t time, int64_t ns)
{
    return time > TIMED_BOARD_NEVER - ns ? TIMED_BOARD_NEVER : time + ns;
}

int64_t timed_board_next_arrival(const TimedBoard *board, unsigned channel,
                                 int64_t active)
{
    const Channel *c = &board->shared->channel[channel];
    int64_t least = board->way[channel].latency_ns;
    int64_t way = c->is_up ? least : c->training_ns;
    int64_t floor = c->floor;
    int64_t arrival = add(active, way > least ? way : least);

    return arrival > floor ? arrival : floor;
}

int64_t timed_board_least_promise(const TimedBoard *board)
{
    const Shared *s = board->shared;
    int64_t least = TIMED_BOARD_NEVER;
    unsigned i;

    for (i = 0; i < board->machines; i++) {
        if (!s->machine[i].is_gone && s->machine[i].promise < least) {
            least = s->machine[i].promise;
        }
    }
    return least;
}

/* The earliest time at which @machine does anything: of its own accord, when
 * its CPU goes on, or when a crossing arrives there. */
static int64_t active_of(const TimedBoard *board, unsigned machine)
{
    const Shared *s = board->shared;
    const Machine *m = &s->machine[machine];
    int64_t active =
        m->promise < m->accept_bound ? m->promise : m->accept_bound;
    unsigned i;

    for (i = 0; i < board->channels; i++) {
        const Channel *c = &s->channel[i];

        if (board->way[i].to == machine && c->bound < active) {
            active = c->bound;
        }
    }
    return active;
}

/*
 * A message that comes to @self begins at some machine of its own accord, and
 * may then make others send. What @self itself has not sent yet does not count:
 * it will not have been sent while @self runs up to this horizon without
 * sending, and whoever sends asks for a new one.
 */
static int64_t horizon_of(const TimedBoard *board, unsigned self)
{
    const Shared *s = board->shared;
    int64_t active[TIMED_BOARD_MACHINES];
    int64_t horizon = TIMED_BOARD_NEVER;
    bool changed = true;
    unsigned i, turn;

    if (self == board->machines) {
        return timed_board_least_promise(board);
    }
    for (i = 0; i < board->machines; i++) {
        active[i] = i == self || s->machine[i].is_gone ? TIMED_BOARD_NEVER
                                                       : active_of(board, i);
    }
    /*
     * Not before its accept bound the CPU goes on. Messages of that same time
     * come before it does, so they must not wait: if the crossing itself is of
     * that time, it enters the model only after them.
     */
    horizon = add(s->machine[self].accept_bound,
                  s->machine[self].accept_bound == s->machine[self].stored);
    for (i = 0; i < board->channels; i++) {
        const Channel *c = &s->channel[i];

        if (board->way[i].to == self) {
            horizon = c->bound < horizon ? c->bound : horizon;
        }
    }
    /* A way takes time, so no way through more than all machines is the first:
     * more turns come only from values that change meanwhile. */
    for (turn = 0; changed && turn <= board->machines; turn++) {
        changed = false;
        for (i = 0; i < board->channels; i++) {
            unsigned from = board->way[i].from, to = board->way[i].to;
            int64_t arrival;

            if (active[from] == TIMED_BOARD_NEVER) {
                continue;
            }
            arrival = timed_board_next_arrival(board, i, active[from]);
            if (to == self) {
                horizon = arrival < horizon ? arrival : horizon;
            } else if (arrival < active[to] && !s->machine[to].is_gone) {
                active[to] = arrival;
                changed = true;
            }
        }
    }
    return horizon;
}

void timed_board_wake(Machine *m)
{
    __atomic_add_fetch(&m->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&m->is_asleep, __ATOMIC_SEQ_CST)) {
        syscall(SYS_futex, &m->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

void timed_board_update(TimedBoard *board)
{
    Shared *s = board->shared;
    unsigned i;

    for (i = 0; i < board->machines + (s->has_model ? 1 : 0); i++) {
        Machine *m = &s->machine[i];
        int64_t horizon = horizon_of(board, i);

        if (horizon != m->horizon) {
            __atomic_store_n(&m->horizon, horizon, __ATOMIC_SEQ_CST);
            if (m->is_asleep && horizon > m->want) {
                timed_board_wake(m);
            }
        }
    }
}

bool timed_board_read_head(TimedBoard *board, unsigned channel, uint64_t at,
                           size_t used, Head *ret_head)
{
    board_ring_get(board->shared->rings[channel], at, ret_head,
                   sizeof(*ret_head));
    if (ret_head->size > TIMED_BOARD_MESSAGE ||
        board_room(ret_head->size) > used) {
        board_damaged(board, "a message on it is longer than a message can be");
        return false;
    }
    return true;
}

/*
 * The earliest arrival of the messages that wait in a channel; NEVER if none
 * waits. One that the model delivered may arrive before one that was sent
 * directly, when the link was down, and lies before it.
 */
static int64_t first_waiting(TimedBoard *board, unsigned channel)
{
    const Channel *c = &board->shared->channel[channel];
    int64_t first = TIMED_BOARD_NEVER;
    uint64_t at = c->taken;
    size_t used;
    Head head;

    if (!board_ring_used(c->written, at, &used)) {
        board_damaged(board, "the counts of messages on it do not fit");
        return first;
    }
    while (used > 0 && timed_board_read_head(board, channel, at, used, &head)) {
        first = head.arrival < first ? head.arrival : first;
        at += board_room(head.size);
        used -= board_room(head.size);
    }
    return first;
}

int64_t timed_board_report(TimedBoard *board, int64_t now, int64_t promise)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    int64_t horizon, first;
    unsigned i;

    if (!board_lock(board)) {
        return now;
    }
    for (i = 0; i < board->channels; i++) {
        if (board->way[i].to == board->self) {
            first = first_waiting(board, i);
            promise = first < promise ? first : promise;
        }
    }
    if (m->accepted >= 0 && m->accepted < promise) {
        promise = m->accepted;
    }
    __atomic_store_n(&m->now, now, __ATOMIC_RELAXED);
    if (m->promise != promise) {
        m->promise = promise;
        timed_board_update(board);
    }
    horizon = m->horizon = horizon_of(board, board->self);
    board_unlock(board);
    return board->error ? now : horizon;
}

/* Waiting */

static bool has_message(const TimedBoard *board)
{
    const Shared *s = board->shared;
    bool is_model = board->self == board->machines;
    unsigned i;

    for (i = 0; i < board->channels; i++) {
        const Channel *c = &s->channel[i];

        if (is_model ? __atomic_load_n(&c->crossed, __ATOMIC_SEQ_CST) != c->seen
                     : board->way[i].to == board->self &&
                           __atomic_load_n(&c->written, __ATOMIC_SEQ_CST) !=
                               c->taken) {
            return true;
        }
    }
    return false;
}

/* The value of the futex is read before each look, so a change after the look
 * ends the sleep. */
static bool must_look(TimedBoard *board, int64_t want, uint32_t *ret_word)
{
    Machine *m = &board->shared->machine[board->self];

    *ret_word = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    return *ret_word != board->seen ||
           __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST) > want ||
           has_message(board);
}

/*
 * Waits for the next look. Two machines and the model are more than two
 * processors: who is waited for may be one that has none.
 */
static void pause_cpu(unsigned look)
{
    if (look % YIELD == YIELD - 1) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

int64_t timed_board_wait(TimedBoard *board, int64_t want, unsigned spins,
                         int timeout_ms)
{
    Machine *m = &board->shared->machine[board->self];
    struct timespec ts = {.tv_sec = timeout_ms / 1000,
                          .tv_nsec = timeout_ms % 1000 * 1000000L};
    uint32_t word;
    unsigned i;

    for (i = 0; i < spins; i++) {
        if (must_look(board, want, &word)) {
            board->seen = word;
            return __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST);
        }
        pause_cpu(i);
    }
    if (!board_lock(board)) {
        return __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST);
    }
    m->want = want;
    __atomic_store_n(&m->is_asleep, true, __ATOMIC_SEQ_CST);
    board_unlock(board);
    if (!must_look(board, want, &word)) {
        syscall(SYS_futex, &m->word, FUTEX_WAIT, word, &ts, NULL, 0);
    }
    __atomic_store_n(&m->is_asleep, false, __ATOMIC_SEQ_CST);
    board->seen = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST);
}
