/* SPDX-License-Identifier: MIT */
/*
 * Invariants of flows that leave work out: what is judged steady is; the
 * interval of a mean holds the next values as often as it says; and a flow
 * takes as long, moves as many bytes and does as many operations as one that
 * simulates all of them, with a small part of the events.
 */
#include <check.h>
#include <math.h>

#include "fab_flow_dma.h"
#include "fab_flow_pace.h"
#include "fab_flow_pingpong.h"
#include "fab_lab.h"
#include "fab_pace_priv.h"
#include "sim_random.h"
#include "../suite.h"

#define BATCHES 60

/* ---- Judging ------------------------------------------------------------ */

/* A unit has ended. */
static void mark_one(FabPace *pace, const FabPaceMoment *moment)
{
    if (fab_pace_mark(pace, moment->at, 1, 1)) {
        fab_pace_note(pace, moment);
    }
}

/* Marks @count units, of which the i-th takes @time(i). */
static void mark(FabPace *pace, unsigned count,
                 double (*time)(SimRandom *random, unsigned i),
                 SimRandom *random)
{
    double now = 0;

    fab_pace_reset(pace);
    for (unsigned i = 0; i < count; i++) {
        now += time(random, i);
        mark_one(pace, &(FabPaceMoment){.at = (SimTime)now, .sent = i * 256});
    }
}

/* The sum of twelve numbers below 1 is normal, but for its tails. Each number
 * has 16 bits, of which a random number has four. */
static double normal(SimRandom *random)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 3; i++) {
        uint64_t bits = sim_random_u64(random);

        sum += (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
               (bits >> 48);
    }
    return (double)sum / 0x10000 - 6;
}

static double independent(SimRandom *random, unsigned i)
{
    return 1e6 + 1e5 * normal(random);
}

static double growing(SimRandom *random, unsigned i)
{
    return 1e6 + 1e4 * i + 1e4 * normal(random);
}

/* Each value has nine tenths of the one before. */
static double remembering(SimRandom *random, unsigned i)
{
    static double last;

    last = (i == 0 ? 0 : 0.9 * last) + 1e5 * normal(random);
    return 1e6 + last;
}

static double equal(SimRandom *random, unsigned i)
{
    return 1e6;
}

/* The first 10 of them take twice as long. */
static double warming(SimRandom *random, unsigned i)
{
    return i < 10 ? 2e6 : 1e6;
}

/* The mean of the next values lies in the interval 95 times in 100: of 1,000
 * series at least 936 times, unless something has happened that happens less
 * than twice in 100. */
START_TEST(the_interval_holds_what_follows)
{
    const double ahead = _i ? 1000 : 60;
    unsigned judged = 0, met = 0;
    SimRandom random;
    FabPace pace;

    sim_random_init(&random, 1, "pace");
    for (unsigned n = 0; n < 1000; n++) {
        FabPaceResult result;
        double sum = 0;

        mark(&pace, BATCHES, independent, &random);
        if (!fab_pace_judge(&pace, ahead, 0.01, &result)) {
            continue;
        }
        for (unsigned i = 0; i < ahead; i++) {
            sum += independent(&random, i);
        }
        judged++;
        met += fabs(sum / ahead - result.unit_ps) <= result.half_ps;
    }
    ck_assert_uint_ge(judged, 900);
    ck_assert_double_ge((double)met, 0.936 * judged);
}
END_TEST

/* Half of each difference from the mean goes on to the next value. */
static double following(SimRandom *random, unsigned i)
{
    static double last;

    last = (i == 0 ? 0 : 0.5 * last) + 1e5 * normal(random);
    return 1e6 + last;
}

/* Every 7th value is twice as long: no power of two is a period. */
static double seventh(SimRandom *random, unsigned i)
{
    return i % 7 == 6 ? 2e6 : 1e6;
}

