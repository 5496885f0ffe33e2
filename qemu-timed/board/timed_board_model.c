/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#include "timed_board_priv.h"

#include <unistd.h>

/* Messages that the model delivers come after others of the same time. */
#define MODELLED (UINT64_C(1) << 63)

void timed_board_add_model(TimedBoard *board)
{
    board->shared->has_model = 1;
}

bool timed_board_has_model(const TimedBoard *board)
{
    return board->shared->has_model;
}

bool timed_board_is_crossing(const TimedBoard *board, unsigned channel)
{
    return board->shared->has_model && board->shared->channel[channel].is_up;
}

bool timed_board_cross(TimedBoard *board, unsigned channel, int64_t now,
                       const TimedCrossing *crossing, const void *bytes,
                       size_t size)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    Channel *c = &s->channel[channel];
    uint8_t *ring = s->rings[s->channels + channel];
    TimedCrossing head = *crossing;
    size_t whole = sizeof(head) + size;
    bool fits;

    board_lock(s);
    fits = size <= TIMED_BOARD_MESSAGE &&
           c->crossed - c->seen + board_room(whole) <= RING_USED;
    if (fits) {
        head.channel = channel;
        head.machine = board->self;
        head.size = (uint32_t)size;
        head.sequence = m->crossings++;
        head.time = now;
        head.least = timed_board_next_arrival(c, now);
        board_ring_put(ring, c->crossed, &head, sizeof(head));
        board_ring_put(ring, c->crossed + sizeof(head), bytes, size);
        c->crossed += board_room(whole);
        if (head.kind != TIMED_CROSSING_PLACE && head.least < c->bound) {
            c->bound = head.least;
        }
        if (head.wants_accept) {
            m->accepted = -1;
            m->accept_bound = now;
            m->stored = now;
        }
        timed_board_update(s);
    }
    timed_board_wake(&s->machine[s->machines]);
    board_unlock(s);
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

    board_lock(board->shared);
    m->accepted = TIMED_BOARD_NEVER;
    m->accept_bound = TIMED_BOARD_NEVER;
    board_unlock(board->shared);
}

bool timed_board_take_crossing(TimedBoard *board, TimedCrossing *ret_crossing,
                               uint8_t ret_bytes[TIMED_BOARD_MESSAGE])
{
    Shared *s = board->shared;
    bool found = false;
    unsigned i;

    board_lock(s);
    for (i = 0; i < s->channels && !found; i++) {
        const uint8_t *ring = s->rings[s->channels + i];
        Channel *c = &s->channel[i];

        if (c->crossed != c->seen) {
            board_ring_get(ring, c->seen, ret_crossing, sizeof(*ret_crossing));
            board_ring_get(ring, c->seen + sizeof(*ret_crossing), ret_bytes,
                           ret_crossing->size);
            c->seen += board_room(sizeof(*ret_crossing) + ret_crossing->size);
            found = true;
        }
    }
    board_unlock(s);
    return found;
}

void timed_board_deliver(TimedBoard *board, unsigned channel, int64_t arrival,
                         const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[c->to];
    Head head = {.arrival = arrival, .size = size};

    board_lock(s);
    while (!to->is_gone &&
           c->written - c->taken + board_room(size) > RING_USED) {
        board_unlock(s);
        usleep(10);
        board_lock(s);
    }
    if (!to->is_gone) {
        head.sequence = MODELLED | c->delivered++;
        board_ring_put(s->rings[channel], c->written, &head, sizeof(head));
        board_ring_put(s->rings[channel], c->written + sizeof(head), bytes,
                       size);
        c->written += board_room(size);
        if (arrival < to->promise) {
            to->promise = arrival;
        }
        timed_board_update(s);
        timed_board_wake(to);
    }
    board_unlock(s);
}

void timed_board_accept(TimedBoard *board, unsigned machine, int64_t time)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];

    board_lock(s);
    /* The store may be one of a machine that is no more. */
    if (!m->is_gone && m->accepted == -1) {
        __atomic_store_n(&m->accepted, time, __ATOMIC_SEQ_CST);
        m->accept_bound = TIMED_BOARD_NEVER;
        if (time < m->promise) {
            m->promise = time;
        }
        timed_board_update(s);
        timed_board_wake(m);
    }
    board_unlock(s);
}

/*
 * The time of the earliest crossing that the model has not taken; NEVER if it
 * has taken all. Its sender may have promised more since it gave the crossing.
 */
static int64_t first_untaken(const Shared *s)
{
    int64_t first = TIMED_BOARD_NEVER;
    TimedCrossing crossing;
    unsigned i;

    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];

        if (c->crossed != c->seen) {
            board_ring_get(s->rings[s->channels + i], c->seen, &crossing,
                           sizeof(crossing));
            first = crossing.time < first ? crossing.time : first;
        }
    }
    return first;
}

int64_t timed_board_report_model(TimedBoard *board, const int64_t *bounds,
                                 const int64_t *accept_bounds)
{
    Shared *s = board->shared;
    int64_t promise;
    unsigned i;

    board_lock(s);
    for (i = 0; i < s->channels; i++) {
        Channel *c = &s->channel[i];

        if (c->crossed == c->seen || bounds[i] < c->bound) {
            c->bound = bounds[i];
        }
    }
    for (i = 0; i < s->machines; i++) {
        Machine *m = &s->machine[i];

        if (accept_bounds[i] >= 0 && m->accepted == -1) {
            m->accept_bound = accept_bounds[i];
        }
    }
    timed_board_update(s);
    promise = timed_board_least_promise(s);
    if (first_untaken(s) < promise) {
        promise = first_untaken(s);
    }
    s->machine[s->machines].horizon = promise;
    board_unlock(s);
    return promise;
}

void timed_board_knock(TimedBoard *board)
{
    Shared *s = board->shared;

    board_lock(s);
    __atomic_add_fetch(&s->knocks, 1, __ATOMIC_SEQ_CST);
    timed_board_wake(&s->machine[s->machines]);
    board_unlock(s);
}

uint32_t timed_board_knocks(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->knocks, __ATOMIC_SEQ_CST);
}
