/* SPDX-License-Identifier: MIT */
#include "inv_export.h"

#include "inv_machine_priv.h"

#define CLASS_PCI_BRIDGE 0x060400

/* The state while one file is written. */
typedef struct Writer {
    const GPtrArray *functions;
    GString *out;
    unsigned gp_index;   /* hwloc: the last number of an object */
    unsigned gpus, nets; /* NCCL: how many were written */
} Writer;

static const TopoFunction *bridge_above(const Writer *writer,
                                        const TopoFunction *function)
{
    return inv_bridge_above(writer->functions, function->address);
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

/* Writes the functions on one root bus, which is at @index. Returns the index
 * of the next root bus. */
static unsigned hwloc_root_bus(Writer *writer, unsigned index)
{
    const TopoFunction *first = writer->functions->pdata[index];
    unsigned last_bus = first->address.bus;
    unsigned next = writer->functions->len;

    for (unsigned i = index; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];

        if (function->address.domain != first->address.domain ||
            (function->address.bus != first->address.bus &&
             !bridge_above(writer, function))) {
            next = i;
            break;
        }
        last_bus = MAX(last_bus, function->is_bridge ? function->subordinate
                                                     : function->address.bus);
    }
    g_string_append_printf(writer->out,
                           "    <object type=\"Bridge\" gp_index=\"%u\" "
                           "bridge_type=\"0-1\" depth=\"0\" "
                           "bridge_pci=\"%04x:[%02x-%02x]\">\n",
                           ++writer->gp_index, first->address.domain,
                           first->address.bus, last_bus);
    for (unsigned i = index; i < next; i++) {
        const TopoFunction *function = writer->functions->pdata[i];

        if (!bridge_above(writer, function)) {
            hwloc_object(writer, function, 1);
        }
    }
    g_string_append(writer->out, "    </object>\n");
    return next;
}

void inv_export_hwloc(const GPtrArray *functions, int64_t memory_bytes,
                      GString *out)
{
    static const char sets[] =
        "cpuset=\"0x00000001\" complete_cpuset=\"0x00000001\" "
        "nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"";
    Writer writer = {.functions = functions, .out = out, .gp_index = 3};
    unsigned i = 0;

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
    while (i < functions->len) {
        i = hwloc_root_bus(&writer, i);
    }
    g_string_append(out, "  </object>\n</topology>\n");
}

/* ---- NCCL -------------------------------------------------------------- */

static bool is_gpu(const TopoFunction *function)
{
    return function->class_code >> 16 == 0x03;
}

static bool is_net(const TopoFunction *function)
{
    return function->class_code >> 16 == 0x02;
}

/* Returns the Upstream Port of the first switch above @function; NULL if there
 * is none. */
static const TopoFunction *switch_above(const Writer *writer,
                                        const TopoFunction *function)
{
    const TopoFunction *above = bridge_above(writer, function);

    while (above && !above->is_upstream) {
        above = bridge_above(writer, above);
    }
    return above;
}

/* Returns whether a GPU or a network port is below the switch @upstream. */
static bool is_wanted(const Writer *writer, const TopoFunction *upstream)
{
    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];
        const TopoFunction *above;

        if (!is_gpu(function) && !is_net(function)) {
            continue;
        }
        for (above = switch_above(writer, function); above;
             above = switch_above(writer, above)) {
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
    if (is_gpu(function)) {
        g_string_append_printf(out,
                               "%*s<gpu dev=\"%u\" sm=\"80\" rank=\"%u\" "
                               "gdr=\"1\"/>\n",
                               indent + 2, "", writer->gpus, writer->gpus);
        writer->gpus++;
    } else if (is_net(function)) {
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

/* Writes what is directly below the switch @above; NULL: below the CPU. */
static void nccl_below(Writer *writer, const TopoFunction *above,
                       unsigned depth)
{
    for (unsigned i = 0; i < writer->functions->len; i++) {
        const TopoFunction *function = writer->functions->pdata[i];
        bool is_end = is_gpu(function) || is_net(function);

        if (switch_above(writer, function) == above &&
            (is_end ||
             (function->is_upstream && is_wanted(writer, function)))) {
            nccl_pci(writer, function, depth);
        }
    }
}

void inv_export_nccl(const GPtrArray *functions, GString *out)
{
    Writer writer = {.functions = functions, .out = out};

    g_string_append(out,
                    "<system version=\"1\">\n"
                    "  <cpu numaid=\"0\" affinity=\"ffffffff\" "
                    "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
                    "modelid=\"85\">\n");
    nccl_below(&writer, NULL, 2);
    g_string_append(out, "  </cpu>\n</system>\n");
}
