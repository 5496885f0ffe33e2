/* SPDX-License-Identifier: MIT */
#include "fab_dpc.h"
#include "fab_fabric_priv.h"
#include "fab_ntb.h"

#include <string.h>

G_DEFINE_QUARK(fab-error-quark, fab_error);

static void component_free(void *data)
{
    FabComponent *component = data;

    for (unsigned i = 0; i < component->port_count; i++) {
        fab_port_free(component->ports[i]);
    }
    g_free(component->ports);
    g_free(component->name);
    component->ops->free(component);
}

FabFabric *fab_fabric_new(SimEngine *engine, uint64_t seed)
{
    FabFabric *fabric = g_new0(FabFabric, 1);

    fabric->engine = engine;
    fabric->seed = seed;
    fab_arena_init(&fabric->arena);
    fabric->slabs = g_ptr_array_new();
    fab_accounts_init(fabric);
    fabric->components = g_ptr_array_new_with_free_func(component_free);
    fabric->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    return fabric;
}

void fab_fabric_free(FabFabric *fabric)
{
    if (!fabric) {
        return;
    }
    while (fabric->attachments) {
        FabAttachment *attachment = fabric->attachments;

        fabric->attachments = attachment->next;
        attachment->ops->free(attachment);
    }
    fab_routes_free(fabric->routes);
    g_hash_table_unref(fabric->by_name);
    g_ptr_array_unref(fabric->components);
    g_ptr_array_unref(fabric->slabs);
    fab_accounts_clear(fabric);
    fab_arena_clear(&fabric->arena);
    g_free(fabric);
}

SimEngine *fab_fabric_engine(const FabFabric *fabric)
{
    return fabric->engine;
}

uint64_t fab_fabric_seed(const FabFabric *fabric)
{
    return fabric->seed;
}

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
            fab_port_realize(member->ports[j], mps);
        }
    }
}

bool fab_fabric_realize(FabFabric *fabric, GError **error)
{
    GPtrArray *components = fabric->components;
    uint32_t rank = 0;

    g_assert(!fabric->realized);
    fabric->realized = true;
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
    if (rank > SIM_RANK_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%u components are more than one simulation can rank",
                    components->len);
        return false;
    }
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        if (component->kind == FAB_KIND_ROOT &&
            !fab_enumerate(component, error)) {
            return false;
        }
        if (!component->ports_realized) {
            island_realize(component);
        }
    }
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        if (!component->ops->realize(component, error)) {
            return false;
        }
    }
    return true;
}

FabComponent *fab_fabric_find(const FabFabric *fabric, const char *name)
{
    return g_hash_table_lookup(fabric->by_name, name);
}

FabComponent *const *fab_fabric_components(const FabFabric *fabric,
                                           unsigned *ret_count)
{
    *ret_count = fabric->components->len;
    return (FabComponent *const *)fabric->components->pdata;
}

uint64_t fab_fabric_tlp_hops(const FabFabric *fabric)
{
    uint64_t hops = 0;

    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            const uint64_t *sent = component->ports[j]->counters.tlps_sent;

            for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
                hops += sent[cls];
            }
        }
    }
    return hops;
}

uint64_t fab_fabric_tlps_alive(const FabFabric *fabric)
{
    return fabric->alive;
}

uint64_t fab_fabric_unsupported(const FabFabric *fabric)
{
    return fabric->unsupported;
}

uint64_t fab_fabric_lost(const FabFabric *fabric)
{
    uint64_t lost = fabric->dropped;

    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            lost += component->ports[j]->counters.lost_tlps;
        }
    }
    return lost;
}

void fab_fabric_set_completion_timeout(FabFabric *fabric, SimTime timeout)
{
    g_assert(timeout >= 0);
    fabric->completion_timeout = timeout;
}

SimTime fab_timeout_begin(const FabFabric *fabric, SimEvent *event)
{
    SimTime deadline;

    if (G_LIKELY(!fabric->completion_timeout)) {
        return SIM_TIME_NONE;
    }
    deadline = sim_engine_now(fabric->engine) + fabric->completion_timeout;
    if (!sim_event_is_pending(event)) {
        sim_event_schedule(event, deadline);
    }
    return deadline;
}

void fab_timeout_next(SimEvent *event, SimTime next)
{
    if (next != SIM_TIME_NONE &&
        (!sim_event_is_pending(event) || event->time > next)) {
        sim_event_reschedule(event, next);
    }
}

void fab_timeout_count(FabPort *port)
{
    port->counters.completion_timeouts++;
    fab_error_report(port, FAB_SEVERITY_NONFATAL);
}

void fab_fabric_set_trace(FabFabric *fabric, uint32_t categories, FabTraceFn fn,
                          void *data)
{
    fabric->trace_categories = fn ? categories : 0;
    fabric->trace_fn = fn;
    fabric->trace_data = data;
    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            component->ports[j]->traced =
                fabric->trace_categories & FAB_TRACE_LINK;
        }
    }
}

void fab_fabric_attach(FabFabric *fabric, FabAttachment *attachment,
                       const FabAttachmentOps *ops)
{
    g_assert(ops->free && !fab_fabric_attachment(fabric, ops));
    attachment->ops = ops;
    attachment->next = fabric->attachments;
    fabric->attachments = attachment;
}

FabAttachment *fab_fabric_attachment(const FabFabric *fabric,
                                     const FabAttachmentOps *ops)
{
    FabAttachment *attachment = fabric->attachments;

    while (attachment && attachment->ops != ops) {
        attachment = attachment->next;
    }
    return attachment;
}
