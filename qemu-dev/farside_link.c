/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/queue.h"
#include "qemu/timer.h"
#include "farside_link.h"
#include "farside_packet.h"
#include "farside_qemu.h"
#include "farside_time.h"
#include "farside_turn.h"
#include "wire/farside_socket.h"

#define RETRY_MS 50
/* The pause after a connection that ended with a warning */
#define REFUSED_RETRY_MS 1000
/*
 * Messages that a link serves before it returns to the main loop, and how long
 * it goes on with the next one: some take milliseconds.
 */
#define BATCH    64
#define BATCH_NS (10 * SCALE_MS)
/* With this many messages in the queue, guests must not cause more. */
#define QUEUE_MAX 256
/* With this many bytes in the queue, the link closes the connection. */
#define QUEUE_BYTES_MAX (16u << 20)
#define BACKLOG 4
/* The most links of one machine */
#define LINKS_MAX 256

struct FarsideLink {
    char *path;
    bool listen;
    const FarsideLinkOps *ops;
    void *opaque;
    int listen_fd;
    int fd;           /* -1: not connected */
    void *port;       /* in place of the socket in a timed cluster, or NULL */
    bool established; /* HELLO was accepted; until ops->closed is called */
    bool lost;        /* the connection was lost; the user does not know yet */
    int retry_ms;     /* the pause after the loss */
    QEMUBH *lost_bh;
    bool held;
    bool reading; /* the main loop reads from fd */
    bool writing; /* the main loop sends the messages in out */
    QEMUTimer *connect_timer;
    GQueue out; /* the queue of messages to the peer, of FarsidePacket */
    size_t out_bytes;
    GQueue kept; /* of FarsidePacket: came while the link was held */
    QEMUBH *kept_bh;
    QLIST_ENTRY(FarsideLink) next;
};

/* All links of this process: farside_link_serve() serves all of them. */
static QLIST_HEAD(, FarsideLink) links = QLIST_HEAD_INITIALIZER(links);

static void link_readable(void *opaque);
static void link_writable(void *opaque);

static void set_handlers(FarsideLink *link)
{
    /*
     * The link goes on reading from a peer that does not read. If both ends
     * stopped reading then, both would wait for ever.
     */
    bool reading = !link->held;
    bool writing = !g_queue_is_empty(&link->out);

    if (link->fd >= 0 && !link->port &&
        (reading != link->reading || writing != link->writing)) {
        link->reading = reading;
        link->writing = writing;
        qemu_set_fd_handler(link->fd, reading ? link_readable : NULL,
                            writing ? link_writable : NULL, link);
    }
}

void farside_link_hold(FarsideLink *link, bool hold)
{
    if (link->held != hold) {
        link->held = hold;
        set_handlers(link);
        if (!hold && !g_queue_is_empty(&link->kept)) {
            qemu_bh_schedule(link->kept_bh);
        }
    }
}

/* Returns 1 if sent, 0 if the peer does not read now, -1 if it is gone. */
static int packet_send(FarsideLink *link, const FarsidePacket *p)
{
    if (link->port) {
        farside_time()->send(link->port, p->bytes, p->size);
        return 1;
    }
    if (farside_socket_send(link->fd, p->bytes, p->size, p->files,
                            p->file_count) >= 0) {
        return 1;
    }
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
}

/* The end of a connection */

static void connection_close(FarsideLink *link)
{
    FarsidePacket *p;

    if (link->fd < 0) {
        return;
    }
    qemu_set_fd_handler(link->fd, NULL, NULL, NULL);
    close(link->fd);
    link->fd = -1;
    link->reading = false;
    link->writing = false;
    while ((p = g_queue_pop_head(&link->out))) {
        farside_packet_free(p);
    }
    link->out_bytes = 0;
    while ((p = g_queue_pop_head(&link->kept))) {
        farside_packet_free(p);
    }
}

static void retry_after(FarsideLink *link, int ms)
{
    /* In a timed cluster the peer is there from the beginning. */
    if (!link->listen && !link->port) {
        timer_mod(link->connect_timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + ms);
    }
}