/* So is one in 9.1 or so: a batch of 8 or 64 values beats with it. */
static double beating(SimRandom *random, unsigned i)
{
    static double step;

    if (i == 0) {
        step = 0.1 + sim_random_below(random, 1000) / 50000.0;
    }
    return floor((i + 1) * step) > floor(i * step) ? 2e6 : 1e6;
}

/* One in a hundred, at random. */
static double rare(SimRandom *random, unsigned i)
{
    return sim_random_below(random, 100) == 0 ? 2e6 : 1e6;
}

/* A cache fills: the misses get fewer for 2,000 values or so. */
static double filling(SimRandom *random, unsigned i)
{
    double misses = exp(-(double)i / 2000);

    return 1e6 + 1e5 * normal(random) +
           (sim_random_below(random, 1000) < 1000 * misses ? 5e5 : 0);
}

/* Ends of work are marked until the pace is known within 1 %, as in a run. The
 * mean of nine times as many values lies in the interval 95 times in 100: of
 * 200 series at least 183 times, unless something has happened that happens
 * less than once in 40. */
START_TEST(stopping_when_it_is_known_keeps_the_interval)
{
    static double (*const series[])(SimRandom * random, unsigned i) = {
        independent, following, seventh, beating, rare, filling, warming};
    unsigned judged = 0, met = 0;
    SimRandom random;
    FabPace pace = {0};

    sim_random_init(&random, 3 + _i, "pace");
    for (unsigned n = 0; n < 200; n++) {
        FabPaceResult result;
        FabPaceMoment moment = {0};
        double sum = 0, now = 0;
        bool is_known = false;
        unsigned i;

        fab_pace_reset(&pace);
        for (i = 0; i < 100000 && !is_known; i++) {
            now += series[_i](&random, i);
            moment.at = (SimTime)now;
            is_known = fab_pace_mark(&pace, moment.at, 1, 1) &&
                       fab_pace_note(&pace, &moment) &&
                       fab_pace_judge(&pace, 9.0 * pace.count, 0.01, &result) &&
                       result.half_ps <= 0.01 * result.unit_ps;
        }
        for (unsigned j = 0; is_known && j < 9 * i; j++) {
            sum += series[_i](&random, i + j);
        }
        judged += is_known;
        met += is_known &&
               fabs(sum / (9.0 * i) - result.unit_ps) <= result.half_ps;
    }
    printf("# series %d: %u judged, %u met\n", _i, judged, met);
    ck_assert_uint_ge(judged, 190);
    ck_assert_double_ge((double)met, 0.915 * judged);
}
END_TEST

/* While a cache fills, its misses may go away; not those of a stream. */
START_TEST(misses_count_while_a_cache_fills)
{
    FabPaceResult settled, fills, streams;
    FabPace pace = {0};

    for (unsigned kind = 0; kind < 3; kind++) {
        FabPaceResult *const results[] = {&settled, &fills, &streams};

        fab_pace_reset(&pace);
        pace.streams = kind == 2;
        for (SimTime i = 0; i < BATCHES; i++) {
            /* One part in 50 of the time is that of misses. */
            mark_one(&pace, &(FabPaceMoment){.at = i * 1000000,
                                             .sent = i * 65536,
                                             .held = kind == 0 ? 64 : i,
                                             .missed = i * 20000});
        }
        ck_assert(fab_pace_judge(&pace, 60, 0.01, results[kind]));
    }
    ck_assert_double_eq(settled.half_ps, streams.half_ps);
    lab_check_near(fills.half_ps - settled.half_ps, 20000, 1e-3);
}
END_TEST

/* Series with a trend or a memory are mostly not judged steady. */
START_TEST(what_is_not_steady_is_seen)
{
    unsigned grows = 0, remembers = 0;
    FabPaceResult result;
    SimRandom random;
    FabPace pace;

    sim_random_init(&random, 2, "pace");
    for (unsigned n = 0; n < 200; n++) {
        mark(&pace, BATCHES, growing, &random);
        grows += fab_pace_judge(&pace, 60, 0.01, &result);
        mark(&pace, BATCHES, remembering, &random);
        remembers += fab_pace_judge(&pace, 60, 0.01, &result);
    }
    ck_assert_uint_eq(grows, 0);
    ck_assert_uint_le(remembers, 20);
}
END_TEST

