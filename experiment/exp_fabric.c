/* SPDX-License-Identifier: MIT */
#include "exp_fabric.h"

#include <string.h>

#include "exp_lend.h"
#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

struct ExpFabric {
    const TopoDescription *description;
    SimEngine *engine;
    FabFabric *fabric;
};

/* ---- Parts to parameters ---------------------------------------------- */

static FabSpeed speed_of(unsigned mtps)
{
    static const unsigned rates[] = {2500, 5000, 8000, 16000, 32000};

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        if (mtps == rates[i]) {
            return FAB_SPEED_2_5GT + i;
        }
    }
    g_assert_not_reached();
}

static uint32_t credits_of(const TopoPart *part, const char *key)
{
    int64_t credits = topo_part_credits(part, key);

    return credits == TOPO_CREDITS_INFINITE ? FAB_CREDITS_INFINITE
                                            : (uint32_t)credits;
}

static FabArbitration arbitration_of(const char *word)
{
    if (strcmp(word, "weighted-round-robin") == 0) {
        return FAB_ARBITRATION_WEIGHTED;
    }
    return strcmp(word, "oldest-first") == 0 ? FAB_ARBITRATION_OLDEST
                                             : FAB_ARBITRATION_ROUND_ROBIN;
}

static FabDllpPolicy dllp_of(const char *word)
{
    if (strcmp(word, "each") == 0) {
        return FAB_DLLP_EACH;
    }
    return strcmp(word, "free") == 0 ? FAB_DLLP_FREE : FAB_DLLP_SPEC;
}

/* What the ports of every kind of part have in common. */
static FabPortParams port_params(const TopoPart *part, unsigned speed_mtps,
                                 unsigned width)
{
    FabPortParams params = {
        .max_speed = speed_of(speed_mtps),
        .max_width = width,
        .mps_bytes = topo_part_bytes(part, "mps"),
        .credits =
            {
                .header = {credits_of(part, "buffers.ph"),
                           credits_of(part, "buffers.nph"),
                           credits_of(part, "buffers.cplh")},
                .data = {credits_of(part, "buffers.pd"),
                         credits_of(part, "buffers.npd"),
                         credits_of(part, "buffers.cpld")},
            },
        .credit_latency = topo_part_time(part, "buffers.latency"),
        .dllp = dllp_of(topo_part_text(part, "dllp")),
        .arbitration = FAB_ARBITRATION_ROUND_ROBIN,
    };
    TopoPartKind kind = topo_part_kind(part);

    if (kind == TOPO_PART_SWITCH || kind == TOPO_PART_NTB) {
        params.latency = topo_part_time(part, "latency");
    }
    if (kind != TOPO_PART_CPU && topo_part_has(part, "service.beat")) {
        params.service.beat_bytes = topo_part_bytes(part, "service.beat");
        params.service.gap_beats = topo_part_int(part, "service.gap");
        params.service.beat_ps = topo_part_time(part, "service.clock");
        if (topo_part_has(part, "service.width")) {
            params.service.width = topo_part_width(part, "service.width");
        }
    }
    return params;
}

static FabRootParams root_params(const TopoPart *part, bool iommu)
{
    return (FabRootParams){
        .transit = topo_part_time(part, "transit"),
        .read_split_bytes = topo_part_bytes(part, "read_split"),
        .write_split_bytes = topo_part_bytes(part, "write_split"),
        .forwarded_reads = topo_part_int(part, "forwarded_reads"),
        .rcb_bytes = topo_part_bytes(part, "rcb"),
        .completion_bytes = topo_part_bytes(part, "completion_size"),
        .memory =
            {
                .size_bytes = topo_part_bytes(part, "memory.size"),
                .latency = topo_part_time(part, "memory.latency"),
                .bandwidth_bytes_s = topo_part_rate(part, "memory.bandwidth"),
                .reads = topo_part_int(part, "memory.reads"),
            },
        .iommu =
            {
                .enabled = iommu,
                .iotlb_entries = topo_part_int(part, "iommu.iotlb_entries"),
                .iotlb_ways = topo_part_int(part, "iommu.iotlb_ways"),
                .hit = topo_part_time(part, "iommu.hit"),
                .walk = topo_part_time(part, "iommu.walk"),
                .walks = topo_part_int(part, "iommu.walks"),
                .page_bytes = topo_part_bytes(part, "iommu.page"),
            },
        .mmio =
            {
                .low_base = topo_part_address(part, "mmio.low_base"),
                .low_size = topo_part_bytes(part, "mmio.low_size"),
                .high_base = topo_part_address(part, "mmio.high_base"),
                .high_size = topo_part_bytes(part, "mmio.high_size"),
                .above_4g_bytes = topo_part_bytes(part, "mmio.above_4g"),
            },
        .cpu =
            {
                .mmio_write = topo_part_time(part, "core.mmio_write"),
                .mmio_reads = topo_part_int(part, "core.mmio_reads"),
                .interrupt = topo_part_time(part, "core.interrupt"),
                .poll = topo_part_time(part, "core.poll"),
            },
    };
}

