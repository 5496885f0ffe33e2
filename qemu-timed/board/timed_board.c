/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "timed_board.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC   0x44425446u /* "FTBD" */
#define VERSION 4

/* Messages that the model delivers come after others of the same time. */
#define MODELLED (UINT64_C(1) << 63)

/*
 * Bytes of messages that wait in one channel. A machine takes them at the end
 * of each slice of its time, so this is not a limit on messages on the way.
 */
#define RING (1u << 20)

/* Before each message in a ring. */
typedef struct {
    int64_t arrival;
    uint64_t sequence;
    uint64_t size;
} Head;

/* Heads and bytes lie in whole units of a head, so that a head never wraps. */
static size_t room(size_t size)
{
    return sizeof(Head) +
           (size + sizeof(Head) - 1) / sizeof(Head) * sizeof(Head);
}

_Static_assert(sizeof(Head) == 24, "a head has no holes");

/* The ring's size as a whole number of heads */
#define RING_USED (RING / sizeof(Head) * sizeof(Head))

typedef struct {
    int64_t now;
    int64_t promise;
    int64_t horizon;
    int64_t want;   /* asleep until the horizon is later than this */
    uint32_t word;  /* the futex: changes whenever the machine must look */
    bool is_asleep; /* or about to sleep */
    bool is_gone;
    bool has_fallen;
    bool is_busy; /* it stands in the middle of an access */
    uint32_t departures;
    int64_t stands; /* at this time; -1: it runs */
    uint32_t round; /* the last one that it has done */
    uint64_t reports;
    uint64_t sleeps;
    uint64_t crossings;
    int64_t accepted;     /* see timed_board_accepted() */
    int64_t accept_bound; /* it is not before; NEVER: nothing is to be accepted,
                             or the time is known */
    int64_t stored;       /* the time of the crossing that is to be accepted */
    uint8_t pad[64];      /* the next machine begins on another cache line */
} Machine;

typedef struct {
    char name[TIMED_BOARD_NAME];
    uint32_t from, to;
    int64_t latency_ns, training_ns;
    bool is_up;
    int64_t floor;     /* arrival of the last message */
    uint64_t sequence; /* number of messages */
    uint64_t written;  /* bytes, since the beginning */
    uint64_t taken;
    /* To the model, in a ring of their own */
    uint64_t crossed;
    uint64_t seen;
    uint64_t delivered; /* number of messages that came back from it */
    int64_t bound;      /* nothing of what it was given arrives earlier */
} Channel;

typedef struct {
    uint32_t magic, version;
    uint32_t machines, channels;
    uint64_t size;
    int64_t limit;
    uint32_t round;
    uint32_t has_model;
    uint32_t knocks; /* of others who want to speak to the model */
    pthread_mutex_t lock;
    Machine
        machine[TIMED_BOARD_MACHINES + 1]; /* the last one used: the model */
    Channel channel[2 * TIMED_BOARD_LINKS];
    uint8_t rings[][RING]; /* of channels; then those to the model */
} Shared;

struct TimedBoard {
    Shared *shared;
    unsigned self;
    uint32_t seen; /* value of the futex when the machine looked last */
};

static size_t shared_size(unsigned channels)
{
    return sizeof(Shared) + (size_t)channels * 2 * RING;
}

/* A machine that was killed may have held the lock: all that it protects is
 * valid after every single assignment, so the next holder goes on. */
static void lock(Shared *s)
{
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&s->lock);
    }
}

