/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the engine runs events in the total order (time, priority, rank,
 * sequence), like a naive model with a sorted array. This holds for few and for
 * many pending events, and while events are scheduled, cancelled and
 * rescheduled from inside and outside of events. The engine never accesses a
 * cancelled event.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sim_engine.h"
#include "../suite.h"

#define CAPACITY (1u << 18)

/* For conditions that are checked a million times. ck_assert() is too slow: it
 * writes to a file even if it passes. */
#define expect(condition)                                                      \
    do {                                                                       \
        if (!(condition)) {                                                    \
            ck_abort_msg("not so: %s", #condition);                            \
        }                                                                      \
    } while (0)

typedef enum Delays {
    DELAYS_EQUAL,    /* 0: all events at one time */
    DELAYS_TIES,     /* 0 to 3 */
    DELAYS_NARROW,   /* 1 to 1000 */
    DELAYS_WIDE,     /* 0 to 10^6 */
    DELAYS_OUTLIERS, /* mostly near, some at any power of two */
    DELAYS_WAVES,    /* all far for a while, then all near */
    DELAYS_MIXED,    /* each of the others for a while */
} Delays;

typedef struct World World;

typedef struct Item {
    SimEvent event;
    World *world;
    SimTime time;
    SimPriority priority;
    uint32_t rank;
    uint64_t sequence;
} Item;

struct World {
    SimEngine *engine;
    Delays delays;
    size_t target; /* desired number of pending events */
    uint64_t random;
    uint64_t sequence;
    uint64_t executed;
    uint64_t left; /* events to run before the world stops the engine */
    Item **items;  /* sorted, from head to end */
    size_t head;
    size_t end;
};

static uint64_t next_random(World *world)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return world->random * 0x2545f4914f6cdd1dULL >> 8;
}

static SimTime next_delay(World *world, Delays delays)
{
    uint64_t random = next_random(world);

    switch (delays) {
    case DELAYS_EQUAL:
        return 0;
    case DELAYS_TIES:
        return random % 4;
    case DELAYS_NARROW:
        return 1 + random % 1000;
    case DELAYS_WIDE:
        return random % 1000000;
    case DELAYS_OUTLIERS:
        if (random % 64) {
            return next_random(world) % 3000;
        }
        return (1LL << next_random(world) % 61) + (next_random(world) & 1);
    case DELAYS_WAVES:
        return random % (world->executed & 4096 ? 1000000 : 1LL << 40);
    default:
        return next_delay(world, (world->executed >> 9) % DELAYS_MIXED);
    }
}

