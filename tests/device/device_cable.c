/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "device_cable.h"
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "farside_socket.h"
#include "farside_wire.h"

#define TYPES 16

struct DeviceCable {
    char *path;
    char *listener;
    int listen_fd;
    int wake;
    GThread *thread;
    gint stop;
    gint stalled[2];
    gint count[TYPES];
    gsize bytes[TYPES];
};

/* Carries one message with its files. False if an end is gone. */
static bool carry(DeviceCable *cable, int from, int to)
{
    union {
        struct farside_wire_head head;
        uint8_t bytes[FARSIDE_WIRE_MAX];
    } buf;
    char control[CMSG_SPACE(sizeof(int) * FARSIDE_WIRE_FDS)];
    struct iovec iov = {.iov_base = &buf, .iov_len = sizeof(buf)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct cmsghdr *cmsg;
    int fds[FARSIDE_WIRE_FDS];
    unsigned i, fd_count = 0;
    ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);

    if (n <= 0) {
        return false;
    }
    cmsg = CMSG_FIRSTHDR(&msg);
    if (cmsg) {
        fd_count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(cmsg), fd_count * sizeof(int));
    }
    if ((size_t)n >= sizeof(buf.head) && buf.head.type < TYPES) {
        g_atomic_pointer_add(&cable->bytes[buf.head.type], n);
        g_atomic_int_inc(&cable->count[buf.head.type]);
    }
    iov.iov_len = n;
    n = sendmsg(to, &msg, MSG_NOSIGNAL);
    for (i = 0; i < fd_count; i++) {
        close(fds[i]);
    }
    return n > 0;
}

static void carry_all(DeviceCable *cable, int fds[2])
{
    struct pollfd p[5];
    unsigned i;

    while (!g_atomic_int_get(&cable->stop)) {
        for (i = 0; i < 2; i++) {
            /* A stalled end is not polled; the other one still is. */
            p[i].fd = fds[i];
            p[i].events = g_atomic_int_get(&cable->stalled[i]) ? 0 : POLLIN;
            p[2 + i].fd = fds[i];
            p[2 + i].events = POLLOUT;
        }
        p[4].fd = cable->wake;
        p[4].events = POLLIN;
        poll(p, 5, -1);
        if (p[4].revents) {
            eventfd_t value;

            eventfd_read(cable->wake, &value);
        }
        if ((p[0].revents | p[1].revents) & (POLLHUP | POLLERR)) {
            return;
        }
        for (i = 0; i < 2; i++) {
            if (!(p[i].revents & POLLIN)) {
                continue;
            }
            if (!(p[2 + 1 - i].revents & POLLOUT)) {
                /* The other end is full: looks again a little later. */
                g_usleep(100);
            } else if (!carry(cable, fds[i], fds[1 - i])) {
                return;
            }
        }
    }
}

static gpointer cable_run(gpointer data)
{
    DeviceCable *cable = data;
    struct pollfd p[2] = {{.fd = cable->listen_fd, .events = POLLIN},
                          {.fd = cable->wake, .events = POLLIN}};
    int fds[2];

    while (!g_atomic_int_get(&cable->stop)) {
        poll(p, 2, -1);
        if (!(p[0].revents & POLLIN)) {
            continue;
        }
        fds[0] = accept4(cable->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        fds[1] = farside_socket_connect(cable->listener, SOCK_SEQPACKET);
        if (fds[1] >= 0) {
            carry_all(cable, fds);
            close(fds[1]);
        }
        close(fds[0]);
    }
    return NULL;
}

DeviceCable *cable_new(const char *path, const char *listener)
{
    DeviceCable *cable = g_new0(DeviceCable, 1);

    cable->path = g_strdup(path);
    cable->listener = g_strdup(listener);
    cable->wake = eventfd(0, EFD_CLOEXEC);
    cable->listen_fd = farside_socket_listen(path, SOCK_SEQPACKET, 1);
    ck_assert_int_ge(cable->listen_fd, 0);
    cable->thread = g_thread_new("cable", cable_run, cable);
    return cable;
}

void cable_free(DeviceCable *cable)
{
    if (!cable) {
        return;
    }
    g_atomic_int_set(&cable->stop, 1);
    eventfd_write(cable->wake, 1);
    g_thread_join(cable->thread);
    close(cable->listen_fd);
    close(cable->wake);
    unlink(cable->path);
    g_free(cable->path);
    g_free(cable->listener);
    g_free(cable);
}

unsigned cable_count(DeviceCable *cable, unsigned type)
{
    return g_atomic_int_get(&cable->count[type]);
}

unsigned long cable_bytes(DeviceCable *cable, unsigned type)
{
    return (gsize)g_atomic_pointer_get(&cable->bytes[type]);
}

void cable_stall(DeviceCable *cable, bool from_connector, bool from_listener)
{
    g_atomic_int_set(&cable->stalled[0], from_connector);
    g_atomic_int_set(&cable->stalled[1], from_listener);
    eventfd_write(cable->wake, 1);
}
