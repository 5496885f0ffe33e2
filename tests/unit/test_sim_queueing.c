/* SPDX-License-Identifier: MIT */
/*
 * Invariant: queues that use the engine and its random streams behave as
 * queueing theory predicts. M/M/1 and M/D/1 (Poisson arrivals, exponential or
 * constant service, one server, first come first served) have closed formulas
 * for the mean number in the system and the mean wait. The means over batches
 * must agree with these within their confidence interval, which must be narrow.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "sim_engine.h"
#include "sim_random.h"
#include "../suite.h"

#define SERVICE_MEAN    1000000 /* ps */
#define BATCHES         30
#define BATCH_CUSTOMERS 40000
#define QUEUE_MAX       4096u

/* Student's t for 29 degrees of freedom, two-sided 99.9 %. */
#define T_29 3.659

/* A sample: its size, mean and sum of squares around the mean (Welford). */
typedef struct Sample {
    unsigned count;
    double mean, squares;
} Sample;

static void sample_add(Sample *sample, double value)
{
    double difference = value - sample->mean;

    sample->count++;
    sample->mean += difference / sample->count;
    sample->squares += difference * (value - sample->mean);
}

/* A level that changes over time, and its sum since the start in level times
 * ps. */
typedef struct Level {
    SimTime start, last;
    int64_t level;
    __int128 area;
} Level;

static void level_set(Level *level, SimTime now, int64_t value)
{
    level->area += (__int128)level->level * (now - level->last);
    level->last = now;
    level->level = value;
}

/* Returns the mean since the start, and starts again. */
static double level_take(Level *level, SimTime now)
{
    double mean;

    level_set(level, now, level->level);
    mean = (double)level->area / (double)(now - level->start);
    level->start = now;
    level->area = 0;
    return mean;
}

typedef struct Queue {
    SimEngine *engine;
    SimEvent arrival;
    SimEvent departure;
    SimRandom arrivals;
    SimRandom services;
    SimTime arrival_mean;
    bool constant_service;
    SimTime line[QUEUE_MAX]; /* arrival times of those in the system */
    uint32_t first;
    uint32_t count;
    uint64_t served;
    Level number;
    Level busy;
    Sample wait; /* until the service starts, in ps */
} Queue;

static void start_service(Queue *queue)
{
    SimTime now = sim_engine_now(queue->engine);
    SimTime service = SERVICE_MEAN;

    if (!queue->constant_service) {
        service = sim_random_exponential(&queue->services, SERVICE_MEAN);
    }
    sample_add(&queue->wait, (double)(now - queue->line[queue->first]));
    sim_event_schedule(&queue->departure, now + service);
}

static void arrive(SimEvent *event)
{
    Queue *queue = SIM_CONTAINER_OF(event, Queue, arrival);
    SimTime now = sim_engine_now(queue->engine);
    SimTime gap;

    gap = sim_random_exponential(&queue->arrivals, queue->arrival_mean);
    sim_event_schedule(event, now + gap);
    if (queue->count == QUEUE_MAX) {
        ck_abort_msg("more than %u in the system", QUEUE_MAX);
    }
    queue->line[(queue->first + queue->count++) % QUEUE_MAX] = now;
    level_set(&queue->number, now, queue->count);
    if (queue->count == 1) {
        level_set(&queue->busy, now, 1);
        start_service(queue);
    }
}

static void depart(SimEvent *event)
{
    Queue *queue = SIM_CONTAINER_OF(event, Queue, departure);
    SimTime now = sim_engine_now(queue->engine);

    queue->first = (queue->first + 1) % QUEUE_MAX;
    queue->count--;
    level_set(&queue->number, now, queue->count);
    if (queue->count) {
        start_service(queue);
    } else {
        level_set(&queue->busy, now, 0);
    }
    if (++queue->served == BATCH_CUSTOMERS) {
        sim_engine_stop(queue->engine);
    }
}

/* Runs one batch and clears the statistics for the next. */
static void run_batch(Queue *queue, Sample *number, Sample *wait, Sample *busy)
{
    SimTime now;

    queue->served = 0;
    sim_engine_run(queue->engine);
    now = sim_engine_now(queue->engine);
    sample_add(number, level_take(&queue->number, now));
    sample_add(busy, level_take(&queue->busy, now));
    sample_add(wait, queue->wait.mean / SERVICE_MEAN);
    queue->wait = (Sample){0};
}

static void check_mean(const Sample *batches, double expected)
{
    double half = T_29 * sqrt(batches->squares / (BATCHES - 1) / BATCHES);

    ck_assert_uint_eq(batches->count, BATCHES);
    ck_assert_double_eq_tol(batches->mean, expected, half);
    ck_assert_double_lt(half, 0.05 * expected);
}

static void check_queue(bool constant_service, int load_percent)
{
    Queue *queue = g_new0(Queue, 1);
    double load = load_percent / 100.0;
    /* Pollaczek-Khinchine formula. The squared coefficient of variation of the
     * service time is 0 if it is constant and 1 if it is exponential. */
    double wait = load / (1 - load) * (constant_service ? 0.5 : 1);
    Sample numbers = {0}, waits = {0}, busies = {0};
    int i;

    queue->engine = sim_engine_new();
    queue->arrival_mean = 100 * SERVICE_MEAN / load_percent;
    queue->constant_service = constant_service;
    sim_random_init(&queue->arrivals, 1, "arrivals");
    sim_random_init(&queue->services, 1, "services");
    sim_event_init(&queue->arrival, queue->engine, arrive, SIM_PRIORITY_NORMAL,
                   0);
    sim_event_init(&queue->departure, queue->engine, depart,
                   SIM_PRIORITY_NORMAL, 1);
    sim_event_schedule(&queue->arrival, 0);

    /* The first batch is the warm-up. */
    run_batch(queue, &numbers, &waits, &busies);
    numbers = waits = busies = (Sample){0};
    for (i = 0; i < BATCHES; i++) {
        run_batch(queue, &numbers, &waits, &busies);
    }
    check_mean(&busies, load);
    check_mean(&waits, wait);
    check_mean(&numbers, load * (wait + 1)); /* Little's law */
    sim_engine_free(queue->engine);
    g_free(queue);
}

START_TEST(test_mm1)
{
    check_queue(false, _i);
}
END_TEST

START_TEST(test_md1)
{
    check_queue(true, _i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_queueing");
    TCase *tcase = tcase_create("queueing");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, test_mm1, 50, 51);
    tcase_add_loop_test(tcase, test_mm1, 80, 81);
    tcase_add_loop_test(tcase, test_md1, 50, 51);
    tcase_add_loop_test(tcase, test_md1, 80, 81);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
