/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a flow measures what theory predicts for the path between its
 * ends: the closed formula for the rate of a link, the sum of the latencies,
 * and the waiting time of an M/D/1 queue. A flow counts failed operations. A
 * flow with wrong parameters is refused with a message.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_count.h"
#include "fab_account.h"
#include "fab_flow_copy.h"
#include "fab_flow_dma.h"
#include "fab_flow_mmio.h"
#include "fab_flow_move.h"
#include "fab_lab.h"
#include "../suite.h"

/* Time of a byte on 8 lanes of 8.0GT/s with 128b/130b. */
#define BYTE_PS   (1015.625 / 8)
/* Framing, sequence number and LCRC, in bytes. */
#define FRAME     8
/* Of 375 blocks one is an SKP ordered set. */
#define SKP_SHARE (1.0 / 375)

#define WIRE(bytes) ((SimTime)((bytes)*BYTE_PS))
#define TRANSIT     (200 * SIM_NS) /* of the root, between CPU and port */
#define LINK(bytes) (WIRE(bytes) + LAB_PROPAGATION + LAB_LATENCY)

/* Buffers lie above 4 GiB. */
#define MWR(payload)   (FRAME + 16 + (payload))
#define MRD            (FRAME + 16)
#define CPLD(payload)  (FRAME + 12 + (payload))
#define MMIO(payload)  (FRAME + 12 + (payload))
#define MEMORY_LATENCY (80 * SIM_NS)
#define TRANSIT        (200 * SIM_NS) /* of the root, CPU to port */

static SimEngine *engine;
static FabFabric *fabric;
static FabRoot *root;
static FabComponent *device;

static void setup(void)
{
    fabric = lab_fabric_new(7);
    engine = fab_fabric_engine(fabric);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

/* A host with one device at a root port. */
static void host_new_with(const FabRootParams *root_params,
                          const FabEndpointParams *device_params)
{
    FabPortParams port = lab_port_params();

    root = fab_root_new(fabric, "host", root_params);
    fab_root_add_port(root, "rp0", &port);
    device = fab_endpoint_component(
        fab_endpoint_new(fabric, "host.dev", &port, device_params));
    lab_connect(fab_root_component(root), 0, device, 0);
    lab_realize(fabric);
}

static void host_new(void)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();

    host_new_with(&root_params, &device_params);
}

static FabDmaFlowParams dma_params(FabTlpType direction, uint64_t size_bytes,
                                   uint64_t count)
{
    return (FabDmaFlowParams){
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = fab_root_component(root)},
        .size_bytes = size_bytes,
        .count = count,
    };
}

static FabCopyFlowParams copy_params(FabTlpType direction, uint32_t copies,
                                     bool queued)
{
    return (FabCopyFlowParams){
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .buffer = {.component = fab_root_component(root)},
        .driver = root,
        .size_bytes = 64,
        .copies = copies,
        .queued = queued,
        .command_bytes = 64,
        .setup = 500 * SIM_NS,
    };
}

static FabMmioFlowParams mmio_params(FabTlpType direction, uint32_t size_bytes,
                                     uint64_t count)
{
    return (FabMmioFlowParams){
        .host = root,
        .direction = direction,
        .target = {.component = device, .bar = 0},
        .size_bytes = size_bytes,
        .count = count,
    };
}

