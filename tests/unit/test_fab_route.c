/* SPDX-License-Identifier: MIT */
/*
 * Invariant: data written to the address that fab_route_map() returns arrive in
 * the intended host and in no other. They cross the least possible number of
 * cables. This holds for any combination of enabled IOMMUs. A read of an
 * address that is not mapped, or by an unknown requester, is completed with UR.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_lab.h"
#include "fab_route.h"
#include "sim_random.h"
#include "../suite.h"

#define SIZE 10000u

static SimEngine *engine;
static FabFabric *fabric;

static void setup(void)
{
    fabric = lab_fabric_new(1);
    engine = fab_fabric_engine(fabric);
}

static void teardown(void)
{
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    lab_fabric_free(fabric);
}

/* A host: a root, a switch, a device below the switch, and up to four NTBs,
 * which are either all below the switch or all below root ports. */
typedef struct TestHost {
    FabRoot *root;
    FabComponent *device;
    FabComponent *ntb[4];
} TestHost;

static TestHost host_new(const char *name, unsigned adapters, unsigned cables,
                         bool below_switch, bool iommu)
{
    g_autofree char *switch_name = g_strdup_printf("%s.sw", name);
    g_autofree char *device_name = g_strdup_printf("%s.dev", name);
    TestHost host = {.root = lab_root(fabric, name, 5, iommu)};
    FabComponent *root = fab_root_component(host.root);
    FabComponent *sw = lab_switch(fabric, switch_name, 5);

    lab_connect(root, 0, sw, 0);
    host.device = lab_device(fabric, device_name);
    lab_connect(sw, 1, host.device, 0);
    for (unsigned i = 0; i < adapters; i++) {
        g_autofree char *ntb_name = g_strdup_printf("%s.ntb%u", name, i);

        host.ntb[i] = lab_ntb(fabric, ntb_name, cables);
        lab_connect(below_switch ? sw : root, below_switch ? 2 + i : 1 + i,
                    host.ntb[i], 0);
    }
    return host;
}

static FabBusAddr map_range(FabComponent *from, FabComponent *to,
                            FabBusAddr addr, uint64_t size_bytes)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr got = 0;

    ck_assert_msg(fab_route_map(from, to, addr, size_bytes, &got, &error), "%s",
                  error ? error->message : "no error set");
    return got;
}

static FabBusAddr map_memory(FabComponent *from, FabRoot *to, uint64_t bytes)
{
    FabBusAddr addr;

    ck_assert(fab_root_alloc(to, bytes, 4096, &addr));
    return map_range(from, fab_root_component(to), addr, bytes);
}

static bool in_window(const FabComponent *ntb, FabBusAddr addr, uint64_t bytes)
{
    const FabBar *bar = &fab_component_bars(ntb)[FAB_NTB_WINDOW_BAR];

    return addr >= bar->addr && addr + bytes <= bar->addr + bar->size_bytes;
}

/* Writes and reads at @addr by DMA, and checks that every byte reached the
 * memory of @root. */
static void check_arrives(FabComponent *device, FabBusAddr addr, FabRoot *root)
{
    FabRootCounters before = *fab_root_counters(root);
    const FabRootCounters *now = fab_root_counters(root);

    ck_assert_int_eq(lab_dma(device, FAB_TLP_MWR, addr, SIZE), FAB_STATUS_SC);
    ck_assert_int_eq(lab_dma(device, FAB_TLP_MRD, addr, SIZE), FAB_STATUS_SC);
    ck_assert_uint_eq(now->memory_written_bytes - before.memory_written_bytes,
                      SIZE);
    ck_assert_uint_eq(now->memory_read_bytes - before.memory_read_bytes, SIZE);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}

START_TEST(own_memory_is_reached_directly)
{
    bool iommu = _i;
    TestHost host = host_new("a", 0, 1, true, iommu);
    FabBusAddr addr, got;

    lab_realize(fabric);
    ck_assert(fab_root_alloc(host.root, SIZE, 4096, &addr));
    got = map_range(host.device, fab_root_component(host.root), addr, SIZE);
    ck_assert_int_eq(got != addr, iommu);
    check_arrives(host.device, got, host.root);
    ck_assert_uint_eq(map_range(fab_root_component(host.root),
                                fab_root_component(host.root), addr, SIZE),
                      addr);
}
END_TEST

/* _i: bit 0: IOMMU of the near host, bit 1: IOMMU of the far host, bit 2: NTBs
 * below a root port instead of beside the device. */
