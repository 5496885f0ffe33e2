/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The connection to the peer: sockets, hello, the messages in order.
 *
 * One end listens and the other connects, or both connect to a broker, which
 * hands each a socket to the other (wire/farside_wire.h). Whoever connects
 * tries again until the device goes; a peer may come late, die and return.
 *
 * What is sent goes into the socket at once, or waits in a queue while the peer
 * does not read. A doorbell is never lost: those that wait merge into one. All
 * else that a guest can cause waits for room in the queue, or is lost, before it
 * comes here (farside_tlp_wait_for_room); what the peer causes ends when it is
 * not read from any more.
 *
 * Doorbells, too, are messages, and so come after the writes that were posted
 * before them. An eventfd has no order with the socket, and a peer that fills it
 * and makes it blocking would stop whoever rings; on idle processors it is no
 * faster.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "farside_ntb.h"

#define RETRY_MS 50
/* A peer that cannot be talked to is not asked again so soon. */
#define REFUSED_RETRY_MS 1000
/* Messages served before others have their turn in the main loop. */
#define BATCH 64
/* Messages that wait before what a guest causes has to, */
#define QUEUE_MAX 256
/* and bytes of them that a peer may ask for and not read. */
#define QUEUE_BYTES_MAX (16u << 20)

typedef struct {
    size_t size;
    unsigned fd_count;
    int fds[FARSIDE_WIRE_FDS];
    uint8_t bytes[] QEMU_ALIGNED(8); /* the head, the body, the data */
} Packet;

/* All devices of this process: whoever waits serves the peers of all. */
static QLIST_HEAD(, FarsideNtb) devices = QLIST_HEAD_INITIALIZER(devices);

static void link_readable(void *opaque);
static void link_writable(void *opaque);

static void set_handlers(FarsideNtb *s)
{
    /*
     * While too much is put off, the peer has to wait. Not while it does not
     * read itself: were both to wait for that, neither would go on.
     */
    bool reading = !farside_tlp_is_full(s);
    bool writing = !g_queue_is_empty(&s->out);

    if (s->fd >= 0 && (reading != s->reading || writing != s->writing)) {
        s->reading = reading;
        s->writing = writing;
        qemu_set_fd_handler(s->fd, reading ? link_readable : NULL,
                            writing ? link_writable : NULL, s);
    }
}

void farside_link_resume(FarsideNtb *s)
{
    set_handlers(s);
}

static void packet_free(Packet *p)
{
    unsigned i;

    for (i = 0; i < p->fd_count; i++) {
        close(p->fds[i]);
    }
    g_free(p);
}

static void retry_later(FarsideNtb *s, int ms)
{
    if (!s->listen) {
        timer_mod(s->connect_timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + ms);
    }
}

static void link_close(FarsideNtb *s)
{
    Packet *p;

    if (s->fd < 0) {
        return;
    }
    qemu_set_fd_handler(s->fd, NULL, NULL, NULL);
    close(s->fd);
    s->fd = -1;
    s->reading = false;
    s->writing = false;
    while ((p = g_queue_pop_head(&s->out))) {
        packet_free(p);
    }
    s->out_bytes = 0;
    s->bells = 0;
}

void farside_link_drop(FarsideNtb *s, const char *reason)
{
    bool was_here = s->peer_here;

    if (s->fd < 0) {
        return;
    }
    if (reason) {
        warn_report("%s: %s: %s", TYPE_FARSIDE_NTB, s->link_path, reason);
    }
    link_close(s);
    s->peer_here = false;
    s->peer_enabled = false;
    s->peer_requester_id = 0;
    farside_tlp_peer_gone(s);
    if (was_here) {
        if (s->link_up) {
            s->link_up = false;
            farside_trace_state(s);
        }
        farside_ctrl_peer_reset(s);
        farside_window_forget_ram(s);
        farside_regs_link_event(s);
    }
    retry_later(s, reason ? REFUSED_RETRY_MS : RETRY_MS);
}

/* 1: sent; 0: not now; -1: the connection is gone. */
static int packet_send(FarsideNtb *s, const Packet *p)
{
    char control[CMSG_SPACE(sizeof(int) * FARSIDE_WIRE_FDS)] = {0};
    struct iovec iov = {.iov_base = (void *)p->bytes, .iov_len = p->size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct cmsghdr *cmsg;
    ssize_t n;

    if (p->fd_count) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * p->fd_count);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * p->fd_count);
        memcpy(CMSG_DATA(cmsg), p->fds, sizeof(int) * p->fd_count);
    }
    do {
        n = sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return 1;
    }
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
}

