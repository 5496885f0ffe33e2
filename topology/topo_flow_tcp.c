/* SPDX-License-Identifier: MIT */
/* The checks of TCP flows that their tables of keys cannot express. */
#include "topo_flow_priv.h"

/* The host that has borrowed the NIC runs TCP, or else its own host. */
static void check_cpu_has_tcp(TopoLoader *loader, const TopoFlow *flow,
                              const char *key, TopoDevice *nic)
{
    const TopoHost *borrower =
        g_hash_table_lookup(loader->loaded->borrowers, nic);
    const TopoHost *driver = borrower ? borrower : nic->host;

    if (driver->cpu && !topo_part_has(driver->cpu, "tcp.packet")) {
        topo_flow_report(loader, flow, key,
                         "the CPU of host %s has no `tcp:`; give its part the "
                         "costs of TCP, or take another",
                         driver->name);
    }
}

/* Returns the network of the port; NULL if there is none, which is reported. */
static const char *check_nic_port(TopoLoader *loader, const TopoFlow *flow,
                                  const char *key, const char *port_key)
{
    TopoDevice *nic = topo_flow_device(flow, key);
    int64_t port = topo_values_number(flow->values, port_key);
    const GPtrArray *networks = loader->loaded->pub.networks;
    const char *name;
    unsigned i;

    if (!nic || !nic->part) {
        return NULL;
    }
    if (nic->physical) {
        topo_flow_report(loader, flow, key,
                         "%s is a virtual function, and those of NICs move no "
                         "packets here; name %s",
                         nic->path, nic->physical->path);
        return NULL;
    }
    if (!topo_device_is_nic(nic)) {
        topo_flow_report(loader, flow, key,
                         "%s is not a NIC; name an endpoint whose part has "
                         "`nic:`",
                         nic->path);
        return NULL;
    }
    check_cpu_has_tcp(loader, flow, key, nic);
    if (port >= topo_nic_ports(nic)) {
        topo_flow_report(loader, flow, port_key,
                         "%s has %u ports, counted from 0; write a lower "
                         "number",
                         nic->path, topo_nic_ports(nic));
        return NULL;
    }
    name = topo_nic_network(nic, (unsigned)port);
    for (i = 0; name && i < networks->len; i++) {
        const TopoNetwork *network = g_ptr_array_index(networks, i);

        if (g_strcmp0(network->name, name) == 0) {
            return network->name;
        }
    }
    topo_flow_report(loader, flow, key,
                     "port %d of %s is in no network; name one of `networks` "
                     "in its `fabrics`",
                     (int)port, nic->path);
    return NULL;
}

static void check_packet(TopoLoader *loader, const TopoFlow *flow)
{
    const TopoValues *values = flow->values;
    int64_t mtu = topo_values_number(values, "mtu");
    int64_t page = topo_values_number(values, "page");
    const TopoDevice *from = topo_flow_device(flow, "from");

    if (page > 0 && mtu > 8 * page) {
        topo_flow_report(loader, flow, "page",
                         "a packet of %s would need more than 8 pages; write "
                         "a larger page",
                         topo_values_text(values, "mtu"));
    }
    if (topo_values_number(values, "window") < 2 * mtu) {
        topo_flow_report(loader, flow, "window",
                         "it must hold two packets of %s; write more",
                         topo_values_text(values, "mtu"));
    }
    if (from && from->part && topo_device_is_nic(from) &&
        mtu - topo_values_number(values, "headers") >
            topo_part_bytes(from->part, "nic.segment")) {
        topo_flow_report(loader, flow, "mtu",
                         "a packet has more payload than nic.segment of %s; "
                         "write less",
                         from->path);
    }
}

void topo_flow_check_tcp(TopoLoader *loader, TopoFlow *flow)
{
    const TopoDevice *to = topo_flow_device(flow, "to");
    const char *from_network =
        check_nic_port(loader, flow, "from", "from_port");
    const char *to_network = check_nic_port(loader, flow, "to", "to_port");

    if (to && to == topo_flow_device(flow, "from")) {
        topo_flow_report(loader, flow, "to",
                         "%s is the same NIC as from; name another", to->path);
    } else if (from_network && to_network &&
               g_strcmp0(from_network, to_network) != 0) {
        topo_flow_report(loader, flow, "to",
                         "%s is in the network %s, and the sender in %s; name "
                         "two NICs of one network",
                         to->path, to_network, from_network);
    }
    if (!topo_flow_has(flow, "count") &&
        loader->loaded->pub.workload->stop_ps == 0) {
        topo_flow_report(loader, flow, "size",
                         "the flow has no end; write count: here, or stop: in "
                         "the workload");
    }
    check_packet(loader, flow);
}

void topo_flow_check_tcp_devmem(TopoLoader *loader, TopoFlow *flow)
{
    const TopoValues *values = flow->values;
    const TopoDevice *to = topo_flow_device(flow, "to");
    const TopoValue *unsplit = topo_values_get(values, "unsplit");

    topo_flow_check_tcp(loader, flow);
    if (to && to->part && topo_device_is_nic(to) &&
        !topo_part_bool(to->part, "nic.header_split")) {
        topo_flow_report(loader, flow, "to",
                         "%s cannot split headers, which device memory TCP "
                         "needs; write kind: tcp-host, or give its part "
                         "nic.header_split: on",
                         to->path);
    }
    if (topo_values_number(values, "buffer") <
        8 * topo_values_number(values, "page")) {
        topo_flow_report(loader, flow, "buffer",
                         "it must have at least 8 pages of %s; write more",
                         topo_values_text(values, "page"));
    }
    if (unsplit->valid && unsplit->number > unsplit->den) {
        topo_flow_report(loader, flow, "unsplit",
                         "a share is at most 100%%; write less");
    }
}
