/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_board_priv.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Set in the lock: somebody sleeps until it is free. */
#define WAITED    (1u << 31)
#define SLEEP_MS  50
#define SPINS     100
#define NS_PER_MS 1000000

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / NS_PER_MS;
}

static bool replace(uint32_t *lock, uint32_t old, uint32_t new)
{
    return __atomic_compare_exchange_n(lock, &old, new, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

/* Others may sleep, too, so who has slept wakes one of them later. */
static bool lock_slowly(TimedBoard *board, int patience_ms)
{
    static const struct timespec nap = {.tv_nsec = SLEEP_MS * NS_PER_MS};
    uint32_t *lock = &board->shared->lock;
    int64_t end = now_ms() + patience_ms;
    uint32_t old;

    do {
        if (replace(lock, 0, board->lock_id | WAITED)) {
            return true;
        }
        old = __atomic_load_n(lock, __ATOMIC_SEQ_CST);
        if (old != 0 && ((old & WAITED) || replace(lock, old, old | WAITED))) {
            syscall(SYS_futex, lock, FUTEX_WAIT, old | WAITED, &nap, NULL, 0);
        }
    } while (now_ms() < end);
    return false;
}

bool board_try_lock(TimedBoard *board, int patience_ms)
{
    unsigned i;

    if (board->error) {
        return false;
    }
    for (i = 0; i < SPINS; i++) {
        if (replace(&board->shared->lock, 0, board->lock_id)) {
            return true;
        }
    }
    return lock_slowly(board, patience_ms);
}

bool board_lock(TimedBoard *board)
{
    if (board_try_lock(board, BOARD_PATIENCE_MS)) {
        return true;
    }
    board_damaged(board, "its lock is not given back: a process that shares it "
                         "was stopped, or has written over it");
    return false;
}

void board_unlock(TimedBoard *board)
{
    uint32_t *lock = &board->shared->lock;
    uint32_t old = __atomic_exchange_n(lock, 0, __ATOMIC_SEQ_CST);

    if (old & WAITED) {
        syscall(SYS_futex, lock, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

void board_take_lock_from(TimedBoard *board, unsigned machine)
{
    uint32_t old = __atomic_load_n(&board->shared->lock, __ATOMIC_SEQ_CST);

    if ((old & ~WAITED) == machine + 1 &&
        replace(&board->shared->lock, old, 0) && (old & WAITED)) {
        syscall(SYS_futex, &board->shared->lock, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}
