/* SPDX-License-Identifier: MIT */
#include "fab_nic_priv.h"

static void port_advance(NicPort *port);

/* ---- Descriptors ----------------------------------------------------- */

static void descriptors_fetch(FabNicTxQueue *queue)
{
    const FabNicParams *params = &queue->nic->params;

    while (queue->free_fetch) {
        uint32_t held = queue->ordered - queue->begun;
        uint32_t waiting = queue->posted - queue->ordered;
        uint32_t first = queue->ordered & (queue->params.ring.entries - 1);
        uint32_t count = MIN(waiting, params->tx_prefetch);

        if (count == 0 || held + count > params->cache) {
            return;
        }
        count = MIN(count, queue->params.ring.entries - first);
        queue->ordered += count;
        queue->nic->counters.tx_descriptors += count;
        fab_nic_fetch(queue->nic, &queue->free_fetch, queue->params.ring.ring,
                      params->tx_descriptor_bytes, first, count);
    }
}

static void fetch_done(FabDma *dma)
{
    NicFetch *fetch = dma->owner;
    FabNicTxQueue *queue = fetch->queue;

    queue->there += fetch->count;
    fetch->next_free = queue->free_fetch;
    queue->free_fetch = fetch;
    port_advance(queue->port);
    descriptors_fetch(queue);
}

/* Writes a completion entry when a batch of descriptors is finished, or when
 * there are no more. */
static void completion_write(FabNicTxQueue *queue)
{
    uint32_t count = queue->finished - queue->reported;

    if (queue->entry_busy || count == 0 ||
        (count < queue->nic->params.tx_batch &&
         queue->finished != queue->posted)) {
        return;
    }
    queue->entry_busy = true;
    queue->reported = queue->finished;
    queue->entry.addr =
        queue->params.ring.completions +
        (FabBusAddr)(queue->entries++ & (queue->params.ring.entries - 1)) *
            queue->nic->params.tx_completion_bytes;
    queue->entry.data = queue->finished;
    queue->nic->counters.tx_completions++;
    fab_endpoint_dma(queue->nic->device, &queue->entry);
}

static void entry_done(FabDma *dma)
{
    FabNicTxQueue *queue = dma->owner;

    queue->entry_busy = false;
    completion_write(queue);
}

static void entry_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNicTxQueue *queue = owner;

    queue->freed = (uint32_t)data;
    if (queue->params.completed) {
        queue->params.completed(queue->params.owner);
    }
}

/* ---- Packets --------------------------------------------------------- */

static uint64_t packet_bytes(const FabPacket *packet)
{
    return (uint64_t)packet->header_bytes + packet->payload_bytes;
}

static void pipeline_event(SimEvent *event)
{
    FabPacket *packet = SIM_CONTAINER_OF(event, FabPacket, event);
    NicPort *port = packet->queue;

    fab_net_send(port->net, packet);
}

/* Sends the packets whose data are there, in the order in which they were
 * begun: TCP must not see them in another. */
static void port_send(NicPort *port)
{
    FabNic *nic = port->nic;

    while (port->tx_head && port->tx_head->orders == 0) {
        TxWork *work = port->tx_head;
        FabNicTxQueue *queue = work->queue;
        FabPacket *packet = work->packet;

        port->tx_head = work->next;
        if (!port->tx_head) {
            port->tx_tail = NULL;
        }
        nic->counters.tx_packets++;
        packet->queue = port;
        sim_event_init(&packet->event, nic->engine, pipeline_event,
                       SIM_PRIORITY_NORMAL, nic->device->component.rank);
        sim_event_schedule(&packet->event,
                           sim_engine_now(nic->engine) + nic->params.latency);
        if (work->is_last) {
            queue->finished++;
            completion_write(queue);
        }
        work->next = nic->free_tx;
        nic->free_tx = work;
    }
}

static void order_done(FabDma *dma)
{
    TxWork *work = dma->owner;

    if (--work->orders == 0) {
        port_send(work->queue->port);
    }
}

void fab_nic_tx_sent(NicPort *port, const FabPacket *packet)
{
    port->tx_used -= packet_bytes(packet);
    port_advance(port);
}

static TxWork *work_new(FabNic *nic)
{
    TxWork *work = nic->free_tx;

    if (work) {
        nic->free_tx = work->next;
        return work;
    }
    work = g_new0(TxWork, 1);
    work->header =
        (FabDma){.type = FAB_TLP_MRD, .done = order_done, .owner = work};
    work->payload = work->header;
    g_ptr_array_add(nic->tx_works, work);
    return work;
}

/* Makes the next packet of the descriptor at the head of @queue. */
static FabPacket *packet_make(FabNicTxQueue *queue, const FabNicSend *send,
                              uint32_t bytes)
{
    FabPacket *packet = fab_net_packet_new(fab_net_port_net(queue->port->net));
    const FabPacket *common = &send->packet;

    packet->to = common->to;
    packet->tuple = common->tuple;
    packet->flow = common->flow;
    packet->socket = common->socket;
    packet->header_bytes = common->header_bytes;
    packet->payload_bytes = bytes;
    packet->seq = common->seq + queue->offset;
    packet->ack = common->ack;
    packet->window_bytes = common->window_bytes;
    packet->is_ack = common->is_ack;
    packet->has_gap = common->has_gap;
    packet->is_splittable = common->is_splittable;
    packet->is_push =
        common->is_push && queue->offset + bytes == send->payload_bytes;
    return packet;
}

