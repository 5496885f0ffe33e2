/* SPDX-License-Identifier: MIT */
/*
 * The two NTB devices of a link meet here. Each connects, sends HELLO and
 * waits. When devices of two partitions wait, the broker sends each of them
 * PEER with one end of a socket pair, and closes both connections. If a device
 * dies, its peer sees the pair close and connects here again. So the broker
 * keeps no state of joined devices.
 */
#define _GNU_SOURCE
#include "clu_broker_link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_socket.h"
#include "clu_source.h"
#include "farside_wire.h"

/* Connections at the same time. Two are of use; the others wait for a peer. */
#define ENDS_MAX       8
/* The time within which a device must send HELLO after it connects. */
#define HELLO_MS       2000
#define PARTITIONS_MAX 8

typedef struct End {
    CluBrokerLink *link;
    int fd;
    pid_t pid;
    bool waits; /* the device has sent HELLO and waits for its peer */
    unsigned partition;
    GSource *watch;
    GSource *timer; /* limit for HELLO; NULL once it has come */
} End;

struct CluBrokerLink {
    const CluBrokerShared *shared;
    char *name;
    CluListener *listener;
    GPtrArray *ends; /* of End, owned, oldest first */
};

static void end_free(gpointer data)
{
    End *end = data;

    clu_source_clear(&end->watch);
    clu_source_clear(&end->timer);
    close(end->fd);
    g_free(end);
}

static void tell(const End *end, CluBrokerEvent event, const char *reason)
{
    clu_broker_tell(end->link->shared,
                    (CluBrokerNotice){.event = event,
                                      .name = end->link->name,
                                      .reason = reason,
                                      .pid = end->pid,
                                      .id = end->partition});
}

static void drop(End *end, const char *reason)
{
    if (reason) {
        end->partition = 0;
        tell(end, CLU_BROKER_REFUSED, reason);
    } else if (end->waits) {
        tell(end, CLU_BROKER_LEFT, NULL);
    }
    g_ptr_array_remove(end->link->ends, end);
}

/* Drops all ends, other than @except (nullable), whose process is gone but
 * whose watch has not fired yet. */
static void drop_closed(CluBrokerLink *link, const End *except)
{
    for (unsigned i = link->ends->len; i-- > 0;) {
        End *end = link->ends->pdata[i];

        if (end != except && clu_socket_is_closed(end->fd)) {
            drop(end, NULL);
        }
    }
}

/* ---- Meeting ---------------------------------------------------------- */

/* The first waiting end of @partition, or, if @is_other, of another one;
 * nullable. */
static End *find_waiting(CluBrokerLink *link, unsigned partition, bool is_other)
{
    for (unsigned i = 0; i < link->ends->len; i++) {
        End *end = link->ends->pdata[i];

        if (end->waits && (end->partition != partition) == is_other) {
            return end;
        }
    }
    return NULL;
}

static bool send_peer(const End *end, int file)
{
    const struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = FARSIDE_WIRE_PEER,
    };

    return clu_socket_send(end->fd, &head, sizeof(head), file);
}

/*
 * Gives each end one socket of a pair. If that fails for either end, both are
 * disconnected. A device that got its socket sees the pair close. So both
 * devices connect again.
 */
static void join(End *a, End *b)
{
    CluBrokerLink *link = a->link;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        drop(a, g_strerror(errno));
        drop(b, g_strerror(errno));
        return;
    }
    if (send_peer(a, pair[0]) && send_peer(b, pair[1])) {
        tell(a, CLU_BROKER_JOINED, NULL);
        tell(b, CLU_BROKER_JOINED, NULL);
        g_ptr_array_remove(link->ends, a);
        g_ptr_array_remove(link->ends, b);
    } else {
        drop(a, NULL);
        drop(b, NULL);
    }
    close(pair[0]);
    close(pair[1]);
}

static void start_waiting(End *end, unsigned partition)
{
    CluBrokerLink *link = end->link;
    End *peer;

    clu_source_clear(&end->timer);
    end->partition = partition;
    drop_closed(link, end);
    peer = find_waiting(link, partition, true);
    if (peer) {
        end->waits = true;
        join(peer, end);
        return;
    }
    tell(end,
         find_waiting(link, partition, false) ? CLU_BROKER_CLASHES
                                              : CLU_BROKER_WAITS,
         NULL);
    end->waits = true;
}

/* ---- Messages of an end ----------------------------------------------- */

/* Returns what is wrong with the message; NULL if it is a HELLO. A message with
 * descriptors has MSG_CTRUNC set: no room is offered for them, so the kernel
 * closes them. */
static const char *check_hello(const void *bytes, size_t size, int flags)
{
    const struct farside_wire_head *head = bytes;
    const struct farside_wire_hello *hello = (const void *)(head + 1);

    if (size < sizeof(*head) || (flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        head->magic != FARSIDE_WIRE_MAGIC ||
        head->length != size - sizeof(*head)) {
        return "it sent bytes that are no message";
    }
    if (head->version != FARSIDE_WIRE_VERSION) {
        return "it speaks another version of the protocol";
    }
    if (head->type != FARSIDE_WIRE_HELLO || head->length != sizeof(*hello) ||
        hello->partition >= PARTITIONS_MAX) {
        return "its first message is no HELLO";
    }
    return NULL;
}

static gboolean end_readable(int fd, GIOCondition condition, gpointer data)
{
    End *end = data;
    struct {
        struct farside_wire_head head;
        struct farside_wire_hello hello;
    } m;
    struct iovec iov = {.iov_base = &m, .iov_len = sizeof(m)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
    const char *reason;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    if (n <= 0) {
        drop(end, NULL);
        return G_SOURCE_CONTINUE;
    }
    if (end->waits) {
        drop(end, "it sent more than HELLO");
        return G_SOURCE_CONTINUE;
    }
    reason = check_hello(&m, (size_t)n, msg.msg_flags);
    if (reason) {
        drop(end, reason);
    } else {
        start_waiting(end, m.hello.partition);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean end_is_silent(gpointer data)
{
    drop(data, "it did not send HELLO in time");
    return G_SOURCE_CONTINUE;
}

/* ---- The link --------------------------------------------------------- */

static void end_new(int fd, void *data)
{
    CluBrokerLink *link = data;
    GMainContext *context = link->shared->context;
    End *end = g_new0(End, 1);

    drop_closed(link, NULL);
    end->link = link;
    end->fd = fd;
    end->pid = clu_socket_get_pid(fd);
    end->watch =
        clu_source_new_fd(context, fd, G_IO_IN | G_IO_HUP, end_readable, end);
    end->timer = clu_source_new_timer(context, HELLO_MS, end_is_silent, end);
    g_ptr_array_add(link->ends, end);
    if (link->ends->len > ENDS_MAX) {
        drop(end, "too many devices wait already");
    }
}

CluBrokerLink *clu_broker_link_new(const CluBrokerShared *shared,
                                   const char *name, const char *path,
                                   GError **error)
{
    CluBrokerLink *link = g_new0(CluBrokerLink, 1);

    link->shared = shared;
    link->name = g_strdup(name);
    link->ends = g_ptr_array_new_with_free_func(end_free);
    link->listener = clu_listener_new(shared->context, path, SOCK_SEQPACKET,
                                      end_new, link, error);
    if (!link->listener) {
        g_clear_pointer(&link, clu_broker_link_free);
    }
    return link;
}

void clu_broker_link_free(CluBrokerLink *link)
{
    if (!link) {
        return;
    }
    clu_listener_free(link->listener);
    g_ptr_array_unref(link->ends);
    g_free(link->name);
    g_free(link);
}