static void bells_send(FarsideNtb *s);

static void link_flush(FarsideNtb *s)
{
    Packet *p;
    int r;

    while (s->fd >= 0 && (p = g_queue_peek_head(&s->out))) {
        r = packet_send(s, p);
        if (r == 0) {
            break;
        }
        if (r < 0) {
            farside_link_drop(s, NULL);
            return;
        }
        s->out_bytes -= p->size;
        packet_free(g_queue_pop_head(&s->out));
        bells_send(s);
    }
    set_handlers(s);
}

static void link_writable(void *opaque)
{
    link_flush(opaque);
}

bool farside_link_is_full(FarsideNtb *s)
{
    return g_queue_get_length(&s->out) >= QUEUE_MAX;
}

/*
 * Doorbells that wait together are one message, and so are resets; a doorbell
 * that finds no room is kept apart.
 */
static bool merge(FarsideNtb *s, unsigned type, const void *body)
{
    const struct farside_wire_doorbell *m = body;
    Packet *p = g_queue_peek_tail(&s->out);
    struct farside_wire_head *head;
    struct farside_wire_doorbell *waiting;

    if (!p || (type != FARSIDE_WIRE_DOORBELL && type != FARSIDE_WIRE_RESET)) {
        return false;
    }
    head = (struct farside_wire_head *)p->bytes;
    if (head->type == type) {
        waiting = (struct farside_wire_doorbell *)(head + 1);
        if (type == FARSIDE_WIRE_DOORBELL) {
            waiting->bits |= m->bits;
        }
        return true;
    }
    if (type == FARSIDE_WIRE_DOORBELL && farside_link_is_full(s)) {
        s->bells |= m->bits;
        return true;
    }
    return false;
}

static Packet *packet_new(unsigned type, const void *body, size_t body_size,
                          const void *data, size_t data_size)
{
    struct farside_wire_head head = {
        .magic = FARSIDE_WIRE_MAGIC,
        .version = FARSIDE_WIRE_VERSION,
        .type = type,
        .length = body_size + data_size,
    };
    size_t size = sizeof(head) + body_size + data_size;
    Packet *p = g_malloc(sizeof(*p) + size);

    g_assert(size <= FARSIDE_WIRE_MAX);
    p->size = size;
    p->fd_count = 0;
    memcpy(p->bytes, &head, sizeof(head));
    if (body_size) {
        memcpy(p->bytes + sizeof(head), body, body_size);
    }
    if (data_size) {
        memcpy(p->bytes + sizeof(head) + body_size, data, data_size);
    }
    return p;
}

static void packet_queue(FarsideNtb *s, Packet *p)
{
    g_queue_push_tail(&s->out, p);
    s->out_bytes += p->size;
}

static void packet_post(FarsideNtb *s, Packet *p)
{
    int r = 0;

    if (g_queue_is_empty(&s->out)) {
        r = packet_send(s, p);
    }
    if (r > 0) {
        packet_free(p);
    } else if (r < 0) {
        packet_free(p);
        farside_link_drop(s, NULL);
    } else {
        packet_queue(s, p);
        set_handlers(s);
    }
}

void farside_link_send(FarsideNtb *s, unsigned type, const void *body,
                       size_t body_size, const void *data, size_t data_size,
                       const int *fds, unsigned fd_count)
{
    Packet *p;
    unsigned i;

    if (!s->peer_here) {
        return;
    }
    farside_tlp_send_burst(s);
    farside_trace_message(s, type, body);
    if (merge(s, type, body)) {
        return;
    }
    if (s->out_bytes >= QUEUE_BYTES_MAX) {
        farside_link_drop(s, "the peer does not read");
        return;
    }
    p = packet_new(type, body, body_size, data, data_size);
    for (i = 0; i < fd_count; i++) {
        p->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        if (p->fds[i] < 0) {
            p->fd_count = i;
            packet_free(p);
            farside_link_drop(s, "too many open files");
            return;
        }
        p->fd_count = i + 1;
    }
    packet_post(s, p);
}