static FabFlow *dma_flow(const char *name, SimTime warmup,
                         const FabDmaFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_dma_flow_new(fabric, name, warmup, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

static FabFlow *copy_flow(const char *name, const FabCopyFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_copy_flow_new(fabric, name, 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

static FabFlow *mmio_flow(const char *name, const FabMmioFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_mmio_flow_new(fabric, name, 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

/* Runs until all flows are done, and returns what @flow measured. */
static FabFlowResult run(FabFlow *flow)
{
    FabFlowResult result;

    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    ck_assert(fab_flow_is_done(flow));
    fab_flow_result(flow, &result);
    return result;
}

static double rate(const FabFlowResult *result)
{
    return (double)result->bytes / (result->end - result->begin);
}

/* ---- DMA ------------------------------------------------------------- */

START_TEST(dma_write_fills_the_link)
{
    static const uint32_t payloads[] = {64, 128, 256};
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    uint32_t payload = payloads[_i];
    FabDmaFlowParams params;
    FabFlowResult result;

    device_params.write_bytes = payload;
    /* The orders are small and start with a latency, so the flow must keep many
     * of them under way to fill the link. */
    device_params.write_latency = 300 * SIM_NS;
    host_new_with(&root_params, &device_params);
    params = dma_params(FAB_TLP_MWR, 512, 20000);
    result = run(dma_flow("w", 10 * SIM_US, &params));
    lab_check_near(rate(&result),
                   payload / (MWR(payload) * BYTE_PS) * (1 - SKP_SHARE), 0.002);
    ck_assert_uint_eq(result.failed, 0);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes,
                      512 * 20000);
}
END_TEST

START_TEST(dma_read_fills_the_link)
{
    static const uint64_t sizes[] = {256, 512, 8192};
    FabDmaFlowParams params;
    FabFlowResult result;

    host_new();
    params = dma_params(FAB_TLP_MRD, sizes[_i], (16 << 20) / sizes[_i]);
    result = run(dma_flow("r", 10 * SIM_US, &params));
    lab_check_near(rate(&result), 256 / (CPLD(256) * BYTE_PS) * (1 - SKP_SHARE),
                   0.003);
    ck_assert_uint_eq(fab_root_counters(root)->memory_read_bytes, 16 << 20);
}
END_TEST

/* Little's law: the rate is the number of outstanding bytes over the latency.
 */
START_TEST(dma_read_limited_by_outstanding)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    SimTime latency = LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(256));
    FabDmaFlowParams params;
    FabFlowResult result;

    device_params.reads = 2;
    device_params.read_bytes = 256;
    device_params.read_latency = 100 * SIM_NS;
    host_new_with(&root_params, &device_params);
    params = dma_params(FAB_TLP_MRD, 4096, 500);
    result = run(dma_flow("r", 0, &params));
    lab_check_near(rate(&result), 2.0 * 256 / (latency + 100 * SIM_NS), 0.005);
}
END_TEST

/* Both directions at once: each request waits behind the writes that the engine
 * keeps ready, so few reads under way lose, and writes lose the bytes of the
 * requests alone. _i: with reads enough, they lose nothing. */
START_TEST(requests_wait_behind_queued_writes)
{
    const double byte = (double)WIRE(1000) / 1000;
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabDmaFlowParams reads, writes;
    FabFlow *read, *write;
    FabFlowResult result;
    double got, wait;

    device_params.queue = 64;
    device_params.reads = _i ? 256 : 4;
    host_new_with(&root_params, &device_params);
    reads = dma_params(FAB_TLP_MRD, 16384, UINT64_MAX);
    writes = dma_params(FAB_TLP_MWR, 16384, UINT64_MAX);
    read = dma_flow("r", 20 * SIM_US, &reads);
    write = dma_flow("w", 20 * SIM_US, &writes);
    ck_assert(fab_flows_run(fabric, 520 * SIM_US, NULL));
    fab_flow_result(read, &result);
    got = rate(&result);
    if (_i) {
        lab_check_near(got, 256 / (CPLD(256) * byte) * 374 / 375, 0.01);
    } else {
        /* 64 writes, the requests between them, and the way of a read. */
        wait = 64 * MWR(256) * byte + 3 * MRD * byte;
        lab_check_near(got,
                       4 * 512 /
                           (wait + LINK(MRD) + MEMORY_LATENCY +
                            LINK(CPLD(256)) + WIRE(CPLD(256))),
                       0.02);
    }
    fab_flow_result(write, &result);
    lab_check_near(rate(&result),
                   (1 / byte * 374 / 375 - got / 512 * MRD) * 256 / MWR(256),
                   0.01);
}
END_TEST

/* A command is fetched before the data of another copy that the engine reads.
 */
START_TEST(copies_of_both_directions_do_not_wait_for_each_other)
{
    FabCopyFlowParams reads, writes;
    FabFlow *read, *write;
    FabFlowResult result;

    host_new();
    reads = copy_params(FAB_TLP_MRD, 4, false);
    writes = copy_params(FAB_TLP_MWR, 32, false);
    reads.size_bytes = 4 << 20;
    writes.size_bytes = 65536;
    read = copy_flow("r", &reads);
    write = copy_flow("w", &writes);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(write, &result);
    /* 2 MiB of writes are over before one of the reads of 4 MiB is. */
    ck_assert_int_lt(result.end, (SimTime)((4 << 20) * 0.129e3));
    fab_flow_result(read, &result);
    ck_assert_uint_eq(result.failed, 0);
}
END_TEST

START_TEST(dma_latency_is_the_sum_of_the_parts)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabDmaFlowParams params;
    FabFlowResult result;
    SimTime expected;

    device_params.read_latency = 30 * SIM_NS;
    device_params.write_latency = 70 * SIM_NS;
    host_new_with(&root_params, &device_params);
    params = dma_params(FAB_TLP_MRD, 64, 1);
    result = run(dma_flow("read", 0, &params));
    expected = LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(64)) + 30 * SIM_NS;
    ck_assert_int_le(llabs(result.end - result.begin - expected), 1);
    ck_assert_uint_eq(sim_histogram_max(result.latency),
                      result.end - result.begin);

    params = dma_params(FAB_TLP_MWR, 512, 1);
    result = run(dma_flow("write", 0, &params));
    expected = 70 * SIM_NS + 2 * WIRE(MWR(256)); /* both TLPs have left */
    ck_assert_int_le(llabs(result.end - result.begin - expected), 2);
}
END_TEST

/* A write-read waits for its own write: its latency is that of the write until
 * its TLP leaves, and that of the read behind it. Both move bytes. */
START_TEST(write_read_is_a_write_and_a_read)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabDmaFlowParams params;
    FabFlowResult result;
    SimTime expected;

    device_params.write_latency = 2 * SIM_US;
    host_new_with(&root_params, &device_params);
    params = dma_params(FAB_TLP_MWR, 64, 1);
    params.then_read = true;
    result = run(dma_flow("both", 0, &params));
    expected = 2 * SIM_US + WIRE(MWR(64)) + LINK(MRD) + MEMORY_LATENCY +
               LINK(CPLD(64));
    /* The memory is also busy with the write. */
    ck_assert_int_ge(result.end - result.begin, expected - 2);
    ck_assert_int_le(result.end - result.begin, expected + 64 * SIM_NS);
    ck_assert_uint_eq(result.operations, 1);
    ck_assert_uint_eq(result.bytes, 128);
    ck_assert_uint_eq(fab_root_counters(root)->memory_read_bytes, 64);
    ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes, 64);

    params.count = 500;
    params.outstanding = 7;
    result = run(dma_flow("many", 0, &params));
    ck_assert_uint_eq(result.operations, 500);
    ck_assert_uint_eq(result.bytes, 500 * 128);
}
END_TEST

