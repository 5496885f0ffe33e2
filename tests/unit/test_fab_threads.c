/* SPDX-License-Identifier: MIT */
/*
 * Invariants of threads as a load: their bandwidth is what is under way over
 * the latency, until the link, the tags or the CPU limit it. A warp makes the
 * requests that a naive model of lines and sectors makes. A flow with wrong
 * parameters is refused.
 */
#include <check.h>
#include <string.h>

#include "fab_flow_dma.h"
#include "fab_flow_threads.h"
#include "fab_lab.h"
#include "../suite.h"

/* Time of a byte on 8 lanes of 8.0GT/s with 128b/130b. */
#define BYTE_PS        (1015.625 / 8)
#define WIRE(bytes)    ((SimTime)((8 + (bytes)) * BYTE_PS))
#define LINK(bytes)    (WIRE(bytes) + LAB_PROPAGATION + LAB_LATENCY)
#define MEMORY_LATENCY (80 * SIM_NS)
#define TRANSIT        (200 * SIM_NS)
/* A read of @bytes of memory above 4 GiB by the device. */
#define READ(bytes)    (LINK(16) + MEMORY_LATENCY + LINK(12 + (bytes)))

/* Of the MMU of some tests. */
#define PAGE   (64u << 10)
#define L2_HIT (150 * SIM_NS)
#define WALK   (350 * SIM_NS)

static FabFabric *fabric;
static FabMmuParams mmu; /* of the device; entries 0: none */
/* Of its copy engine; threads must not pay for them. */
static SimTime engine_latency;
static uint32_t engine_flight; /* bytes of reads under way; 0: no limit */
static FabRoot *root;
static FabComponent *device;

static void setup(void)
{
    fabric = lab_fabric_new(7);
    mmu = (FabMmuParams){0};
    engine_latency = 3 * SIM_US;
    engine_flight = 0;
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

static void host_new(uint32_t reads, uint32_t cpu_reads)
{
    FabRootParams root_params = lab_root_params(false);
    FabEndpointParams device_params = lab_device_params();
    FabPortParams port = lab_port_params();

    device_params.reads = reads;
    device_params.tags = 768;
    device_params.mmu = mmu;
    device_params.read_latency = engine_latency;
    device_params.write_latency = engine_latency;
    device_params.flight_bytes = engine_flight;
    root_params.memory.latency = MEMORY_LATENCY;
    root_params.transit = TRANSIT;
    root_params.cpu.mmio_reads = cpu_reads;
    root_params.cpu.mmio_write = 50 * SIM_NS;
    root = fab_root_new(fabric, "host", &root_params);
    fab_root_add_port(root, "rp0", &port);
    device = fab_endpoint_component(
        fab_endpoint_new(fabric, "host.dev", &port, &device_params));
    lab_connect(fab_root_component(root), 0, device, 0);
    lab_realize(fabric);
}

static FabThreadsFlowParams gpu_params(FabTlpType direction, uint32_t threads)
{
    return (FabThreadsFlowParams){
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = fab_root_component(root), .bar = -1},
        .threads = threads,
        .outstanding = 1,
        .access_bytes = 4,
        .stride_bytes = 4,
        .count = 1000,
        .warp = 32,
        .line_bytes = 128,
        .sector_bytes = 32,
    };
}

static FabThreadsFlowParams cpu_params(FabTlpType direction, uint32_t threads)
{
    return (FabThreadsFlowParams){
        .host = root,
        .direction = direction,
        .target = {.component = device, .bar = 2},
        .threads = threads,
        .outstanding = 1,
        .access_bytes = 64,
        .stride_bytes = 64,
        .count = 1000,
    };
}

static FabFlowResult flow_result(const FabFlow *flow)
{
    FabFlowResult result;

    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.failed, 0);
    return result;
}

static FabFlowResult run(const FabThreadsFlowParams *params)
{
    GError *error = NULL;
    FabFlow *flow = fab_threads_flow_new(fabric, "f", 0, params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "");
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    return flow_result(flow);
}

