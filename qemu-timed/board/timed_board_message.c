/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#include "timed_board_priv.h"

bool timed_board_send(TimedBoard *board, unsigned channel, int64_t now,
                      const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[c->to];
    Head head;
    bool fits;

    board_lock(s);
    fits = size <= TIMED_BOARD_MESSAGE &&
           c->written - c->taken + board_room(size) <= RING_USED;
    if (to->is_gone) {
        board_unlock(s);
        return true;
    }
    if (fits) {
        head.arrival = timed_board_next_arrival(c, now);
        head.sequence = c->sequence++;
        head.size = size;
        board_ring_put(s->rings[channel], c->written, &head, sizeof(head));
        board_ring_put(s->rings[channel], c->written + sizeof(head), bytes,
                       size);
        c->written += board_room(size);
        c->floor = head.arrival;
        if (head.arrival < to->promise) {
            to->promise = head.arrival;
        }
        timed_board_update(s);
    }
    timed_board_wake(to);
    board_unlock(s);
    return fits;
}

bool timed_board_take(TimedBoard *board, unsigned channel,
                      TimedBoardMessage *ret_message)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    bool found;
    Head head;

    if (__atomic_load_n(&c->written, __ATOMIC_SEQ_CST) == c->taken) {
        return false;
    }
    board_lock(s);
    found = c->written != c->taken;
    if (found) {
        board_ring_get(s->rings[channel], c->taken, &head, sizeof(head));
        ret_message->arrival = head.arrival;
        ret_message->sequence = head.sequence;
        ret_message->size = head.size;
        board_ring_get(s->rings[channel], c->taken + sizeof(head),
                       ret_message->bytes, head.size);
        c->taken += board_room(head.size);
    }
    board_unlock(s);
    return found;
}

/* Links */

void timed_board_set_up(TimedBoard *board, unsigned channel, int64_t now,
                        bool up)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];

    board_lock(s);
    if (c->is_up != up) {
        if (up) {
            c->floor = timed_board_next_arrival(c, now);
        }
        c->is_up = up;
        timed_board_update(s);
    }
    board_unlock(s);
}

void timed_board_set_training(TimedBoard *board, unsigned link,
                              int64_t training_ns)
{
    Shared *s = board->shared;
    unsigned i;

    board_lock(s);
    for (i = 2 * link; i < 2 * link + 2; i++) {
        Channel *c = &s->channel[i];

        if (training_ns < c->training_ns) {
            c->training_ns =
                training_ns > c->latency_ns ? training_ns : c->latency_ns;
        }
    }
    timed_board_update(s);
    board_unlock(s);
}
