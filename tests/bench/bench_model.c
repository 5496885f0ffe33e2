/* SPDX-License-Identifier: MIT */
/*
 * How many TLP-hops (links crossed) a second the whole model does: a stream of
 * 256 B writes through a chain of switches, and eight senders of mixed sizes
 * into one port.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fab_device.h"
#include "fab_root.h"
#include "fab_switch.h"

#define RUNS 5

static const FabCredits port_credits = {
    .header = {32, 32, 32},
    .data = {256, 32, 256},
};

static FabPortParams port_params(FabSpeed speed, uint32_t width)
{
    return (FabPortParams){
        .max_speed = speed,
        .max_width = width,
        .mps_bytes = 256,
        .credits = port_credits,
        .latency = 100 * SIM_NS,
    };
}

static const FabRootParams root_params = {
    .transit = 100 * SIM_NS,
    .forwarded_reads = 32,
    .rcb_bytes = 64,
    .completion_bytes = 256,
    .memory = {.size_bytes = 16ull << 30,
               .latency = 100 * SIM_NS,
               .bandwidth_bytes_s = 64000000000,
               .reads = 64},
    .mmio = {.low_base = 0x80000000,
             .low_size = 0x70000000,
             .high_base = 1ull << 40,
             .high_size = 1ull << 40,
             .above_4g_bytes = 1ull << 30},
    .core = {.mmio_write = 10 * SIM_NS, .mmio_reads = 8},
};

static FabDeviceParams device_params(uint32_t write_bytes)
{
    return (FabDeviceParams){
        .bars = {{.size_bytes = 1 << 20}},
        .write_bytes = write_bytes,
        .read_bytes = 256,
        .reads = 32,
        .tags = 256,
    };
}

static void dma_again(FabDma *dma)
{
    dma->addr ^= 1 << 20;
    fab_device_dma(dma->owner, dma);
}

static void connect_or_die(FabComponent *a, unsigned i, FabComponent *b,
                           unsigned j)
{
    g_autoptr(GError) error = NULL;

    if (!fab_fabric_connect(a, i, b, j, 0, 0, 5 * SIM_NS, &error)) {
        g_error("%s", error->message);
    }
}

static double run(FabFabric *fabric, SimEngine *engine, uint64_t hops)
{
    uint64_t begin_hops;
    gint64 begin;

    sim_engine_run_until(engine, 100 * SIM_US);
    begin_hops = fab_fabric_tlp_hops(fabric);
    begin = g_get_monotonic_time();
    while (fab_fabric_tlp_hops(fabric) - begin_hops < hops) {
        sim_engine_run_until(engine, sim_engine_now(engine) + 50 * SIM_US);
    }
    return (fab_fabric_tlp_hops(fabric) - begin_hops) /
           (double)(g_get_monotonic_time() - begin);
}

/* @count devices below the last of a chain of @switches switches. */
static double measure(unsigned switches, unsigned count, uint64_t hops)
{
    static const uint32_t sizes[] = {256, 64, 128, 32, 256, 16, 192, 8};
    g_autoptr(SimEngine) engine = sim_engine_new();
    g_autoptr(FabFabric) fabric = fab_fabric_new(engine, 1);
    g_autoptr(GError) error = NULL;
    FabPortParams port = port_params(FAB_SPEED_8_0GT, 8);
    FabRoot *root = fab_root_new(fabric, "host", &root_params);
    FabComponent *above = fab_root_component(root);
    FabDma *dmas = g_new0(FabDma, 2 * count);
    unsigned above_port = 0;
    double rate;

    fab_root_add_port(root, "rp0", &port);
    for (unsigned i = 0; i < switches; i++) {
        g_autofree char *name = g_strdup_printf("host.sw%u", i);
        FabComponent *sw = fab_switch_new(
            fabric, name, i == switches - 1 ? count : 1, &port, &port, false);

        connect_or_die(above, above_port, sw, 0);
        above = sw;
        above_port = 1;
    }
    for (unsigned i = 0; i < count; i++) {
        g_autofree char *name = g_strdup_printf("host.dev%u", i);
        FabDeviceParams params =
            device_params(count == 1 ? 256 : sizes[i % G_N_ELEMENTS(sizes)]);
        FabDevice *device = fab_device_new(fabric, name, &port, &params);

        connect_or_die(above, above_port + i, fab_device_component(device), 0);
        for (unsigned j = 0; j < 2; j++) {
            dmas[2 * i + j] = (FabDma){.type = FAB_TLP_MWR,
                                       .addr = (8 * i + 2 * j + 1) << 20,
                                       .size_bytes = 64 << 10,
                                       .done = dma_again,
                                       .owner = device};
        }
    }
    if (!fab_fabric_realize(fabric, &error)) {
        g_error("%s", error->message);
    }
    for (unsigned i = 0; i < 2 * count; i++) {
        fab_device_dma(dmas[i].owner, &dmas[i]);
    }
    rate = run(fabric, engine, hops);
    g_free(dmas);
    return rate;
}

static int compare_rates(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static double median(unsigned switches, unsigned count, uint64_t hops)
{
    double rates[RUNS];

    for (unsigned i = 0; i < RUNS; i++) {
        rates[i] = measure(switches, count, hops);
    }
    qsort(rates, RUNS, sizeof(rates[0]), compare_rates);
    return rates[RUNS / 2];
}

int main(int argc, char **argv)
{
    uint64_t hops = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    double few = median(3, 1, hops), many = median(15, 1, hops);

    printf("tlp_hops stream=3_switches million_s=%.2f\n", few);
    printf("tlp_hops stream=15_switches million_s=%.2f cost_ratio=%.2f\n", many,
           few / many);
    printf("tlp_hops stream=8_into_1 million_s=%.2f\n", median(1, 8, hops));
    return 0;
}
