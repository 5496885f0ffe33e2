/* SPDX-License-Identifier: MIT */
#include "inv_export.h"

#include <string.h>

#include "inv_machine_priv.h"

#define CLASS_PCI_BRIDGE 0x060400

/* The state while one file is written. */
typedef struct Writer {
    const GPtrArray *functions;
    GString *out;
    const TopoHost *host; /* NCCL */
    int node;             /* NCCL: of the current CPU; -1: not known */
    unsigned gp_index;    /* hwloc: the last number of an object */
    unsigned gpus, nets;  /* NCCL: how many were written */
} Writer;

static const TopoFunction *bridge_above(const Writer *writer,
                                        const TopoFunction *function)
{
    return inv_bridge_above(writer->functions, function);
}

static int64_t known(int64_t value)
{
    return MAX(value, 0);
}

/* ---- hwloc ------------------------------------------------------------- */

/* Returns GB/s of a link, without its encoding, as hwloc shows it. */
static double bandwidth_of(const TopoFunction *function)
{
    double lane = function->speed_mtps / 8000.0;

    return function->width * lane *
           (function->speed_mtps <= 5000 ? 8.0 / 10 : 128.0 / 130);
}

static void hwloc_object(Writer *writer, const TopoFunction *function,
                         unsigned depth)
{
    g_autofree char *address = topo_address_to_string(function->address);
    g_autofree char *name =
        function->name ? g_markup_escape_text(function->name, -1) : NULL;
    char bandwidth[G_ASCII_DTOSTR_BUF_SIZE];
    GString *out = writer->out;
    int indent = (int)(2 * depth + 4);

    g_ascii_formatd(bandwidth, sizeof bandwidth, "%.6f",
                    bandwidth_of(function));
    g_string_append_printf(
        out, "%*s<object type=\"%s\" gp_index=\"%u\" ", indent, "",
        function->is_bridge ? "Bridge" : "PCIDev", ++writer->gp_index);
    if (function->is_bridge) {
        g_string_append_printf(out,
                               "bridge_type=\"1-1\" depth=\"%u\" "
                               "bridge_pci=\"%04x:[%02x-%02x]\" ",
                               depth, function->address.domain,
                               function->secondary, function->subordinate);
    }
    g_string_append_printf(
        out,
        "pci_busid=\"%s\" pci_type=\"%04x [%04x:%04x] [0000:0000] 00\" "
        "pci_link_speed=\"%s\">\n",
        address, (unsigned)(known(function->class_code) >> 8),
        (unsigned)known(function->vendor_id),
        (unsigned)known(function->device_id), bandwidth);
    if (name) {
        g_string_append_printf(out,
                               "%*s<info name=\"PCIDevice\" value=\"%s\"/>\n",
                               indent + 2, "", name);
    }
    for (unsigned i = 0; function->is_bridge && i < writer->functions->len;
         i++) {
        const TopoFunction *below = writer->functions->pdata[i];

        if (bridge_above(writer, below) == function) {
            hwloc_object(writer, below, depth + 1);
        }
    }
    g_string_append_printf(out, "%*s</object>\n", indent, "");
}

/* Writes the functions on the root bus of @first, the first one of them. */
static void hwloc_root_bus(Writer *writer, const TopoFunction *first)
{
    g_autoptr(GPtrArray) members = g_ptr_array_new();
    unsigned last_bus = first->address.bus;

    for (unsigned i = 0; i < writer->functions->len; i++) {
        TopoFunction *function = writer->functions->pdata[i];

        if (function->address.domain == first->address.domain &&
            function->address.bus == first->address.bus &&
            !bridge_above(writer, function)) {
            g_ptr_array_add(members, function);
            last_bus =
                MAX(last_bus, function->is_bridge ? function->subordinate
                                                  : function->address.bus);
        }
    }
    g_string_append_printf(writer->out,
                           "    <object type=\"Bridge\" gp_index=\"%u\" "
                           "bridge_type=\"0-1\" depth=\"0\" "
                           "bridge_pci=\"%04x:[%02x-%02x]\">\n",
                           ++writer->gp_index, first->address.domain,
                           first->address.bus, last_bus);
    for (unsigned i = 0; i < members->len; i++) {
        hwloc_object(writer, members->pdata[i], 1);
    }
    g_string_append(writer->out, "    </object>\n");
}

