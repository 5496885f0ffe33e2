/* SPDX-License-Identifier: MIT */
#include "fab_fake.h"

#include <string.h>

struct FabRoot {
    FabComponent component;
    FabRootParams params;
};

G_DEFINE_QUARK(fab - error - quark, fab_error)

FabFabric *fake_fabric_new(void)
{
    FabFabric *fabric = g_new0(FabFabric, 1);

    fabric->components = g_ptr_array_new();
    return fabric;
}

void fake_fabric_free(FabFabric *fabric)
{
    unsigned i, j;

    for (i = 0; i < fabric->components->len; i++) {
        FabComponent *component = fabric->components->pdata[i];

        for (j = 0; j < component->port_count; j++) {
            g_free(component->ports[j]->name);
            g_free(component->ports[j]);
        }
        g_free(component->ports);
        g_free(component->name);
        g_free(component);
    }
    g_ptr_array_free(fabric->components, TRUE);
    g_free(fabric);
}

static char *fake_port_name(FabKind kind, unsigned index)
{
    switch (kind) {
    case FAB_KIND_ROOT:
        return g_strdup_printf("rp%u", index);
    case FAB_KIND_SWITCH:
        return index ? g_strdup_printf("dsp%u", index - 1) : g_strdup("usp");
    case FAB_KIND_NTB:
        return index ? g_strdup_printf("cable%u", index - 1) : g_strdup("host");
    default:
        return g_strdup("up");
    }
}

FabComponent *fake_component(FabFabric *fabric, FabKind kind, const char *name,
                             unsigned ports)
{
    FabComponent *component =
        g_malloc0(kind == FAB_KIND_ROOT ? sizeof(FabRoot) : sizeof(*component));
    unsigned i;

    component->fabric = fabric;
    component->kind = kind;
    component->name = g_strdup(name);
    component->port_count = ports;
    component->ports = g_new0(FabPort *, ports);
    for (i = 0; i < ports; i++) {
        FabPort *port = g_new0(FabPort, 1);

        port->owner = component;
        port->index = i;
        port->name = fake_port_name(kind, i);
        component->ports[i] = port;
    }
    g_ptr_array_add(fabric->components, component);
    return component;
}

void fake_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                  unsigned port_b)
{
    FabPort *ends[2] = {a->ports[port_a], b->ports[port_b]};
    unsigned i;

    for (i = 0; i < 2; i++) {
        ends[i]->peer = ends[1 - i];
        ends[i]->speed = FAB_SPEED_8_0GT;
        ends[i]->width = 8;
        ends[i]->mps_bytes = 256;
    }
}

void fake_bar(FabComponent *component, unsigned bar, uint64_t size_bytes,
              unsigned flags)
{
    component->bars[bar] = (FabBar){
        .size_bytes = size_bytes,
        .is_64bit = flags & FAKE_64BIT,
        .prefetchable = flags & FAKE_PREF,
    };
}

FabRoot *fab_component_as_root(FabComponent *component)
{
    return component->kind == FAB_KIND_ROOT ? (FabRoot *)component : NULL;
}

const FabRootParams *fab_root_params(const FabRoot *root)
{
    return &root->params;
}

FabMmioParams *fake_mmio(FabComponent *root)
{
    return &fab_component_as_root(root)->params.mmio;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    const FabComponent *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

FabComponent *const *fab_fabric_components(const FabFabric *fabric,
                                           unsigned *ret_count)
{
    g_ptr_array_sort(fabric->components, compare_names);
    *ret_count = fabric->components->len;
    return (FabComponent *const *)fabric->components->pdata;
}

const char *fab_component_name(const FabComponent *component)
{
    return component->name;
}

FabKind fab_component_kind(const FabComponent *component)
{
    return component->kind;
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

unsigned fab_component_port_count(const FabComponent *component)
{
    return component->port_count;
}

FabPort *fab_component_port(const FabComponent *component, unsigned index)
{
    return component->ports[index];
}

const char *fab_port_name(const FabPort *port)
{
    return port->name;
}

FabComponent *fab_port_owner(const FabPort *port)
{
    return port->owner;
}

unsigned fab_port_index(const FabPort *port)
{
    return port->index;
}

FabPort *fab_port_peer(const FabPort *port)
{
    return port->peer;
}

FabSpeed fab_port_speed(const FabPort *port)
{
    return port->speed;
}

uint32_t fab_port_width(const FabPort *port)
{
    return port->width;
}

uint32_t fab_port_mps_bytes(const FabPort *port)
{
    return port->mps_bytes;
}

const FabBridge *fab_port_bridge(const FabPort *port)
{
    return port->has_bridge ? &port->bridge : NULL;
}
