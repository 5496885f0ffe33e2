/* SPDX-License-Identifier: MIT */
#include "fab_flow_tcp.h"

#include "fab_flow_tcp_priv.h"
#include "fab_lend.h"

#define CONNECTIONS_MAX 64u
#define ENTRIES_MAX     65536u

/* A header has a slot of this size, if its packet is split. */
#define HEADER_SLOT 256u
/* Each receive queue has a message of its own in the range of MSIs. */
#define MSI_OFFSET  0x1000u

/* ---- Running --------------------------------------------------------- */

static SimTime busy_sum(const TcpFlow *self, bool is_sender)
{
    SimTime sum = 0;

    for (uint32_t i = 0; i < self->params.connections; i++) {
        const TcpConnection *connection = &self->connections[i];
        const FabCore *core = is_sender ? connection->at_sender.core
                                        : connection->at_receiver.core;

        sum += core ? fab_core_busy(core) : 0;
    }
    return sum;
}

static void warm_event(SimEvent *event)
{
    TcpFlow *self = SIM_CONTAINER_OF(event, TcpFlow, warm_event);

    self->warm_at = event->time;
    self->send_busy_before = busy_sum(self, true);
    self->receive_busy_before = busy_sum(self, false);
}

/* The process of the receiver ends, and with it its binding and its sockets. */
static void end_event(SimEvent *event)
{
    tcp_abort(SIM_CONTAINER_OF(event, TcpFlow, end_event));
}

static const TcpEnds tcp_ends = {
    .acked = tcp_send_acked,
    .pump = tcp_send_pump,
    .segment = tcp_receive_segment,
    .batch = tcp_receive_batch,
};

static void tcp_event(SimEvent *event)
{
    TcpFlow *self = (TcpFlow *)fab_flow_of_event(event);
    SimEngine *engine = self->flow.fabric->engine;

    sim_event_init(&self->warm_event, engine, warm_event, SIM_PRIORITY_NORMAL,
                   self->flow.rank);
    sim_event_init(&self->end_event, engine, end_event, SIM_PRIORITY_NORMAL,
                   self->flow.rank);
    self->warm_at = event->time;
    if (self->flow.warmup > event->time) {
        sim_event_schedule(&self->warm_event, self->flow.warmup);
    }
    if (self->dmabuf && self->params.owner_ends != SIM_TIME_NONE) {
        sim_event_schedule(&self->end_event,
                           MAX(self->params.owner_ends, event->time));
    }
    for (uint32_t i = 0; i < self->params.connections; i++) {
        TcpConnection *connection = &self->connections[i];

        tcp_queue_start(&connection->at_receiver);
        tcp_queue_start(&connection->at_sender);
        tcp_receive_start(connection);
        tcp_send_start(connection);
    }
}

/* ---- For observers --------------------------------------------------- */

/* The stage that holds the flow up: the one before which data pile up. */
static void tcp_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const TcpFlow *self = (const TcpFlow *)flow;
    uint64_t window = self->params.window_bytes * self->params.connections;
    uint64_t unread = 0, uncopied = 0;
    bool is_sending = false;

    for (uint32_t i = 0; i < self->params.connections; i++) {
        const TcpConnection *connection = &self->connections[i];

        unread +=
            connection->unread_bytes +
            (uint64_t)connection->at_receiver.backlog.count * self->mss_bytes;
        uncopied += connection->user_bytes - connection->copied_bytes;
        is_sending = is_sending || connection->is_sending;
    }
    ret_wait->ops = 1;
    ret_wait->own = true;
    if (uncopied >= window / 2) {
        ret_wait->step = "copy";
        ret_wait->own = false;
        ret_wait->device = self->device;
    } else if (unread >= window / 2) {
        ret_wait->step = "receive";
    } else if (fab_net_port_is_busy(
                   fab_nic_port(self->params.from, self->params.from_port))) {
        ret_wait->step = "network";
    } else if (is_sending) {
        ret_wait->step = "send";
    } else {
        ret_wait->step = "data";
        ret_wait->own = false;
    }
}

