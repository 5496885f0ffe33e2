/* SPDX-License-Identifier: MIT */
#include "bench_case.h"

#include <malloc.h>

#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_route.h"
#include "fab_root.h"
#include "fab_switch.h"

/*
 * TLP-hops (links crossed) of the whole model per second of processor time.
 * Each case builds a fabric of 8.0GT/s x8 links with finite credits and
 * DLLPs, and keeps its endpoints busy. It begins to count when the links are
 * busy.
 */

#define WARM_UP (100 * SIM_US)
#define SLICE   (20 * SIM_US)

#define IOTLB_LOADS 8
#define HOSTS_FEW   4
#define HOSTS_MANY  8192

/* 8,192 hosts cross nearly a million links in a microsecond. */
#define RING_WARM_UP (5 * SIM_US)
#define RING_SLICE   (1 * SIM_US)
#define MIB          (UINT64_C(1) << 20)
#define PAGE_BYTES   4096

/* A transfer that an endpoint's DMA engine repeats. The engine always has two
 * of them, so it never runs dry. */
typedef struct Load {
    FabDma dma;
    FabEndpoint *device;
    FabBusAddr base;
    uint64_t offset, step_bytes, span_bytes;
} Load;

/* A fabric under construction. `error` is the first error. */
typedef struct Lab {
    SimEngine *engine;
    FabFabric *fabric;
    GError *error;
    GPtrArray *loads; /* of Load */
    SimTime warm_up, slice;
} Lab;

static Lab *lab_new(void)
{
    Lab *lab = g_new0(Lab, 1);

    lab->engine = sim_engine_new();
    lab->fabric = fab_fabric_new(lab->engine, 1);
    lab->loads = g_ptr_array_new_with_free_func(g_free);
    lab->warm_up = WARM_UP;
    lab->slice = SLICE;
    return lab;
}

static void lab_free(Lab *lab)
{
    fab_fabric_free(lab->fabric);
    sim_engine_free(lab->engine);
    g_clear_error(&lab->error);
    g_ptr_array_unref(lab->loads);
    g_free(lab);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lab, lab_free)

static const FabPortParams port_params = {
    .max_speed = FAB_SPEED_8_0GT,
    .max_width = 8,
    .mps_bytes = 256,
    .credits = {.header = {32, 32, 32}, .data = {256, 32, 256}},
    .latency = 100 * SIM_NS,
};

static const FabRootParams root_params = {
    .transit = 100 * SIM_NS,
    .read_split_bytes = 64,
    .forwarded_reads = 32,
    .rcb_bytes = 64,
    .completion_bytes = 256,
    .memory = {.size_bytes = UINT64_C(16) << 30,
               .latency = 100 * SIM_NS,
               .bandwidth_bytes_s = UINT64_C(64000000000),
               .reads = 64},
    .iommu = {.iotlb_entries = 64,
              .hit = 10 * SIM_NS,
              .walk = 280 * SIM_NS,
              .walks = 6,
              .page_bytes = PAGE_BYTES},
    .mmio = {.low_base = 0x80000000,
             .low_size = 0x70000000,
             .high_base = UINT64_C(1) << 40,
             .high_size = UINT64_C(1) << 40,
             .above_4g_bytes = UINT64_C(1) << 30},
    .cpu = {.mmio_write = 10 * SIM_NS, .mmio_reads = 8},
};

static const FabEndpointParams device_params = {
    .bars = {{.size_bytes = MIB}},
    .write_bytes = 256,
    .read_bytes = 4096,
    .reads = 64,
    .tags = 256,
    .completer_latency = 100 * SIM_NS,
};

static const FabNtbParams ntb_params = {
    .window_bytes = UINT64_C(256) << 20,
    .entries = 256,
    .requesters = 32,
};

/* ---- Building -------------------------------------------------------- */

static FabRoot *lab_root(Lab *lab, const char *name, unsigned ports, bool iommu)
{
    FabRootParams params = root_params;
    FabRoot *root;

    params.iommu.enabled = iommu;
    root = fab_root_new(lab->fabric, name, &params);
    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *port = g_strdup_printf("rp%u", i);

        fab_root_add_port(root, port, &port_params);
    }
    return root;
}

