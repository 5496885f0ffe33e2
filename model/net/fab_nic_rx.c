/* SPDX-License-Identifier: MIT */
#include "fab_nic_priv.h"

static SimTime rx_now(const FabNicRxQueue *queue)
{
    return sim_engine_now(queue->nic->engine);
}

static uint64_t packet_bytes(const FabPacket *packet)
{
    return (uint64_t)packet->header_bytes + packet->payload_bytes;
}

/* ---- Descriptors ----------------------------------------------------- */

static bool is_split(const FabNicRxQueue *queue, const FabPacket *packet)
{
    return queue->params.split && queue->nic->params.header_split &&
           packet->is_splittable;
}

/* The number of descriptors that @packet needs; all buffers of a queue have the
 * size of the next. */
static uint32_t descriptors_needed(const FabNicRxQueue *queue,
                                   const FabPacket *packet)
{
    const FabNicBuffer *next =
        &queue->ring[queue->taken & (queue->params.ring.entries - 1)];

    /* Without a descriptor, there is no size to know: the packet is dropped. */
    if (!is_split(queue, packet) || packet->payload_bytes == 0 ||
        queue->posted == queue->taken) {
        return 1;
    }
    return (packet->payload_bytes + next->payload_bytes - 1) /
           next->payload_bytes;
}

/* A packet waits for more descriptors than the @held ones. */
static bool packet_lacks(const FabNicRxQueue *queue, uint32_t held)
{
    return queue->head && held < descriptors_needed(queue, queue->head);
}

/* Orders reads of descriptors while there is space for them, and enough for a
 * whole read, or the queue would run dry. A read does not wrap around the end
 * of the ring. */
static void descriptors_fetch(FabNicRxQueue *queue)
{
    const FabNicParams *params = &queue->nic->params;

    while (queue->free_fetch) {
        uint32_t held = queue->ordered - queue->taken;
        uint32_t waiting = queue->posted - queue->ordered;
        uint32_t first = queue->ordered & (queue->params.ring.entries - 1);
        uint32_t count = MIN(waiting, params->rx_prefetch);

        if (count == 0 || held + count > params->cache ||
            (count < params->rx_prefetch && held >= params->rx_prefetch) ||
            (params->on_demand && !packet_lacks(queue, held))) {
            return;
        }
        count = MIN(count, queue->params.ring.entries - first);
        queue->ordered += count;
        queue->nic->counters.rx_descriptors += count;
        fab_nic_fetch(queue->nic, &queue->free_fetch, queue->params.ring.ring,
                      params->descriptor_bytes, first, count);
    }
}

/* ---- Interrupts ------------------------------------------------------ */

static void msi_send(FabNicRxQueue *queue)
{
    if (queue->msi_busy) {
        return;
    }
    sim_event_cancel(&queue->moderation_event);
    queue->is_armed = false;
    queue->known = queue->finished;
    queue->msi_busy = true;
    queue->nic->counters.interrupts++;
    fab_endpoint_dma(queue->nic->device, &queue->msi);
}

/* There is a packet without an interrupt. */
static void interrupt_consider(FabNicRxQueue *queue)
{
    const FabNicParams *params = &queue->nic->params;
    uint32_t unknown = queue->finished - queue->known;

    if (!queue->params.interrupt || !queue->is_armed || unknown == 0) {
        return;
    }
    if (unknown >= params->moderation_packets || params->moderation == 0) {
        msi_send(queue);
    } else if (!sim_event_is_pending(&queue->moderation_event)) {
        sim_event_schedule(&queue->moderation_event,
                           rx_now(queue) + params->moderation);
    }
}

static void moderation_event(SimEvent *event)
{
    msi_send(SIM_CONTAINER_OF(event, FabNicRxQueue, moderation_event));
}

static void msi_done(FabDma *dma)
{
    FabNicRxQueue *queue = dma->owner;

    queue->msi_busy = false;
    interrupt_consider(queue);
}

