/* SPDX-License-Identifier: MIT */
#include "fab_account_priv.h"

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

void fab_component_init(FabComponent *component, FabFabric *fabric,
                        const FabComponentOps *ops, FabKind kind,
                        const char *name)
{
    g_assert(ops->receive && ops->realize && ops->free);
    g_assert(!fabric->realized);
    component->ops = ops;
    component->fabric = fabric;
    component->engine = fabric->engine;
    component->kind = kind;
    component->name = g_strdup(name);
    g_assert(!g_hash_table_contains(fabric->by_name, name));
    g_hash_table_insert(fabric->by_name, component->name, component);
    g_ptr_array_set_free_func(fabric->components, component_free);
    g_ptr_array_add(fabric->components, component);
}

FabPort *fab_component_add_port(FabComponent *component, const char *name,
                                const FabPortParams *params)
{
    unsigned index = component->port_count++;

    g_assert(!component->fabric->realized);
    component->ports =
        g_renew(FabPort *, component->ports, component->port_count);
    component->ports[index] = fab_port_new(component, name, index, params);
    return component->ports[index];
}

void fab_component_share_port(FabComponent *component, FabPort *port)
{
    component->ports = g_new(FabPort *, 1);
    component->ports[0] = port;
}

const char *fab_component_name(const FabComponent *component)
{
    return component->name;
}

FabKind fab_component_kind(const FabComponent *component)
{
    return component->kind;
}

FabFabric *fab_component_fabric(const FabComponent *component)
{
    return component->fabric;
}

FabComponent *fab_component_root(const FabComponent *component)
{
    return component->root;
}

FabBdf fab_component_bdf(const FabComponent *component)
{
    return component->bdf;
}

const FabBar *fab_component_bars(const FabComponent *component)
{
    return component->bars;
}

int fab_component_find_bar(const FabComponent *component, FabBusAddr addr)
{
    for (unsigned i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &component->bars[i];

        /* Below the BAR the difference wraps to something huge. */
        if (addr - bar->addr < bar->size_bytes) {
            return i;
        }
    }
    return -1;
}

unsigned fab_component_port_count(const FabComponent *component)
{
    return component->port_count;
}

FabPort *fab_component_port(const FabComponent *component, unsigned index)
{
    g_return_val_if_fail(index < component->port_count ||
                             (index == 0 && component->ports),
                         NULL);
    return component->ports[index];
}
