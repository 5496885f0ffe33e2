/* SPDX-License-Identifier: MIT */
/*
 * Invariants of flows that map and unmap each buffer: a core, the IOMMU and the
 * devices' caches take the times that the formulas say; a strict host uses no
 * translation after its unmapping, a lazy one frees no device address before an
 * invalidation; in the end nothing is mapped. Buffers of a lent device never
 * take more than its DMA window; what does not fit fails, or waits if the
 * driver of a drive has it.
 */
#include <check.h>

#include "fab_flow_dma.h"
#include "fab_flow_nvme.h"
#include "fab_lab.h"
#include "fab_lend.h"
#include "../suite.h"

#define MAP   (130 * SIM_NS)
#define UNMAP (90 * SIM_NS)
#define QUEUE (700 * SIM_NS)
#define COUNT 2000

static FabFabric *fabric;
static FabRoot *root;
static FabComponent *device;

static void rig_make(bool lazy, uint32_t flush_queue, bool ats)
{
    FabRootParams params = lab_root_params(true);
    FabPortParams port = lab_port_params();
    FabEndpointParams end = lab_device_params();

    params.iommu.map = MAP;
    params.iommu.unmap = UNMAP;
    params.iommu.invalidate = QUEUE;
    params.iommu.lazy = lazy;
    params.iommu.flush_queue = flush_queue;
    params.iommu.flush_time = 10 * SIM_MS;
    params.iommu.ats = ats;
    end.ats = (FabAtsParams){.entries = 64, .requests = 8, .writes = 8};
    fabric = lab_fabric_new(7);
    root = fab_root_new(fabric, "a", &params);
    fab_root_add_port(root, "rp0", &port);
    device =
        fab_endpoint_component(fab_endpoint_new(fabric, "a.d", &port, &end));
    lab_connect(fab_root_component(root), 0, device, 0);
    lab_realize(fabric);
}

/* Runs operations of @bytes each, and returns the time of all. */
static SimTime flow_time(FabTlpType direction, uint64_t bytes,
                         uint32_t outstanding)
{
    g_autoptr(GError) error = NULL;
    FabDmaFlowParams params = {
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = fab_root_component(root), .bar = -1},
        .size_bytes = bytes,
        .count = COUNT,
        .outstanding = outstanding,
        .working_set_bytes = 64 << 20,
        .random = true,
        .maps_each = true,
    };
    FabFlow *flow = fab_dma_flow_new(fabric, "f", 0, &params, &error);
    FabFlow *stuck = NULL;
    FabFlowResult result;

    ck_assert_msg(flow, "%s", error ? error->message : "");
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, &stuck));
    fab_flow_result(flow, &result);
    ck_assert_uint_eq(result.operations, COUNT);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(fab_root_iommu_counters(root)->faults, 0);
    /* The entries behind writes stay mapped. */
    ck_assert_uint_eq(fab_root_iommu_mapped(root), 4096);
    return result.end - result.begin;
}

/* With enough operations under way, the core alone limits: each operation has
 * its map, its unmap, and its invalidation. _i: read, write. */
START_TEST(a_strict_core_waits_for_each_invalidation)
{
    rig_make(false, 256, false);
    lab_check_near(flow_time(_i ? FAB_TLP_MWR : FAB_TLP_MRD, 512, 64),
                   (double)COUNT * (MAP + UNMAP + QUEUE), 0.01);
    ck_assert_uint_eq(fab_root_counters(root)->invalidations, COUNT);
    /* No translation outlives its mapping, so each page is walked for. */
    ck_assert_uint_ge(fab_root_iommu_counters(root)->walks, COUNT);
    lab_fabric_free(fabric);
}
END_TEST

/* The same with an invalidation for many. */
START_TEST(a_lazy_core_waits_once_for_many)
{
    static const uint32_t queues[] = {1, 10, 250};

    rig_make(true, queues[_i], false);
    lab_check_near(flow_time(FAB_TLP_MRD, 512, 64),
                   (double)COUNT * (MAP + UNMAP) +
                       (double)COUNT / queues[_i] * QUEUE,
                   0.01);
    ck_assert_uint_eq(fab_root_counters(root)->invalidations,
                      COUNT / queues[_i]);
    lab_fabric_free(fabric);
}
END_TEST

