/* SPDX-License-Identifier: MIT */
#include "fab_tcp_priv.h"

#define INITIAL_SEGMENTS 10u
#define DUPLICATES       3u /* RFC 5681 s3.2 */

/* ---- The sender ------------------------------------------------------ */

void fab_tcp_sender_init(FabTcpSender *sender, uint32_t mss_bytes,
                         uint64_t peer_window)
{
    *sender = (FabTcpSender){
        .mss_bytes = mss_bytes,
        .cwnd = (uint64_t)INITIAL_SEGMENTS * mss_bytes,
        .ssthresh = UINT64_MAX,
        .peer_window = peer_window,
    };
}

bool fab_tcp_sender_next(FabTcpSender *sender, uint32_t most_bytes,
                         uint64_t *ret_seq, uint32_t *ret_bytes)
{
    uint32_t mss = sender->mss_bytes;
    uint64_t limit = sender->una + MIN(sender->cwnd, sender->peer_window),
             bytes;

    if (sender->must_resend) {
        sender->must_resend = false;
        *ret_seq = sender->una;
        *ret_bytes = MIN(sender->most - sender->una, mss);
        sender->retransmits++;
        return *ret_bytes > 0;
    }
    limit = MIN(limit, sender->end);
    if (sender->nxt >= limit) {
        return false;
    }
    bytes = MIN(limit - sender->nxt, MAX(most_bytes, mss));
    if (sender->nxt + bytes < sender->end) {
        bytes -= bytes % mss;
    }
    if (bytes == 0) {
        return false;
    }
    *ret_seq = sender->nxt;
    *ret_bytes = bytes;
    if (sender->nxt < sender->most) {
        sender->retransmits +=
            (MIN(bytes, sender->most - sender->nxt) + mss - 1) / mss;
    }
    sender->nxt += bytes;
    sender->most = MAX(sender->most, sender->nxt);
    return true;
}

static uint64_t half_flight(const FabTcpSender *sender)
{
    return MAX((sender->most - sender->una) / 2,
               2 * (uint64_t)sender->mss_bytes);
}

static void window_open(FabTcpSender *sender, uint64_t acked)
{
    uint32_t mss = sender->mss_bytes;

    if (sender->cwnd < sender->ssthresh) {
        sender->cwnd += acked; /* appropriate byte counting, RFC 3465 */
    } else {
        sender->cwnd += MAX((uint64_t)mss * acked / sender->cwnd, 1);
    }
}

static bool ack_new(FabTcpSender *sender, uint64_t ack)
{
    uint64_t acked = ack - sender->una;

    sender->una = ack;
    sender->nxt = MAX(sender->nxt, ack);
    sender->duplicates = 0;
    if (!sender->in_recovery) {
        window_open(sender, acked);
    } else if (ack >= sender->recover) {
        sender->in_recovery = false;
        sender->cwnd = sender->ssthresh;
    } else {
        /* A partial acknowledgement: the next segment is missing, too. */
        sender->cwnd = MAX(sender->cwnd, acked) - acked + sender->mss_bytes;
        sender->must_resend = true;
    }
    return true;
}

bool fab_tcp_sender_ack(FabTcpSender *sender, uint64_t ack,
                        uint64_t window_bytes, bool has_gap)
{
    sender->peer_window = window_bytes;
    if (ack > sender->una) {
        return ack_new(sender, ack);
    }
    if (ack < sender->una || sender->most == sender->una || !has_gap) {
        return false;
    }
    if (++sender->duplicates == DUPLICATES && !sender->in_recovery) {
        sender->ssthresh = half_flight(sender);
        sender->cwnd = sender->ssthresh + DUPLICATES * sender->mss_bytes;
        sender->recover = sender->most;
        sender->in_recovery = true;
        sender->must_resend = true;
    } else if (sender->in_recovery) {
        sender->cwnd += sender->mss_bytes;
    }
    return false;
}

void fab_tcp_sender_timeout(FabTcpSender *sender)
{
    sender->ssthresh = half_flight(sender);
    sender->cwnd = sender->mss_bytes;
    sender->nxt = sender->una;
    sender->duplicates = 0;
    sender->in_recovery = false;
    sender->must_resend = false;
    sender->timeouts++;
}

/* ---- The receiver ---------------------------------------------------- */

void fab_tcp_receiver_init(FabTcpReceiver *receiver)
{
    *receiver = (FabTcpReceiver){
        .waiting = g_array_new(FALSE, FALSE, sizeof(FabTcpSegment))};
}

void fab_tcp_receiver_done(FabTcpReceiver *receiver)
{
    g_clear_pointer(&receiver->waiting, g_array_unref);
}

uint32_t fab_tcp_receiver_take(FabTcpReceiver *receiver, uint64_t seq,
                               uint32_t bytes, void *data)
{
    const FabTcpSegment *all = (FabTcpSegment *)receiver->waiting->data;
    uint64_t begin = MAX(seq, receiver->next), end = seq + bytes;
    unsigned at = receiver->waiting->len;
    FabTcpSegment segment;

    /* Segments mostly come in turn, so the search begins at the end. */
    while (at > 0 && all[at - 1].seq >= begin) {
        at--;
    }
    if (at > 0) {
        begin = MAX(begin, all[at - 1].seq + all[at - 1].bytes);
    }
    while (at < receiver->waiting->len && all[at].seq == begin) {
        begin += all[at++].bytes;
    }
    if (at < receiver->waiting->len) {
        end = MIN(end, all[at].seq);
    }
    if (begin >= end) {
        receiver->duplicate_bytes += bytes;
        return 0;
    }
    segment = (FabTcpSegment){begin, end - begin, data};
    g_array_insert_val(receiver->waiting, at, segment);
    receiver->duplicate_bytes += bytes - segment.bytes;
    receiver->accepted_bytes += segment.bytes;
    receiver->waiting_bytes += segment.bytes;
    return segment.bytes;
}

bool fab_tcp_receiver_pop(FabTcpReceiver *receiver, FabTcpSegment *ret_segment)
{
    const FabTcpSegment *first = (FabTcpSegment *)receiver->waiting->data;

    if (receiver->waiting->len == 0 || first->seq != receiver->next) {
        return false;
    }
    *ret_segment = *first;
    receiver->next += first->bytes;
    receiver->waiting_bytes -= first->bytes;
    g_array_remove_index(receiver->waiting, 0);
    return true;
}