static int compare_items(const Item *a, const Item *b)
{
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    if (a->priority != b->priority) {
        return a->priority < b->priority ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int compare_item_pointers(const void *a, const void *b)
{
    return compare_items(*(Item *const *)a, *(Item *const *)b);
}

/* Returns the index of @item, or the index at which to insert it. */
static size_t find_item(const World *world, const Item *item)
{
    size_t low = world->head;
    size_t high = world->end;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (compare_items(world->items[middle], item) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void model_remove(World *world, const Item *item)
{
    size_t at = find_item(world, item);

    expect(world->items[at] == item);
    if (at == world->head) {
        world->head++;
        return;
    }
    world->end--;
    memmove(&world->items[at], &world->items[at + 1],
            (world->end - at) * sizeof(Item *));
}

static void model_add(World *world, Item *item, SimTime time)
{
    size_t at;

    if (world->end == CAPACITY) {
        world->end -= world->head;
        memmove(world->items, world->items + world->head,
                world->end * sizeof(Item *));
        world->head = 0;
    }
    item->time = time;
    item->sequence = world->sequence++;
    at = find_item(world, item);
    memmove(&world->items[at + 1], &world->items[at],
            (world->end - at) * sizeof(Item *));
    world->items[at] = item;
    world->end++;
}

/* Limits times to 2^62, so that adding a delay never overflows. */
static SimTime next_time(World *world)
{
    SimTime now = sim_engine_now(world->engine);
    SimTime delay = next_delay(world, world->delays);

    return MIN(now + delay, MAX(now, 1LL << 62));
}

static void run_item(SimEvent *event);

static Item *new_item(World *world)
{
    Item *item = g_new0(Item, 1);

    item->world = world;
    item->priority = next_random(world) % 8;
    item->rank = next_random(world) % 8 ? next_random(world) % 4 : SIM_RANK_MAX;
    sim_event_init(&item->event, world->engine, run_item, item->priority,
                   item->rank);
    expect(!sim_event_is_pending(&item->event));
    return item;
}

static void add_item(World *world)
{
    Item *item = new_item(world);

    model_add(world, item, next_time(world));
    sim_event_schedule(&item->event, item->time);
    expect(sim_event_is_pending(&item->event));
}

/* Returns a random pending item, more often the first or last than another. */
static Item *pick_item(World *world)
{
    size_t count = world->end - world->head;

    switch (next_random(world) % 8) {
    case 0:
        return world->items[world->head];
    case 1:
        return world->items[world->end - 1];
    default:
        return world->items[world->head + next_random(world) % count];
    }
}

static void cancel_item(World *world)
{
    Item *item = pick_item(world);

    model_remove(world, item);
    sim_event_cancel(&item->event);
    expect(!sim_event_is_pending(&item->event));
    sim_event_cancel(&item->event);
    g_free(item);
}

static void reschedule_item(World *world)
{
    Item *item = pick_item(world);

    model_remove(world, item);
    model_add(world, item, next_time(world));
    sim_event_reschedule(&item->event, item->time);
}

static void act(World *world)
{
    size_t count = world->end - world->head;
    uint64_t random = next_random(world) % 8;

    if (!count || random < (count < world->target ? 4 : 2)) {
        add_item(world);
    } else if (random < 6) {
        reschedule_item(world);
    } else {
        cancel_item(world);
    }
}

static void run_item(SimEvent *event)
{
    Item *item = SIM_CONTAINER_OF(event, Item, event);
    World *world = item->world;
    uint64_t random = next_random(world);

    expect(world->head < world->end);
    expect(world->items[world->head] == item);
    expect(sim_engine_now(world->engine) == item->time);
    expect(!sim_event_is_pending(event));
    world->head++;
    world->executed++;
    if (world->left && !--world->left) {
        sim_engine_stop(world->engine);
    }

    for (; random % 4 == 0; random /= 4) {
        act(world);
    }
    if (random & 256) {
        g_free(item);
        add_item(world);
    } else {
        model_add(world, item, next_time(world));
        sim_event_reschedule(event, item->time);
    }
    for (random >>= 9; random % 4 == 0 && random; random /= 4) {
        act(world);
    }
}

static World *world_new(Delays delays, size_t target, uint64_t seed)
{
    World *world = g_new0(World, 1);

    world->engine = sim_engine_new();
    world->delays = delays;
    world->target = target;
    world->random = seed;
    world->items = g_new(Item *, CAPACITY + 1);
    for (; world->end < target; world->end++) {
        Item *item = new_item(world);

        item->time = next_time(world);
        item->sequence = world->sequence++;
        world->items[world->end] = item;
        sim_event_schedule(&item->event, item->time);
    }
    qsort(world->items, target, sizeof(Item *), compare_item_pointers);
    return world;
}

static void world_free(World *world)
{
    sim_engine_free(world->engine);
    for (; world->head < world->end; world->head++) {
        g_free(world->items[world->head]);
    }
    g_free(world->items);
    g_free(world);
}

/* Runs up to @events events by a random one of the engine's functions. */
static void world_run(World *world, uint64_t events)
{
    SimEngine *engine = world->engine;
    uint64_t executed = world->executed;
    SimTime until = next_time(world);

    world->left = events;
    switch (next_random(world) % 3) {
    case 0:
        ck_assert(sim_engine_step(engine) == (world->executed > executed));
        break;
    case 1:
        ck_assert_uint_eq(sim_engine_run(engine), world->executed - executed);
        break;
    default:
        ck_assert_uint_eq(sim_engine_run_until(engine, until),
                          world->executed - executed);
        if (world->left) {
            ck_assert_int_eq(sim_engine_now(engine), until);
            ck_assert(world->head == world->end ||
                      world->items[world->head]->time > until);
        }
    }
    ck_assert_uint_eq(sim_engine_pending(engine), world->end - world->head);
    ck_assert_uint_eq(sim_engine_executed(engine), world->executed);
    ck_assert_int_eq(sim_engine_next(engine),
                     world->head < world->end ? world->items[world->head]->time
                                              : SIM_TIME_NONE);
}

static void compare_with_model(Delays delays, size_t target, uint64_t events)
{
    World *world = world_new(delays, target, 1 + target * 8 + delays);

    while (world->executed < events) {
        world_run(world, 1 + next_random(world) % 500);
        act(world);
    }
    world_free(world);
}

START_TEST(test_few)
{
    compare_with_model(_i, 1, 20000);
    compare_with_model(_i, 7, 20000);
    compare_with_model(_i, 25, 20000); /* the list becomes full, and not */
    compare_with_model(_i, 100, 20000);
}
END_TEST

START_TEST(test_some)
{
    compare_with_model(_i, 3000, 20000);
    compare_with_model(_i, 9000, 20000);
}
END_TEST

START_TEST(test_many)
{
    compare_with_model(_i, 120000, 5000);
}
END_TEST

/* The number of pending events grows and shrinks by a factor of thousands. At
 * the end all are cancelled. */
START_TEST(test_grow_and_shrink)
{
    World *world = world_new(_i, 3, 99);
    int round;

    for (round = 0; round < 4; round++) {
        uint64_t events = world->executed + 2000;

        world->target = round % 2 ? 3 : 12000;
        while (world->end - world->head < world->target) {
            add_item(world);
        }
        while (world->end - world->head > world->target) {
            cancel_item(world);
        }
        while (world->executed < events) {
            act(world);
            world_run(world, 100);
        }
    }
    while (world->end > world->head) {
        cancel_item(world);
        expect(sim_engine_pending(world->engine) == world->end - world->head);
    }
    ck_assert(!sim_engine_step(world->engine));
    world_free(world);
}
END_TEST

typedef struct Once {
    SimEvent event;
    SimTime time;
    GArray *log;
    uint32_t id;
} Once;

static void log_once(SimEvent *event)
{
    Once *once = SIM_CONTAINER_OF(event, Once, event);

    g_array_append_val(once->log, once->id);
}

static int compare_times(const void *a, const void *b)
{
    const Once *x = *(Once *const *)a;
    const Once *y = *(Once *const *)b;

    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* A quarter million events known from the start run as qsort() sorts them. */
START_TEST(test_sorts)
{
    enum {
        COUNT = 250000
    };
    static const uint64_t ranges[] = {1, 2, 1000, 1000000, 1ULL << 62};
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autoptr(GArray) log = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autofree Once *onces = g_new0(Once, COUNT);
    g_autofree Once **sorted = g_new(Once *, COUNT);
    World world = {.random = 5};
    uint32_t i;

    for (i = 0; i < COUNT; i++) {
        onces[i].log = log;
        onces[i].id = i;
        onces[i].time = next_random(&world) * 256 % ranges[_i];
        sorted[i] = &onces[i];
        sim_event_init(&onces[i].event, engine, log_once, 0, 0);
        sim_event_schedule(&onces[i].event, onces[i].time);
    }
    qsort(sorted, COUNT, sizeof(*sorted), compare_times);
    ck_assert_uint_eq(sim_engine_run(engine), COUNT);
    ck_assert_uint_eq(log->len, COUNT);
    for (i = 0; i < COUNT; i++) {
        expect(g_array_index(log, uint32_t, i) == sorted[i]->id);
    }
}
END_TEST

typedef struct Fetched {
    SimEvent event;
    unsigned steps;  /* steps so far */
    unsigned next;   /* the least that may follow */
    uint64_t *whole; /* events that ran after all of their steps */
} Fetched;

static void count_fetched(SimEvent *event)
{
    Fetched *self = SIM_CONTAINER_OF(event, Fetched, event);

    *self->whole += self->steps == SIM_FETCH_STEPS;
}

static void fetch_step(const SimEvent *event, unsigned step)
{
    /* A real one changes nothing; this one only counts. */
    Fetched *self = SIM_CONTAINER_OF((SimEvent *)event, Fetched, event);

    expect(sim_event_is_pending(event));
    expect(step >= self->next && step < SIM_FETCH_STEPS);
    self->next = step + 1;
    self->steps++;
}

/* The steps of prefetching come in order, before the event runs. With one event
 * a ps, most events get all of them; a tenth of the events is cancelled. Few
 * pending events get none. */
START_TEST(test_fetch)
{
    enum {
        COUNT = 40000
    };
    uint32_t count = _i ? COUNT : 20;
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autofree Fetched *events = g_new0(Fetched, count);
    uint64_t whole = 0;

    sim_engine_set_fetch(engine, count_fetched, fetch_step);
    for (uint32_t i = 0; i < count; i++) {
        events[i].whole = &whole;
        sim_event_init(&events[i].event, engine, count_fetched, 0, 0);
        sim_event_schedule(&events[i].event, i);
    }
    sim_engine_run_until(engine, count / 4);
    for (uint32_t i = count / 4 + 1; i < count; i += 10) {
        sim_event_cancel(&events[i].event);
    }
    sim_engine_run(engine);
    if (_i) {
        ck_assert_uint_ge(whole, COUNT / 2);
    } else {
        ck_assert_uint_eq(whole, 0);
    }
}
END_TEST

/*
 * The clock moves ahead while all pending events are far in the future. Then
 * many near events are scheduled, and then more far ones between the others.
 */
START_TEST(test_idle_gap)
{
    enum {
        COUNT = 2000,
        STARTS = 1000
    };
    SimTime far = 1LL << _i;
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autoptr(GArray) log = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autofree Once *onces = g_new0(Once, 3 * COUNT);
    g_autofree Once **sorted = g_new(Once *, 3 * COUNT);
    World world = {.random = 6};
    uint32_t i;

    for (i = 0; i < 3 * COUNT; i++) {
        uint64_t random = next_random(&world);

        if (i == COUNT) {
            ck_assert_uint_eq(sim_engine_run_until(engine, STARTS), 0);
        }
        onces[i].log = log;
        onces[i].id = i;
        onces[i].time = i / COUNT == 1 ? STARTS + (SimTime)(random % 500)
                                       : far + (SimTime)(random % far);
        sorted[i] = &onces[i];
        sim_event_init(&onces[i].event, engine, log_once, 0, 0);
        sim_event_schedule(&onces[i].event, onces[i].time);
    }
    qsort(sorted, 3 * COUNT, sizeof(*sorted), compare_times);
    ck_assert_uint_eq(sim_engine_run(engine), 3 * COUNT);
    for (i = 0; i < 3 * COUNT; i++) {
        expect(g_array_index(log, uint32_t, i) == sorted[i]->id);
    }
}
END_TEST

START_TEST(test_boundaries)
{
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autoptr(GArray) log = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    Once first = {.log = log, .id = 1};
    Once last = {.log = log, .id = 2};

    ck_assert(!sim_engine_step(engine));
    ck_assert_uint_eq(sim_engine_run(engine), 0);
    ck_assert_int_eq(sim_engine_now(engine), 0);
    ck_assert_uint_eq(sim_engine_run_until(engine, 70), 0);
    ck_assert_int_eq(sim_engine_now(engine), 70);

    sim_event_init(&first.event, engine, log_once, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    sim_event_init(&last.event, engine, log_once, SIM_PRIORITY_FIRST, 0);
    sim_event_schedule(&last.event, SIM_TIME_NONE - 1);
    sim_event_schedule(&first.event, 70);
    ck_assert_uint_eq(sim_engine_run_until(engine, 70), 1);
    ck_assert_uint_eq(sim_engine_run_until(engine, SIM_TIME_NONE - 2), 0);
    ck_assert_uint_eq(sim_engine_pending(engine), 1);
    ck_assert_uint_eq(sim_engine_run_until(engine, SIM_TIME_NONE - 1), 1);
    ck_assert_uint_eq(log->len, 2);
    ck_assert_uint_eq(g_array_index(log, uint32_t, 0), 1);
    ck_assert_uint_eq(g_array_index(log, uint32_t, 1), 2);
}
END_TEST

typedef struct Walker {
    SimEvent event;
    World *world;
} Walker;

static void walk(SimEvent *event)
{
    Walker *walker = SIM_CONTAINER_OF(event, Walker, event);
    World *world = walker->world;

    world->sequence = world->sequence * 31 + (uint64_t)event->time;
    world->executed++;
    sim_event_schedule(event, event->time + next_delay(world, DELAYS_NARROW));
}

typedef struct Walk {
    World world;
    Walker walkers[5000];
} Walk;

static Walk *walk_new(uint64_t seed)
{
    Walk *self = g_new0(Walk, 1);
    size_t i;

    self->world.engine = sim_engine_new();
    self->world.random = seed;
    for (i = 0; i < G_N_ELEMENTS(self->walkers); i++) {
        self->walkers[i].world = &self->world;
        sim_event_init(&self->walkers[i].event, self->world.engine, walk,
                       SIM_PRIORITY_NORMAL, (uint32_t)i);
        sim_event_schedule(&self->walkers[i].event, 0);
    }
    return self;
}

/* Runs to the end, frees @self, and returns a hash of the times of all events.
 */
static uint64_t walk_finish(Walk *self)
{
    uint64_t hash;

    while (self->world.executed < 100000) {
        sim_engine_step(self->world.engine);
    }
    hash = self->world.sequence;
    sim_engine_free(self->world.engine);
    g_free(self);
    return hash;
}

START_TEST(test_interleaved_engines)
{
    uint64_t alone[2];
    Walk *walks[2];
    int i;

    for (i = 0; i < 2; i++) {
        alone[i] = walk_finish(walk_new(i + 1));
    }
    ck_assert_uint_ne(alone[0], alone[1]);
    walks[0] = walk_new(1);
    walks[1] = walk_new(2);
    for (i = 0; i < 50000; i++) {
        sim_engine_step(walks[i % 2]->world.engine);
        sim_engine_step(walks[i % 3 % 2]->world.engine);
    }
    for (i = 0; i < 2; i++) {
        ck_assert_uint_eq(walk_finish(walks[i]), alone[i]);
    }
}
END_TEST

static void *run_walk(void *data)
{
    uint64_t *seed_then_hash = data;

    *seed_then_hash = walk_finish(walk_new(*seed_then_hash));
    return NULL;
}

START_TEST(test_two_threads)
{
    uint64_t alone[2] = {1, 2};
    uint64_t together[2] = {1, 2};
    GThread *threads[2];
    int i;

    for (i = 0; i < 2; i++) {
        run_walk(&alone[i]);
    }
    for (i = 0; i < 2; i++) {
        threads[i] = g_thread_new("walk", run_walk, &together[i]);
    }
    for (i = 0; i < 2; i++) {
        g_thread_join(threads[i]);
        ck_assert_uint_eq(together[i], alone[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_engine");
    TCase *tcase = tcase_create("engine");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_few, 0, DELAYS_MIXED + 1);
    tcase_add_loop_test(tcase, test_some, 0, DELAYS_MIXED + 1);
    tcase_add_loop_test(tcase, test_many, DELAYS_TIES, DELAYS_MIXED + 1);
    tcase_add_loop_test(tcase, test_grow_and_shrink, 0, DELAYS_MIXED + 1);
    tcase_add_loop_test(tcase, test_sorts, 0, 5);
    tcase_add_loop_test(tcase, test_idle_gap, 12, 61);
    tcase_add_loop_test(tcase, test_fetch, 0, 2);
    tcase_add_test(tcase, test_boundaries);
    tcase_add_test(tcase, test_interleaved_engines);
    tcase_add_test(tcase, test_two_threads);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
