/* SPDX-License-Identifier: MIT */
#include "exp_dot.h"

#include <inttypes.h>

#include "fab_component.h"
#include "topo_units.h"

#define ROOT_COLOUR     "#fde9c9"
#define SWITCH_COLOUR   "#dce9f7"
#define NTB_COLOUR      "#f9d9d6"
#define ENDPOINT_COLOUR "#ddf0d8"
#define NETWORK_COLOUR  "#eee3f3"

typedef struct Drawing {
    const TopoDescription *description;
    const ExpFabric *fabric; /* NULL: draw the description alone */
    GString *out;
} Drawing;

/* ---- Graphviz ---------------------------------------------------------- */

/* Names in a description have no character that would need an escape. */
static void write_node(Drawing *drawing, const char *id, const char *colour,
                       const char *name, const char *details)
{
    g_string_append_printf(
        drawing->out,
        "        \"%s\" [fillcolor=\"%s\", label=<<b>%s</b>%s>];\n", id, colour,
        name, details);
}

static void write_link(Drawing *drawing, const char *from, const char *to,
                       unsigned speed_mtps, unsigned width, const char *style)
{
    g_autofree char *speed = topo_units_format(TOPO_UNIT_SPEED, speed_mtps);

    /* The blank keeps the text away from the line. */
    g_string_append_printf(drawing->out,
                           "    \"%s\" -- \"%s\" [label=\" %s x%u\"%s];\n",
                           from, to, speed, width, style);
}

/* ---- Elements ---------------------------------------------------------- */

/* Returns the text below the name of the element @path. With a fabric it has
 * the BDF and the BARs, otherwise @part and @more. The caller frees it. */
static char *element_details(const Drawing *drawing, const char *path,
                             const TopoPart *part, const char *more)
{
    g_autoptr(GString) text = g_string_new("<br/>");
    const FabComponent *component;
    const FabBar *bars;
    FabBdf bdf;

    if (!drawing->fabric) {
        g_string_append_printf(text, "%s%s", topo_part_name(part), more);
        return g_string_free(g_steal_pointer(&text), FALSE);
    }
    component = fab_fabric_find(exp_fabric(drawing->fabric), path);
    bdf = fab_component_bdf(component);
    bars = fab_component_bars(component);
    g_string_append_printf(text, "%s %02x:%02x.%x",
                           exp_kind_name(drawing->fabric, component),
                           FAB_BDF_BUS(bdf), FAB_BDF_DEV(bdf), FAB_BDF_FN(bdf));
    for (unsigned i = 0; i < FAB_BARS; i++) {
        if (bars[i].size_bytes) {
            g_autofree char *size =
                topo_units_format(TOPO_UNIT_BYTES, bars[i].size_bytes);

            g_string_append_printf(
                text,
                "<br/><font point-size=\"9\">BAR%u 0x%" PRIx64 " %s%s</font>",
                i, bars[i].addr, size, bars[i].prefetchable ? " pref" : "");
        }
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void write_element(Drawing *drawing, const char *path, const char *name,
                          const char *colour, const TopoPart *part,
                          const char *more)
{
    g_autofree char *details = element_details(drawing, path, part, more);

    write_node(drawing, path, colour, name, details);
}

/* Without a fabric, a host has a node for each root port, too. */
static void write_root_ports(Drawing *drawing, const TopoHost *host)
{
    unsigned n;
    const TopoRootPort *ports = topo_part_root_ports(host->cpu, &n);

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *id =
            g_strconcat(host->name, ".cpu.", ports[i].name, NULL);

        write_node(drawing, id, ROOT_COLOUR, ports[i].name, "");
        g_string_append_printf(drawing->out, "        \"%s\" -- \"%s\";\n",
                               host->name, id);
    }
}

static void write_host(Drawing *drawing, const TopoHost *host)
{
    g_string_append_printf(drawing->out,
                           "    subgraph \"cluster_%s\" {\n"
                           "        style=rounded;\n"
                           "        label=<<b>%s</b>>;\n",
                           host->name, host->name);
    write_element(drawing, host->name, host->name, ROOT_COLOUR, host->cpu,
                  host->iommu ? "<br/>IOMMU on" : "");
    if (!drawing->fabric) {
        write_root_ports(drawing, host);
    }
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        write_element(drawing, sw->path, sw->name, SWITCH_COLOUR, sw->part,
                      sw->acs_redirect ? "<br/>ACS redirect" : "");
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];
        bool is_ntb = topo_part_kind(device->part) == TOPO_PART_NTB;

        write_element(drawing, device->path, device->name,
                      is_ntb ? NTB_COLOUR : ENDPOINT_COLOUR, device->part, "");
    }
    g_string_append(drawing->out, "    }\n");
}

/* ---- Links ------------------------------------------------------------- */

static void write_attachment(Drawing *drawing, const TopoHost *host,
                             const TopoAttach *at, const char *path)
{
    g_autofree char *id = NULL;
    unsigned n;

    if (at->parent) {
        id = g_strdup(at->parent->path);
    } else if (drawing->fabric) {
        id = g_strdup(host->name);
    } else {
        id = g_strconcat(host->name, ".cpu.",
                         topo_part_root_ports(host->cpu, &n)[at->port].name,
                         NULL);
    }
    write_link(drawing, id, path, at->speed_mtps, at->width, "");
}