/* ---- Moves ----------------------------------------------------------- */

static FabFlow *move_flow(const char *name, const FabMoveFlowParams *params)
{
    g_autoptr(GError) error = NULL;
    FabFlow *flow = fab_move_flow_new(fabric, name, 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "no error set");
    return flow;
}

static FabMoveFlowParams move_params(uint64_t size_bytes, uint32_t buffer_bytes)
{
    return (FabMoveFlowParams){
        .device = fab_component_as_endpoint(device),
        .from = {.component = fab_root_component(root)},
        .to = {.component = fab_root_component(root)},
        .size_bytes = size_bytes,
        .count = 1,
        .chunk_bytes = 256,
        .buffer_bytes = buffer_bytes,
    };
}

/* A chunk is read before it is written, and a buffer of n chunks has n of them
 * between the request of their read and the end of their write, behind which
 * the next request leaves: Little's law, while links and tags do not limit. */
START_TEST(moves_are_limited_by_the_buffer)
{
    unsigned chunks = 1u << _i;
    FabMoveFlowParams params;
    FabFlowResult result;
    SimTime trip;

    host_new();
    trip = LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(256)) + WIRE(MWR(256));
    params = move_params(1 << 20, chunks * 256);
    result = run(move_flow("m", &params));
    ck_assert_uint_eq(result.bytes, 1 << 20);
    ck_assert_uint_eq(result.failed, 0);
    lab_check_near(rate(&result), chunks * 256.0 / trip, 0.01);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_root_counters(root)->memory_read_bytes, 1 << 20);
    ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes, 1 << 20);
}
END_TEST

/* Each operation has its setup; of queued ones only the first has. A copy of
 * the driver comes before each. */
START_TEST(moves_have_a_setup)
{
    FabMoveFlowParams params;
    FabFlowResult single, all;

    host_new();
    params = move_params(4096, 4096);
    params.setup = 10 * SIM_US;
    single = run(move_flow("one", &params));
    ck_assert_int_ge(single.end - single.begin, 10 * SIM_US);
    ck_assert_int_le(single.end - single.begin, 13 * SIM_US);
    params.count = 20;
    all = run(move_flow("each", &params));
    lab_check_near(all.end - all.begin, 20.0 * (single.end - single.begin),
                   0.02);
    params.queued = true;
    all = run(move_flow("first", &params));
    lab_check_near(all.end - all.begin,
                   20.0 * (single.end - single.begin) - 19.0 * params.setup,
                   0.05);
    ck_assert_uint_eq(all.operations, 20);
    params.copy = 30 * SIM_US;
    all = run(move_flow("copied", &params));
    lab_check_near(all.end - all.begin,
                   20.0 * (single.end - single.begin) - 19.0 * params.setup +
                       20.0 * params.copy,
                   0.02);
}
END_TEST

START_TEST(warmup_is_not_measured)
{
    FabDmaFlowParams params;
    FabFlowResult result;

    host_new();
    params = dma_params(FAB_TLP_MRD, 64, 10);
    params.arrivals = FAB_ARRIVALS_PERIODIC;
    params.interval = SIM_US;
    params.start = 2 * SIM_US;
    result = run(dma_flow("r", 5 * SIM_US, &params));
    ck_assert_uint_eq(result.operations, 7);
    ck_assert_uint_eq(result.bytes, 7 * 64);
    ck_assert_uint_eq(sim_histogram_count(result.latency), 7);
    ck_assert_int_eq(result.begin, 5 * SIM_US);
    /* The last operation arrives at 11 us. */
    ck_assert_int_le(llabs(result.end - 11 * SIM_US -
                           (SimTime)sim_histogram_min(result.latency)),
                     1);
}
END_TEST

/*
 * Bytes count as they move between the end of the warm-up and the present, so
 * the rate of the link comes out even if no operation begins and ends in this
 * time. _i: number of a case
 */
START_TEST(bytes_count_while_operations_last)
{
    static const struct {
        FabTlpType direction;
        uint64_t size_bytes;
        uint32_t outstanding;
    } cases[] = {
        {FAB_TLP_MWR, 256, 64},      {FAB_TLP_MRD, 256, 64},
        {FAB_TLP_MWR, 64 << 10, 64}, {FAB_TLP_MRD, 64 << 10, 64},
        {FAB_TLP_MWR, 16 << 20, 2},  {FAB_TLP_MRD, 16 << 20, 2},
    };
    const SimTime warmup = 20 * SIM_US, stop = 220 * SIM_US;
    bool writes = cases[_i].direction == FAB_TLP_MWR;
    double rate =
        256 / (BYTE_PS * (writes ? MWR(256) : CPLD(256))) * (1 - SKP_SHARE);
    FabDmaFlowParams params;
    FabFlowResult result;
    FabFlow *flow;

    host_new();
    params = dma_params(cases[_i].direction, cases[_i].size_bytes, 1 << 20);
    params.outstanding = cases[_i].outstanding;
    flow = dma_flow("flow", warmup, &params);
    ck_assert(fab_flows_run(fabric, stop, NULL));
    fab_flow_result(flow, &result);
    ck_assert_int_eq(result.begin, warmup);
    ck_assert_int_eq(result.end, stop);
    lab_check_near((double)result.bytes / (stop - warmup), rate, 0.003);
    /* The latencies of the operations that end after the warm-up, however long
     * they are, are those of Little's law. */
    if (result.operations > 200) {
        lab_check_near((double)sim_histogram_sum(result.latency) /
                           sim_histogram_count(result.latency),
                       cases[_i].outstanding * cases[_i].size_bytes / rate,
                       0.02);
    }
}
END_TEST