static void msi_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    const FabNicRxQueue *queue = owner;

    queue->params.interrupt(queue->params.owner);
}

void fab_nic_rx_interrupted(const FabNic *nic, unsigned number)
{
    if (number < nic->rx->len) {
        const FabNicRxQueue *queue = nic->rx->pdata[number];

        queue->params.interrupt(queue->params.owner);
    }
}

void fab_nic_rx_set_msi(FabNicRxQueue *queue, FabBusAddr addr, uint32_t data)
{
    queue->msi.addr = addr;
    queue->msi.data = data;
}

/* ---- Packets --------------------------------------------------------- */

static void entry_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNicRxQueue *queue = owner;

    if (data > 0) { /* the last entry of a packet */
        guint number = (guint)data - 1;

        queue->seen++;
        queue->params.received(queue->params.owner,
                               queue->on_way->pdata[number]);
        g_array_append_val(queue->free_numbers, number);
    }
}

static void work_done(RxWork *work)
{
    FabNicRxQueue *queue = work->queue;
    NicPort *port = &queue->nic->ports[queue->params.ring.port];

    port->rx_used -= packet_bytes(work->received.packet);
    work->next_free = queue->nic->free_rx;
    queue->nic->free_rx = work;
    queue->finished++;
    interrupt_consider(queue);
}

static void order_done(FabDma *dma)
{
    RxWork *work = dma->owner;

    if (--work->orders == 0) {
        work_done(work);
    }
}

/* ---- Flush ----------------------------------------------------------- */

/* Orders the entries of the packets whose payload has arrived. Those behind a
 * packet that waits wait, too: entries are in the order of the ring. */
static void flush_advance(FabNicRxQueue *queue)
{
    while (queue->flush_head && queue->flush_head->is_flushed) {
        RxWork *work = queue->flush_head;
        unsigned count = work->received.count;

        queue->flush_head = work->next;
        /* The last entry may end the work before the call returns. */
        for (unsigned i = 0; i < count; i++) {
            fab_endpoint_dma(queue->nic->device, &work->entry[i]);
        }
    }
}

static void flush_end(RxWork *work)
{
    work->is_flushed = true;
    flush_advance(work->queue);
}

static void flush_done(FabDma *dma)
{
    RxWork *work = dma->owner;

    if (--work->reads == 0) {
        flush_end(work);
    }
}

/* Reads the last byte of each payload: a read does not pass the writes that are
 * before it (PCIe 5.0 s2.4.1). */
static void flush_issue(RxWork *work)
{
    unsigned count = work->payloads;

    work->reads = count;
    work->queue->nic->counters.flushes += count;
    for (unsigned i = 0; i < count; i++) {
        const FabDma *payload = &work->payload[i];

        work->flush[i].addr = payload->addr + payload->size_bytes - 1;
        work->flush[i].flow = payload->flow;
        fab_endpoint_dma(work->queue->nic->device, &work->flush[i]);
    }
}

static void payload_done(FabDma *dma)
{
    RxWork *work = dma->owner;

    order_done(dma); /* not the last one: the entries are to come */
    if (--work->writes == 0) {
        flush_issue(work);
    }
}

static void flush_begin(RxWork *work, unsigned payloads)
{
    FabNicRxQueue *queue = work->queue;

    work->payloads = payloads;
    work->writes = payloads;
    work->is_flushed = false;
    work->next = NULL;
    if (queue->flush_head) {
        queue->flush_tail->next = work;
    } else {
        queue->flush_head = work;
    }
    queue->flush_tail = work;
}

