/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a drive sends exactly the TLPs that NVM Express requires. An
 * operation takes the sum of the times of its stages. The slowest of media,
 * link, controller and queue depth limits the throughput. Queues wrap around.
 * An operation with a lost or refused command counts as failed, and the flow
 * goes on.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_count.h"
#include "fab_flow_mmio.h"
#include "fab_flow_nvme.h"
#include "fab_lab.h"
#include "fab_lend.h"
#include "../suite.h"

#define BYTE_PS     (1015.625 / 8) /* 8.0GT/s x8 */
#define SKP_SHARE   (1.0 / 375)
#define WIRE(bytes) ((bytes)*BYTE_PS)
#define LINK(bytes) (WIRE(bytes) + LAB_PROPAGATION + LAB_LATENCY)
#define TRANSIT     (200 * SIM_NS)
#define MEMORY      (80 * SIM_NS)
#define STORE       (10 * SIM_NS) /* of the CPU */
/* Memory lies above 4 GiB, BARs and MSI below. */
#define MWR(bytes)  (24 + (bytes))
#define MRD         24
#define CPLD(bytes) (20 + (bytes))
#define MMIO        (20 + 4)

#define OVERHEAD (700 * SIM_NS)
#define READ     (5 * SIM_US)
#define WRITE    (3 * SIM_US)
#define PAGE_PS  2048000.0 /* 4096 B at 2 GB/s */

static SimEngine *engine;
static FabFabric *fabric;
static FabRoot *root, *far;
static FabComponent *drive;
static const SimTime *stages; /* times per stage of the flow that ran last */
static bool iommu;            /* both hosts of the next fabric use IOMMUs */

/* A drive below a root port of host a; an NTB leads to host b. */
static void fabric_new_seeded(uint64_t seed, SimTime poll, SimTime interrupt)
{
    FabRootParams params = lab_root_params(iommu);
    FabPortParams port = lab_port_params();
    FabComponent *ntb, *far_ntb;

    params.cpu.poll = poll;
    params.cpu.interrupt = interrupt;
    fabric = lab_fabric_new(seed);
    engine = fab_fabric_engine(fabric);
    root = fab_root_new(fabric, "a", &params);
    far = fab_root_new(fabric, "b", &params);
    fab_root_add_port(root, "rp0", &port);
    fab_root_add_port(root, "rp1", &port);
    fab_root_add_port(far, "rp0", &port);
    drive = lab_device(fabric, "a.drive");
    ntb = lab_ntb(fabric, "a.ntb", 1);
    far_ntb = lab_ntb(fabric, "b.ntb", 1);
    lab_connect(fab_root_component(root), 0, drive, 0);
    lab_connect(fab_root_component(root), 1, ntb, 0);
    lab_connect(fab_root_component(far), 0, far_ntb, 0);
    lab_connect(ntb, 1, far_ntb, 1);
    lab_realize(fabric);
}

static void fabric_new(void)
{
    fabric_new_seeded(7, 0, 0);
}

static void fabric_done(void)
{
    if (engine) {
        lab_fabric_free(fabric);
    }
    engine = NULL;
}

