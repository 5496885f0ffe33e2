/* SPDX-License-Identifier: MIT */
#include "fab_nic_priv.h"

#include "fab_attachment.h"

typedef struct NicList {
    FabAttachment attachment;
    GPtrArray *nics; /* owned */
} NicList;

/* ---- Parameters ------------------------------------------------------ */

static bool is_entry_size(uint32_t bytes, uint32_t least)
{
    return bytes >= least && bytes <= 64 && (bytes & (bytes - 1)) == 0;
}

/* Returns a message if @params cannot be, otherwise NULL. */
static const char *nic_params_wrong(const FabNicParams *params)
{
    if (params->ports < 1 || params->ports > FAB_NIC_PORTS) {
        return "a NIC must have 1 to 8 ports";
    } else if (params->rate_bytes_s < 1000000) {
        return "a port must send at least 1000000 bytes a second";
    } else if (params->queues < 1 || params->queues > 65536) {
        return "a NIC must have 1 to 65536 queues";
    } else if (!is_entry_size(params->descriptor_bytes, 8) ||
               !is_entry_size(params->completion_bytes, 8) ||
               !is_entry_size(params->tx_descriptor_bytes, 8) ||
               !is_entry_size(params->tx_completion_bytes, 4)) {
        return "a descriptor or completion must have 8, 16, 32 or 64 bytes";
    } else if (params->rx_prefetch < 1 || params->tx_prefetch < 1 ||
               params->tx_batch < 1 ||
               params->cache < MAX(params->rx_prefetch, params->tx_prefetch) ||
               params->cache < FAB_NIC_FRAGMENTS) {
        return "a NIC must hold the descriptors that it fetches with one read, "
               "and at least 8";
    } else if (params->rx_bytes < 16384 || params->tx_bytes < 16384) {
        return "a NIC must have space for 16384 bytes of packets each way";
    } else if (params->segment_bytes < 1 || params->segment_bytes > 1u << 20) {
        return "a transmit descriptor must have 1 byte to 1 MiB";
    } else if (params->latency < 0 || params->moderation < 0 ||
               params->moderation_packets < 1) {
        return "the times of a NIC must not be negative, and interrupts need "
               "at least 1 packet";
    }
    return NULL;
}

/* The size that BAR 0 must have for @queues. */
static uint64_t nic_bar_bytes(uint32_t queues)
{
    return FAB_NIC_REGS + (uint64_t)queues * FAB_NIC_REG_STEP;
}

/* ---- Ports ----------------------------------------------------------- */

static void port_sent(void *owner, const FabPacket *packet)
{
    fab_nic_tx_sent(owner, packet);
}

static void port_receive(void *owner, FabPacket *packet)
{
    fab_nic_rx_take(owner, packet);
}

static const FabNetPortOps port_ops = {
    .sent = port_sent,
    .receive = port_receive,
};

void fab_nic_connect(FabNic *nic, unsigned port, FabNet *net)
{
    g_assert(port < nic->params.ports && !nic->ports[port].net);
    nic->ports[port].net =
        fab_net_join(net, nic->params.rate_bytes_s,
                     fab_endpoint_component(nic->device)->rank, &port_ops,
                     &nic->ports[port]);
}

FabNetPort *fab_nic_port(const FabNic *nic, unsigned port)
{
    return port < nic->params.ports ? nic->ports[port].net : NULL;
}

/* ---- Steering -------------------------------------------------------- */

void fab_nic_steer(FabNic *nic, uint32_t tuple, FabNicRxQueue *queue)
{
    if (queue) {
        g_hash_table_insert(nic->steering, GUINT_TO_POINTER(tuple), queue);
    } else {
        g_hash_table_remove(nic->steering, GUINT_TO_POINTER(tuple));
    }
}

/* ---- Life ------------------------------------------------------------ */

static void nic_free(void *data)
{
    FabNic *nic = data;

    for (unsigned i = 0; i < FAB_NIC_PORTS; i++) {
        g_ptr_array_unref(nic->ports[i].rss);
        g_ptr_array_unref(nic->ports[i].tx);
    }
    g_ptr_array_unref(nic->rx);
    g_ptr_array_unref(nic->tx);
    g_ptr_array_unref(nic->rx_works);
    g_ptr_array_unref(nic->tx_works);
    g_hash_table_unref(nic->steering);
    g_free(nic);
}

static void list_free(FabAttachment *attachment)
{
    NicList *list = (NicList *)attachment;

    g_ptr_array_unref(list->nics);
    g_free(list);
}

static const FabAttachmentOps list_ops = {.free = list_free};

FabNic *fab_nic_of(const FabEndpoint *device)
{
    const NicList *list =
        (NicList *)fab_fabric_attachment(device->component.fabric, &list_ops);

    for (unsigned i = 0; list && i < list->nics->len; i++) {
        FabNic *nic = list->nics->pdata[i];

        if (nic->device == device) {
            return nic;
        }
    }
    return NULL;
}

FabNic *fab_nic_new(FabEndpoint *device, const FabNicParams *params)
{
    FabFabric *fabric = device->component.fabric;
    NicList *list = (NicList *)fab_fabric_attachment(fabric, &list_ops);
    FabNic *nic = g_new0(FabNic, 1);
    g_autofree char *stream =
        g_strconcat(device->component.name, ".split", NULL);

    nic->params = *params;
    if (params->tx_descriptor_bytes == 0) {
        nic->params.tx_descriptor_bytes = params->descriptor_bytes;
    }
    if (params->tx_completion_bytes == 0) {
        nic->params.tx_completion_bytes = params->completion_bytes;
    }
    g_assert(fabric->realized && !fab_nic_of(device));
    g_assert(!nic_params_wrong(&nic->params));
    g_assert(device->component.bars[0].size_bytes >=
             nic_bar_bytes(params->queues));
    if (!list) {
        list = g_new0(NicList, 1);
        list->nics = g_ptr_array_new_with_free_func(nic_free);
        fab_fabric_attach(fabric, &list->attachment, &list_ops);
    }
    nic->device = device;
    nic->engine = fabric->engine;
    sim_random_init(&nic->random, fabric->seed, stream);
    for (unsigned i = 0; i < FAB_NIC_PORTS; i++) {
        nic->ports[i].nic = nic;
        nic->ports[i].number = i;
        nic->ports[i].rss = g_ptr_array_new();
        nic->ports[i].tx = g_ptr_array_new();
    }
    nic->rx = g_ptr_array_new_with_free_func(fab_nic_rx_free);
    nic->tx = g_ptr_array_new_with_free_func(fab_nic_tx_free);
    nic->steering = g_hash_table_new(NULL, NULL);
    nic->rx_works = g_ptr_array_new_with_free_func(g_free);
    nic->tx_works = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(list->nics, nic);
    return nic;
}

FabEndpoint *fab_nic_device(const FabNic *nic)
{
    return nic->device;
}

const FabNicParams *fab_nic_params(const FabNic *nic)
{
    return &nic->params;
}

const FabNicCounters *fab_nic_counters(const FabNic *nic)
{
    return &nic->counters;
}