/* ---- Life ------------------------------------------------------------ */

static void tcp_free(FabFlow *flow)
{
    TcpFlow *self = (TcpFlow *)flow;

    sim_event_cancel(&self->warm_event);
    sim_event_cancel(&self->end_event);
    for (uint32_t i = 0; i < self->params.connections; i++) {
        TcpConnection *connection = &self->connections[i];

        tcp_send_done(connection);
        tcp_receive_done(connection);
        tcp_queue_done(&connection->at_receiver);
        tcp_queue_done(&connection->at_sender);
        g_array_unref(connection->begins);
    }
    fab_devmem_free(self->dmabuf);
    g_ptr_array_unref(self->skbs);
    g_free(self->connections);
    g_free(self);
}

static const FabFlowOps tcp_ops = {
    .event = tcp_event,
    .free = tcp_free,
    .wait = tcp_wait,
};

bool fab_tcp_flow_stats(const FabFlow *flow, FabTcpFlowStats *ret_stats)
{
    const TcpFlow *self = (const TcpFlow *)flow;

    if (flow->ops != &tcp_ops) {
        return false;
    }
    *ret_stats = self->stats;
    ret_stats->send_busy = busy_sum(self, true) - self->send_busy_before;
    ret_stats->receive_busy = busy_sum(self, false) - self->receive_busy_before;
    ret_stats->time =
        (flow->done ? flow->result.end : tcp_now(self)) - self->warm_at;
    for (uint32_t i = 0; i < self->params.connections; i++) {
        const TcpConnection *connection = &self->connections[i];

        ret_stats->retransmits += connection->sender.retransmits;
        ret_stats->timeouts += connection->sender.timeouts;
        ret_stats->accepted_bytes += connection->receiver.accepted_bytes;
        ret_stats->duplicate_bytes += connection->receiver.duplicate_bytes;
    }
    if (self->dmabuf) {
        ret_stats->devmem = *fab_devmem_counters(self->dmabuf);
        ret_stats->held = fab_devmem_held(self->dmabuf);
    }
    return true;
}

/* ---- Set-up ---------------------------------------------------------- */

static const char *costs_wrong(const FabTcpCosts *costs)
{
    if (costs->packet < 0 || costs->ack < 0 || costs->send < 0 ||
        costs->call < 0) {
        return "the times of the CPU must not be negative";
    }
    return costs->copy_bytes_s < 1000000
               ? "the CPU must copy at least 1000000 bytes a second"
               : NULL;
}

static const char *devmem_wrong(const FabTcpFlowParams *params)
{
    if (!fab_nic_params(params->to)->header_split) {
        return "the receiving NIC cannot split headers, which device memory "
               "TCP needs";
    } else if (!fab_component_as_endpoint(params->device.component)) {
        return "device memory TCP needs a device with a BAR";
    } else if (params->buffer_bytes / params->page_bytes < FAB_NIC_FRAGMENTS) {
        return "the buffer must have at least 8 pages";
    } else if (params->hold < 0) {
        return "the user must not hold fragments for a negative time";
    } else if (params->tokens < 1 || params->tokens > FAB_DEVMEM_TOKENS) {
        return "a call must return 1 to 128 tokens";
    } else if (!(params->unsplit >= 0 && params->unsplit <= 1)) {
        return "the share of packets that cannot be split must be 0 to 1";
    }
    return NULL;
}