START_TEST(two_hosts)
{
    bool near_iommu = _i & 1, far_iommu = _i & 2, root_port = _i & 4;
    TestHost a = host_new("a", 1, 1, !root_port, near_iommu);
    TestHost b = host_new("b", 1, 1, !root_port, far_iommu);
    FabBusAddr addr;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_realize(fabric);
    addr = map_memory(a.device, b.root, SIZE);
    ck_assert_int_eq(in_window(a.ntb[0], addr, SIZE), !near_iommu);
    check_arrives(a.device, addr, b.root);
    ck_assert_uint_eq(fab_root_counters(a.root)->memory_written_bytes, 0);
    /* The IOMMU is in the root, so translated requests pass through the root.
     */
    ck_assert_int_eq(fab_root_counters(a.root)->forwarded_writes > 0,
                     near_iommu || root_port);
    ck_assert_int_eq(!!fab_root_iommu_counters(b.root), far_iommu);
    if (far_iommu) {
        ck_assert_uint_gt(fab_root_iommu_counters(b.root)->hits, 0);
        ck_assert_uint_eq(fab_root_iommu_counters(b.root)->faults, 0);
    }
    /* In the other direction, to a device: by DMA and by the CPU. */
    addr = fab_component_bars(a.device)[2].addr;
    ck_assert_int_eq(lab_dma(b.device, FAB_TLP_MWR,
                             map_range(b.device, a.device, addr, 4096), 4096),
                     FAB_STATUS_SC);
    addr = map_range(fab_root_component(b.root), a.device, addr, 4096);
    ck_assert(in_window(b.ntb[0], addr, 4096));
    fab_root_write(b.root, addr + 64, 8, 0, 0);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_endpoint_counters(fab_component_as_endpoint(a.device))
                          ->served_bytes,
                      4096 + 8);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}
END_TEST

/* Two adapters, the second one with two cables: a way that is named is taken,
 * whatever way is usual. */
START_TEST(a_way_may_be_named)
{
    TestHost a = host_new("a", 2, 2, true, _i);
    TestHost b = host_new("b", 2, 2, true, _i);
    TestHost c = host_new("c", 1, 1, true, _i);
    static const unsigned adapter[] = {0, 1, 1}, cable[] = {1, 1, 2};
    g_autoptr(GError) error = NULL;
    FabBusAddr target, got;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_connect(a.ntb[1], 1, b.ntb[1], 1);
    lab_connect(a.ntb[1], 2, b.ntb[1], 2);
    lab_connect(a.ntb[0], 2, c.ntb[0], 1);
    lab_realize(fabric);
    ck_assert(fab_root_alloc(b.root, SIZE, 4096, &target));
    for (unsigned i = 0; i < G_N_ELEMENTS(adapter); i++) {
        FabNtb *near = fab_component_as_ntb(a.ntb[adapter[i]]);
        const FabPort *out = fab_component_port(a.ntb[adapter[i]], cable[i]);
        uint64_t before = fab_port_counters(out)->tlps_sent[FAB_CLASS_P];

        ck_assert(fab_route_map_over(near, cable[i], a.device,
                                     fab_root_component(b.root), target, SIZE,
                                     &got, &error));
        check_arrives(a.device, got, b.root);
        ck_assert_uint_gt(fab_port_counters(out)->tlps_sent[FAB_CLASS_P],
                          before);
    }
    /* It leads to c. */
    ck_assert(!fab_route_map_over(fab_component_as_ntb(a.ntb[0]), 2, a.device,
                                  fab_root_component(b.root), target, SIZE,
                                  &got, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
}
END_TEST

START_TEST(unknown_requester_gets_ur)
{
    TestHost a = host_new("a", 1, 1, true, false);
    TestHost b = host_new("b", 1, 1, true, false);
    FabNtb *ntb = fab_component_as_ntb(a.ntb[0]);
    FabBusAddr target, addr;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_realize(fabric);
    ck_assert(fab_root_alloc(b.root, SIZE, 4096, &target));
    ck_assert(fab_ntb_map(ntb, 1, target, SIZE, &addr, NULL));
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr, 64), FAB_STATUS_UR);
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MWR, addr, 64), FAB_STATUS_SC);
    ck_assert_uint_eq(fab_ntb_counters(ntb)->unknown_requester, 2);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 2);
    ck_assert_uint_eq(fab_root_counters(b.root)->memory_written_bytes, 0);
    /* fab_route_map() shares the mapping and adds the device to the requester
     * table. */
    ck_assert_uint_eq(
        map_range(a.device, fab_root_component(b.root), target, SIZE), addr);
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr, 64), FAB_STATUS_SC);
}
END_TEST