static FabNvmeFlowParams nvme_params(bool write, uint64_t size, uint64_t count)
{
    return (FabNvmeFlowParams){
        .device = fab_component_as_endpoint(drive),
        .drive = {.overhead = OVERHEAD,
                  .read_latency = READ,
                  .write_latency = WRITE,
                  .read_bandwidth_bytes_s = 2000000000,
                  .write_bandwidth_bytes_s = 2000000000,
                  .commands = 64,
                  .max_transfer_bytes = 128 << 10,
                  .block_bytes = 512},
        .driver = root,
        .buffer = {.component = fab_root_component(root)},
        .write = write,
        .size_bytes = size,
        .count = count,
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

static FabFlowResult run(FabFlow *flow)
{
    FabFlowResult result;

    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    ck_assert(fab_flow_is_done(flow));
    fab_flow_result(flow, &result);
    stages = fab_nvme_flow_stages(flow);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    return result;
}

static FabFlowResult run_new(const FabNvmeFlowParams *params)
{
    return run(nvme_flow("n", params));
}

static double speed(const FabFlowResult *result)
{
    return result->bytes * 1e12 / (result->end - result->begin);
}

static uint64_t sent(FabComponent *component, FabClass cls)
{
    return fab_port_counters(fab_component_port(component, 0))->tlps_sent[cls];
}

static uint64_t pieces(uint64_t bytes, uint64_t most)
{
    return (bytes + most - 1) / most;
}

/* ---- Protocol -------------------------------------------------------- */

static const uint64_t sizes[] = {512, 4096, 8192, 8704, 12288, 131072, 262144};

START_TEST(tlps_are_those_of_the_protocol)
{
    uint64_t size = sizes[_i % 7], count = 20;
    bool write = _i / 7 % 2, polling = _i / 14;
    uint64_t commands = pieces(size, 131072);
    uint64_t pages = pieces(MIN(size, 131072), 4096);
    uint64_t list = pages > 2 ? (pages - 1) * 8 : 0;
    uint64_t posted, reads, completions;
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new_seeded(7, 50 * SIM_NS, SIM_US);
    params = nvme_params(write, size, count);
    params.polling = polling;
    result = run_new(&params);
    ck_assert_uint_eq(result.operations, count);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(result.bytes, count * size);

    /* Queue entry, PRP list, and data of a write in reads of 512 B. */
    reads = commands * (1 + (list > 0)) + (write ? pieces(size, 512) : 0);
    /* Completion entry, MSI, and data of a read in writes of 256 B. */
    posted = commands * (polling ? 1 : 2) + (write ? 0 : pieces(size, 256));
    completions = commands * (1 + (list > 0)) + (write ? pieces(size, 256) : 0);
    ck_assert_uint_eq(sent(drive, FAB_CLASS_NP), count * reads);
    ck_assert_uint_eq(sent(drive, FAB_CLASS_P), count * posted);
    ck_assert_uint_eq(sent(drive, FAB_CLASS_CPL), 0);
    ck_assert_uint_eq(sent(fab_root_component(root), FAB_CLASS_CPL),
                      count * completions);
    /* The driver writes one doorbell for all commands of an operation, and one
     * after each look at the completion queue that finds an entry. */
    if (commands == 1) {
        ck_assert_uint_eq(sent(fab_root_component(root), FAB_CLASS_P),
                          2 * count);
    }
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(drive))->read_bytes,
        count * (commands * (64 + list) + (write ? size : 0)));
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(drive))->written_bytes,
        count * (commands * (polling ? 16 : 20) + (write ? 0 : size)));
}
END_TEST

static void check_stage(const FabFlowResult *result, FabNvmeStage stage,
                        double expected)
{
    lab_check_near(stages[stage] / (double)result->operations, expected, 0.005);
}

static void check_stages_add_up(const FabFlowResult *result)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < FAB_NVME_STAGES; i++) {
        ck_assert_int_ge(stages[i], 0);
        sum += stages[i];
    }
    ck_assert_uint_eq(sum, sim_histogram_sum(result->latency));
}

START_TEST(read_latency_is_the_sum_of_the_parts)
{
    double data = 15 * WIRE(MWR(256)),
           completion = WIRE(MWR(256)) + LINK(MWR(16));
    double fetch = LINK(MRD) + MEMORY + LINK(CPLD(64));
    double doorbell = TRANSIT + LINK(MMIO);
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    params = nvme_params(false, 4096, 500);
    result = run_new(&params);
    lab_check_near(sim_histogram_mean(result.latency),
                   2 * STORE + doorbell + fetch + OVERHEAD + READ + PAGE_PS +
                       data + completion,
                   0.001);
    check_stages_add_up(&result);
    check_stage(&result, FAB_NVME_SUBMIT, 2 * STORE);
    check_stage(&result, FAB_NVME_DOORBELL, doorbell);
    check_stage(&result, FAB_NVME_FETCH, fetch);
    ck_assert_int_eq(stages[FAB_NVME_LIST], 0);
    check_stage(&result, FAB_NVME_MEDIA, OVERHEAD + READ + PAGE_PS);
    check_stage(&result, FAB_NVME_DATA, data);
    check_stage(&result, FAB_NVME_COMPLETION, completion);
    ck_assert_int_eq(stages[FAB_NVME_NOTICE], 0);
}
END_TEST

START_TEST(write_latency_is_the_sum_of_the_parts)
{
    double fetch = LINK(MRD) + MEMORY + LINK(CPLD(64));
    double data = LINK(MRD) + MEMORY + LINK(CPLD(256)) + 15 * WIRE(CPLD(256));
    double media = OVERHEAD + PAGE_PS + WRITE;
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    params = nvme_params(true, 4096, 500);
    result = run_new(&params);
    lab_check_near(sim_histogram_mean(result.latency),
                   2 * STORE + TRANSIT + LINK(MMIO) + fetch + media + data +
                       LINK(MWR(16)),
                   0.001);
    check_stages_add_up(&result);
    /* The overhead of the controller comes before the data and counts as part
     * of FAB_NVME_DATA. */
    check_stage(&result, FAB_NVME_DATA, OVERHEAD + data);
    check_stage(&result, FAB_NVME_MEDIA, PAGE_PS + WRITE);
    check_stage(&result, FAB_NVME_COMPLETION, LINK(MWR(16)));
}
END_TEST