/* The time for each of the operations of @result. */
static double each(const FabFlowResult *result)
{
    return (double)(result->end - result->begin) / (double)result->operations;
}

/* A warp whose threads read neighbouring words makes one read of 128 B, so a
 * latency brings so many of them as there are under way. _i: what gives them:
 * 0: warps, 1: instructions of a warp, 2: neither, as tags limit. */
START_TEST(bandwidth_is_what_is_under_way_over_the_latency)
{
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(_i == 2 ? 8 : 256, 1);
    params = gpu_params(FAB_TLP_MRD, _i == 1 ? 32 : 8 * 32);
    params.outstanding = _i == 0 ? 1 : 8;
    result = run(&params);
    ck_assert_uint_eq(result.bytes, result.operations * 128);
    lab_check_near(each(&result), READ(128) / 8.0, 0.02);
}
END_TEST

/* Each access takes its time in the GPU, too. */
START_TEST(the_gpu_adds_its_latency)
{
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(256, 1);
    params = gpu_params(FAB_TLP_MRD, 32);
    params.latency = 600 * SIM_NS;
    result = run(&params);
    lab_check_near(each(&result), READ(128) + 600e3, 0.001);
}
END_TEST

/* A warp stores once in the time that it takes in the GPU. The order to store
 * is over at once when the link is idle. */
START_TEST(one_warp_stores_in_its_own_time)
{
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(256, 1);
    params = gpu_params(FAB_TLP_MWR, 32);
    params.latency = 93 * SIM_NS;
    result = run(&params);
    lab_check_near(each(&result), 93e3, 0.001);
}
END_TEST

/* The time of a read of the MMU by a thread that goes from page to page, over
 * @pages of them again and again. */
static double stepping(uint32_t pages)
{
    FabThreadsFlowParams params = gpu_params(FAB_TLP_MRD, 1);
    FabFlow *flow;

    params.stride_bytes = PAGE;
    params.working_set_bytes = (uint64_t)pages * PAGE;
    params.count = 20 * pages;
    /* From the second round on. */
    flow = fab_threads_flow_new(fabric, "f", pages * 2 * SIM_US, &params, NULL);
    ck_assert_ptr_nonnull(flow);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    return sim_histogram_mean(flow_result(flow).latency);
}

/* _i: the pages fit into the first TLB, into the second, into none. With true
 * LRU, more pages than entries never hit. */
START_TEST(a_read_waits_for_its_translation)
{
    static const uint32_t pages[] = {4, 16, 128};
    const SimTime more[] = {0, L2_HIT, L2_HIT + WALK};

    mmu = (FabMmuParams){.page_bytes = PAGE,
                         .entries = 4,
                         .l2_entries = 64,
                         .l2_hit = L2_HIT,
                         .walk = WALK,
                         .walks = 1};
    host_new(256, 1);
    lab_check_near(stepping(pages[_i]), READ(32) + more[_i], 0.005);
}
END_TEST

/* Warps that sweep through memory together wait once in a page, all of them:
 * n warps, n times in PAGE / 128 accesses. Those that store do not wait. */
START_TEST(warps_wait_together_for_the_next_page)
{
    uint32_t warps = 1u << _i / 2;
    FabTlpType type = _i % 2 ? FAB_TLP_MWR : FAB_TLP_MRD;
    FabThreadsFlowParams params;
    FabFlowResult result;
    double walks = (double)WALK * warps / (PAGE / 128.0);

    mmu = (FabMmuParams){
        .page_bytes = PAGE, .entries = 4, .walk = WALK, .walks = 16};
    host_new(256, 1);
    params = gpu_params(type, warps * 32);
    params.latency = 5 * SIM_US; /* the link is never busy */
    params.count = 40960 / warps;
    result = run(&params);
    lab_check_near(each(&result) * warps,
                   5e6 + (_i % 2 ? 0 : READ(128) + walks), 0.002);
}
END_TEST

/* A read of a thread waits for what the copy engine has under way, as that
 * fills the link, and not for the rest of a copy. */
