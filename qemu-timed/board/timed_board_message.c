/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#include "timed_board_priv.h"

/* The bytes that wait in @channel's ring. False, and the board is damaged, if
 * that cannot be. */
static bool find_used(TimedBoard *board, unsigned channel, size_t *ret_used)
{
    const Channel *c = &board->shared->channel[channel];

    if (board_ring_used(c->written, c->taken, ret_used)) {
        return true;
    }
    board_damaged(board, "the counts of messages on it do not fit");
    return false;
}

bool timed_board_send(TimedBoard *board, unsigned channel, int64_t now,
                      const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[board->way[channel].to];
    Head head;
    size_t used;
    bool fits;

    if (!board_lock(board)) {
        return false;
    }
    if (to->is_gone) {
        board_unlock(board);
        return true;
    }
    fits = size <= TIMED_BOARD_MESSAGE && find_used(board, channel, &used) &&
           used + board_room(size) <= RING_USED;
    if (fits) {
        head.arrival = timed_board_next_arrival(board, channel, now);
        head.sequence = c->sequence++;
        head.size = size;
        board_ring_put(s->rings[channel], c->written, &head, sizeof(head));
        board_ring_put(s->rings[channel], c->written + sizeof(head), bytes,
                       size);
        c->floor = head.arrival;
        /* First: if this process ends here, no message without the promise. */
        if (head.arrival < to->promise) {
            board_publish(&to->promise, head.arrival);
        }
        board_publish(&c->written, c->written + board_room(size));
        timed_board_update(board);
    }
    timed_board_wake(to);
    board_unlock(board);
    return fits;
}

bool timed_board_take(TimedBoard *board, unsigned channel,
                      TimedBoardMessage *ret_message)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    size_t used;
    bool found;
    Head head;

    if (__atomic_load_n(&c->written, __ATOMIC_SEQ_CST) == c->taken ||
        !board_lock(board)) {
        return false;
    }
    found = find_used(board, channel, &used) &&
            timed_board_read_head(board, channel, c->taken, used, &head);
    if (found) {
        ret_message->arrival = head.arrival;
        ret_message->sequence = head.sequence;
        ret_message->size = head.size;
        board_ring_get(s->rings[channel], c->taken + sizeof(head),
                       ret_message->bytes, head.size);
        board_publish(&c->taken, c->taken + board_room(head.size));
    }
    board_unlock(board);
    return found;
}

/* Links */

void timed_board_set_up(TimedBoard *board, unsigned channel, int64_t now,
                        bool up)
{
    Channel *c = &board->shared->channel[channel];

    if (!board_lock(board)) {
        return;
    }
    if (c->is_up != up) {
        if (up) {
            c->floor = timed_board_next_arrival(board, channel, now);
        }
        c->is_up = up;
        timed_board_update(board);
    }
    board_unlock(board);
}

void timed_board_set_training(TimedBoard *board, unsigned link,
                              int64_t training_ns)
{
    unsigned i;

    if (!board_lock(board)) {
        return;
    }
    for (i = 2 * link; i < 2 * link + 2; i++) {
        Channel *c = &board->shared->channel[i];
        int64_t latency_ns = board->way[i].latency_ns;

        if (training_ns < c->training_ns) {
            c->training_ns =
                training_ns > latency_ns ? training_ns : latency_ns;
        }
    }
    timed_board_update(board);
    board_unlock(board);
}