void inv_export_hwloc(const GPtrArray *functions, int64_t memory_bytes,
                      GString *out)
{
    static const char sets[] =
        "cpuset=\"0x00000001\" complete_cpuset=\"0x00000001\" "
        "nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"";
    Writer writer = {.functions = functions, .out = out, .gp_index = 3};
    const TopoFunction *last = NULL;

    g_string_append_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        "<topology version=\"2.0\">\n"
        "  <object type=\"Machine\" os_index=\"0\" %s "
        "allowed_cpuset=\"0x00000001\" allowed_nodeset=\"0x00000001\" "
        "gp_index=\"1\">\n"
        "    <object type=\"NUMANode\" os_index=\"0\" %s gp_index=\"2\" "
        "local_memory=\"%" G_GINT64_FORMAT "\"/>\n"
        "    <object type=\"PU\" os_index=\"0\" %s gp_index=\"3\"/>\n",
        sets, sets, memory_bytes, sets);
    for (unsigned i = 0; i < functions->len; i++) {
        const TopoFunction *function = functions->pdata[i];

        if (!bridge_above(&writer, function) &&
            (!last || last->address.domain != function->address.domain ||
             last->address.bus != function->address.bus)) {
            hwloc_root_bus(&writer, function);
            last = function;
        }
    }
    g_string_append(out, "  </object>\n</topology>\n");
}

/* ---- NCCL -------------------------------------------------------------- */

/* Returns whether the model has @function. All functions of a host that was not
 * imported come from the model. */
static bool is_in_model(const Writer *writer, const TopoFunction *function)
{
    const TopoHost *host = writer->host;

    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];
        const TopoPciAddress first = device->address;

        if (device->has_address &&
            topo_part_kind(device->part) != TOPO_PART_NTB &&
            function->address.domain == first.domain &&
            function->address.bus == first.bus &&
            function->address.dev == first.dev &&
            function->address.fn >= first.fn &&
            function->address.fn - first.fn <
                (unsigned)topo_part_int(device->part, "card.ports")) {
            return true;
        }
    }
    return host->functions->len == 0;
}

static bool has_type(const Writer *writer, const TopoFunction *function,
                     const char *type)
{
    const char *prefix;

    return strcmp(inv_card_type(function, &prefix), type) == 0 &&
           is_in_model(writer, function);
}

static bool is_gpu(const Writer *writer, const TopoFunction *function)
{
    return has_type(writer, function, "gpu");
}

static bool is_net(const Writer *writer, const TopoFunction *function)
{
    return has_type(writer, function, "network") ||
           has_type(writer, function, "infiniband");
}

/* Returns the Upstream Port of the first switch above @function; NULL if there
 * is none. */
static const TopoFunction *switch_above(const Writer *writer,
                                        const TopoFunction *function)
{
    const TopoFunction *above = bridge_above(writer, function);

    /* Bus numbers and `below:` of a strange host may make a loop. */
    for (unsigned i = 0;
         above && !above->is_upstream && i < writer->functions->len; i++) {
        above = bridge_above(writer, above);
    }
    return above && above->is_upstream ? above : NULL;
}

/* Returns the memory node of @function: its own, or that of the next bridge
 * above it that has one. -1: not known. */
static int node_of(const Writer *writer, const TopoFunction *function)
{
    for (unsigned i = 0;
         function && function->numa_node < 0 && i < writer->functions->len;
         i++) {
        function = bridge_above(writer, function);
    }
    return function ? function->numa_node : -1;
}

/* Returns whether a GPU or a network port is below the switch @upstream. */
static bool is_wanted(const Writer *writer, const TopoFunction *upstream)
{
    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];
        const TopoFunction *above = function;

        if (!is_gpu(writer, function) && !is_net(writer, function)) {
            continue;
        }
        for (unsigned j = 0; above && j < writer->functions->len; j++) {
            above = switch_above(writer, above);
            if (above == upstream) {
                return true;
            }
        }
    }
    return false;
}

static void nccl_below(Writer *writer, const TopoFunction *above,
                       unsigned depth);