static void unlock(Shared *s)
{
    pthread_mutex_unlock(&s->lock);
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
    lock(s);
    memcpy(copy, s, sizeof(*s));
    copy_rings(copy, s);
    unlock(s);
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

/* Channels */

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

/* Horizons. The caller holds the lock. */

/* Also true at the end of time. */
static int64_t add(int64_t time, int64_t ns)
{
    return time > TIMED_BOARD_NEVER - ns ? TIMED_BOARD_NEVER : time + ns;
}

/* The earliest arrival of a message on @c that was not sent yet, if @active is
 * the earliest time at which the sender does anything. */
static int64_t next_arrival(const Channel *c, int64_t active)
{
    int64_t arrival = add(active, c->is_up ? c->latency_ns : c->training_ns);

    return arrival > c->floor ? arrival : c->floor;
}

/* The time before which no machine gives the model anything. */
static int64_t least_promise(const Shared *s)
{
    int64_t least = TIMED_BOARD_NEVER;
    unsigned i;

    for (i = 0; i < s->machines; i++) {
        if (!s->machine[i].is_gone && s->machine[i].promise < least) {
            least = s->machine[i].promise;
        }
    }
    return least;
}

/* The earliest time at which @machine does anything: of its own accord, when
 * its CPU goes on, or when a crossing arrives there. */
static int64_t active_of(const Shared *s, unsigned machine)
{
    const Machine *m = &s->machine[machine];
    int64_t active =
        m->promise < m->accept_bound ? m->promise : m->accept_bound;
    unsigned i;

    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];

        if (c->to == machine && c->bound < active) {
            active = c->bound;
        }
    }
    return active;
}

/*
 * A message that comes to @self begins at some machine of its own accord, and
 * may then make others send. What @self itself has not sent yet does not count:
 * it will not have been sent while @self runs up to this horizon without
 * sending, and whoever sends asks for a new one.
 */
static int64_t horizon_of(const Shared *s, unsigned self)
{
    int64_t active[TIMED_BOARD_MACHINES];
    int64_t horizon = TIMED_BOARD_NEVER;
    bool changed = true;
    unsigned i;

    if (self == s->machines) {
        return least_promise(s);
    }
    for (i = 0; i < s->machines; i++) {
        active[i] = i == self || s->machine[i].is_gone ? TIMED_BOARD_NEVER
                                                       : active_of(s, i);
    }
    /*
     * Not before its accept bound the CPU goes on. Messages of that same time
     * come before it does, so they must not wait: if the crossing itself is of
     * that time, it enters the model only after them.
     */
    horizon = add(s->machine[self].accept_bound,
                  s->machine[self].accept_bound == s->machine[self].stored);
    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];

        if (c->to == self) {
            horizon = c->bound < horizon ? c->bound : horizon;
        }
    }
    while (changed) {
        changed = false;
        for (i = 0; i < s->channels; i++) {
            const Channel *c = &s->channel[i];
            int64_t arrival;

            if (active[c->from] == TIMED_BOARD_NEVER) {
                continue;
            }
            arrival = next_arrival(c, active[c->from]);
            if (c->to == self) {
                horizon = arrival < horizon ? arrival : horizon;
            } else if (arrival < active[c->to] && !s->machine[c->to].is_gone) {
                active[c->to] = arrival;
                changed = true;
            }
        }
    }
    return horizon;
}

static void futex_wake(Machine *m)
{
    __atomic_add_fetch(&m->word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&m->is_asleep, __ATOMIC_SEQ_CST)) {
        syscall(SYS_futex, &m->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* A promise has changed: gives all machines their horizons. */
static void update(Shared *s)
{
    unsigned i;

    for (i = 0; i < s->machines + s->has_model; i++) {
        Machine *m = &s->machine[i];
        int64_t horizon = horizon_of(s, i);

        if (horizon != m->horizon) {
            __atomic_store_n(&m->horizon, horizon, __ATOMIC_SEQ_CST);
            if (m->is_asleep && horizon > m->want) {
                futex_wake(m);
            }
        }
    }
}

int64_t timed_board_report(TimedBoard *board, int64_t now, int64_t promise)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    int64_t horizon;
    unsigned i;

    lock(s);
    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];
        uint64_t at = c->taken;
        Head head;

        /* One that the model delivered may arrive before one that was sent
         * directly, when the link was down, and lies before it. */
        while (c->to == board->self && at != c->written) {
            memcpy(&head, &s->rings[i][at % RING_USED], sizeof(head));
            promise = head.arrival < promise ? head.arrival : promise;
            at += room(head.size);
        }
    }
    if (m->accepted >= 0 && m->accepted < promise) {
        promise = m->accepted;
    }
    m->reports++;
    __atomic_store_n(&m->now, now, __ATOMIC_RELAXED);
    if (m->promise != promise) {
        m->promise = promise;
        update(s);
    }
    horizon = m->horizon = horizon_of(s, board->self);
    unlock(s);
    return horizon;
}

