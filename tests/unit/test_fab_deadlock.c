/* SPDX-License-Identifier: MIT */
/*
 * Invariant: requests that cross each other through roots and NTBs go on, in
 * whatever number, with one credit a buffer, one tag and one page walker, as
 * long as adapters and devices have root ports of their own. Where TLPs truly
 * wait for each other, the cycle is found, with the names of the elements,
 * while the rest of the fabric may go on; nowhere else.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_deadlock.h"
#include "fab_flow_dma.h"
#include "fab_lab.h"
#include "sim_random.h"
#include "../suite.h"

#define HOSTS_MOST   4
#define DEVICES_MOST 2
#define FLOWS_MOST   24
#define STEP         (200 * SIM_US)

static FabFabric *fabric;

static void setup(void)
{
    fabric = lab_fabric_new(3);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

/* A port whose receive buffer has room for one TLP of each class. */
static FabPortParams narrow_port(void)
{
    FabPortParams port = lab_port_params();

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        port.credits.header[cls] = 1;
        port.credits.data[cls] = 16; /* 256 bytes, the Max_Payload_Size */
    }
    port.dllp = FAB_DLLP_SPEC;
    return port;
}

/* A root with one tag for forwarded reads, one walker, one read of memory. */
static FabRoot *narrow_root(const char *name, unsigned ports, bool iommu,
                            uint32_t split_bytes)
{
    FabRootParams params = lab_root_params(iommu);
    FabPortParams port = narrow_port();
    FabRoot *root;

    params.forwarded_reads = 1;
    params.read_split_bytes = split_bytes;
    params.write_split_bytes = split_bytes;
    params.memory.reads = 1;
    params.iommu.iotlb_entries = 1;
    params.iommu.walks = 1;
    root = fab_root_new(fabric, name, &params);
    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *rp = g_strdup_printf("rp%u", i);

        fab_root_add_port(root, rp, &port);
    }
    return root;
}

static FabComponent *narrow_device(const char *host, unsigned number,
                                   uint32_t tags)
{
    g_autofree char *name = g_strdup_printf("%s.dev%u", host, number);
    FabPortParams port = narrow_port();
    FabEndpointParams params = lab_device_params();

    params.reads = tags;
    return fab_endpoint_component(
        fab_endpoint_new(fabric, name, &port, &params));
}

static FabComponent *narrow_ntb(const char *host, unsigned cables,
                                uint32_t tags)
{
    g_autofree char *name = g_strdup_printf("%s.ntb", host);
    FabPortParams port = narrow_port();
    FabNtbParams params = lab_ntb_params();

    params.tags = tags;
    return fab_ntb_component(
        fab_ntb_new(fabric, name, cables, &port, &port, &params));
}

static FabFlow *flow_new(const char *name, FabComponent *device,
                         FabTlpType direction, FabComponent *target,
                         uint64_t size_bytes, uint64_t count,
                         uint32_t outstanding)
{
    g_autoptr(GError) error = NULL;
    FabDmaFlowParams params = {
        .device = fab_component_as_endpoint(device),
        .direction = direction,
        .target = {.component = target, .bar = -1},
        .size_bytes = size_bytes,
        .count = count,
        .outstanding = outstanding,
    };
    FabFlow *flow = fab_dma_flow_new(fabric, name, 0, &params, &error);

    ck_assert_msg(flow, "%s", error ? error->message : "");
    return flow;
}

/* ---- What must go on -------------------------------------------------- */

typedef struct Mesh {
    unsigned hosts, devices;
    FabRoot *root[HOSTS_MOST];
    FabComponent *device[HOSTS_MOST][DEVICES_MOST];
} Mesh;

/* Hosts that have an adapter and devices, each at a root port of its own, and a
 * cable to every other host. */