START_TEST(hole_gets_ur)
{
    TestHost a = host_new("a", 1, 1, true, false);
    TestHost b = host_new("b", 1, 1, true, true);
    FabNtb *ntb = fab_component_as_ntb(a.ntb[0]);
    uint64_t entry;
    FabBusAddr addr;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_realize(fabric);
    entry = fab_ntb_entry_bytes(ntb);
    addr = map_memory(a.device, b.root, 4096);
    /* An entry that is not mapped. */
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr + entry, 64),
                     FAB_STATUS_UR);
    ck_assert_uint_eq(fab_ntb_counters(ntb)->unmapped, 1);
    /* A page that the far IOMMU does not map. */
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr + 8192, 64),
                     FAB_STATUS_UR);
    ck_assert_uint_eq(fab_root_iommu_counters(b.root)->faults, 1);
    /* An operation over a mapped and an unmapped page fails. */
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr, 8192), FAB_STATUS_UR);
    ck_assert_int_eq(lab_dma(a.device, FAB_TLP_MRD, addr, 4096), FAB_STATUS_SC);
}
END_TEST

/* _i: bit 0: IOMMUs, bit 1: NTBs below root ports, bit 2: the middle host has
 * one NTB with two cables instead of two NTBs. */
START_TEST(three_hosts_in_a_row)
{
    bool iommu = _i & 1, root_port = _i & 2, one = _i & 4;
    TestHost a = host_new("a", 1, 1, !root_port, iommu);
    TestHost b = host_new("b", one ? 1 : 2, one ? 2 : 1, !root_port, iommu);
    TestHost c = host_new("c", 1, 1, !root_port, iommu);
    FabBusAddr addr;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_connect(b.ntb[one ? 0 : 1], one ? 2 : 1, c.ntb[0], 1);
    lab_realize(fabric);
    addr = map_memory(a.device, c.root, SIZE);
    check_arrives(a.device, addr, c.root);
    addr = map_memory(c.device, a.root, SIZE);
    check_arrives(c.device, addr, a.root);
    ck_assert_uint_eq(fab_root_counters(b.root)->memory_written_bytes, 0);
    ck_assert_uint_eq(fab_root_counters(b.root)->memory_read_bytes, 0);
    ck_assert_int_eq(fab_root_counters(b.root)->forwarded_writes > 0,
                     !one && (iommu || root_port));
    addr = fab_component_bars(c.device)[0].addr;
    addr = map_range(fab_root_component(a.root), c.device, addr, 4);
    fab_root_write(a.root, addr, 4, 0, 0);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_endpoint_counters(fab_component_as_endpoint(c.device))
                          ->served_bytes,
                      4);
}
END_TEST

/* A cable leads from NTB 1 of host i to NTB 0 of host i + 1. _i: 1: each host
 * has one NTB with two cables instead. */
START_TEST(ring_goes_the_short_way)
{
    enum {
        HOSTS = 6
    };
    TestHost hosts[HOSTS];
    bool one = _i;

    for (unsigned i = 0; i < HOSTS; i++) {
        g_autofree char *name = g_strdup_printf("h%u", i);

        hosts[i] = host_new(name, one ? 1 : 2, one ? 2 : 1, true, false);
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        TestHost *next = &hosts[(i + 1) % HOSTS];

        lab_connect(hosts[i].ntb[!one], one ? 2 : 1, next->ntb[0], 1);
    }
    lab_realize(fabric);
    for (unsigned i = 1; i < HOSTS; i++) {
        unsigned forward = i, backward = HOSTS - i;
        FabBusAddr addr = map_memory(hosts[0].device, hosts[i].root, SIZE);
        uint64_t hops;

        if (!one) {
            /* Of two equally long ways the one through the first NTB is chosen,
             * which is backward. */
            ck_assert(in_window(hosts[0].ntb[forward < backward ? 1 : 0], addr,
                                SIZE));
        }
        hops = fab_fabric_tlp_hops(fabric);
        ck_assert_int_eq(lab_dma(hosts[0].device, FAB_TLP_MWR, addr, 64),
                         FAB_STATUS_SC);
        hops = fab_fabric_tlp_hops(fabric) - hops;
        /* Two links from the device through the switch to the NTB; the cables;
         * two links through the switch of each host between, if it has two
         * NTBs; two links from the NTB through the switch to the root. */
        forward = MIN(forward, backward);
        ck_assert_uint_eq(hops,
                          2 + forward + (one ? 0 : 2 * (forward - 1)) + 2);
        check_arrives(hosts[0].device, addr, hosts[i].root);
    }
}
END_TEST

