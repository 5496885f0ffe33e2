/* SPDX-License-Identifier: MIT */
#include "fab_switch.h"

#include "fab_account_priv.h"
#include "fab_observe_priv.h"
#include "fab_answer_priv.h"

#define UPSTREAM 0

/* A range of addresses, and the index in `egress` of the port that claims it;
 * UPSTREAM: no Downstream Port does. */
typedef struct Route {
    uint64_t base;
    uint64_t limit;
    unsigned port;
} Route;

typedef struct FabSwitch {
    FabComponent component;
    bool acs_redirect;
    FabDirect direct; /* with acs_redirect */
    uint32_t *shares; /* by port, in Port Arbitration Tables */
    GPtrArray *chip;  /* of FabSwitch: the partitions of its chip, itself
                         included; NULL: it is the only one */
    unsigned
        first_source;  /* number of its port 0 as a source at egress ports */
    GPtrArray *egress; /* of FabPort: its own ports, then the connected
                          Downstream Ports of the other partitions */
    Route *routes;     /* by address, of the Downstream Ports; sorted */
    unsigned route_count;
    Route *last_route;     /* by ingress: of the address that came last */
    uint8_t bus_port[256]; /* by bus: index in `egress`; UPSTREAM: none */
} FabSwitch;

static inline bool route_holds(const Route *route, FabBusAddr addr)
{
    return addr - route->base <= route->limit - route->base;
}

/* The route of @addr. If no Downstream Port claims it, that is the range
 * around it that none claims. */
static G_GNUC_NO_INLINE Route route_find(const FabSwitch *sw, FabBusAddr addr)
{
    unsigned low = 0, high = sw->route_count;
    Route gap = {0, UINT64_MAX, UPSTREAM};

    while (low < high) {
        unsigned middle = (low + high) / 2;
        const Route *route = &sw->routes[middle];

        if (addr < route->base) {
            high = middle;
            gap.limit = route->base - 1;
        } else if (addr > route->limit) {
            low = middle + 1;
            gap.base = route->limit + 1;
        } else {
            return *route;
        }
    }
    return gap;
}

/* The Downstream Port whose ranges hold @addr; UPSTREAM if there is none. */
static inline unsigned port_by_addr(FabSwitch *sw, unsigned ingress,
                                    FabBusAddr addr)
{
    Route *last = &sw->last_route[ingress];

    if (G_UNLIKELY(!route_holds(last, addr))) {
        *last = route_find(sw, addr);
    }
    return last->port;
}

/* True if @tlp between two Downstream Ports needs no redirect. */
static inline bool is_direct(const FabSwitch *sw, const FabTlp *tlp)
{
    return fab_tlp_is_completion(tlp)
               ? sw->direct == FAB_DIRECT_ON
               : sw->direct != FAB_DIRECT_OFF && tlp->at == FAB_AT_TRANSLATED;
}

static SIM_HOT void switch_receive(FabComponent *component, FabPort *ingress,
                                   FabTlp *tlp)
{
    FabSwitch *sw = (FabSwitch *)component;
    unsigned egress;

    if (G_UNLIKELY(fab_tlp_is_malformed(tlp, ingress))) {
        fab_tlp_drop_malformed(tlp);
        return;
    }
    if (fab_tlp_is_completion(tlp)) {
        egress = sw->bus_port[FAB_BDF_BUS(tlp->requester_id)];
    } else if (G_UNLIKELY(tlp->type >= FAB_TLP_MSG)) {
        egress = sw->bus_port[FAB_BDF_BUS(tlp->completer_id)];
    } else {
        egress = port_by_addr(sw, ingress->index, tlp->addr);
    }
    if (ingress->index != UPSTREAM && egress != UPSTREAM && sw->acs_redirect &&
        !is_direct(sw, tlp)) {
        egress = UPSTREAM;
    }
    if (G_UNLIKELY(egress >= component->port_count) &&
        ingress->index == UPSTREAM) {
        egress = UPSTREAM; /* the root sends nothing to another partition */
    }
    if (G_UNLIKELY(egress == ingress->index)) {
        /* A TLP from above that no Downstream Port claims, or a TLP that would
         * leave through its ingress: a request is Unsupported, a completion
         * Unexpected (s2.3.1, s2.3.2). */
        FabTlp *cpl =
            fab_tlp_refuse(component, tlp, FAB_STATUS_UR, ingress->bridge.bdf);

        if (cpl) {
            fab_port_send(ingress, sw->first_source + ingress->index, cpl);
        }
        return;
    }
    fab_port_forward(sw->egress->pdata[egress],
                     sw->first_source + ingress->index, tlp);
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

/* Ports of @sw up to the last one that is connected. */
static unsigned ports_used(const FabSwitch *sw)
{
    unsigned count = sw->component.port_count;

    while (count > 1 && !sw->component.ports[count - 1]->peer) {
        count--;
    }
    return count;
}

/* Enters the ports of the other partitions. Each egress port of the chip gets a
 * source for each ingress port of the chip. */
static bool chip_realize(FabSwitch *sw, GError **error)
{
    unsigned sources = 0;

    for (unsigned i = 0; i < sw->chip->len; i++) {
        const FabSwitch *part = sw->chip->pdata[i];

        if (part == sw) {
            sw->first_source = sources;
        }
        sources += ports_used(part);
        for (unsigned j = 1; part != sw && j < part->component.port_count;
             j++) {
            if (part->component.ports[j]->peer) {
                g_ptr_array_add(sw->egress, part->component.ports[j]);
            }
        }
    }
    if (sources > FAB_SOURCES_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the partitions of its chip use %u ports; connect at "
                    "most %d",
                    sw->component.name, sources, FAB_SOURCES_MAX);
        return false;
    }
    for (unsigned i = 0; i < sw->component.port_count; i++) {
        fab_port_set_sources(sw->component.ports[i], sources);
    }
    return true;
}