START_TEST(a_list_costs_its_fetch_and_its_stores)
{
    FabFlowResult result;
    FabNvmeFlowParams params;

    fabric_new();
    params = nvme_params(false, 32 << 10, 100); /* 7 entries, 56 B */
    result = run_new(&params);
    check_stages_add_up(&result);
    check_stage(&result, FAB_NVME_SUBMIT, 3 * STORE);
    check_stage(&result, FAB_NVME_LIST, LINK(MRD) + MEMORY + LINK(CPLD(56)));
    check_stage(&result, FAB_NVME_MEDIA, OVERHEAD + READ + 8 * PAGE_PS);
}
END_TEST

/* The reads of the shadows come before the fetch and before the completion
 * entry, behind the data. The controller's note and its look after the fetch
 * are hidden by the media. */
START_TEST(shadow_doorbells_cost_a_read_each)
{
    double look = LINK(MRD) + MEMORY + LINK(CPLD(4));
    double fetch = LINK(MRD) + MEMORY + LINK(CPLD(64));
    uint64_t count = 500;
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    params = nvme_params(false, 4096, count);
    params.shadow_doorbells = true;
    result = run_new(&params);
    check_stages_add_up(&result);
    check_stage(&result, FAB_NVME_SUBMIT, 3 * STORE);
    check_stage(&result, FAB_NVME_DOORBELL, TRANSIT + LINK(MMIO));
    check_stage(&result, FAB_NVME_FETCH, look + fetch);
    check_stage(&result, FAB_NVME_MEDIA, OVERHEAD + READ + PAGE_PS);
    check_stage(&result, FAB_NVME_DATA, 15 * WIRE(MWR(256)));
    check_stage(&result, FAB_NVME_COMPLETION,
                WIRE(MWR(256)) + WIRE(MMIO) + look + LINK(MWR(16)));
    ck_assert_uint_eq(sent(drive, FAB_CLASS_NP), count * 4);
    ck_assert_uint_eq(sent(drive, FAB_CLASS_P), count * (16 + 1 + 2));
}
END_TEST

START_TEST(driver_takes_its_time_to_notice)
{
    double polled, interrupted;
    FabNvmeFlowParams params;

    fabric_new_seeded(7, 400 * SIM_NS, 3 * SIM_US);
    params = nvme_params(false, 4096, 4000);
    run(nvme_flow("polls", &params));
    polled = stages[FAB_NVME_NOTICE] / 4000.0;
    lab_check_near(polled, 400 * SIM_NS, 0.03);
    params.polling = false;
    run(nvme_flow("interrupts", &params));
    interrupted = stages[FAB_NVME_NOTICE] / 4000.0;
    /* The MSI follows the completion entry on the wire at once. */
    lab_check_near(interrupted, 3 * SIM_US + WIRE(MMIO), 0.001);
}
END_TEST

/* The drive is in another host. The doorbell, the fetch (there and back) and
 * the completion entry cross the NTB. The crossing of the data adds no time of
 * its own. */
START_TEST(four_crossings_are_on_the_way)
{
    double near_stages[FAB_NVME_STAGES], crossing;
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    params = nvme_params(false, 512, 200);
    result = run(nvme_flow("near", &params));
    for (unsigned i = 0; i < FAB_NVME_STAGES; i++) {
        near_stages[i] = stages[i] / 200.0;
    }
    params.driver = far;
    params.buffer.component = fab_root_component(far);
    result = run(nvme_flow("far", &params));
    ck_assert_uint_eq(result.failed, 0);
    check_stages_add_up(&result);
    crossing =
        stages[FAB_NVME_DOORBELL] / 200.0 - near_stages[FAB_NVME_DOORBELL];
    /* More than two hops and the transit of the lender's root. */
    ck_assert(crossing > TRANSIT + 2 * (LAB_LATENCY + LAB_PROPAGATION));
    lab_check_near(stages[FAB_NVME_FETCH] / 200.0 - near_stages[FAB_NVME_FETCH],
                   2 * crossing, 0.03);
    lab_check_near(stages[FAB_NVME_COMPLETION] / 200.0 -
                       near_stages[FAB_NVME_COMPLETION],
                   crossing, 0.15);
    lab_check_near(stages[FAB_NVME_MEDIA], near_stages[FAB_NVME_MEDIA] * 200,
                   0.001);
}
END_TEST

/* The MSI of a lent drive crosses the NTB. If the borrower is a guest, the CPU
 * of the lender takes the MSI first. The MSIs of two flows of one drive are
 * told apart. _i: 1: the borrower is a guest. */
