/* SPDX-License-Identifier: MIT */
#include "exp_fabric_priv.h"

#include <string.h>

#include "exp_errors_priv.h"
#include "exp_faults_priv.h"
#include "exp_net.h"
#include "exp_params_priv.h"
#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_switch.h"

/* ---- Components ------------------------------------------------------- */

static void build_ways(FabRoot *root, const TopoPart *cpu)
{
    unsigned count;
    const TopoWay *ways = topo_part_ways(cpu, &count);

    for (unsigned i = 0; i < count; i++) {
        FabNodeWay way = {
            .latency = ways[i].latency_ps,
            .bandwidth_bytes_s = (uint64_t)ways[i].bandwidth_bytes_s,
            .write_bytes = (uint32_t)ways[i].write_bytes,
            .acknowledge = ways[i].acknowledge_ps,
        };

        fab_root_set_way(root, ways[i].from, ways[i].to, &way);
    }
}

static void build_root(ExpFabric *self, const TopoHost *host)
{
    FabRootParams params = exp_params_root(host->cpu, host->iommu);
    FabRoot *root;
    unsigned count;
    const TopoRootPort *ports = topo_part_root_ports(host->cpu, &count);

    params.reserves_less = host->preallocated_bytes >= 0;
    params.preallocated_bytes = MAX(host->preallocated_bytes, 0);
    root = fab_root_new(self->fabric, host->name, &params);
    for (unsigned i = 0; i < count; i++) {
        FabPortParams port =
            exp_params_port(host->cpu, ports[i].speed_mtps, ports[i].width);

        fab_root_set_node(root, fab_root_add_port(root, ports[i].name, &port),
                          ports[i].node);
    }
    build_ways(root, host->cpu);
}

/* Joins @sw to the first partition of its chip, unless it is that one. */
static void join_chip(ExpFabric *self, const TopoSwitch *sw)
{
    for (unsigned i = 0; sw->chip && i < sw->host->switches->len; i++) {
        const TopoSwitch *other = sw->host->switches->pdata[i];

        if (other == sw) {
            return;
        }
        if (other->chip && strcmp(other->chip, sw->chip) == 0) {
            fab_switch_join(fab_fabric_find(self->fabric, other->path),
                            fab_fabric_find(self->fabric, sw->path));
            return;
        }
    }
}

static void build_switch(ExpFabric *self, const TopoSwitch *sw)
{
    static const FabDirect direct[] = {
        [TOPO_ACS_DIRECT_OFF] = FAB_DIRECT_OFF,
        [TOPO_ACS_DIRECT_REQUESTS] = FAB_DIRECT_REQUESTS,
        [TOPO_ACS_DIRECT_ON] = FAB_DIRECT_ON,
    };
    const TopoPart *part = sw->part;
    unsigned speed = topo_part_speed(part, "speed");
    FabPortParams upstream =
        exp_params_port(part, speed, topo_part_width(part, "width"));
    FabPortParams downstream = upstream;

    if (topo_part_has(part, "downstream_width")) {
        downstream.max_width = topo_part_width(part, "downstream_width");
    }
    upstream.arbitration =
        exp_params_arbitration(topo_part_text(part, "arbitration"));
    if (strcmp(topo_part_text(part, "mode"), "store-and-forward") == 0) {
        upstream.forwarding = FAB_FORWARDING_STORE;
    }
    downstream.arbitration = upstream.arbitration;
    downstream.forwarding = upstream.forwarding;
    upstream.phases = topo_part_int(part, "phases");
    downstream.phases = upstream.phases;
    fab_switch_set_share(fab_switch_new(self->fabric, sw->path,
                                        topo_part_int(part, "ports"), &upstream,
                                        &downstream, sw->acs_redirect),
                         0, sw->uplink_share);
    fab_switch_set_direct(fab_fabric_find(self->fabric, sw->path),
                          direct[sw->acs_direct]);
    join_chip(self, sw);
}

/* Joins @device, an NTB adapter, to the first partition of its chip, unless it
 * is that one. */
