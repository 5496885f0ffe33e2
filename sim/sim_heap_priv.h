/* SPDX-License-Identifier: MIT */
#ifndef SIM_HEAP_PRIV_H
#define SIM_HEAP_PRIV_H

#include "sim_engine.h"

/*
 * A 4-ary heap of events by (time, key). The root is entry 3, which makes the
 * children of entry i the entries 4i - 8 to 4i - 5: four keys of 16 bytes in
 * one aligned cache line. The entries behind the last one, up to the end
 * of its group of four, hold a key later than any other, so the search for the
 * least of four need not know where the heap ends. An event knows its entry
 * (slot), so the heap removes it without a search and keeps no stale entry.
 *
 * Most events schedule another when they run. The heap therefore leaves the
 * running event's entry open as a hole at the root, and the next event fills
 * it: one walk down the heap instead of one down and one up.
 */
#define SIM_HEAP_ROOT         3u
#define SIM_HEAP_CAPACITY_MIN 512u

typedef struct SimHeapKey {
    uint64_t time;
    uint64_t key;
} SimHeapKey;

typedef struct SimHeap {
    SimHeapKey *keys;
    SimEvent **events;
    uint32_t end; /* one past the last entry; SIM_HEAP_ROOT when empty */
    bool hole;
    uint32_t capacity;
} SimHeap;

void sim_heap_init(SimHeap *heap);
void sim_heap_clear(SimHeap *heap);
void sim_heap_grow(SimHeap *heap);
/* Removes all events without touching their slots: the caller sets them. */
void sim_heap_empty(SimHeap *heap);

/* Moves the hole at @hole towards the leaves until @event fits into it. */
void sim_heap_sift_down(SimHeap *heap, uint32_t hole, SimEvent *event);
void sim_heap_sift_up(SimHeap *heap, uint32_t hole, SimEvent *event);
void sim_heap_remove_at(SimHeap *heap, uint32_t at);

static inline uint32_t sim_heap_count(const SimHeap *heap)
{
    return heap->end - SIM_HEAP_ROOT - heap->hole;
}

/* Takes the first event and leaves a hole in its place; returns NULL if the
 * event is due after @limit. No hole must be open. */
static inline SimEvent *sim_heap_take(SimHeap *heap, uint64_t limit)
{
    SimHeapKey *root = &heap->keys[SIM_HEAP_ROOT];
    SimEvent *event = heap->events[SIM_HEAP_ROOT];

    /* The root of an empty heap is later than any limit. */
    if (root->time > limit) {
        return NULL;
    }
    /* Nothing may pass the hole while it is open. */
    *root = (SimHeapKey){0, 0};
    heap->hole = true;
    event->slot = 0;
    return event;
}

static inline bool sim_heap_is_before(const SimHeap *heap, uint64_t time,
                                      uint64_t key)
{
    const SimHeapKey *root = &heap->keys[SIM_HEAP_ROOT];

    return root->time < time || (root->time == time && root->key < key);
}

static inline void sim_heap_close(SimHeap *heap)
{
    if (heap->hole) {
        heap->hole = false;
        sim_heap_remove_at(heap, SIM_HEAP_ROOT);
    }
}

/* The heap must not be full. */
static inline void sim_heap_add(SimHeap *heap, SimEvent *event)
{
    if (heap->hole) {
        heap->hole = false;
        sim_heap_sift_down(heap, SIM_HEAP_ROOT, event);
        return;
    }
    sim_heap_sift_up(heap, heap->end++, event);
}

static inline void sim_heap_remove(SimHeap *heap, SimEvent *event)
{
    uint32_t at = event->slot;

    event->slot = 0;
    sim_heap_remove_at(heap, at);
}

#endif