static void mesh_make(Mesh *mesh, SimRandom *random)
{
    FabComponent *ntb[HOSTS_MOST];
    unsigned cable[HOSTS_MOST] = {0};

    mesh->hosts = 2 + sim_random_below(random, HOSTS_MOST - 1);
    mesh->devices = 1 + sim_random_below(random, DEVICES_MOST);
    for (unsigned i = 0; i < mesh->hosts; i++) {
        char name[] = {'a' + i, 0};
        bool iommu = sim_random_below(random, 2);
        uint32_t split = sim_random_below(random, 2) ? 64 : 0;
        uint32_t tags = 1 + sim_random_below(random, 3);

        mesh->root[i] = narrow_root(name, 1 + mesh->devices, iommu, split);
        ntb[i] = narrow_ntb(name, mesh->hosts - 1,
                            sim_random_below(random, 3) ? 0 : tags);
        lab_connect(fab_root_component(mesh->root[i]), 0, ntb[i], 0);
        for (unsigned j = 0; j < mesh->devices; j++) {
            mesh->device[i][j] = narrow_device(name, j, tags);
            lab_connect(fab_root_component(mesh->root[i]), 1 + j,
                        mesh->device[i][j], 0);
        }
    }
    for (unsigned i = 0; i < mesh->hosts; i++) {
        for (unsigned j = i + 1; j < mesh->hosts; j++) {
            lab_connect(ntb[i], ++cable[i], ntb[j], ++cable[j]);
        }
    }
    lab_realize(fabric);
}

static FabComponent *any_target(const Mesh *mesh, SimRandom *random,
                                const FabComponent *but)
{
    FabComponent *target;

    do {
        unsigned host = sim_random_below(random, mesh->hosts);
        unsigned which = sim_random_below(random, mesh->devices + 1);

        target = which == mesh->devices ? fab_root_component(mesh->root[host])
                                        : mesh->device[host][which];
    } while (target == but);
    return target;
}

START_TEST(crossing_requests_go_on)
{
    Mesh mesh = {0};
    SimRandom random;
    FabFlow *stuck = NULL, *flows[FLOWS_MOST];
    unsigned count;

    sim_random_init(&random, _i, "mesh");
    mesh_make(&mesh, &random);
    count = 4 + sim_random_below(&random, FLOWS_MOST - 3);
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("flow%02u", i);
        FabComponent *from =
            mesh.device[sim_random_below(&random, mesh.hosts)]
                       [sim_random_below(&random, mesh.devices)];

        flows[i] =
            flow_new(name, from,
                     sim_random_below(&random, 3) ? FAB_TLP_MRD : FAB_TLP_MWR,
                     any_target(&mesh, &random, from),
                     64u << sim_random_below(&random, 6), 20,
                     1 + sim_random_below(&random, 4));
    }
    if (!fab_flows_run(fabric, SIM_TIME_NONE, &stuck)) {
        g_autoptr(GArray) cycle = fab_deadlock_find(fabric);
        g_autofree char *text = cycle ? fab_deadlock_text(cycle) : NULL;

        ck_abort_msg("%s is stuck: %s", fab_flow_name(stuck), text);
    }
    for (unsigned i = 0; i < count; i++) {
        FabFlowResult result;

        ck_assert(fab_flow_is_done(flows[i]));
        fab_flow_result(flows[i], &result);
        ck_assert_uint_eq(result.operations, 20);
        ck_assert_uint_eq(result.failed, 0);
    }
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
}
END_TEST

/* ---- What cannot go on ------------------------------------------------ */

/* Hosts @a and @b, each with its adapter and its device below one switch that
 * redirects requests to the root, and one cable. */
static void tight_pair(FabRoot *root[2], FabComponent *device[2], const char *a,
                       const char *b)
{
    const char *const names[] = {a, b};
    FabComponent *ntb[2];

    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *name = g_strdup_printf("%s.sw", names[i]);
        FabPortParams port = narrow_port();
        FabComponent *sw = fab_switch_new(fabric, name, 2, &port, &port, true);

        root[i] = narrow_root(names[i], 1, true, 64);
        device[i] = narrow_device(names[i], 0, 32);
        ntb[i] = narrow_ntb(names[i], 1, 0);
        lab_connect(fab_root_component(root[i]), 0, sw, 0);
        lab_connect(sw, 1, device[i], 0);
        lab_connect(sw, 2, ntb[i], 0);
    }
    lab_connect(ntb[0], 1, ntb[1], 1);
}

