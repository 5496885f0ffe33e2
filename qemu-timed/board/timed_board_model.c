/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#include "timed_board_priv.h"

#include <unistd.h>

/* Messages that the model delivers come after others of the same time. */
#define MODELLED (UINT64_C(1) << 63)

void timed_board_add_model(TimedBoard *board)
{
    board->shared->has_model = 1;
}

bool timed_board_is_crossing(const TimedBoard *board, unsigned channel)
{
    return board->shared->has_model && board->shared->channel[channel].is_up;
}

/* The bytes that wait for the model in @channel's ring. False, and the board is
 * damaged, if that cannot be. */
static bool find_crossing(TimedBoard *board, unsigned channel, size_t *ret_used)
{
    const Channel *c = &board->shared->channel[channel];

    if (board_ring_used(c->crossed, c->seen, ret_used)) {
        return true;
    }
    board_damaged(board, "the counts of crossings on it do not fit");
    return false;
}

bool timed_board_cross(TimedBoard *board, unsigned channel, int64_t now,
                       const TimedCrossing *crossing, const void *bytes,
                       size_t size)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    Channel *c = &s->channel[channel];
    uint8_t *ring = s->rings[board->channels + channel];
    TimedCrossing head = *crossing;
    size_t whole = sizeof(head) + size, used;
    bool fits;

    if (!board_lock(board)) {
        return false;
    }
    fits = size <= TIMED_BOARD_MESSAGE &&
           find_crossing(board, channel, &used) &&
           used + board_room(whole) <= RING_USED;
    if (fits) {
        head.channel = channel;
        head.machine = board->self;
        head.size = (uint32_t)size;
        head.sequence = m->crossings++;
        head.time = now;
        head.least = timed_board_next_arrival(board, channel, now);
        board_ring_put(ring, c->crossed, &head, sizeof(head));
        board_ring_put(ring, c->crossed + sizeof(head), bytes, size);
        /* First: if this process ends here, no crossing without its bound. */
        if (head.kind != TIMED_CROSSING_PLACE && head.least < c->bound) {
            board_publish(&c->bound, head.least);
        }
        if (head.wants_accept) {
            m->accepted = -1;
            m->accept_bound = now;
            m->stored = now;
        }
        board_publish(&c->crossed, c->crossed + board_room(whole));
        timed_board_update(board);
    }
    timed_board_wake(&s->machine[board->machines]);
    board_unlock(board);
    return fits;
}

int64_t timed_board_accepted(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->machine[board->self].accepted,
                           __ATOMIC_SEQ_CST);
}

void timed_board_go_on(TimedBoard *board)
{
    Machine *m = &board->shared->machine[board->self];

    if (board_lock(board)) {
        m->accepted = TIMED_BOARD_NEVER;
        m->accept_bound = TIMED_BOARD_NEVER;
        board_unlock(board);
    }
}

/*
 * Copies the next crossing of @channel. The board itself says where it comes
 * from. False if there is none, or if it is none that a machine can make; then
 * the board is damaged.
 */
static bool read_crossing(TimedBoard *board, unsigned channel,
                          TimedCrossing *ret_crossing)
{
    const Shared *s = board->shared;
    TimedCrossing *c = ret_crossing;
    size_t used;

    if (!find_crossing(board, channel, &used) || used == 0) {
        return false;
    }
    board_ring_get(s->rings[board->channels + channel],
                   s->channel[channel].seen, c, sizeof(*c));
    c->channel = channel;
    c->machine = board->way[channel].from;
    if (c->size <= TIMED_BOARD_MESSAGE &&
        board_room(sizeof(*c) + c->size) <= used &&
        c->kind <= TIMED_CROSSING_PLACE && c->bytes <= TIMED_BOARD_MESSAGE &&
        c->time >= 0 && c->least >= c->time &&
        memchr(c->device, 0, sizeof(c->device))) {
        return true;
    }
    board_damaged(board, "a crossing on it is none that a machine can make");
    return false;
}