static const char *flow_wrong(const FabTcpFlowParams *params)
{
    uint32_t frame = params->mtu_bytes;
    const char *wrong = costs_wrong(&params->send);

    wrong = wrong ? wrong : costs_wrong(&params->receive);
    if (wrong) {
        return wrong;
    } else if (params->from == params->to) {
        return "a NIC does not send to itself; name two NICs";
    } else if (!fab_nic_port(params->from, params->from_port) ||
               !fab_nic_port(params->to, params->to_port) ||
               fab_net_port_net(
                   fab_nic_port(params->from, params->from_port)) !=
                   fab_net_port_net(
                       fab_nic_port(params->to, params->to_port))) {
        return "the two ports are not in one network";
    } else if (params->size_bytes == 0 || params->count == 0) {
        return "there must be at least 1 message of at least 1 byte";
    } else if (params->connections < 1 ||
               params->connections > CONNECTIONS_MAX) {
        return "there must be 1 to 64 connections";
    } else if (params->header_bytes < 40 || params->header_bytes > 128 ||
               frame <= params->header_bytes || frame > 16384) {
        return "the headers must have 40 to 128 bytes, and the MTU more, at "
               "most 16384";
    } else if (frame - params->header_bytes >
               fab_nic_params(params->from)->segment_bytes) {
        return "a packet must not have more bytes than the NIC's nic.segment";
    } else if (params->page_bytes < 256 ||
               (params->page_bytes & (params->page_bytes - 1)) != 0 ||
               (frame + params->page_bytes - 1) / params->page_bytes >
                   FAB_NIC_FRAGMENTS) {
        return "a page must have a power of two of bytes, at least 256, and "
               "hold an eighth of a packet";
    } else if (params->window_bytes < 2 * (uint64_t)frame ||
               params->window_bytes > UINT32_MAX) {
        return "the window must hold two packets, and be below 4 GiB";
    } else if (params->entries < 64 || params->entries > ENTRIES_MAX ||
               (params->entries & (params->entries - 1)) != 0) {
        return "a ring must have 64 to 65536 entries, a power of two";
    } else if (params->refill < 1) {
        return "a driver must post descriptors when at least 1 entry is free";
    } else if (params->ack_every < 1 || params->rto <= 0 ||
               params->rto > SIM_TIME_NONE / 1024) {
        return "an acknowledgement must come after at least 1 packet, and the "
               "time-out must be above 0";
    } else if (params->chunk_bytes < 1 || params->setup < 0) {
        return "a copy of the device must have at least 1 byte";
    }
    return params->devmem ? devmem_wrong(params) : NULL;
}

/* The host that drives @nic. */
static FabRoot *host_of(const FabNic *nic)
{
    FabEndpoint *device = fab_nic_device(nic);
    const FabLend *lend = fab_lend_of(device);

    return lend ? fab_lend_borrower(lend)
                : fab_component_as_root(
                      fab_component_root(fab_endpoint_component(device)));
}

/* Takes @bytes of @host's memory that @user, a device, can use. */
static bool area_take(FabRoot *host, FabComponent *user, uint64_t bytes,
                      TcpArea *area, GError **error)
{
    FabTarget own = {fab_root_component(host), -1};

    return fab_target_take(&own, bytes, &area->cpu, error) &&
           fab_route_map(user, own.component, area->cpu, bytes, &area->device,
                         error);
}

static uint32_t slot_bytes(const FabTcpFlowParams *params)
{
    uint32_t frame = FAB_NET_MAC_HEADER + params->mtu_bytes;

    return MAX(HEADER_SLOT, (frame + 63) & ~63u);
}

static bool no_queue(const TcpQueue *queue, const FabNic *nic, GError **error)
{
    const FabComponent *device = fab_endpoint_component(fab_nic_device(nic));

    g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                "%s: %s has %u queues, and the flows need more; write fewer "
                "connections, or raise nic.queues",
                queue->flow->flow.name, fab_component_name(device),
                fab_nic_params(nic)->queues);
    return false;
}

/* The memory of a ring and its completions. */
static bool ring_init(const TcpQueue *queue, FabNic *nic,
                      uint32_t descriptor_bytes, uint32_t completion_bytes,
                      FabNicRing *ring, GError **error)
{
    FabComponent *device = fab_endpoint_component(fab_nic_device(nic));
    TcpArea descriptors, completions;

    if (!area_take(queue->host, device,
                   (uint64_t)ring->entries * descriptor_bytes, &descriptors,
                   error) ||
        !area_take(queue->host, device,
                   (uint64_t)ring->entries * completion_bytes, &completions,
                   error)) {
        return false;
    }
    ring->ring = descriptors.device;
    ring->completions = completions.device;
    ring->cpu_completions = completions.cpu;
    return true;
}

