/* SPDX-License-Identifier: MIT */
#include "fab_flow_tcp_priv.h"

/* A lone packet is acknowledged after this time (RFC 1122 s4.2.3.2 allows 500
 * ms; Linux takes at least 40 ms). */
#define DELAYED_ACK (40 * SIM_MS)

/* Most bytes that one call of the receiver returns. */
#define CALL_BYTES (256u << 10)

static void reads_begin(TcpConnection *connection);

/* ---- Acknowledgements ------------------------------------------------ */

static uint64_t window(const TcpConnection *connection)
{
    uint64_t all = connection->flow->params.window_bytes;

    return all - MIN(all, connection->unread_bytes);
}

/* Posts an acknowledgement; without a free descriptor it waits. */
static void ack_post(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;
    TcpQueue *queue = &connection->at_receiver;
    FabNicSend send = {
        .packet =
            {
                .to = fab_nic_port(self->params.from, self->params.from_port),
                .tuple = connection->tuple + 1,
                .flow = self->flow.number,
                .header_bytes = FAB_NET_MAC_HEADER + self->params.header_bytes,
                .socket = connection,
                .ack = connection->receiver.next,
                .window_bytes = window(connection),
                .is_ack = true,
                .has_gap = connection->receiver.waiting_bytes > 0,
                .is_splittable = true,
            },
    };

    if (fab_nic_tx_space(queue->tx) == 0) {
        connection->ack_waits = true;
        return;
    }
    sim_event_cancel(&connection->ack_event);
    connection->ack_waits = false;
    connection->must_ack = false;
    connection->unacked = 0;
    connection->advertised = send.packet.window_bytes;
    queue->debt += self->params.receive.ack;
    self->stats.acks++;
    tcp_queue_post(queue, &send);
}

static void ack_event(SimEvent *event)
{
    TcpConnection *connection =
        SIM_CONTAINER_OF(event, TcpConnection, ack_event);

    ack_post(connection);
    tcp_queue_ring(&connection->at_receiver);
}

/* Tells the sender that there is space again, if the window was nearly closed
 * or has opened by half of it (RFC 1122 s4.2.3.3). */
static void window_update(TcpConnection *connection)
{
    const TcpFlow *self = connection->flow;
    uint64_t now = window(connection);

    if (now > connection->advertised &&
        (connection->advertised < 2 * (uint64_t)self->mss_bytes ||
         now - connection->advertised >= self->params.window_bytes / 2)) {
        ack_post(connection);
        tcp_queue_ring(&connection->at_receiver);
    }
}

/* ---- Segments -------------------------------------------------------- */

void tcp_receive_segment(TcpConnection *connection, TcpSkb *skb)
{
    TcpFlow *self = connection->flow;
    const FabPacket *packet = skb->packet;
    bool is_push = packet->is_push;
    FabTcpSegment segment;

    if (self->flow.done ||
        fab_tcp_receiver_take(&connection->receiver, packet->seq,
                              packet->payload_bytes, skb) == 0) {
        tcp_skb_free(skb, true);
        connection->must_ack = true;
        if (!self->flow.done) {
            ack_post(connection);
        }
        return;
    }
    while (fab_tcp_receiver_pop(&connection->receiver, &segment)) {
        TcpSkb *next = segment.data;

        next->seq = segment.seq;
        next->bytes = segment.bytes;
        connection->unread_bytes += segment.bytes;
        tcp_skb_push(&connection->readable, next);
    }
    connection->unacked++;
    if (is_push || connection->unacked >= self->params.ack_every ||
        connection->receiver.waiting_bytes > 0) {
        ack_post(connection);
    } else if (!sim_event_is_pending(&connection->ack_event)) {
        sim_event_schedule(&connection->ack_event, tcp_now(self) + DELAYED_ACK);
    }
}

void tcp_receive_batch(TcpConnection *connection)
{
    tcp_queue_ring(&connection->at_receiver);
    reads_begin(connection);
}

static void acks_completed(TcpConnection *connection)
{
    if (connection->ack_waits) {
        ack_post(connection);
        tcp_queue_ring(&connection->at_receiver);
    }
}

/* ---- Tokens ---------------------------------------------------------- */

static void tokens_return(TcpConnection *connection);

