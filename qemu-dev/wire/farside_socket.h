/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * UNIX sockets that carry messages and open files between the processes of one
 * machine. On failure errno gives the reason.
 */
#ifndef FARSIDE_SOCKET_H
#define FARSIDE_SOCKET_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Bytes of the longest path that a socket can have */
#define FARSIDE_SOCKET_PATH_MAX                                                \
    (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)

/* The most open files in one message */
#define FARSIDE_SOCKET_FILES_MAX 64

/* Makes the address of @path. False with ENAMETOOLONG if it is too long. */
static inline bool farside_socket_address(const char *path,
                                          struct sockaddr_un *ret_address)
{
    if (strlen(path) > FARSIDE_SOCKET_PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->sun_family = AF_UNIX;
    strcpy(ret_address->sun_path, path);
    return true;
}

/* Closes @fd, keeps errno, and returns -1. */
static inline int farside_socket_abandon(int fd)
{
    int code = errno;

    close(fd);
    errno = code;
    return -1;
}

/*
 * Returns a new socket that is connected to @path, or -1. @type is SOCK_STREAM
 * or SOCK_SEQPACKET, with SOCK_NONBLOCK for a non-blocking socket.
 */
static inline int farside_socket_connect(const char *path, int type)
{
    struct sockaddr_un address;
    int fd;

    if (!farside_socket_address(path, &address)) {
        return -1;
    }
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        return farside_socket_abandon(fd);
    }
    return fd;
}

/*
 * Returns a new non-blocking socket of @type that listens at @path, or -1. If
 * @path is an old socket at which no process listens, the new one replaces it.
 */
static inline int farside_socket_listen(const char *path, int type, int backlog)
{
    struct sockaddr_un address;
    struct stat st;
    int fd;

    if (!farside_socket_address(path, &address)) {
        return -1;
    }
    fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
        errno == ECONNREFUSED) {
        unlink(path);
    }
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, backlog) < 0) {
        return farside_socket_abandon(fd);
    }
    return fd;
}

/*
 * Sends a packet, or bytes of a stream, and @count open files. The receiver
 * gets copies of the files. Never waits. Returns the number of bytes sent, or
 * -1.
 */
static inline ssize_t farside_socket_send(int fd, const void *bytes,
                                          size_t size, const int *files,
                                          unsigned count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FARSIDE_SOCKET_FILES_MAX)];
    } control;
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (count > FARSIDE_SOCKET_FILES_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (count) {
        struct cmsghdr *cmsg;

        memset(&control, 0, CMSG_SPACE(sizeof(int) * count));
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(cmsg), files, sizeof(int) * count);
    }
    do {
        n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n;
}

/*
 * Receives a packet and up to @files_max open files, which the caller closes.
 * @files_max is at most FARSIDE_SOCKET_FILES_MAX; more is EINVAL. Never waits.
 * Returns the packet's size, or -1. At the end of the connection it returns 0
 * and no files. Sets @ret_is_whole to false if the packet or its files did not
 * fit.
 */
static inline ssize_t farside_socket_receive(int fd, void *bytes, size_t size,
                                             int *files, unsigned files_max,
                                             unsigned *ret_count,
                                             bool *ret_is_whole)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * FARSIDE_SOCKET_FILES_MAX)];
    } control;
    struct iovec iov = {.iov_base = bytes, .iov_len = size};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        /* Not CMSG_SPACE(): its padding has room for one more file. */
        .msg_controllen = CMSG_LEN(sizeof(int) * files_max),
    };
    struct cmsghdr *cmsg;
    size_t n, i;
    ssize_t received;
    int file;

    *ret_count = 0;
    *ret_is_whole = false;
    if (files_max > FARSIDE_SOCKET_FILES_MAX) {
        errno = EINVAL;
        return -1;
    }
    received = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) {
        return -1;
    }
    *ret_is_whole = !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
    for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (i = 0; i < n; i++) {
            memcpy(&file, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
            if (*ret_count < files_max) {
                files[(*ret_count)++] = file;
            } else {
                close(file);
                *ret_is_whole = false;
            }
        }
    }
    return received;
}

#endif /* FARSIDE_SOCKET_H */