static void nic_interrupted(void *owner, unsigned vector)
{
    fab_nic_rx_interrupted(owner, vector);
}

/* A lend has one handler for all vectors. The vector is the number of the
 * queue. */
static void lend_init(const TcpQueue *queue, FabNic *nic, FabLend *lend)
{
    FabBusAddr addr;
    uint32_t data;

    fab_lend_set_interrupt(lend, nic_interrupted, nic);
    fab_lend_msi(lend, fab_nic_rx_number(queue->rx), &addr, &data);
    fab_nic_rx_set_msi(queue->rx, addr, data);
}

/* The message of an interrupt that a NIC writes to its own host. */
static FabBusAddr msi_addr(const TcpQueue *queue)
{
    uint32_t msi = (queue->flow->flow.number * 2 * CONNECTIONS_MAX +
                    queue->connection->number * 2 + queue->is_sender) %
                   ((FAB_MSI_BYTES - MSI_OFFSET) / 4);

    return FAB_MSI_BASE + MSI_OFFSET + 4 * msi;
}

/* Makes the two queues of @connection at @nic. */
static bool queue_init(TcpQueue *queue, FabNic *nic, unsigned port,
                       GError **error)
{
    TcpFlow *self = queue->flow;
    const FabTcpFlowParams *params = &self->params;
    const FabNicParams *traits = fab_nic_params(nic);
    FabComponent *device = fab_endpoint_component(fab_nic_device(nic));
    uint64_t headers = (uint64_t)params->entries * queue->slot_bytes;
    FabLend *lend = params->polling ? NULL : fab_lend_of(fab_nic_device(nic));
    FabNicRxParams rx = {
        .ring = {.driver = queue->host,
                 .port = port,
                 .entries = params->entries,
                 .flow = self->flow.number},
        .split = true,
        .rss = !queue->is_sender && !params->steered,
        .unsplit = queue->is_sender ? 0 : params->unsplit,
        .interrupt = params->polling ? NULL
                     : lend          ? tcp_queue_handler
                                     : tcp_queue_interrupt,
        .msi_addr = msi_addr(queue),
        .cpu_msi_addr = lend ? 0 : msi_addr(queue),
        .received = tcp_queue_received,
        .owner = queue,
    };
    FabNicTxParams tx = {.ring = rx.ring,
                         .completed = queue->is_sender
                                          ? tcp_send_completed
                                          : tcp_receive_acks_completed,
                         .owner = queue};

    if (!ring_init(queue, nic, traits->descriptor_bytes,
                   traits->completion_bytes, &rx.ring, error) ||
        !ring_init(queue, nic, traits->tx_descriptor_bytes,
                   traits->tx_completion_bytes, &tx.ring, error) ||
        !area_take(queue->host, device, headers, &queue->rx_headers, error) ||
        !area_take(queue->host, device, headers, &queue->tx_headers, error)) {
        return false;
    }
    queue->rx = fab_nic_rx_new(nic, &rx);
    queue->tx = queue->rx ? fab_nic_tx_new(nic, &tx) : NULL;
    if (queue->rx && lend) {
        lend_init(queue, nic, lend);
    }
    return queue->tx ? true : no_queue(queue, nic, error);
}

/* Makes the pool of pages in RAM for @queue. */
static bool pool_init(TcpQueue *queue, FabNic *nic, GError **error)
{
    const FabTcpFlowParams *params = &queue->flow->params;
    /* Each packet of a window takes whole pages, and a ring is full beside
     * them. */
    uint64_t packet =
        (params->mtu_bytes + params->page_bytes - 1) / params->page_bytes;
    uint64_t pages =
        2 * (uint64_t)params->entries +
        2 * packet * (params->window_bytes / queue->flow->mss_bytes + 1);
    TcpArea area;

    if (!area_take(queue->host, fab_endpoint_component(fab_nic_device(nic)),
                   pages * params->page_bytes, &area, error)) {
        return false;
    }
    queue->pool = fab_devmem_bind(area.device, pages * params->page_bytes,
                                  params->page_bytes);
    return true;
}

