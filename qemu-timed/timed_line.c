/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets on which the supervisor talks to the guest: its console and its
 * agent. QEMU reads from them in the main loop, at any time, and gives up a
 * character if the reader is slow. The guest would see both. So here the main
 * loop reads when the gate lets it, and a write waits for the reader.
 */
#include "timed.h"
#include <poll.h>
#include <sys/ioctl.h>
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "chardev/char-fe.h"
#include "chardev/char-socket.h"
#include "hw/core/cpu.h"
#include "timed_qemu.h"

/* A socket that can be written to has room for as much. */
#define PIECE 4096

static const TimedOptions *options;
static void (*wait_in_vain)(unsigned tries);
/* The handler of each line's input, while the guest takes none */
static IOCanReadHandler *held[TIMED_BLOCKING];
static int (*stock_write)(Chardev *chr, const uint8_t *buf, int len);

/* The index of @object among the lines; -1: it is none of them. */
static int line_of(Object *object)
{
    SocketChardev *socket = (SocketChardev *)object_dynamic_cast(
        object, TYPE_CHARDEV_SOCKET);
    int i;

    for (i = 0; i < TIMED_BLOCKING && options->blocking[i]; i++) {
        if (socket && socket->sioc &&
            socket->sioc->fd == options->blocking[i]) {
            return i;
        }
    }
    return -1;
}

static void for_each(int (*act)(Object *object, void *opaque))
{
    object_child_foreach(object_resolve_path("/chardevs", NULL), act, NULL);
}

size_t timed_line_input(void)
{
    size_t bytes = 0;
    int i, unread;

    for (i = 0; i < TIMED_BLOCKING && options->blocking[i]; i++) {
        if (ioctl(options->blocking[i], FIONREAD, &unread) == 0) {
            bytes += unread;
        }
    }
    return bytes;
}

/*
 * A socket remembers how much the guest took when the main loop last came
 * round. The first piece that it reads now would have that size in some runs.
 * The others are monitors: the supervisor waits for their answers.
 */
static int look_again(Object *object, void *opaque)
{
    if (line_of(object) >= 0) {
        SOCKET_CHARDEV(object)->max_size =
            qemu_chr_be_can_write(CHARDEV(object));
    }
    return 0;
}

void timed_line_look_again(void)
{
    for_each(look_again);
}

static int hold_line(Object *object, void *opaque)
{
    IOCanReadHandler **can_read = timed_qemu_can_read(CHARDEV(object));
    int i = line_of(object);

    if (i >= 0 && can_read) {
        held[i] = *can_read;
        *can_read = NULL;
        SOCKET_CHARDEV(object)->max_size = 0;
    }
    return 0;
}

static int release_line(Object *object, void *opaque)
{
    IOCanReadHandler **can_read = timed_qemu_can_read(CHARDEV(object));
    int i = line_of(object);

    if (i >= 0 && can_read && !*can_read) {
        *can_read = held[i];
    }
    return 0;
}

void timed_line_hold(bool hold)
{
    for_each(hold ? hold_line : release_line);
}

/* Waits until @fd has room for a piece, or is closed. */
static void wait_for_reader(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLOUT};
    bool may_act = qemu_cpu_is_self(qemu_get_cpu(0)) &&
                   bql_locked();
    unsigned tries = 0;

    while (poll(&look, 1, TIMED_WAIT_MS) <= 0) {
        if (may_act) {
            wait_in_vain(++tries);
        }
    }
}

static int line_write(Chardev *chr, const uint8_t *buf, int len)
{
    int i = line_of(OBJECT(chr)), written = 0, n;

    if (i < 0) {
        return stock_write(chr, buf, len);
    }
    while (written < len) {
        wait_for_reader(options->blocking[i]);
        n = stock_write(chr, buf + written, MIN(len - written, PIECE));
        if (n < 0) {
            return written ?: n;
        }
        written += n;
    }
    return written;
}

void timed_line_block(void)
{
    int i, fd, flags;

    for (i = 0; i < TIMED_BLOCKING && options->blocking[i]; i++) {
        fd = options->blocking[i];
        flags = fcntl(fd, F_GETFL);
        if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
            error_report("virtual time: block=%d: %s", fd, strerror(errno));
            exit(1);
        }
    }
}

void timed_line_init(const TimedOptions *from,
                     void (*wait)(unsigned tries))
{
    ChardevClass *class =
        CHARDEV_CLASS(object_class_by_name(TYPE_CHARDEV_SOCKET));

    options = from;
    wait_in_vain = wait;
    stock_write = class->chr_write;
    class->chr_write = line_write;
}
