/* SPDX-License-Identifier: MIT */
#ifndef FAB_TCP_PRIV_H
#define FAB_TCP_PRIV_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * TCP's rules for one direction of a connection that exists: windows,
 * acknowledgements, loss. No packets, no time: a flow asks what it may send,
 * and tells what has come in. Sequence numbers begin at 0 and do not wrap.
 */

/* The sender: slow start and congestion avoidance (RFC 5681 s3.1), fast
 * retransmit and recovery with partial acknowledgements (RFC 6582), and a
 * retransmission time-out (RFC 6298) that the flow runs. */
typedef struct FabTcpSender {
    uint32_t mss_bytes;
    uint64_t una;  /* first byte that is not acknowledged */
    uint64_t nxt;  /* next byte to send */
    uint64_t most; /* one past the last byte that was ever sent */
    uint64_t end;  /* one past the last byte that the application gave */
    uint64_t cwnd, ssthresh;
    uint64_t peer_window;
    uint64_t recover; /* fast recovery ends when this is acknowledged */
    unsigned duplicates;
    bool in_recovery;
    bool must_resend;     /* the segment at una is to be sent again */
    uint64_t retransmits; /* segments */
    uint64_t timeouts;
} FabTcpSender;

/* The initial window is 10 segments (RFC 6928). */
void fab_tcp_sender_init(FabTcpSender *sender, uint32_t mss_bytes,
                         uint64_t peer_window);

/*
 * Finds the next bytes that may be sent, at most @most_bytes. More than a
 * segment is a multiple of segments, or reaches the end of the data. A part of
 * a segment is sent only at the end of the data. Returns false if nothing may
 * be sent.
 */
bool fab_tcp_sender_next(FabTcpSender *sender, uint32_t most_bytes,
                         uint64_t *ret_seq, uint32_t *ret_bytes);

/* An acknowledgement has come in. @has_gap says that the peer has data beyond
 * what it misses, as its SACK option tells (RFC 2018); only such an
 * acknowledgement is a duplicate. Returns true if it is of new data. */
bool fab_tcp_sender_ack(FabTcpSender *sender, uint64_t ack,
                        uint64_t window_bytes, bool has_gap);

/* Nothing was acknowledged for too long: everything is sent again. */
void fab_tcp_sender_timeout(FabTcpSender *sender);

/* A segment that is there, but not in turn. */
typedef struct FabTcpSegment {
    uint64_t seq;
    uint32_t bytes;
    void *data; /* of the flow */
} FabTcpSegment;

typedef struct FabTcpReceiver {
    uint64_t next;   /* first byte that is missing */
    GArray *waiting; /* of FabTcpSegment, by seq, without overlap */
    uint64_t duplicate_bytes;
    uint64_t accepted_bytes;
    uint64_t waiting_bytes;
} FabTcpReceiver;

void fab_tcp_receiver_init(FabTcpReceiver *receiver);
void fab_tcp_receiver_done(FabTcpReceiver *receiver);

/* Takes the bytes of a segment that are new, up to the next ones that are
 * there. Returns their number. 0: there are none, and nothing is kept. */
uint32_t fab_tcp_receiver_take(FabTcpReceiver *receiver, uint64_t seq,
                               uint32_t bytes, void *data);

/* Removes the next segment in turn. Returns false if it is missing. */
bool fab_tcp_receiver_pop(FabTcpReceiver *receiver, FabTcpSegment *ret_segment);

#endif
