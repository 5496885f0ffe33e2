/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_board_priv.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The longest wait of a process that has other things to do */
#define LOOK_MS 1

int64_t timed_board_limit(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->limit, __ATOMIC_SEQ_CST);
}

uint32_t timed_board_round(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->round, __ATOMIC_SEQ_CST);
}

int64_t timed_board_stand(TimedBoard *board, int64_t now, uint32_t round,
                          int timeout_ms)
{
    struct timespec ts = {.tv_sec = timeout_ms / 1000,
                          .tv_nsec = timeout_ms % 1000 * 1000000L};
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    uint32_t word;

    if (!board_lock(board)) {
        return now;
    }
    m->stands = now;
    m->round = round;
    board_unlock(board);
    __atomic_add_fetch(&s->stops, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &s->stops, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    __atomic_store_n(&m->is_asleep, true, __ATOMIC_SEQ_CST);
    word = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    if (timed_board_limit(board) <= now && timed_board_round(board) == round) {
        syscall(SYS_futex, &m->word, FUTEX_WAIT, word, &ts, NULL, 0);
    }
    __atomic_store_n(&m->is_asleep, false, __ATOMIC_SEQ_CST);
    if (timed_board_limit(board) > now) {
        if (!board_lock(board)) {
            return now;
        }
        m->stands = -1;
        board_unlock(board);
    }
    return timed_board_limit(board);
}

void timed_board_set_busy(TimedBoard *board, bool busy)
{
    __atomic_store_n(&board->shared->machine[board->self].is_busy, busy,
                     __ATOMIC_SEQ_CST);
}

bool timed_board_is_busy(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].is_busy,
                           __ATOMIC_SEQ_CST);
}

static void wake_all(TimedBoard *board)
{
    unsigned i;

    for (i = 0; i < board->machines; i++) {
        timed_board_wake(&board->shared->machine[i]);
    }
}

void timed_board_set_limit(TimedBoard *board, int64_t limit)
{
    Shared *s = board->shared;

    __atomic_store_n(&s->limit, limit, __ATOMIC_SEQ_CST);
    wake_all(board);
}

void timed_board_next_round(TimedBoard *board)
{
    Shared *s = board->shared;

    __atomic_add_fetch(&s->round, 1, __ATOMIC_SEQ_CST);
    wake_all(board);
}

bool timed_board_all_stand(TimedBoard *board)
{
    Shared *s = board->shared;
    bool all = true;
    unsigned i;

    /* A machine that was stopped may hold the lock. */
    if (!board_try_lock(board, LOOK_MS)) {
        return false;
    }
    for (i = 0; i < board->machines; i++) {
        const Machine *m = &s->machine[i];

        if (!m->is_gone && (m->stands != s->limit || m->round != s->round)) {
            all = false;
        }
    }
    board_unlock(board);
    return all;
}

bool timed_board_await_stand(TimedBoard *board, int timeout_us)
{
    uint32_t *stops = &board->shared->stops;
    struct timespec now, end, left;
    uint32_t before;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += timeout_us * 1000L;
    for (;;) {
        before = __atomic_load_n(stops, __ATOMIC_SEQ_CST);
        if (timed_board_all_stand(board)) {
            return true;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        left.tv_sec = 0;
        left.tv_nsec =
            (end.tv_sec - now.tv_sec) * 1000000000L + end.tv_nsec - now.tv_nsec;
        if (left.tv_nsec <= 0) {
            return false;
        }
        syscall(SYS_futex, stops, FUTEX_WAIT, before, &left, NULL, 0);
    }
}

void timed_board_leave(TimedBoard *board, unsigned machine)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];
    unsigned i;

    board_take_lock_from(board, machine);
    if (!board_lock(board)) {
        return;
    }
    if (!m->is_gone) {
        m->is_gone = true;
        m->accepted = TIMED_BOARD_NEVER;
        m->accept_bound = TIMED_BOARD_NEVER;
        __atomic_add_fetch(&m->departures, 1, __ATOMIC_SEQ_CST);
    }
    for (i = 0; i < board->channels; i++) {
        if (board->way[i].from == machine) {
            s->channel[i].is_up = false;
        }
    }
    timed_board_update(board);
    board_unlock(board);
}

void timed_board_return(TimedBoard *board, unsigned machine)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];
    unsigned i;

    if (!board_lock(board)) {
        return;
    }
    for (i = 0; i < board->channels; i++) {
        if (board->way[i].to == machine) {
            s->channel[i].taken = s->channel[i].written;
        }
    }
    m->is_gone = false;
    m->fallen = 0;
    m->is_asleep = false;
    m->is_busy = false;
    m->now = s->limit;
    m->promise = s->limit;
    m->stands = -1;
    timed_board_update(board);
    board_unlock(board);
}

uint32_t timed_board_departures(const TimedBoard *board, unsigned channel)
{
    const Shared *s = board->shared;

    return __atomic_load_n(&s->machine[board->way[channel].from].departures,
                           __ATOMIC_SEQ_CST);
}

uint32_t timed_board_returns(const TimedBoard *board, unsigned channel)
{
    const Shared *s = board->shared;
    const Machine *m = &s->machine[board->way[channel].from];

    return m->departures - m->is_gone;
}

void timed_board_fall(TimedBoard *board, unsigned fault)
{
    int32_t *fallen = &board->shared->machine[board->self].fallen;
    int32_t none = 0;

    __atomic_compare_exchange_n(fallen, &none, (int32_t)fault + 1, false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int timed_board_fallen(const TimedBoard *board, unsigned machine)
{
    const Machine *m = &board->shared->machine[machine];

    return m->is_gone ? -1 : __atomic_load_n(&m->fallen, __ATOMIC_SEQ_CST) - 1;
}

void timed_board_count_event(TimedBoard *board, unsigned fault, int64_t now)
{
    TimedBoardEvents *events = &board->shared->events[fault];

    __atomic_store_n(&events->last_ns, now, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&events->count, 1, __ATOMIC_SEQ_CST);
}

TimedBoardEvents timed_board_events(const TimedBoard *board, unsigned fault)
{
    const TimedBoardEvents *events = &board->shared->events[fault];

    return (TimedBoardEvents){
        .count = __atomic_load_n(&events->count, __ATOMIC_SEQ_CST),
        .last_ns = __atomic_load_n(&events->last_ns, __ATOMIC_SEQ_CST),
    };
}

void timed_board_forget_events(TimedBoard *board)
{
    memset(board->shared->events, 0, sizeof(board->shared->events));
}