START_TEST(interrupts_of_a_lent_drive_reach_the_borrower)
{
    FabLendParams lend = {.vm = _i, .window_bytes = 64 << 20};
    FabNvmeFlowParams params;
    GError *error = NULL;
    FabFlowResult result;
    FabFlow *first;
    double notice;

    iommu = true;
    fabric_new_seeded(7, 0, 3 * SIM_US);
    iommu = false;
    params = nvme_params(false, 4096, 300);
    lend.device = params.device;
    lend.borrower = far;
    ck_assert_msg(fab_lend_borrow(&lend, &error), "%s",
                  error ? error->message : "no error set");
    params.driver = far;
    params.buffer.component = fab_root_component(far);
    params.polling = false;
    first = nvme_flow("first", &params);
    result = run(first);
    ck_assert_uint_eq(result.operations, 300);
    ck_assert_uint_eq(result.failed, 0);
    check_stages_add_up(&result);
    notice = stages[FAB_NVME_NOTICE] / 300.0;
    if (_i) { /* only the CPUs count: the entry crosses the NTB as well */
        lab_check_near(notice, 2 * 3 * SIM_US, 0.03);
    } else {
        lab_check_near(notice, 3 * SIM_US + WIRE(MMIO), 0.01);
    }
    params.count = 200;
    result = run(nvme_flow("second", &params));
    ck_assert_uint_eq(result.operations - result.failed, 200);
    fab_flow_result(first, &result);
    ck_assert_uint_eq(result.operations, 300);
}
END_TEST

/* ---- At a time ------------------------------------------------------- */

static double depth_one_latency(const FabNvmeFlowParams *params)
{
    FabNvmeFlowParams single = *params;
    FabFlowResult result;

    single.depth = 1;
    single.count = 20;
    result = run(nvme_flow("single", &single));
    return sim_histogram_mean(result.latency);
}

START_TEST(throughput_is_that_of_the_narrowest)
{
    FabNvmeFlowParams params;
    FabFlowResult result;
    double expected;

    fabric_new();
    params = nvme_params(false, 4096, 4000);
    params.depth = 32;
    params.random = true;
    switch (_i) {
    case 0: /* the media */
        expected = 2e9;
        break;
    case 1: /* the media, writing */
        params.write = true;
        params.drive.write_bandwidth_bytes_s = 1000000000;
        expected = 1e9;
        break;
    case 2: /* the link: 16 TLPs with data and the completion entry */
        params.drive.read_bandwidth_bytes_s = 20000000000;
        params.drive.overhead = 0;
        expected = 4096e12 / (16 * WIRE(MWR(256)) + WIRE(MWR(16)) + WIRE(MRD)) *
                   (1 - SKP_SHARE);
        break;
    case 3: /* the controller */
        params.drive.read_bandwidth_bytes_s = 20000000000;
        params.drive.overhead = 4 * SIM_US;
        expected = 4096e12 / (4 * SIM_US);
        break;
    default: /* the depth */
        params.drive.read_latency = 100 * SIM_US;
        params.depth = 6;
        expected = 6 * 4096e12 / depth_one_latency(&params);
    }
    result = run_new(&params);
    ck_assert_uint_eq(result.failed, 0);
    lab_check_near(speed(&result), expected, 0.02);
}
END_TEST

/* Fetches of a serial drive come one after the other, each behind the data that
 * left before: of the entry, and with shadow doorbells of the tail after it,
 * and of the head. Each doorbell that comes meanwhile is seen by the look at
 * the tail. Alone, a command has nothing to wait for. */
START_TEST(a_serial_drive_fetches_one_at_a_time)
{
    double look = LINK(MRD) + MEMORY + LINK(CPLD(4));
    double each = LINK(MRD) + MEMORY + LINK(CPLD(64)) + 16 * WIRE(MWR(256)) +
                  _i * (2 * look + WIRE(MMIO));
    uint64_t count = 4000;
    FabNvmeFlowParams params;
    FabFlowResult result;
    double latency[2];

    for (unsigned i = 0; i < 2; i++) {
        fabric_new();
        params = nvme_params(false, 4096, count);
        params.shadow_doorbells = _i;
        params.drive.serial = i;
        latency[i] = depth_one_latency(&params);
        fabric_done();
    }
    lab_check_near(latency[1], latency[0], 1e-9);

    fabric_new();
    params = nvme_params(false, 4096, count);
    params.shadow_doorbells = _i;
    params.drive.serial = true;
    params.drive.overhead = 0;
    params.drive.read_bandwidth_bytes_s = 20000000000;
    params.depth = 32;
    result = run_new(&params);
    lab_check_near(speed(&result), 4096e12 / each, 0.02);
    if (_i) {
        ck_assert_uint_lt(sent(drive, FAB_CLASS_NP), count * 3 + count / 10);
    }
}
END_TEST

