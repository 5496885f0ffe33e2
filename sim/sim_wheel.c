/* SPDX-License-Identifier: MIT */
#include "sim_wheel_priv.h"

#include <string.h>

#define SLOT_BITS      4
#define SLOT_MASK      ((1u << SLOT_BITS) - 1)
#define INITIAL_CHUNKS 1024u
#define CHUNKS_MAX     (1u << (31 - SLOT_BITS))

/* A bucket of more events is dealt out, unless it spans only one ps. */
#define BUCKET_LARGE 24u

G_STATIC_ASSERT(sizeof(SimWheelChunk) == 128);
G_STATIC_ASSERT(SIM_WHEEL_CHUNK <= SLOT_MASK + 1);
G_STATIC_ASSERT(64 <= SIM_WHEEL_LEVELS * SIM_WHEEL_DIGIT_BITS);

SimWheel *sim_wheel_new(void)
{
    SimWheel *wheel = g_new0(SimWheel, 1);

    wheel->chunk_capacity = INITIAL_CHUNKS;
    wheel->chunks = g_new(SimWheelChunk, wheel->chunk_capacity);
    wheel->chunk_end = 1;
    return wheel;
}

void sim_wheel_free(SimWheel *wheel)
{
    if (!wheel) {
        return;
    }
    g_free(wheel->chunks);
    g_free(wheel);
}

static uint32_t new_chunk(SimWheel *wheel)
{
    uint32_t index = wheel->chunk_free;

    if (index) {
        wheel->chunk_free = wheel->chunks[index].next;
        return index;
    }
    if (wheel->chunk_end == wheel->chunk_capacity) {
        g_assert(wheel->chunk_capacity < CHUNKS_MAX);
        wheel->chunk_capacity *= 2;
        wheel->chunks =
            g_renew(SimWheelChunk, wheel->chunks, wheel->chunk_capacity);
    }
    return wheel->chunk_end++;
}

static void free_chunk(SimWheel *wheel, uint32_t index)
{
    wheel->chunks[index].next = wheel->chunk_free;
    wheel->chunk_free = index;
}

/* Appends an empty chunk to @bucket and returns its index. */
static uint32_t append_chunk(SimWheel *wheel, uint32_t bucket)
{
    SimWheelBucket *list = &wheel->buckets[bucket];
    uint32_t index = new_chunk(wheel);
    SimWheelChunk *chunk = &wheel->chunks[index];

    chunk->count = 0;
    chunk->bucket = bucket;
    chunk->next = 0;
    chunk->previous = list->last;
    if (list->last) {
        wheel->chunks[list->last].next = index;
    } else {
        uint32_t level = bucket / SIM_WHEEL_DIGITS;
        uint32_t digit = bucket % SIM_WHEEL_DIGITS;

        list->first = index;
        wheel->used[level][digit / 64] |= 1ULL << digit % 64;
        wheel->words[level] |= 1u << digit / 64;
        wheel->levels |= 1u << level;
    }
    list->last = index;
    return index;
}

static void mark_empty(SimWheel *wheel, uint32_t bucket)
{
    uint32_t level = bucket / SIM_WHEEL_DIGITS;
    uint32_t digit = bucket % SIM_WHEEL_DIGITS;
    uint64_t *word = &wheel->used[level][digit / 64];

    wheel->buckets[bucket] = (SimWheelBucket){0, 0, 0};
    *word &= ~(1ULL << digit % 64);
    if (*word) {
        return;
    }
    wheel->words[level] &= ~(1u << digit / 64);
    if (!wheel->words[level]) {
        wheel->levels &= ~(1u << level);
    }
}

static inline uint32_t level_of(uint64_t time, uint64_t base)
{
    uint32_t bit = 63 - (uint32_t)__builtin_clzll((time ^ base) | 1);

    return bit / SIM_WHEEL_DIGIT_BITS;
}

static inline void put(SimWheel *wheel, SimEvent *event)
{
    uint64_t time = (uint64_t)event->time;
    uint32_t level = level_of(time, wheel->base);
    uint32_t digit =
        (uint32_t)(time >> level * SIM_WHEEL_DIGIT_BITS) % SIM_WHEEL_DIGITS;
    uint32_t bucket = level * SIM_WHEEL_DIGITS + digit;
    uint32_t index = wheel->buckets[bucket].last;
    SimWheelChunk *chunk;

    if (!index || wheel->chunks[index].count == SIM_WHEEL_CHUNK) {
        index = append_chunk(wheel, bucket);
    }
    chunk = &wheel->chunks[index];
    event->slot = SIM_WHEEL_SLOT | index << SLOT_BITS | chunk->count;
    chunk->events[chunk->count++] = event;
    wheel->buckets[bucket].count++;
}

void sim_wheel_add(SimWheel *wheel, SimEvent *event)
{
    put(wheel, event);
    wheel->count++;
}

void sim_wheel_remove(SimWheel *wheel, SimEvent *event)
{
    uint32_t slot = event->slot & ~SIM_WHEEL_SLOT;
    SimWheelChunk *chunk = &wheel->chunks[slot >> SLOT_BITS];
    uint32_t bucket = chunk->bucket;
    SimWheelBucket *list = &wheel->buckets[bucket];
    uint32_t last_index = list->last;
    SimWheelChunk *last = &wheel->chunks[last_index];
    SimEvent *moved = last->events[--last->count];

    /* The last event of the bucket takes the place. */
    chunk->events[slot & SLOT_MASK] = moved;
    moved->slot = event->slot;
    event->slot = 0;
    wheel->count--;
    list->count--;
    if (!last->count) {
        list->last = last->previous;
        if (list->last) {
            wheel->chunks[list->last].next = 0;
        } else {
            mark_empty(wheel, bucket);
        }
        free_chunk(wheel, last_index);
    }
}

