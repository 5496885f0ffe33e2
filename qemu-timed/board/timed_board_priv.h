/* SPDX-License-Identifier: GPL-2.0-or-later OR MIT */
/*
 * The inside of the board (timed_board.h), for the files that implement it:
 *
 *   timed_board.c          makes it, opens it, copies it, looks into it
 *   timed_board_lock.c     the lock
 *   timed_board_horizon.c  promises, horizons, and waiting for them
 *   timed_board_message.c  messages between machines, and links that come up
 *   timed_board_model.c    crossings, which the model gets and gives back
 *   timed_board_stand.c    time that stands still; machines that go and return
 */
#ifndef TIMED_BOARD_PRIV_H
#define TIMED_BOARD_PRIV_H

#include "timed_board.h"

#include <errno.h>
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
    uint32_t wakeups; /* of others who want to speak to the model */
    uint32_t stops;   /* a futex: how often a machine has come to stand */
    uint32_t lock;    /* the number of the process that holds it, see below */
    Machine
        machine[TIMED_BOARD_MACHINES + 1]; /* the last one used: the model */
    Channel channel[2 * TIMED_BOARD_LINKS];
    TimedBoardEvents events[TIMED_BOARD_FAULTS]; /* of each fault */
    uint8_t rings[][RING]; /* of channels; then those to the model */
} Shared;

/* Of a channel, as it was when the board was opened. */
typedef struct {
    char name[TIMED_BOARD_NAME];
    unsigned from, to;
    int64_t latency_ns;
} Way;

/*
 * The memory is shared with processes that a guest may have taken over, so it
 * may change at any time. What a process needs to stay in its own memory, it
 * keeps here; all else is copied, and checked before it is used.
 */
struct TimedBoard {
    Shared *shared;
    size_t size;
    unsigned self;
    unsigned machines, channels;
    uint32_t lock_id;  /* this process, as holder of the lock */
    uint32_t seen;     /* value of the futex when the machine looked last */
    const char *error; /* see timed_board_error() */
    Way way[2 * TIMED_BOARD_LINKS];
};

/* From here on the board is of no use to this process. */
static inline void board_damaged(TimedBoard *board, const char *what)
{
    if (!board->error) {
        board->error = what;
    }
}

/*
 * The lock. A mutex of the C library would have pointers in the shared memory,
 * which its functions follow. Here it is the number of its holder, and if a
 * machine ends that holds it, timed_board_leave() takes it away. All that the
 * lock protects is valid after every single assignment.
 *
 * False if a process has held it for BOARD_PATIENCE_MS: it was stopped, or the
 * board is damaged. Then nothing that the lock protects may be touched, and
 * the board is of no use any more. board_try_lock() gives up sooner, and the
 * board is as good as before.
 */
#define BOARD_PATIENCE_MS 5000
bool board_lock(TimedBoard *board);
bool board_try_lock(TimedBoard *board, int patience_ms);
void board_unlock(TimedBoard *board);
/* Takes the lock away from @machine, which has ended, if it holds it. */
void board_take_lock_from(TimedBoard *board, unsigned machine);

/*
 * A value that others look for without the lock, or that makes other values
 * valid: it is written after all that was written before it.
 */
#define board_publish(place, value)                                            \
    __atomic_store_n(place, value, __ATOMIC_SEQ_CST)

/*
 * The bytes that wait in a ring between @taken and @written. False if there
 * cannot be so many, or if they are no whole messages.
 */
static inline bool board_ring_used(uint64_t written, uint64_t taken,
                                   size_t *ret_used)
{
    uint64_t used = written - taken;

    if (used > RING_USED || used % sizeof(Head) != 0 ||
        taken % sizeof(Head) != 0) {
        return false;
    }
    *ret_used = (size_t)used;
    return true;
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
void timed_board_update(TimedBoard *board);
/* Makes @m look at the board again. */
void timed_board_wake(Machine *m);
/* The earliest arrival of a message on @channel that was not sent yet, if
 * @active is the earliest time at which the sender does anything. */
int64_t timed_board_next_arrival(const TimedBoard *board, unsigned channel,
                                 int64_t active);
/* The time before which no machine gives the model anything. */
int64_t timed_board_least_promise(const TimedBoard *board);
/*
 * Copies the head at the place @at of a ring in which @used bytes wait. False,
 * and the board is damaged, if it is no head, or no such message waits.
 */
bool timed_board_read_head(TimedBoard *board, unsigned channel, uint64_t at,
                           size_t used, Head *ret_head);

#endif /* TIMED_BOARD_PRIV_H */