/* Closes the connection. report_loss() tells the user later. */
static void lose(FarsideLink *link, const char *reason)
{
    if (reason) {
        warn_report("%s: %s: %s", link->ops->name, link->path, reason);
    }
    connection_close(link);
    link->lost = true;
    link->retry_ms = reason ? REFUSED_RETRY_MS : RETRY_MS;
}

static void report_loss(FarsideLink *link)
{
    bool was_established = link->established;

    if (!link->lost) {
        return;
    }
    link->lost = false;
    link->established = false;
    if (was_established) {
        link->ops->closed(link->opaque);
    }
    retry_after(link, link->retry_ms);
}

static void link_lost(void *opaque)
{
    report_loss(opaque);
}

/* Closes the connection, and tells the user. Warns of @reason (nullable). */
static void drop(FarsideLink *link, const char *reason)
{
    if (link->fd >= 0) {
        lose(link, reason);
        report_loss(link);
    }
}

/* Sending */

/* Takes ownership of @p. False if the connection is gone. */
static bool post(FarsideLink *link, FarsidePacket *p)
{
    int r = 0;

    if (g_queue_is_empty(&link->out)) {
        r = packet_send(link, p);
    }
    if (r == 0) {
        g_queue_push_tail(&link->out, p);
        link->out_bytes += p->size;
        set_handlers(link);
        return true;
    }
    farside_packet_free(p);
    return r > 0;
}

void farside_link_send(FarsideLink *link, unsigned type,
                       const struct iovec *pieces, unsigned count,
                       const int *files, unsigned file_count)
{
    const char *reason = NULL;
    FarsidePacket *p;

    if (!link->established || link->lost) {
        return;
    }
    if (link->out_bytes >= QUEUE_BYTES_MAX) {
        reason = "the peer does not read its messages";
    } else {
        p = farside_packet_new(type, pieces, count);
        if (!farside_packet_add_files(p, files, file_count)) {
            farside_packet_free(p);
            reason = "this QEMU has too many open files";
        } else if (post(link, p)) {
            return;
        }
    }
    lose(link, reason);
    qemu_bh_schedule(link->lost_bh);
}

void *farside_link_peek_last(FarsideLink *link, unsigned type)
{
    FarsidePacket *p = g_queue_peek_tail(&link->out);
    struct farside_wire_head *head = p ? (void *)p->bytes : NULL;

    return head && head->type == type ? head + 1 : NULL;
}

bool farside_link_is_full(const FarsideLink *link)
{
    return link->out.length >= QUEUE_MAX;
}

static void send_queue(FarsideLink *link)
{
    FarsidePacket *p;
    int r;

    while (link->fd >= 0 && (p = g_queue_peek_head(&link->out))) {
        r = packet_send(link, p);
        if (r == 0) {
            break;
        }
        if (r < 0) {
            drop(link, NULL);
            return;
        }
        link->out_bytes -= p->size;
        farside_packet_free(g_queue_pop_head(&link->out));
        if (link->established) {
            link->ops->drained(link->opaque);
        }
    }
    set_handlers(link);
}

static void link_writable(void *opaque)
{
    send_queue(opaque);
}

/* Messages of the link itself */

static void open_connection(FarsideLink *link, int fd)
{
    struct farside_wire_hello hello = {0};
    struct iovec piece = {.iov_base = &hello, .iov_len = sizeof(hello)};

    link->ops->introduce(link->opaque, &hello);
    link->fd = fd;
    set_handlers(link);
    if (!post(link, farside_packet_new(FARSIDE_WIRE_HELLO, &piece, 1))) {
        drop(link, NULL);
    }
}

static bool on_hello(void *opaque, const FarsideLinkMessage *m)
{
    FarsideLink *link = opaque;
    const char *reason = link->ops->check(link->opaque, m->body);

    if (reason) {
        drop(link, reason);
    } else {
        link->established = true;
        link->ops->established(link->opaque, m->body);
    }
    return true;
}

/* The broker hands over the socket to the peer. */
static bool on_peer(void *opaque, const FarsideLinkMessage *m)
{
    FarsideLink *link = opaque;

    if (link->listen || m->file_count != 1) {
        return false;
    }
    connection_close(link);
    open_connection(link, m->files[0]);
    m->files[0] = -1;
    return true;
}

