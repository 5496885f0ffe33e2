/* SPDX-License-Identifier: MIT */
/*
 * Invariants of queues and PRP lists that are not in the driver's memory: each
 * stage of an operation takes the time of the ways that are left. A drive needs
 * no TLP for what is in itself. A driver that polls a queue elsewhere waits for
 * half a round trip and the way back. Flows that share a BAR do not disturb
 * each other.
 */
#include <check.h>

#include "fab_flow_nvme.h"
#include "fab_lab.h"
#include "fab_lend.h"
#include "../suite.h"

#define BYTE_PS     (1015.625 / 8) /* 8.0GT/s x8 */
#define LINK(bytes) (((bytes) + 8) * BYTE_PS + LAB_PROPAGATION + LAB_LATENCY)
#define TRANSIT     (200 * SIM_NS)
#define MEMORY      (80 * SIM_NS)
#define COMPLETER   (150 * SIM_NS)
#define COUNT       2000

static FabFabric *fabric;
static FabRoot *root, *far;
static FabComponent *drive, *other, *ntb;

/* A drive and another device below root ports of host a; an NTB leads to host
 * b. */
static void setup(void)
{
    FabComponent *far_ntb;

    fabric = lab_fabric_new(7);
    root = lab_root(fabric, "a", 3, false);
    far = lab_root(fabric, "b", 1, true);
    drive = lab_device(fabric, "a.drive");
    other = lab_device(fabric, "a.other");
    ntb = lab_ntb(fabric, "a.ntb", 1);
    far_ntb = lab_ntb(fabric, "b.ntb", 1);
    lab_connect(fab_root_component(root), 0, drive, 0);
    lab_connect(fab_root_component(root), 1, ntb, 0);
    lab_connect(fab_root_component(root), 2, other, 0);
    lab_connect(fab_root_component(far), 0, far_ntb, 0);
    lab_connect(ntb, 1, far_ntb, 1);
    lab_realize(fabric);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

static FabNvmeFlowParams nvme_params(FabRoot *driver, uint64_t size)
{
    return (FabNvmeFlowParams){
        .device = fab_component_as_endpoint(drive),
        .drive = {.overhead = 700 * SIM_NS,
                  .read_latency = 5 * SIM_US,
                  .write_latency = 3 * SIM_US,
                  .jitter = 4 * SIM_US,
                  .read_bandwidth_bytes_s = 2000000000,
                  .write_bandwidth_bytes_s = 2000000000,
                  .commands = 64,
                  .max_transfer_bytes = 128 << 10,
                  .block_bytes = 512},
        .driver = driver,
        .buffer = {fab_root_component(driver), -1},
        .size_bytes = size,
        .count = COUNT,
        .depth = 1,
        .entries = 64,
        .polling = true,
        .timeout = SIM_MS,
    };
}

static FabFlow *nvme_flow(const char *name, const FabNvmeFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_nvme_flow_new(fabric, name, 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

/* Runs a flow. Returns the times of its stages. */
static const SimTime *run(const char *name, const FabNvmeFlowParams *params)
{
    FabFlow *flow = nvme_flow(name, params);
    FabFlowResult result;

    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, params->count);
    ck_assert_uint_eq(result.failed, 0);
    return fab_nvme_flow_stages(flow);
}

static uint64_t sent(const FabComponent *component, unsigned port, FabClass cls)
{
    return fab_port_counters(fab_component_port(component, port))
        ->tlps_sent[cls];
}

/* The drive fetches entries and lists from its own memory. Reads of the media
 * then need no read on the link at all. */
START_TEST(a_drive_fetches_from_itself_without_a_tlp)
{
    FabNvmeFlowParams params = nvme_params(root, 32 << 10);
    const SimTime *stages;

    params.sq = params.lists = (FabTarget){drive, 2};
    stages = run("f", &params);
    ck_assert_uint_eq(sent(drive, 0, FAB_CLASS_NP), 0);
    lab_check_near(stages[FAB_NVME_FETCH] / (double)COUNT, COMPLETER, 0.001);
    lab_check_near(stages[FAB_NVME_LIST] / (double)COUNT, COMPLETER, 0.001);
}
END_TEST

/* The driver reads the head of a queue behind a BAR again and again. The value
 * is taken when a read arrives; it then needs the latency of the memory and the
 * way back. _i: 0: in the drive, 1: in another device, 2: in the drive, with
 * interrupts. */
START_TEST(a_driver_polls_a_queue_elsewhere)
{
    double there = TRANSIT + LINK(12);
    double back = COMPLETER + LINK(12 + 16) + TRANSIT;
    FabNvmeFlowParams params = nvme_params(root, 512);
    double notice, entry;
    const SimTime *stages;

    params.cq = (FabTarget){_i == 1 ? other : drive, 2};
    params.polling = _i != 2;
    stages = run("f", &params);
    notice = stages[FAB_NVME_NOTICE] / (double)COUNT;
    entry = stages[FAB_NVME_COMPLETION] / (double)COUNT;
    if (_i == 2) {
        /* The MSI behind the last data, the handler, a read. */
        lab_check_near(notice,
                       (8 + 16 + 256) * BYTE_PS + LINK(12 + 4) +
                           fab_root_params(root)->cpu.interrupt + there + back,
                       0.01);
    } else {
        lab_check_near(notice, (there + back) / 2 + back, 0.03);
    }
    if (_i == 1) {
        ck_assert(entry > 2 * (LAB_LATENCY + LAB_PROPAGATION));
    } else {
        /* The drive has the entry in itself when its data have left. */
        ck_assert(entry < LINK(24 + 256));
    }
}
END_TEST

/* The driver is far away, and the submission queue is beside the drive: its
 * fetch takes what it takes for a local driver, and no read crosses the cable.
 * _i: 1: the drive is lent. */
START_TEST(a_queue_at_the_lender_is_fetched_there)
{
    FabNvmeFlowParams params = nvme_params(far, 512);
    FabLendParams lend = {
        .device = params.device, .borrower = far, .window_bytes = 8 << 20};
    double fetch = LINK(16) + MEMORY + LINK(12 + 64);
    const SimTime *stages;

    if (_i) {
        g_autoptr(GError) error = NULL;

        ck_assert_msg(fab_lend_borrow(&lend, &error), "%s",
                      error ? error->message : "no error set");
    }
    stages = run("there", &params);
    ck_assert(stages[FAB_NVME_FETCH] / (double)COUNT > 2 * fetch);
    ck_assert_uint_eq(sent(ntb, 1, FAB_CLASS_NP), COUNT);
    params.sq = (FabTarget){fab_root_component(root), -1};
    stages = run("here", &params);
    lab_check_near(stages[FAB_NVME_FETCH] / (double)COUNT, fetch, 0.01);
    ck_assert_uint_eq(sent(ntb, 1, FAB_CLASS_NP), COUNT);
}
END_TEST

/* Two flows have all their queues behind one BAR, with interrupts and polling,
 * many commands at a time and small queues that wrap around. */
START_TEST(flows_share_a_bar)
{
    FabNvmeFlowParams params = nvme_params(root, 16 << 10);
    FabTarget bar = {_i ? drive : other, 2};
    FabFlow *flows[4];

    params.sq = params.cq = params.lists = bar;
    params.depth = 5;
    params.entries = 7;
    params.count = 300;
    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("f%u", i);

        params.polling = i % 2;
        params.driver = i < 2 ? root : far;
        params.buffer.component = fab_root_component(params.driver);
        flows[i] = nvme_flow(name, &params);
    }
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    for (unsigned i = 0; i < 4; i++) {
        FabFlowResult result;

        fab_flow_result(flows[i], &result);
        ck_assert_uint_eq(result.operations, 300);
        ck_assert_uint_eq(result.failed, 0);
        ck_assert_uint_eq(result.bytes, 300ull * (16 << 10));
    }
}
END_TEST

/* A time-out shorter than the media resets the queue each time, and the flow
 * still ends. */
START_TEST(a_reset_begins_anew)
{
    FabNvmeFlowParams params = nvme_params(root, 512);
    FabFlowResult result;
    FabFlow *flow;

    params.cq = (FabTarget){drive, 2};
    params.timeout = 4 * SIM_US;
    params.polling = _i;
    params.count = 50;
    flow = nvme_flow("f", &params);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, 50);
    ck_assert_uint_eq(result.failed, 50);
}
END_TEST