/* Messages */

static void ring_put(uint8_t *ring, uint64_t at, const void *bytes, size_t size)
{
    size_t offset = at % RING_USED;
    size_t first = size < RING_USED - offset ? size : RING_USED - offset;

    memcpy(ring + offset, bytes, first);
    memcpy(ring, (const uint8_t *)bytes + first, size - first);
}

static void ring_get(const uint8_t *ring, uint64_t at, void *bytes, size_t size)
{
    size_t offset = at % RING_USED;
    size_t first = size < RING_USED - offset ? size : RING_USED - offset;

    memcpy(bytes, ring + offset, first);
    memcpy((uint8_t *)bytes + first, ring, size - first);
}

bool timed_board_send(TimedBoard *board, unsigned channel, int64_t now,
                      const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[c->to];
    Head head;
    bool fits;

    lock(s);
    fits = size <= TIMED_BOARD_MESSAGE &&
           c->written - c->taken + room(size) <= RING_USED;
    if (to->is_gone) {
        unlock(s);
        return true;
    }
    if (fits) {
        head.arrival = next_arrival(c, now);
        head.sequence = c->sequence++;
        head.size = size;
        ring_put(s->rings[channel], c->written, &head, sizeof(head));
        ring_put(s->rings[channel], c->written + sizeof(head), bytes, size);
        c->written += room(size);
        c->floor = head.arrival;
        if (head.arrival < to->promise) {
            to->promise = head.arrival;
        }
        update(s);
    }
    futex_wake(to);
    unlock(s);
    return fits;
}

bool timed_board_take(TimedBoard *board, unsigned channel,
                      TimedBoardMessage *ret_message)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    bool found;
    Head head;

    if (__atomic_load_n(&c->written, __ATOMIC_SEQ_CST) == c->taken) {
        return false;
    }
    lock(s);
    found = c->written != c->taken;
    if (found) {
        ring_get(s->rings[channel], c->taken, &head, sizeof(head));
        ret_message->arrival = head.arrival;
        ret_message->sequence = head.sequence;
        ret_message->size = head.size;
        ring_get(s->rings[channel], c->taken + sizeof(head), ret_message->bytes,
                 head.size);
        c->taken += room(head.size);
    }
    unlock(s);
    return found;
}

/* Crossings */

void timed_board_add_model(TimedBoard *board)
{
    board->shared->has_model = 1;
}

bool timed_board_has_model(const TimedBoard *board)
{
    return board->shared->has_model;
}

bool timed_board_is_crossing(const TimedBoard *board, unsigned channel)
{
    return board->shared->has_model && board->shared->channel[channel].is_up;
}

unsigned timed_board_machines(const TimedBoard *board)
{
    return board->shared->machines;
}

const char *timed_board_name(const TimedBoard *board, unsigned channel)
{
    return board->shared->channel[channel].name;
}

bool timed_board_cross(TimedBoard *board, unsigned channel, int64_t now,
                       const TimedCrossing *crossing, const void *bytes,
                       size_t size)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    Channel *c = &s->channel[channel];
    uint8_t *ring = s->rings[s->channels + channel];
    TimedCrossing head = *crossing;
    size_t whole = sizeof(head) + size;
    bool fits;

    lock(s);
    fits = size <= TIMED_BOARD_MESSAGE &&
           c->crossed - c->seen + room(whole) <= RING_USED;
    if (fits) {
        head.channel = channel;
        head.machine = board->self;
        head.size = (uint32_t)size;
        head.sequence = m->crossings++;
        head.time = now;
        head.least = next_arrival(c, now);
        ring_put(ring, c->crossed, &head, sizeof(head));
        ring_put(ring, c->crossed + sizeof(head), bytes, size);
        c->crossed += room(whole);
        if (head.kind != TIMED_CROSSING_PLACE && head.least < c->bound) {
            c->bound = head.least;
        }
        if (head.wants_accept) {
            m->accepted = -1;
            m->accept_bound = now;
            m->stored = now;
        }
        update(s);
    }
    futex_wake(&s->machine[s->machines]);
    unlock(s);
    return fits;
}