static RxWork *work_new(FabNic *nic)
{
    RxWork *work = nic->free_rx;

    if (work) {
        nic->free_rx = work->next_free;
        return work;
    }
    work = g_new0(RxWork, 1);
    work->header =
        (FabDma){.type = FAB_TLP_MWR, .done = order_done, .owner = work};
    for (unsigned i = 0; i < FAB_NIC_FRAGMENTS; i++) {
        work->payload[i] = work->header;
        work->entry[i] = work->header;
        work->entry[i].size_bytes = nic->params.completion_bytes;
        if (nic->params.flush) {
            work->payload[i].done = payload_done;
            work->flush[i] = (FabDma){.type = FAB_TLP_MRD,
                                      .size_bytes = 1,
                                      .done = flush_done,
                                      .owner = work};
        }
    }
    g_ptr_array_add(nic->rx_works, work);
    return work;
}

static void order(RxWork *work, FabDma *dma, FabBusAddr addr,
                  uint64_t size_bytes, uint32_t flow)
{
    dma->addr = addr;
    dma->size_bytes = size_bytes;
    dma->flow = flow;
    work->orders++;
}

/* Keeps @received until the driver sees it. Returns its number. */
static guint number_take(FabNicRxQueue *queue, const FabNicReceived *received)
{
    guint number = queue->on_way->len;

    if (queue->free_numbers->len > 0) {
        number = g_array_index(queue->free_numbers, guint,
                               queue->free_numbers->len - 1);
        g_array_set_size(queue->free_numbers, queue->free_numbers->len - 1);
    } else {
        g_ptr_array_add(queue->on_way, g_new(FabNicReceived, 1));
    }
    *(FabNicReceived *)queue->on_way->pdata[number] = *received;
    return number;
}

/* Orders the completion entries of @work. The last one says which packet it
 * is. */
static void entries_order(RxWork *work)
{
    FabNicRxQueue *queue = work->queue;
    uint32_t mask = queue->params.ring.entries - 1;

    for (unsigned i = 0; i < work->received.count; i++) {
        uint32_t slot = queue->entries++ & mask;

        work->entry[i].addr =
            queue->params.ring.completions +
            (FabBusAddr)slot * queue->nic->params.completion_bytes;
        work->entry[i].flow = work->received.packet->flow;
        work->entry[i].data = 0;
        work->orders++;
    }
    work->entry[work->received.count - 1].data =
        (uint64_t)number_take(queue, &work->received) + 1;
    queue->nic->counters.rx_completions += work->received.count;
}

static void work_issue(RxWork *work, unsigned payloads)
{
    FabEndpoint *device = work->queue->nic->device;
    bool flushes = work->queue->nic->params.flush;
    unsigned count = work->received.count;

    if (flushes) {
        flush_begin(work, payloads);
    }
    /* An order may be done before fab_endpoint_dma() returns, and the last one
     * ends the work. */
    fab_endpoint_dma(device, &work->header);
    for (unsigned i = 0; i < payloads; i++) {
        fab_endpoint_dma(device, &work->payload[i]);
    }
    if (flushes && payloads == 0) {
        flush_end(work);
    }
    for (unsigned i = 0; !flushes && i < count; i++) {
        fab_endpoint_dma(device, &work->entry[i]);
    }
}

/* Writes @packet, headers first, to the next @count buffers. */
static void packet_write(FabNicRxQueue *queue, FabPacket *packet,
                         uint32_t count)
{
    FabNicCounters *counters = &queue->nic->counters;
    RxWork *work = work_new(queue->nic);
    FabNicReceived *received = &work->received;
    uint32_t left = packet->payload_bytes;
    unsigned payloads = 0;

    work->queue = queue;
    work->orders = 0;
    received->packet = packet;
    received->count = count;
    received->is_split = is_split(queue, packet);
    for (unsigned i = 0; i < count; i++) {
        received->buffers[i] =
            queue->ring[queue->taken++ & (queue->params.ring.entries - 1)];
    }
    if (received->is_split) {
        order(work, &work->header, received->buffers[0].header,
              packet->header_bytes, packet->flow);
        for (; left > 0; payloads++) {
            const FabNicBuffer *buffer = &received->buffers[payloads];
            uint32_t part = MIN(left, buffer->payload_bytes);

            order(work, &work->payload[payloads], buffer->payload, part,
                  packet->flow);
            left -= part;
        }
        counters->rx_header_bytes += packet->header_bytes;
        counters->rx_payload_bytes += packet->payload_bytes;
    } else {
        order(work, &work->header, received->buffers[0].header,
              packet_bytes(packet), packet->flow);
        counters->rx_linear_bytes += packet_bytes(packet);
    }
    counters->rx_packets++;
    entries_order(work);
    work_issue(work, payloads);
}

