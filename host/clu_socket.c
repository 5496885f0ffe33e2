/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_source.h"
#include "farside_socket.h"

#define BACKLOG  128
/* Pause before the next accept() when there are no descriptors or memory. */
#define PAUSE_MS 100

struct CluListener {
    GMainContext *context;
    char *path;
    int fd;
    dev_t device; /* device and inode of the socket file that was made */
    ino_t inode;
    GSource *watch;
    GSource *pause;
    CluAcceptFn fn;
    void *data;
};

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
    ssize_t n = farside_socket_send(fd, bytes, size, &file, file >= 0 ? 1 : 0);

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
        /* A client that cannot be accepted stays in the backlog, so the socket
         * stays readable. Polling it now would spin. */
        clu_source_clear(&listener->watch);
        listener->pause = clu_source_new_timer(listener->context, PAUSE_MS,
                                               accept_again, listener);
        break;
    default:
        break; /* the client has gone already */
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

static int listen_at(const char *path, int type, GError **error)
{
    int fd = farside_socket_listen(path, type, BACKLOG);
    int code = errno;

    if (fd < 0 && code == ENAMETOOLONG) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NAMETOOLONG,
                    "cannot listen at %s: the path of a socket has at most %zu "
                    "bytes",
                    path, FARSIDE_SOCKET_PATH_MAX);
    } else if (fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
                    "cannot listen at %s: %s", path, g_strerror(code));
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
    if (lstat(listener->path, &st) == 0 && st.st_dev == listener->device &&
        st.st_ino == listener->inode) {
        unlink(listener->path);
    }
    clu_listener_leave(listener);
}

void clu_listener_leave(CluListener *listener)
{
    clu_source_clear(&listener->watch);
    clu_source_clear(&listener->pause);
    close(listener->fd);
    g_main_context_unref(listener->context);
    g_free(listener->path);
    g_free(listener);
}