/* A drive that works on two commands at a time is no faster with a depth of
 * eight. */
START_TEST(commands_at_a_time_are_limited)
{
    FabNvmeFlowParams params;
    FabFlowResult two, eight;

    fabric_new();
    params = nvme_params(false, 4096, 2000);
    params.drive.read_latency = 100 * SIM_US;
    params.drive.commands = 2;
    params.depth = 2;
    two = run(nvme_flow("two", &params));
    params.depth = 8;
    eight = run(nvme_flow("eight", &params));
    lab_check_near(speed(&eight), speed(&two), 0.02);
    lab_check_near(sim_histogram_mean(eight.latency),
                   4 * sim_histogram_mean(two.latency), 0.02);
}
END_TEST

START_TEST(read_ahead_spares_the_media)
{
    FabNvmeFlowParams params;
    double latency;
    FabFlowResult result;

    fabric_new();
    params = nvme_params(false, 4096, 200);
    params.drive.read_ahead = true;
    params.random = true;
    latency = sim_histogram_mean(run(nvme_flow("random", &params)).latency);
    params.random = false;
    result = run(nvme_flow("sequential", &params));
    lab_check_near(sim_histogram_min(result.latency), latency - READ, 0.01);
    lab_check_near(sim_histogram_max(result.latency), latency, 0.01);
}
END_TEST

START_TEST(jitter_is_uniform)
{
    FabNvmeFlowParams params;
    FabFlowResult result;
    double least;

    fabric_new();
    params = nvme_params(false, 4096, 20000);
    params.random = true;
    params.drive.jitter = 10 * SIM_US;
    result = run_new(&params);
    least = sim_histogram_min(result.latency);
    lab_check_near(sim_histogram_mean(result.latency), least + 5 * SIM_US,
                   0.01);
    lab_check_near(sim_histogram_quantile(result.latency, 990000),
                   least + 9.9 * SIM_US, 0.01);
}
END_TEST

/* Two hosts have their own queues in one drive and share its media. */
START_TEST(two_hosts_share_a_drive)
{
    FabNvmeFlowParams params;
    FabFlowResult own, other;
    FabFlow *flow;

    fabric_new();
    params = nvme_params(false, 16384, 1000);
    params.depth = 16;
    flow = nvme_flow("own", &params);
    params.driver = far;
    params.buffer.component = fab_root_component(far);
    other = run(nvme_flow("other", &params));
    fab_flow_result(flow, &own);
    ck_assert_uint_eq(own.failed + other.failed, 0);
    lab_check_near(speed(&own), 1e9, 0.03);
    lab_check_near(speed(&other), 1e9, 0.03);
}
END_TEST

/* ---- Queues ---------------------------------------------------------- */

START_TEST(queues_wrap_around)
{
    static const uint32_t entries[] = {2, 3, 4, 7, 64};
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new_seeded(7, 100 * SIM_NS, SIM_US);
    /* Each operation takes 3 commands, of which the last is short. */
    params = nvme_params(_i % 2, (256 << 10) + 512, 300);
    params.drive.max_transfer_bytes = 128 << 10;
    params.drive.read_bandwidth_bytes_s = 20000000000;
    params.drive.write_bandwidth_bytes_s = 20000000000;
    params.entries = entries[_i / 4 % 5];
    params.polling = _i / 2 % 2;
    params.shadow_doorbells = _i >= 20;
    params.drive.serial = _i >= 40;
    params.depth = 8;
    params.timeout = SIM_S;
    result = run_new(&params);
    ck_assert_uint_eq(result.operations, 300);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(result.bytes, 300 * params.size_bytes);
    check_stages_add_up(&result);
}
END_TEST

START_TEST(steady_state_allocates_nothing)
{
    FabNvmeFlowParams params;
    uint64_t allocs;
    bool ok;

    fabric_new_seeded(7, 100 * SIM_NS, SIM_US);
    params = nvme_params(false, 256 << 10, 1000000);
    params.depth = 8;
    params.random = true;
    params.drive.jitter = SIM_US;
    params.drive.serial = _i;
    params.shadow_doorbells = _i;
    nvme_flow("read", &params);
    params.write = true;
    params.polling = false;
    params.driver = far;
    params.buffer.component = fab_root_component(far);
    nvme_flow("write", &params);
    ck_assert(fab_flows_run(fabric, 5 * SIM_MS, NULL));
    allocs = alloc_count(); /* checks allocate */
    ok = fab_flows_run(fabric, 10 * SIM_MS, NULL);
    allocs = alloc_count() - allocs;
    ck_assert(ok);
    ck_assert_uint_eq(allocs, 0);
    ck_assert_uint_gt(fab_root_counters(root)->memory_written_bytes, 1 << 20);
}
END_TEST