/* With random cables between hosts with one NTB each, the number of cables
 * crossed equals the result of the Floyd-Warshall algorithm. */
START_TEST(random_cables_shortest_way)
{
    enum {
        HOSTS = 12,
        CABLES = 15
    };
    TestHost hosts[HOSTS];
    unsigned far[HOSTS][HOSTS], used[HOSTS] = {0};
    SimRandom random;

    sim_random_init(&random, _i, "cables");
    for (unsigned i = 0; i < HOSTS; i++) {
        g_autofree char *name = g_strdup_printf("h%02u", i);

        hosts[i] = host_new(name, 1, 8, true, false);
        for (unsigned j = 0; j < HOSTS; j++) {
            far[i][j] = i == j ? 0 : 1000;
        }
    }
    for (unsigned n = 0; n < CABLES; n++) {
        unsigned i = sim_random_below(&random, HOSTS);
        unsigned j = sim_random_below(&random, HOSTS);

        if (i != j && used[i] < 8 && used[j] < 8) {
            lab_connect(hosts[i].ntb[0], ++used[i], hosts[j].ntb[0], ++used[j]);
            far[i][j] = far[j][i] = 1;
        }
    }
    for (unsigned k = 0; k < HOSTS; k++) {
        for (unsigned i = 0; i < HOSTS; i++) {
            for (unsigned j = 0; j < HOSTS; j++) {
                far[i][j] = MIN(far[i][j], far[i][k] + far[k][j]);
            }
        }
    }
    lab_realize(fabric);
    for (unsigned n = 0; n < 30; n++) {
        unsigned i = sim_random_below(&random, HOSTS);
        unsigned j = sim_random_below(&random, HOSTS);
        g_autoptr(GError) error = NULL;
        FabBusAddr addr;
        uint64_t hops;
        bool ok;

        ck_assert(fab_root_alloc(hosts[j].root, SIZE, 4096, &addr));
        ok = fab_route_map(hosts[i].device, fab_root_component(hosts[j].root),
                           addr, SIZE, &addr, &error);
        ck_assert_int_eq(ok, far[i][j] < 1000);
        if (!ok) {
            ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
            continue;
        }
        check_arrives(hosts[i].device, addr, hosts[j].root);
        hops = fab_fabric_tlp_hops(fabric);
        lab_dma(hosts[i].device, FAB_TLP_MWR, addr, 64);
        ck_assert_uint_eq(fab_fabric_tlp_hops(fabric) - hops,
                          i == j ? 2 : 4 + far[i][j]);
    }
}
END_TEST

/* A range with the size and alignment of an entry takes one entry, for any
 * device address in the far IOMMU, and is not mapped twice. */
START_TEST(aligned_range_takes_one_entry)
{
    TestHost a = host_new("a", 1, 1, true, false);
    TestHost b = host_new("b", 1, 1, true, _i);
    FabNtb *ntb = fab_component_as_ntb(a.ntb[0]);
    FabComponent *far = fab_root_component(b.root);
    FabBusAddr target, addr;

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_realize(fabric);
    map_range(a.device, far, 4096,
              4096); /* the next range must not be the first in the IOMMU */
    ck_assert_uint_eq(fab_ntb_free_entries(ntb), 63);
    ck_assert(fab_root_alloc(b.root, 4 << 20, 4 << 20, &target));
    addr = map_range(a.device, far, target, 4 << 20);
    ck_assert_uint_eq(fab_ntb_free_entries(ntb), 62);
    ck_assert_uint_eq(map_range(a.device, far, target + 8192, 4096),
                      addr + 8192);
    ck_assert_uint_eq(fab_ntb_free_entries(ntb), 62);
    check_arrives(a.device, addr + (4 << 20) - SIZE, b.root);
}
END_TEST