bool timed_board_take_crossing(TimedBoard *board, TimedCrossing *ret_crossing,
                               uint8_t ret_bytes[TIMED_BOARD_MESSAGE])
{
    Shared *s = board->shared;
    bool found = false;
    unsigned i;

    if (!board_lock(board)) {
        return false;
    }
    for (i = 0; i < board->channels && !found; i++) {
        const uint8_t *ring = s->rings[board->channels + i];
        Channel *c = &s->channel[i];

        found = read_crossing(board, i, ret_crossing);
        if (found) {
            board_ring_get(ring, c->seen + sizeof(*ret_crossing), ret_bytes,
                           ret_crossing->size);
            board_publish(&c->seen, c->seen + board_room(sizeof(*ret_crossing) +
                                                         ret_crossing->size));
        }
    }
    board_unlock(board);
    return found;
}

/* True if @size bytes fit into @channel's ring, or nobody takes them. */
static bool has_room(TimedBoard *board, unsigned channel, size_t size)
{
    const Shared *s = board->shared;
    const Channel *c = &s->channel[channel];
    size_t used;

    if (s->machine[board->way[channel].to].is_gone) {
        return true;
    }
    if (!board_ring_used(c->written, c->taken, &used)) {
        board_damaged(board, "the counts of messages on it do not fit");
        return true;
    }
    return used + board_room(size) <= RING_USED;
}

void timed_board_deliver(TimedBoard *board, unsigned channel, int64_t arrival,
                         const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[board->way[channel].to];
    Head head = {.arrival = arrival, .size = size};

    if (!board_lock(board)) {
        return;
    }
    /* The receiver may have been stopped. This process has nothing else to do
     * without it, and a signal ends it. */
    while (!has_room(board, channel, size)) {
        board_unlock(board);
        usleep(10);
        if (!board_lock(board)) {
            return;
        }
    }
    if (!to->is_gone && !board->error) {
        head.sequence = MODELLED | c->delivered++;
        board_ring_put(s->rings[channel], c->written, &head, sizeof(head));
        board_ring_put(s->rings[channel], c->written + sizeof(head), bytes,
                       size);
        if (arrival < to->promise) {
            board_publish(&to->promise, arrival);
        }
        board_publish(&c->written, c->written + board_room(size));
        timed_board_update(board);
        timed_board_wake(to);
    }
    board_unlock(board);
}

void timed_board_accept(TimedBoard *board, unsigned machine, int64_t time)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];

    if (!board_lock(board)) {
        return;
    }
    /* The store may be one of a machine that is no more. */
    if (!m->is_gone && m->accepted == -1) {
        if (time < m->promise) {
            m->promise = time;
        }
        board_publish(&m->accepted, time);
        m->accept_bound = TIMED_BOARD_NEVER;
        timed_board_update(board);
        timed_board_wake(m);
    }
    board_unlock(board);
}

/*
 * The time of the earliest crossing that the model has not taken; NEVER if it
 * has taken all. Its sender may have promised more since it gave the crossing.
 */
static int64_t first_untaken(TimedBoard *board)
{
    int64_t first = TIMED_BOARD_NEVER;
    TimedCrossing crossing;
    unsigned i;

    for (i = 0; i < board->channels; i++) {
        if (read_crossing(board, i, &crossing)) {
            first = crossing.time < first ? crossing.time : first;
        }
    }
    return first;
}

int64_t timed_board_report_model(TimedBoard *board, const int64_t *bounds,
                                 const int64_t *accept_bounds)
{
    Shared *s = board->shared;
    int64_t promise, first;
    unsigned i;

    if (!board_lock(board)) {
        return 0;
    }
    for (i = 0; i < board->channels; i++) {
        Channel *c = &s->channel[i];

        if (c->crossed == c->seen || bounds[i] < c->bound) {
            c->bound = bounds[i];
        }
    }
    for (i = 0; i < board->machines; i++) {
        Machine *m = &s->machine[i];

        if (accept_bounds[i] >= 0 && m->accepted == -1) {
            m->accept_bound = accept_bounds[i];
        }
    }
    timed_board_update(board);
    promise = timed_board_least_promise(board);
    first = first_untaken(board);
    promise = first < promise ? first : promise;
    s->machine[board->machines].horizon = promise;
    board_unlock(board);
    return promise;
}

void timed_board_wake_model(TimedBoard *board)
{
    Shared *s = board->shared;

    __atomic_add_fetch(&s->wakeups, 1, __ATOMIC_SEQ_CST);
    timed_board_wake(&s->machine[board->machines]);
}

uint32_t timed_board_wakeups(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->wakeups, __ATOMIC_SEQ_CST);
}