START_TEST(registers_are_no_place_for_a_queue)
{
    FabNvmeFlowParams params = nvme_params(root, 512);
    g_autoptr(GError) error = NULL;

    params.sq = (FabTarget){drive, 0};
    ck_assert_ptr_null(fab_nvme_flow_new(fabric, "f", 0, &params, &error));
    ck_assert_str_eq(error->message,
                     "a.drive: BAR 0 has the registers of the drive, so it can "
                     "have no queue; name another BAR");
}
END_TEST

/* Threads of a GPU submit so many operations at a time, ring once for all of
 * them, and take a pause when the last one is over. No CPU does anything. */
START_TEST(threads_of_a_gpu_work_in_batches)
{
    const unsigned depths[] = {32, 64, 64}, batches = 10;
    double time[G_N_ELEMENTS(depths)];

    for (unsigned i = 0; i < G_N_ELEMENTS(depths); i++) {
        FabNvmeFlowParams params;
        FabFlowResult result;
        FabFlow *flow;

        teardown();
        setup();
        params = nvme_params(root, 512);
        params.drive.jitter = 0;
        params.drive.read_bandwidth_bytes_s = UINT64_C(100000000000);
        params.drive.commands = 256;
        params.by = fab_component_as_endpoint(other);
        params.sq = params.cq = params.lists = (FabTarget){other, 2};
        params.buffer = (FabTarget){other, 2};
        params.depth = depths[i];
        params.entries = 256;
        params.count = batches * depths[i];
        params.notice = 500 * SIM_NS;
        params.pause = i == 2 ? 12 * SIM_US : 4 * SIM_US;
        flow = nvme_flow("f", &params);
        ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
        fab_flow_result(flow, &result);
        ck_assert_uint_eq(result.operations, params.count);
        ck_assert_uint_eq(result.failed, 0);
        time[i] = (double)result.end;
        /* The only requests of the GPU are two doorbells for each batch. */
        ck_assert_uint_eq(sent(other, 0, FAB_CLASS_P), 2 * batches);
        ck_assert_uint_eq(sent(other, 0, FAB_CLASS_NP), 0);
    }
    lab_check_near(time[1] - time[0], batches * 32.0 * 700 * SIM_NS, 0.01);
    lab_check_near(time[2] - time[1], (batches - 1.0) * 8 * SIM_US, 0.001);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *tcase = tcase_create("places");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_drive_fetches_from_itself_without_a_tlp);
    tcase_add_loop_test(tcase, a_driver_polls_a_queue_elsewhere, 0, 3);
    tcase_add_loop_test(tcase, a_queue_at_the_lender_is_fetched_there, 0, 2);
    tcase_add_loop_test(tcase, flows_share_a_bar, 0, 2);
    tcase_add_loop_test(tcase, a_reset_begins_anew, 0, 2);
    tcase_add_test(tcase, registers_are_no_place_for_a_queue);
    tcase_add_test(tcase, threads_of_a_gpu_work_in_batches);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