static void hold_event(SimEvent *event)
{
    tokens_return(SIM_CONTAINER_OF(event, TcpConnection, hold_event));
}

static TcpHeld *held_at(const TcpConnection *connection, uint32_t index)
{
    return &g_array_index(connection->held, TcpHeld, index);
}

/* Begins a call that returns the tokens whose time has come. */
static void tokens_return(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;
    uint32_t first = connection->held_first;
    SimTime now = tcp_now(self);

    if (connection->is_returning || first == connection->held->len) {
        return;
    }
    if (held_at(connection, first)->due > now) {
        sim_event_reschedule(&connection->hold_event,
                             held_at(connection, first)->due);
        return;
    }
    connection->returning_count = 0;
    while (first < connection->held->len &&
           connection->returning_count < self->params.tokens &&
           held_at(connection, first)->due <= now) {
        connection->returning[connection->returning_count++] =
            (FabDevmemTokens){held_at(connection, first)->token, 1};
        first++;
    }
    connection->held_first = first;
    if (first == connection->held->len) {
        g_array_set_size(connection->held, 0);
        connection->held_first = 0;
    }
    connection->is_returning = true;
    self->stats.calls++;
    tcp_queue_run(&connection->at_receiver, &connection->token_job,
                  self->params.receive.call);
}

static void tokens_returned(FabCoreJob *job)
{
    TcpConnection *connection = job->owner;
    TcpFlow *self = connection->flow;

    connection->is_returning = false;
    if (fab_devmem_is_bound(self->dmabuf)) {
        int freed = fab_devmem_dontneed(self->dmabuf, connection->returning,
                                        connection->returning_count);

        g_assert(freed == (int)connection->returning_count);
    }
    /* The queues share the buffer, so any of them may have lacked pages. */
    for (uint32_t i = 0; i < self->params.connections && !self->flow.done;
         i++) {
        tcp_queue_refill(&self->connections[i].at_receiver);
    }
    tokens_return(connection);
}

/* ---- The application ------------------------------------------------- */

/* Tells the user of the fragments of @skb, which keeps them for a while. */
static void fragments_give(TcpConnection *connection, const TcpSkb *skb)
{
    const TcpFlow *self = connection->flow;

    for (unsigned i = 0; i < skb->count; i++) {
        TcpHeld held = {
            .due = tcp_now(self) + self->params.hold,
            .token = fab_devmem_give(self->dmabuf, skb->pages[i]),
        };

        g_array_append_val(connection->held, held);
    }
}

static bool is_direct(const TcpSkb *skb)
{
    return skb->is_split && skb->queue->is_bound;
}

/* Has the device copy what is in the user's buffer. */
static void copies_begin(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;

    for (unsigned i = 0; i < TCP_COPIES; i++) {
        TcpCopy *copy = &connection->copies[i];
        uint64_t offset = connection->ordered_bytes % self->params.window_bytes;
        uint64_t bytes = connection->user_bytes - connection->ordered_bytes;

        bytes = MIN(bytes, self->params.chunk_bytes);
        bytes = MIN(bytes, self->params.window_bytes - offset);
        if (copy->is_busy || bytes == 0 || self->flow.done) {
            continue;
        }
        copy->is_busy = true;
        copy->seq = connection->ordered_bytes;
        copy->dma.addr = connection->user_buffer.device + offset;
        copy->dma.size_bytes = bytes;
        copy->dma.flow = self->flow.number;
        connection->ordered_bytes += bytes;
        self->stats.calls++;
        tcp_queue_run(&connection->at_receiver, &copy->job,
                      self->params.receive.call);
    }
}

static void copy_told(FabCoreJob *job)
{
    TcpCopy *copy = job->owner;
    TcpFlow *self = copy->connection->flow;

    sim_event_schedule(&copy->event, tcp_now(self) + self->params.setup);
}

static void copy_event(SimEvent *event)
{
    TcpCopy *copy = SIM_CONTAINER_OF(event, TcpCopy, event);

    fab_endpoint_dma(copy->connection->flow->device, &copy->dma);
}

