/* SPDX-License-Identifier: MIT */
#ifndef SIM_WHEEL_PRIV_H
#define SIM_WHEEL_PRIV_H

#include "sim_engine.h"

/*
 * The wheel holds the events of the far future while many are pending. It has
 * an unordered bucket for each value of each digit of the time, as a radix
 * heap. An event lies in the bucket of the highest digit in which its time
 * differs from the base, so a bucket of level n spans 1024^n ps, buckets of
 * lower levels are due earlier, and so are lower digits within a level. The
 * engine takes a due bucket as a whole; the wheel first deals a large bucket
 * out to the levels below. So an event moves a bounded number of times for any
 * distribution of times, and nothing has to be tuned to it.
 *
 * A bucket is a list of chunks of pointers. All chunks are in one array, and an
 * index names each of them. An event's slot holds its chunk and place, so the
 * wheel removes it without a search.
 */
#define SIM_WHEEL_DIGIT_BITS 10
#define SIM_WHEEL_DIGITS     (1u << SIM_WHEEL_DIGIT_BITS)
#define SIM_WHEEL_LEVELS     7u
#define SIM_WHEEL_CHUNK      12u

/* Set in the slots of events that are in a wheel. */
#define SIM_WHEEL_SLOT 0x80000000u

typedef struct SimWheelChunk {
    SimEvent *events[SIM_WHEEL_CHUNK];
    uint32_t count;
    uint32_t bucket;
    uint32_t
        next; /* the next chunk of the bucket, or of the free list; 0: none */
    uint32_t previous;
    uint64_t unused[2]; /* two cache lines each */
} SimWheelChunk;

typedef struct SimWheelBucket {
    uint32_t first;
    uint32_t last; /* the only one that may not be full; 0 when empty */
    uint32_t count;
} SimWheelBucket;

typedef struct SimWheel {
    uint64_t base; /* no event is earlier */
    uint64_t count;
    SimWheelChunk *chunks; /* chunk 0 is not used */
    uint32_t chunk_capacity;
    uint32_t chunk_end;
    uint32_t chunk_free;
    uint32_t levels; /* bit n is set: level n is not empty */
    /* Of each level: bit n is set when word n of used is not 0. */
    uint32_t words[SIM_WHEEL_LEVELS];
    /* Of each level: a bit for each bucket that is not empty. */
    uint64_t used[SIM_WHEEL_LEVELS][SIM_WHEEL_DIGITS / 64];
    SimWheelBucket buckets[SIM_WHEEL_LEVELS * SIM_WHEEL_DIGITS];
} SimWheel;

SimWheel *sim_wheel_new(void);
void sim_wheel_free(SimWheel *wheel);

/* Adds @event, whose time must not be before the base. */
void sim_wheel_add(SimWheel *wheel, SimEvent *event);
void sim_wheel_remove(SimWheel *wheel, SimEvent *event);

/* Finds the first due bucket, deals out large ones on the way, and moves the
 * base to the bucket's last time. Returns the number of its events. Returns 0
 * and leaves the base before @limit if the bucket is due after @limit or the
 * wheel is empty. */
uint32_t sim_wheel_next(SimWheel *wheel, uint64_t limit, uint32_t *ret_bucket);

/* Finds the next bucket if it spans one ps and lies in the same 1024 ps as the
 * base, and moves the base to it. Returns the number of its events; 0 if the
 * next bucket is another one. */
uint32_t sim_wheel_follows(SimWheel *wheel, uint32_t *ret_bucket);

/* The time of the earliest event; UINT64_MAX if the wheel is empty. Looks at
 * all events of the first bucket. */
uint64_t sim_wheel_first(const SimWheel *wheel);

/* Moves the events of @bucket to @ret_events, in the order they were added
 * unless some were removed. */
void sim_wheel_take(SimWheel *wheel, uint32_t bucket, SimEvent **ret_events);

/* Stores all events at @ret_events, bucket by bucket. They stay in the wheel.
 */
void sim_wheel_list(const SimWheel *wheel, SimEvent **ret_events);

#endif