static void lab_connect(Lab *lab, FabComponent *a, unsigned i, FabComponent *b,
                        unsigned j)
{
    if (!lab->error) {
        fab_fabric_connect(a, i, b, j, 0, 0, 5 * SIM_NS, &lab->error);
    }
}

/* Makes an endpoint named @name below port @port of @above. */
static FabEndpoint *lab_device(Lab *lab, const char *name, FabComponent *above,
                               unsigned port, uint32_t write_bytes)
{
    FabEndpointParams params = device_params;
    FabEndpoint *device;

    params.write_bytes = write_bytes;
    device = fab_endpoint_new(lab->fabric, name, &port_params, &params);
    lab_connect(lab, above, port, fab_endpoint_component(device), 0);
    return device;
}

/* Makes an adapter with one cable below port @port of @above. */
static FabComponent *lab_ntb(Lab *lab, const char *name, FabComponent *above,
                             unsigned port)
{
    FabComponent *ntb = fab_ntb_component(fab_ntb_new(
        lab->fabric, name, 1, &port_params, &port_params, &ntb_params));

    lab_connect(lab, above, port, ntb, 0);
    return ntb;
}

/* Makes a chain of @count switches and returns the last one, which has
 * @downstream ports. */
static FabComponent *lab_chain(Lab *lab, FabRoot *root, unsigned count,
                               unsigned downstream)
{
    FabComponent *above = fab_root_component(root);

    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("host.sw%u", i);
        FabComponent *sw =
            fab_switch_new(lab->fabric, name, i == count - 1 ? downstream : 1,
                           &port_params, &port_params, false);

        lab_connect(lab, above, i > 0, sw, 0);
        above = sw;
    }
    return above;
}

static void lab_realize(Lab *lab)
{
    if (!lab->error) {
        fab_fabric_realize(lab->fabric, &lab->error);
    }
}

static void load_again(FabDma *dma)
{
    Load *load = dma->owner;

    load->offset = (load->offset + load->step_bytes) % load->span_bytes;
    dma->addr = load->base + load->offset;
    fab_endpoint_dma(load->device, dma);
}

/* Makes @device access the @span_bytes at @addr of @target with TLPs of @type,
 * in operations of @size_bytes. */
static void lab_load(Lab *lab, FabEndpoint *device, FabTlpType type,
                     FabComponent *target, FabBusAddr addr, uint64_t span_bytes,
                     uint64_t size_bytes)
{
    FabBusAddr base;

    if (lab->error || !fab_route_map(fab_endpoint_component(device), target,
                                     addr, span_bytes, &base, &lab->error)) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        Load *load = g_new(Load, 1);

        g_ptr_array_add(lab->loads, load);
        *load = (Load){
            .dma = {.type = type,
                    .size_bytes = size_bytes,
                    .done = load_again,
                    .owner = load},
            .device = device,
            .base = base,
            .offset = i * span_bytes / 2,
            .step_bytes = size_bytes,
            .span_bytes = span_bytes,
        };
        load->dma.addr = base + load->offset;
    }
}

/* Like lab_load(), for memory that is allocated from @root. */
static void lab_load_memory(Lab *lab, FabEndpoint *device, FabTlpType type,
                            FabRoot *root, uint64_t span_bytes,
                            uint64_t size_bytes)
{
    FabBusAddr addr = 0;

    if (lab->error) {
        return;
    }
    if (!fab_root_alloc(root, span_bytes, MIB, &addr)) {
        g_set_error(&lab->error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "there is no room for %" G_GUINT64_FORMAT " bytes",
                    span_bytes);
        return;
    }
    lab_load(lab, device, type, fab_root_component(root), addr, span_bytes,
             size_bytes);
}

/* ---- Measuring ------------------------------------------------------- */

/* Starts all transfers and runs until the links are busy. */
static bool lab_start(Lab *lab, GError **error)
{
    if (lab->error) {
        g_propagate_error(error, g_steal_pointer(&lab->error));
        return false;
    }
    for (unsigned i = 0; i < lab->loads->len; i++) {
        Load *load = lab->loads->pdata[i];

        fab_endpoint_dma(load->device, &load->dma);
    }
    sim_engine_run_until(lab->engine, lab->warm_up);
    return true;
}