static uint64_t seeded_end(uint64_t seed)
{
    FabNvmeFlowParams params;
    FabFlowResult result;
    uint64_t end;

    fabric_new_seeded(seed, 100 * SIM_NS, SIM_US);
    params = nvme_params(false, 4096, 500);
    params.depth = 4;
    params.random = true;
    params.drive.jitter = SIM_US;
    result = run_new(&params);
    end = result.end ^ sim_histogram_sum(result.latency) << 20;
    fabric_done();
    return end;
}

START_TEST(a_seed_decides)
{
    ck_assert_uint_eq(seeded_end(3), seeded_end(3));
    ck_assert_uint_ne(seeded_end(3), seeded_end(4));
}
END_TEST

/* ---- Failures -------------------------------------------------------- */

/* Redirects every @every-th TLP of one kind to an address where nothing is. */
typedef struct Astray {
    const FabComponent *sender;
    FabTlpType type;
    uint32_t bytes; /* payload, or requested bytes of a read */
    unsigned seen, every;
} Astray;

static void go_astray(void *data, const FabTraceRecord *record)
{
    Astray *astray = data;
    FabTlp *tlp = (FabTlp *)record->tlp;

    if (fab_port_owner(record->port) == astray->sender &&
        tlp->type == astray->type &&
        tlp->payload_bytes + tlp->request_bytes == astray->bytes &&
        ++astray->seen % astray->every == 0) {
        tlp->addr = UINT64_C(1) << 45; /* no component claims it */
    }
}

START_TEST(lost_commands_count_as_failed)
{
    /* The first four cases lose the completion entry, queue entry, PRP list or
     * data of every tenth operation. The last case loses every 21st doorbell
     * write. Doorbells go in the order tail, tail, head, tail, head, so the
     * first lost one is a head, which the next head makes up for. The second is
     * the tail of operation 22. After a lost tail the order is head, tail,
     * tail, head, so from then on the tail of every eleventh operation is lost.
     */
    static const struct {
        FabTlpType type;
        uint32_t bytes;
        unsigned every, failed;
        bool of_root, write, told;
    } cases[] = {
        {FAB_TLP_MWR, 16, 10, 10, false, false, false},
        {FAB_TLP_MRD, 64, 10, 10, false, false, false},
        {FAB_TLP_MRD, 56, 10, 10, false, false, true},
        {FAB_TLP_MRD, 512, 10 * 64, 10, false, true, true},
        {FAB_TLP_MWR, 4, 21, 8, true, false, false},
    };
    Astray astray = {NULL, cases[_i].type, cases[_i].bytes, 0, cases[_i].every};
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    astray.sender = cases[_i].of_root ? fab_root_component(root) : drive;
    fab_fabric_set_trace(fabric, FAB_TRACE_LINK, go_astray, &astray);
    params = nvme_params(cases[_i].write, 32 << 10, 100);
    result = run_new(&params);
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(result.failed, cases[_i].failed);
    /* A failed operation has moved a part of its bytes, or all. */
    ck_assert_uint_ge(result.bytes,
                      (100 - cases[_i].failed) * params.size_bytes);
    ck_assert_uint_le(result.bytes, 100 * params.size_bytes);
    ck_assert_uint_eq(sim_histogram_count(result.latency),
                      100 - cases[_i].failed);
    check_stages_add_up(&result);
    /* The drive reports the errors that it sees. The driver notices the others
     * by its time-out. */
    if (cases[_i].told) {
        ck_assert_int_lt(result.end - result.begin, 8 * SIM_MS);
    } else {
        ck_assert_int_gt(result.end - result.begin, 8 * SIM_MS);
    }
    ck_assert_uint_gt(fab_fabric_unsupported(fabric), 0);
}
END_TEST

/* A lost completion entry makes the driver reset the queue, which fails all
 * operations under way. Afterwards the queue goes on. */
