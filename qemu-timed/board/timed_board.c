/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_board_priv.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC   0x44425446u /* "FTBD" */
#define VERSION 7

static size_t shared_size(unsigned channels)
{
    return sizeof(Shared) + (size_t)channels * 2 * RING;
}

/* Making and opening */

static void make_lock(Shared *s)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static bool fill(Shared *s, unsigned machines, const TimedBoardLink *links,
                 unsigned count)
{
    unsigned i, end;

    s->magic = MAGIC;
    s->version = VERSION;
    s->machines = machines;
    s->channels = 2 * count;
    s->size = shared_size(2 * count);
    s->limit = TIMED_BOARD_NEVER;
    for (i = 0; i <= machines; i++) {
        s->machine[i].stands = -1;
        s->machine[i].accepted = TIMED_BOARD_NEVER;
        s->machine[i].accept_bound = TIMED_BOARD_NEVER;
    }
    for (i = 0; i < count; i++) {
        const TimedBoardLink *link = &links[i];

        if (strlen(link->name) >= TIMED_BOARD_NAME || link->latency_ns < 1 ||
            link->training_ns < link->latency_ns ||
            link->machine[0] >= machines || link->machine[1] >= machines ||
            link->machine[0] == link->machine[1]) {
            return false;
        }
        for (end = 0; end < 2; end++) {
            Channel *c = &s->channel[2 * i + end];

            strcpy(c->name, link->name);
            c->from = link->machine[end];
            c->to = link->machine[1 - end];
            c->latency_ns = link->latency_ns;
            c->training_ns = link->training_ns;
            c->bound = TIMED_BOARD_NEVER;
        }
    }
    make_lock(s);
    return true;
}

/* A new memory of that size. The descriptor is closed on exec. */
static Shared *make_shared(size_t size, int *ret_fd)
{
    int fd = memfd_create("farside-board", MFD_CLOEXEC);
    Shared *s = MAP_FAILED;
    int error;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0) {
        s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (s != MAP_FAILED) {
        *ret_fd = fd;
        return s;
    }
    error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return NULL;
}

int timed_board_new(unsigned machines, const TimedBoardLink *links,
                    unsigned count)
{
    size_t size = shared_size(2 * count);
    Shared *s;
    int fd;

    if (machines < 1 || machines > TIMED_BOARD_MACHINES ||
        count > TIMED_BOARD_LINKS) {
        errno = EINVAL;
        return -1;
    }
    s = make_shared(size, &fd);
    if (!s) {
        return -1;
    }
    if (!fill(s, machines, links, count)) {
        munmap(s, size);
        close(fd);
        errno = EINVAL;
        return -1;
    }
    munmap(s, size);
    return fd;
}

static TimedBoard *board_open(int fd, int machine)
{
    TimedBoard *board;
    struct stat st;
    Shared *s;

    if (fstat(fd, &st) < 0) {
        return NULL;
    }
    if ((size_t)st.st_size < sizeof(Shared)) {
        errno = EINVAL;
        return NULL;
    }
    s = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    if (s == MAP_FAILED) {
        return NULL;
    }
    if (s->magic != MAGIC || s->version != VERSION ||
        s->size != (size_t)st.st_size || machine >= (int)s->machines) {
        munmap(s, (size_t)st.st_size);
        errno = EINVAL;
        return NULL;
    }
    board = calloc(1, sizeof(*board));
    if (!board) {
        munmap(s, (size_t)st.st_size);
        return NULL;
    }
    board->shared = s;
    /* The model sits behind the last machine. */
    board->self = machine < 0 ? s->machines : (unsigned)machine;
    return board;
}

TimedBoard *timed_board_open(int fd, unsigned machine)
{
    if (machine >= TIMED_BOARD_MACHINES) {
        errno = EINVAL;
        return NULL;
    }
    return board_open(fd, (int)machine);
}

TimedBoard *timed_board_open_model(int fd)
{
    return board_open(fd, -1);
}

void timed_board_close(TimedBoard *board)
{
    if (board) {
        munmap(board->shared, board->shared->size);
        free(board);
    }
}

/* Branches */

static void copy_rings(Shared *to, const Shared *from)
{
    unsigned i;

    for (i = 0; i < from->channels; i++) {
        const Channel *c = &from->channel[i];
        unsigned model = from->channels + i;

        if (c->written != c->taken) {
            memcpy(to->rings[i], from->rings[i], RING);
        }
        if (c->crossed != c->seen) {
            memcpy(to->rings[model], from->rings[model], RING);
        }
    }
}

int timed_board_copy(TimedBoard *board)
{
    Shared *s = board->shared, *copy;
    unsigned i;
    int fd;

    copy = make_shared(s->size, &fd);
    if (!copy) {
        return -1;
    }
    board_lock(s);
    memcpy(copy, s, sizeof(*s));
    copy_rings(copy, s);
    board_unlock(s);
    make_lock(copy);
    for (i = 0; i <= copy->machines; i++) {
        copy->machine[i].stands = -1;
        copy->machine[i].is_asleep = false;
    }
    munmap(copy, s->size);
    return fd;
}

bool timed_board_become(TimedBoard *board, int fd)
{
    Shared *s = board->shared;

    return mmap(s, s->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                0) == s;
}

/* Channels and machines */

int timed_board_find(const TimedBoard *board, const char *name)
{
    const Shared *s = board->shared;
    unsigned i;

    for (i = 0; i < s->channels; i++) {
        if (s->channel[i].from == board->self &&
            strcmp(s->channel[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

unsigned timed_board_channels(const TimedBoard *board)
{
    return board->shared->channels;
}

bool timed_board_is_inbound(const TimedBoard *board, unsigned channel)
{
    return board->shared->channel[channel].to == board->self;
}

unsigned timed_board_source(const TimedBoard *board, unsigned channel)
{
    return board->shared->channel[channel].from;
}

unsigned timed_board_machines(const TimedBoard *board)
{
    return board->shared->machines;
}

const char *timed_board_name(const TimedBoard *board, unsigned channel)
{
    return board->shared->channel[channel].name;
}

/* For those who look on */

int64_t timed_board_now(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].now,
                           __ATOMIC_RELAXED);
}