typedef struct Shares {
    FabPort *egress;
    unsigned source; /* the next one */
    unsigned used;   /* sources with a share */
    uint32_t share[FAB_SOURCES_MAX];
} Shares;

/* Sets the weights and shares of the first @count ports of @part. */
static void shares_add(Shares *shares, const FabSwitch *part, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const FabPort *from = part->component.ports[i];
        bool is_source = from->peer && from != shares->egress;

        fab_port_set_weight(shares->egress, shares->source, from);
        shares->share[shares->source++] = is_source ? part->shares[i] : 0;
        shares->used += is_source;
    }
}

/* Sets the rule by which @port serves its sources. */
static bool arbitration_set(const FabSwitch *sw, FabPort *port, GError **error)
{
    Shares shares = {.egress = port};

    if (!sw->chip) {
        shares_add(&shares, sw, sw->component.port_count);
    }
    for (unsigned i = 0; sw->chip && i < sw->chip->len; i++) {
        const FabSwitch *part = sw->chip->pdata[i];

        shares_add(&shares, part, ports_used(part));
    }
    if (port->params.arbitration != FAB_ARBITRATION_TABLE) {
        return true;
    }
    if (shares.used > port->params.phases) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: a table of %u phases cannot serve %u ports; connect "
                    "fewer, or take more phases",
                    sw->component.name, port->params.phases, shares.used);
        return false;
    }
    fab_port_set_table(port, shares.share);
    return true;
}

static bool switch_realize(FabComponent *component, GError **error)
{
    FabSwitch *sw = (FabSwitch *)component;

    sw->egress = g_ptr_array_new();
    for (unsigned i = 0; i < component->port_count; i++) {
        g_ptr_array_add(sw->egress, component->ports[i]);
    }
    if (sw->chip && !chip_realize(sw, error)) {
        return false;
    }
    sw->routes = g_new0(Route, 2 * sw->egress->len);
    sw->last_route = g_new(Route, component->port_count);
    for (unsigned i = 1; i < sw->egress->len; i++) {
        const FabPort *port = sw->egress->pdata[i];

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

        sw->last_route[i] = route_find(sw, 0);
        if (!port->peer) {
            continue; /* it sends nothing; many ports of a chip are unused */
        }
        fab_port_set_latency(port, port->params.forwarding,
                             port->params.latency);
        if (!arbitration_set(sw, port, error)) {
            return false;
        }
    }
    return true;
}

/* ---- For observers --------------------------------------------------- */

static bool switch_blockers(const FabComponent *component,
                            const FabPort *ingress, FabClass cls,
                            FabBlockerFn fn, void *data)
{
    const FabSwitch *sw = (const FabSwitch *)component;
    unsigned source = sw->first_source + ingress->index;

    for (unsigned i = 0; i < sw->egress->len; i++) {
        const FabPort *egress = sw->egress->pdata[i];

        if (egress->peer && source < egress->source_count &&
            egress->sources[source].queue[cls].head &&
            fn(data, &(FabBlocker){.egress = egress})) {
            return true;
        }
    }
    return false;
}

static const FabObserveOps switch_observe_ops = {
    .blockers = switch_blockers,
};

/* ---- Life ------------------------------------------------------------ */

static void switch_free(FabComponent *component)
{
    FabSwitch *sw = (FabSwitch *)component;

    g_free(sw->routes);
    g_free(sw->last_route);
    g_free(sw->shares);
    g_clear_pointer(&sw->egress, g_ptr_array_unref);
    g_clear_pointer(&sw->chip, g_ptr_array_unref);
    g_free(sw);
}

static const FabComponentOps switch_ops = {
    .receive = switch_receive,
    .realize = switch_realize,
    .free = switch_free,
    .observe = &switch_observe_ops,
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
    fab_port_set_role(sw->component.ports[UPSTREAM], FAB_PORT_UPSTREAM, NULL);
    for (unsigned i = 0; i < downstream; i++) {
        g_autofree char *port = g_strdup_printf("dsp%u", i);

        fab_component_add_port(&sw->component, port, params);
        fab_port_set_role(sw->component.ports[i + 1], FAB_PORT_DOWNSTREAM,
                          sw->component.ports[UPSTREAM]);
    }
    sw->shares = g_new(uint32_t, downstream + 1);
    for (unsigned i = 0; i <= downstream; i++) {
        fab_port_set_sources(sw->component.ports[i], downstream + 1);
        sw->shares[i] = 1;
    }
    return &sw->component;
}

/* Casts @component, which must be a switch. */
static FabSwitch *as_switch(FabComponent *component)
{
    g_assert(component->ops == &switch_ops);
    return (FabSwitch *)component;
}

void fab_switch_set_share(FabComponent *sw, unsigned index, uint32_t share)
{
    g_assert(index < sw->port_count && share > 0);
    as_switch(sw)->shares[index] = share;
}

void fab_switch_set_direct(FabComponent *sw, FabDirect direct)
{
    as_switch(sw)->direct = direct;
}

const GPtrArray *fab_switch_chip(const FabComponent *component)
{
    return component->ops == &switch_ops ? ((const FabSwitch *)component)->chip
                                         : NULL;
}

void fab_switch_join(FabComponent *a, FabComponent *b)
{
    FabSwitch *first = as_switch(a), *second = as_switch(b);

    g_assert(a != b && !second->chip);
    if (!first->chip) {
        first->chip = g_ptr_array_new();
        g_ptr_array_add(first->chip, first);
    }
    g_ptr_array_add(first->chip, second);
    second->chip = g_ptr_array_ref(first->chip);
}