/* One operation at a time: its latency is the sum of its steps. With ATS the
 * answer of the device comes on top, and the translation has its way. */
START_TEST(latency_is_the_sum_of_the_steps)
{
    SimTime time[2];

    for (unsigned ats = 0; ats < 2; ats++) {
        rig_make(false, 256, ats);
        time[ats] = flow_time(FAB_TLP_MRD, 64, 1) / COUNT;
        lab_fabric_free(fabric);
    }
    /* Ways of one link: request of 24 B, completion of 84 B at 65/512 ns a
     * byte, 105 ns each, the walk, and the memory. */
    lab_check_near(time[0],
                   MAP + UNMAP + QUEUE + (24 + 84) * 65 * SIM_NS / 512 +
                       2 * 105 * SIM_NS + 200 * SIM_NS + 80 * SIM_NS +
                       64 * SIM_NS / 64,
                   0.002);
    /* Translation Request and completion, Invalidate Request and completion. */
    lab_check_near(time[1] - time[0],
                   (24 + 28 + 32 + 24) * 65 * SIM_NS / 512 + 4 * 105 * SIM_NS,
                   0.002);
}
END_TEST

/* A queue that never fills is flushed by the timer, and then its addresses are
 * free: with few of them, the flow goes on for ever. */
START_TEST(the_timer_flushes_a_queue_that_does_not_fill)
{
    rig_make(true, COUNT + 1, false);
    flow_time(FAB_TLP_MWR, 64, 2);
    ck_assert_uint_eq(fab_root_counters(root)->invalidations, 0);
    sim_engine_run_until(fab_fabric_engine(fabric),
                         sim_engine_now(fab_fabric_engine(fabric)) +
                             11 * SIM_MS);
    ck_assert_uint_eq(fab_root_counters(root)->invalidations, 1);
    lab_fabric_free(fabric);
}
END_TEST

START_TEST(only_memory_of_the_own_host_is_mapped)
{
    g_autoptr(GError) error = NULL;
    FabDmaFlowParams params = {.direction = FAB_TLP_MRD,
                               .size_bytes = 64,
                               .count = 1,
                               .maps_each = true};

    rig_make(false, 256, false);
    params.device = fab_component_as_endpoint(device);
    params.target.component = device;
    params.target.bar = -1;
    ck_assert_ptr_null(fab_dma_flow_new(fabric, "f", 0, &params, &error));
    ck_assert_ptr_nonnull(strstr(error->message, "whose driver"));
    lab_fabric_free(fabric);
}
END_TEST

/* ---- A lent device ----------------------------------------------------- */

#define WINDOW (UINT64_C(4) << 20) /* one entry of the adapter */
#define BUFFER (UINT64_C(128) << 10)
#define PAGE   UINT64_C(4096)

static FabRoot *borrower;
static FabLend *lend;

/* Host a lends its device to host b, whose IOMMU is on unless @off. */
static void lent_make(bool off, bool lazy)
{
    FabRootParams params = lab_root_params(!off);
    FabPortParams port = lab_port_params();
    FabComponent *ntb[2];
    FabLendParams loan = {.window_bytes = off ? 0 : WINDOW};
    g_autoptr(GError) error = NULL;

    params.iommu.map = MAP;
    params.iommu.unmap = UNMAP;
    params.iommu.invalidate = QUEUE;
    params.iommu.lazy = lazy;
    params.iommu.flush_queue = 8;
    params.iommu.flush_time = 10 * SIM_US;
    params.memory.size_bytes = UINT64_C(128) << 20;
    fabric = lab_fabric_new(7);
    root = lab_root(fabric, "a", 2, false);
    borrower = fab_root_new(fabric, "b", &params);
    fab_root_add_port(borrower, "rp0", &port);
    device = lab_device(fabric, "a.d");
    ntb[0] = lab_ntb(fabric, "a.ntb", 1);
    ntb[1] = lab_ntb(fabric, "b.ntb", 1);
    lab_connect(fab_root_component(root), 0, device, 0);
    lab_connect(fab_root_component(root), 1, ntb[0], 0);
    lab_connect(fab_root_component(borrower), 0, ntb[1], 0);
    lab_connect(ntb[0], 1, ntb[1], 1);
    lab_realize(fabric);
    loan.device = fab_component_as_endpoint(device);
    loan.borrower = borrower;
    lend = fab_lend_borrow(&loan, &error);
    ck_assert_msg(lend, "%s", error ? error->message : "");
}

