/* SPDX-License-Identifier: MIT */
#include "stu_check_priv.h"

#include <string.h>

#include "topo_flow.h"

/* The switch below the root port that leads to @device; NULL: there is none.
 * *@ret_port gets the number of the root port. */
static const TopoSwitch *root_port_of(const TopoDevice *device,
                                      unsigned *ret_port)
{
    const TopoAttach *at = &device->at;
    const TopoSwitch *top = NULL;

    while (at->parent) {
        top = at->parent;
        at = &top->at;
    }
    *ret_port = at->port;
    return top;
}

static bool is_read(const TopoFlow *flow)
{
    const char *kind = topo_flow_kind(flow);

    return (strcmp(kind, "dma") == 0 || strcmp(kind, "path") == 0 ||
            strcmp(kind, "threads") == 0) &&
           topo_flow_is(flow, "direction", "read");
}

/* Tells of @flow if its two devices are below two ports of a root that does not
 * forward what it sends. Partitions of a chip may have a way of their own. */
static void flow_check(const TopoFlow *flow, GString *notes)
{
    TopoDevice *ends[2];
    const TopoSwitch *tops[2];
    const TopoRootPort *ports;
    const TopoPart *cpu;
    const char *p2p;
    unsigned at[2], count;
    g_autofree char *place = NULL;

    if (!topo_flow_get_devices(flow, ends) || ends[0]->host != ends[1]->host) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        tops[i] = root_port_of(ends[i], &at[i]);
    }
    cpu = ends[0]->host->cpu;
    p2p = topo_part_text(cpu, "p2p");
    if (at[0] == at[1] || strcmp(p2p, "all") == 0 ||
        (strcmp(p2p, "writes") == 0 && !is_read(flow)) ||
        (tops[0] && tops[1] && tops[0]->chip &&
         g_strcmp0(tops[0]->chip, tops[1]->chip) == 0)) {
        return;
    }
    ports = topo_part_root_ports(cpu, &count);
    place = topo_place_to_string(topo_flow_place(flow));
    g_string_append_printf(
        notes,
        "%s: flow %s: the root of %s does not forward %s between its ports "
        "%s and %s (p2p: %s), so they meet %s\n",
        place, topo_flow_name(flow), ends[0]->host->name,
        is_read(flow) ? "reads" : "writes", ports[at[0]].name,
        ports[at[1]].name, p2p,
        strcmp(topo_part_text(cpu, "p2p_refused"), "ca") == 0
            ? "Completer Abort"
            : "Unsupported Request");
}

void stu_check_p2p(const TopoDescription *description, GString *notes)
{
    const GPtrArray *flows =
        description->workload ? description->workload->flows : NULL;

    for (unsigned i = 0; flows && i < flows->len; i++) {
        flow_check(flows->pdata[i], notes);
    }
}
