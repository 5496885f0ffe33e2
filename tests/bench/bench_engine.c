/* SPDX-License-Identifier: MIT */
/*
 * Hold operations of the engine beside those of a plain 4-ary heap: an event
 * that runs schedules itself again at a random later time. One line for each
 * number of pending events and each distribution, in million operations a
 * second, median of five runs of both in turn:
 *   engine_hold pending=64 ours=31.2 heap=26.0 ratio=1.20
 * The hold lines use times of 1 to 1000, so that large sets are full of equal
 * times; the spread lines use 1 to 1000000.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim_engine.h"

#define RUNS 5

typedef struct PlainEvent {
    uint64_t time;
    uint32_t id;
    uint32_t arg;
} PlainEvent;

typedef struct PlainHeap {
    PlainEvent *events;
    uint32_t count;
} PlainHeap;

typedef struct Source {
    uint64_t random;
    uint64_t range;
    uint64_t sum;
} Source;

typedef struct Holder {
    SimEvent event;
    Source *source;
    uint32_t id;
} Holder;

static inline uint64_t next_random(Source *source)
{
    source->random ^= source->random << 13;
    source->random ^= source->random >> 7;
    source->random ^= source->random << 17;
    return source->random;
}

/* Division by a constant is what the plain loop has, too. */
static inline uint64_t next_delay(Source *source)
{
    uint64_t random = next_random(source);

    return 1 + (source->range == 1000 ? random % 1000 : random % 1000000);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
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
        int k;

        if (child >= count) {
            break;
        }
        for (k = child + 1; k < end; k++) {
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

/* Returns million operations a second. The sum of all identifiers seen keeps
 * the compiler from leaving the owner of an event unread. */
static double run_plain(uint32_t pending, uint64_t range, uint64_t operations,
                        uint64_t *ret_sum)
{
    Source source = {88172645463325252u, range, 0};
    PlainHeap heap = {g_new(PlainEvent, pending + 8), 0};
    double start;
    uint64_t n;
    uint32_t i;

    for (i = 0; i < pending; i++) {
        plain_push(&heap, (PlainEvent){next_delay(&source) - 1, i, 0});
    }
    start = seconds();
    for (n = 0; n < operations; n++) {
        PlainEvent event = plain_pop(&heap);

        source.sum += event.id;
        event.time += next_delay(&source);
        plain_push(&heap, event);
    }
    start = seconds() - start;
    g_free(heap.events);
    *ret_sum += source.sum;
    return (double)operations / start / 1e6;
}

static void hold(SimEvent *event)
{
    Holder *holder = SIM_CONTAINER_OF(event, Holder, event);
    Source *source = holder->source;

    source->sum += holder->id;
    sim_event_schedule(event, event->time + (SimTime)next_delay(source));
}

static double run_ours(uint32_t pending, uint64_t range, uint64_t operations,
                       uint64_t *ret_sum)
{
    Source source = {88172645463325252u, range, 0};
    g_autoptr(SimEngine) engine = sim_engine_new();
    Holder *holders = g_new0(Holder, pending);
    SimTime span = (SimTime)range;
    double start;
    uint64_t done = 0;
    uint32_t i;

    for (i = 0; i < pending; i++) {
        holders[i].source = &source;
        holders[i].id = i;
        sim_event_init(&holders[i].event, engine, hold, SIM_PRIORITY_NORMAL, 0);
        sim_event_schedule(&holders[i].event, (SimTime)next_delay(&source) - 1);
    }
    start = seconds();
    while (done < operations) {
        done += sim_engine_run_until(engine, sim_engine_now(engine) + span);
    }
    start = seconds() - start;
    g_free(holders);
    *ret_sum += source.sum;
    return (double)done / start / 1e6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static uint64_t compare(const char *name, uint32_t pending, uint64_t range,
                        uint64_t operations)
{
    double ours[RUNS], heap[RUNS], ratio[RUNS];
    uint64_t sum = 0;
    int i;

    for (i = 0; i < RUNS; i++) {
        ours[i] = run_ours(pending, range, operations, &sum);
        heap[i] = run_plain(pending, range, operations, &sum);
        ratio[i] = ours[i] / heap[i];
    }
    qsort(ours, RUNS, sizeof(*ours), compare_doubles);
    qsort(heap, RUNS, sizeof(*heap), compare_doubles);
    qsort(ratio, RUNS, sizeof(*ratio), compare_doubles);
    printf("%s pending=%u ours=%.1f heap=%.1f ratio=%.2f\n", name, pending,
           ours[RUNS / 2], heap[RUNS / 2], ratio[RUNS / 2]);
    fflush(stdout);
    return sum;
}

int main(void)
{
    static const uint32_t pending[] = {64, 1024, 16384, 262144, 1048576};
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < G_N_ELEMENTS(pending); i++) {
        uint64_t operations = MAX(1000000, 3 * (uint64_t)pending[i]);

        sum += compare("engine_hold", pending[i], 1000, operations);
        sum += compare("engine_spread", pending[i], 1000000, operations);
    }
    return sum ? EXIT_SUCCESS : EXIT_FAILURE;
}