/* Writes of one TLP with Poisson arrivals form an M/D/1 queue. Their mean
 * waiting time until they begin to leave is rho * service / (2 * (1 - rho)). */
START_TEST(poisson_writes_wait_as_in_md1)
{
    static const double loads[] = {0.3, 0.6, 0.8};
    const unsigned count = 200000;
    double service = MWR(256) * BYTE_PS / (1 - SKP_SHARE);
    double rho = loads[_i];
    FabDmaFlowParams params;
    FabFlowResult result;

    host_new();
    params = dma_params(FAB_TLP_MWR, 256, count);
    params.arrivals = FAB_ARRIVALS_POISSON;
    params.interval = service / rho;
    result = run(dma_flow("w", 0, &params));
    lab_check_near((double)(result.end - result.begin) / count, params.interval,
                   0.01);
    lab_check_near(sim_histogram_mean(result.latency),
                   rho * service / (2 * (1 - rho)) + service, 0.04);
}
END_TEST

/* Arrivals while all operations are under way start late; none is lost. */
START_TEST(late_arrivals_are_made_up_for)
{
    FabDmaFlowParams params;
    FabFlowResult result;
    SimTime latency = LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(64));

    host_new();
    params = dma_params(FAB_TLP_MRD, 64, 100);
    params.arrivals = FAB_ARRIVALS_PERIODIC;
    params.interval = 10 * SIM_NS;
    params.outstanding = 1;
    result = run(dma_flow("r", 0, &params));
    ck_assert_uint_eq(result.operations, 100);
    lab_check_near(result.end, 100 * latency, 0.002);
    /* The last arrived 990 ns after the first. */
    lab_check_near(sim_histogram_max(result.latency),
                   100 * latency - 990 * SIM_NS, 0.002);
}
END_TEST

typedef struct Slots {
    FabBusAddr base; /* start of the 4 KiB page of the first write */
    unsigned writes;
    unsigned count[16];
    bool in_order;
} Slots;

static void slot_written(void *owner, FabBusAddr addr, uint64_t data)
{
    Slots *slots = owner;
    uint64_t slot;

    if (!slots->base) {
        slots->base = addr & ~UINT64_C(0xfff);
    }
    slot = (addr - slots->base) / 64;
    ck_assert_uint_eq((addr - slots->base) % 64, 0);
    ck_assert_uint_lt(slot, 16);
    slots->in_order &= slot == slots->writes % 16;
    slots->count[slot]++;
    slots->writes++;
}

START_TEST(pattern_covers_the_working_set)
{
    bool random = _i;
    Slots slots = {.in_order = true};
    FabDmaFlowParams params;

    host_new();
    fab_root_watch(root, 0, UINT64_C(32) << 30, slot_written, &slots);
    params = dma_params(FAB_TLP_MWR, 64, 16000);
    params.random = random;
    params.working_set_bytes = 1024;
    run(dma_flow("w", 0, &params));
    sim_engine_run(engine);
    ck_assert_uint_eq(slots.writes, 16000);
    ck_assert_int_eq(slots.in_order, !random);
    for (unsigned i = 0; i < 16; i++) {
        /* Five standard deviations of a binomial distribution. */
        ck_assert_int_le(abs((int)slots.count[i] - 1000), random ? 153 : 0);
    }
}
END_TEST

/* ---- Failures -------------------------------------------------------- */

