/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
    struct cmsghdr head;
    char room[CMSG_SPACE(TIMED_CONTROL_FDS * sizeof(int))];
} Ancillary;

bool timed_control_send(int line, const char *text, const int *fds,
                        unsigned count)
{
    struct iovec iov = {(void *)text, strlen(text) + 1};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    Ancillary ancillary;
    ssize_t n;

    if (iov.iov_len > TIMED_CONTROL_TEXT || count > TIMED_CONTROL_FDS) {
        errno = EMSGSIZE;
        return false;
    }
    if (count > 0) {
        memset(&ancillary, 0, sizeof(ancillary));
        message.msg_control = &ancillary;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        ancillary.head.cmsg_level = SOL_SOCKET;
        ancillary.head.cmsg_type = SCM_RIGHTS;
        ancillary.head.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.head), fds, count * sizeof(int));
    }
    do {
        n = sendmsg(line, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n >= 0;
}

bool timed_control_receive(int line, TimedControlPacket *ret_packet,
                           int timeout_ms)
{
    struct iovec iov = {ret_packet->text, TIMED_CONTROL_TEXT};
    Ancillary ancillary;
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = &ancillary,
                             .msg_controllen = sizeof(ancillary)};
    struct pollfd look = {.fd = line, .events = POLLIN};
    const struct cmsghdr *c;
    ssize_t n;

    ret_packet->count = 0;
    if (timeout_ms > 0 && poll(&look, 1, timeout_ms) < 0) {
        return false;
    }
    n = recvmsg(line, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) {
        return false;
    }
    for (c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, (void *)c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            ret_packet->count =
                (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(ret_packet->fds, CMSG_DATA(c),
                   ret_packet->count * sizeof(int));
        }
    }
    if (n == 0 || ret_packet->text[n - 1] != '\0') {
        timed_control_close(ret_packet);
        errno = n == 0 ? EPIPE : EPROTO;
        return false;
    }
    return true;
}

void timed_control_close(TimedControlPacket *packet)
{
    unsigned i;

    for (i = 0; i < packet->count; i++) {
        if (packet->fds[i] >= 0) {
            close(packet->fds[i]);
            packet->fds[i] = -1;
        }
    }
}

static void *wait_for_end(void *data)
{
    struct pollfd look = {.fd = (int)(intptr_t)data};

    while (poll(&look, 1, -1) < 0 && errno == EINTR) {
        ;
    }
    kill(getpid(), SIGKILL);
    return NULL;
}

bool timed_control_die_with(int line)
{
    sigset_t all, before;
    pthread_t thread;
    int error;

    /* The other threads handle signals. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, wait_for_end, (void *)(intptr_t)line);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        errno = error;
        return false;
    }
    pthread_detach(thread);
    return true;
}
