/* SPDX-License-Identifier: MIT */
#include "inv_tree.h"

#include "inv_machine_priv.h"

const TopoFunction *inv_bridge_above(const GPtrArray *functions,
                                     const TopoFunction *function)
{
    const TopoFunction *best = NULL;

    for (unsigned i = 0; i < functions->len; i++) {
        const TopoFunction *bridge = functions->pdata[i];

        if (function->has_above) {
            if (topo_address_compare(bridge->address, function->above) == 0) {
                return bridge;
            }
        } else if (bridge->is_bridge &&
                   bridge->address.domain == function->address.domain &&
                   bridge->secondary <= function->address.bus &&
                   function->address.bus <= bridge->subordinate &&
                   bridge->secondary > bridge->address.bus &&
                   (!best || bridge->subordinate - bridge->secondary <
                                 best->subordinate - best->secondary)) {
            best = bridge;
        }
    }
    return best;
}

/* The state while one tree is written. */
typedef struct Writer {
    const GPtrArray *functions;
    GPtrArray *parents; /* of TopoFunction, by function: the bridge above it;
                           NULL: it is on a root bus */
    GString *lead;      /* the part of the line left of what is written */
    GString *out;
} Writer;

/* Ends a line. Below it, the lead shows only the branches that go on. */
static void end_line(Writer *writer)
{
    g_string_append_printf(writer->out, "%s\n", writer->lead->str);
    for (size_t i = 0; i < writer->lead->len; i++) {
        char *at = &writer->lead->str[i];

        *at = *at == '+' || *at == '|' ? '|' : ' ';
    }
}

typedef struct Bus {
    unsigned domain, number;
} Bus;

/* Returns the buses below @bridge (NULL: root buses) in the order in which they
 * are shown. The first is there even if no function is on it, but not if it is
 * not known and there are others. */
static GArray *buses_below(const Writer *writer, const TopoFunction *bridge)
{
    GArray *buses = g_array_new(FALSE, FALSE, sizeof(Bus));
    Bus first = {bridge ? bridge->address.domain : 0,
                 bridge ? bridge->secondary : 0};

    g_array_append_val(buses, first);
    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];
        Bus bus = {function->address.domain, function->address.bus};
        bool is_known = false;

        for (unsigned j = 0; j < buses->len && !is_known; j++) {
            const Bus *known = &g_array_index(buses, Bus, j);

            is_known =
                known->domain == bus.domain && known->number == bus.number;
        }
        if (writer->parents->pdata[i] == bridge && !is_known) {
            g_array_append_val(buses, bus);
        }
    }
    if (bridge && bridge->secondary == 0 && buses->len > 1) {
        g_array_remove_index(buses, 0);
    }
    return buses;
}

static void write_buses(Writer *writer, const TopoFunction *bridge);

static void write_function(Writer *writer, const TopoFunction *function)
{
    g_string_append_printf(writer->lead, "%02x.%x", function->address.dev,
                           function->address.fn);
    if (!function->is_bridge) {
        end_line(writer);
        return;
    }
    if (function->secondary == 0) {
        /* Firmware has not set it up. */
        g_string_append(writer->lead, "-");
    } else if (function->secondary == function->subordinate) {
        g_string_append_printf(writer->lead, "-[%02x]-", function->secondary);
    } else {
        g_string_append_printf(writer->lead, "-[%02x-%02x]-",
                               function->secondary, function->subordinate);
    }
    write_buses(writer, function);
}

/* Writes the functions on @bus, which are below @bridge. */
static void write_bus(Writer *writer, const TopoFunction *bridge, Bus bus)
{
    g_autoptr(GPtrArray) members = g_ptr_array_new();
    size_t length = writer->lead->len;

    for (unsigned i = 0; i < writer->functions->len; i++) {
        TopoFunction *function = writer->functions->pdata[i];

        if (writer->parents->pdata[i] == bridge &&
            function->address.domain == bus.domain &&
            function->address.bus == bus.number) {
            g_ptr_array_add(members, function);
        }
    }
    if (members->len == 0) {
        end_line(writer);
    }
    for (unsigned i = 0; i < members->len; i++) {
        g_string_append(writer->lead, members->len == 1      ? "--"
                                      : i + 1 < members->len ? "+-"
                                                             : "\\-");
        write_function(writer, members->pdata[i]);
        g_string_truncate(writer->lead, length);
    }
}

static void write_buses(Writer *writer, const TopoFunction *bridge)
{
    g_autoptr(GArray) buses = buses_below(writer, bridge);
    size_t length;

    g_string_append(writer->lead, "-");
    length = writer->lead->len;
    for (unsigned i = 0; i < buses->len; i++) {
        Bus bus = g_array_index(buses, Bus, i);

        if (buses->len > 1) {
            g_string_append(writer->lead, i + 1 < buses->len ? "+-" : "\\-");
        }
        if (buses->len > 1 || !bridge || bus.number != bridge->secondary ||
            bus.domain != bridge->address.domain) {
            g_string_append_printf(writer->lead, "[%04x:%02x]-", bus.domain,
                                   bus.number);
        }
        write_bus(writer, bridge, bus);
        g_string_truncate(writer->lead, length);
    }
}

void inv_write_tree(const GPtrArray *functions, GString *out)
{
    g_autoptr(GPtrArray) parents = g_ptr_array_new();
    g_autoptr(GString) lead = g_string_new(NULL);
    Writer writer = {functions, parents, lead, out};

    for (unsigned i = 0; i < functions->len; i++) {
        const TopoFunction *function = functions->pdata[i];

        g_ptr_array_add(parents, (void *)inv_bridge_above(functions, function));
    }
    write_buses(&writer, NULL);
}
