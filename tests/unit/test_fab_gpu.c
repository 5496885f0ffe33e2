/* SPDX-License-Identifier: MIT */
/*
 * Invariant: ping-pong and copies between two GPUs take the sum of the times of
 * their parts. A polled word has the value last stored on every path. Chunks of
 * a copy through memory overlap as far as there are buffers.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "fab_flow_compute.h"
#include "fab_flow_dma.h"
#include "fab_fault.h"
#include "fab_flow_pingpong.h"
#include "fab_flow_transfer.h"
#include "fab_lab.h"
#include "../suite.h"

#define BYTE_PS          (1015.625 / 8) /* 8.0GT/s x8 */
#define WIRE(bytes)      ((bytes)*BYTE_PS)
#define LINK(bytes)      (WIRE(bytes) + LAB_PROPAGATION + LAB_LATENCY)
#define TRANSIT          (200 * SIM_NS)
#define MEMORY           (80 * SIM_NS)
/* Addresses below 4 GiB: headers of 3 DW. */
#define MWR(bytes)       (20 + (bytes))
#define MRD              20
/* A cut-through switch is between two links: the time on the wire counts once.
 */
#define TWO_LINKS(bytes) (WIRE(bytes) + 2 * (LAB_PROPAGATION + LAB_LATENCY))

static SimEngine *engine;
static FabFabric *fabric;
static FabRoot *root, *far_root;
static FabComponent *gpu[2];

/* Both GPUs are below one switch, or below two root ports if @apart. A second
 * host is behind an NTB. */
static void fabric_new(bool apart, bool iommu)
{
    FabComponent *sw, *ntb, *far_ntb;

    fabric = lab_fabric_new(7);
    engine = fab_fabric_engine(fabric);
    root = lab_root(fabric, "a", 2, iommu);
    far_root = lab_root(fabric, "b", 1, false);
    sw = lab_switch(fabric, "a.sw", 3);
    ntb = lab_ntb(fabric, "a.ntb", 1);
    far_ntb = lab_ntb(fabric, "b.ntb", 1);
    gpu[0] = lab_device(fabric, "a.gpu0");
    gpu[1] = lab_device(fabric, "a.gpu1");
    lab_connect(fab_root_component(root), 0, sw, 0);
    lab_connect(sw, 1, gpu[0], 0);
    if (apart) {
        lab_connect(fab_root_component(root), 1, gpu[1], 0);
    } else {
        lab_connect(sw, 2, gpu[1], 0);
    }
    lab_connect(sw, 3, ntb, 0);
    lab_connect(ntb, 1, far_ntb, 1);
    lab_connect(fab_root_component(far_root), 0, far_ntb, 0);
    lab_realize(fabric);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

static FabFlowResult run(FabFlow *flow)
{
    FabFlowResult result;

    ck_assert_ptr_nonnull(flow);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.failed, 0);
    return result;
}

static FabFlow *pingpong_named(const char *name, FabRoot *via,
                               FabPingPongFlowParams params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow;

    params.device[0] = fab_component_as_endpoint(gpu[0]);
    params.device[1] = fab_component_as_endpoint(gpu[1]);
    params.via = via;
    flow = fab_pingpong_flow_new(fabric, name, 0, &params, &error);
    ck_assert_msg(flow, "%s", error ? error->message : "");
    return flow;
}

static FabFlow *pingpong(FabRoot *via, FabPingPongFlowParams params)
{
    return pingpong_named("p", via, params);
}

START_TEST(direct_round_trip_is_the_sum_of_the_parts)
{
    FabPingPongFlowParams params = {.count = 1000, .store = 300 * SIM_NS};
    FabFlowResult result;

    fabric_new(false, false);
    result = run(pingpong(NULL, params));
    ck_assert_uint_eq(result.operations, 1000);
    /* SKP ordered sets delay a few of the round trips. */
    lab_check_near(sim_histogram_min(result.latency),
                   2 * (300 * SIM_NS + TWO_LINKS(MWR(4))), 0.002);
    lab_check_near(sim_histogram_mean(result.latency),
                   2 * (300 * SIM_NS + TWO_LINKS(MWR(4))), 0.004);
}
END_TEST