int64_t timed_board_accepted(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->machine[board->self].accepted,
                           __ATOMIC_SEQ_CST);
}

void timed_board_go_on(TimedBoard *board)
{
    Machine *m = &board->shared->machine[board->self];

    lock(board->shared);
    m->accepted = TIMED_BOARD_NEVER;
    m->accept_bound = TIMED_BOARD_NEVER;
    unlock(board->shared);
}

bool timed_board_take_crossing(TimedBoard *board, TimedCrossing *ret_crossing,
                               uint8_t ret_bytes[TIMED_BOARD_MESSAGE])
{
    Shared *s = board->shared;
    bool found = false;
    unsigned i;

    lock(s);
    for (i = 0; i < s->channels && !found; i++) {
        const uint8_t *ring = s->rings[s->channels + i];
        Channel *c = &s->channel[i];

        if (c->crossed != c->seen) {
            ring_get(ring, c->seen, ret_crossing, sizeof(*ret_crossing));
            ring_get(ring, c->seen + sizeof(*ret_crossing), ret_bytes,
                     ret_crossing->size);
            c->seen += room(sizeof(*ret_crossing) + ret_crossing->size);
            found = true;
        }
    }
    unlock(s);
    return found;
}

void timed_board_deliver(TimedBoard *board, unsigned channel, int64_t arrival,
                         const void *bytes, size_t size)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];
    Machine *to = &s->machine[c->to];
    Head head = {.arrival = arrival, .size = size};

    lock(s);
    while (!to->is_gone && c->written - c->taken + room(size) > RING_USED) {
        unlock(s);
        usleep(10);
        lock(s);
    }
    if (!to->is_gone) {
        head.sequence = MODELLED | c->delivered++;
        ring_put(s->rings[channel], c->written, &head, sizeof(head));
        ring_put(s->rings[channel], c->written + sizeof(head), bytes, size);
        c->written += room(size);
        if (arrival < to->promise) {
            to->promise = arrival;
        }
        update(s);
        futex_wake(to);
    }
    unlock(s);
}

void timed_board_accept(TimedBoard *board, unsigned machine, int64_t time)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];

    lock(s);
    /* The store may be one of a machine that is no more. */
    if (!m->is_gone && m->accepted == -1) {
        __atomic_store_n(&m->accepted, time, __ATOMIC_SEQ_CST);
        m->accept_bound = TIMED_BOARD_NEVER;
        if (time < m->promise) {
            m->promise = time;
        }
        update(s);
        futex_wake(m);
    }
    unlock(s);
}

/*
 * The time of the earliest crossing that the model has not taken; NEVER if it
 * has taken all. Its sender may have promised more since it gave the crossing.
 */
static int64_t first_untaken(const Shared *s)
{
    int64_t first = TIMED_BOARD_NEVER;
    TimedCrossing crossing;
    unsigned i;

    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];

        if (c->crossed != c->seen) {
            ring_get(s->rings[s->channels + i], c->seen, &crossing,
                     sizeof(crossing));
            first = crossing.time < first ? crossing.time : first;
        }
    }
    return first;
}

int64_t timed_board_report_model(TimedBoard *board, const int64_t *bounds,
                                 const int64_t *accept_bounds)
{
    Shared *s = board->shared;
    int64_t promise;
    unsigned i;

    lock(s);
    for (i = 0; i < s->channels; i++) {
        Channel *c = &s->channel[i];

        if (c->crossed == c->seen || bounds[i] < c->bound) {
            c->bound = bounds[i];
        }
    }
    for (i = 0; i < s->machines; i++) {
        Machine *m = &s->machine[i];

        if (accept_bounds[i] >= 0 && m->accepted == -1) {
            m->accept_bound = accept_bounds[i];
        }
    }
    update(s);
    promise = least_promise(s);
    if (first_untaken(s) < promise) {
        promise = first_untaken(s);
    }
    s->machine[s->machines].horizon = promise;
    unlock(s);
    return promise;
}

