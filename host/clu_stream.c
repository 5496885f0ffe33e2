/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>

#include "clu_source.h"

#define READ_BYTES 65536
#define READABLE   (G_IO_IN | G_IO_HUP | G_IO_ERR)

struct CluStream {
    GMainContext *context;
    int fd;
    const CluStreamOps *ops;
    void *owner;
    GSource *in;
    GSource *out;
    GByteArray *waiting; /* bytes to write, from index `done` on */
    size_t done;         /* bytes at the start of `waiting` already written */
    bool is_closed;
    bool is_held;   /* only clu_stream_let() writes */
    size_t cut;     /* clu_stream_let() ends before this index; 0: no cut */
    bool *is_freed; /* set when a running callback frees the stream; NULL while
                       none runs */
};

static void stop(CluStream *stream)
{
    clu_source_clear(&stream->in);
    clu_source_clear(&stream->out);
    stream->is_closed = true;
}

static gboolean on_writable(int fd, GIOCondition condition, gpointer data);

/* Writes as much as the socket takes. Returns false if the other end is gone.
 */
static bool flush(CluStream *stream)
{
    GByteArray *waiting = stream->waiting;

    while (stream->done < waiting->len) {
        ssize_t n =
            send(stream->fd, waiting->data + stream->done,
                 waiting->len - stream->done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
            break;
        }
        if (n < 0) {
            return false;
        }
        stream->done += (size_t)n;
    }
    if (stream->done == waiting->len) {
        g_byte_array_set_size(waiting, 0);
        stream->done = 0;
        clu_source_clear(&stream->out);
    } else {
        if (stream->done > waiting->len / 2) {
            g_byte_array_remove_range(waiting, 0, (guint)stream->done);
            stream->done = 0;
        }
        if (!stream->out) {
            stream->out = clu_source_new_fd(stream->context, stream->fd,
                                            G_IO_OUT, on_writable, stream);
        }
    }
    return true;
}

static void tell_closed(CluStream *stream)
{
    if (!stream->is_closed) {
        stop(stream);
        stream->ops->closed(stream->owner);
    }
}

static gboolean on_writable(int fd, GIOCondition condition, gpointer data)
{
    CluStream *stream = data;

    if (!flush(stream)) {
        /* on_readable() first delivers what the other end has sent, and then
         * sees the end. */
        clu_source_clear(&stream->out);
        g_byte_array_set_size(stream->waiting, 0);
        stream->done = 0;
        if (!stream->in) {
            tell_closed(stream);
        }
        return G_SOURCE_REMOVE;
    }
    if (stream->waiting->len == 0) {
        if (stream->ops->drained) {
            stream->ops->drained(stream->owner);
        }
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

static gboolean on_readable(int fd, GIOCondition condition, gpointer data)
{
    CluStream *stream = data;
    g_autofree uint8_t *buffer = g_malloc(READ_BYTES);
    bool is_freed = false;
    ssize_t n = read(stream->fd, buffer, READ_BYTES);

    if (n > 0) {
        stream->is_freed = &is_freed;
        stream->ops->data(stream->owner, buffer, (size_t)n);
        if (is_freed) {
            return G_SOURCE_REMOVE;
        }
        stream->is_freed = NULL;
        return G_SOURCE_CONTINUE;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    tell_closed(stream);
    return G_SOURCE_REMOVE;
}

CluStream *clu_stream_new(GMainContext *context, int fd,
                          const CluStreamOps *ops, void *owner)
{
    CluStream *stream = g_new0(CluStream, 1);

    stream->context = context ? g_main_context_ref(context) : NULL;
    stream->fd = fd;
    stream->ops = ops;
    stream->owner = owner;
    stream->waiting = g_byte_array_new();
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    stream->in = clu_source_new_fd(stream->context, stream->fd, READABLE,
                                   on_readable, stream);
    return stream;
}

void clu_stream_free(CluStream *stream)
{
    if (!stream) {
        return;
    }
    if (stream->is_freed) {
        *stream->is_freed = true;
    }
    stop(stream);
    close(stream->fd);
    g_byte_array_unref(stream->waiting);
    if (stream->context) {
        g_main_context_unref(stream->context);
    }
    g_free(stream);
}

void clu_stream_write(CluStream *stream, const void *data, size_t length)
{
    if (stream->is_closed || length == 0) {
        return;
    }
    g_byte_array_append(stream->waiting, data, (guint)length);
    if (!stream->is_held && !stream->out && !flush(stream)) {
        /* The caller does not expect a callback here: on_readable() reports the
         * end later. */
        g_byte_array_set_size(stream->waiting, 0);
        stream->done = 0;
    }
}

void clu_stream_replace(CluStream *stream, int fd)
{
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    /* The sources know the number only. */
    dup3(fd, stream->fd, O_CLOEXEC);
    close(fd);
}

void clu_stream_hold(CluStream *stream)
{
    stream->is_held = true;
}

const uint8_t *clu_stream_waiting(const CluStream *stream, size_t *ret_length)
{
    *ret_length = stream->waiting->len - stream->done;
    return stream->waiting->data + stream->done;
}

void clu_stream_cut(CluStream *stream)
{
    if (stream->is_held && stream->cut <= stream->done) {
        stream->cut = stream->waiting->len;
    }
}

void clu_stream_discard(CluStream *stream)
{
    g_byte_array_set_size(stream->waiting, 0);
    stream->done = 0;
    stream->cut = 0;
}

size_t clu_stream_let(CluStream *stream, size_t most)
{
    size_t end =
        stream->cut > stream->done ? stream->cut : stream->waiting->len;
    size_t length = MIN(end - stream->done, most), sent = 0;
    ssize_t n = 0;

    g_assert(stream->is_held);
    if (length == 0 || stream->is_closed ||
        clu_stream_unread(stream) != clu_stream_pending(stream)) {
        return 0;
    }
    while (sent < length) {
        n = send(stream->fd, stream->waiting->data + stream->done + sent,
                 length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            break;
        }
        sent += (size_t)n;
    }
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS) {
        clu_stream_discard(stream); /* on_readable() reports the end */
        return 0;
    }
    if (sent > 0) {
        stream->done += sent;
        g_byte_array_remove_range(stream->waiting, 0, (guint)stream->done);
        stream->cut -= MIN(stream->cut, stream->done);
        stream->done = 0;
    }
    return sent;
}

size_t clu_stream_pending(const CluStream *stream)
{
    return stream->waiting->len - stream->done;
}

size_t clu_stream_unread(const CluStream *stream)
{
    int in_socket = 0;

    if (stream->is_closed || ioctl(stream->fd, SIOCOUTQ, &in_socket) < 0) {
        return 0;
    }
    return clu_stream_pending(stream) + (size_t)in_socket;
}

void clu_stream_set_reading(CluStream *stream, bool is_reading)
{
    if (stream->is_closed) {
        return;
    }
    if (!is_reading) {
        clu_source_clear(&stream->in);
    } else if (!stream->in) {
        stream->in = clu_source_new_fd(stream->context, stream->fd, READABLE,
                                       on_readable, stream);
    }
}
