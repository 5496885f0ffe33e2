/* SPDX-License-Identifier: MIT */
#include "fab_fake.h"

#include "fab_lab.h"
#include "fab_root_priv.h"

static void fake_receive(FabComponent *component, FabPort *ingress, FabTlp *tlp)
{
    g_assert_not_reached(); /* no test sends a TLP to a fake component */
}

static bool fake_realize(FabComponent *component, GError **error)
{
    return true;
}

static void fake_free(FabComponent *component)
{
    g_free(component);
}

static const FabComponentOps fake_ops = {
    .receive = fake_receive,
    .realize = fake_realize,
    .free = fake_free,
};

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

static FabPortRole fake_port_role(FabKind kind, unsigned index)
{
    switch (kind) {
    case FAB_KIND_ROOT:
        return FAB_PORT_ROOT;
    case FAB_KIND_SWITCH:
        return index ? FAB_PORT_DOWNSTREAM : FAB_PORT_UPSTREAM;
    case FAB_KIND_NTB:
        return index ? FAB_PORT_CABLE : FAB_PORT_ENDPOINT;
    default:
        return FAB_PORT_ENDPOINT;
    }
}

FabComponent *fake_component(FabFabric *fabric, FabKind kind, const char *name,
                             unsigned ports)
{
    FabPortParams params = lab_port_params();
    FabRootParams root = lab_root_params(false);
    g_autofree char *unique =
        fab_fabric_find(fabric, name)
            ? g_strdup_printf("%s#%u", name, fabric->components->len + 1)
            : g_strdup(name);
    FabComponent *component;

    if (kind == FAB_KIND_ROOT) {
        component = fab_root_component(fab_root_new(fabric, unique, &root));
    } else {
        component = g_new0(FabComponent, 1);
        fab_component_init(component, fabric, &fake_ops, kind, unique);
    }
    for (unsigned i = 0; i < ports; i++) {
        g_autofree char *port = fake_port_name(kind, i);

        fab_port_set_role(fab_component_add_port(component, port, &params),
                          fake_port_role(kind, i), NULL);
    }
    return component;
}

static void fake_disconnect(FabPort *port)
{
    if (port->peer) {
        port->peer->peer = NULL;
        port->peer = NULL;
    }
}

void fake_connect(FabComponent *a, unsigned port_a, FabComponent *b,
                  unsigned port_b)
{
    fake_disconnect(a->ports[port_a]);
    fake_disconnect(b->ports[port_b]);
    lab_connect(a, port_a, b, port_b);
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

FabMmioParams *fake_mmio(FabComponent *root)
{
    return &fab_component_as_root(root)->params.mmio;
}
