/* SPDX-License-Identifier: MIT */
#include "topo_description.h"
#include "topo_units.h"

/* Appends "network net, switch, 5us: a.nic port 0, b.nic port 0". */
static void append_network(const TopoDescription *description,
                           const TopoNetwork *network, GString *text)
{
    g_autofree char *latency =
        topo_units_format(TOPO_UNIT_TIME, network->latency_ps);
    const char *before = ":";

    g_string_append_printf(text, "network %s, %s, %s", network->name,
                           network->has_switch ? "switch" : "cable", latency);
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            for (unsigned k = 0;
                 topo_device_is_nic(device) && k < topo_nic_ports(device);
                 k++) {
                g_autofree char *rate = NULL;

                if (g_strcmp0(topo_nic_network(device, k), network->name)) {
                    continue;
                }
                rate = topo_units_format(
                    TOPO_UNIT_RATE, topo_part_rate(device->part, "nic.rate"));
                g_string_append_printf(text, "%s %s port %u, %s", before,
                                       device->path, k, rate);
                before = ";";
            }
        }
    }
    g_string_append_c(text, '\n');
}

void topo_write_links(const TopoDescription *description, GString *text)
{
    for (unsigned i = 0; i < description->links->len; i++) {
        const TopoLink *link = description->links->pdata[i];
        g_autofree char *speed =
            topo_units_format(TOPO_UNIT_SPEED, link->speed_mtps);

        g_string_append_printf(text, "cable %s: %s - %s, %s x%u\n", link->name,
                               link->end[0]->path, link->end[1]->path, speed,
                               link->width);
    }
    for (unsigned i = 0; i < description->networks->len; i++) {
        append_network(description, description->networks->pdata[i], text);
    }
}