/* Runs until at least @hops more links have been crossed. *ret_hops is the
 * exact number, *ret_seconds the processor time. */
static bool lab_run(Lab *lab, uint64_t hops, uint64_t *ret_hops,
                    double *ret_seconds, GError **error)
{
    uint64_t begin = fab_fabric_tlp_hops(lab->fabric);
    double start = bench_thread_seconds();

    do {
        if (sim_engine_pending(lab->engine) == 0) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "the traffic has stopped");
            return false;
        }
        sim_engine_run_until(lab->engine,
                             sim_engine_now(lab->engine) + lab->slice);
        *ret_hops = fab_fabric_tlp_hops(lab->fabric) - begin;
    } while (*ret_hops < hops);
    *ret_seconds = bench_thread_seconds() - start;
    return true;
}

/* Starts and runs. The rate is in million hops per second. */
static bool lab_rate(Lab *lab, uint64_t hops, double *ret_rate, GError **error)
{
    double seconds;
    uint64_t done;

    if (!lab_start(lab, error) || !lab_run(lab, hops, &done, &seconds, error)) {
        return false;
    }
    *ret_rate = (double)done / seconds / 1e6;
    return true;
}

/* ---- Cases ----------------------------------------------------------- */

static bool stream_rate(unsigned switches, double *ret_rate, GError **error)
{
    g_autoptr(Lab) lab = lab_new();
    FabRoot *root = lab_root(lab, "host", 1, false);
    FabComponent *last = lab_chain(lab, root, switches, 1);
    FabEndpoint *device = lab_device(lab, "host.dev", last, 1, 256);

    lab_realize(lab);
    lab_load_memory(lab, device, FAB_TLP_MWR, root, 4 * MIB, 64 << 10);
    return lab_rate(lab, 1500000, ret_rate, error);
}

static bool run_stream(const BenchCase *bench, const BenchSetup *setup,
                       double *ret_figures, GError **error)
{
    if (!stream_rate(3, &ret_figures[0], error) ||
        !stream_rate(15, &ret_figures[1], error)) {
        return false;
    }
    ret_figures[2] = ret_figures[0] / ret_figures[1];
    return true;
}

static bool run_senders(const BenchCase *bench, const BenchSetup *setup,
                        double *ret_figures, GError **error)
{
    static const uint32_t sizes[] = {256, 64, 128, 32, 256, 16, 192, 8};
    g_autoptr(Lab) lab = lab_new();
    FabRoot *root = lab_root(lab, "host", 1, false);
    FabComponent *sw = lab_chain(lab, root, 1, G_N_ELEMENTS(sizes));
    FabEndpoint *devices[G_N_ELEMENTS(sizes)];

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autofree char *name = g_strdup_printf("host.dev%u", i);

        devices[i] = lab_device(lab, name, sw, 1 + i, sizes[i]);
    }
    lab_realize(lab);
    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        lab_load_memory(lab, devices[i], FAB_TLP_MWR, root, 4 * MIB, 64 << 10);
    }
    return lab_rate(lab, 1000000, ret_figures, error);
}

static bool run_reads(const BenchCase *bench, const BenchSetup *setup,
                      double *ret_figures, GError **error)
{
    g_autoptr(Lab) lab = lab_new();
    FabRoot *root = lab_root(lab, "host", 1, false);
    FabComponent *last = lab_chain(lab, root, 3, 1);
    FabEndpoint *device = lab_device(lab, "host.dev", last, 1, 256);

    lab_realize(lab);
    lab_load_memory(lab, device, FAB_TLP_MRD, root, 4 * MIB, 64 << 10);
    return lab_rate(lab, 1000000, ret_figures, error);
}

