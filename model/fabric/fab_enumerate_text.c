/* SPDX-License-Identifier: MIT */
#include "fab_enumerate.h"

#include <inttypes.h>
#include <string.h>

#include "fab_endpoint.h"
#include "fab_enumerate_priv.h"

void fab_append_size(GString *out, uint64_t bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    unsigned unit = 0;

    while (bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    g_string_append_printf(out, "%" PRIu64 " %s", bytes, units[unit]);
}

static const char *kind_text(FabKind kind)
{
    switch (kind) {
    case FAB_KIND_ROOT:
        return "root complex";
    case FAB_KIND_SWITCH:
        return "switch";
    case FAB_KIND_NTB:
        return "NTB";
    case FAB_KIND_ENDPOINT:
        return "endpoint";
    }
    return "?";
}

static bool is_upstream_port(const FabPort *port)
{
    return fab_port_role(port) == FAB_PORT_UPSTREAM;
}

static void append_bdf(GString *out, FabBdf bdf)
{
    g_string_append_printf(out, "%02x:%02x.%x", FAB_BDF_BUS(bdf),
                           FAB_BDF_DEV(bdf), FAB_BDF_FN(bdf));
}

static void append_link(GString *out, const FabPort *port)
{
    g_string_append_printf(out, "%s x%" PRIu32,
                           fab_speed_name(fab_port_speed(port)),
                           fab_port_width(port));
}

static void append_port(GString *out, const FabPort *port)
{
    g_string_append_printf(out, "%s %s",
                           fab_component_name(fab_port_owner(port)),
                           fab_port_name(port));
}

/* Returns whether @port or its peer is a cable port, which leads out of a
 * hierarchy. */
static bool is_cable(const FabPort *port)
{
    const FabPort *peer = fab_port_peer(port);

    return fab_port_role(port) == FAB_PORT_CABLE ||
           (peer && fab_port_role(peer) == FAB_PORT_CABLE);
}

/* The Upstream Port of the component below @bridge; NULL if nothing is
 * connected or a cable is. */
static FabPort *port_below(FabPort *bridge)
{
    return is_cable(bridge) ? NULL : fab_port_peer(bridge);
}

static int compare_functions(const void *a, const void *b)
{
    const FabComponent *const *x = a, *const *y = b;
    FabBdf one = fab_component_bdf(*x), other = fab_component_bdf(*y);

    return (one > other) - (one < other);
}

/* Adds @component to @functions, and its virtual functions in the order of
 * their numbers. */
static void add_functions(GPtrArray *functions, FabComponent *component)
{
    FabEndpoint *function = fab_component_as_endpoint(component);

    g_ptr_array_add(functions, component);
    while (function && (function = fab_endpoint_next_function(function))) {
        g_ptr_array_add(functions, fab_endpoint_component(function));
    }
    g_ptr_array_sort(functions, compare_functions);
}

/* The bridges on the bus below @bridge (NULL: bus 00 of @root), in the order of
 * their numbers. *ret_functions are the functions on this bus that are none.
 */
static GPtrArray *list_bus(FabComponent *root, FabPort *bridge,
                           GPtrArray **ret_functions)
{
    GPtrArray *functions = g_ptr_array_new();
    GPtrArray *bridges = g_ptr_array_new();
    FabComponent *owner = bridge ? fab_port_owner(bridge) : root;
    FabPort *below;
    unsigned i;

    *ret_functions = functions;
    if (!bridge || is_upstream_port(bridge)) {
        for (i = bridge ? 1 : 0; i < fab_component_port_count(owner); i++) {
            FabPort *port = fab_component_port(owner, i);

            if (fab_port_bridge(port)) {
                g_ptr_array_add(bridges, port);
            }
        }
        if (!bridge) {
            add_functions(functions, root);
        }
        return bridges;
    }
    below = port_below(bridge);
    if (below && is_upstream_port(below)) {
        g_ptr_array_add(bridges, below);
    } else if (below) {
        add_functions(functions, fab_port_owner(below));
    }
    return bridges;
}

static void append_devfn(GString *out, FabBdf bdf)
{
    g_string_append_printf(out, "%02x.%x", FAB_BDF_DEV(bdf), FAB_BDF_FN(bdf));
}

static void append_buses(GString *out, unsigned secondary, unsigned subordinate)
{
    if (secondary == subordinate) {
        g_string_append_printf(out, "-[%02x]", secondary);
    } else {
        g_string_append_printf(out, "-[%02x-%02x]", secondary, subordinate);
    }
}

static bool is_virtual(FabComponent *component)
{
    FabEndpoint *endpoint = fab_component_as_endpoint(component);

    return endpoint && fab_endpoint_device(endpoint) != endpoint;
}

/* The kind of @component; the ports of a virtual function are its device's. */
static const char *what_is(FabComponent *component)
{
    return is_virtual(component) ? "virtual function"
                                 : kind_text(fab_component_kind(component));
}

static void tree_function(GString *out, FabComponent *component)
{
    unsigned i;

    append_devfn(out, fab_component_bdf(component));
    g_string_append_printf(out, "  %s, %s", fab_component_name(component),
                           what_is(component));
    for (i = 0; i < fab_component_port_count(component); i++) {
        const FabPort *port = fab_component_port(component, i);

        if (is_cable(port) && fab_port_peer(port)) {
            g_string_append_printf(out, ", %s to ", fab_port_name(port));
            append_port(out, fab_port_peer(port));
        }
    }
    g_string_append_c(out, '\n');
}

/*
 * Draws the bus below @bridge (NULL: bus 00). The first line has been written
 * up to the bus numbers. @prefix has the same length and goes before each
 * further line. The depth of the recursion is at most the number of buses.
 */
static void tree_bus(GString *out, const char *prefix, FabComponent *root,
                     FabPort *bridge)
{
    g_autoptr(GPtrArray) functions = NULL;
    g_autoptr(GPtrArray) bridges = list_bus(root, bridge, &functions);
    unsigned first = functions->len;
    unsigned count = bridges->len + first;
    unsigned i;

    if (count == 0) {
        g_string_append(out, "--\n");
    }
    for (i = 0; i < count; i++) {
        bool last = i + 1 == count;
        g_autoptr(GString) inner = g_string_new(prefix);
        FabPort *port = i < first ? NULL : bridges->pdata[i - first];
        const FabBridge *header = port ? fab_port_bridge(port) : NULL;
        size_t start;

        if (i == 0) {
            g_string_append(out, last ? "----" : "--+-");
        } else {
            g_string_append_printf(out, "%s  %s", prefix, last ? "\\-" : "+-");
        }
        if (!header) {
            tree_function(out, functions->pdata[i]);
            continue;
        }
        start = out->len;
        append_devfn(out, header->bdf);
        g_string_append_printf(out, " %s",
                               is_upstream_port(port)
                                   ? fab_component_name(fab_port_owner(port))
                                   : fab_port_name(port));
        append_buses(out, header->secondary, header->subordinate);
        g_string_append(inner, last ? "    " : "  | ");
        g_string_append_printf(inner, "%*s", (int)(out->len - start), "");
        tree_bus(out, inner->str, root, port);
    }
}

/* The long listing. */

static void append_range(GString *out, const char *name,
                         const FabBridgeRange *range)
{
    g_string_append_printf(out, "\t%s: ", name);
    if (!fab_bridge_range_is_open(range)) {
        g_string_append(out, "closed\n");
        return;
    }
    g_string_append_printf(out, "0x%" PRIx64 "-0x%" PRIx64 " [", range->base,
                           range->limit);
    fab_append_size(out, range->limit - range->base + 1);
    g_string_append(out, "]\n");
}

static void append_bars(GString *out, const FabComponent *component)
{
    const FabBar *bars = fab_component_bars(component);
    unsigned i;

    for (i = 0; i < FAB_BARS; i++) {
        if (!bars[i].size_bytes) {
            continue;
        }
        g_string_append_printf(
            out, "\tBAR %u: 0x%" PRIx64 " (%d-bit, %sprefetchable) [", i,
            bars[i].addr, bars[i].is_64bit ? 64 : 32,
            bars[i].prefetchable ? "" : "non-");
        fab_append_size(out, bars[i].size_bytes);
        g_string_append(out, "]\n");
    }
}

static void append_link_line(GString *out, const char *what,
                             const FabPort *port)
{
    const FabPort *peer = fab_port_peer(port);

    g_string_append_printf(out, "\t%s: ", what);
    if (!peer) {
        g_string_append(out, "not connected\n");
        return;
    }
    append_link(out, port);
    g_string_append(out, " to ");
    append_port(out, peer);
    g_string_append_printf(out, ", Max_Payload_Size %" PRIu32 " bytes\n",
                           fab_port_mps_bytes(port));
}

static void list_bridge(GString *out, const FabPort *port)
{
    const FabComponent *owner = fab_port_owner(port);
    const FabBridge *bridge = fab_port_bridge(port);
    const char *what = "Downstream Port";

    if (fab_port_role(port) == FAB_PORT_ROOT) {
        what = "Root Port";
    } else if (is_upstream_port(port)) {
        what = "Upstream Port";
    }
    append_bdf(out, bridge->bdf);
    g_string_append_c(out, ' ');
    append_port(out, port);
    g_string_append_printf(out, ": %s\n", what);
    append_link_line(out, "Link", port);
    g_string_append_printf(
        out, "\tBus: primary=%02x, secondary=%02x, subordinate=%02x\n",
        bridge->primary, bridge->secondary, bridge->subordinate);
    append_range(out, "Memory range", &bridge->memory);
    append_range(out, "Prefetchable range", &bridge->prefetchable);
    if (is_upstream_port(port)) {
        append_bars(out, owner);
    }
    g_string_append_c(out, '\n');
}

static void list_function(GString *out, FabComponent *component)
{
    unsigned i;

    append_bdf(out, fab_component_bdf(component));
    g_string_append_printf(out, " %s: %s\n", fab_component_name(component),
                           what_is(component));
    for (i = 0;
         !is_virtual(component) && i < fab_component_port_count(component);
         i++) {
        const FabPort *port = fab_component_port(component, i);
        g_autofree char *cable =
            g_strconcat("Cable ", fab_port_name(port), NULL);

        if (fab_port_role(port) != FAB_PORT_ROOT) { /* a bridge has its own */
            append_link_line(out, i == 0 ? "Link" : cable, port);
        }
    }
    append_bars(out, component);
    g_string_append_c(out, '\n');
}

/* Lists every function of the bus below @bridge (NULL: bus 00), and of the
 * buses below it. */
static void list_functions(GString *out, FabComponent *root, FabPort *bridge)
{
    g_autoptr(GPtrArray) functions = NULL;
    g_autoptr(GPtrArray) bridges = list_bus(root, bridge, &functions);
    unsigned i;

    for (i = 0; i < functions->len; i++) {
        list_function(out, functions->pdata[i]);
    }
    for (i = 0; i < bridges->len; i++) {
        list_bridge(out, bridges->pdata[i]);
        list_functions(out, root, bridges->pdata[i]);
    }
}

void fab_write_tree(FabComponent *root, FabTreeFlags flags, GString *out)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_autofree char *prefix = NULL;

    g_string_printf(line, "-[%s:00]", fab_component_name(root));
    prefix = g_strnfill(line->len, ' ');
    g_string_append(out, line->str);
    tree_bus(out, prefix, root, NULL);
    if (flags & FAB_TREE_LONG) {
        g_string_append_c(out, '\n');
        list_functions(out, root, NULL);
    }
}
