/* SPDX-License-Identifier: MIT */
#include "clu_hub.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clu_source.h"

#define FRAME_MAX 69632 /* the most that QEMU sends at once */
/* Most frames of one adapter that are forwarded in one turn. */
#define BATCH     64

typedef struct Port {
    CluHub *hub;
    int fd;
    GSource *source;
} Port;

struct CluHub {
    GMainContext *context;
    GPtrArray *ports; /* of Port */
    uint8_t *frame;
};

static void port_free(void *data)
{
    Port *port = data;

    clu_source_clear(&port->source);
    close(port->fd);
    g_free(port);
}

/* An adapter that does not keep up loses frames, as on a real network. The port
 * of a machine that is gone is recognized only by an error of send(). */
static void forward(CluHub *hub, const Port *from, size_t length)
{
    unsigned i;

    for (i = hub->ports->len; i-- > 0;) {
        const Port *port = hub->ports->pdata[i];

        if (port != from &&
            send(port->fd, hub->frame, length, MSG_DONTWAIT | MSG_NOSIGNAL) <
                0 &&
            (errno == ECONNREFUSED || errno == ENOTCONN || errno == EPIPE)) {
            g_ptr_array_remove_index_fast(hub->ports, i);
        }
    }
}

static gboolean on_readable(int fd, GIOCondition condition, gpointer data)
{
    Port *port = data;
    unsigned i;

    for (i = 0; i < BATCH; i++) {
        ssize_t n = recv(fd, port->hub->frame, FRAME_MAX, MSG_DONTWAIT);

        if (n < 0) {
            break;
        }
        forward(port->hub, port, (size_t)n);
    }
    return G_SOURCE_CONTINUE;
}

CluHub *clu_hub_new(GMainContext *context)
{
    CluHub *hub = g_new0(CluHub, 1);

    hub->context = context;
    hub->ports = g_ptr_array_new_with_free_func(port_free);
    hub->frame = g_malloc(FRAME_MAX);
    return hub;
}

int clu_hub_plug(CluHub *hub, GError **error)
{
    int fds[2];
    Port *port;

    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                    "cannot make a network socket: %s", g_strerror(errno));
        return -1;
    }
    port = g_new0(Port, 1);
    port->hub = hub;
    port->fd = fds[0];
    port->source =
        clu_source_new_fd(hub->context, port->fd, G_IO_IN, on_readable, port);
    g_ptr_array_add(hub->ports, port);
    return fds[1];
}
