/* SPDX-License-Identifier: MIT */
#include "exp_functions.h"

#include <string.h>

#include "fab_component.h"

#define CLASS_HOST_BRIDGE  0x060000
#define CLASS_PCI_BRIDGE   0x060400
#define CLASS_OTHER_BRIDGE 0x068000

static TopoPciAddress address_of(FabBdf bdf)
{
    return (TopoPciAddress){0, FAB_BDF_BUS(bdf), FAB_BDF_DEV(bdf),
                            FAB_BDF_FN(bdf)};
}

static TopoFunction *add(GPtrArray *functions, TopoPciAddress address,
                         int64_t class_code, const char *name)
{
    TopoFunction *function = g_new0(TopoFunction, 1);

    function->address = address;
    function->class_code = class_code;
    function->vendor_id = -1;
    function->device_id = -1;
    function->numa_node = -1;
    function->name = (char *)name;
    g_ptr_array_add(functions, function);
    return function;
}

/* Sets the link between @port and its peer, if there is one. */
static void set_link(TopoFunction *function, const FabPort *port)
{
    static const unsigned speeds[] = {
        [FAB_SPEED_2_5GT] = 2500,   [FAB_SPEED_5_0GT] = 5000,
        [FAB_SPEED_8_0GT] = 8000,   [FAB_SPEED_16_0GT] = 16000,
        [FAB_SPEED_32_0GT] = 32000, [FAB_SPEED_64_0GT] = 64000,
    };

    if (fab_port_peer(port)) {
        function->speed_mtps = speeds[fab_port_speed(port)];
        function->width = fab_port_width(port);
    }
}

/* Adds the bridges of a root or a switch. The first port of a switch is its
 * upstream port, which is called by the switch's name. */
static void add_bridges(GPtrArray *functions, const FabComponent *component,
                        const char *switch_name)
{
    for (unsigned i = 0; i < fab_component_port_count(component); i++) {
        const FabPort *port = fab_component_port(component, i);
        const FabBridge *bridge = fab_port_bridge(port);
        TopoFunction *function;

        if (!bridge) {
            continue;
        }
        function =
            add(functions, address_of(bridge->bdf), CLASS_PCI_BRIDGE,
                switch_name && i == 0 ? switch_name : fab_port_name(port));
        function->is_bridge = true;
        function->is_upstream = switch_name && i == 0;
        function->secondary = bridge->secondary;
        function->subordinate = bridge->subordinate;
        set_link(function, port);
    }
}

/* Gives the root ports their nodes, if there are several of them. */
static void set_nodes(const GPtrArray *functions, const TopoPart *cpu)
{
    unsigned n;
    const TopoRootPort *ports = topo_part_root_ports(cpu, &n);
    bool has_several = false;

    for (unsigned i = 0; i < n; i++) {
        has_several |= ports[i].node != ports[0].node;
    }
    for (unsigned i = 0; i < functions->len && has_several; i++) {
        TopoFunction *function = functions->pdata[i];

        for (unsigned j = 0; j < n && function->is_bridge; j++) {
            if (strcmp(ports[j].name, function->name) == 0) {
                function->numa_node = (int)ports[j].node;
            }
        }
    }
}

static int64_t class_of(const TopoPart *part)
{
    static const struct {
        const char *word;
        int64_t class_code;
    } classes[] = {
        {"infiniband", 0x020700},  {"network", 0x020000},
        {"gpu", 0x030200},         {"storage", 0x010802},
        {"accelerator", 0x120000}, {"other", 0xff0000},
    };

    if (topo_part_kind(part) == TOPO_PART_NTB) {
        return CLASS_OTHER_BRIDGE;
    }
    for (unsigned i = 0;
         topo_part_has(part, "card.type") && i < G_N_ELEMENTS(classes); i++) {
        if (strcmp(topo_part_text(part, "card.type"), classes[i].word) == 0) {
            return classes[i].class_code;
        }
    }
    if (topo_part_kind(part) == TOPO_PART_GPU) {
        return 0x030200;
    }
    return topo_part_has(part, "nvme.overhead") ? 0x010802 : 0x120000;
}

static void add_device(GPtrArray *functions, const ExpFabric *fabric,
                       const TopoDevice *device)
{
    FabComponent *component = exp_device(fabric, device);
    TopoPciAddress address = address_of(fab_component_bdf(component));
    unsigned ports = MAX(device->fabrics->len, 1);

    for (unsigned i = 0; i < ports; i++) {
        TopoFunction *function = add(functions, topo_address_add(address, i),
                                     class_of(device->part), device->name);

        set_link(function, fab_component_port(component, 0));
    }
}

static int compare_functions(const void *a, const void *b)
{
    const TopoFunction *first = *(TopoFunction *const *)a;
    const TopoFunction *second = *(TopoFunction *const *)b;

    return topo_address_compare(first->address, second->address);
}

GPtrArray *exp_functions_new(const ExpFabric *fabric, const TopoHost *host)
{
    GPtrArray *functions;
    FabComponent *root;

    if (host->functions->len > 0) {
        return g_ptr_array_ref(host->functions);
    }
    functions = g_ptr_array_new_with_free_func(g_free);
    root = exp_host(fabric, host);
    add(functions, address_of(fab_component_bdf(root)), CLASS_HOST_BRIDGE,
        host->name);
    add_bridges(functions, root, NULL);
    set_nodes(functions, host->cpu);
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        add_bridges(functions, fab_fabric_find(exp_fabric(fabric), sw->path),
                    sw->name);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        add_device(functions, fabric, host->devices->pdata[i]);
    }
    g_ptr_array_sort(functions, compare_functions);
    return functions;
}
