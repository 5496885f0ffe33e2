/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_broker_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG  64
/* Until accept() is tried again when there were no more files. */
#define PAUSE_MS 100

struct CluListener {
    GMainContext *context;
    char *path;
    int fd;
    dev_t device; /* of path, when it was made */
    ino_t inode;
    GSource *watch;
    GSource *pause;
    CluAcceptFn fn;
    void *data;
};

GSource *clu_source_new_fd(GMainContext *context, int fd,
                           GIOCondition condition, GUnixFDSourceFunc fn,
                           void *data)
{
    GSource *source = g_unix_fd_source_new(fd, condition);

    g_source_set_callback(source, G_SOURCE_FUNC(fn), data, NULL);
    g_source_attach(source, context);
    return source;
}

GSource *clu_source_new_timer(GMainContext *context, unsigned ms,
                              GSourceFunc fn, void *data)
{
    GSource *source = g_timeout_source_new(ms);

    g_source_set_callback(source, fn, data, NULL);
    g_source_attach(source, context);
    return source;
}

void clu_source_clear(GSource **source)
{
    if (*source) {
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
    }
}

pid_t clu_socket_get_pid(int fd)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid
                                                                     : 0;
}

bool clu_socket_is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

bool clu_socket_send(int fd, const void *bytes, size_t size, int file)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = size};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    if (file >= 0) {
        struct cmsghdr *cmsg;

        msg.msg_control = control.bytes;
        msg.msg_controllen = sizeof(control.bytes);
        cmsg = CMSG_FIRSTHDR(&msg);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(file));
        memcpy(CMSG_DATA(cmsg), &file, sizeof(file));
    }
    do {
        n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 && (size_t)n < size) {
        errno = EMSGSIZE;
        return false;
    }
    return n >= 0;
}

/* ---- Listening -------------------------------------------------------- */

static gboolean accept_again(gpointer data);

static gboolean accept_ready(int fd, GIOCondition condition, gpointer data)
{
    CluListener *listener = data;
    int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (client >= 0) {
        listener->fn(client, listener->data);
        return G_SOURCE_CONTINUE;
    }
    switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        /* Who connects stays in the queue, and the socket readable. */
        clu_source_clear(&listener->watch);
        listener->pause = clu_source_new_timer(listener->context, PAUSE_MS,
                                               accept_again, listener);
        break;
    default:
        break; /* the client was faster to go */
    }
    return G_SOURCE_CONTINUE;
}

static gboolean accept_again(gpointer data)
{
    CluListener *listener = data;

    clu_source_clear(&listener->pause);
    listener->watch = clu_source_new_fd(listener->context, listener->fd,
                                        G_IO_IN, accept_ready, listener);
    return G_SOURCE_CONTINUE;
}

static void set_errno(GError **error, int code, const char *path)
{
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
                "cannot listen at %s: %s", path, g_strerror(code));
}

/* Removes the socket of a process that is gone: nobody listens there. */
static void remove_stale(int fd, const struct sockaddr_un *address)
{
    struct stat st;

    if (lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED) {
        unlink(address->sun_path);
    }
}

static int listen_at(const char *path, int type, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path)) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NAMETOOLONG,
                    "cannot listen at %s: the path of a socket has at most %zu "
                    "bytes",
                    path, sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        set_errno(error, errno, path);
        return -1;
    }
    remove_stale(fd, &address);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0) {
        set_errno(error, errno, path);
        close(fd);
        return -1;
    }
    return fd;
}

CluListener *clu_listener_new(GMainContext *context, const char *path, int type,
                              CluAcceptFn fn, void *data, GError **error)
{
    int fd = listen_at(path, type, error);
    CluListener *listener;
    struct stat st;

    if (fd < 0) {
        return NULL;
    }
    listener = g_new0(CluListener, 1);
    listener->context = g_main_context_ref(context);
    listener->path = g_strdup(path);
    listener->fd = fd;
    listener->fn = fn;
    listener->data = data;
    if (lstat(path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    listener->watch =
        clu_source_new_fd(context, fd, G_IO_IN, accept_ready, listener);
    return listener;
}

void clu_listener_free(CluListener *listener)
{
    struct stat st;

    if (!listener) {
        return;
    }
    clu_source_clear(&listener->watch);
    clu_source_clear(&listener->pause);
    if (lstat(listener->path, &st) == 0 && st.st_dev == listener->device &&
        st.st_ino == listener->inode) {
        unlink(listener->path);
    }
    close(listener->fd);
    g_main_context_unref(listener->context);
    g_free(listener->path);
    g_free(listener);
}
