/* SPDX-License-Identifier: MIT */
/* Components are joined and made ready for a run. */
#include <string.h>

#include "fab_dpc_priv.h"
#include "fab_account_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_replay_priv.h"
#include "fab_switch.h"
#include "fab_enumerate_priv.h"

bool fab_fabric_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                        unsigned port_b, FabSpeed speed, uint32_t width,
                        SimTime propagation, GError **error)
{
    FabComponent *ends[] = {a, b};
    unsigned ports[] = {port_a, port_b};

    for (unsigned i = 0; i < 2; i++) {
        if (ports[i] >= ends[i]->port_count) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONNECT,
                        "%s has no port %u, only 0 to %u", ends[i]->name,
                        ports[i], ends[i]->port_count - 1);
            return false;
        }
    }
    return fab_port_connect(a->ports[port_a], b->ports[port_b], speed, width,
                            propagation, error);
}

static int compare_names(const void *a, const void *b)
{
    const FabComponent *const *x = a;
    const FabComponent *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Adds @component to @island if it is in none yet. */
static void island_add(GPtrArray *island, FabComponent *component)
{
    if (!component->ports_realized) {
        component->ports_realized = true;
        g_ptr_array_add(island, component);
    }
}

/* Prepares @port and what its link does beyond the wire. */
static void port_realize(FabPort *port, uint32_t mps_bytes)
{
    fab_port_realize(port, mps_bytes);
    if (!port->peer) {
        return;
    }
    if (port->params.replay_bytes) {
        fab_replay_make(port);
    }
    fab_dpc_init(port);
}

/* The policy of the root @component; FAB_MPS_JOINED if it is none. */
static FabMps mps_policy(FabComponent *component)
{
    const FabRoot *root = fab_component_as_root(component);

    return root ? fab_root_params(root)->mps : FAB_MPS_JOINED;
}

/* The port above @port on the way to its root; NULL: it is a root port, or
 * there is none. */
static const FabPort *port_above(const FabPort *port)
{
    const FabPort *peer = port->peer;

    if (port->role == FAB_PORT_ENDPOINT || port->role == FAB_PORT_UPSTREAM) {
        return peer && fab_port_is_downstream(peer) ? peer : NULL;
    }
    return port->role == FAB_PORT_ROOT ? NULL : port->owner->ports[0];
}

/*
 * The Max_Payload_Size of @port, for which the rule of an island is @mps. Below
 * a root with FAB_MPS_PERF it is the most that the port and those above it can
 * do, as Linux sets it from the top down.
 */
static uint32_t port_mps(const FabPort *port, uint32_t mps)
{
    uint32_t most = port->params.mps_bytes;
    const FabPort *top = port, *above;

    while ((above = port_above(top))) {
        top = above;
        most = MIN(most, top->params.mps_bytes);
    }
    return mps_policy(top->owner) == FAB_MPS_PERF ? most : mps;
}

/* Adds what a chip joins to @member without a link. */
static void island_add_chip(GPtrArray *island, FabComponent *member)
{
    const FabNtb *ntb = fab_component_as_ntb(member);
    const GPtrArray *chip = fab_switch_chip(member);

    for (unsigned j = 1; ntb && j < fab_ntb_ways(ntb); j++) {
        FabComponent *far = fab_ntb_far_end(ntb, j);

        if (far) {
            island_add(island, far);
        }
    }
    for (unsigned j = 0; chip && j < chip->len; j++) {
        island_add(island, chip->pdata[j]);
    }
}

/* Adds what the links of @member lead to. Returns the smallest Max_Payload_Size
 * at them. A root that sets each tree by itself joins none of them. */
static uint32_t island_add_peers(GPtrArray *island, const FabComponent *member)
{
    uint32_t mps = 4096;

    for (unsigned j = 0; j < member->port_count; j++) {
        const FabPort *port = member->ports[j], *peer = port->peer;

        if (!peer) {
            continue;
        }
        mps = MIN(mps, port->params.mps_bytes);
        if (mps_policy(peer->owner) == FAB_MPS_JOINED) {
            island_add(island, peer->owner);
        } else {
            mps = MIN(mps, peer->params.mps_bytes);
        }
        if (mps_policy(peer->owner) == FAB_MPS_PEERS) {
            mps = MIN(mps, 128);
        }
    }
    return mps;
}

/*
 * Realizes the ports of all components that links and chips join to @component,
 * which is no root that sets each tree by itself. They use the smallest
 * Max_Payload_Size of their connected ports, because an NTB forwards payloads
 * unchanged.
 */
static void island_realize(FabComponent *component)
{
    g_autoptr(GPtrArray) island = g_ptr_array_new();
    uint32_t mps = 4096;

    island_add(island, component);
    for (unsigned i = 0; i < island->len; i++) {
        FabComponent *member = island->pdata[i];

        mps = MIN(mps, island_add_peers(island, member));
        island_add_chip(island, member);
    }
    for (unsigned i = 0; i < island->len; i++) {
        const FabComponent *member = island->pdata[i];

        for (unsigned j = 0; j < member->port_count; j++) {
            FabPort *port = member->ports[j];

            port_realize(port, port_mps(port, mps));
            if (port->peer && mps_policy(port->peer->owner) != FAB_MPS_JOINED) {
                port_realize(port->peer, port_mps(port->peer, mps));
            }
        }
    }
}

/* Realizes the ports of a root that sets each tree by itself and has no tree
 * there. The islands below the others realize them. */
static void empty_ports_realize(FabComponent *component)
{
    component->ports_realized = true;
    for (unsigned j = 0; j < component->port_count; j++) {
        if (!component->ports[j]->peer) {
            port_realize(component->ports[j],
                         component->ports[j]->params.mps_bytes);
        }
    }
}

/* Ranks components and ports by name. Return: whether there are enough ranks.
 */
static bool rank_all(FabFabric *fabric)
{
    GPtrArray *components = fabric->components;
    uint32_t rank = 0;

    qsort(components->pdata, components->len, sizeof(void *), compare_names);
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        component->rank = rank;
        rank += FAB_COMPONENT_RANKS;
        for (unsigned j = 0; j < component->port_count; j++) {
            component->ports[j]->rank = rank;
            rank += FAB_PORT_RANKS;
        }
    }
    fabric->ranks = rank;
    return rank <= SIM_RANK_MAX;
}