static bool is_in(const GArray *cycle, FabWaitKind kind, const char *component)
{
    for (unsigned i = 0; i < cycle->len; i++) {
        const FabWaitStep *step = &g_array_index(cycle, FabWaitStep, i);

        if (step->kind == kind &&
            strcmp(fab_component_name(step->component), component) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * The reads of each device fill the only place for reads in its root, and wait
 * there for a tag. All tags of the root are held by reads that wait in the
 * other host for that same place.
 */
static void check_cycle(const GArray *cycle)
{
    g_autofree char *text = fab_deadlock_text(cycle);

    ck_assert(is_in(cycle, FAB_WAIT_FORWARD_TAG, "a"));
    ck_assert(is_in(cycle, FAB_WAIT_FORWARD_TAG, "b"));
    ck_assert(is_in(cycle, FAB_WAIT_CREDITS, "a.sw"));
    ck_assert(is_in(cycle, FAB_WAIT_CREDITS, "b.sw"));
    ck_assert_ptr_nonnull(
        strstr(text, "reads in a wait for one of its tags for reads through "
                     "rp0"));
    ck_assert_ptr_nonnull(strstr(
        text, "non-posted requests at b.sw.usp wait for credits of b, until"));
}

START_TEST(true_cycle_is_told)
{
    FabRoot *root[2];
    FabComponent *device[2];
    FabFlow *stuck = NULL;
    g_autoptr(GArray) cycle = NULL;

    tight_pair(root, device, "a", "b");
    lab_realize(fabric);
    flow_new("ab", device[0], FAB_TLP_MRD, device[1], 4096, 100, 4);
    flow_new("ba", device[1], FAB_TLP_MRD, device[0], 4096, 100, 4);
    ck_assert(!fab_flows_run(fabric, SIM_TIME_NONE, &stuck));
    ck_assert_str_eq(fab_flow_name(stuck), "ab");
    cycle = fab_deadlock_find(fabric);
    ck_assert_ptr_nonnull(cycle);
    check_cycle(cycle);
}
END_TEST

/* A third host goes on while the other two are stuck. Before that, and in the
 * third host alone, nothing is reported. */
START_TEST(partial_cycle_is_told)
{
    FabRoot *root[2], *other;
    FabComponent *device[2], *alone;
    bool told = false;

    tight_pair(root, device, "a", "b");
    other = narrow_root("c", 1, true, 64);
    alone = narrow_device("c", 0, 4);
    lab_connect(fab_root_component(other), 0, alone, 0);
    lab_realize(fabric);
    flow_new("local", alone, FAB_TLP_MRD, fab_root_component(other), 4096,
             1000000, 4);
    for (unsigned i = 1; i <= 20; i++) {
        g_autoptr(GArray) cycle = NULL;

        ck_assert(fab_flows_run(fabric, i * STEP, NULL));
        cycle = fab_deadlock_find(fabric);
        ck_assert_ptr_null(cycle);
    }
    flow_new("ab", device[0], FAB_TLP_MRD, device[1], 4096, 100, 4);
    flow_new("ba", device[1], FAB_TLP_MRD, device[0], 4096, 100, 4);
    for (unsigned i = 21; i <= 25; i++) {
        g_autoptr(GArray) cycle = NULL;

        ck_assert(fab_flows_run(fabric, i * STEP, NULL));
        cycle = fab_deadlock_find(fabric);
        if (cycle) {
            told = true;
            check_cycle(cycle);
        }
    }
    ck_assert(told);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_deadlock");
    TCase *tcase = tcase_create("deadlock");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, crossing_requests_go_on, 0, 60);
    tcase_add_test(tcase, true_cycle_is_told);
    tcase_add_test(tcase, partial_cycle_is_told);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