START_TEST(noticing_takes_its_mean_time)
{
    FabPingPongFlowParams params = {
        .count = 20000, .store = 300 * SIM_NS, .notice = 400 * SIM_NS};
    SimTime period = _i ? 100 * SIM_NS : 800 * SIM_NS;
    double least;
    FabFlowResult result;

    fabric_new(false, false);
    least = 2 * (300 * SIM_NS + TWO_LINKS(MWR(4)));
    params.period = period;
    result = run(pingpong(NULL, params));
    lab_check_near(sim_histogram_mean(result.latency), least + 800 * SIM_NS,
                   0.01);
    /* Two notices of 400 ns, each within half a period. */
    ck_assert_uint_ge(sim_histogram_max(result.latency),
                      least + 800 * SIM_NS + 0.75 * period);
    ck_assert_uint_le(sim_histogram_max(result.latency),
                      least + 840 * SIM_NS + period);
}
END_TEST

/* A GPU polls with a period P of fixed + uniform[0, jitter]. A store reaches
 * memory at a random moment of this period. On average the next read reaches
 * memory E[P^2] / (2 E[P]) later. */
START_TEST(polling_memory_takes_three_paths_and_half_a_period)
{
    const double jitter = 3000 * SIM_NS, gap = 100 * SIM_NS;
    FabPingPongFlowParams params = {.count = 20000,
                                    .store = 300 * SIM_NS,
                                    .gap = 100 * SIM_NS,
                                    .jitter = 3000 * SIM_NS};
    double there = TWO_LINKS(24), back = TWO_LINKS(24) + MEMORY;
    double fixed = gap + there + back, wait;
    FabFlowResult result;

    fabric_new(false, false);
    wait = (fixed * fixed + fixed * jitter + jitter * jitter / 3) /
           (2 * (fixed + jitter / 2));
    result = run(pingpong(root, params));
    lab_check_near(sim_histogram_mean(result.latency),
                   2 * (300 * SIM_NS + TWO_LINKS(28) + wait + back), 0.02);
}
END_TEST

/* A CPU plays in place of the second GPU: it sees the word within 200 ns of its
 * polls, and stores in 10 ns. _i: 1: a read by threads of the GPU takes 800 ns
 * inside it, half of them before it reaches memory, so that the answer is there
 * by then; 0: it takes none, so the second read finds the answer. */
START_TEST(a_cpu_answers_a_gpu)
{
    FabPingPongFlowParams params = {.count = 1000,
                                    .device = {NULL, NULL},
                                    .store = 300 * SIM_NS,
                                    .read = _i * 800 * SIM_NS};
    double round = TWO_LINKS(24) + MEMORY + TWO_LINKS(24) + params.read;
    g_autoptr(GError) error = NULL;
    FabFlowResult result;

    fabric_new(false, false);
    params.device[0] = fab_component_as_endpoint(gpu[0]);
    ck_assert_ptr_null(fab_pingpong_flow_new(fabric, "p", 0, &params, &error));
    ck_assert_str_eq(error->message, "p: a CPU polls its own memory");
    params.via = root;
    result = run(fab_pingpong_flow_new(fabric, "p", 0, &params, NULL));
    ck_assert_uint_eq(result.operations, 1000);
    lab_check_near(sim_histogram_mean(result.latency),
                   300 * SIM_NS + (_i ? 1 : 2) * round, 0.02);
}
END_TEST

/* On every path the flow ends and counts every round trip. _i: bit 0: the GPUs
 * are below two root ports; bit 1: the IOMMU is on; bit 2: the words are in the
 * memory of the far host; bit 3, without bit 2: in that of the own host. */
START_TEST(the_word_arrives_on_every_path)
{
    FabPingPongFlowParams params = {
        .count = 50, .store = 300 * SIM_NS, .jitter = 500 * SIM_NS};
    FabRoot *via;
    FabFlowResult result;

    fabric_new(_i & 1, _i & 2);
    via = _i & 4 ? far_root : _i & 8 ? root : NULL;
    result = run(pingpong(via, params));
    ck_assert_uint_eq(result.operations, 50);
}
END_TEST

/* A store is poisoned, so memory does not get it, and nobody sends it again.
 * The GPUs do not poll for ever: the one that began to wait first gives up
 * after two completion time-outs, and the time in which the other could have
 * answered. */