static void join_ntb(ExpFabric *self, const TopoDevice *device)
{
    const GPtrArray *hosts = self->description->hosts;

    for (unsigned i = 0; device->chip && i < hosts->len; i++) {
        const TopoHost *host = hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *other = host->devices->pdata[j];

            if (other == device) {
                return;
            }
            if (other->chip && strcmp(other->chip, device->chip) == 0) {
                fab_ntb_join(fab_component_as_ntb(exp_device(self, other)),
                             fab_component_as_ntb(exp_device(self, device)));
                return;
            }
        }
    }
}

static void build_ntb(ExpFabric *self, const TopoDevice *device)
{
    const TopoPart *part = device->part;
    FabPortParams host = exp_params_port(part, topo_part_speed(part, "speed"),
                                         topo_part_width(part, "width"));
    FabPortParams cable =
        exp_params_port(part, topo_part_speed(part, "cable.speed"),
                        topo_part_width(part, "cable.width"));
    FabNtbParams params = {
        .window_bytes = topo_part_bytes(part, "window.size"),
        .entries = topo_part_int(part, "window.entries"),
        .reserved = topo_part_int(part, "window.reserved"),
        .requesters = topo_part_int(part, "requesters"),
        .tags = topo_part_int(part, "tags"),
    };

    exp_params_bars(part, params.bars);
    fab_ntb_new(self->fabric, device->path, topo_part_int(part, "cable.ports"),
                &host, &cable, &params);
    join_ntb(self, device);
}

/* Makes the virtual functions of @device that are in use. Their Routing IDs
 * follow those of the ports of a card, as inventories say. */
static void build_functions(const TopoDevice *device, FabEndpoint *endpoint)
{
    for (unsigned i = 0; i < device->functions->len; i++) {
        const TopoDevice *function = device->functions->pdata[i];

        fab_endpoint_function_new(endpoint, function->path,
                                  MAX(device->fabrics->len, 1) +
                                      function->number);
    }
}

static void build_device(ExpFabric *self, const TopoDevice *device)
{
    const TopoPart *part = device->part;
    FabEndpointParams params = exp_params_endpoint(part);
    FabPortParams port = exp_params_port(part, topo_part_speed(part, "speed"),
                                         topo_part_width(part, "width"));

    build_functions(
        device, fab_endpoint_new(self->fabric, device->path, &port, &params));
}

static bool is_ntb(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_NTB;
}

/* ---- Links ------------------------------------------------------------ */

/* Plugs the element called @path into the port that @at names. The link has no
 * propagation time: traces on a board are short, and the latencies of chips
 * were measured with them. */
static void plug(ExpFabric *self, const TopoHost *host, const char *path,
                 const TopoAttach *at, TopoErrors *errors)
{
    GError *error = NULL;
    FabComponent *above = fab_fabric_find(
        self->fabric, at->parent ? at->parent->path : host->name);
    unsigned port = at->parent ? at->port + 1 : at->port;

    if (!fab_fabric_connect(above, port, fab_fabric_find(self->fabric, path), 0,
                            exp_params_speed(at->speed_mtps), at->width, 0,
                            &error)) {
        exp_errors_take(errors, at->place, error);
    } else if (at->parent) {
        fab_switch_set_share(above, port, at->share);
    }
}

static void build_links(ExpFabric *self, TopoErrors *errors)
{
    const TopoDescription *description = self->description;

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->switches->len; j++) {
            const TopoSwitch *sw = host->switches->pdata[j];

            plug(self, host, sw->path, &sw->at, errors);
        }
        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            plug(self, host, device->path, &device->at, errors);
        }
    }
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];
        GError *error = NULL;

        if (!fab_fabric_connect(
                exp_device(self, link->end[0]), link->port[0] + 1,
                exp_device(self, link->end[1]), link->port[1] + 1,
                exp_params_speed(link->speed_mtps), link->width,
                link->propagation_ps, &error)) {
            exp_errors_take(errors, link->place, error);
        }
    }
}