START_TEST(a_reset_takes_all_that_is_under_way)
{
    Astray astray = {NULL, FAB_TLP_MWR, 16, 0, 101};
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new();
    astray.sender = drive;
    fab_fabric_set_trace(fabric, FAB_TRACE_LINK, go_astray, &astray);
    params = nvme_params(_i % 2, 256 << 10, 1000);
    params.shadow_doorbells = _i >= 2;
    params.drive.serial = _i >= 4;
    params.depth = 8;
    params.drive.read_bandwidth_bytes_s = 20000000000;
    params.drive.write_bandwidth_bytes_s = 20000000000;
    params.entries = 6;
    result = run_new(&params);
    ck_assert_uint_eq(result.operations, 1000);
    ck_assert_uint_ge(astray.seen / 101, 5);
    ck_assert_uint_ge(result.failed, astray.seen / 101);
    ck_assert_uint_le(result.failed, astray.seen / 101 * params.depth);
    ck_assert_uint_ge(result.bytes, (1000 - result.failed) * params.size_bytes);
    ck_assert_uint_le(result.bytes, 1000 * params.size_bytes);
    check_stages_add_up(&result);
}
END_TEST

/* With a time-out shorter than any operation everything fails. Completions that
 * arrive after the time-out do no harm. */
START_TEST(too_short_a_timeout_fails_everything)
{
    FabNvmeFlowParams params;
    FabFlowResult result;

    fabric_new_seeded(7, 100 * SIM_NS, SIM_US);
    params = nvme_params(_i % 2, 64 << 10, 500);
    params.depth = 4;
    params.polling = _i / 2;
    params.timeout = 300 * SIM_NS;
    result = run_new(&params);
    ck_assert_uint_eq(result.operations, 500);
    ck_assert_uint_eq(result.failed, 500);
    ck_assert_uint_eq(result.bytes, 0);
}
END_TEST

