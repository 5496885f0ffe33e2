/* SPDX-License-Identifier: MIT */
#include "sim_engine.h"

#include <string.h>

#include "sim_heap.h"

#define SEQUENCE_BITS 41
#define SEQUENCE_END  (1ULL << SEQUENCE_BITS)
#define ORDER_MASK    (~(SEQUENCE_END - 1))
#define RANK_BITS     20

struct SimEngine {
    SimHeap heap;
    uint64_t now;
    uint64_t sequence;
    uint64_t executed;
    bool running;
    bool stopped;
};

SimEngine *sim_engine_new(void)
{
    SimEngine *engine = g_new0(SimEngine, 1);

    sim_heap_init(&engine->heap);
    return engine;
}

void sim_engine_free(SimEngine *engine)
{
    if (!engine) {
        return;
    }
    sim_heap_clear(&engine->heap);
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

SimTime sim_engine_now(const SimEngine *engine)
{
    return (SimTime)engine->now;
}

void sim_event_schedule(SimEvent *event, SimTime time)
{
    SimEngine *engine = event->engine;

    g_assert(!event->slot);
    g_assert(time >= (SimTime)engine->now);

    event->time = time;
    event->key = (event->key & ORDER_MASK) | engine->sequence++;
    sim_heap_add(&engine->heap, event);
}

void sim_event_cancel(SimEvent *event)
{
    if (event->slot) {
        sim_heap_remove(&event->engine->heap, event);
    }
}

void sim_event_reschedule(SimEvent *event, SimTime time)
{
    sim_event_cancel(event);
    sim_event_schedule(event, time);
}

/* Runs events due at or before @limit, at most @most of them. */
static uint64_t run_events(SimEngine *engine, uint64_t limit, uint64_t most)
{
    SimHeap *heap = &engine->heap;
    uint64_t start = engine->executed;

    g_assert(!engine->running);
    engine->running = true;
    engine->stopped = false;
    while (!engine->stopped && engine->executed - start < most) {
        SimEvent *event;

        if (sim_heap_first_time(heap) > limit) {
            break;
        }
        engine->now = sim_heap_first_time(heap);
        engine->executed++;
        event = sim_heap_open(heap);
        event->fn(event);
        sim_heap_close(heap);
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

uint64_t sim_engine_pending(const SimEngine *engine)
{
    return sim_heap_count(&engine->heap);
}

uint64_t sim_engine_executed(const SimEngine *engine)
{
    return engine->executed;
}