/* The types that are allowed until HELLO was accepted, and only then */
static const FarsideLinkType first_types[] = {
    [FARSIDE_WIRE_HELLO] = {
        .size_min = sizeof(struct farside_wire_hello),
        .size_max = sizeof(struct farside_wire_hello),
        .receive = on_hello,
    },
    [FARSIDE_WIRE_PEER] = {
        .files_max = 1,
        .receive = on_peer,
    },
};

/* Receiving */

static bool deliver(FarsideLink *link, const FarsideLinkMessage *m)
{
    const FarsideLinkType *types = first_types;
    unsigned count = ARRAY_SIZE(first_types);
    void *opaque = link;

    if (link->established) {
        link->ops->heard(link->opaque);
        types = link->ops->types;
        count = link->ops->type_count;
        opaque = link->opaque;
    }
    return m->type < count && types[m->type].receive &&
           m->size >= types[m->type].size_min &&
           m->size <= types[m->type].size_max &&
           m->file_count <= types[m->type].files_max &&
           types[m->type].receive(opaque, m);
}

/* Closes the connection because of @m, or of a packet that is no message. */
static void refuse(FarsideLink *link, const FarsideLinkMessage *m)
{
    g_autofree char *reason = NULL;

    if (m) {
        reason = g_strdup_printf("the protocol does not allow the peer's "
                                 "message of type %u with %zu bytes and %u "
                                 "files",
                                 m->type, m->size, m->file_count);
    }
    drop(link, reason ?: "the peer sent a packet that is no message");
}

/*
 * Serves the packet of @size bytes in @head, and closes the files that nobody
 * kept.
 */
static void take_packet(FarsideLink *link, const struct farside_wire_head *head,
                        size_t size, bool is_whole, FarsideLinkMessage *m)
{
    unsigned i;

    m->body = head + 1;
    m->type = head->type;
    m->size = size - sizeof(*head);
    if (size < sizeof(*head) || !is_whole ||
        head->magic != FARSIDE_WIRE_MAGIC || head->length != m->size) {
        refuse(link, NULL);
    } else if (head->version != FARSIDE_WIRE_VERSION) {
        drop(link, "the peer speaks another version of the protocol");
    } else if (!deliver(link, m)) {
        refuse(link, m);
    }
    for (i = 0; i < m->file_count; i++) {
        if (m->files[i] >= 0) {
            close(m->files[i]);
        }
    }
}

/*
 * Serves one message. False if there is none, or if the connection is closed.
 */
static bool receive_one(FarsideLink *link)
{
    union {
        struct farside_wire_head head;
        uint8_t bytes[FARSIDE_WIRE_MAX];
        uint64_t align;
    } buf;
    int files[FARSIDE_WIRE_FDS];
    FarsideLinkMessage m = {.files = files};
    bool is_whole;
    ssize_t n;

    if (link->fd < 0) {
        return false;
    }
    n = farside_socket_receive(link->fd, &buf, sizeof(buf), files,
                               ARRAY_SIZE(files), &m.file_count, &is_whole);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    /* An empty packet may carry files; the end of the connection does not. */
    if (n < 0 || (n == 0 && m.file_count == 0)) {
        drop(link, NULL);
        return false;
    }
    take_packet(link, &buf.head, n, is_whole, &m);
    return link->fd >= 0;
}

/*
 * Serves a batch of messages, but none after one with which the user holds the
 * link.
 */
static void receive_some(FarsideLink *link)
{
    int64_t end = qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + BATCH_NS;
    unsigned i;

    for (i = 0; i < BATCH && receive_one(link) && !link->held &&
                qemu_clock_get_ns(QEMU_CLOCK_REALTIME) < end;
         i++) {
        ;
    }
}

static void link_readable(void *opaque)
{
    FarsideLink *link = opaque;

    farside_turn_note();
    if (!link->held) {
        receive_some(link);
    }
    set_handlers(link);
}

/* Waiting */

static short serve_events(FarsideLink *link)
{
    short events = 0;

    if (!link->held) {
        events |= POLLIN;
    }
    if (!g_queue_is_empty(&link->out)) {
        events |= POLLOUT;
    }
    return events;
}

