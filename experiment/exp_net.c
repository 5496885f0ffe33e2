/* SPDX-License-Identifier: MIT */
/* Networks and NICs of the description become those of the fabric. */
#include "exp_net.h"

#include "fab_net.h"
#include "fab_nic.h"

/* 0: the part has no such key, and the NIC takes the size of reception. */
static uint32_t tx_bytes(const TopoPart *part, const char *key)
{
    return topo_part_has(part, key) ? topo_part_bytes(part, key) : 0;
}

static FabNicParams nic_params(const TopoPart *part)
{
    return (FabNicParams){
        .ports = topo_part_int(part, "card.ports"),
        .rate_bytes_s = topo_part_rate(part, "nic.rate"),
        .queues = topo_part_int(part, "nic.queues"),
        .descriptor_bytes = topo_part_bytes(part, "nic.descriptor"),
        .completion_bytes = topo_part_bytes(part, "nic.completion"),
        .tx_descriptor_bytes = tx_bytes(part, "nic.tx_descriptor"),
        .tx_completion_bytes = tx_bytes(part, "nic.tx_completion"),
        .on_demand = topo_part_bool(part, "nic.on_demand"),
        .rx_prefetch = topo_part_int(part, "nic.rx_prefetch"),
        .tx_prefetch = topo_part_int(part, "nic.tx_prefetch"),
        .cache = topo_part_int(part, "nic.cache"),
        .tx_batch = topo_part_int(part, "nic.tx_batch"),
        .rx_bytes = topo_part_bytes(part, "nic.rx_buffer"),
        .tx_bytes = topo_part_bytes(part, "nic.tx_buffer"),
        .latency = topo_part_time(part, "nic.latency"),
        .moderation = topo_part_time(part, "nic.moderation"),
        .moderation_packets = topo_part_int(part, "nic.moderation_packets"),
        .segment_bytes = topo_part_bytes(part, "nic.segment"),
        .header_split = topo_part_bool(part, "nic.header_split"),
        .flush = topo_part_bool(part, "nic.flush"),
    };
}

static void build_nic(ExpFabric *fabric, const TopoDevice *device)
{
    FabNicParams params = nic_params(device->part);
    FabNic *nic = fab_nic_new(
        fab_component_as_endpoint(exp_device(fabric, device)), &params);

    for (unsigned port = 0; port < params.ports; port++) {
        const char *name = topo_nic_network(device, port);
        FabNet *net = name ? fab_net_find(exp_fabric(fabric), name) : NULL;

        if (net) {
            fab_nic_connect(nic, port, net);
        }
    }
}

void exp_net_build(ExpFabric *fabric, const TopoDescription *description)
{
    for (unsigned i = 0; i < description->networks->len; i++) {
        const TopoNetwork *network = description->networks->pdata[i];
        FabNetParams params = {
            .latency = network->latency_ps,
            .loss = (double)network->loss_num / network->loss_den,
            .buffer_bytes = network->buffer_bytes,
            .overhead_bytes = network->overhead_bytes,
            .has_switch = network->has_switch,
        };

        fab_net_new(exp_fabric(fabric), network->name, &params);
    }
    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            const TopoDevice *device = host->devices->pdata[j];

            if (topo_device_is_nic(device)) {
                build_nic(fabric, device);
            }
        }
    }
}