static bool run_split(const BenchCase *bench, const BenchSetup *setup,
                      double *ret_figures, GError **error)
{
    g_autoptr(Lab) lab = lab_new();
    FabRoot *root = lab_root(lab, "host", 2, false);
    FabComponent *component = fab_root_component(root);
    FabEndpoint *reader = lab_device(lab, "host.dev0", component, 0, 256);
    FabEndpoint *peer = lab_device(lab, "host.dev1", component, 1, 256);
    FabComponent *target = fab_endpoint_component(peer);

    lab_realize(lab);
    lab_load(lab, reader, FAB_TLP_MRD, target,
             fab_component_bars(target)[0].addr, MIB, 64 << 10);
    return lab_rate(lab, 1000000, ret_figures, error);
}

/* Each read goes to another page. There are four times as many pages as IOTLB
 * entries. */
static bool run_iotlb(const BenchCase *bench, const BenchSetup *setup,
                      double *ret_figures, GError **error)
{
    g_autoptr(Lab) lab = lab_new();
    FabRoot *root = lab_root(lab, "host", 1, true);
    FabComponent *component = fab_root_component(root);
    FabEndpoint *device = lab_device(lab, "host.dev", component, 0, 256);
    const FabIommuCounters *counters = fab_root_iommu_counters(root);
    uint64_t pages = 4 * root_params.iommu.iotlb_entries;
    uint64_t hops, misses;
    double seconds;

    lab_realize(lab);
    for (unsigned i = 0; i < IOTLB_LOADS; i++) {
        lab_load_memory(lab, device, FAB_TLP_MRD, root,
                        pages * PAGE_BYTES / IOTLB_LOADS, 64);
    }
    for (unsigned i = 0; i < lab->loads->len; i++) {
        ((Load *)lab->loads->pdata[i])->step_bytes = PAGE_BYTES;
    }
    if (!lab_start(lab, error)) {
        return false;
    }
    misses = counters->misses;
    if (!lab_run(lab, 500000, &hops, &seconds, error)) {
        return false;
    }
    ret_figures[0] = (double)hops / seconds / 1e6;
    ret_figures[1] = (double)(counters->misses - misses) / seconds / 1e6;
    return true;
}

/* Measures the hops per second of @type to memory behind a pair of adapters. */
static bool ntb_rate(FabTlpType type, double *ret_rate, GError **error)
{
    g_autoptr(Lab) lab = lab_new();
    FabRoot *near = lab_root(lab, "near", 1, false);
    FabRoot *far = lab_root(lab, "far", 1, false);
    FabComponent *sw = fab_switch_new(lab->fabric, "near.sw", 2, &port_params,
                                      &port_params, false);
    FabEndpoint *device = lab_device(lab, "near.dev", sw, 1, 256);
    FabComponent *here = lab_ntb(lab, "near.ntb", sw, 2);
    FabComponent *there = lab_ntb(lab, "far.ntb", fab_root_component(far), 0);

    lab_connect(lab, fab_root_component(near), 0, sw, 0);
    lab_connect(lab, here, 1, there, 1);
    lab_realize(lab);
    lab_load_memory(lab, device, type, far, 4 * MIB, 64 << 10);
    return lab_rate(lab, 1000000, ret_rate, error);
}

static bool run_ntb(const BenchCase *bench, const BenchSetup *setup,
                    double *ret_figures, GError **error)
{
    return ntb_rate(FAB_TLP_MWR, &ret_figures[0], error) &&
           ntb_rate(FAB_TLP_MRD, &ret_figures[1], error);
}

/* Measures the cost of a hop in a ring of @hosts that each write to the next
 * one's memory, in ns, and the memory of the whole simulation in MiB. */
