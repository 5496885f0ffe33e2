/* SPDX-License-Identifier: MIT */
/*
 * Invariant: once its arrays are large enough, the engine allocates no memory
 * when it schedules, cancels, reschedules and runs events. The linker wraps
 * every allocating function that the library could call, and the wrappers count
 * the calls. Allocations within GLib show in the size of the heap.
 */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include "sim_engine.h"
#include "../suite.h"

static uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
gpointer __real_g_malloc(gsize size);
gpointer __real_g_malloc0(gsize size);
gpointer __real_g_realloc(gpointer old, gsize size);
gpointer __real_g_malloc_n(gsize count, gsize size);
gpointer __real_g_malloc0_n(gsize count, gsize size);
gpointer __real_g_realloc_n(gpointer old, gsize count, gsize size);
gpointer __real_g_slice_alloc(gsize size);
gpointer __real_g_slice_alloc0(gsize size);
gpointer __real_g_aligned_alloc(gsize count, gsize size, gsize alignment);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
gpointer __wrap_g_malloc(gsize size);
gpointer __wrap_g_malloc0(gsize size);
gpointer __wrap_g_realloc(gpointer old, gsize size);
gpointer __wrap_g_malloc_n(gsize count, gsize size);
gpointer __wrap_g_malloc0_n(gsize count, gsize size);
gpointer __wrap_g_realloc_n(gpointer old, gsize count, gsize size);
gpointer __wrap_g_slice_alloc(gsize size);
gpointer __wrap_g_slice_alloc0(gsize size);
gpointer __wrap_g_aligned_alloc(gsize count, gsize size, gsize alignment);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

gpointer __wrap_g_malloc(gsize size)
{
    allocations++;
    return __real_g_malloc(size);
}

gpointer __wrap_g_malloc0(gsize size)
{
    allocations++;
    return __real_g_malloc0(size);
}

gpointer __wrap_g_realloc(gpointer old, gsize size)
{
    allocations++;
    return __real_g_realloc(old, size);
}

gpointer __wrap_g_malloc_n(gsize count, gsize size)
{
    allocations++;
    return __real_g_malloc_n(count, size);
}

gpointer __wrap_g_malloc0_n(gsize count, gsize size)
{
    allocations++;
    return __real_g_malloc0_n(count, size);
}

gpointer __wrap_g_realloc_n(gpointer old, gsize count, gsize size)
{
    allocations++;
    return __real_g_realloc_n(old, count, size);
}

gpointer __wrap_g_slice_alloc(gsize size)
{
    allocations++;
    return __real_g_slice_alloc(size);
}

gpointer __wrap_g_slice_alloc0(gsize size)
{
    allocations++;
    return __real_g_slice_alloc0(size);
}

gpointer __wrap_g_aligned_alloc(gsize count, gsize size, gsize alignment)
{
    allocations++;
    return __real_g_aligned_alloc(count, size, alignment);
}

typedef struct Crowd {
    uint64_t random;
    struct Person *persons;
    uint32_t count;
} Crowd;

typedef struct Person {
    SimEvent event;
    Crowd *crowd;
} Person;

static uint64_t next_random(Crowd *crowd)
{
    crowd->random ^= crowd->random << 13;
    crowd->random ^= crowd->random >> 7;
    crowd->random ^= crowd->random << 17;
    return crowd->random * 0x2545f4914f6cdd1dULL >> 8;
}

static SimTime next_delay(Crowd *crowd)
{
    uint64_t random = next_random(crowd);

    return (SimTime)(random % 256 ? (random >> 8) % 100000 : 40000000);
}

/* Schedules itself again, reschedules a random event, and cancels and schedules
 * another. */
static void run_person(SimEvent *event)
{
    Person *person = SIM_CONTAINER_OF(event, Person, event);
    Crowd *crowd = person->crowd;
    SimEvent *other;

    sim_event_schedule(event, event->time + next_delay(crowd));
    other = &crowd->persons[next_random(crowd) % crowd->count].event;
    sim_event_reschedule(other, event->time + next_delay(crowd));
    other = &crowd->persons[next_random(crowd) % crowd->count].event;
    sim_event_cancel(other);
    sim_event_schedule(other, sim_engine_now(other->engine) + 1000);
}

START_TEST(test_steady_state)
{
    static const uint32_t counts[] = {1, 64, 300, 5000, 100000};
    Crowd crowd = {.random = 7, .count = counts[_i]};
    uint64_t before = allocations;
    g_autoptr(SimEngine) engine = sim_engine_new();
    struct mallinfo2 warm, steady;
    SimTime end;
    uint32_t i;

    crowd.persons = g_new0(Person, crowd.count);
    /* The counter itself works. */
    ck_assert_uint_ge(allocations, before + 2);

    for (i = 0; i < crowd.count; i++) {
        crowd.persons[i].crowd = &crowd;
        sim_event_init(&crowd.persons[i].event, engine, run_person,
                       SIM_PRIORITY_NORMAL, i);
        sim_event_schedule(&crowd.persons[i].event, next_delay(&crowd));
    }
    for (end = 0; sim_engine_executed(engine) < 3 * crowd.count + 100000;) {
        end += 1000;
        sim_engine_run_until(engine, end);
    }

    before = allocations;
    warm = mallinfo2();
    for (; sim_engine_executed(engine) < 5 * crowd.count + 400000;) {
        end += 1000;
        sim_engine_run_until(engine, end);
    }
    steady = mallinfo2();
    ck_assert_uint_eq(allocations, before);
    ck_assert_uint_eq(steady.uordblks + steady.hblkhd,
                      warm.uordblks + warm.hblkhd);
    g_free(crowd.persons);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_memory");
    TCase *tcase = tcase_create("memory");

    tcase_add_loop_test(tcase, test_steady_state, 0, 5);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