static void bars_of(const TopoPart *part, FabBar *bars)
{
    unsigned count;
    const TopoBar *from = topo_part_bars(part, &count);

    for (unsigned i = 0; i < count; i++) {
        bars[from[i].number] = (FabBar){
            .size_bytes = from[i].size_bytes,
            .prefetchable = from[i].prefetchable,
            .is_64bit = from[i].address_bits == 64,
        };
    }
}

static FabEndpointParams device_params(const TopoPart *part)
{
    FabEndpointParams params = {
        .write_bytes = topo_part_bytes(part, "dma.write_size"),
        .read_bytes = MIN(topo_part_bytes(part, "dma.read_size"),
                          topo_part_bytes(part, "mrrs")),
        .reads = topo_part_int(part, "dma.reads"),
        .tags = topo_part_int(part, "tags"),
        .read_latency = topo_part_time(part, "dma.read_latency"),
        .write_latency = topo_part_time(part, "dma.write_latency"),
        .relaxed_ordering = topo_part_bool(part, "relaxed_ordering"),
        .id_ordering = topo_part_bool(part, "id_ordering"),
        .ecrc = topo_part_bool(part, "ecrc"),
        .completer_latency = topo_part_time(part, "completer.latency"),
    };

    if (topo_part_has(part, "completer.bandwidth")) {
        params.completer_bandwidth_bytes_s =
            topo_part_rate(part, "completer.bandwidth");
    }
    bars_of(part, params.bars);
    return params;
}

/* ---- Components ------------------------------------------------------- */

static void build_root(ExpFabric *bld, const TopoHost *host)
{
    FabRootParams params = root_params(host->cpu, host->iommu);
    FabRoot *root = fab_root_new(bld->fabric, host->name, &params);
    unsigned count;
    const TopoRootPort *ports = topo_part_root_ports(host->cpu, &count);

    for (unsigned i = 0; i < count; i++) {
        FabPortParams port =
            port_params(host->cpu, ports[i].speed_mtps, ports[i].width);

        fab_root_add_port(root, ports[i].name, &port);
    }
}

static void build_switch(ExpFabric *bld, const TopoSwitch *sw)
{
    const TopoPart *part = sw->part;
    unsigned speed = topo_part_speed(part, "speed");
    FabPortParams upstream =
        port_params(part, speed, topo_part_width(part, "width"));
    FabPortParams downstream = upstream;

    if (topo_part_has(part, "downstream_width")) {
        downstream.max_width = topo_part_width(part, "downstream_width");
    }
    upstream.arbitration = arbitration_of(topo_part_text(part, "arbitration"));
    if (strcmp(topo_part_text(part, "mode"), "store-and-forward") == 0) {
        upstream.forwarding = FAB_FORWARDING_STORE;
    }
    downstream.arbitration = upstream.arbitration;
    downstream.forwarding = upstream.forwarding;
    fab_switch_new(bld->fabric, sw->path, topo_part_int(part, "ports"),
                   &upstream, &downstream, sw->acs_redirect);
}

static void build_ntb(ExpFabric *bld, const TopoDevice *device)
{
    const TopoPart *part = device->part;
    FabPortParams host = port_params(part, topo_part_speed(part, "speed"),
                                     topo_part_width(part, "width"));
    FabPortParams cable =
        port_params(part, topo_part_speed(part, "cable.speed"),
                    topo_part_width(part, "cable.width"));
    FabNtbParams params = {
        .window_bytes = topo_part_bytes(part, "window.size"),
        .entries = topo_part_int(part, "window.entries"),
        .reserved = topo_part_int(part, "window.reserved"),
        .requesters = topo_part_int(part, "requesters"),
        .tags = topo_part_int(part, "tags"),
    };

    bars_of(part, params.bars);
    fab_ntb_new(bld->fabric, device->path, topo_part_int(part, "cable.ports"),
                &host, &cable, &params);
}

static void build_device(ExpFabric *bld, const TopoDevice *device)
{
    const TopoPart *part = device->part;
    FabEndpointParams params = device_params(part);
    FabPortParams port = port_params(part, topo_part_speed(part, "speed"),
                                     topo_part_width(part, "width"));

    fab_endpoint_new(bld->fabric, device->path, &port, &params);
}

static bool is_ntb(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_NTB;
}

/* ---- Links ------------------------------------------------------------ */

static void prefix_place(GError **error, TopoPlace place)
{
    g_autofree char *text = topo_place_to_string(place);

    g_prefix_error(error, "%s: ", text);
}

/* Plugs the element called @path into what @at says. Traces on a board count
 * as no time: the latencies of chips are measured with them. */
