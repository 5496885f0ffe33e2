/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to the peer: sockets, HELLO, and messages in order
 * (wire/farside_wire.h). A link knows how a message is framed. Its user knows
 * what the message means.
 *
 * One end listens and the other connects, or both connect to a broker, which
 * gives each of them a socket to the other. An end that connects tries again
 * until the link is stopped: the peer may come late, die and return.
 *
 * All functions are called under the big lock.
 */
#ifndef FARSIDE_LINK_H
#define FARSIDE_LINK_H

#include "qemu/iov.h"
#include "wire/farside_wire.h"

typedef struct FarsideLink FarsideLink;

typedef struct FarsideLinkMessage {
    unsigned type;
    const void *body; /* aligned to 8 bytes */
    size_t size;
    int *files; /* the receiver puts -1 in place of each file that it keeps */
    unsigned file_count;
} FarsideLinkMessage;

/*
 * A type of message. The link refuses messages of other sizes, and those with
 * more files. @receive returns false if the peer must not send this message:
 * then the link closes the connection. It may be called while the big lock's
 * holder waits in farside_link_serve(), so also from within itself.
 */
typedef struct FarsideLinkType {
    size_t size_min; /* bytes behind the head */
    size_t size_max;
    unsigned files_max;
    bool (*receive)(void *opaque, const FarsideLinkMessage *m);
} FarsideLinkType;

typedef struct FarsideLinkOps {
    const char *name; /* begins the link's warnings */
    /* By number. A type that may not follow HELLO has no receive(). */
    const FarsideLinkType *types;
    unsigned type_count;
    /* Fills in the HELLO of this end, for a new connection. */
    void (*introduce)(void *opaque, struct farside_wire_hello *ret_hello);
    /* Returns NULL to accept the peer, or the reason why it is refused. */
    const char *(*check)(void *opaque, const struct farside_wire_hello *hello);
    /* HELLO was exchanged with a peer that is accepted. */
    void (*established)(void *opaque, const struct farside_wire_hello *hello);
    /* An established connection has ended. Sending never calls this. */
    void (*closed)(void *opaque);
    /* A message has left the queue. */
    void (*drained)(void *opaque);
} FarsideLinkOps;

/*
 * Listens at @path, or begins to connect to it. @ops is borrowed for the life
 * of the link. Returns NULL, and sets @errp, if it cannot listen or the path is
 * too long.
 */
FarsideLink *farside_link_new(const char *path, bool listen,
                              const FarsideLinkOps *ops, void *opaque,
                              Error **errp);
/* Closes all sockets, for good. */
void farside_link_stop(FarsideLink *link);
/* Frees a link that was stopped (nullable). */
void farside_link_free(FarsideLink *link);

/*
 * Sends a message, which consists of @count pieces, and copies of @file_count
 * files. Queues it if the peer is slow. If the connection is lost, the message
 * is too, and the user hears of it from the main loop or from
 * farside_link_serve().
 */
void farside_link_send(FarsideLink *link, unsigned type,
                       const struct iovec *pieces, unsigned count,
                       const int *files, unsigned file_count);
/*
 * The body of the last message in the queue if that is of @type, otherwise
 * NULL. The caller may change it instead of sending one more.
 */
void *farside_link_peek_last(FarsideLink *link, unsigned type);
/* True if so many messages wait that the caller should wait, too. */
bool farside_link_is_full(const FarsideLink *link);
/*
 * Stops or resumes reading from the peer. It only keeps the link from taking
 * the next message: one may be on its way through receive().
 */
void farside_link_hold(FarsideLink *link, bool hold);
/*
 * Waits until a peer of any link of this process sends or reads, and serves
 * all of them once. @deadline is in ns of QEMU_CLOCK_REALTIME.
 */
void farside_link_serve(int64_t deadline);

#endif /* FARSIDE_LINK_H */