void timed_board_set_up(TimedBoard *board, unsigned channel, int64_t now,
                        bool up)
{
    Shared *s = board->shared;
    Channel *c = &s->channel[channel];

    lock(s);
    if (c->is_up != up) {
        if (up) {
            c->floor = next_arrival(c, now);
        }
        c->is_up = up;
        update(s);
    }
    unlock(s);
}

/* Waiting */

static bool has_message(const TimedBoard *board)
{
    const Shared *s = board->shared;
    bool is_model = board->self == s->machines;
    unsigned i;

    for (i = 0; i < s->channels; i++) {
        const Channel *c = &s->channel[i];

        if (is_model ? __atomic_load_n(&c->crossed, __ATOMIC_SEQ_CST) != c->seen
                     : c->to == board->self &&
                           __atomic_load_n(&c->written, __ATOMIC_SEQ_CST) !=
                               c->taken) {
            return true;
        }
    }
    return false;
}

/* The value of the futex is read before each look, so a change after the look
 * ends the sleep. */
static bool must_look(TimedBoard *board, int64_t want, uint32_t *ret_word)
{
    Machine *m = &board->shared->machine[board->self];

    *ret_word = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    return *ret_word != board->seen ||
           __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST) > want ||
           has_message(board);
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

int64_t timed_board_wait(TimedBoard *board, int64_t want, unsigned spins,
                         int timeout_ms)
{
    Machine *m = &board->shared->machine[board->self];
    struct timespec ts = {.tv_sec = timeout_ms / 1000,
                          .tv_nsec = timeout_ms % 1000 * 1000000L};
    uint32_t word;
    unsigned i;

    for (i = 0; i < spins; i++) {
        if (must_look(board, want, &word)) {
            board->seen = word;
            return __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST);
        }
        pause_cpu();
    }
    lock(board->shared);
    m->want = want;
    __atomic_store_n(&m->is_asleep, true, __ATOMIC_SEQ_CST);
    m->sleeps++;
    unlock(board->shared);
    if (!must_look(board, want, &word)) {
        syscall(SYS_futex, &m->word, FUTEX_WAIT, word, &ts, NULL, 0);
    }
    __atomic_store_n(&m->is_asleep, false, __ATOMIC_SEQ_CST);
    board->seen = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&m->horizon, __ATOMIC_SEQ_CST);
}

/* Standing still */

int64_t timed_board_limit(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->limit, __ATOMIC_SEQ_CST);
}

uint32_t timed_board_round(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->round, __ATOMIC_SEQ_CST);
}

int64_t timed_board_stand(TimedBoard *board, int64_t now, uint32_t round,
                          int timeout_ms)
{
    struct timespec ts = {.tv_sec = timeout_ms / 1000,
                          .tv_nsec = timeout_ms % 1000 * 1000000L};
    Shared *s = board->shared;
    Machine *m = &s->machine[board->self];
    uint32_t word;

    lock(s);
    m->stands = now;
    m->round = round;
    unlock(s);
    __atomic_store_n(&m->is_asleep, true, __ATOMIC_SEQ_CST);
    word = __atomic_load_n(&m->word, __ATOMIC_SEQ_CST);
    if (timed_board_limit(board) <= now && timed_board_round(board) == round) {
        syscall(SYS_futex, &m->word, FUTEX_WAIT, word, &ts, NULL, 0);
    }
    __atomic_store_n(&m->is_asleep, false, __ATOMIC_SEQ_CST);
    if (timed_board_limit(board) > now) {
        lock(s);
        m->stands = -1;
        unlock(s);
    }
    return timed_board_limit(board);
}

void timed_board_set_busy(TimedBoard *board, bool busy)
{
    __atomic_store_n(&board->shared->machine[board->self].is_busy, busy,
                     __ATOMIC_SEQ_CST);
}

bool timed_board_is_busy(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].is_busy,
                           __ATOMIC_SEQ_CST);
}

static void wake_all(Shared *s)
{
    unsigned i;

    for (i = 0; i < s->machines; i++) {
        futex_wake(&s->machine[i]);
    }
}

void timed_board_set_limit(TimedBoard *board, int64_t limit)
{
    Shared *s = board->shared;

    lock(s);
    __atomic_store_n(&s->limit, limit, __ATOMIC_SEQ_CST);
    wake_all(s);
    unlock(s);
}