static void bells_send(FarsideNtb *s)
{
    struct farside_wire_doorbell m = {.bits = s->bells};

    if (s->bells && !farside_link_is_full(s)) {
        s->bells = 0;
        packet_queue(s, packet_new(FARSIDE_WIRE_DOORBELL, &m, sizeof(m), NULL,
                                   0));
    }
}

/* Link state */

void farside_link_update(FarsideNtb *s)
{
    bool up = s->peer_here && s->enabled && s->peer_enabled;

    if (up != s->link_up) {
        s->link_up = up;
        farside_trace_state(s);
        farside_window_update(s);
        farside_regs_link_event(s);
    }
}

/* Messages */

static bool on_hello(FarsideNtb *s, const struct farside_wire_hello *m)
{
    unsigned i;

    if (s->peer_here) {
        return false;
    }
    if (m->partition != farside_ntb_peer(s)) {
        farside_link_drop(s, "both ends are the same partition");
        return true;
    }
    if (m->generation != s->generation || m->lut_entries != s->lut_entries ||
        m->req_ids != FARSIDE_NTB_REQ_IDS) {
        farside_link_drop(s, "the other end has another generation or number "
                             "of LUT entries");
        return true;
    }
    for (i = 0; i < FARSIDE_NTB_WINDOWS; i++) {
        if (m->bar_size[i] != s->bar_size[i]) {
            farside_link_drop(s, "the other end has BARs of another size");
            return true;
        }
    }
    s->peer_here = true;
    s->peer_enabled = m->link_up == 1;
    s->peer_requester_id = m->requester_id;
    farside_ctrl_peer_reset(s);
    /* Not a message that could have been sent: the first one is. */
    memset(&s->announced, 0xff, sizeof(s->announced));
    farside_window_announce(s);
    farside_link_update(s);
    return true;
}

/* The size of a message without data, or 0 for one that is not allowed here. */
static size_t body_size(unsigned type)
{
    switch (type) {
    case FARSIDE_WIRE_HELLO:
        return sizeof(struct farside_wire_hello);
    case FARSIDE_WIRE_RAM:
        return sizeof(struct farside_wire_ram);
    case FARSIDE_WIRE_LINK:
        return sizeof(struct farside_wire_link);
    case FARSIDE_WIRE_DOORBELL:
        return sizeof(struct farside_wire_doorbell);
    case FARSIDE_WIRE_MESSAGE:
        return sizeof(struct farside_wire_message);
    case FARSIDE_WIRE_LOCK:
    case FARSIDE_WIRE_RELEASE:
        return sizeof(struct farside_wire_lock);
    case FARSIDE_WIRE_LOCKED:
    case FARSIDE_WIRE_CONFIG:
        return sizeof(struct farside_wire_ctrl);
    case FARSIDE_WIRE_CONFIGURED:
        return sizeof(struct farside_wire_configured);
    default:
        return 0;
    }
}

static bool dispatch(FarsideNtb *s, unsigned type, const void *body,
                     size_t size, int *fds, unsigned fd_count)
{
    const struct farside_wire_link *link = body;

    if (!s->peer_here && type != FARSIDE_WIRE_HELLO) {
        return false;
    }
    switch (type) {
    case FARSIDE_WIRE_READ:
    case FARSIDE_WIRE_WRITE:
    case FARSIDE_WIRE_COMPLETION:
        return farside_tlp_on_message(s, type, body, size);
    case FARSIDE_WIRE_RESET:
        if (size) {
            return false;
        }
        farside_ctrl_peer_reset(s);
        farside_regs_link_event(s);
        return true;
    }
    if (size == 0 || size != body_size(type)) {
        return false;
    }
    switch (type) {
    case FARSIDE_WIRE_HELLO:
        return on_hello(s, body);
    case FARSIDE_WIRE_LINK:
        s->peer_enabled = link->up == 1;
        farside_link_update(s);
        return true;
    case FARSIDE_WIRE_DOORBELL:
    case FARSIDE_WIRE_MESSAGE:
        return farside_tlp_on_message(s, type, body, size);
    case FARSIDE_WIRE_LOCK:
        farside_ctrl_on_lock(s, body);
        return true;
    case FARSIDE_WIRE_LOCKED:
        farside_ctrl_on_locked(s, body);
        return true;
    case FARSIDE_WIRE_CONFIG:
        farside_ctrl_on_config(s, body);
        return true;
    case FARSIDE_WIRE_CONFIGURED:
        farside_ctrl_on_configured(s, body);
        return true;
    case FARSIDE_WIRE_RELEASE:
        farside_ctrl_on_release(s, body);
        return true;
    default:
        return false;
    }
}