static FabFlowResult lent_run(FabFlow *flow, GError *error)
{
    FabFlowResult result;

    ck_assert_msg(flow, "%s", error ? error->message : "");
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    fab_flow_result(flow, &result);
    sim_engine_run(fab_fabric_engine(fabric));
    return result;
}

static FabFlowResult lent_dma(FabTlpType direction, uint32_t outstanding)
{
    g_autoptr(GError) error = NULL;
    FabDmaFlowParams params = {
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = fab_root_component(borrower), .bar = -1},
        .size_bytes = BUFFER,
        .count = 200,
        .outstanding = outstanding,
        .working_set_bytes = 64 << 20,
        .random = true,
        .maps_each = true,
    };

    return lent_run(fab_dma_flow_new(fabric, "f", 0, &params, &error), error);
}

/* The window holds 31 buffers beside the page of the entries: 31 fit, and one
 * more at a time does not. _i: direction, lazy. */
START_TEST(what_does_not_fit_fails)
{
    FabTlpType direction = _i & 1 ? FAB_TLP_MWR : FAB_TLP_MRD;
    bool lazy = _i & 2;
    FabFlowResult result;

    /* A lazy host holds up to 7 buffers more than are under way. */
    lent_make(false, lazy);
    result = lent_dma(direction, lazy ? 24 : 31);
    ck_assert_uint_eq(result.operations, 200);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert_uint_eq(fab_lend_counters(lend)->no_room, 0);
    ck_assert(fab_lend_counters(lend)->most_bytes == 31 * BUFFER + PAGE ||
              (lazy && fab_lend_counters(lend)->most_bytes > 24 * BUFFER));
    ck_assert_uint_eq(fab_lend_counters(lend)->mapped_bytes, PAGE);
    ck_assert_uint_eq(fab_root_iommu_mapped(borrower), PAGE);
    lab_fabric_free(fabric);

    lent_make(false, lazy);
    result = lent_dma(direction, 32);
    ck_assert_uint_eq(result.operations, 200);
    ck_assert_uint_gt(result.failed, 0);
    ck_assert_uint_eq(fab_lend_counters(lend)->no_room, result.failed);
    ck_assert_uint_eq(fab_lend_counters(lend)->waits, 0);
    ck_assert_uint_le(fab_lend_counters(lend)->most_bytes, WINDOW);
    ck_assert_uint_eq(fab_lend_counters(lend)->mapped_bytes, PAGE);
    ck_assert_uint_eq(fab_root_iommu_mapped(borrower), PAGE);
    lab_fabric_free(fabric);
}
END_TEST

/* With the borrower's IOMMU off, all of its memory stays mapped. */
START_TEST(without_an_iommu_nothing_is_mapped)
{
    FabFlowResult result;

    lent_make(true, false);
    result = lent_dma(FAB_TLP_MWR, 64);
    ck_assert_uint_eq(result.operations, 200);
    ck_assert_uint_eq(fab_lend_counters(lend)->mapped_bytes, 0);
    ck_assert_uint_eq(fab_root_counters(borrower)->invalidations, 0);
    lab_fabric_free(fabric);
}
END_TEST

/* So long that all else takes no time beside it. */
#define MEDIA (10 * SIM_MS)