START_TEST(a_thread_waits_for_what_copies_have_under_way)
{
    const uint32_t read_bytes = lab_device_params().read_bytes;
    const unsigned reads = 64;
    FabThreadsFlowParams params;
    FabDmaFlowParams copy = {
        .direction = FAB_TLP_MRD, .size_bytes = 4 << 20, .count = 16};

    engine_latency = 0;
    engine_flight = reads * read_bytes;
    host_new(256, 1);
    copy.device = fab_component_as_endpoint(device);
    copy.target = (FabTarget){fab_root_component(root), -1};
    ck_assert_ptr_nonnull(fab_dma_flow_new(fabric, "copy", 0, &copy, NULL));
    params = gpu_params(FAB_TLP_MRD, 1);
    lab_check_near(sim_histogram_mean(run(&params).latency),
                   reads * 2 * WIRE(12 + read_bytes / 2) * 375.0 / 374, 0.05);
}
END_TEST

/* With more under way than the link takes, the link limits: reads by the
 * completions, writes by the requests. */
START_TEST(the_link_limits_many_threads)
{
    FabTlpType type = _i ? FAB_TLP_MWR : FAB_TLP_MRD;
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(256, 1);
    params = gpu_params(type, 64 * 32);
    result = run(&params);
    lab_check_near(each(&result), WIRE((_i ? 16 : 12) + 128) * 375.0 / 374,
                   0.01);
}
END_TEST

/* ---- Coalescing -------------------------------------------------------- */

/* Counts the requests of a warp by marking bytes. */
static unsigned naive_requests(const FabThreadsFlowParams *params,
                               uint64_t offset, uint64_t *ret_bytes)
{
    uint64_t span = offset + (uint64_t)params->warp * params->stride_bytes;
    g_autofree bool *mark = g_new0(bool, span + 256);
    unsigned requests = 0;

    for (uint32_t i = 0; i < params->warp; i++) {
        uint64_t begin = offset + (uint64_t)i * params->stride_bytes;

        for (uint32_t j = 0; j < params->access_bytes; j++) {
            uint64_t sector =
                (begin + j) & ~(uint64_t)(params->sector_bytes - 1);

            if (params->direction == FAB_TLP_MWR) {
                mark[begin + j] = true;
            } else {
                memset(mark + sector, true, params->sector_bytes);
            }
        }
    }
    *ret_bytes = 0;
    for (uint64_t i = 0; i < span + 256; i++) {
        bool begins = i == 0 || !mark[i - 1] || i % params->line_bytes == 0;

        *ret_bytes += mark[i];
        requests += mark[i] && begins;
    }
    return requests;
}

/* For all strides and accesses that fit, several warps, lines and sectors. */
START_TEST(a_warp_makes_the_requests_of_a_naive_model)
{
    static const uint32_t strides[] = {1, 2, 3, 4, 5, 8, 12, 16, 20, 64, 132};
    static const uint32_t warps[] = {1, 7, 32, 64};
    static const uint32_t lines[][2] = {{128, 32}, {64, 64}, {128, 1}};
    FabPortCounters before = {0};

    host_new(256, 1);
    for (unsigned n = 0; n < 11 * 4 * 3 * 3 * 2; n++) {
        FabTlpType type = n % 2 ? FAB_TLP_MWR : FAB_TLP_MRD;
        FabThreadsFlowParams params = gpu_params(type, 1);
        uint64_t requests = 0, bytes = 0, want_bytes;
        g_autofree char *name = g_strdup_printf("f%u", n);
        FabClass cls = type == FAB_TLP_MWR ? FAB_CLASS_P : FAB_CLASS_NP;
        const FabPort *port = fab_component_port(device, 0);
        FabFlowResult result;
        FabFlow *flow;

        params.access_bytes = 1 << n / 2 % 3;
        params.stride_bytes = strides[n / 6 % 11] * params.access_bytes;
        params.warp = params.threads = warps[n / 66 % 4];
        params.line_bytes = lines[n / 264][0];
        params.sector_bytes = lines[n / 264][1];
        params.count = 3;
        params.working_set_bytes =
            (uint64_t)params.count * params.warp * params.stride_bytes;
        for (unsigned i = 0; i < params.count; i++) {
            requests += naive_requests(
                &params, (uint64_t)i * params.warp * params.stride_bytes,
                &want_bytes);
            bytes += want_bytes;
        }
        flow = fab_threads_flow_new(fabric, name, 0, &params, NULL);
        ck_assert_ptr_nonnull(flow);
        ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
        fab_flow_result(flow, &result);
        ck_assert_uint_eq(result.bytes, bytes);
        ck_assert_uint_eq(fab_port_counters(port)->tlps_sent[cls] -
                              before.tlps_sent[cls],
                          requests);
        before = *fab_port_counters(port);
    }
}
END_TEST