static void serve_one(FarsideLink *link, short revents)
{
    if (link->fd >= 0 && (revents & POLLOUT)) {
        send_queue(link);
    }
    if (revents & (POLLIN | POLLHUP | POLLERR)) {
        /* A held link reads once, too: this may be the connection's end. */
        receive_some(link);
    }
    set_handlers(link);
}

/* Tells the user of one loss. False if there is none. */
static bool report_losses(void)
{
    FarsideLink *link;

    QLIST_FOREACH(link, &links, next) {
        if (link->lost) {
            report_loss(link);
            return true;
        }
    }
    return false;
}

/* True if the link still exists, and has the connection that was polled. */
static bool has_connection(const FarsideLink *link, int fd)
{
    const FarsideLink *l;

    QLIST_FOREACH(l, &links, next) {
        if (l == link) {
            return link->fd == fd;
        }
    }
    return false;
}

/* Polls the links, and serves each. */
static void serve_all(const struct timespec *timeout)
{
    struct pollfd fds[LINKS_MAX];
    FarsideLink *polled[LINKS_MAX], *link;
    unsigned count = 0, i;

    QLIST_FOREACH(link, &links, next) {
        fds[count] = (struct pollfd) {
            .fd = link->fd,
            .events = serve_events(link),
        };
        polled[count++] = link;
    }
    if (ppoll(fds, count, timeout, NULL) <= 0) {
        return;
    }
    /* A request of one peer may unplug the device of another link. */
    for (i = 0; i < count; i++) {
        if (fds[i].revents && has_connection(polled[i], fds[i].fd)) {
            serve_one(polled[i], fds[i].revents);
        }
    }
}

void farside_link_serve(int64_t deadline)
{
    int64_t left = deadline - farside_time_now();
    struct timespec ts;

    if (report_losses() || left <= 0) {
        return;
    }
    if (farside_time()) {
        farside_time()->wait(deadline);
        return;
    }
    ts.tv_sec = left / NANOSECONDS_PER_SECOND;
    ts.tv_nsec = left % NANOSECONDS_PER_SECOND;
    serve_all(&ts);
}

/* Sockets */

static void link_accept(void *opaque)
{
    FarsideLink *link = opaque;
    int fd = accept4(link->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    unsigned i;

    if (fd < 0) {
        return;
    }
    /*
     * The old peer may be gone: the link finds out when it reads, or when it
     * cannot send an answer.
     */
    for (i = 0; i < BATCH && receive_one(link); i++) {
        ;
    }
    report_loss(link);
    if (link->established) {
        close(fd);
        return;
    }
    /* A peer sends HELLO at once. A client without it must not block others. */
    drop(link, NULL);
    open_connection(link, fd);
}

static void link_connect(void *opaque)
{
    FarsideLink *link = opaque;
    int fd = farside_socket_connect(link->path, SOCK_SEQPACKET | SOCK_NONBLOCK);

    if (fd >= 0) {
        open_connection(link, fd);
    } else {
        retry_after(link, RETRY_MS);
    }
}

/* Timed clusters */

static void port_open(void *opaque);

/* True if the peer's machine begins with this packet. */
static bool is_hello(const struct farside_wire_head *head, size_t size)
{
    return size >= sizeof(*head) && head->type == FARSIDE_WIRE_HELLO;
}

/*
 * No packet: the peer's machine is gone. When it returns, its HELLO comes
 * first; what comes before that is from the machine that is gone.
 */
static void port_take(FarsideLink *link, const void *packet, size_t size)
{
    FarsideLinkMessage m = {0};

    if (size == 0) {
        drop(link, NULL);
        return;
    }
    if (!link->established && !is_hello(packet, size)) {
        return;
    }
    if (link->fd < 0) {
        port_open(link);
    }
    take_packet(link, packet, size, true, &m);
}

/* The user has let go of the link: the same time, in the CPU's thread. */
static void port_go_on(void *opaque)
{
    FarsideLink *link = opaque;
    FarsidePacket *p;

    while (!link->held && (p = g_queue_pop_head(&link->kept))) {
        port_take(link, p->bytes, p->size);
        farside_packet_free(p);
    }
}

static AddressSpace *port_bus(void *opaque)
{
    const FarsideLink *link = opaque;

    return link->ops->bus(link->opaque);
}

static void port_receive(void *opaque, const void *packet, size_t size)
{
    FarsideLink *link = opaque;
    FarsidePacket *p;

    if (size == 0 || (!link->held && g_queue_is_empty(&link->kept))) {
        port_take(link, packet, size);
        return;
    }
    p = farside_packet_copy(packet, size);
    g_queue_push_tail(&link->kept, p);
}

/* Both ends begin with HELLO at once: it arrives when the link is trained. */
static void port_open(void *opaque)
{
    FarsideLink *link = opaque;

    /* The descriptor only says that the link is connected. */
    open_connection(link, open("/dev/null", O_RDWR | O_CLOEXEC));
}

static bool join_timed(FarsideLink *link, Error **errp)
{
    link->port = farside_time()->join(link->path, port_receive, port_bus, link,
                                      errp);
    if (!link->port) {
        return false;
    }
    link->connect_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, port_open, link);
    link->kept_bh = qemu_bh_new(port_go_on, link);
    timer_mod(link->connect_timer, 0);
    return true;
}