static void packet_drop(FabNicRxQueue *queue, FabPacket *packet)
{
    NicPort *port = &queue->nic->ports[queue->params.ring.port];

    queue->nic->counters.no_descriptor++;
    port->rx_used -= packet_bytes(packet);
    fab_net_packet_free(fab_net_port_net(port->net), packet);
}

/* Writes the packets for which there are descriptors. Drops those for which
 * none are posted: a NIC does not wait for its driver. */
static void queue_advance(FabNicRxQueue *queue)
{
    while (queue->head) {
        FabPacket *packet = queue->head;
        uint32_t needed = descriptors_needed(queue, packet);

        if (queue->there - queue->taken < needed &&
            queue->posted - queue->taken >= needed) {
            break;
        }
        queue->head = packet->next;
        if (!queue->head) {
            queue->tail = NULL;
        }
        if (queue->posted - queue->taken < needed) {
            packet_drop(queue, packet);
        } else {
            packet_write(queue, packet, needed);
        }
    }
    descriptors_fetch(queue);
}

static void fetch_done(FabDma *dma)
{
    NicFetch *fetch = dma->owner;
    FabNicRxQueue *queue = fetch->queue;

    queue->there += fetch->count;
    fetch->next_free = queue->free_fetch;
    queue->free_fetch = fetch;
    queue_advance(queue);
}

static void pipeline_event(SimEvent *event)
{
    FabPacket *packet = SIM_CONTAINER_OF(event, FabPacket, event);
    FabNicRxQueue *queue = packet->queue;

    packet->next = NULL;
    if (queue->tail) {
        queue->tail->next = packet;
    } else {
        queue->head = packet;
    }
    queue->tail = packet;
    queue_advance(queue);
}

void fab_nic_rx_take(NicPort *port, FabPacket *packet)
{
    FabNic *nic = port->nic;
    FabNicRxQueue *queue = fab_nic_steered(nic, port->number, packet->tuple);

    if (!queue || port->rx_used + packet_bytes(packet) > nic->params.rx_bytes) {
        if (queue) {
            nic->counters.no_space++;
        } else {
            nic->counters.no_queue++;
        }
        fab_net_packet_free(fab_net_port_net(port->net), packet);
        return;
    }
    port->rx_used += packet_bytes(packet);
    packet->queue = queue;
    if (queue->params.unsplit > 0 &&
        sim_random_double(&nic->random) < queue->params.unsplit) {
        packet->is_splittable = false;
    }
    sim_event_init(&packet->event, nic->engine, pipeline_event,
                   SIM_PRIORITY_NORMAL, nic->device->component.rank);
    sim_event_schedule(&packet->event, rx_now(queue) + nic->params.latency);
}

/* ---- The driver's side ----------------------------------------------- */

static void reg_written(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNicRxQueue *queue = owner;

    if (addr == queue->regs + FAB_NIC_RX_TAIL) {
        if (!nic_tail_is_driver((uint32_t)data, queue->posted, queue->filled)) {
            return;
        }
        queue->nic->counters.doorbells++;
        queue->posted = (uint32_t)data;
        queue_advance(queue);
    } else if (addr == queue->regs + FAB_NIC_ARM) {
        queue->nic->counters.doorbells++;
        queue->is_armed = true;
        queue->known = (uint32_t)data;
        interrupt_consider(queue);
    }
}