START_TEST(refused_reads_count_as_failed)
{
    FabRoot *far = lab_root(fabric, "far", 1, false);
    FabComponent *sw = lab_switch(fabric, "host.sw", 3);
    FabComponent *ntb = lab_ntb(fabric, "host.ntb", 1);
    FabComponent *far_ntb = lab_ntb(fabric, "far.ntb", 1);
    FabComponent *other = lab_device(fabric, "host.other");
    FabDmaFlowParams params;
    FabFlow *good, *hole, *stranger, *writes;
    const FabLoss *losses, *loss;
    FabFlowResult result;
    unsigned count;

    root = lab_root(fabric, "host", 1, false);
    device = lab_device(fabric, "host.dev");
    lab_connect(fab_root_component(root), 0, sw, 0);
    lab_connect(sw, 1, ntb, 0);
    lab_connect(sw, 2, device, 0);
    lab_connect(sw, 3, other, 0);
    lab_connect(fab_root_component(far), 0, far_ntb, 0);
    lab_connect(ntb, 1, far_ntb, 1);
    lab_realize(fabric);

    params = dma_params(FAB_TLP_MRD, 4096, 100);
    params.target.component = fab_root_component(far);
    good = dma_flow("good", 0, &params);
    /* A device that is not in the requester table accesses the window. */
    params.target = (FabTarget){.component = ntb, .bar = 2};
    params.device = fab_component_as_endpoint(other);
    params.working_set_bytes = 4096;
    stranger = dma_flow("stranger", 0, &params);
    /* The whole window, in which only one entry of 64 is mapped. */
    params.device = fab_component_as_endpoint(device);
    params.random = true;
    params.working_set_bytes = 256 << 20;
    params.count = 6400;
    hole = dma_flow("hole", 0, &params);

    result = run(good);
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(result.failed, 0);
    result = run(stranger);
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(result.failed, 100);
    ck_assert_uint_eq(result.bytes, 0);
    ck_assert_uint_eq(sim_histogram_count(result.latency), 0);
    result = run(hole);
    ck_assert_uint_eq(result.operations, 6400);
    ck_assert_int_le(abs((int)(result.operations - result.failed) - 100), 50);
    ck_assert_uint_eq(result.bytes, (result.operations - result.failed) * 4096);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    ck_assert_ptr_null(fab_account_check(fabric));

    /* Writes have no completion, but what became of them is known. */
    params.device = fab_component_as_endpoint(other);
    params.direction = FAB_TLP_MWR;
    params.random = false;
    params.working_set_bytes = 4096;
    params.count = 100;
    writes = dma_flow("writes", 0, &params);
    result = run(writes);
    ck_assert_uint_eq(result.failed, 100);
    ck_assert(result.has_failed);
    ck_assert_uint_eq(result.bytes, 0);
    losses = fab_account_losses(fabric, &count);
    loss = &losses[count - 1];
    ck_assert_uint_eq(loss->flow, fab_flow_number(writes));
    ck_assert_ptr_eq(loss->component, ntb);
    ck_assert_uint_eq(loss->cause, FAB_LOSS_UNSUPPORTED);
    ck_assert_uint_eq(loss->addr % (256 << 20), 0); /* the window begins */
    ck_assert_uint_eq(loss->bytes, 100 * 4096);
    ck_assert_uint_eq(loss->tlps, 100 * 4096 / 256);
    ck_assert_ptr_null(fab_account_check(fabric));
}
END_TEST

/* A receive buffer too small for a TLP with data blocks a flow for ever.
 * fab_flows_run() reports this flow. */
START_TEST(deadlock_is_found)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabPortParams port = lab_port_params();
    FabDmaFlowParams params;
    FabFlow *stuck = NULL, *flow, *other;

    root = fab_root_new(fabric, "host", &root_params);
    port.credits.data[FAB_CLASS_P] = 3;
    fab_root_add_port(root, "rp0", &port);
    port = lab_port_params();
    device = fab_endpoint_component(
        fab_endpoint_new(fabric, "host.dev", &port, &device_params));
    lab_connect(fab_root_component(root), 0, device, 0);
    lab_realize(fabric);
    params = dma_params(FAB_TLP_MRD, 64, 10);
    other = dma_flow("a", 0, &params);
    params = dma_params(FAB_TLP_MWR, 64, 10);
    params.start = SIM_US;
    flow = dma_flow("b", 0, &params);
    ck_assert(fab_flows_run(fabric, SIM_NS, &stuck)); /* it has not begun */
    ck_assert(!fab_flow_is_done(flow));
    ck_assert_ptr_null(stuck);
    ck_assert(!fab_flows_run(fabric, SIM_TIME_NONE, &stuck));
    ck_assert_ptr_eq(stuck, flow);
    ck_assert(fab_flow_is_done(other));
    ck_assert(!fab_flows_run(fabric, SIM_TIME_NONE, NULL));
}
END_TEST

static void check_error(const FabFlow *flow, GError **error, const char *text)
{
    ck_assert_ptr_null(flow);
    ck_assert_ptr_nonnull(*error);
    ck_assert_int_eq((*error)->domain, FAB_ERROR);
    ck_assert_msg(strstr((*error)->message, text), "%s", (*error)->message);
    g_clear_error(error);
}

static void check_dma_error(const FabDmaFlowParams *params, const char *text)
{
    GError *error = NULL;

    check_error(fab_dma_flow_new(fabric, "new", 0, params, &error), &error,
                text);
}

START_TEST(dma_errors)
{
    FabDmaFlowParams good, params;
    FabRoot *far = lab_root(fabric, "far", 1, false);
    GError *error = NULL;

    host_new();
    good = dma_params(FAB_TLP_MRD, 64, 10);
    params = good, params.direction = FAB_TLP_CAS;
    check_dma_error(&params, "new: the direction");
    params = good, params.size_bytes = 0;
    check_dma_error(&params, "at least 1 byte");
    params = good, params.count = 0;
    check_dma_error(&params, "at least 1 operation");
    params = good, params.outstanding = UINT32_MAX;
    check_dma_error(&params, "65536");
    params = good, params.arrivals = FAB_ARRIVALS_POISSON;
    check_dma_error(&params, "interval");
    params = good, params.start = -1;
    check_dma_error(&params, "the start");
    params = good, params.working_set_bytes = 63;
    check_dma_error(&params, "working set of 63");
    params = good, params.size_bytes = UINT64_C(1) << 40;
    check_dma_error(&params, "host: the memory has no space");
    params = good, params.working_set_bytes = UINT64_MAX;
    check_dma_error(&params, "host: the memory has no space");
    params = good, params.target = (FabTarget){device, 1};
    check_dma_error(&params, "host.dev has no BAR 1");
    params.target.bar = 6;
    check_dma_error(&params, "host.dev has no BAR 6");
    params = good, params.target = (FabTarget){device, -1};
    params.size_bytes = 17 << 20;
    check_dma_error(&params, "host.dev: BAR 2 has 16MiB");
    params = good, params.target.component = fab_root_component(far);
    check_dma_error(&params, "no cable leads from host to far");
    dma_flow("new", 0, &good);
    check_error(fab_dma_flow_new(fabric, "new", 0, &good, &error), &error,
                "another flow has this name");
}
END_TEST

