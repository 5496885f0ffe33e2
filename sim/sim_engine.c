/* SPDX-License-Identifier: MIT */
#include "sim_engine.h"

#include <stdlib.h>

#include "sim_heap.h"
#include "sim_list.h"
#include "sim_run.h"
#include "sim_wheel.h"

/*
 * Few pending events, the usual case, all live in the list. If it becomes full,
 * all of them move to the heap, until LIST_FEW are left. With many pending
 * events, those from near_end on live in the wheel, and those before it in the
 * heap or, sorted, in the run. When both are empty, the wheel's next bucket
 * becomes the run, and near_end the end of that bucket. Events that are
 * scheduled before near_end from then on go to the heap.
 */

/* Priority and rank are above the sequence in an event's key. */
#define SEQUENCE_BITS 41
#define SEQUENCE_END  (1ULL << SEQUENCE_BITS)
#define ORDER_MASK    (~(SEQUENCE_END - 1))
#define RANK_BITS     20

#define LIST_FEW 16u

/* With more events than HEAP_CROWDED in the heap, some move to the wheel. With
 * WHEEL_SMALL or fewer in the wheel, all of them move back to the heap. */
#define HEAP_CROWDED 384u
#define WHEEL_SMALL  64u

/* The run gets more than one bucket, because only events in it can be fetched
 * before it is their turn: up to RUN_MOST of them, but few of those that are
 * pending, so that few events are scheduled before its end. */
#define RUN_MOST  256u
#define RUN_SHARE 64u

/* A step of prefetching is as many events before the next one. */
#define FETCH_DISTANCE 5u

G_STATIC_ASSERT(LIST_FEW < SIM_LIST_MOST);
G_STATIC_ASSERT(SIM_LIST_MOST < HEAP_CROWDED - SIM_HEAP_ROOT);
G_STATIC_ASSERT(HEAP_CROWDED <= SIM_HEAP_CAPACITY_MIN);
G_STATIC_ASSERT(WHEEL_SMALL < HEAP_CROWDED - SIM_HEAP_ROOT);

struct SimEngine {
    bool few; /* all events are in the list; otherwise none is */
    SimList list;
    SimHeap heap;
    uint64_t now;
    uint64_t near_end; /* UINT64_MAX while the wheel is not in use */
    uint64_t sequence;
    uint64_t executed;
    uint32_t crowded; /* end of the heap at which add_to_crowd() is called */
    bool running;
    bool stopped;
    bool fetches; /* some event has a prefetch function */
    SimRun run;
    SimWheel *wheel; /* NULL until needed */
};

SimEngine *sim_engine_new(void)
{
    SimEngine *engine = g_new0(SimEngine, 1);

    engine->few = true;
    sim_list_init(&engine->list);
    sim_heap_init(&engine->heap);
    engine->near_end = UINT64_MAX;
    engine->crowded = HEAP_CROWDED;
    return engine;
}

void sim_engine_free(SimEngine *engine)
{
    if (!engine) {
        return;
    }
    sim_heap_clear(&engine->heap);
    sim_run_clear(&engine->run);
    sim_wheel_free(engine->wheel);
    g_free(engine);
}

void sim_event_init(SimEvent *event, SimEngine *engine, SimEventFn fn,
                    SimPriority priority, uint32_t rank)
{
    g_assert(priority >= SIM_PRIORITY_FIRST && priority <= SIM_PRIORITY_LAST);
    g_assert(rank <= SIM_RANK_MAX);

    *event = (SimEvent){
        .fn = fn,
        .engine = engine,
        .key = ((uint64_t)priority << RANK_BITS | rank) << SEQUENCE_BITS,
    };
}

void sim_event_set_fetch(SimEvent *event, SimFetchFn fetch)
{
    event->fetch = fetch;
    event->engine->fetches = true;
}

SimTime sim_engine_now(const SimEngine *engine)
{
    return (SimTime)engine->now;
}

static int compare_sequences(const void *a, const void *b)
{
    uint64_t x = (*(SimEvent *const *)a)->key & ~ORDER_MASK;
    uint64_t y = (*(SimEvent *const *)b)->key & ~ORDER_MASK;

    return x < y ? -1 : x > y;
}

/* Numbers the pending events anew, in the same order, from 0. */
static G_GNUC_NO_INLINE void renumber(SimEngine *engine)
{
    SimHeap *heap = &engine->heap;
    SimRun *run = &engine->run;
    uint64_t count = sim_engine_pending(engine);
    g_autofree SimEvent **events = g_new(SimEvent *, count);
    uint64_t n = 0;
    uint64_t i;

    for (i = engine->list.head; i < engine->list.end; i++) {
        events[n++] = engine->list.entries[i].event;
    }
    for (i = SIM_HEAP_ROOT + heap->hole; i < heap->end; i++) {
        events[n++] = heap->events[i];
    }
    for (i = run->head; i < run->end; i++) {
        if (run->entries[i].event) {
            events[n++] = run->entries[i].event;
        }
    }
    if (engine->wheel) {
        sim_wheel_list(engine->wheel, events + n);
    }
    qsort(events, count, sizeof(*events), compare_sequences);
    for (i = 0; i < count; i++) {
        events[i]->key = (events[i]->key & ORDER_MASK) | i;
    }
    engine->sequence = count;

    for (i = SIM_HEAP_ROOT + heap->hole; i < heap->end; i++) {
        heap->keys[i].key = heap->events[i]->key;
    }
    for (i = run->head; i < run->end; i++) {
        if (run->entries[i].event) {
            run->entries[i].key = run->entries[i].event->key;
        }
    }
}

