/* SPDX-License-Identifier: MIT */
#include "topo_description.h"

/* Names have no quote or backslash, so identifiers need no escape. */
static void write_edge(GString *out, const char *from, const char *to,
                       unsigned speed_mtps, unsigned width, const char *style)
{
    g_string_append_printf(
        out, "  \"%s\" -- \"%s\" [label=\"%u.%u GT/s x%u\"%s];\n", from, to,
        speed_mtps / 1000, speed_mtps % 1000 / 100, width, style);
}

static char *parent_id(const TopoHost *host, const TopoAttach *at)
{
    const TopoRootPort *ports;
    unsigned n;

    if (at->parent != NULL) {
        return g_strdup(at->parent->path);
    }
    ports = topo_part_root_ports(host->cpu, &n);
    return g_strconcat(host->name, ".cpu.", ports[at->port].name, NULL);
}

static void write_root_ports(const TopoHost *host, GString *out)
{
    const TopoRootPort *ports;
    unsigned i, n;

    g_string_append_printf(
        out, "    \"%s.cpu\" [shape=box3d, label=\"%s%s\"];\n", host->name,
        topo_part_name(host->cpu), host->iommu ? "\\nIOMMU on" : "");
    ports = topo_part_root_ports(host->cpu, &n);
    for (i = 0; i < n; i++) {
        g_string_append_printf(out,
                               "    \"%s.cpu.%s\" [shape=box, label=\"%s\"];\n"
                               "    \"%s.cpu\" -- \"%s.cpu.%s\";\n",
                               host->name, ports[i].name, ports[i].name,
                               host->name, host->name, ports[i].name);
    }
}

static void write_host(const TopoHost *host, GString *out)
{
    unsigned i;

    g_string_append_printf(out,
                           "  subgraph \"cluster_%s\" {\n    label=\"%s\";\n",
                           host->name, host->name);
    write_root_ports(host, out);
    for (i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = g_ptr_array_index(host->switches, i);

        g_string_append_printf(
            out, "    \"%s\" [shape=trapezium, label=\"%s\\n%s%s\"];\n",
            sw->path, sw->name, topo_part_name(sw->part),
            sw->acs_redirect ? "\\nACS redirect" : "");
    }
    for (i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = g_ptr_array_index(host->devices, i);
        bool is_ntb = topo_part_kind(device->part) == TOPO_PART_NTB;

        g_string_append_printf(out,
                               "    \"%s\" [shape=%s, label=\"%s\\n%s\"];\n",
                               device->path, is_ntb ? "hexagon" : "ellipse",
                               device->name, topo_part_name(device->part));
    }
    g_string_append(out, "  }\n");
}

static void write_attachments(const TopoHost *host, GString *out)
{
    unsigned i;

    for (i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = g_ptr_array_index(host->switches, i);
        g_autofree char *parent = parent_id(host, &sw->at);

        write_edge(out, parent, sw->path, sw->at.speed_mtps, sw->at.width, "");
    }
    for (i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = g_ptr_array_index(host->devices, i);
        g_autofree char *parent = parent_id(host, &device->at);

        write_edge(out, parent, device->path, device->at.speed_mtps,
                   device->at.width, "");
    }
}

void topo_dot(const TopoDescription *description, GString *out)
{
    unsigned i;

    g_string_append_printf(out,
                           "graph \"%s\" {\n  rankdir=TB;\n"
                           "  node [fontname=\"sans-serif\"];\n"
                           "  edge [fontname=\"sans-serif\", fontsize=10];\n",
                           description->name);
    for (i = 0; i < description->hosts->len; i++) {
        write_host(g_ptr_array_index(description->hosts, i), out);
    }
    for (i = 0; i < description->hosts->len; i++) {
        write_attachments(g_ptr_array_index(description->hosts, i), out);
    }
    for (i = 0; i < description->links->len; i++) {
        const TopoLink *link = g_ptr_array_index(description->links, i);

        write_edge(out, link->end[0]->path, link->end[1]->path,
                   link->speed_mtps, link->width,
                   ", style=bold, constraint=false");
    }
    for (i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = g_ptr_array_index(description->lends, i);

        g_string_append_printf(
            out,
            "  \"%s\" -- \"%s.cpu\" [style=dashed, constraint=false, "
            "label=\"lent\"];\n",
            lend->device->path, lend->to->name);
    }
    g_string_append(out, "}\n");
}