START_TEST(warm_up_is_left_out)
{
    FabPaceResult result;
    FabPace pace;

    mark(&pace, BATCHES, warming, NULL);
    ck_assert(fab_pace_judge(&pace, 60, 0.01, &result));
    lab_check_near(result.unit_ps, 1e6, 1e-6);
    /* Of any length, there are 32 to 64 batches. */
    mark(&pace, 100000, equal, NULL);
    ck_assert_uint_ge(pace.count, FAB_PACE_BATCHES / 2);
    ck_assert_uint_lt(pace.count, FAB_PACE_BATCHES);
    ck_assert(fab_pace_judge(&pace, 60, 0.01, &result));
    lab_check_near(result.unit_ps, 1e6, 1e-6);
}
END_TEST

/* Data that pile up in the fabric go in faster than they come out. Single TLPs
 * more or less by chance are no pile. @_i: whether the data pile up. */
START_TEST(a_fabric_that_fills_is_not_steady)
{
    FabPaceResult result;
    FabPace pace = {0};
    SimRandom random;

    sim_random_init(&random, 1, "fill");
    for (unsigned i = 0; i < BATCHES; i++) {
        uint64_t chance = sim_random_below(&random, 2);

        mark_one(&pace,
                 &(FabPaceMoment){.at = i * 1000,
                                  .sent = i * 100,
                                  .under_way = _i ? i * 10 : chance * 100});
    }
    ck_assert_int_eq(fab_pace_judge(&pace, 60, 0.01, &result), !_i);
}
END_TEST

/* Work that waits in a memory between two devices is a pile, too, though as
 * much ends as is sent. */
START_TEST(work_that_waits_is_a_pile)
{
    FabPaceResult result;
    FabPace pace = {0};

    for (unsigned i = 0; i < BATCHES; i++) {
        mark_one(&pace, &(FabPaceMoment){
                            .at = i * 1000,
                            .sent = i * UINT64_C(10000),
                            .ended = 1 + i * UINT64_C(10000),
                            .waiting = _i ? i * 100 : 2000,
                        });
    }
    ck_assert_int_eq(fab_pace_judge(&pace, 60, 0.01, &result), !_i);
}
END_TEST

/* A pace goes on after a pause as if that had taken no time, and moved nothing.
 * Operations begun before it do not count. */
START_TEST(a_pause_is_no_work)
{
    FabPaceMoment moment = {0};
    FabPaceResult result;
    FabPace pace = {0};

    for (unsigned i = 0; i < BATCHES; i++) {
        if (i == BATCHES / 2) {
            fab_pace_pause(&pace);
            moment.at += 1000000000;
            moment.sent += 123456;
            moment.under_way = 123456;
        }
        moment.at += 1000;
        moment.sent += 256;
        mark_one(&pace, &moment);
    }
    ck_assert_uint_eq(pace.count, BATCHES - 2);
    ck_assert(fab_pace_judge(&pace, 60, 0.01, &result));
    ck_assert_double_eq(result.unit_ps, 1000);
    ck_assert_uint_eq(result.sent, 256 * result.batches);
}
END_TEST

/* The bytes of an order come in bursts of 7 at once: the middles of batches
 * differ by less than their ends. */
