/* SPDX-License-Identifier: MIT */
/* Networks between ports of NICs. */
#include <string.h>

#include "topo_load_priv.h"

/* The number of ports of NICs that name @network in their fabrics. */
static unsigned count_ports(const TopoDescription *pub, const char *name)
{
    unsigned count = 0;

    for (unsigned i = 0; i < pub->hosts->len; i++) {
        const TopoHost *host = pub->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            if (topo_device_is_nic(device)) {
                for (unsigned k = 0; k < topo_nic_ports(device); k++) {
                    count += g_strcmp0(topo_nic_network(device, k), name) == 0;
                }
            }
        }
    }
    return count;
}

static void load_network(TopoLoader *loader, const TopoNode *node,
                         GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_network, node, loader->errors);
    const TopoValue *name = topo_values_get(values, "name");
    const TopoValue *loss = topo_values_get(values, "loss");
    TopoNetwork *network = g_new0(TopoNetwork, 1);
    unsigned ports;

    g_ptr_array_add(loader->loaded->pub.networks, network);
    network->place = node->place;
    network->name = topo_load_text(loader, topo_values_text(values, "name"));
    if (topo_load_check_unique(loader, names, "network", network->name,
                               name->place)) {
        g_hash_table_add(names, network->name);
    }
    network->latency_ps = topo_values_number(values, "latency");
    network->has_switch = topo_values_number(values, "switch") != 0;
    network->buffer_bytes = topo_values_number(values, "buffer");
    network->overhead_bytes = topo_values_number(values, "overhead");
    network->loss_num = loss->valid ? loss->number : 0;
    network->loss_den = loss->valid ? loss->den : 1;
    if (network->loss_num > network->loss_den) {
        topo_errors_add(loader->errors, loss->place,
                        "loss: more than all packets cannot be lost; write at "
                        "most 100%%");
    }
    ports = count_ports(&loader->loaded->pub, network->name);
    if (!network->has_switch && ports > 2) {
        topo_errors_add(loader->errors, node->place,
                        "network %s is a cable and joins two ports, but %u "
                        "ports of NICs name it; write switch: on",
                        network->name, ports);
    }
}

void topo_load_networks(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "networks");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < items->len; i++) {
        load_network(loader, items->pdata[i], names);
    }
}

bool topo_device_is_nic(const TopoDevice *device)
{
    return device->part && topo_part_kind(device->part) == TOPO_PART_ENDPOINT &&
           topo_part_has(device->part, "nic.rate");
}

unsigned topo_nic_ports(const TopoDevice *device)
{
    return (unsigned)topo_part_int(device->part, "card.ports");
}

const char *topo_nic_network(const TopoDevice *device, unsigned port)
{
    unsigned count = device->fabrics->len;

    if (count == 0 || (count > 1 && port >= count)) {
        return NULL;
    }
    return g_ptr_array_index(device->fabrics, count == 1 ? 0 : port);
}
