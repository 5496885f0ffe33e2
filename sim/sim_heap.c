/* SPDX-License-Identifier: MIT */
#include "sim_heap_priv.h"

#include <string.h>

#define KEYS_ALIGNMENT 64

static const SimHeapKey never = {UINT64_MAX, UINT64_MAX};

static inline bool key_before(const SimHeapKey *a, const SimHeapKey *b)
{
    unsigned __int128 x = (unsigned __int128)a->time << 64 | a->key;
    unsigned __int128 y = (unsigned __int128)b->time << 64 | b->key;

    return x < y;
}

static inline void put(SimHeap *heap, uint32_t at, SimHeapKey key,
                       SimEvent *event)
{
    heap->keys[at] = key;
    heap->events[at] = event;
    event->slot = at;
}

static void set_capacity(SimHeap *heap, uint32_t capacity)
{
    SimHeapKey *keys = g_aligned_alloc(capacity, sizeof(*keys), KEYS_ALIGNMENT);
    uint32_t i;

    if (heap->keys) {
        memcpy(keys, heap->keys, heap->capacity * sizeof(*keys));
        g_aligned_free(heap->keys);
    }
    for (i = heap->capacity; i < capacity; i++) {
        keys[i] = never;
    }
    heap->keys = keys;
    heap->events = g_renew(SimEvent *, heap->events, capacity);
    heap->capacity = capacity;
}

void sim_heap_init(SimHeap *heap)
{
    memset(heap, 0, sizeof(*heap));
    heap->end = SIM_HEAP_ROOT;
    set_capacity(heap, SIM_HEAP_CAPACITY_MIN);
}

void sim_heap_clear(SimHeap *heap)
{
    g_aligned_free(heap->keys);
    g_free(heap->events);
}

void sim_heap_grow(SimHeap *heap)
{
    g_assert(heap->capacity < 1u << 29);
    set_capacity(heap, heap->capacity * 2);
}

void sim_heap_empty(SimHeap *heap)
{
    uint32_t i;

    for (i = SIM_HEAP_ROOT; i < heap->end; i++) {
        heap->keys[i] = never;
    }
    heap->end = SIM_HEAP_ROOT;
}

/* A key, and its place among its siblings. */
typedef struct Candidate {
    uint64_t time;
    uint64_t key;
    uint64_t at;
} Candidate;

/* Without a branch, because the processor cannot predict it. The result holds
 * the key itself, so the caller need not wait for another read of it. */
static inline Candidate earlier(Candidate a, Candidate b)
{
    unsigned __int128 x = (unsigned __int128)a.time << 64 | a.key;
    unsigned __int128 y = (unsigned __int128)b.time << 64 | b.key;
    uint64_t mask = -(uint64_t)(y < x);

    a.time ^= (a.time ^ b.time) & mask;
    a.key ^= (a.key ^ b.key) & mask;
    a.at ^= (a.at ^ b.at) & mask;
    return a;
}

static inline Candidate least_of_four(const SimHeapKey *keys)
{
    Candidate left = earlier((Candidate){keys[0].time, keys[0].key, 0},
                             (Candidate){keys[1].time, keys[1].key, 1});
    Candidate right = earlier((Candidate){keys[2].time, keys[2].key, 2},
                              (Candidate){keys[3].time, keys[3].key, 3});

    return earlier(left, right);
}

void sim_heap_sift_down(SimHeap *heap, uint32_t hole, SimEvent *event)
{
    SimHeapKey key = {(uint64_t)event->time, event->key};
    SimHeapKey *keys = heap->keys;
    SimEvent **events = heap->events;
    size_t end = heap->end;
    size_t at = hole;
    size_t child;

    while ((child = 4 * at - 8) < end) {
        Candidate least = least_of_four(&keys[child]);
        SimHeapKey up = {least.time, least.key};
        SimEvent *moved;

        if (key_before(&key, &up)) {
            break;
        }
        child += least.at;
        moved = events[child];
        keys[at].time = least.time;
        keys[at].key = least.key;
        events[at] = moved;
        moved->slot = (uint32_t)at;
        at = child;
    }
    put(heap, (uint32_t)at, key, event);
}

void sim_heap_sift_up(SimHeap *heap, uint32_t hole, SimEvent *event)
{
    SimHeapKey key = {(uint64_t)event->time, event->key};

    while (hole > SIM_HEAP_ROOT) {
        uint32_t parent = hole / 4 + 2;

        if (!key_before(&key, &heap->keys[parent])) {
            break;
        }
        put(heap, hole, heap->keys[parent], heap->events[parent]);
        hole = parent;
    }
    put(heap, hole, key, event);
}

void sim_heap_remove_at(SimHeap *heap, uint32_t at)
{
    uint32_t last = --heap->end;
    SimEvent *event = heap->events[last];

    heap->keys[last] = never;
    if (at == last) {
        return;
    }
    if (at > SIM_HEAP_ROOT &&
        (uint64_t)event->time <= heap->keys[at / 4 + 2].time) {
        sim_heap_sift_up(heap, at, event);
        /* The event may have stayed: among equal times the keys decide, below.
         */
        at = event->slot;
    }
    sim_heap_sift_down(heap, at, event);
}