void timed_board_next_round(TimedBoard *board)
{
    Shared *s = board->shared;

    lock(s);
    __atomic_add_fetch(&s->round, 1, __ATOMIC_SEQ_CST);
    wake_all(s);
    unlock(s);
}

bool timed_board_all_stand(TimedBoard *board)
{
    Shared *s = board->shared;
    bool all = true;
    unsigned i;

    lock(s);
    for (i = 0; i < s->machines; i++) {
        const Machine *m = &s->machine[i];

        if (!m->is_gone && (m->stands != s->limit || m->round != s->round)) {
            all = false;
        }
    }
    unlock(s);
    return all;
}

void timed_board_leave(TimedBoard *board, unsigned machine)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];
    unsigned i;

    lock(s);
    if (!m->is_gone) {
        m->is_gone = true;
        m->accepted = TIMED_BOARD_NEVER;
        m->accept_bound = TIMED_BOARD_NEVER;
        __atomic_add_fetch(&m->departures, 1, __ATOMIC_SEQ_CST);
    }
    for (i = 0; i < s->channels; i++) {
        if (s->channel[i].from == machine) {
            s->channel[i].is_up = false;
        }
    }
    update(s);
    unlock(s);
}

void timed_board_return(TimedBoard *board, unsigned machine)
{
    Shared *s = board->shared;
    Machine *m = &s->machine[machine];
    unsigned i;

    lock(s);
    for (i = 0; i < s->channels; i++) {
        if (s->channel[i].to == machine) {
            s->channel[i].taken = s->channel[i].written;
        }
    }
    m->is_gone = false;
    m->has_fallen = false;
    m->is_asleep = false;
    m->is_busy = false;
    m->now = s->limit;
    m->promise = s->limit;
    m->stands = -1;
    update(s);
    unlock(s);
}

uint32_t timed_board_departures(const TimedBoard *board, unsigned channel)
{
    const Shared *s = board->shared;

    return __atomic_load_n(&s->machine[s->channel[channel].from].departures,
                           __ATOMIC_SEQ_CST);
}

uint32_t timed_board_returns(const TimedBoard *board, unsigned channel)
{
    const Shared *s = board->shared;
    const Machine *m = &s->machine[s->channel[channel].from];

    return m->departures - m->is_gone;
}

void timed_board_fall(TimedBoard *board)
{
    __atomic_store_n(&board->shared->machine[board->self].has_fallen, true,
                     __ATOMIC_SEQ_CST);
}

bool timed_board_has_fallen(const TimedBoard *board, unsigned machine)
{
    const Machine *m = &board->shared->machine[machine];

    return !m->is_gone && __atomic_load_n(&m->has_fallen, __ATOMIC_SEQ_CST);
}

void timed_board_set_training(TimedBoard *board, unsigned link,
                              int64_t training_ns)
{
    Shared *s = board->shared;
    unsigned i;

    lock(s);
    for (i = 2 * link; i < 2 * link + 2; i++) {
        Channel *c = &s->channel[i];

        if (training_ns < c->training_ns) {
            c->training_ns =
                training_ns > c->latency_ns ? training_ns : c->latency_ns;
        }
    }
    update(s);
    unlock(s);
}

void timed_board_knock(TimedBoard *board)
{
    Shared *s = board->shared;

    lock(s);
    __atomic_add_fetch(&s->knocks, 1, __ATOMIC_SEQ_CST);
    futex_wake(&s->machine[s->machines]);
    unlock(s);
}

uint32_t timed_board_knocks(const TimedBoard *board)
{
    return __atomic_load_n(&board->shared->knocks, __ATOMIC_SEQ_CST);
}

/* For those who look on */

int64_t timed_board_now(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].now,
                           __ATOMIC_RELAXED);
}

uint64_t timed_board_reports(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].reports,
                           __ATOMIC_RELAXED);
}

uint64_t timed_board_sleeps(const TimedBoard *board, unsigned machine)
{
    return __atomic_load_n(&board->shared->machine[machine].sleeps,
                           __ATOMIC_RELAXED);
}
