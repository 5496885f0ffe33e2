/* SPDX-License-Identifier: MIT */
#include "sim_engine.h"

#include <stdlib.h>

#include "sim_dial_priv.h"
#include "sim_heap_priv.h"
#include "sim_run_priv.h"
#include "sim_wheel_priv.h"

/*
 * Few pending events, the usual case, all live in the dial. If it becomes full,
 * all of them move to the heap, until DIAL_FEW are left. With many pending
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

#define DIAL_FEW 16u

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

G_STATIC_ASSERT(DIAL_FEW < SIM_DIAL_MOST);
G_STATIC_ASSERT(SIM_DIAL_MOST < HEAP_CROWDED - SIM_HEAP_ROOT);
G_STATIC_ASSERT(HEAP_CROWDED <= SIM_HEAP_CAPACITY_MIN);
G_STATIC_ASSERT(WHEEL_SMALL < HEAP_CROWDED - SIM_HEAP_ROOT);

struct SimEngine {
    SimClock clock;
    bool few; /* all events are in the dial; otherwise none is, and there is no
                 room for any */
    uint64_t near_end; /* UINT64_MAX while the wheel is not in use */
    uint64_t sequence;
    uint64_t executed; /* before the present run */
    uint64_t most;     /* events that the present run may execute */
    uint64_t left;     /* those of them that it has not executed yet; 0 ends
                          the run */
    SimDial dial;
    SimHeap heap;
    uint32_t crowded; /* end of the heap at which add_to_crowd() is called */
    bool running;
    bool stopped;
    struct {
        SimEventFn fn;
        SimFetchFn fetch;
    } fetches[SIM_FETCH_FNS];
    unsigned fetch_count;
    SimRun run;
    SimWheel *wheel; /* NULL until needed */
};