static void established(FarsideNtb *s, int fd)
{
    struct farside_wire_hello m = {
        .partition = s->partition,
        .generation = s->generation,
        .link_up = s->enabled,
        .requester_id = pci_requester_id(PCI_DEVICE(s)),
        .lut_entries = s->lut_entries,
        .req_ids = FARSIDE_NTB_REQ_IDS,
        .bar_size = {s->bar_size[0], s->bar_size[1]},
    };

    s->fd = fd;
    set_handlers(s);
    packet_post(s, packet_new(FARSIDE_WIRE_HELLO, &m, sizeof(m), NULL, 0));
}

/* The broker hands over the socket to the peer. */
static bool on_peer_socket(FarsideNtb *s, size_t size, int *fds,
                           unsigned fd_count)
{
    if (s->peer_here || s->listen || size || fd_count != 1) {
        return false;
    }
    link_close(s);
    established(s, fds[0]);
    fds[0] = -1;
    return true;
}

static unsigned take_fds(struct msghdr *msg, int *fds)
{
    struct cmsghdr *cmsg;
    unsigned count = 0, n;

    for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        n = MIN(n, FARSIDE_WIRE_FDS - count);
        memcpy(fds + count, CMSG_DATA(cmsg), n * sizeof(int));
        count += n;
    }
    return count;
}