START_TEST(bursts_of_an_order_are_no_chance)
{
    FabPaceResult ends, middles;

    for (unsigned kind = 0; kind < 2; kind++) {
        FabPace pace = {.is_order = kind == 1};
        SimTime now = 0;

        for (unsigned i = 0; i < 3000; i++) {
            now += i % 7 == 0 ? 7000 : 0;
            if (fab_pace_mark(&pace, now, 1, 50)) {
                fab_pace_note(&pace, &(FabPaceMoment){.at = now});
            }
        }
        ck_assert(fab_pace_judge(&pace, 60, 0.01, kind ? &middles : &ends));
    }
    lab_check_near(ends.unit_ps, 1000, 0.01);
    lab_check_near(middles.unit_ps, 1000, 0.002);
    ck_assert_double_lt(middles.half_ps, 0.7 * ends.half_ps);
}
END_TEST

/* Data come into a device by 1 % faster than their work ends there, as when an
 * engine moves them a second time: they pile up until all of its operations
 * wait. A tenth of a batch more or less under way by chance is no pile. @_i:
 * whether the data pile up. */
START_TEST(data_that_pile_up_in_a_device_are_seen)
{
    FabPaceResult result;
    FabPace pace = {0};
    SimRandom random;

    sim_random_init(&random, 1, "pile");
    for (unsigned i = 0; i < BATCHES; i++) {
        uint64_t chance = sim_random_below(&random, 1000);

        mark_one(&pace, &(FabPaceMoment){
                            .at = i * 1000,
                            .sent = i * (_i ? 10100 : 10000) + chance,
                            .ended = 1 + i * UINT64_C(10000),
                        });
    }
    ck_assert_int_eq(fab_pace_judge(&pace, 60, 0.01, &result), !_i);
}
END_TEST

/* ---- Flows --------------------------------------------------------------- */

typedef struct Run {
    FabFlowResult result[2];
    FabFlowSkipped skipped[2];
    uint64_t events;
} Run;

/* Two devices below a switch read memory: the first @count[0] operations, the
 * second @count[1], of 4 KiB each. With @start, the second one waits for the
 * first, and for that time. */
static Run run_after(const uint64_t *count, double accuracy, SimTime stop,
                     SimTime start)
{
    FabFabric *fabric = lab_fabric_new(3);
    FabRoot *root = lab_root(fabric, "host", 1, false);
    FabComponent *sw = lab_switch(fabric, "host.sw", 2);
    FabFlow *flow[2] = {NULL};
    Run run = {.events = 0};

    lab_connect(fab_root_component(root), 0, sw, 0);
    for (unsigned i = 0; i < 2; i++) {
        lab_connect(sw, 1 + i, lab_device(fabric, i ? "host.b" : "host.a"), 0);
    }
    lab_realize(fabric);
    for (unsigned i = 0; i < 2; i++) {
        FabDmaFlowParams params = {
            .device = fab_component_as_endpoint(
                fab_fabric_find(fabric, i ? "host.b" : "host.a")),
            .direction = FAB_TLP_MRD,
            .target = {fab_root_component(root), -1},
            .size_bytes = 4096,
            .count = count[i],
            .start = i ? start : 0,
        };

        flow[i] = fab_dma_flow_new(fabric, i ? "b" : "a", 0, &params, NULL);
        ck_assert_ptr_nonnull(flow[i]);
    }
    if (start > 0) {
        fab_flow_after(flow[1], flow[0]);
    }
    if (accuracy > 0) {
        fab_flows_set_accuracy(fabric, accuracy);
    }
    ck_assert(fab_flows_run(fabric, stop, NULL));
    for (unsigned i = 0; i < 2; i++) {
        fab_flow_result(flow[i], &run.result[i]);
        run.result[i].latency = NULL;
        fab_flow_skipped(flow[i], &run.skipped[i]);
    }
    run.events = sim_engine_executed(fab_fabric_engine(fabric));
    lab_fabric_free(fabric);
    return run;
}

static Run run(const uint64_t *count, double accuracy, SimTime stop)
{
    return run_after(count, accuracy, stop, 0);
}

/* _i: 0: both end together, nearly; 1: the first goes on alone; 2: they are
 * stopped. */