SimEngine *sim_engine_new(void)
{
    SimEngine *engine = g_new0(SimEngine, 1);

    engine->few = true;
    sim_dial_init(&engine->dial, SIM_DIAL_MOST);
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

void sim_engine_set_fetch(SimEngine *engine, SimEventFn fn, SimFetchFn fetch)
{
    unsigned i = 0;

    while (i < engine->fetch_count && engine->fetches[i].fn != fn) {
        i++;
    }
    g_assert(i < SIM_FETCH_FNS);
    engine->fetches[i].fn = fn;
    engine->fetches[i].fetch = fetch;
    engine->fetch_count = MAX(engine->fetch_count, i + 1);
}

static int compare_sequences(const void *a, const void *b)
{
    uint64_t x = (*(SimEvent *const *)a)->key & ~ORDER_MASK;
    uint64_t y = (*(SimEvent *const *)b)->key & ~ORDER_MASK;

    return x < y ? -1 : x > y;
}

/* Number of events in the dial. */
static inline uint32_t dial_count(const SimEngine *engine)
{
    return engine->few ? SIM_DIAL_MOST - engine->dial.room : 0;
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

    sim_dial_list(&engine->dial, events);
    n = dial_count(engine);
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

/* Moves the events of the dial to the heap. */
static void dial_leave(SimEngine *engine)
{
    SimEvent *events[SIM_DIAL_MOST];
    uint32_t count = dial_count(engine);

    sim_dial_list(&engine->dial, events);
    sim_dial_init(&engine->dial, 0);
    for (uint32_t i = 0; i < count; i++) {
        sim_heap_add(&engine->heap, events[i]);
    }
    engine->few = false;
}

/* Moves the events of the heap, which are all events, to the dial. */
static void dial_return(SimEngine *engine)
{
    SimEvent *event;

    sim_dial_init(&engine->dial, SIM_DIAL_MOST);
    while ((event = sim_heap_take(&engine->heap, INT64_MAX))) {
        sim_heap_close(&engine->heap);
        sim_dial_add(&engine->dial, event, engine->clock.now);
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
    engine->wheel->base = (uint64_t)engine->clock.now;
    engine->near_end = (uint64_t)engine->clock.now;
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
    if (engine->near_end - (uint64_t)engine->clock.now > 1) {
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

/* Lets the owner of event @i of the run fetch what the event will touch. */
static inline void fetch(const SimEngine *engine, uint32_t i, unsigned step)
{
    const SimRun *run = &engine->run;
    const SimEvent *event = i < run->end ? run->entries[i].event : NULL;

    for (unsigned j = 0; event && j < engine->fetch_count; j++) {
        if (engine->fetches[j].fn == event->fn) {
            engine->fetches[j].fetch(event, step);
            return;
        }
    }
}

/* Fills the run, or the heap if few events are left, from the wheel. Returns
 * false if there is nothing due at or before @limit. */
static bool refill(SimEngine *engine, uint64_t limit)
{
    SimWheel *wheel = engine->wheel;
    SimRun *run = &engine->run;
    uint32_t bucket, count, most, i;
    bool fetches = engine->fetch_count > 0;

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
    most = fetches ? (uint32_t)MIN(RUN_MOST, wheel->count / RUN_SHARE) : 0;
    do {
        sim_wheel_take(wheel, bucket, sim_run_prepare(run, count));
        sim_run_append(run, count);
    } while (run->count < most &&
             (count = sim_wheel_follows(wheel, &bucket)) > 0);
    engine->near_end = wheel->base + 1;
    for (i = 0; fetches && i < SIM_FETCH_STEPS * FETCH_DISTANCE; i++) {
        fetch(engine, i, 0);
    }
    return true;
}

/* Adds @event while the events are not few, or become more. */
static void add_to_many(SimEngine *engine, SimEvent *event)
{
    if (engine->few) {
        dial_leave(engine);
    }
    if ((uint64_t)event->time >= engine->near_end) {
        sim_wheel_add(engine->wheel, event);
    } else if (engine->heap.hole || engine->heap.end < engine->crowded) {
        sim_heap_add(&engine->heap, event);
    } else {
        add_to_crowd(engine, event);
    }
}

static inline void key_set(SimEngine *engine, SimEvent *event)
{
    event->key = (event->key & ORDER_MASK) | engine->sequence++;
}

/* sim_event_schedule() but for the usual case, which therefore has no registers
 * to save. */
static G_GNUC_NO_INLINE void schedule_rarely(SimEvent *event, SimTime time)
{
    SimEngine *engine = event->engine;

    g_assert(!event->slot);
    g_assert(time >= engine->clock.now);

    if (engine->sequence == SEQUENCE_END) {
        renumber(engine);
    }
    event->time = time;
    key_set(engine, event);
    if (engine->dial.room) {
        sim_dial_add(&engine->dial, event, engine->clock.now);
    } else {
        add_to_many(engine, event);
    }
}

SIM_HOT void sim_event_schedule(SimEvent *event, SimTime time)
{
    SimEngine *engine = event->engine;

    if (G_UNLIKELY(event->slot || time < engine->clock.now ||
                   !engine->dial.room || engine->sequence & SEQUENCE_END)) {
        schedule_rarely(event, time);
        return;
    }
    event->time = time;
    key_set(engine, event);
    sim_dial_add(&engine->dial, event, engine->clock.now);
}

void sim_event_cancel(SimEvent *event)
{
    SimEngine *engine = event->engine;

    if (event->slot & SIM_WHEEL_SLOT) {
        sim_wheel_remove(engine->wheel, event);
    } else if (event->slot & SIM_RUN_SLOT) {
        sim_run_remove(&engine->run, event);
    } else if (event->slot == SIM_DIAL_SLOT) {
        sim_dial_remove(&engine->dial, event);
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
    for (unsigned step = 0; engine->fetch_count && step < SIM_FETCH_STEPS;
         step++) {
        fetch(engine, run->head + (SIM_FETCH_STEPS - step) * FETCH_DISTANCE,
              step);
    }
    run->head++;
    run->count--;
    return event;
}

/* take_event() while the events are not few, or have just become few. */
static G_GNUC_NO_INLINE SimEvent *take_event_of_more(SimEngine *engine,
                                                     uint64_t limit)
{
    sim_heap_close(&engine->heap);
    if (engine->near_end != UINT64_MAX) {
        return take_event_of_many(engine, limit);
    }
    if (sim_heap_count(&engine->heap) > DIAL_FEW) {
        return sim_heap_take(&engine->heap, limit);
    }
    dial_return(engine);
    return sim_dial_take(&engine->dial, engine->clock.now, limit);
}

/* Takes the first event if it is due at or before @limit. */
static inline SimEvent *take_event(SimEngine *engine, uint64_t limit)
{
    return G_LIKELY(engine->few)
               ? sim_dial_take(&engine->dial, engine->clock.now, limit)
               : take_event_of_more(engine, limit);
}

/* No more events are executed in the present run, if there is one. */
static void run_end(SimEngine *engine)
{
    engine->executed = sim_engine_executed(engine);
    engine->most = 0;
    engine->left = 0;
}

/* Runs events due at or before @limit, at most @most of them. */
static SIM_HOT uint64_t run_events(SimEngine *engine, uint64_t limit,
                                   uint64_t most)
{
    uint64_t start = engine->executed;

    g_assert(!engine->running);
    engine->running = true;
    engine->stopped = false;
    engine->most = most;
    engine->left = most;
    do {
        SimEvent *event = take_event(engine, limit);

        if (!event) {
            break;
        }
        engine->clock.now = event->time;
        engine->left--;
        event->fn(event);
    } while (engine->left);
    run_end(engine);
    sim_heap_close(&engine->heap);
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

    g_assert(time >= engine->clock.now);
    count = run_events(engine, (uint64_t)time, UINT64_MAX);
    if (!engine->stopped) {
        engine->clock.now = time;
    }
    return count;
}

void sim_engine_stop(SimEngine *engine)
{
    run_end(engine);
    engine->stopped = true;
}

SimTime sim_engine_next(const SimEngine *engine)
{
    const SimRun *run = &engine->run;
    uint64_t next = UINT64_MAX;

    if (engine->few) {
        next = (uint64_t)sim_dial_peek(&engine->dial, engine->clock.now)->time;
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
    uint64_t count =
        dial_count(engine) + sim_heap_count(&engine->heap) + engine->run.count;

    return engine->wheel ? count + engine->wheel->count : count;
}

uint64_t sim_engine_executed(const SimEngine *engine)
{
    return engine->executed + (engine->most - engine->left);
}