static bool connection_init(TcpFlow *self, unsigned number, GError **error)
{
    const FabTcpFlowParams *params = &self->params;
    TcpConnection *connection = &self->connections[number];
    TcpQueue *queues[] = {&connection->at_sender, &connection->at_receiver};

    for (unsigned i = 0; i < 2; i++) {
        queues[i]->flow = self;
        queues[i]->connection = connection;
        queues[i]->is_sender = i == 0;
        queues[i]->host = i == 0 ? self->send_host : self->receive_host;
        queues[i]->costs = i == 0 ? &params->send : &params->receive;
        queues[i]->slot_bytes = slot_bytes(params);
    }
    connection->tuple = (self->flow.number * CONNECTIONS_MAX + number) * 2;
    if (!queue_init(queues[0], params->from, params->from_port, error) ||
        !queue_init(queues[1], params->to, params->to_port, error) ||
        !pool_init(queues[0], params->from, error) ||
        !area_take(self->send_host,
                   fab_endpoint_component(fab_nic_device(params->from)),
                   params->window_bytes +
                       fab_nic_params(params->from)->segment_bytes,
                   &connection->send_buffer, error) ||
        !area_take(self->receive_host, fab_endpoint_component(self->device),
                   params->window_bytes, &connection->user_buffer, error)) {
        return false;
    }
    if (self->dmabuf && params->steered) {
        queues[1]->pool = self->dmabuf;
        queues[1]->is_bound = true;
    } else if (!pool_init(queues[1], params->to, error)) {
        return false;
    }
    fab_nic_steer(params->from, connection->tuple + 1, queues[0]->rx);
    if (params->steered) {
        fab_nic_steer(params->to, connection->tuple, queues[1]->rx);
    }
    return true;
}

/* Finds the addresses of the dmabuf, as the receiving NIC sees it. */
static bool dmabuf_init(TcpFlow *self, GError **error)
{
    const FabTcpFlowParams *params = &self->params;
    FabBusAddr addr;

    if (!fab_target_take(&params->device, params->buffer_bytes, &addr, error) ||
        !fab_route_map(fab_endpoint_component(fab_nic_device(params->to)),
                       params->device.component, addr, params->buffer_bytes,
                       &addr, error)) {
        return false;
    }
    self->dmabuf =
        fab_devmem_bind(addr, params->buffer_bytes, params->page_bytes);
    return true;
}

FabFlow *fab_tcp_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabTcpFlowParams *params, GError **error)
{
    TcpFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !fab_flow_accept(name, flow_wrong(params), error)) {
        return NULL;
    }
    self = g_new0(TcpFlow, 1);
    self->params = *params;
    self->ends = &tcp_ends;
    self->mss_bytes = params->mtu_bytes - params->header_bytes;
    self->send_host = host_of(params->from);
    self->receive_host = host_of(params->to);
    self->device = fab_component_as_endpoint(params->device.component);
    self->skbs = g_ptr_array_new_with_free_func(g_free);
    self->connections = g_new0(TcpConnection, params->connections);
    for (uint32_t i = 0; i < params->connections; i++) {
        TcpConnection *connection = &self->connections[i];

        connection->flow = self;
        connection->number = i;
        connection->begins = g_array_new(FALSE, FALSE, sizeof(SimTime));
        connection->held = g_array_new(FALSE, FALSE, sizeof(TcpHeld));
        connection->advertised = params->window_bytes;
        connection->status = FAB_STATUS_SC;
        fab_tcp_sender_init(&connection->sender, self->mss_bytes,
                            params->window_bytes);
        fab_tcp_receiver_init(&connection->receiver);
    }
    /* The queues need the number of the flow. If they cannot be made, the flow
     * stays in the fabric, which is of no use without it. */
    fab_flow_init(&self->flow, fabric, &tcp_ops, name, warmup, params->start);
    if (params->devmem && !dmabuf_init(self, error)) {
        return NULL;
    }
    for (uint32_t i = 0; i < params->connections; i++) {
        if (!connection_init(self, i, error)) {
            return NULL;
        }
    }
    return &self->flow;
}