uint32_t fab_nic_rx_space(const FabNicRxQueue *queue)
{
    return queue->params.ring.entries - (queue->filled - queue->taken);
}

void fab_nic_rx_post(FabNicRxQueue *queue, const FabNicBuffer *buffer)
{
    g_assert(fab_nic_rx_space(queue) > 0);
    queue->ring[queue->filled++ & (queue->params.ring.entries - 1)] = *buffer;
}

void fab_nic_rx_bell(FabNicRxQueue *queue)
{
    fab_root_write(queue->params.ring.driver, queue->cpu_regs + FAB_NIC_RX_TAIL,
                   4, queue->filled, queue->params.ring.flow);
}

void fab_nic_rx_arm(FabNicRxQueue *queue)
{
    fab_root_write(queue->params.ring.driver, queue->cpu_regs + FAB_NIC_ARM, 4,
                   queue->seen, queue->params.ring.flow);
}

unsigned fab_nic_rx_number(const FabNicRxQueue *queue)
{
    return queue->number;
}

FabBusAddr fab_nic_rx_regs(const FabNicRxQueue *queue)
{
    return queue->cpu_regs;
}

FabNicRxQueue *fab_nic_rx_new(FabNic *nic, const FabNicRxParams *params)
{
    FabNicRxQueue *queue;
    FabBusAddr regs, cpu_regs;
    uint32_t entries = params->ring.entries;

    g_assert(entries > 0 && (entries & (entries - 1)) == 0);
    if (nic->rx->len == nic->params.queues ||
        !fab_nic_regs(nic, params->ring.driver, nic->rx->len, &regs,
                      &cpu_regs)) {
        return NULL;
    }
    queue = g_new0(FabNicRxQueue, 1);
    queue->nic = nic;
    queue->params = *params;
    queue->number = nic->rx->len;
    queue->regs = regs;
    queue->cpu_regs = cpu_regs;
    queue->ring = g_new0(FabNicBuffer, entries);
    queue->on_way = g_ptr_array_new_with_free_func(g_free);
    queue->free_numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    queue->is_armed = true;
    fab_nic_fetches_init(queue->fetches, &queue->free_fetch, queue,
                         params->ring.flow, fetch_done);
    queue->msi = (FabDma){.type = FAB_TLP_MWR,
                          .addr = params->msi_addr,
                          .size_bytes = 4,
                          .data = queue->number + 1,
                          .flow = params->ring.flow,
                          .done = msi_done,
                          .owner = queue};
    sim_event_init(&queue->moderation_event, nic->engine, moderation_event,
                   SIM_PRIORITY_NORMAL, nic->device->component.rank);
    queue->reg_watch = fab_endpoint_watch(nic->device, regs, FAB_NIC_REG_STEP,
                                          reg_written, queue);
    queue->entry_watch = fab_root_watch(
        params->ring.driver, params->ring.cpu_completions,
        (uint64_t)entries * nic->params.completion_bytes, entry_visible, queue);
    if (params->interrupt && params->cpu_msi_addr) {
        queue->msi_watch = fab_root_watch(
            params->ring.driver, params->cpu_msi_addr, 4, msi_visible, queue);
    }
    g_ptr_array_add(nic->rx, queue);
    if (params->rss) {
        g_ptr_array_add(nic->ports[params->ring.port].rss, queue);
    }
    return queue;
}

/* The fabric frees its attachments while its components still exist. */
void fab_nic_rx_free(void *data)
{
    FabNicRxQueue *queue = data;

    sim_event_cancel(&queue->moderation_event);
    fab_endpoint_unwatch(queue->nic->device, queue->reg_watch);
    fab_root_unwatch(queue->params.ring.driver, queue->entry_watch);
    if (queue->msi_watch) {
        fab_root_unwatch(queue->params.ring.driver, queue->msi_watch);
    }
    g_free(queue->ring);
    g_ptr_array_unref(queue->on_way);
    g_array_unref(queue->free_numbers);
    g_free(queue);
}