START_TEST(other_errors)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabCopyFlowParams copy;
    FabMmioFlowParams mmio;
    GError *error = NULL;

    device_params.bars[0].size_bytes = 0;
    host_new_with(&root_params, &device_params);
    copy = copy_params(FAB_TLP_MRD, 1, true);
    check_error(fab_copy_flow_new(fabric, "c", 0, &copy, &error), &error,
                "c: the device needs a BAR 0");
    copy.command_bytes = 0;
    check_error(fab_copy_flow_new(fabric, "c", 0, &copy, &error), &error,
                "a command");
    copy.copies = 0;
    check_error(fab_copy_flow_new(fabric, "c", 0, &copy, &error), &error,
                "at least 1 copy");
    mmio = mmio_params(FAB_TLP_MRD, 4, 1);
    check_error(fab_mmio_flow_new(fabric, "m", 0, &mmio, &error), &error,
                "host.dev has no BAR 0");
    mmio.size_bytes = 65;
    check_error(fab_mmio_flow_new(fabric, "m", 0, &mmio, &error), &error,
                "1 to 64 bytes");
    mmio.size_bytes = 0;
    check_error(fab_mmio_flow_new(fabric, "m", 0, &mmio, &error), &error,
                "1 to 64 bytes");
}
END_TEST

/* ---- Copies ---------------------------------------------------------- */

#define COMMAND (LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(64)))
#define DATA    COMMAND /* of as many bytes */
#define SETUP   (500 * SIM_NS)
#define LEAST   (3 * SIM_US)

/* @got is at least @expected, plus at most 16 symbols on every lane for each of
 * @tlps TLPs that an SKP ordered set may delay. */
static void check_time(SimTime got, SimTime expected, unsigned tlps)
{
    ck_assert_msg(got >= expected - (SimTime)tlps &&
                      got <= expected + tlps * WIRE(16 * 8),
                  "got %ld ps, expected %ld", (long)got, (long)expected);
}

START_TEST(queued_copies_follow_each_other)
{
    bool write = _i & 1, least = _i & 2;
    FabCopyFlowParams params;
    FabFlowResult result;
    SimTime one = COMMAND + SETUP + (write ? 0 : DATA);
    SimTime period = one;

    host_new();
    params = copy_params(write ? FAB_TLP_MWR : FAB_TLP_MRD, 3, true);
    params.start = 100 * SIM_NS;
    if (least) {
        period = LEAST;
        params.least = LEAST;
    }
    result = run(copy_flow("c", &params));
    ck_assert_uint_eq(result.operations, 3);
    ck_assert_uint_eq(result.bytes, 3 * 64);
    /* A flow begins when the doorbell of the CPU reaches the device. */
    check_time(result.begin, 110 * SIM_NS + TRANSIT + LINK(MMIO(4)), 1);
    /* The completion record waits for the last write if that is still on the
     * wire. */
    check_time(result.end - result.begin,
               3 * period + (write && !least ? WIRE(MWR(64)) : 0), 12);
    check_time(sim_histogram_min(result.latency), period, 4);
    ck_assert_uint_eq(fab_root_counters(root)->memory_written_bytes,
                      4 + (write ? 3 * 64 : 0));
}
END_TEST

START_TEST(single_copies_pay_the_round_trip)
{
    bool write = _i;
    const unsigned copies = 2000;
    FabCopyFlowParams params;
    FabFlowResult result;
    double trip = 10 * SIM_NS + TRANSIT + LINK(MMIO(4)) + COMMAND + SETUP +
                  (write ? WIRE(MWR(64)) : DATA) + LINK(MWR(4)) + 100 * SIM_NS;

    host_new();
    params = copy_params(write ? FAB_TLP_MWR : FAB_TLP_MRD, copies, false);
    result = run(copy_flow("c", &params));
    ck_assert_uint_eq(result.operations, copies);
    lab_check_near(sim_histogram_mean(result.latency), trip, 0.006);
    lab_check_near((double)(result.end - result.begin) / copies, trip, 0.006);
    /* Polling takes 0 to 200 ns. */
    lab_check_near(sim_histogram_min(result.latency), trip - 100 * SIM_NS,
                   0.01);
    lab_check_near(sim_histogram_max(result.latency), trip + 100 * SIM_NS,
                   0.03);
}
END_TEST

/* Two flows of one device share its doorbell without disturbing each other. */
START_TEST(two_drivers_of_one_device)
{
    FabCopyFlowParams params;
    FabFlow *a, *b;
    FabFlowResult result;

    host_new();
    params = copy_params(FAB_TLP_MRD, 20, false);
    a = copy_flow("a", &params);
    params.copies = 30;
    b = copy_flow("b", &params);
    result = run(a);
    ck_assert_uint_eq(result.operations, 20);
    fab_flow_result(b, &result);
    ck_assert_uint_eq(result.operations, 30);
    ck_assert_uint_eq(fab_flow_number(a), 1);
    ck_assert_uint_eq(fab_flow_number(b), 2);
}
END_TEST