/* ---- CPU --------------------------------------------------------------- */

/* _i: cores. Each writes once in 50 ns, until the link of the device limits. */
START_TEST(cores_write_at_once)
{
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(8, 1);
    params = cpu_params(FAB_TLP_MWR, 1u << _i);
    result = run(&params);
    ck_assert_uint_eq(result.bytes, result.operations * 64);
    lab_check_near(each(&result),
                   MAX(50e3 / (1 << _i), WIRE(12 + 64) * 375.0 / 374), 0.02);
}
END_TEST

/* Little's law for reads of registers: by cores, by reads of a core, and by
 * what the CPU has under way at most. */
START_TEST(cores_read_at_once)
{
    SimTime latency = 2 * TRANSIT + LINK(12) + LINK(12 + 64) +
                      lab_device_params().completer_latency;
    FabThreadsFlowParams params;
    FabFlowResult result;

    host_new(8, _i == 2 ? 4 : 64);
    params = cpu_params(FAB_TLP_MRD, _i == 1 ? 1 : 4);
    params.outstanding = _i == 0 ? 1 : _i == 1 ? 4 : 3;
    result = run(&params);
    lab_check_near(each(&result), latency / 4.0, 0.02);
}
END_TEST

START_TEST(wrong_parameters_are_refused)
{
    FabThreadsFlowParams params;
    GError *error = NULL;

    host_new(8, 1);
    for (unsigned i = 0; i < 9; i++) {
        params =
            i < 6 ? gpu_params(FAB_TLP_MRD, 32) : cpu_params(FAB_TLP_MWR, 2);
        switch (i) {
        case 0:
            params.access_bytes = 32;
            break;
        case 1:
            params.stride_bytes = 6;
            break;
        case 2:
            params.warp = 65;
            break;
        case 3:
            params.line_bytes = 8;
            break;
        case 4:
            params.sector_bytes = 256;
            break;
        case 5:
            params.working_set_bytes = 64;
            break;
        case 6:
            params.outstanding = 2;
            break;
        case 7:
            params.device = fab_component_as_endpoint(device);
            break;
        default:
            params.threads = 0;
        }
        ck_assert_ptr_null(
            fab_threads_flow_new(fabric, "f", 0, &params, &error));
        ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONFIG));
        g_clear_error(&error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *tcase = tcase_create("threads");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, bandwidth_is_what_is_under_way_over_the_latency,
                        0, 3);
    tcase_add_test(tcase, the_gpu_adds_its_latency);
    tcase_add_test(tcase, one_warp_stores_in_its_own_time);
    tcase_add_loop_test(tcase, a_read_waits_for_its_translation, 0, 3);
    tcase_add_loop_test(tcase, warps_wait_together_for_the_next_page, 0, 12);
    tcase_add_test(tcase, a_thread_waits_for_what_copies_have_under_way);
    tcase_add_loop_test(tcase, the_link_limits_many_threads, 0, 2);
    tcase_add_test(tcase, a_warp_makes_the_requests_of_a_naive_model);
    tcase_add_loop_test(tcase, cores_write_at_once, 0, 5);
    tcase_add_loop_test(tcase, cores_read_at_once, 0, 3);
    tcase_add_test(tcase, wrong_parameters_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
