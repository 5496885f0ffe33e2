/* SPDX-License-Identifier: MIT */
#include "fab_lab.h"

#include <check.h>
#include <math.h>

FabFabric *lab_fabric_new(uint64_t seed)
{
    return fab_fabric_new(sim_engine_new(), seed);
}

void lab_fabric_free(FabFabric *fabric)
{
    SimEngine *engine = fab_fabric_engine(fabric);

    fab_fabric_free(fabric);
    sim_engine_free(engine);
}

FabPortParams lab_port_params(void)
{
    FabPortParams params = {
        .max_speed = FAB_SPEED_8_0GT,
        .max_width = 8,
        .mps_bytes = 256,
        .dllp = FAB_DLLP_FREE,
        .latency = LAB_LATENCY,
    };

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        params.credits.header[cls] = FAB_CREDITS_INFINITE;
        params.credits.data[cls] = FAB_CREDITS_INFINITE;
    }
    return params;
}

FabRootParams lab_root_params(bool iommu)
{
    return (FabRootParams){
        .transit = 200 * SIM_NS,
        .read_split_bytes = 64,
        .forwarded_reads = 16,
        .rcb_bytes = 64,
        .completion_bytes = 256,
        .memory = {.size_bytes = UINT64_C(16) << 30,
                   .latency = 80 * SIM_NS,
                   .bandwidth_bytes_s = UINT64_C(64000000000),
                   .reads = 64},
        .iommu = {.enabled = iommu,
                  .iotlb_entries = 64,
                  .hit = 10 * SIM_NS,
                  .walk = 200 * SIM_NS,
                  .walks = 4,
                  .page_bytes = 4096},
        .mmio = {.low_base = 0x40000000,
                 .low_size = 0x80000000,
                 .high_base = UINT64_C(1) << 40,
                 .high_size = UINT64_C(1) << 40,
                 .above_4g_bytes = UINT64_C(128) << 20},
        .cpu = {.mmio_write = 10 * SIM_NS,
                .mmio_reads = 4,
                .poll = 100 * SIM_NS},
    };
}

FabEndpointParams lab_device_params(void)
{
    return (FabEndpointParams){
        .bars = {[0] = {.size_bytes = 1 << 20},
                 [2] = {.size_bytes = 16 << 20,
                        .prefetchable = true,
                        .is_64bit = true}},
        .write_bytes = 256,
        .read_bytes = 512,
        .reads = 32,
        .tags = 256,
        .completer_latency = 150 * SIM_NS,
    };
}

FabNtbParams lab_ntb_params(void)
{
    return (FabNtbParams){
        .window_bytes = 256 << 20,
        .entries = 64,
        .requesters = 32,
        .bars = {[0] = {.size_bytes = 1 << 16}},
    };
}

FabRoot *lab_root(FabFabric *fabric, const char *name, unsigned ports,
                  bool iommu)
{
    FabRootParams params = lab_root_params(iommu);
    FabPortParams port = lab_port_params();
    FabRoot *root = fab_root_new(fabric, name, &params);

    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *rp = g_strdup_printf("rp%u", i);

        fab_root_add_port(root, rp, &port);
    }
    return root;
}

FabComponent *lab_device(FabFabric *fabric, const char *name)
{
    FabPortParams port = lab_port_params();
    FabEndpointParams params = lab_device_params();

    return fab_endpoint_component(
        fab_endpoint_new(fabric, name, &port, &params));
}

FabComponent *lab_switch(FabFabric *fabric, const char *name, unsigned ports)
{
    FabPortParams port = lab_port_params();

    return fab_switch_new(fabric, name, ports, &port, &port, false);
}

FabComponent *lab_ntb(FabFabric *fabric, const char *name, unsigned cables)
{
    FabPortParams port = lab_port_params();
    FabNtbParams params = lab_ntb_params();

    return fab_ntb_component(
        fab_ntb_new(fabric, name, cables, &port, &port, &params));
}

void lab_connect(FabComponent *a, unsigned i, FabComponent *b, unsigned j)
{
    g_autoptr(GError) error = NULL;

    if (!fab_fabric_connect(a, i, b, j, 0, 0, LAB_PROPAGATION, &error)) {
        g_error("%s", error->message);
    }
}

void lab_realize(FabFabric *fabric)
{
    g_autoptr(GError) error = NULL;

    if (!fab_fabric_realize(fabric, &error)) {
        g_error("%s", error->message);
    }
}

static void dma_done(FabDma *dma)
{
    *(bool *)dma->owner = true;
}

FabStatus lab_dma(FabComponent *device, FabTlpType type, FabBusAddr addr,
                  uint64_t size_bytes)
{
    bool done = false;
    FabDma dma = {
        .type = type,
        .addr = addr,
        .size_bytes = size_bytes,
        .done = dma_done,
        .owner = &done,
    };

    fab_endpoint_dma(fab_component_as_endpoint(device), &dma);
    sim_engine_run(fab_fabric_engine(fab_component_fabric(device)));
    g_assert(done);
    return dma.status;
}

void lab_check_near(double got, double expected, double share)
{
    ck_assert_msg(fabs(got - expected) <= share * expected,
                  "got %.9g, expected %.9g", got, expected);
}