void farside_link_set_up(FarsideLink *link, bool up)
{
    if (link->port) {
        farside_time()->set_up(link->port, up);
    }
}

static unsigned link_count(void)
{
    const FarsideLink *link;
    unsigned count = 0;

    QLIST_FOREACH(link, &links, next) {
        count++;
    }
    return count;
}

FarsideLink *farside_link_new(const char *path, bool listen,
                              const FarsideLinkOps *ops, void *opaque,
                              Error **errp)
{
    FarsideLink *link;
    int listen_fd = -1;

    if (link_count() == LINKS_MAX) {
        error_setg(errp, "property 'link': a machine has at most %d links",
                   LINKS_MAX);
        return NULL;
    }
    if (strlen(path) > FARSIDE_SOCKET_PATH_MAX) {
        error_setg(errp, "property 'link': the path is longer than %zu bytes",
                   FARSIDE_SOCKET_PATH_MAX);
        return NULL;
    }
    if (listen && !farside_time()) {
        listen_fd = farside_socket_listen(path, SOCK_SEQPACKET, BACKLOG);
        if (listen_fd < 0) {
            error_setg_errno(errp, errno,
                             "property 'link': cannot listen at %s", path);
            return NULL;
        }
    }
    link = g_new0(FarsideLink, 1);
    link->path = g_strdup(path);
    link->listen = listen;
    link->ops = ops;
    link->opaque = opaque;
    link->listen_fd = listen_fd;
    link->fd = -1;
    g_queue_init(&link->out);
    g_queue_init(&link->kept);
    if (farside_time()) {
        if (!join_timed(link, errp)) {
            g_free(link->path);
            g_free(link);
            return NULL;
        }
    } else {
        link->connect_timer =
            timer_new_ms(QEMU_CLOCK_REALTIME, link_connect, link);
    }
    /*
     * This context runs only in the main loop. Bottom halves of the default
     * context also run inside a device that waits for its disk.
     */
    link->lost_bh = aio_bh_new(iohandler_get_aio_context(), link_lost, link);
    if (listen_fd >= 0) {
        qemu_set_fd_handler(listen_fd, link_accept, NULL, link);
    } else {
        retry_after(link, 0);
    }
    QLIST_INSERT_HEAD(&links, link, next);
    return link;
}

void farside_link_stop(FarsideLink *link)
{
    QLIST_REMOVE(link, next);
    report_loss(link);
    drop(link, NULL);
    timer_del(link->connect_timer);
    if (link->port) {
        farside_time()->leave(link->port);
        link->port = NULL;
    }
    if (link->listen_fd >= 0) {
        qemu_set_fd_handler(link->listen_fd, NULL, NULL, NULL);
        close(link->listen_fd);
        unlink(link->path);
        link->listen_fd = -1;
    }
}

void farside_link_free(FarsideLink *link)
{
    if (!link) {
        return;
    }
    timer_free(link->connect_timer);
    qemu_bh_delete(link->lost_bh);
    if (link->kept_bh) {
        qemu_bh_delete(link->kept_bh);
    }
    g_free(link->path);
    g_free(link);
}