/* Moves the events of the list to the heap. */
static void list_leave(SimEngine *engine)
{
    SimList *list = &engine->list;

    for (uint32_t i = list->head; i < list->end; i++) {
        sim_heap_add(&engine->heap, list->entries[i].event);
    }
    sim_list_empty(list);
    engine->few = false;
}

/* Moves the events of the heap, which are all events, to the list. */
static void list_return(SimEngine *engine)
{
    SimEvent *event;

    while ((event = sim_heap_take(&engine->heap, INT64_MAX))) {
        sim_heap_close(&engine->heap);
        sim_list_add(&engine->list, event);
    }
    engine->few = true;
}

/* Moves the events of the heap and the run to the wheel. */
static void spill(SimEngine *engine)
{
    SimHeap *heap = &engine->heap;
    SimRun *run = &engine->run;
    uint32_t i;

    if (!engine->wheel) {
        engine->wheel = sim_wheel_new();
    }
    /* Events that are in the wheel already differ from now in the same digits
     * as from the old base: now lies in the bucket that was taken last, or in
     * the same 1024 ps. */
    engine->wheel->base = engine->now;
    engine->near_end = engine->now;
    for (i = run->head; i < run->end; i++) {
        if (run->entries[i].event) {
            sim_wheel_add(engine->wheel, run->entries[i].event);
        }
    }
    run->head = run->end = run->count = 0;
    for (i = SIM_HEAP_ROOT; i < heap->end; i++) {
        sim_wheel_add(engine->wheel, heap->events[i]);
    }
    sim_heap_empty(heap);
}

/* Adds @event, which is due before near_end, to a full or too large heap. */
static void add_to_crowd(SimEngine *engine, SimEvent *event)
{
    SimHeap *heap = &engine->heap;

    /* The wheel cannot separate events that are all due now. */
    if (engine->near_end - engine->now > 1) {
        spill(engine);
        sim_wheel_add(engine->wheel, event);
        return;
    }
    if (heap->end == heap->capacity) {
        sim_heap_grow(heap);
    }
    engine->crowded = heap->capacity;
    sim_heap_add(heap, event);
}

/* Lets the owner of event @i of @run fetch what the event will touch. */
static inline void fetch(const SimRun *run, uint32_t i, unsigned step)
{
    const SimEvent *event = i < run->end ? run->entries[i].event : NULL;

    if (event && event->fetch) {
        event->fetch(event, step);
    }
}

/* Fills the run, or the heap if few events are left, from the wheel. Returns
 * false if there is nothing due at or before @limit. */
static bool refill(SimEngine *engine, uint64_t limit)
{
    SimWheel *wheel = engine->wheel;
    SimRun *run = &engine->run;
    uint32_t bucket, count, most, i;

    engine->crowded = HEAP_CROWDED;
    if (wheel->count <= WHEEL_SMALL) {
        SimEvent **events = sim_run_prepare(run, wheel->count);

        count = (uint32_t)wheel->count;
        sim_wheel_list(wheel, events);
        for (i = 0; i < count; i++) {
            sim_wheel_remove(wheel, events[i]);
            sim_heap_add(&engine->heap, events[i]);
        }
        engine->near_end = UINT64_MAX;
        return count > 0;
    }

    count = sim_wheel_next(wheel, limit, &bucket);
    if (!count) {
        return false;
    }
    most =
        engine->fetches ? (uint32_t)MIN(RUN_MOST, wheel->count / RUN_SHARE) : 0;
    do {
        sim_wheel_take(wheel, bucket, sim_run_prepare(run, count));
        sim_run_append(run, count);
    } while (run->count < most &&
             (count = sim_wheel_follows(wheel, &bucket)) > 0);
    engine->near_end = wheel->base + 1;
    for (i = 0; engine->fetches && i < SIM_FETCH_STEPS * FETCH_DISTANCE; i++) {
        fetch(run, i, 0);
    }
    return true;
}

/* The rest of sim_event_schedule() while events are not few. */
static G_GNUC_NO_INLINE void add_to_many(SimEngine *engine, SimEvent *event)
{
    if (engine->few) {
        list_leave(engine);
    }
    if ((uint64_t)event->time >= engine->near_end) {
        sim_wheel_add(engine->wheel, event);
    } else if (engine->heap.hole || engine->heap.end < engine->crowded) {
        sim_heap_add(&engine->heap, event);
    } else {
        add_to_crowd(engine, event);
    }
}

