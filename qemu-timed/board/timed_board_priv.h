/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The inside of the board (timed_board.h), for the files that implement it:
 *
 *   timed_board.c          makes it, opens it, copies it, looks into it
 *   timed_board_horizon.c  promises, horizons, and waiting for them
 *   timed_board_message.c  messages between machines, and links that come up
 *   timed_board_model.c    crossings, which the model gets and gives back
 *   timed_board_stand.c    time that stands still; machines that go and return
 */
#ifndef TIMED_BOARD_PRIV_H
#define TIMED_BOARD_PRIV_H

#include "timed_board.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

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
static inline size_t board_room(size_t size)
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
    bool is_busy;   /* it stands in the middle of an access */
    int32_t fallen; /* the number of a fault, and 1; 0: it has not */
    uint32_t departures;
    int64_t stands; /* at this time; -1: it runs */
    uint32_t round; /* the last one that it has done */
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
    uint32_t stops;  /* a futex: how often a machine has come to stand */
    pthread_mutex_t lock;
    Machine
        machine[TIMED_BOARD_MACHINES + 1]; /* the last one used: the model */
    Channel channel[2 * TIMED_BOARD_LINKS];
    TimedBoardEvents events[TIMED_BOARD_FAULTS]; /* of each fault */
    uint8_t rings[][RING]; /* of channels; then those to the model */
} Shared;

struct TimedBoard {
    Shared *shared;
    unsigned self;
    uint32_t seen; /* value of the futex when the machine looked last */
};

/* A machine that was killed may have held the lock: all that it protects is
 * valid after every single assignment, so the next holder goes on. */
static inline void board_lock(Shared *s)
{
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&s->lock);
    }
}

static inline void board_unlock(Shared *s)
{
    pthread_mutex_unlock(&s->lock);
}

static inline void board_ring_put(uint8_t *ring, uint64_t at, const void *bytes,
                                  size_t size)
{
    size_t offset = at % RING_USED;
    size_t first = size < RING_USED - offset ? size : RING_USED - offset;

    memcpy(ring + offset, bytes, first);
    memcpy(ring, (const uint8_t *)bytes + first, size - first);
}

static inline void board_ring_get(const uint8_t *ring, uint64_t at, void *bytes,
                                  size_t size)
{
    size_t offset = at % RING_USED;
    size_t first = size < RING_USED - offset ? size : RING_USED - offset;

    memcpy(bytes, ring + offset, first);
    memcpy((uint8_t *)bytes + first, ring, size - first);
}

/* The following are called with the lock. */

/* A promise has changed: gives all machines their horizons. */
void timed_board_update(Shared *s);
/* Makes @m look at the board again. */
void timed_board_wake(Machine *m);
/* The earliest arrival of a message on @c that was not sent yet, if @active is
 * the earliest time at which the sender does anything. */
int64_t timed_board_next_arrival(const Channel *c, int64_t active);
/* The time before which no machine gives the model anything. */
int64_t timed_board_least_promise(const Shared *s);

#endif /* TIMED_BOARD_PRIV_H */