/* Checks that a receive buffer holds the largest payload of each class. If it
 * does not, a TLP of that size can never be sent (PCIe 5.0 s2.6.1). The largest
 * payload is known only when the whole fabric exists. */
static void check_buffers(const ExpFabric *self, const TopoPart *part,
                          const char *path, TopoErrors *errors)
{
    static const char *const keys[] = {"buffers.pd", "buffers.cpld"};
    const FabComponent *component = fab_fabric_find(self->fabric, path);
    uint32_t mps = fab_port_mps_bytes(fab_component_port(component, 0));

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (exp_params_credits(part, keys[i]) < mps / 16) {
            topo_errors_add(errors, topo_part_place(part, keys[i]),
                            "%s: of %s: %u credits cannot hold a payload of "
                            "%u B (mps); write at least %u",
                            keys[i], path, exp_params_credits(part, keys[i]),
                            mps, mps / 16);
        }
    }
}

/* An NTB passes payloads on as they come, so its host must not have several. */
static void check_payloads(const TopoHost *host, TopoErrors *errors)
{
    if (strcmp(topo_part_text(host->cpu, "mps_policy"), "perf") != 0) {
        return;
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        if (is_ntb(device)) {
            topo_errors_add(errors, device->place,
                            "%s passes payloads on as they come, and with "
                            "mps_policy: perf ports of %s have different ones; "
                            "write safe",
                            device->path, host->name);
        }
    }
}

static void check_host(const ExpFabric *self, const TopoHost *host,
                       TopoErrors *errors)
{
    check_payloads(host, errors);
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        check_buffers(self, sw->part, sw->path, errors);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        check_buffers(self, device->part, device->path, errors);
    }
    check_buffers(self, host->cpu, host->name, errors);
}

/* ---- All ---------------------------------------------------------------- */

/* Makes all components, but no links. */
static ExpFabric *new_without_links(const TopoDescription *description)
{
    ExpFabric *self = g_new0(ExpFabric, 1);

    self->description = description;
    self->engine = sim_engine_new();
    self->fabric = fab_fabric_new(
        self->engine, description->workload ? description->workload->seed : 1);
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        build_root(self, host);
        for (unsigned j = 0; j < host->switches->len; j++) {
            build_switch(self, host->switches->pdata[j]);
        }
        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            if (is_ntb(device)) {
                build_ntb(self, device);
            } else {
                build_device(self, device);
            }
        }
    }
    return self;
}

/* The place where the description names the element with this path. */
static TopoPlace place_of(const TopoDescription *description, const char *path)
{
    const TopoHost *host = topo_find_host(description, path);
    const TopoSwitch *sw = topo_find_switch(description, path);
    const TopoDevice *device = topo_find_device(description, path);

    return host     ? host->place
           : sw     ? sw->place
           : device ? device->place
                    : (TopoPlace){description->file, 0, 0};
}

typedef struct {
    const TopoDescription *description;
    TopoErrors *errors;
} Taker;

static void take_error(void *opaque, const char *component, GError *error)
{
    const Taker *taker = opaque;

    exp_errors_take(taker->errors, place_of(taker->description, component),
                    error);
}

ExpFabric *exp_fabric_make(const TopoDescription *description,
                           TopoErrors *errors)
{
    Taker taker = {description, errors};
    g_autoptr(ExpFabric) self = new_without_links(description);
    unsigned before = topo_errors_count(errors);

    build_links(self, errors);
    if (topo_errors_count(errors) > before) {
        return NULL; /* without its links nothing more can be said of it */
    }
    if (!fab_fabric_realize_all(self->fabric, take_error, &taker)) {
        return NULL;
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        check_host(self, description->hosts->pdata[i], errors);
    }
    if (description->sound >= TOPO_SOUND_WORKLOAD) {
        exp_faults_build(self, description, errors);
    }
    exp_net_build(self, description);
    return g_steal_pointer(&self);
}

ExpFabric *exp_fabric_new(const TopoDescription *description, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(ExpFabric) self = exp_fabric_make(description, errors);

    return exp_errors_none(errors, error) ? g_steal_pointer(&self) : NULL;
}