static void write_attachments(Drawing *drawing, const TopoHost *host)
{
    for (unsigned i = 0; i < host->switches->len; i++) {
        const TopoSwitch *sw = host->switches->pdata[i];

        write_attachment(drawing, host, &sw->at, sw->path);
    }
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        write_attachment(drawing, host, &device->at, device->path);
    }
}

static void write_lends(Drawing *drawing)
{
    for (unsigned i = 0; i < drawing->description->lends->len; i++) {
        const TopoLend *lend = drawing->description->lends->pdata[i];
        const TopoDevice *whole = lend->device->physical;

        /* A virtual function is drawn with its device: " lent vf0" */
        g_string_append_printf(
            drawing->out,
            "    \"%s\" -- \"%s\" [label=\" lent%s%s\", "
            "style=dotted, constraint=false];\n",
            whole ? whole->path : lend->device->path, lend->to->name,
            whole ? " " : "",
            whole ? lend->device->name + strlen(whole->name) + 1 : "");
    }
}

/* ---- Networks ---------------------------------------------------------- */

static void write_port(Drawing *drawing, const TopoDevice *device,
                       unsigned port, const char *network)
{
    g_autofree char *rate = topo_units_format(
        TOPO_UNIT_RATE, topo_part_rate(device->part, "nic.rate"));
    g_autofree char *number = topo_nic_ports(device) > 1
                                  ? g_strdup_printf("port %u, ", port)
                                  : g_strdup("");

    g_string_append_printf(
        drawing->out,
        "    \"%s\" -- \"network %s\" [label=\" %s%s\", style=bold];\n",
        device->path, network, number, rate);
}

/* Draws the ports of NICs that are in @network. It leads no TLPs, so it has
 * another form than a link. */
static void write_network(Drawing *drawing, const TopoNetwork *network)
{
    g_autofree char *latency =
        topo_units_format(TOPO_UNIT_TIME, network->latency_ps);

    g_string_append_printf(
        drawing->out,
        "    \"network %s\" [shape=ellipse, fillcolor=\"%s\", "
        "label=<<b>%s</b><br/>%s, %s>];\n",
        network->name, NETWORK_COLOUR, network->name,
        network->has_switch ? "switch" : "cable", latency);
    for (unsigned i = 0; i < drawing->description->hosts->len; i++) {
        const TopoHost *host = drawing->description->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            for (unsigned k = 0;
                 topo_device_is_nic(device) && k < topo_nic_ports(device);
                 k++) {
                const char *name = topo_nic_network(device, k);

                if (g_strcmp0(name, network->name) == 0) {
                    write_port(drawing, device, k, name);
                }
            }
        }
    }
}

/* ---- Rings ------------------------------------------------------------- */

/* Returns the host to which a link leads from @host, other than by @last. Sets
 * *ret_link to that link, and *ret_count to the number of links of @host. */
static const TopoHost *next_host(const TopoDescription *description,
                                 const TopoHost *host, const TopoLink *last,
                                 const TopoLink **ret_link, unsigned *ret_count)
{
    const TopoHost *next = NULL;

    *ret_count = 0;
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];

        for (unsigned j = 0; j < 2; j++) {
            if (link->end[j]->host != host) {
                continue;
            }
            (*ret_count)++;
            if (link != last) {
                next = link->end[1 - j]->host;
                *ret_link = link;
            }
        }
    }
    return next;
}

/* Returns true if the links join all hosts, three or more, to one ring. */
static bool is_ring(const TopoDescription *description)
{
    const TopoHost *host, *first;
    const TopoLink *link = NULL;
    unsigned n = description->hosts->len, links;

    if (n < 3 || description->links->len != n) {
        return false;
    }
    host = first = description->hosts->pdata[0];
    for (unsigned i = 0; i < n; i++) {
        host = next_host(description, host, link, &link, &links);
        if (links != 2 || (host == first) != (i + 1 == n)) {
            return false;
        }
    }
    return true;
}

/* Returns the attributes of a graph that has the form of @description. Layers
 * show a tree best; springs between the nodes make a ring round. */
static const char *form_of(const TopoDescription *description)
{
    return is_ring(description) ? "layout=fdp, K=1.6" : "ranksep=0.6";
}

void exp_dot(const TopoDescription *description, const ExpFabric *fabric,
             GString *out)
{
    Drawing drawing = {description, fabric, out};

    g_string_append_printf(
        out,
        "graph \"%s\" {\n"
        "    graph [fontname=\"sans-serif\", fontsize=13, %s];\n"
        "    node [shape=box, style=\"rounded,filled\", fontsize=11, "
        "fontname=\"sans-serif\"];\n"
        "    edge [fontsize=9, fontname=\"sans-serif\"];\n",
        description->name, form_of(description));
    for (unsigned i = 0; i < description->hosts->len; i++) {
        write_host(&drawing, description->hosts->pdata[i]);
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        write_attachments(&drawing, description->hosts->pdata[i]);
    }
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];

        write_link(&drawing, link->end[0]->path, link->end[1]->path,
                   link->speed_mtps, link->width, ", style=dashed");
    }
    for (unsigned i = 0; i < description->networks->len; i++) {
        write_network(&drawing, description->networks->pdata[i]);
    }
    if (!fabric) {
        write_lends(&drawing);
    }
    g_string_append(out, "}\n");
}
