/* SPDX-License-Identifier: MIT */
/*
 * Invariants of a switch chip with non-transparent partitions of many hosts:
 * all of them reach each other without cables, with the latency of one adapter.
 * Reads and writes in all directions at once come to their ends, and each
 * completion finds its requester. Readers share the link of a host. What leads
 * nowhere is an Unsupported Request.
 */
#include <check.h>

#include "fab_flow_dma.h"
#include "fab_lab.h"
#include "fab_route.h"
#include "../suite.h"

#define HOSTS 5

static FabFabric *fabric;
static FabRoot *root[HOSTS];
static FabComponent *device[HOSTS], *ntb[HOSTS];

/* Hosts with a device and an adapter each. The adapters are partitions of one
 * chip, or two of them are joined by a cable. */
static void hosts_new(unsigned count, bool chip, bool iommu, uint32_t tags)
{
    FabPortParams port = lab_port_params();
    FabNtbParams params = lab_ntb_params();

    params.tags = tags;
    fabric = lab_fabric_new(7);
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("h%u", i);
        g_autofree char *dev = g_strdup_printf("h%u.dev", i);
        g_autofree char *adapter = g_strdup_printf("h%u.ntb", i);

        root[i] = lab_root(fabric, name, 2, iommu);
        device[i] = lab_device(fabric, dev);
        ntb[i] = fab_ntb_component(
            fab_ntb_new(fabric, adapter, 1, &port, &port, &params));
        lab_connect(fab_root_component(root[i]), 0, device[i], 0);
        lab_connect(fab_root_component(root[i]), 1, ntb[i], 0);
        if (chip && i > 0) {
            fab_ntb_join(fab_component_as_ntb(ntb[0]),
                         fab_component_as_ntb(ntb[i]));
        }
    }
    if (!chip) {
        lab_connect(ntb[0], 1, ntb[1], 1);
    }
    lab_realize(fabric);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

/* An address at which the device of host @from reaches memory of host @to. */
static FabBusAddr map(unsigned from, unsigned to, uint64_t bytes)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr memory, addr;

    ck_assert(fab_root_alloc(root[to], bytes, 4096, &memory));
    ck_assert_msg(fab_route_map(device[from], fab_root_component(root[to]),
                                memory, bytes, &addr, &error),
                  "%s", error ? error->message : "");
    return addr;
}

/* The time of a read of 64 B by the device of host 0 from host 1. */
static SimTime read_time(bool chip)
{
    SimTime begin, end;

    hosts_new(2, chip, false, 0);
    begin = sim_engine_now(fab_fabric_engine(fabric));
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, map(0, 1, 4096), 64),
                     FAB_STATUS_SC);
    end = sim_engine_now(fab_fabric_engine(fabric));
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    lab_fabric_free(fabric);
    return end - begin;
}

/* Two adapters and a cable have a link and a port more, there and back. They
 * cut through, so the bytes take no further time. */
START_TEST(a_chip_is_one_adapter)
{
    ck_assert_int_eq(read_time(false) - read_time(true),
                     2 * (LAB_PROPAGATION + LAB_LATENCY));
}
END_TEST

static FabFlow *dma_flow(unsigned from, unsigned to, FabTlpType type,
                         uint64_t count)
{
    g_autofree char *name =
        g_strdup_printf("%u-%u-%d", from, to, type == FAB_TLP_MRD);
    g_autoptr(GError) error = NULL;
    FabDmaFlowParams params = {
        .device = fab_component_as_endpoint(device[from]),
        .direction = type,
        .target = {fab_root_component(root[to]), -1},
        .size_bytes = 2048,
        .count = count,
        .working_set_bytes = 64 << 10,
    };
    FabFlow *flow = fab_dma_flow_new(fabric, name, 0, &params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "");
    return flow;
}

/* Each host reads from and writes to each other one. _i: 1: IOMMUs, 2: few tags
 * of the adapters. */
