/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to the peer: sockets, HELLO, and messages in order
 * (wire/farside_wire.h). A link knows how a message is framed. Its user knows
 * what the message means.
 *
 * One end listens and the other connects, or both connect to a broker, which
 * gives each of them a socket to the other. An end that connects tries again
 * until the link is stopped, because the peer may come late, or die and return.
 *
 * The caller holds the big lock in all functions.
 */
#ifndef FARSIDE_LINK_H
#define FARSIDE_LINK_H

#include "qemu/iov.h"
#include "farside_time.h"
#include "wire/farside_wire.h"

typedef struct FarsideLink FarsideLink;

typedef struct FarsideLinkMessage {
    unsigned type;
    const void *body; /* aligned to 8 bytes */
    size_t size;
    int *files; /* receive() sets each file that it keeps to -1 */
    unsigned file_count;
} FarsideLinkMessage;

/*
 * A type of message. The link refuses messages of other sizes, and those with
 * more files. @receive returns false if the peer must not send this message:
 * then the link closes the connection. @receive may call farside_link_serve(),
 * which calls @receive again for the next message.
 */
typedef struct FarsideLinkType {
    size_t size_min; /* bytes behind the head */
    size_t size_max;
    unsigned files_max;
    bool (*receive)(void *opaque, const FarsideLinkMessage *m);
} FarsideLinkType;

typedef struct FarsideLinkOps {
    const char *name; /* begins the link's warnings */
    /* Indexed by type. A type that must not follow HELLO has no receive(). */
    const FarsideLinkType *types;
    unsigned type_count;
    /* The address space in which the peer's requests are issued */
    FarsideTimeBus *bus;
    /* Fills in the HELLO that this end sends on a new connection. */
    void (*introduce)(void *opaque, struct farside_wire_hello *ret_hello);
    /* Returns NULL to accept the peer, or the reason to refuse it. */
    const char *(*check)(void *opaque, const struct farside_wire_hello *hello);
    /* The peer's HELLO has arrived and was accepted. */
    void (*established)(void *opaque, const struct farside_wire_hello *hello);
    /* An established connection has ended. Not called while sending. */
    void (*closed)(void *opaque);
    /* A message of the peer has come, and is served now. */
    void (*heard)(void *opaque);
    /* A message of the queue was sent. */
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
/* Closes all sockets. The link cannot be started again. */
void farside_link_stop(FarsideLink *link);
/* Frees a link that was stopped (nullable). */
void farside_link_free(FarsideLink *link);

/*
 * Sends a message, which consists of @count pieces, and copies of @file_count
 * files. Queues the message if the peer is slow. If the connection fails, the
 * message is lost, and the main loop or farside_link_serve() calls closed()
 * later.
 */
void farside_link_send(FarsideLink *link, unsigned type,
                       const struct iovec *pieces, unsigned count,
                       const int *files, unsigned file_count);
/*
 * The body of the last message in the queue if that message is of @type,
 * otherwise NULL. The caller may change the body instead of sending another
 * message.
 */
void *farside_link_peek_last(FarsideLink *link, unsigned type);
/* True if the queue is so long that guests must not cause more messages. */
bool farside_link_is_full(const FarsideLink *link);
/*
 * Stops or resumes reading from the peer. A link on hold may still deliver a
 * few messages: the one that receive() is serving, and those that it reads to
 * find out if the peer is gone.
 */
void farside_link_hold(FarsideLink *link, bool hold);
/*
 * The link is up and in use, or not. In a timed cluster messages then take
 * another time.
 */
void farside_link_set_up(FarsideLink *link, bool up);
/*
 * Waits until a peer of any link of this process sends or reads, or until
 * @deadline, in ns of farside_time_now(). Serves each link once.
 */
void farside_link_serve(int64_t deadline);

#endif /* FARSIDE_LINK_H */