/* Serves one message; false when there is none. */
static bool receive_one(FarsideNtb *s)
{
    union {
        struct farside_wire_head head;
        uint8_t bytes[FARSIDE_WIRE_MAX];
        uint64_t align;
    } buf;
    char control[CMSG_SPACE(sizeof(int) * FARSIDE_WIRE_FDS)];
    struct iovec iov = {.iov_base = buf.bytes, .iov_len = sizeof(buf.bytes)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    int fds[FARSIDE_WIRE_FDS];
    unsigned fd_count, i;
    size_t size;
    ssize_t n;
    bool ok;

    if (s->fd < 0) {
        return false;
    }
    n = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    /* No message at all may still bring files; at the end, there are none. */
    fd_count = n >= 0 ? take_fds(&msg, fds) : 0;
    if (n < 0 || (n == 0 && fd_count == 0)) {
        farside_link_drop(s, NULL);
        return false;
    }
    size = n - sizeof(buf.head);
    ok = (size_t)n >= sizeof(buf.head) &&
         !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
         buf.head.magic == FARSIDE_WIRE_MAGIC && buf.head.length == size;
    if (ok && buf.head.version != FARSIDE_WIRE_VERSION) {
        farside_link_drop(s, "the other end speaks another version");
    } else if (ok && buf.head.type == FARSIDE_WIRE_RAM && s->peer_here &&
               size == sizeof(struct farside_wire_ram)) {
        ok = farside_window_on_ram(s, (void *)(buf.bytes + sizeof(buf.head)),
                                   fds, fd_count);
        fd_count = 0;
    } else if (ok && buf.head.type == FARSIDE_WIRE_PEER) {
        ok = on_peer_socket(s, size, fds, fd_count);
    } else if (ok) {
        ok = fd_count == 0 &&
             dispatch(s, buf.head.type, buf.bytes + sizeof(buf.head), size, fds,
                      fd_count);
    }
    for (i = 0; i < fd_count; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (!ok) {
        farside_link_drop(s, "the other end sent what it must not");
    }
    return s->fd >= 0;
}

static void link_readable(void *opaque)
{
    FarsideNtb *s = opaque;
    unsigned i;

    for (i = 0; i < BATCH; i++) {
        if (farside_tlp_is_full(s) || !receive_one(s)) {
            break;
        }
    }
    set_handlers(s);
}

static short serve_events(FarsideNtb *s)
{
    short events = 0;

    if (!farside_tlp_is_full(s)) {
        events |= POLLIN;
    }
    if (!g_queue_is_empty(&s->out)) {
        events |= POLLOUT;
    }
    return events;
}

static void serve_one(FarsideNtb *s, short revents)
{
    unsigned i;

    if (s->fd >= 0 && (revents & POLLOUT)) {
        link_flush(s);
    }
    if (revents & (POLLIN | POLLHUP | POLLERR)) {
        for (i = 0; i < BATCH && receive_one(s); i++) {
            /* What is waited for may be here; the caller looks. */
            if (farside_tlp_is_full(s)) {
                break;
            }
        }
    }
    set_handlers(s);
}

void farside_link_serve(int64_t deadline)
{
    int64_t left = deadline - qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
    g_autofree struct pollfd *fds = NULL;
    unsigned count = 0;
    struct timespec ts;
    FarsideNtb *s;

    if (left <= 0) {
        return;
    }
    QLIST_FOREACH(s, &devices, next) {
        count++;
    }
    fds = g_new0(struct pollfd, count);
    count = 0;
    QLIST_FOREACH(s, &devices, next) {
        fds[count].fd = s->fd;
        fds[count++].events = serve_events(s);
    }
    ts.tv_sec = left / NANOSECONDS_PER_SECOND;
    ts.tv_nsec = left % NANOSECONDS_PER_SECOND;
    if (ppoll(fds, count, &ts, NULL) <= 0) {
        return;
    }
    count = 0;
    QLIST_FOREACH(s, &devices, next) {
        if (fds[count].revents) {
            serve_one(s, fds[count].revents);
        }
        count++;
    }
}

/* Sockets */

static void link_accept(void *opaque)
{
    FarsideNtb *s = opaque;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    unsigned i;

    if (fd < 0) {
        return;
    }
    /* A new peer may come before the death of the old one was noticed. */
    for (i = 0; i < BATCH && receive_one(s); i++) {
        ;
    }
    if (s->peer_here) {
        close(fd);
        return;
    }
    /* A peer says HELLO at once: who has not by now does not keep others out. */
    farside_link_drop(s, NULL);
    established(s, fd);
}

/* False where the path is too long for one. */
static bool link_address(FarsideNtb *s, struct sockaddr_un *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    return g_strlcpy(ret_address->sun_path, s->link_path,
                     sizeof(ret_address->sun_path)) <
           sizeof(ret_address->sun_path);
}

static void link_connect(void *opaque)
{
    FarsideNtb *s = opaque;
    struct sockaddr_un address;
    int fd;

    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && link_address(s, &address) &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
        established(s, fd);
        return;
    }
    if (fd >= 0) {
        close(fd);
    }
    retry_later(s, RETRY_MS);
}

static bool link_listen(FarsideNtb *s, const struct sockaddr_un *address,
                        Error **errp)
{
    struct stat st;
    int fd;

    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot make a socket");
        return false;
    }
    /* What a process that was killed left behind. */
    if (lstat(s->link_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, (struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED) {
        unlink(s->link_path);
    }
    if (bind(fd, (struct sockaddr *)address, sizeof(*address)) < 0 ||
        listen(fd, 4) < 0) {
        error_setg_errno(errp, errno, "property 'link': cannot listen at %s",
                         s->link_path);
        close(fd);
        return false;
    }
    s->listen_fd = fd;
    qemu_set_fd_handler(fd, link_accept, NULL, s);
    return true;
}

bool farside_link_realize(FarsideNtb *s, Error **errp)
{
    struct sockaddr_un address;

    if (!link_address(s, &address)) {
        error_setg(errp, "property 'link': the path is longer than %zu bytes",
                   sizeof(address.sun_path) - 1);
        return false;
    }
    g_queue_init(&s->out);
    s->connect_timer = timer_new_ms(QEMU_CLOCK_REALTIME, link_connect, s);
    if (!s->listen) {
        retry_later(s, 0);
    } else if (!link_listen(s, &address, errp)) {
        timer_free(s->connect_timer);
        return false;
    }
    QLIST_INSERT_HEAD(&devices, s, next);
    return true;
}

void farside_link_exit(FarsideNtb *s)
{
    QLIST_REMOVE(s, next);
    farside_link_drop(s, NULL);
    timer_free(s->connect_timer);
    if (s->listen_fd >= 0) {
        qemu_set_fd_handler(s->listen_fd, NULL, NULL, NULL);
        close(s->listen_fd);
        unlink(s->link_path);
    }
}