START_TEST(flows_are_as_long_as_when_simulated)
{
    static const uint64_t counts[3][2] = {
        {40000, 40000}, {40000, 10000}, {UINT64_MAX, UINT64_MAX}};
    SimTime stop = _i == 2 ? 20 * SIM_MS : SIM_TIME_NONE;
    Run exact = run(counts[_i], 0, stop);
    Run near = run(counts[_i], 0.005, stop);

    ck_assert_uint_lt(near.events * 6, exact.events);
    for (unsigned i = 0; i < 2; i++) {
        const FabFlowResult *want = &exact.result[i], *got = &near.result[i];
        double half = (double)near.skipped[i].half;

        ck_assert_int_gt(near.skipped[i].time, 0);
        ck_assert_double_lt(half, 0.01 * (double)(want->end - want->begin));
        if (_i < 2) {
            ck_assert_uint_eq(got->operations, want->operations);
            ck_assert_uint_eq(got->bytes, want->bytes);
            ck_assert_double_le(fabs((double)(got->end - want->end)), half);
            ck_assert_double_le(
                fabs((double)(got->data_time - want->data_time)), half);
        } else {
            ck_assert_int_eq(got->end, want->end);
            lab_check_near((double)got->bytes, (double)want->bytes,
                           half / (double)stop);
            lab_check_near((double)got->operations, (double)want->operations,
                           0.002 + half / (double)stop);
        }
    }
}
END_TEST

/* A flow that waits for another begins at its own time, which is one of the
 * description and not of the engine. */
START_TEST(flows_begin_at_their_time)
{
    static const uint64_t counts[] = {40000, 100};
    Run first = run(counts, 0, SIM_TIME_NONE);
    SimTime start = 2 * first.result[0].end;
    Run exact = run_after(counts, 0, SIM_TIME_NONE, start);
    Run near = run_after(counts, 0.005, SIM_TIME_NONE, start);

    ck_assert_int_gt(near.skipped[0].time, 0);
    ck_assert_int_eq(exact.result[1].begin, start);
    ck_assert_int_eq(near.result[1].begin, start);
    /* SKP ordered sets come at times of the engine, so elsewhere in the flow.
     */
    lab_check_near((double)(near.result[1].end - start),
                   (double)(exact.result[1].end - start), 1e-4);
}
END_TEST

/* Flows that are short are exact. */
START_TEST(short_flows_are_simulated_whole)
{
    static const uint64_t counts[] = {6, 6};
    Run exact = run(counts, 0, SIM_TIME_NONE);
    Run near = run(counts, 0.005, SIM_TIME_NONE);

    ck_assert_mem_eq(&near.result, &exact.result, sizeof(exact.result));
    ck_assert_int_eq(near.skipped[0].time, 0);
    ck_assert(!near.skipped[0].never_steady);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *judging = tcase_create("judging"), *flows = tcase_create("flows");

    tcase_add_loop_test(judging, the_interval_holds_what_follows, 0, 2);
    tcase_add_loop_test(judging, stopping_when_it_is_known_keeps_the_interval,
                        0, 7);
    tcase_add_test(judging, misses_count_while_a_cache_fills);
    tcase_add_test(judging, what_is_not_steady_is_seen);
    tcase_add_test(judging, warm_up_is_left_out);
    tcase_add_loop_test(judging, a_fabric_that_fills_is_not_steady, 0, 2);
    tcase_add_loop_test(judging, work_that_waits_is_a_pile, 0, 2);
    tcase_add_test(judging, a_pause_is_no_work);
    tcase_add_test(judging, bursts_of_an_order_are_no_chance);
    tcase_add_loop_test(judging, data_that_pile_up_in_a_device_are_seen, 0, 2);
    suite_add_tcase(suite, judging);
    tcase_add_loop_test(flows, flows_are_as_long_as_when_simulated, 0, 3);
    tcase_add_test(flows, flows_begin_at_their_time);
    tcase_add_test(flows, short_flows_are_simulated_whole);
    suite_add_tcase(suite, flows);
    return run_suite(suite);
}