static bool ring_cost(unsigned hosts, uint64_t hops, double *ret_cost,
                      double *ret_memory, GError **error)
{
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    g_autoptr(Lab) lab = lab_new();
    g_autofree FabRoot **roots = g_new(FabRoot *, hosts);
    g_autofree FabEndpoint **devices = g_new(FabEndpoint *, hosts);
    g_autofree FabComponent **adapters = g_new(FabComponent *, hosts);
    double rate;

    lab->warm_up = RING_WARM_UP;
    lab->slice = RING_SLICE;
    for (unsigned i = 0; i < hosts; i++) {
        g_autofree char *name = g_strdup_printf("h%u", i);
        g_autofree char *device = g_strdup_printf("h%u.dev", i);
        g_autofree char *adapter = g_strdup_printf("h%u.ntb", i);

        roots[i] = lab_root(lab, name, 2, false);
        devices[i] =
            lab_device(lab, device, fab_root_component(roots[i]), 0, 256);
        adapters[i] = fab_ntb_component(fab_ntb_new(
            lab->fabric, adapter, 2, &port_params, &port_params, &ntb_params));
        lab_connect(lab, fab_root_component(roots[i]), 1, adapters[i], 0);
    }
    for (unsigned i = 0; i < hosts; i++) {
        lab_connect(lab, adapters[i], 1, adapters[(i + 1) % hosts], 2);
    }
    lab_realize(lab);
    for (unsigned i = 0; i < hosts; i++) {
        lab_load_memory(lab, devices[i], FAB_TLP_MWR, roots[(i + 1) % hosts],
                        MIB, 64 << 10);
    }
    if (!lab_rate(lab, hops, &rate, error)) {
        return false;
    }
    *ret_cost = 1000 / rate;
    *ret_memory =
        (double)(mallinfo2().uordblks + mallinfo2().hblkhd - before) / MIB;
    return true;
}

static bool run_hosts(const BenchCase *bench, const BenchSetup *setup,
                      double *ret_figures, GError **error)
{
    double memory;

    if (!ring_cost(HOSTS_FEW, 1500000, &ret_figures[0], &memory, error) ||
        !ring_cost(HOSTS_MANY, 8000000, &ret_figures[1], &ret_figures[3],
                   error)) {
        return false;
    }
    ret_figures[2] = ret_figures[1] / ret_figures[0];
    return true;
}

#define HOPS "Mhop/s"

const BenchCase bench_model_cases[] = {
    {"model/stream",
     "256 B writes through 3 switches and through 15",
     run_stream,
     NULL,
     NULL,
     {{"through-3", HOPS, BENCH_AT_LEAST, 5, false},
      {"through-15", HOPS, BENCH_AT_LEAST, 5, false},
      {"hop-cost-ratio", "", BENCH_AT_MOST, 1.5, true},
      BENCH_NO_METRIC}},
    {"model/senders",
     "eight senders of mixed sizes into one port",
     run_senders,
     NULL,
     NULL,
     {{"speed", HOPS, BENCH_AT_LEAST, 2.5, false}, BENCH_NO_METRIC}},
    {"model/reads",
     "reads of 4 KiB through 3 switches",
     run_reads,
     NULL,
     NULL,
     {{"speed", HOPS, BENCH_NO_BOUND, 0, false}, BENCH_NO_METRIC}},
    {"model/split-reads",
     "reads of 4 KiB from a peer, split into 64 B by the root",
     run_split,
     NULL,
     NULL,
     {{"speed", HOPS, BENCH_NO_BOUND, 0, false}, BENCH_NO_METRIC}},
    {"model/iotlb",
     "reads of 64 B that miss the IOTLB",
     run_iotlb,
     NULL,
     NULL,
     {{"speed", HOPS, BENCH_NO_BOUND, 0, false},
      {"misses", "M/s", BENCH_NO_BOUND, 0, false},
      BENCH_NO_METRIC}},
    {"model/ntb",
     "writes of 256 B and reads of 4 KiB through a pair of NTBs",
     run_ntb,
     NULL,
     NULL,
     {{"writes", HOPS, BENCH_NO_BOUND, 0, false},
      {"reads", HOPS, BENCH_NO_BOUND, 0, false},
      BENCH_NO_METRIC}},
    {"model/hosts",
     "4 hosts and 8,192 that each write 256 B a TLP to the next one",
     run_hosts,
     NULL,
     NULL,
     {{"hop-of-4", "ns", BENCH_NO_BOUND, 0, false},
      {"hop-of-8192", "ns", BENCH_NO_BOUND, 0, false},
      {"hop-cost-ratio", "", BENCH_NO_BOUND, 0, true},
      {"memory", "MiB", BENCH_AT_MOST, 2048, false},
      BENCH_NO_METRIC}},
    BENCH_NO_CASE,
};
