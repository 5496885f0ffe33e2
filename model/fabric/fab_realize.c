/* SPDX-License-Identifier: MIT */
/* Components are joined and made ready for a run. */
#include <string.h>

#include "fab_dpc_priv.h"
#include "fab_account_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_replay_priv.h"
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

/*
 * Realizes the ports of all components that links and chips join to @component.
 * They use the smallest Max_Payload_Size of their connected ports, because an
 * NTB forwards payloads unchanged.
 */
static void island_realize(FabComponent *component)
{
    g_autoptr(GPtrArray) island = g_ptr_array_new();
    uint32_t mps = 4096;

    island_add(island, component);
    for (unsigned i = 0; i < island->len; i++) {
        FabComponent *member = island->pdata[i];
        const FabNtb *ntb = fab_component_as_ntb(member);

        for (unsigned j = 0; j < member->port_count; j++) {
            const FabPort *port = member->ports[j];

            if (!port->peer) {
                continue;
            }
            mps = MIN(mps, port->params.mps_bytes);
            island_add(island, port->peer->owner);
        }
        for (unsigned j = 1; ntb && j < fab_ntb_ways(ntb); j++) {
            FabComponent *far = fab_ntb_far_end(ntb, j);

            if (far) {
                island_add(island, far);
            }
        }
    }
    for (unsigned i = 0; i < island->len; i++) {
        const FabComponent *member = island->pdata[i];

        for (unsigned j = 0; j < member->port_count; j++) {
            port_realize(member->ports[j], mps);
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
        if (!component->ports_realized) {
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