/* Realize refuses invalid parameters, which a user may have written. */
START_TEST(nonsense_is_refused)
{
    FabPortParams port = lab_port_params();
    FabRootParams roots[4];
    FabNtbParams adapters[4];
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; i < 4; i++) {
        roots[i] = lab_root_params(false);
        adapters[i] = lab_ntb_params();
    }
    roots[0].read_split_bytes = 32;
    roots[1].write_split_bytes = 96;
    roots[2].forwarded_reads = 4096;
    roots[3].cpu.mmio_reads = 1024;
    adapters[0].tags = 65536;
    adapters[1].entries = 0;
    adapters[2].entries = 48;
    adapters[3].window_bytes = 3 << 20;
    if (_i < 4) {
        fab_root_new(fabric, "part", &roots[_i]);
    } else {
        FabRoot *root = lab_root(fabric, "a", 1, false);
        FabNtb *ntb =
            fab_ntb_new(fabric, "part", 1, &port, &port, &adapters[_i - 4]);

        lab_connect(fab_root_component(root), 0, fab_ntb_component(ntb), 0);
    }
    ck_assert(!fab_fabric_realize(fabric, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONFIG));
    ck_assert_msg(g_str_has_prefix(error->message, "part: "), "%s",
                  error->message);
}
END_TEST

static void check_fails(FabComponent *from, FabComponent *to, FabBusAddr addr,
                        uint64_t bytes, int code, const char *start)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr got = 12345;

    ck_assert(!fab_route_map(from, to, addr, bytes, &got, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, code));
    ck_assert_msg(g_str_has_prefix(error->message, start), "%s",
                  error->message);
    ck_assert_uint_eq(got, 12345);
}

START_TEST(errors_name_the_place)
{
    TestHost a = host_new("a", 1, 1, true, false);
    TestHost b = host_new("b", 1, 1, true, false);
    TestHost c = host_new("c", 1, 1, true, false);
    FabComponent *loose = lab_ntb(fabric, "loose", 1);
    FabComponent *far = fab_root_component(b.root);

    lab_connect(a.ntb[0], 1, b.ntb[0], 1);
    lab_connect(c.ntb[0], 1, loose, 1);
    lab_realize(fabric);
    check_fails(a.device, fab_root_component(c.root), 0, 64, FAB_ERROR_WINDOW,
                "no cable leads from a to c");
    check_fails(a.device, loose, 0, 64, FAB_ERROR_WINDOW,
                "loose is not connected to a host");
    check_fails(loose, far, 0, 64, FAB_ERROR_WINDOW,
                "loose is not connected to a host");
    check_fails(a.device, far, 0, UINT64_C(257) << 20, FAB_ERROR_WINDOW,
                "a.ntb0: ");
    check_fails(a.device, far, 4096, 0, FAB_ERROR_ADDRESS, "b: ");
    check_fails(a.device, far, 4096, UINT64_MAX, FAB_ERROR_ADDRESS, "b: ");
}
END_TEST

START_TEST(requester_table_full)
{
    FabPortParams port = lab_port_params();
    FabNtbParams params = lab_ntb_params();
    TestHost a = host_new("a", 0, 1, true, false);
    TestHost b = host_new("b", 1, 1, true, false);
    FabComponent *ntb, *other = lab_device(fabric, "a.other");

    params.requesters = 2; /* the root and one device */
    ntb = fab_ntb_component(
        fab_ntb_new(fabric, "a.ntb0", 1, &port, &port, &params));
    lab_connect(fab_root_component(a.root), 1, ntb, 0);
    lab_connect(fab_root_component(a.root), 2, other, 0);
    lab_connect(ntb, 1, b.ntb[0], 1);
    lab_realize(fabric);
    map_memory(a.device, b.root, SIZE);
    map_memory(a.device, b.root, SIZE);
    map_memory(fab_root_component(a.root), b.root, SIZE);
    check_fails(other, fab_root_component(b.root), 1 << 20, SIZE,
                FAB_ERROR_WINDOW, "a.ntb0: Requester ID ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_route_map");
    TCase *tcase = tcase_create("route");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, own_memory_is_reached_directly, 0, 2);
    tcase_add_loop_test(tcase, two_hosts, 0, 8);
    tcase_add_loop_test(tcase, a_way_may_be_named, 0, 2);
    tcase_add_test(tcase, unknown_requester_gets_ur);
    tcase_add_test(tcase, hole_gets_ur);
    tcase_add_loop_test(tcase, three_hosts_in_a_row, 0, 8);
    tcase_add_loop_test(tcase, ring_goes_the_short_way, 0, 2);
    tcase_add_loop_test(tcase, random_cables_shortest_way, 0, 10);
    tcase_add_loop_test(tcase, aligned_range_takes_one_entry, 0, 2);
    tcase_add_loop_test(tcase, nonsense_is_refused, 0, 8);
    tcase_add_test(tcase, errors_name_the_place);
    tcase_add_test(tcase, requester_table_full);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