/* ---- MMIO ------------------------------------------------------------ */

START_TEST(mmio_writes_at_the_pace_of_the_core)
{
    FabMmioFlowParams params;
    FabFlowResult result;

    host_new();
    params = mmio_params(FAB_TLP_MWR, 4, 1000);
    result = run(mmio_flow("m", &params));
    ck_assert_int_eq(result.end - result.begin, 1000 * 10 * SIM_NS);
    ck_assert_uint_eq(sim_histogram_max(result.latency), 10 * SIM_NS);
}
END_TEST

/* The time between two accesses counts for the rate alone. */
START_TEST(a_core_has_more_to_do_than_mmio)
{
    FabMmioFlowParams params;
    FabFlowResult result;

    host_new();
    params = mmio_params(FAB_TLP_MWR, 4, 1000);
    params.between = 6 * SIM_NS;
    result = run(mmio_flow("m", &params));
    ck_assert_int_eq(result.end - result.begin, (999 * 16 + 10) * SIM_NS);
    ck_assert_uint_eq(sim_histogram_max(result.latency), 10 * SIM_NS);
}
END_TEST

/* The handler of an MSI starts a fixed time after its arrival; a CPU that polls
 * sees a write at a random time after that. */
START_TEST(an_msi_is_seen_by_its_handler)
{
    const SimTime interrupt = 2 * SIM_US;
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabMmioFlowParams params;
    FabFlowResult result;
    SimTime arrival;

    root_params.cpu.interrupt = interrupt;
    root_params.cpu.poll = 100 * SIM_NS;
    host_new_with(&root_params, &device_params);
    params = mmio_params(FAB_TLP_MWR, 4, 100);
    params.target = (FabTarget){.component = fab_root_component(root)};
    params.seen = FAB_SEEN_INTERRUPT;
    result = run(mmio_flow("m", &params));
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(sim_histogram_min(result.latency),
                      sim_histogram_max(result.latency));
    arrival = (SimTime)sim_histogram_min(result.latency) - interrupt;
    ck_assert_int_ge(arrival, 0);
    params.seen = FAB_SEEN_POLLING;
    result = run(mmio_flow("polled", &params));
    ck_assert_int_ge((SimTime)sim_histogram_min(result.latency), arrival);
    ck_assert_uint_gt(sim_histogram_max(result.latency),
                      sim_histogram_min(result.latency));
}
END_TEST

/* A ping-pong is two messages, of which the second begins when the first is
 * seen. Without a poll each is seen when it is visible. */
START_TEST(an_answer_takes_as_long_as_the_message)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabMmioFlowParams params;
    FabFlowResult one_way, both;

    root_params.cpu.poll = 0;
    host_new_with(&root_params, &device_params);
    params = mmio_params(FAB_TLP_MWR, 8, 100);
    params.target = (FabTarget){.component = fab_root_component(root)};
    params.seen = FAB_SEEN_POLLING;
    one_way = run(mmio_flow("one way", &params));
    params.seen = FAB_SEEN_ANSWERED;
    both = run(mmio_flow("both", &params));
    ck_assert_uint_eq(both.operations, 100);
    ck_assert_uint_eq(sim_histogram_min(both.latency),
                      2 * sim_histogram_min(one_way.latency));
    ck_assert_uint_eq(sim_histogram_max(both.latency),
                      2 * sim_histogram_max(one_way.latency));
    ck_assert_int_eq(both.end - both.begin, 2 * (one_way.end - one_way.begin));
}
END_TEST

/* It does not matter what else the CPU has to do, as long as the link takes
 * longer. */
START_TEST(mmio_writes_wait_for_the_link)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabMmioFlowParams params;
    FabFlowResult result;
    FabFlow *flow;

    root_params.cpu.mmio_write = SIM_NS;
    host_new_with(&root_params, &device_params);
    params = mmio_params(FAB_TLP_MWR, 64, 200000);
    params.between = _i * 5 * SIM_NS;
    flow = mmio_flow("m", &params);
    for (SimTime t = SIM_US; !fab_flow_is_done(flow); t += 5 * SIM_US) {
        ck_assert(fab_flows_run(fabric, t, NULL));
        /* TLPs are on the link for 105 ns, one every 10.7 ns, and in the root
         * for 200 ns, one every ns. A few more wait. */
        ck_assert_uint_le(fab_fabric_tlps_alive(fabric), 10 + 200 + 16);
    }
    fab_flow_result(flow, &result);
    lab_check_near(rate(&result), 64 / (MMIO(64) * BYTE_PS) * (1 - SKP_SHARE),
                   0.003);
    sim_engine_run(engine);
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(device))->served_bytes,
        64 * 200000);
}
END_TEST

/* The stores of a CPU and the completions for a device share only the wire. So
 * a read waits for one store at most. */