static void copy_done(FabDma *dma)
{
    TcpCopy *copy = dma->owner;
    TcpConnection *connection = copy->connection;

    copy->is_busy = false;
    if (dma->status != FAB_STATUS_SC) {
        connection->status = dma->status;
    }
    connection->copied_bytes += dma->size_bytes;
    tcp_delivered(connection, copy->seq, dma->size_bytes);
    if (!connection->flow->flow.done) {
        copies_begin(connection);
        reads_begin(connection);
    }
}

/* The call that @connection has made returns. */
static void read_done(FabCoreJob *job)
{
    TcpConnection *connection = job->owner;
    TcpFlow *self = connection->flow;
    uint32_t count = connection->reading;

    connection->is_reading = false;
    while (count-- > 0) {
        TcpSkb *skb = tcp_skb_pop(&connection->readable);

        connection->unread_bytes -= skb->bytes;
        if (is_direct(skb) && fab_devmem_is_bound(self->dmabuf)) {
            self->stats.direct_bytes += skb->bytes;
            fragments_give(connection, skb);
            tcp_delivered(connection, skb->seq, skb->bytes);
            tcp_skb_free(skb, false);
        } else {
            self->stats.linear_bytes += skb->is_split ? 0 : skb->bytes;
            self->stats.host_bytes += skb->bytes;
            connection->user_bytes += skb->bytes;
            tcp_skb_free(skb, true);
        }
    }
    if (self->flow.done) {
        return;
    }
    tcp_queue_refill(&connection->at_receiver);
    window_update(connection);
    copies_begin(connection);
    if (self->dmabuf) {
        tokens_return(connection);
    }
    reads_begin(connection);
}

/* Begins a call that reads what is there. Data that come by way of RAM are read
 * only if the user's buffer has space for them. */
static void reads_begin(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;
    FabCoreJob *job = &connection->read_job;
    uint64_t bytes = 0, copied = 0;
    uint64_t space = self->params.window_bytes -
                     (connection->user_bytes - connection->copied_bytes);
    uint32_t count = 0;

    if (connection->is_reading || self->flow.done) {
        return;
    }
    for (const TcpSkb *skb = connection->readable.head;
         skb && bytes < CALL_BYTES; skb = skb->next) {
        if (!is_direct(skb)) {
            if (copied + skb->bytes > space) {
                break;
            }
            copied += skb->bytes;
        }
        bytes += skb->bytes;
        count++;
    }
    if (count == 0) {
        return;
    }
    connection->is_reading = true;
    connection->reading = count;
    job->read_bytes = copied;
    job->written_bytes = copied;
    self->stats.calls++;
    tcp_queue_run(&connection->at_receiver, job,
                  self->params.receive.call +
                      (SimTime)((__uint128_t)copied * SIM_S /
                                self->params.receive.copy_bytes_s));
}

/* ---- Life ------------------------------------------------------------ */

void tcp_receive_start(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;
    SimEngine *engine = self->flow.fabric->engine;
    uint32_t rank = self->flow.rank;

    sim_event_init(&connection->ack_event, engine, ack_event,
                   SIM_PRIORITY_NORMAL, rank);
    sim_event_init(&connection->hold_event, engine, hold_event,
                   SIM_PRIORITY_NORMAL, rank);
    connection->read_job = (FabCoreJob){.done = read_done, .owner = connection};
    connection->token_job =
        (FabCoreJob){.done = tokens_returned, .owner = connection};
    for (unsigned i = 0; i < TCP_COPIES; i++) {
        TcpCopy *copy = &connection->copies[i];

        copy->connection = connection;
        copy->dma =
            (FabDma){.type = FAB_TLP_MRD, .done = copy_done, .owner = copy};
        copy->job = (FabCoreJob){.done = copy_told, .owner = copy};
        sim_event_init(&copy->event, engine, copy_event, SIM_PRIORITY_NORMAL,
                       rank);
    }
}

void tcp_receive_acks_completed(void *owner)
{
    TcpQueue *queue = owner;

    acks_completed(queue->connection);
}

void tcp_receive_done(TcpConnection *connection)
{
    sim_event_cancel(&connection->ack_event);
    sim_event_cancel(&connection->hold_event);
    for (unsigned i = 0; i < TCP_COPIES; i++) {
        sim_event_cancel(&connection->copies[i].event);
    }
    fab_tcp_receiver_done(&connection->receiver);
    g_array_unref(connection->held);
}