/* Return: whether all hierarchies have bus numbers and addresses. */
static bool enumerate_all(FabFabric *fabric, FabErrorTaker take, void *opaque)
{
    GPtrArray *components = fabric->components;
    bool ok = true;

    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];
        GError *error = NULL;

        if (fab_component_as_root(component) &&
            !fab_enumerate(component, &error)) {
            take(opaque, component->name, error);
            ok = false;
        }
        if (mps_policy(component) != FAB_MPS_JOINED) {
            empty_ports_realize(component);
        } else if (!component->ports_realized) {
            island_realize(component);
        }
    }
    return ok;
}

bool fab_fabric_realize_all(FabFabric *fabric, FabErrorTaker take, void *opaque)
{
    GPtrArray *components = fabric->components;
    bool ok = true;

    g_assert(!fabric->realized);
    fabric->realized = true;
    if (!rank_all(fabric)) {
        FabComponent *last = components->pdata[components->len - 1];

        take(opaque, last->name,
             g_error_new(FAB_ERROR, FAB_ERROR_CONFIG,
                         "%u components are more than one simulation can rank",
                         components->len));
        return false;
    }
    if (!enumerate_all(fabric, take, opaque)) {
        return false;
    }
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];
        GError *error = NULL;

        if (!component->ops->realize(component, &error)) {
            take(opaque, component->name, error);
            ok = false;
        }
    }
    return ok;
}

static void take_first(void *opaque, const char *component, GError *error)
{
    GError **first = opaque;

    if (*first) {
        g_error_free(error);
    } else {
        *first = error;
    }
}

bool fab_fabric_realize(FabFabric *fabric, GError **error)
{
    GError *first = NULL;

    if (fab_fabric_realize_all(fabric, take_first, &first)) {
        return true;
    }
    g_propagate_error(error, first);
    return false;
}