/* Prefetches chunk @index, which the caller reads next, and the one after it.
 */
static inline void prefetch(const SimWheel *wheel, uint32_t index)
{
    const SimWheelChunk *chunk = &wheel->chunks[index];
    uint32_t i;

    if (!index) {
        return;
    }
    __builtin_prefetch(&wheel->chunks[chunk->next], 1);
    __builtin_prefetch(&wheel->chunks[chunk->next].count, 1);
    for (i = 0; i < chunk->count; i++) {
        __builtin_prefetch(&chunk->events[i]->slot, 1);
    }
}

/* Deals the events of @bucket, whose first time is the base, out to the
 * levels below. */
static void deal_out(SimWheel *wheel, uint32_t bucket)
{
    uint32_t index = wheel->buckets[bucket].first;

    mark_empty(wheel, bucket);
    while (index) {
        /* A copy, because adding to other buckets may move the chunks. */
        SimWheelChunk chunk = wheel->chunks[index];
        uint32_t i;

        free_chunk(wheel, index);
        prefetch(wheel, chunk.next);
        /* put() reads the times of the events, and they are in no cache yet. */
        for (i = 0; i < chunk.count; i++) {
            __builtin_prefetch(chunk.events[i], 1);
        }
        for (i = 0; i < chunk.count; i++) {
            put(wheel, chunk.events[i]);
        }
        index = chunk.next;
    }
}

/* Of the first bucket of @level, which must not be empty. */
static uint32_t first_digit(const SimWheel *wheel, uint32_t level)
{
    uint32_t word = (uint32_t)__builtin_ctz(wheel->words[level]);
    uint64_t used = wheel->used[level][word];

    return word * 64 + (uint32_t)__builtin_ctzll(used);
}

uint32_t sim_wheel_next(SimWheel *wheel, uint64_t limit, uint32_t *ret_bucket)
{
    while (wheel->levels) {
        uint32_t level = (uint32_t)__builtin_ctz(wheel->levels);
        uint32_t shift = level * SIM_WHEEL_DIGIT_BITS;
        uint64_t span = 1ULL << shift;
        uint64_t digit = first_digit(wheel, level);
        uint32_t bucket = level * SIM_WHEEL_DIGITS + (uint32_t)digit;
        uint64_t digits_above = ~(span * SIM_WHEEL_DIGITS - 1);
        uint64_t start;

        /* On the highest level the product is 2^70, that is 0, and the mask 0.
         */
        start = (wheel->base & digits_above) | digit << shift;
        if (start > limit) {
            return 0;
        }
        if (!level || wheel->buckets[bucket].count <= BUCKET_LARGE) {
            wheel->base = start + (span - 1);
            *ret_bucket = bucket;
            return wheel->buckets[bucket].count;
        }
        wheel->base = start;
        deal_out(wheel, bucket);
    }
    return 0;
}

uint32_t sim_wheel_follows(SimWheel *wheel, uint32_t *ret_bucket)
{
    uint64_t digit;

    if (!(wheel->levels & 1)) {
        return 0;
    }
    digit = first_digit(wheel, 0);
    wheel->base = (wheel->base & ~(uint64_t)(SIM_WHEEL_DIGITS - 1)) | digit;
    *ret_bucket = (uint32_t)digit;
    return wheel->buckets[digit].count;
}

uint64_t sim_wheel_first(const SimWheel *wheel)
{
    uint64_t first = UINT64_MAX;
    uint32_t level, bucket, index;

    if (!wheel->levels) {
        return first;
    }
    level = (uint32_t)__builtin_ctz(wheel->levels);
    bucket = level * SIM_WHEEL_DIGITS + first_digit(wheel, level);
    for (index = wheel->buckets[bucket].first; index;
         index = wheel->chunks[index].next) {
        const SimWheelChunk *chunk = &wheel->chunks[index];

        for (uint32_t i = 0; i < chunk->count; i++) {
            first = MIN(first, (uint64_t)chunk->events[i]->time);
        }
    }
    return first;
}

void sim_wheel_take(SimWheel *wheel, uint32_t bucket, SimEvent **ret_events)
{
    uint32_t index = wheel->buckets[bucket].first;

    wheel->count -= wheel->buckets[bucket].count;
    mark_empty(wheel, bucket);
    while (index) {
        SimWheelChunk *chunk = &wheel->chunks[index];
        uint32_t next = chunk->next;

        prefetch(wheel, next);
        memcpy(ret_events, chunk->events, chunk->count * sizeof(SimEvent *));
        ret_events += chunk->count;
        free_chunk(wheel, index);
        index = next;
    }
}

void sim_wheel_list(const SimWheel *wheel, SimEvent **ret_events)
{
    uint32_t bucket;

    for (bucket = 0; bucket < G_N_ELEMENTS(wheel->buckets); bucket++) {
        uint32_t index = wheel->buckets[bucket].first;

        for (; index; index = wheel->chunks[index].next) {
            const SimWheelChunk *chunk = &wheel->chunks[index];

            memcpy(ret_events, chunk->events,
                   chunk->count * sizeof(SimEvent *));
            ret_events += chunk->count;
        }
    }
}