START_TEST(stores_do_not_hold_up_completions)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    SimTime latency = LINK(MRD) + MEMORY_LATENCY + LINK(CPLD(64));
    FabDmaFlowParams params;
    FabMmioFlowParams stores;
    FabFlowResult result;

    root_params.cpu.mmio_write = 20 * SIM_NS;
    host_new_with(&root_params, &device_params);
    stores = mmio_params(FAB_TLP_MWR, 64, 5000);
    mmio_flow("stores", &stores);
    params = dma_params(FAB_TLP_MRD, 64, 200);
    params.outstanding = 1;
    result = run(dma_flow("reads", 0, &params));
    /* SKP ordered sets may delay the read in both directions. */
    ck_assert_uint_le(sim_histogram_max(result.latency),
                      latency + WIRE(MMIO(64)) + 2 * WIRE(16 * 8));
}
END_TEST

START_TEST(mmio_read_latency_is_the_sum_of_the_parts)
{
    SimTime latency =
        TRANSIT + LINK(MMIO(0)) + 150 * SIM_NS + LINK(CPLD(64)) + TRANSIT;
    FabMmioFlowParams params;
    FabFlowResult result;

    host_new();
    params = mmio_params(FAB_TLP_MRD, 64, 1000);
    result = run(mmio_flow("m", &params));
    ck_assert_uint_eq(result.operations, 1000);
    check_time(sim_histogram_min(result.latency), latency, 2);
    lab_check_near(sim_histogram_mean(result.latency), latency, 0.002);
    lab_check_near(result.end - result.begin, 1000.0 * latency, 0.002);
}
END_TEST

/* ---- Together -------------------------------------------------------- */

START_TEST(steady_state_allocates_nothing)
{
    FabDmaFlowParams dma;
    FabCopyFlowParams copy;
    FabMmioFlowParams mmio;
    uint64_t allocs;
    bool ok;

    host_new();
    dma = dma_params(FAB_TLP_MRD, 4096, 100000);
    dma.random = true;
    dma_flow("read", 0, &dma);
    dma.direction = FAB_TLP_MWR;
    dma.arrivals = FAB_ARRIVALS_POISSON;
    dma.interval = 2 * SIM_US;
    dma_flow("write", 0, &dma);
    copy = copy_params(FAB_TLP_MWR, 100000, false);
    copy_flow("copy", &copy);
    mmio = mmio_params(FAB_TLP_MWR, 8, 100000);
    mmio_flow("stores", &mmio);
    mmio = mmio_params(FAB_TLP_MRD, 8, 100000);
    mmio_flow("loads", &mmio);
    ck_assert(fab_flows_run(fabric, 500 * SIM_US, NULL));
    allocs = alloc_count(); /* checks allocate */
    ok = fab_flows_run(fabric, 900 * SIM_US, NULL);
    allocs = alloc_count() - allocs;
    ck_assert(ok);
    ck_assert_uint_eq(allocs, 0);
    ck_assert_uint_gt(fab_root_counters(root)->memory_read_bytes, 1 << 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_flow");
    TCase *dma = tcase_create("dma"), *failures = tcase_create("failures");
    TCase *copy = tcase_create("copy"), *mmio = tcase_create("mmio");
    TCase *cases[] = {dma, failures, copy, mmio};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        tcase_add_checked_fixture(cases[i], setup, teardown);
        suite_add_tcase(suite, cases[i]);
    }
    tcase_add_loop_test(dma, dma_write_fills_the_link, 0, 3);
    tcase_add_loop_test(dma, dma_read_fills_the_link, 0, 3);
    tcase_add_test(dma, dma_read_limited_by_outstanding);
    tcase_add_loop_test(dma, requests_wait_behind_queued_writes, 0, 2);
    tcase_add_test(dma, copies_of_both_directions_do_not_wait_for_each_other);
    tcase_add_test(dma, dma_latency_is_the_sum_of_the_parts);
    tcase_add_test(dma, write_read_is_a_write_and_a_read);
    tcase_add_loop_test(dma, moves_are_limited_by_the_buffer, 0, 4);
    tcase_add_test(dma, moves_have_a_setup);
    tcase_add_test(dma, warmup_is_not_measured);
    tcase_add_loop_test(dma, bytes_count_while_operations_last, 0, 6);
    tcase_add_loop_test(dma, poisson_writes_wait_as_in_md1, 0, 3);
    tcase_add_test(dma, late_arrivals_are_made_up_for);
    tcase_add_loop_test(dma, pattern_covers_the_working_set, 0, 2);
    tcase_add_test(failures, refused_reads_count_as_failed);
    tcase_add_test(failures, deadlock_is_found);
    tcase_add_test(failures, dma_errors);
    tcase_add_test(failures, other_errors);
    tcase_add_loop_test(copy, queued_copies_follow_each_other, 0, 4);
    tcase_add_loop_test(copy, single_copies_pay_the_round_trip, 0, 2);
    tcase_add_test(copy, two_drivers_of_one_device);
    tcase_add_test(mmio, mmio_writes_at_the_pace_of_the_core);
    tcase_add_test(mmio, a_core_has_more_to_do_than_mmio);
    tcase_add_loop_test(mmio, mmio_writes_wait_for_the_link, 0, 2);
    tcase_add_test(mmio, an_msi_is_seen_by_its_handler);
    tcase_add_test(mmio, an_answer_takes_as_long_as_the_message);
    tcase_add_test(mmio, stores_do_not_hold_up_completions);
    tcase_add_test(mmio, mmio_read_latency_is_the_sum_of_the_parts);
    tcase_add_test(mmio, steady_state_allocates_nothing);
    return run_suite(suite);
}