/* Begins the next packet of @queue: reads its data. */
static void packet_begin(FabNicTxQueue *queue)
{
    FabNic *nic = queue->nic;
    NicPort *port = queue->port;
    const FabNicSend *send =
        &queue->ring[queue->begun & (queue->params.ring.entries - 1)];
    uint32_t bytes = MIN(send->payload_bytes - queue->offset, send->mss_bytes);
    TxWork *work = work_new(nic);
    bool has_header = queue->offset == 0;

    work->next = NULL;
    work->queue = queue;
    work->packet = packet_make(queue, send, bytes);
    work->orders = has_header + (bytes > 0);
    work->header.addr = send->header;
    work->header.size_bytes = send->packet.header_bytes;
    work->header.flow = send->packet.flow;
    work->payload.addr = send->payload + queue->offset;
    work->payload.size_bytes = bytes;
    work->payload.flow = send->packet.flow;
    queue->offset += bytes;
    work->is_last = queue->offset == send->payload_bytes;
    if (work->is_last) {
        queue->begun++;
        queue->offset = 0;
    }
    if (port->tx_tail) {
        port->tx_tail->next = work;
    } else {
        port->tx_head = work;
    }
    port->tx_tail = work;
    port->tx_used += packet_bytes(work->packet);
    nic->counters.tx_payload_bytes += bytes;
    if (has_header) {
        fab_endpoint_dma(nic->device, &work->header);
    }
    if (bytes > 0) {
        fab_endpoint_dma(nic->device, &work->payload);
    }
}

/* Begins packets while there is space for their data. The queues take turns,
 * packet by packet. */
static void port_advance(NicPort *port)
{
    unsigned idle = 0;

    while (idle < port->tx->len && port->tx_used < port->nic->params.tx_bytes) {
        FabNicTxQueue *queue = port->tx->pdata[port->tx_turn];

        port->tx_turn = (port->tx_turn + 1) % port->tx->len;
        if (queue->begun == queue->there) {
            idle++;
            continue;
        }
        idle = 0;
        packet_begin(queue);
        descriptors_fetch(queue);
    }
}

/* ---- The driver's side ----------------------------------------------- */

static void reg_written(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNicTxQueue *queue = owner;

    if (addr == queue->regs + FAB_NIC_TX_TAIL) {
        if (!nic_tail_is_driver((uint32_t)data, queue->posted, queue->filled)) {
            return;
        }
        queue->nic->counters.doorbells++;
        queue->posted = (uint32_t)data;
        descriptors_fetch(queue);
    }
}

uint32_t fab_nic_tx_space(const FabNicTxQueue *queue)
{
    return queue->params.ring.entries - (queue->filled - queue->freed);
}

void fab_nic_tx_post(FabNicTxQueue *queue, const FabNicSend *send)
{
    g_assert(fab_nic_tx_space(queue) > 0);
    g_assert(send->payload_bytes <= queue->nic->params.segment_bytes);
    g_assert(send->payload_bytes == 0 || send->mss_bytes > 0);
    queue->ring[queue->filled++ & (queue->params.ring.entries - 1)] = *send;
}

void fab_nic_tx_bell(FabNicTxQueue *queue)
{
    fab_root_write(queue->params.ring.driver, queue->cpu_regs + FAB_NIC_TX_TAIL,
                   4, queue->filled, queue->params.ring.flow);
}

FabNicTxQueue *fab_nic_tx_new(FabNic *nic, const FabNicTxParams *params)
{
    FabNicTxQueue *queue;
    FabBusAddr regs, cpu_regs;
    uint32_t entries = params->ring.entries;

    g_assert(entries > 0 && (entries & (entries - 1)) == 0);
    g_assert(nic->ports[params->ring.port].net);
    if (nic->tx->len == nic->params.queues ||
        !fab_nic_regs(nic, params->ring.driver, nic->tx->len, &regs,
                      &cpu_regs)) {
        return NULL;
    }
    queue = g_new0(FabNicTxQueue, 1);
    queue->nic = nic;
    queue->params = *params;
    queue->number = nic->tx->len;
    queue->port = &nic->ports[params->ring.port];
    queue->regs = regs;
    queue->cpu_regs = cpu_regs;
    queue->ring = g_new0(FabNicSend, entries);
    fab_nic_fetches_init(queue->fetches, &queue->free_fetch, queue,
                         params->ring.flow, fetch_done);
    queue->entry = (FabDma){.type = FAB_TLP_MWR,
                            .size_bytes = nic->params.tx_completion_bytes,
                            .flow = params->ring.flow,
                            .done = entry_done,
                            .owner = queue};
    queue->reg_watch = fab_endpoint_watch(nic->device, regs, FAB_NIC_REG_STEP,
                                          reg_written, queue);
    queue->entry_watch =
        fab_root_watch(params->ring.driver, params->ring.cpu_completions,
                       (uint64_t)entries * nic->params.tx_completion_bytes,
                       entry_visible, queue);
    g_ptr_array_add(nic->tx, queue);
    g_ptr_array_add(queue->port->tx, queue);
    return queue;
}

void fab_nic_tx_free(void *data)
{
    FabNicTxQueue *queue = data;

    fab_endpoint_unwatch(queue->nic->device, queue->reg_watch);
    fab_root_unwatch(queue->params.ring.driver, queue->entry_watch);
    g_free(queue->ring);
    g_free(queue);
}
