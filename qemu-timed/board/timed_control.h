/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The line on which the supervisor of a timed cluster asks a machine, or the
 * model, to make a branch of itself: a SOCK_SEQPACKET socket. A request is one
 * packet of text and descriptors, and so is its answer.
 *
 * A request is lines. The first is one of
 *
 *   probe   answered when the process could make a branch now
 *   branch  the process forks. The line of the new process is the first
 *           descriptor; it comes with the answer, or with a complaint
 *
 * Behind `branch` come, for each descriptor in turn, "fd N" (it replaces
 * descriptor N) or "file DEVICE:INODE" (it replaces all descriptors of that
 * file); and what the new process shall do: "fault ..." for a machine, "set
 * ..." for the model.
 *
 * An answer is "ok PID", or "no " and the reason. The model answers with the
 * copy of the board as descriptor. A process that was made by `branch` ends
 * when the other end of its line is closed.
 */
#ifndef TIMED_CONTROL_H
#define TIMED_CONTROL_H

#include <stdbool.h>

#define TIMED_CONTROL_TEXT 65536 /* bytes of the longest text, with its 0 */
#define TIMED_CONTROL_FDS  96    /* most descriptors of a packet */

typedef struct TimedControlPacket {
    char text[TIMED_CONTROL_TEXT];
    int fds[TIMED_CONTROL_FDS]; /* owned by the receiver; closed on exec */
    unsigned count;
} TimedControlPacket;

/* Sends @text and @count descriptors. False and errno if it cannot. */
bool timed_control_send(int line, const char *text, const int *fds,
                        unsigned count);
/*
 * Receives a packet, for which it waits at most @timeout_ms. False and errno if
 * there is none; EPIPE if the other end is closed.
 */
bool timed_control_receive(int line, TimedControlPacket *ret_packet,
                           int timeout_ms);
/* Closes the descriptors of @packet that are not -1. */
void timed_control_close(TimedControlPacket *packet);

/* This process is killed when the other end of @line is closed. False and errno
 * if it cannot have a thread that waits for it. */
bool timed_control_die_with(int line);

#endif /* TIMED_CONTROL_H */