START_TEST(a_store_that_is_lost_ends_the_game)
{
    const SimTime timeout = 50 * SIM_US, store = 300 * SIM_NS, gap = SIM_US;
    FabPingPongFlowParams params = {.count = 50, .store = store, .gap = gap};
    FabFault fault = {.action = FAB_FAULT_POISON,
                      .event = FAB_FAULT_ON_WRITE,
                      .number = 3,
                      .count = 1,
                      .from_port = true};
    FabFlow *flow;
    FabFlowResult result;

    fabric_new(false, false);
    fab_fabric_set_completion_timeout(fabric, timeout);
    fab_port_add_fault(fab_component_port(gpu[0], 0), &fault);
    flow = pingpong(root, params);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, 3);
    ck_assert_uint_eq(result.failed, 1);
    ck_assert_int_gt(result.end - result.begin, 2 * timeout + gap + store);
    /* Two round trips come before, and a last poll may be under way. */
    ck_assert_int_lt(result.end - result.begin, 2 * timeout + 20 * gap);
}
END_TEST

/* Two flows between the same GPUs use the same words, but each sees only its
 * own counter. _i: bit 0: the words are in memory; bit 1: the flows run one
 * after the other. */
START_TEST(games_do_not_disturb_each_other)
{
    FabPingPongFlowParams params = {
        .count = 50, .store = 300 * SIM_NS, .jitter = 500 * SIM_NS};
    FabRoot *via = _i & 1 ? root : NULL;
    FabFlow *first, *second;
    FabFlowResult result, after;

    fabric_new(false, false);
    first = pingpong_named("first", via, params);
    params.count = 70;
    second = pingpong_named("second", via, params);
    if (_i & 2) {
        fab_flow_after(second, first);
    }
    after = run(second);
    fab_flow_result(first, &result);
    ck_assert_uint_eq(result.operations, 50);
    ck_assert_uint_eq(after.operations, 70);
    ck_assert_int_eq(after.begin >= result.end, _i & 2 ? 1 : 0);
}
END_TEST

/* A DMA flow writes to a GPU before and during the ping-pong. The ping-pong
 * must not take its data for words. */
START_TEST(other_data_are_no_words)
{
    FabDmaFlowParams other = {.direction = FAB_TLP_MWR,
                              .target = {.bar = -1},
                              .size_bytes = 256,
                              .count = 1000};
    FabPingPongFlowParams params = {
        .count = 50, .store = 300 * SIM_NS, .start = 2 * SIM_US};

    fabric_new(false, false);
    other.device = fab_component_as_endpoint(gpu[1]);
    other.target.component = gpu[0];
    ck_assert_ptr_nonnull(fab_dma_flow_new(fabric, "d", 0, &other, NULL));
    ck_assert_uint_eq(run(pingpong(NULL, params)).operations, 50);
}
END_TEST

static FabFlow *transfer(FabRoot *via, FabTransferFlowParams params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow;

    params.from = fab_component_as_endpoint(gpu[0]);
    params.to = fab_component_as_endpoint(gpu[1]);
    params.via = via;
    params.driver = root;
    flow = fab_transfer_flow_new(fabric, "t", 0, &params, &error);
    ck_assert_msg(flow, "%s", error ? error->message : "");
    return flow;
}

static double transfer_time(bool via, uint64_t size, uint32_t buffers)
{
    FabTransferFlowParams params = {.size_bytes = size,
                                    .copies = 1,
                                    .cpu_time = 5 * SIM_US,
                                    .control_bytes = 64,
                                    .chunk_bytes = 256 << 10,
                                    .buffers = buffers,
                                    .round_trips = 2};
    FabFlowResult result;

    fabric_new(false, false);
    result = run(transfer(via ? root : NULL, params));
    ck_assert_uint_eq(result.operations, 1);
    ck_assert_uint_eq(result.bytes, size);
    teardown();
    return result.end - result.begin;
}

START_TEST(a_direct_copy_is_the_sum_of_its_parts)
{
    double control = TWO_LINKS(24) + MEMORY + TWO_LINKS(20 + 64);
    double doorbell = 10 * SIM_NS + TRANSIT + TWO_LINKS(MWR(4));
    double small = transfer_time(false, 256, 1);
    double large = transfer_time(false, 4 << 20, 1);

    /* The copy ends when its last TLP begins to leave the GPU. */
    lab_check_near(small, 5 * SIM_US + doorbell + control, 0.003);
    lab_check_near(large - small, ((4 << 20) - 256) / 256 * WIRE(MWR(256)),
                   0.004);
}
END_TEST