static void nccl_pci(Writer *writer, const TopoFunction *function,
                     unsigned depth)
{
    g_autofree char *address = topo_address_to_string(function->address);
    GString *out = writer->out;
    int indent = (int)(2 * depth);

    g_string_append_printf(out, "%*s<pci busid=\"%s\" class=\"0x%06x\"", indent,
                           "", address, (unsigned)known(function->class_code));
    if (function->vendor_id >= 0 && function->device_id >= 0) {
        g_string_append_printf(out, " vendor=\"0x%04x\" device=\"0x%04x\"",
                               (unsigned)function->vendor_id,
                               (unsigned)function->device_id);
    }
    if (function->speed_mtps && function->width) {
        g_string_append_printf(out,
                               " link_speed=\"%u.%u GT/s PCIe\" "
                               "link_width=\"%u\"",
                               function->speed_mtps / 1000,
                               function->speed_mtps % 1000 / 100,
                               function->width);
    }
    g_string_append(out, ">\n");
    if (is_gpu(writer, function)) {
        g_string_append_printf(out,
                               "%*s<gpu dev=\"%u\" sm=\"80\" rank=\"%u\" "
                               "gdr=\"1\"/>\n",
                               indent + 2, "", writer->gpus, writer->gpus);
        writer->gpus++;
    } else if (is_net(writer, function)) {
        g_string_append_printf(
            out,
            "%*s<nic>\n"
            "%*s<net name=\"net%u\" dev=\"%u\" speed=\"100000\" port=\"1\" "
            "guid=\"0x%x\" maxconn=\"131072\" gdr=\"1\"/>\n"
            "%*s</nic>\n",
            indent + 2, "", indent + 4, "", writer->nets, writer->nets,
            writer->nets + 1, indent + 2, "");
        writer->nets++;
    }
    nccl_below(writer, function, depth + 1);
    g_string_append_printf(out, "%*s</pci>\n", indent, "");
}

/* Returns whether @function is an element of the file. */
static bool is_shown(const Writer *writer, const TopoFunction *function)
{
    return is_gpu(writer, function) || is_net(writer, function) ||
           (function->is_upstream && is_wanted(writer, function));
}

/* Writes what is directly below the switch @above; NULL: below the CPU of the
 * current node. */
static void nccl_below(Writer *writer, const TopoFunction *above,
                       unsigned depth)
{
    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];

        if (is_shown(writer, function) &&
            switch_above(writer, function) == above &&
            (above || node_of(writer, function) == writer->node)) {
            nccl_pci(writer, function, depth);
        }
    }
}

static int compare_nodes(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Returns the nodes (int) of what is directly below a CPU, in order. */
static GArray *nccl_nodes(const Writer *writer)
{
    GArray *nodes = g_array_new(FALSE, FALSE, sizeof(int));

    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];
        bool is_new =
            is_shown(writer, function) && !switch_above(writer, function);
        int node = is_new ? node_of(writer, function) : -1;

        for (unsigned j = 0; j < nodes->len; j++) {
            is_new &= g_array_index(nodes, int, j) != node;
        }
        if (is_new) {
            g_array_append_val(nodes, node);
        }
    }
    if (nodes->len == 0) {
        int none = -1;

        g_array_append_val(nodes, none);
    }
    g_array_sort(nodes, compare_nodes);
    return nodes;
}

void inv_export_nccl(const TopoHost *host, const GPtrArray *functions,
                     GString *out)
{
    Writer writer = {.host = host, .functions = functions, .out = out};
    g_autoptr(GArray) nodes = nccl_nodes(&writer);

    g_string_append(out, "<system version=\"1\">\n");
    for (unsigned i = 0; i < nodes->len; i++) {
        writer.node = g_array_index(nodes, int, i);
        /* A machine of one node does not always tell its number. */
        g_string_append_printf(
            out,
            "  <cpu numaid=\"%d\" affinity=\"ffffffff\" arch=\"x86_64\" "
            "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"85\">\n",
            nodes->len == 1 ? MAX(writer.node, 0) : writer.node);
        nccl_below(&writer, NULL, 2);
        g_string_append(out, "  </cpu>\n");
    }
    g_string_append(out, "</system>\n");
}
