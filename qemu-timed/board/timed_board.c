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
#define VERSION 8

static size_t shared_size(unsigned channels)
{
    return sizeof(Shared) + (size_t)channels * 2 * RING;
}

/* Making and opening */

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

/* Copies what stays as it is. False if that is no board for this machine. */
static bool learn(TimedBoard *board, int machine)
{
    const Shared *s = board->shared;
    unsigned i;

    board->machines = s->machines;
    board->channels = s->channels;
    if (s->magic != MAGIC || s->version != VERSION || s->size != board->size ||
        board->machines < 1 || board->machines > TIMED_BOARD_MACHINES ||
        board->channels > 2 * TIMED_BOARD_LINKS ||
        board->size != shared_size(board->channels) ||
        machine >= (int)board->machines) {
        return false;
    }
    for (i = 0; i < board->channels; i++) {
        Way *way = &board->way[i];

        memcpy(way->name, s->channel[i].name, sizeof(way->name));
        way->from = s->channel[i].from;
        way->to = s->channel[i].to;
        way->latency_ns = s->channel[i].latency_ns;
        if (!memchr(way->name, 0, sizeof(way->name)) ||
            way->from >= board->machines || way->to >= board->machines ||
            way->from == way->to || way->latency_ns < 1 ||
            way->latency_ns > TIMED_BOARD_NEVER / 2) {
            return false;
        }
    }
    /* The model sits behind the last machine. */
    board->self = machine < 0 ? board->machines : (unsigned)machine;
    board->lock_id = board->self + 1;
    return true;
}

static TimedBoard *board_open(int fd, int machine)
{
    TimedBoard *board;
    struct stat st;
    Shared *s;

    if (fstat(fd, &st) < 0) {
        return NULL;
    }
    s = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    if (s == MAP_FAILED) {
        return NULL;
    }
    board = calloc(1, sizeof(*board));
    if (!board) {
        munmap(s, (size_t)st.st_size);
        return NULL;
    }
    board->shared = s;
    board->size = (size_t)st.st_size;
    if (!learn(board, machine)) {
        timed_board_close(board);
        errno = EINVAL;
        return NULL;
    }
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
        munmap(board->shared, board->size);
        free(board);
    }
}

/* Branches */

static void copy_rings(Shared *to, const Shared *from, unsigned channels)
{
    unsigned i;

    for (i = 0; i < channels; i++) {
        const Channel *c = &from->channel[i];
        unsigned model = channels + i;

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

    if (!board_lock(board)) {
        errno = EIO;
        return -1;
    }
    copy = make_shared(board->size, &fd);
    if (!copy) {
        board_unlock(board);
        return -1;
    }
    memcpy(copy, s, sizeof(*s));
    copy_rings(copy, s, board->channels);
    board_unlock(board);
    copy->lock = 0;
    for (i = 0; i <= board->machines; i++) {
        copy->machine[i].stands = -1;
        copy->machine[i].is_asleep = false;
    }
    munmap(copy, board->size);
    return fd;
}

bool timed_board_become(TimedBoard *board, int fd)
{
    Shared *s = board->shared;

    return mmap(s, board->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                fd, 0) == s;
}

/* Channels and machines */

int timed_board_find(const TimedBoard *board, const char *name)
{
    unsigned i;

    for (i = 0; i < board->channels; i++) {
        if (board->way[i].from == board->self &&
            strcmp(board->way[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

unsigned timed_board_channels(const TimedBoard *board)
{
    return board->channels;
}

bool timed_board_is_inbound(const TimedBoard *board, unsigned channel)
{
    return board->way[channel].to == board->self;
}

unsigned timed_board_source(const TimedBoard *board, unsigned channel)
{
    return board->way[channel].from;
}

const char *timed_board_error(const TimedBoard *board)
{
    return board->error;
}

/* For those who look on */

int64_t timed_board_now(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].now,
                           __ATOMIC_RELAXED);
}
