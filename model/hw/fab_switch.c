/* SPDX-License-Identifier: MIT */
#include "fab_switch.h"

#include "fab_fabric_priv.h"

#define UPSTREAM 0

/* A range of addresses, and the port that claims it. */
typedef struct Route {
    uint64_t base;
    uint64_t limit;
    unsigned port;
} Route;

typedef struct FabSwitch {
    FabComponent component;
    bool acs_redirect;
    Route *routes; /* by address, of the Downstream Ports; sorted */
    unsigned route_count;
    unsigned *last_route;  /* by ingress: index of the route it used last */
    uint8_t bus_port[256]; /* by bus: Downstream Port; UPSTREAM: none */
} FabSwitch;

/* The Downstream Port whose ranges hold @addr; UPSTREAM if there is none. */
static unsigned port_by_addr(FabSwitch *sw, unsigned ingress, FabBusAddr addr)
{
    unsigned low = 0, high = sw->route_count;
    const Route *route = &sw->routes[sw->last_route[ingress]];

    if (high > 0 && addr - route->base <= route->limit - route->base) {
        return route->port;
    }
    while (low < high) {
        unsigned middle = (low + high) / 2;

        route = &sw->routes[middle];
        if (addr < route->base) {
            high = middle;
        } else if (addr > route->limit) {
            low = middle + 1;
        } else {
            sw->last_route[ingress] = middle;
            return route->port;
        }
    }
    return UPSTREAM;
}

static void switch_receive(FabComponent *component, FabPort *ingress,
                           FabTlp *tlp)
{
    FabSwitch *sw = (FabSwitch *)component;
    unsigned egress;

    if (fab_tlp_is_completion(tlp)) {
        egress = sw->bus_port[FAB_BDF_BUS(tlp->requester_id)];
    } else {
        egress = port_by_addr(sw, ingress->index, tlp->addr);
    }
    if (ingress->index != UPSTREAM && egress != UPSTREAM && sw->acs_redirect) {
        egress = UPSTREAM;
    }
    if (G_UNLIKELY(egress == ingress->index)) {
        /* A TLP from above that no Downstream Port claims, or a TLP that would
         * leave through its ingress: a request is Unsupported, a completion
         * Unexpected (s2.3.1, s2.3.2). */
        FabTlp *cpl = fab_tlp_refuse(component->fabric, tlp, FAB_STATUS_UR,
                                     ingress->bridge.bdf);

        if (cpl) {
            fab_port_send(ingress, ingress->index, cpl);
        }
        return;
    }
    fab_port_send(component->ports[egress], ingress->index, tlp);
}

static int compare_routes(const void *a, const void *b)
{
    const Route *x = a, *y = b;

    return x->base < y->base ? -1 : x->base > y->base;
}

static void routes_add(FabSwitch *sw, const FabBridgeRange *range,
                       unsigned port)
{
    if (range->base <= range->limit) {
        sw->routes[sw->route_count++] =
            (Route){range->base, range->limit, port};
    }
}

static bool switch_realize(FabComponent *component, GError **error)
{
    FabSwitch *sw = (FabSwitch *)component;

    sw->routes = g_new0(Route, 2 * component->port_count);
    sw->last_route = g_new0(unsigned, component->port_count);
    for (unsigned i = 1; i < component->port_count; i++) {
        const FabPort *port = component->ports[i];

        if (!port->peer) {
            continue;
        }
        routes_add(sw, &port->bridge.memory, i);
        routes_add(sw, &port->bridge.prefetchable, i);
        for (unsigned bus = port->bridge.secondary;
             bus <= port->bridge.subordinate; bus++) {
            sw->bus_port[bus] = i;
        }
    }
    qsort(sw->routes, sw->route_count, sizeof(Route), compare_routes);
    for (unsigned i = 0; i < component->port_count; i++) {
        FabPort *port = component->ports[i];

        fab_port_set_latency(port, port->params.forwarding,
                             port->params.latency);
        for (unsigned j = 0; j < component->port_count; j++) {
            fab_port_set_weight(port, j, component->ports[j]);
        }
    }
    return true;
}

static void switch_free(FabComponent *component)
{
    FabSwitch *sw = (FabSwitch *)component;

    g_free(sw->routes);
    g_free(sw->last_route);
    g_free(sw);
}

static const FabComponentOps switch_ops = {
    .receive = switch_receive,
    .realize = switch_realize,
    .free = switch_free,
};

FabComponent *fab_switch_new(FabFabric *fabric, const char *name,
                             unsigned downstream, const FabPortParams *upstream,
                             const FabPortParams *params, bool acs_redirect)
{
    FabSwitch *sw = g_new0(FabSwitch, 1);

    g_assert(downstream >= 1 && downstream < FAB_SOURCES_MAX);
    sw->acs_redirect = acs_redirect;
    fab_component_init(&sw->component, fabric, &switch_ops, FAB_KIND_SWITCH,
                       name);
    fab_component_add_port(&sw->component, "usp", upstream);
    for (unsigned i = 0; i < downstream; i++) {
        g_autofree char *port = g_strdup_printf("dsp%u", i);

        fab_component_add_port(&sw->component, port, params);
    }
    for (unsigned i = 0; i <= downstream; i++) {
        fab_port_set_sources(sw->component.ports[i], downstream + 1);
    }
    return &sw->component;
}