static bool plug(ExpFabric *bld, const TopoHost *host, const char *path,
                 const TopoAttach *at, GError **error)
{
    FabComponent *above = fab_fabric_find(
        bld->fabric, at->parent ? at->parent->path : host->name);
    unsigned port = at->parent ? at->port + 1 : at->port;

    if (!fab_fabric_connect(above, port, fab_fabric_find(bld->fabric, path), 0,
                            speed_of(at->speed_mtps), at->width, 0, error)) {
        prefix_place(error, at->place);
        return false;
    }
    return true;
}

static bool build_links(ExpFabric *bld, GError **error)
{
    const TopoDescription *description = bld->description;

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->switches->len; j++) {
            const TopoSwitch *sw = host->switches->pdata[j];

            if (!plug(bld, host, sw->path, &sw->at, error)) {
                return false;
            }
        }
        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            if (!plug(bld, host, device->path, &device->at, error)) {
                return false;
            }
        }
    }
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];

        if (!fab_fabric_connect(exp_device(bld, link->end[0]),
                                link->port[0] + 1,
                                exp_device(bld, link->end[1]),
                                link->port[1] + 1, speed_of(link->speed_mtps),
                                link->width, link->propagation_ps, error)) {
            prefix_place(error, link->place);
            return false;
        }
    }
    return true;
}

/* A receive buffer must hold the largest payload of each class, or it is never
 * sent (PCIe 5.0 s2.6.1). What the largest is, only the whole fabric knows. */
static bool check_buffers(const ExpFabric *bld, const TopoPart *part,
                          const char *path, GError **error)
{
    static const char *const keys[] = {"buffers.pd", "buffers.cpld"};
    const FabComponent *component = fab_fabric_find(bld->fabric, path);
    uint32_t mps = fab_port_mps_bytes(fab_component_port(component, 0));

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (credits_of(part, keys[i]) < mps / 16) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "%s: of %s: %u credits cannot hold a payload of %u B "
                        "(mps); write at least %u",
                        keys[i], path, credits_of(part, keys[i]), mps,
                        mps / 16);
            prefix_place(error, topo_part_place(part, keys[i]));
            return false;
        }
    }
    return true;
}

static bool check_host(const ExpFabric *bld, const TopoHost *host,
                       GError **error)
{
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        if (!check_buffers(bld, sw->part, sw->path, error)) {
            return false;
        }
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        if (!check_buffers(bld, device->part, device->path, error)) {
            return false;
        }
    }
    return check_buffers(bld, host->cpu, host->name, error);
}

/* ---- Life ------------------------------------------------------------- */

ExpFabric *exp_fabric_new(const TopoDescription *description, GError **error)
{
    g_autoptr(ExpFabric) bld = exp_fabric_new_unlent(description, error);

    if (!bld || !exp_lend_all(bld, description, error)) {
        return NULL;
    }
    return g_steal_pointer(&bld);
}

ExpFabric *exp_fabric_new_unlent(const TopoDescription *description,
                                 GError **error)
{
    g_autoptr(ExpFabric) bld = g_new0(ExpFabric, 1);

    bld->description = description;
    bld->engine = sim_engine_new();
    bld->fabric = fab_fabric_new(
        bld->engine, description->workload ? description->workload->seed : 1);
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        build_root(bld, host);
        for (unsigned j = 0; j < host->switches->len; j++) {
            build_switch(bld, host->switches->pdata[j]);
        }
        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            if (is_ntb(device)) {
                build_ntb(bld, device);
            } else {
                build_device(bld, device);
            }
        }
    }
    if (!build_links(bld, error)) {
        return NULL;
    }
    if (!fab_fabric_realize(bld->fabric, error)) {
        g_prefix_error(error, "%s: ", description->file);
        return NULL;
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        if (!check_host(bld, description->hosts->pdata[i], error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&bld);
}

void exp_fabric_free(ExpFabric *bld)
{
    if (bld) {
        fab_fabric_free(bld->fabric);
        sim_engine_free(bld->engine);
        g_free(bld);
    }
}

FabFabric *exp_fabric(const ExpFabric *bld)
{
    return bld->fabric;
}

SimEngine *exp_engine(const ExpFabric *bld)
{
    return bld->engine;
}

FabComponent *exp_host(const ExpFabric *bld, const TopoHost *host)
{
    return fab_fabric_find(bld->fabric, host->name);
}

FabComponent *exp_device(const ExpFabric *bld, const TopoDevice *device)
{
    return fab_fabric_find(bld->fabric, device->path);
}

const char *exp_kind_name(const ExpFabric *bld, const FabComponent *component)
{
    const TopoDevice *device;

    switch (fab_component_kind(component)) {
    case FAB_KIND_ROOT:
        return "root";
    case FAB_KIND_SWITCH:
        return "switch";
    case FAB_KIND_NTB:
        return "ntb";
    default:
        device =
            topo_find_device(bld->description, fab_component_name(component));
        return device && topo_part_kind(device->part) == TOPO_PART_GPU
                   ? "gpu"
                   : "device";
    }
}