START_TEST(chunks_overlap_with_two_buffers_and_not_with_one)
{
    /* 1 MiB in writes of 256 B with headers of 4 DW, and in completions of
     * 256 B. */
    double write = 4096 * WIRE(24 + 256), read = 4096 * WIRE(20 + 256);
    double one =
        transfer_time(true, 9 << 20, 1) - transfer_time(true, 5 << 20, 1);
    double two =
        transfer_time(true, 9 << 20, 2) - transfer_time(true, 5 << 20, 2);

    /* The larger copy has 16 chunks more. Each adds its flag, two probes and
     * the round trip of its first read, together at most 3 us. */
    ck_assert_double_ge(one, 4 * (write + read));
    ck_assert_double_le(one, 4 * (write + read) + 16 * 3 * SIM_US);
    ck_assert_double_ge(two, 4 * write);
    ck_assert_double_le(two, 4 * write + 16 * 3 * SIM_US);
}
END_TEST

static FabFlow *compute(const char *name, SimTime time, SimTime start)
{
    FabComputeFlowParams params = {.time = time, .start = start};

    return fab_compute_flow_new(fabric, name, 0, &params, NULL);
}

START_TEST(a_flow_waits_for_all_it_comes_after)
{
    FabFlow *a, *b, *c, *late;
    FabFlowResult result;

    fabric_new(false, false);
    a = compute("a", 3 * SIM_US, 0);
    b = compute("b", 5 * SIM_US, SIM_US);
    c = compute("c", 2 * SIM_US, 0);
    late = compute("late", SIM_US, 20 * SIM_US);
    fab_flow_after(c, a);
    fab_flow_after(c, b);
    fab_flow_after(late, a);
    run(c);
    fab_flow_result(c, &result);
    ck_assert_int_eq(result.begin, 6 * SIM_US);
    ck_assert_int_eq(result.end, 8 * SIM_US);
    fab_flow_result(late, &result); /* its own start is later */
    ck_assert_int_eq(result.begin, 20 * SIM_US);
    ck_assert_int_eq(sim_engine_now(engine), 21 * SIM_US);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    FabPingPongFlowParams ping = {.count = 0};
    FabTransferFlowParams copy = {.copies = 1, .control_bytes = 64};
    g_autoptr(GError) error = NULL;

    fabric_new(false, false);
    ping.device[0] = fab_component_as_endpoint(gpu[0]);
    ping.device[1] = ping.device[0];
    ck_assert_ptr_null(fab_pingpong_flow_new(fabric, "p", 0, &ping, &error));
    ck_assert_str_eq(error->message, "p: the two GPUs must not be the same");
    g_clear_error(&error);
    ping.device[1] = fab_component_as_endpoint(gpu[1]);
    ck_assert_ptr_null(fab_pingpong_flow_new(fabric, "p", 0, &ping, &error));
    ck_assert_str_eq(error->message, "p: there must be at least 1 round trip");
    g_clear_error(&error);
    copy.from = ping.device[0];
    copy.to = ping.device[1];
    copy.driver = root;
    ck_assert_ptr_null(fab_transfer_flow_new(fabric, "t", 0, &copy, &error));
    ck_assert_str_eq(error->message,
                     "t: there must be at least 1 copy of at least 1 byte");
    g_clear_error(&error);
    copy.size_bytes = 1 << 30; /* BAR 2 holds 16 MiB */
    ck_assert_ptr_null(fab_transfer_flow_new(fabric, "t", 0, &copy, &error));
    ck_assert_ptr_nonnull(error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_gpu");
    TCase *tcase = tcase_create("gpu");

    tcase_set_timeout(tcase, 120);

    tcase_add_test(tcase, direct_round_trip_is_the_sum_of_the_parts);
    tcase_add_loop_test(tcase, noticing_takes_its_mean_time, 0, 2);
    tcase_add_test(tcase, polling_memory_takes_three_paths_and_half_a_period);
    tcase_add_loop_test(tcase, a_cpu_answers_a_gpu, 0, 2);
    tcase_add_loop_test(tcase, the_word_arrives_on_every_path, 0, 12);
    tcase_add_test(tcase, a_store_that_is_lost_ends_the_game);
    tcase_add_loop_test(tcase, games_do_not_disturb_each_other, 0, 4);
    tcase_add_test(tcase, other_data_are_no_words);
    tcase_add_test(tcase, a_direct_copy_is_the_sum_of_its_parts);
    tcase_add_test(tcase, chunks_overlap_with_two_buffers_and_not_with_one);
    tcase_add_test(tcase, a_flow_waits_for_all_it_comes_after);
    tcase_add_test(tcase, nonsense_is_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