START_TEST(all_hosts_reach_all_others)
{
    FabFlow *flows[2 * HOSTS * HOSTS] = {NULL};
    unsigned count = 0;

    hosts_new(HOSTS, true, _i == 1, _i == 2 ? 3 : 0);
    for (unsigned from = 0; from < HOSTS; from++) {
        for (unsigned to = 0; to < HOSTS; to++) {
            if (from != to) {
                flows[count++] = dma_flow(from, to, FAB_TLP_MRD, 200);
                flows[count++] = dma_flow(from, to, FAB_TLP_MWR, 200);
            }
        }
    }
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    for (unsigned i = 0; i < count; i++) {
        FabFlowResult result;

        fab_flow_result(flows[i], &result);
        ck_assert_uint_eq(result.operations, 200);
        ck_assert_uint_eq(result.failed, 0);
        ck_assert_uint_eq(result.bytes, 200 * 2048);
    }
    sim_engine_run(fab_fabric_engine(fabric));
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
    for (unsigned i = 0; i < HOSTS; i++) {
        ck_assert_uint_eq(fab_root_counters(root[i])->memory_written_bytes,
                          (HOSTS - 1) * 200 * 2048);
        ck_assert_uint_eq(fab_root_counters(root[i])->memory_read_bytes,
                          (HOSTS - 1) * 200 * 2048);
    }
}
END_TEST

/* Readers of four hosts share the link from the root of the fifth to the chip,
 * for completions of 64 B, because the roots of the readers split their reads.
 */
START_TEST(readers_share_the_link_of_a_host)
{
    FabFlow *flows[HOSTS - 1];
    uint64_t sum = 0;

    hosts_new(HOSTS, true, false, 0);
    for (unsigned i = 1; i < HOSTS; i++) {
        flows[i - 1] = dma_flow(i, 0, FAB_TLP_MRD, UINT64_MAX / 4096);
    }
    fab_flows_run(fabric, 200 * SIM_US, NULL);
    for (unsigned i = 0; i < HOSTS - 1; i++) {
        FabFlowResult result;

        fab_flow_result(flows[i], &result);
        sum += result.bytes;
        lab_check_near((double)result.bytes, 64.0 / 84 * 7.877e9 * 200e-6 / 4,
                       0.03);
    }
    lab_check_near((double)sum, 64.0 / 84 * 7.877e9 * 200e-6, 0.02);
}
END_TEST

/* A request to an entry that leads nowhere, one that leads into a free entry of
 * the far window, and one of a requester that is not in the table. */
START_TEST(what_leads_nowhere_is_unsupported)
{
    FabNtb *near, *far;
    FabBusAddr addr, hole;

    hosts_new(3, true, false, 0);
    near = fab_component_as_ntb(ntb[0]);
    far = fab_component_as_ntb(ntb[1]);
    addr = map(0, 1, 4096);
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, addr, 64), FAB_STATUS_SC);
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD,
                             addr + 40 * fab_ntb_entry_bytes(near), 64),
                     FAB_STATUS_UR);
    ck_assert_uint_eq(fab_ntb_counters(near)->unmapped, 1);
    for (unsigned way = 1; way < fab_ntb_ways(near); way++) {
        if (fab_ntb_far_end(near, way) == ntb[1]) {
            ck_assert(fab_ntb_map(
                near, way,
                fab_component_bars(ntb[1])[FAB_NTB_WINDOW_BAR].addr +
                    20 * fab_ntb_entry_bytes(far),
                64, &hole, NULL));
        }
    }
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, hole, 64), FAB_STATUS_UR);
    ck_assert_uint_eq(fab_ntb_counters(far)->unmapped, 1);
    fab_ntb_remove_requester(near, fab_component_bdf(device[0]));
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, addr, 64), FAB_STATUS_SC);
    fab_ntb_remove_requester(near, 0);
    ck_assert_int_eq(lab_dma(device[0], FAB_TLP_MRD, addr, 64), FAB_STATUS_UR);
    ck_assert_uint_eq(fab_ntb_counters(near)->unknown_requester, 1);
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ntb_chip");
    TCase *plain = tcase_create("plain");
    TCase *tcase = tcase_create("ntb_chip");

    tcase_add_test(plain, a_chip_is_one_adapter);
    suite_add_tcase(suite, plain);
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, all_hosts_reach_all_others, 0, 3);
    tcase_add_test(tcase, readers_share_the_link_of_a_host);
    tcase_add_test(tcase, what_leads_nowhere_is_unsupported);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