void sim_event_schedule(SimEvent *event, SimTime time)
{
    SimEngine *engine = event->engine;

    g_assert(!event->slot);
    g_assert(time >= (SimTime)engine->now);

    if (G_UNLIKELY(engine->sequence == SEQUENCE_END)) {
        renumber(engine);
    }
    event->time = time;
    event->key = (event->key & ORDER_MASK) | engine->sequence++;
    if (engine->few && sim_list_count(&engine->list) < SIM_LIST_MOST) {
        sim_list_add(&engine->list, event);
    } else {
        add_to_many(engine, event);
    }
}

void sim_event_cancel(SimEvent *event)
{
    SimEngine *engine = event->engine;

    if (event->slot & SIM_WHEEL_SLOT) {
        sim_wheel_remove(engine->wheel, event);
    } else if (event->slot & SIM_RUN_SLOT) {
        sim_run_remove(&engine->run, event);
    } else if (event->slot == SIM_LIST_SLOT) {
        sim_list_remove(&engine->list, event);
    } else if (event->slot) {
        sim_heap_remove(&engine->heap, event);
    }
}

void sim_event_reschedule(SimEvent *event, SimTime time)
{
    sim_event_cancel(event);
    sim_event_schedule(event, time);
}

/* take_event() while the wheel is in use. */
static SimEvent *take_event_of_many(SimEngine *engine, uint64_t limit)
{
    SimHeap *heap = &engine->heap;
    SimRun *run = &engine->run;
    const SimRunEntry *entry;
    SimEvent *event;

    if (!run->count) {
        if (sim_heap_count(heap)) {
            return sim_heap_take(heap, limit);
        }
        if (!refill(engine, limit)) {
            return NULL;
        }
        if (!run->count) {
            return sim_heap_take(heap, limit);
        }
    }
    while (!run->entries[run->head].event) {
        run->head++;
    }
    entry = &run->entries[run->head];
    if (sim_heap_is_before(heap, entry->time, entry->key)) {
        return sim_heap_take(heap, limit);
    }
    if (entry->time > limit) {
        return NULL;
    }
    event = entry->event;
    event->slot = 0;
    for (unsigned step = 0; engine->fetches && step < SIM_FETCH_STEPS; step++) {
        fetch(run, run->head + (SIM_FETCH_STEPS - step) * FETCH_DISTANCE, step);
    }
    run->head++;
    run->count--;
    return event;
}

/* Takes the first event if it is due at or before @limit. */
static inline SimEvent *take_event(SimEngine *engine, uint64_t limit)
{
    if (engine->near_end != UINT64_MAX) {
        return take_event_of_many(engine, limit);
    }
    if (!engine->few && sim_heap_count(&engine->heap) > LIST_FEW) {
        return sim_heap_take(&engine->heap, limit);
    }
    if (!engine->few) {
        list_return(engine);
    }
    return sim_list_take(&engine->list, limit);
}

/* Runs events due at or before @limit, at most @most of them. */
static uint64_t run_events(SimEngine *engine, uint64_t limit, uint64_t most)
{
    uint64_t start = engine->executed;

    g_assert(!engine->running);
    engine->running = true;
    engine->stopped = false;
    while (!engine->stopped && engine->executed - start < most) {
        SimEvent *event = take_event(engine, limit);

        if (!event) {
            break;
        }
        engine->now = (uint64_t)event->time;
        engine->executed++;
        event->fn(event);
        sim_heap_close(&engine->heap);
    }
    engine->running = false;
    return engine->executed - start;
}

bool sim_engine_step(SimEngine *engine)
{
    return run_events(engine, INT64_MAX, 1) == 1;
}

uint64_t sim_engine_run(SimEngine *engine)
{
    return run_events(engine, INT64_MAX, UINT64_MAX);
}

uint64_t sim_engine_run_until(SimEngine *engine, SimTime time)
{
    uint64_t count;

    g_assert(time >= (SimTime)engine->now);
    count = run_events(engine, (uint64_t)time, UINT64_MAX);
    if (!engine->stopped) {
        engine->now = (uint64_t)time;
    }
    return count;
}

void sim_engine_stop(SimEngine *engine)
{
    engine->stopped = true;
}

SimTime sim_engine_next(const SimEngine *engine)
{
    const SimRun *run = &engine->run;
    uint64_t next = UINT64_MAX;

    if (sim_list_count(&engine->list)) {
        next = (uint64_t)engine->list.entries[engine->list.head].time;
    }
    if (sim_heap_count(&engine->heap)) {
        next = engine->heap.keys[SIM_HEAP_ROOT].time;
    }
    for (uint32_t i = run->head; run->count && i < run->end; i++) {
        if (run->entries[i].event) {
            next = MIN(next, run->entries[i].time);
            break;
        }
    }
    /* All events of the wheel are due at near_end or later. */
    if (next == UINT64_MAX && engine->wheel) {
        next = sim_wheel_first(engine->wheel);
    }
    return next == UINT64_MAX ? SIM_TIME_NONE : (SimTime)next;
}

uint64_t sim_engine_pending(const SimEngine *engine)
{
    uint64_t count = sim_list_count(&engine->list) +
                     sim_heap_count(&engine->heap) + engine->run.count;

    return engine->wheel ? count + engine->wheel->count : count;
}

uint64_t sim_engine_executed(const SimEngine *engine)
{
    return engine->executed;
}
