/* SPDX-License-Identifier: MIT */
#include "bench_case.h"

#include "sim_engine.h"

/*
 * Hold operations of the engine, and of a plain 4-ary heap for comparison.
 * In a hold operation an event runs and schedules itself again at a random
 * later time. The heap does not order equal times, cannot cancel and has no
 * event owners; it is the least that an event queue must do. The hold cases
 * use delays of 1 to 1000, so large sets have many equal times. The spread
 * cases use 1 to 1000000.
 */

#define OPERATIONS_MIN 500000
#define RANDOM_SEED    UINT64_C(88172645463325252)

typedef struct HoldParams {
    uint32_t pending;
    uint32_t range; /* largest delay, in ps */
} HoldParams;

typedef struct PlainEvent {
    uint64_t time;
    uint32_t id;
    uint32_t arg;
} PlainEvent;

typedef struct PlainHeap {
    PlainEvent *events;
    uint32_t count;
} PlainHeap;

/* The source of delays, and the sum of the identifiers. */
typedef struct Source {
    uint64_t random;
    uint32_t range;
    uint64_t sum;
} Source;

typedef struct Holder {
    SimEvent event;
    Source *source;
    uint32_t id;
} Holder;

/* Xorshift takes only a few instructions, so the queue takes most of the time.
 * The branch on the range costs less than a division by it. */
static inline uint64_t next_delay(Source *source)
{
    uint64_t random = source->random;

    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    source->random = random;
    return 1 + (source->range == 1000 ? random % 1000 : random % 1000000);
}

static void plain_push(PlainHeap *heap, PlainEvent event)
{
    int i = (int)heap->count++;

    while (i > 0) {
        int parent = (i - 1) / 4;

        if (heap->events[parent].time <= event.time) {
            break;
        }
        heap->events[i] = heap->events[parent];
        i = parent;
    }
    heap->events[i] = event;
}

static PlainEvent plain_pop(PlainHeap *heap)
{
    PlainEvent first = heap->events[0];
    PlainEvent last = heap->events[--heap->count];
    int count = (int)heap->count;
    int i = 0;

    for (;;) {
        int child = 4 * i + 1;
        int least = child;
        int end = child + 4 < count ? child + 4 : count;

        if (child >= count) {
            break;
        }
        for (int k = child + 1; k < end; k++) {
            if (heap->events[k].time < heap->events[least].time) {
                least = k;
            }
        }
        if (heap->events[least].time >= last.time) {
            break;
        }
        heap->events[i] = heap->events[least];
        i = least;
    }
    heap->events[i] = last;
    return first;
}

static void plain_hold(PlainHeap *heap, Source *source, uint64_t operations)
{
    for (uint64_t n = 0; n < operations; n++) {
        PlainEvent event = plain_pop(heap);

        source->sum += event.id;
        event.time += next_delay(source);
        plain_push(heap, event);
    }
}

/* Returns million operations per second of the heap. The first round of
 * operations gives the heap its usual shape and is not measured. */
static double plain_rate(const HoldParams *params, uint64_t operations,
                         uint64_t *ret_sum)
{
    Source source = {RANDOM_SEED, params->range, 0};
    PlainHeap heap = {g_new(PlainEvent, params->pending), 0};
    double start;

    for (uint32_t i = 0; i < params->pending; i++) {
        plain_push(&heap, (PlainEvent){next_delay(&source) - 1, i, 0});
    }
    plain_hold(&heap, &source, params->pending);
    start = bench_thread_seconds();
    plain_hold(&heap, &source, operations);
    start = bench_thread_seconds() - start;
    g_free(heap.events);
    *ret_sum = source.sum;
    return (double)operations / start / 1e6;
}

static void hold(SimEvent *event)
{
    Holder *holder = SIM_CONTAINER_OF(event, Holder, event);
    Source *source = holder->source;

    source->sum += holder->id;
    sim_event_schedule(event, event->time + (SimTime)next_delay(source));
}

/* Returns the number of operations. It advances the time in steps of half the
 * range, so each step runs a part of the pending events, however many there
 * are. */
static uint64_t engine_hold(SimEngine *engine, uint32_t range,
                            uint64_t operations)
{
    uint64_t done = 0;

    while (done < operations) {
        done +=
            sim_engine_run_until(engine, sim_engine_now(engine) + range / 2);
    }
    return done;
}

/* Returns million operations per second of the engine's public interface. */
static double engine_rate(const HoldParams *params, uint64_t operations,
                          uint64_t *ret_sum)
{
    Source source = {RANDOM_SEED, params->range, 0};
    g_autoptr(SimEngine) engine = sim_engine_new();
    Holder *holders = g_new0(Holder, params->pending);
    uint64_t done;
    double start;

    for (uint32_t i = 0; i < params->pending; i++) {
        holders[i].source = &source;
        holders[i].id = i;
        sim_event_init(&holders[i].event, engine, hold, SIM_PRIORITY_NORMAL, 0);
        sim_event_schedule(&holders[i].event, (SimTime)next_delay(&source) - 1);
    }
    engine_hold(engine, params->range, params->pending);
    start = bench_thread_seconds();
    done = engine_hold(engine, params->range, operations);
    start = bench_thread_seconds() - start;
    g_free(holders);
    *ret_sum = source.sum;
    return (double)done / start / 1e6;
}

static bool run_hold(const BenchCase *bench, const BenchSetup *setup,
                     double *ret_figures, GError **error)
{
    const HoldParams *params = bench->data;
    uint64_t operations = MAX(OPERATIONS_MIN, 2 * (uint64_t)params->pending);
    uint64_t sums[2];

    ret_figures[0] = engine_rate(params, operations, &sums[0]);
    ret_figures[1] = plain_rate(params, operations, &sums[1]);
    ret_figures[2] = ret_figures[0] / ret_figures[1];
    /* The use of both sums keeps a compiler from optimising the runs away. */
    if (sums[0] == 0 || sums[1] == 0) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                    "%s: no event has run", bench->name);
        return false;
    }
    return true;
}

#define HOLD_CASE(kind, range, label, pending, bound)                          \
    {                                                                          \
        "engine/" kind "-" label,                                              \
            label " events pending, each again after 1 to " #range " ps",      \
            run_hold, &(const HoldParams){pending, range}, NULL,               \
            {                                                                  \
                {"ours", "M/s", BENCH_NO_BOUND, 0, false},                     \
                {"heap", "M/s", BENCH_NO_BOUND, 0, false},                     \
                {"ratio", "", bound, 1, true},                                 \
                BENCH_NO_METRIC,                                               \
            },                                                                 \
    }

const BenchCase bench_engine_cases[] = {
    HOLD_CASE("hold", 1000, "64", 64, BENCH_AT_LEAST),
    HOLD_CASE("hold", 1000, "16Ki", 1 << 14, BENCH_AT_LEAST),
    HOLD_CASE("hold", 1000, "256Ki", 1 << 18, BENCH_AT_LEAST),
    HOLD_CASE("hold", 1000, "1Mi", 1 << 20, BENCH_AT_LEAST),
    HOLD_CASE("spread", 1000000, "64", 64, BENCH_AT_LEAST),
    HOLD_CASE("spread", 1000000, "16Ki", 1 << 14, BENCH_AT_LEAST),
    HOLD_CASE("spread", 1000000, "256Ki", 1 << 18, BENCH_AT_LEAST),
    HOLD_CASE("spread", 1000000, "1Mi", 1 << 20, BENCH_AT_LEAST),
    BENCH_NO_CASE,
};