static FabFlowResult lent_drive(uint32_t depth, SimTime timeout)
{
    g_autoptr(GError) error = NULL;
    FabNvmeFlowParams params = {
        .device = fab_component_as_endpoint(device),
        .drive = {.read_latency = MEDIA,
                  .read_bandwidth_bytes_s = UINT64_C(100000000000),
                  .write_bandwidth_bytes_s = UINT64_C(100000000000),
                  .commands = 64,
                  .max_transfer_bytes = BUFFER,
                  .block_bytes = 512},
        .driver = borrower,
        .buffer = {.component = fab_root_component(borrower)},
        .size_bytes = BUFFER,
        .count = 310,
        .depth = depth,
        .entries = 64,
        .polling = true,
        .maps_each = true,
        .timeout = timeout,
    };

    return lent_run(fab_nvme_flow_new(fabric, "n", 0, &params, &error), error);
}

/* Two queues, and a list for each command. */
static uint64_t queue_bytes(uint32_t depth)
{
    return (2 + depth) * PAGE;
}

/* Depth 30 takes the window to its last byte: 30 lists and 31 buffers would.
 * From 31 on a command waits, and the window has the same number under way: 30.
 */
START_TEST(the_driver_of_a_drive_waits_for_room)
{
    static const uint32_t depths[] = {1, 29, 30, 31, 45, 62};
    uint32_t depth = depths[_i];
    uint32_t held = (WINDOW - queue_bytes(depth)) / BUFFER;
    const FabLendCounters *counters;
    FabFlowResult result;

    lent_make(false, false);
    result = lent_drive(depth, 1000 * SIM_MS);
    counters = fab_lend_counters(lend);
    ck_assert_uint_eq(result.operations, 310);
    ck_assert_uint_eq(result.failed, 0);
    ck_assert(held < depth ? counters->no_room > 0 : counters->no_room == 0);
    ck_assert_uint_eq(counters->waits, counters->no_room);
    ck_assert_uint_eq(counters->most_bytes,
                      queue_bytes(depth) + MIN(held, depth) * BUFFER);
    /* Each round of the media has as many commands as the window holds. */
    lab_check_near(result.end - result.begin,
                   (double)MEDIA * ((309 / MIN(held, depth)) + 1), 0.08);
    ck_assert_uint_eq(counters->mapped_bytes, queue_bytes(depth));
    ck_assert_uint_eq(fab_root_iommu_mapped(borrower), queue_bytes(depth));
    lab_fabric_free(fabric);
}
END_TEST

/* Each operation fails by its time-out, those that wait for room, too, and no
 * buffer stays mapped. */
START_TEST(a_reset_unmaps_everything)
{
    static const uint32_t depths[] = {1, 8, 40};
    uint32_t depth = depths[_i];
    FabFlowResult result;

    lent_make(false, false);
    result = lent_drive(depth, MEDIA / 2);
    ck_assert_uint_eq(result.operations, 310);
    ck_assert_uint_eq(result.failed, 310);
    ck_assert_uint_eq(fab_lend_counters(lend)->mapped_bytes,
                      queue_bytes(depth));
    ck_assert_uint_eq(fab_root_iommu_mapped(borrower), queue_bytes(depth));
    lab_fabric_free(fabric);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_mapper");
    TCase *tcase = tcase_create("mapper");

    tcase_add_loop_test(tcase, a_strict_core_waits_for_each_invalidation, 0, 2);
    tcase_add_loop_test(tcase, a_lazy_core_waits_once_for_many, 0, 3);
    tcase_add_test(tcase, latency_is_the_sum_of_the_steps);
    tcase_add_test(tcase, the_timer_flushes_a_queue_that_does_not_fill);
    tcase_add_test(tcase, only_memory_of_the_own_host_is_mapped);
    tcase_add_loop_test(tcase, what_does_not_fit_fails, 0, 4);
    tcase_add_test(tcase, without_an_iommu_nothing_is_mapped);
    tcase_add_loop_test(tcase, the_driver_of_a_drive_waits_for_room, 0, 6);
    tcase_add_loop_test(tcase, a_reset_unmaps_everything, 0, 3);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