static void check_error(const FabNvmeFlowParams *params, const char *text)
{
    GError *error = NULL;

    ck_assert_ptr_null(fab_nvme_flow_new(fabric, "new", 0, params, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_int_eq(error->domain, FAB_ERROR);
    ck_assert_msg(strstr(error->message, text), "%s", error->message);
    g_clear_error(&error);
}

START_TEST(errors)
{
    FabNvmeFlowParams good, params;

    fabric_new();
    good = nvme_params(false, 4096, 10);
    params = good, params.size_bytes = 0;
    check_error(&params, "new: an operation must move whole blocks");
    params = good, params.size_bytes = 513;
    check_error(&params, "whole blocks");
    params = good, params.count = 0;
    check_error(&params, "at least 1 operation");
    params = good, params.depth = 0;
    check_error(&params, "operations at a time");
    params = good, params.depth = 4096;
    check_error(&params, "operations at a time");
    params = good, params.entries = 1;
    check_error(&params, "entries");
    params = good, params.entries = 4097;
    check_error(&params, "entries");
    params = good, params.timeout = 0;
    check_error(&params, "time-out");
    params = good, params.start = -1;
    check_error(&params, "the start");
    params = good, params.drive.jitter = -1;
    check_error(&params, "must not be negative");
    params = good, params.drive.read_bandwidth_bytes_s = 0;
    check_error(&params, "1000000 bytes a second");
    params = good, params.drive.commands = 0;
    check_error(&params, "1 to 65535 commands");
    params = good, params.drive.block_bytes = 768;
    check_error(&params, "a block must");
    params = good, params.drive.max_transfer_bytes = 4 << 20;
    check_error(&params, "a command must");
    params = good, params.size_bytes = UINT64_C(1) << 36;
    check_error(&params, "a: the memory has no space");
    params = good, params.buffer = (FabTarget){drive, 1};
    check_error(&params, "a.drive has no BAR 1");
    nvme_flow("n", &good);
    params = good, params.drive.jitter = 1;
    check_error(&params, "other numbers");
}
END_TEST

/* Flows compare the members of the parameters and ignore the padding. */
START_TEST(flows_agree_on_a_drive_by_its_numbers)
{
    FabNvmeFlowParams params, other;

    fabric_new();
    params = nvme_params(false, 4096, 1);
    other = params;
    memset(&other.drive, 0xff, sizeof(other.drive));
    other.drive.overhead = params.drive.overhead;
    other.drive.read_latency = params.drive.read_latency;
    other.drive.write_latency = params.drive.write_latency;
    other.drive.jitter = params.drive.jitter;
    other.drive.read_bandwidth_bytes_s = params.drive.read_bandwidth_bytes_s;
    other.drive.write_bandwidth_bytes_s = params.drive.write_bandwidth_bytes_s;
    other.drive.commands = params.drive.commands;
    other.drive.max_transfer_bytes = params.drive.max_transfer_bytes;
    other.drive.block_bytes = params.drive.block_bytes;
    other.drive.serial = params.drive.serial;
    other.drive.read_ahead = params.drive.read_ahead;
    nvme_flow("m", &params);
    nvme_flow("n", &other);
}
END_TEST

START_TEST(registers_and_writes_must_suffice)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabPortParams port = lab_port_params();
    FabNvmeFlowParams params;

    if (_i) {
        device_params.write_bytes = 8;
    } else {
        device_params.bars[0].size_bytes = 4096;
    }
    fabric = lab_fabric_new(1);
    engine = fab_fabric_engine(fabric);
    root = fab_root_new(fabric, "a", &root_params);
    fab_root_add_port(root, "rp0", &port);
    drive = fab_endpoint_component(
        fab_endpoint_new(fabric, "a.drive", &port, &device_params));
    lab_connect(fab_root_component(root), 0, drive, 0);
    lab_realize(fabric);
    params = nvme_params(false, 4096, 10);
    check_error(&params, _i ? "in one TLP" : "too small for its doorbells");
}
END_TEST

/* ---- Stores that are seen -------------------------------------------- */

START_TEST(a_poller_sees_the_store)
{
    FabMmioFlowParams params;
    GError *error = NULL;
    FabFlowResult result;
    FabFlow *flow;

    fabric_new_seeded(7, 300 * SIM_NS, 0);
    params = (FabMmioFlowParams){
        .host = root,
        .direction = FAB_TLP_MWR,
        .target = {.component = fab_root_component(root)},
        .size_bytes = 4,
        .count = 4000,
        .seen = true,
    };
    flow = fab_mmio_flow_new(fabric, "own", 0, &params, &error);
    ck_assert_ptr_nonnull(flow);
    result = run(flow);
    lab_check_near(sim_histogram_mean(result.latency), STORE + 300 * SIM_NS,
                   0.03);
    params.target.component = fab_root_component(far);
    flow = fab_mmio_flow_new(fabric, "far", 0, &params, &error);
    result = run(flow);
    ck_assert_uint_eq(result.operations, 4000);
    ck_assert(
        sim_histogram_min(result.latency) >
        (uint64_t)(STORE + TRANSIT + 3 * (LAB_LATENCY + LAB_PROPAGATION)));
    params.direction = FAB_TLP_MRD;
    ck_assert_ptr_null(fab_mmio_flow_new(fabric, "new", 0, &params, &error));
    ck_assert(strstr(error->message, "only a write"));
    g_clear_error(&error);
    params.direction = FAB_TLP_MWR;
    params.target = (FabTarget){drive, 0};
    ck_assert_ptr_null(fab_mmio_flow_new(fabric, "new", 0, &params, &error));
    ck_assert(strstr(error->message, "only a write"));
    g_clear_error(&error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_nvme");
    TCase *protocol = tcase_create("protocol"), *many = tcase_create("many");
    TCase *queues = tcase_create("queues"),
          *failures = tcase_create("failures");
    TCase *cases[] = {protocol, many, queues, failures};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        tcase_add_checked_fixture(cases[i], NULL, fabric_done);
        suite_add_tcase(suite, cases[i]);
    }
    tcase_add_loop_test(protocol, tlps_are_those_of_the_protocol, 0, 28);
    tcase_add_test(protocol, read_latency_is_the_sum_of_the_parts);
    tcase_add_test(protocol, write_latency_is_the_sum_of_the_parts);
    tcase_add_test(protocol, a_list_costs_its_fetch_and_its_stores);
    tcase_add_test(protocol, shadow_doorbells_cost_a_read_each);
    tcase_add_test(protocol, driver_takes_its_time_to_notice);
    tcase_add_test(protocol, four_crossings_are_on_the_way);
    tcase_add_loop_test(protocol, interrupts_of_a_lent_drive_reach_the_borrower,
                        0, 2);
    tcase_add_test(protocol, a_poller_sees_the_store);
    tcase_add_loop_test(many, throughput_is_that_of_the_narrowest, 0, 5);
    tcase_add_loop_test(many, a_serial_drive_fetches_one_at_a_time, 0, 2);
    tcase_add_test(many, commands_at_a_time_are_limited);
    tcase_add_test(many, read_ahead_spares_the_media);
    tcase_add_test(many, jitter_is_uniform);
    tcase_add_test(many, two_hosts_share_a_drive);
    tcase_add_loop_test(queues, queues_wrap_around, 0, 60);
    tcase_add_loop_test(queues, steady_state_allocates_nothing, 0, 2);
    tcase_add_test(queues, a_seed_decides);
    tcase_add_loop_test(failures, lost_commands_count_as_failed, 0, 5);
    tcase_add_loop_test(failures, a_reset_takes_all_that_is_under_way, 0, 6);
    tcase_add_loop_test(failures, too_short_a_timeout_fails_everything, 0, 4);
    tcase_add_test(failures, errors);
    tcase_add_test(failures, flows_agree_on_a_drive_by_its_numbers);
    tcase_add_loop_test(failures, registers_and_writes_must_suffice, 0, 2);
    return run_suite(suite);
}
