/* SPDX-License-Identifier: MIT */
#include "fab_flow_tcp_priv.h"

/* The time-out doubles each time, at most so often. */
#define BACKOFF_MAX  6u
/* The connection ends after so many in sequence, like Linux' tcp_retries2. */
#define TIMEOUTS_MAX 15u

/* Starts the timer, which runs while data are not acknowledged. */
static void rto_restart(TcpConnection *connection)
{
    const TcpFlow *self = connection->flow;

    if (connection->sender.una == connection->sender.end) {
        sim_event_cancel(&connection->rto_event);
    } else {
        unsigned doublings = MIN(connection->backoff, BACKOFF_MAX);

        sim_event_reschedule(&connection->rto_event,
                             tcp_now(self) + (self->params.rto << doublings));
    }
}

/* The application hands messages to the socket, which takes a window of data,
 * or one message. */
static void messages_submit(TcpConnection *connection)
{
    const TcpFlow *self = connection->flow;
    FabTcpSender *sender = &connection->sender;
    uint64_t size = self->params.size_bytes;
    SimTime now = tcp_now(self);

    while (connection->submitted < self->params.count &&
           (sender->end == sender->una ||
            sender->end - sender->una + size <= self->params.window_bytes)) {
        if (sender->end == sender->una) {
            connection->backoff = 0;
        }
        sender->end += size;
        connection->submitted++;
        g_array_append_val(connection->begins, now);
    }
    if (!sim_event_is_pending(&connection->rto_event)) {
        rto_restart(connection);
    }
}

static void send_done(FabCoreJob *job)
{
    TcpConnection *connection = job->owner;
    TcpFlow *self = connection->flow;
    uint64_t offset = connection->send_seq % self->params.window_bytes;
    FabNicSend send = {
        .payload = connection->send_buffer.device + offset,
        .payload_bytes = connection->send_bytes,
        .mss_bytes = self->mss_bytes,
        .packet =
            {
                .to = fab_nic_port(self->params.to, self->params.to_port),
                .tuple = connection->tuple,
                .flow = self->flow.number,
                .header_bytes = FAB_NET_MAC_HEADER + self->params.header_bytes,
                .socket = connection,
                .seq = connection->send_seq,
                .is_push = (connection->send_seq + connection->send_bytes) %
                               self->params.size_bytes ==
                           0,
                .is_splittable = true,
            },
    };

    connection->is_sending = false;
    tcp_queue_post(&connection->at_sender, &send);
    tcp_queue_ring(&connection->at_sender);
    tcp_send_pump(connection);
}

void tcp_send_pump(TcpConnection *connection)
{
    const TcpFlow *self = connection->flow;
    uint32_t most = fab_nic_params(self->params.from)->segment_bytes;

    most -= most % self->mss_bytes;
    if (self->flow.done || connection->is_sending ||
        fab_nic_tx_space(connection->at_sender.tx) == 0 ||
        !fab_tcp_sender_next(&connection->sender, most, &connection->send_seq,
                             &connection->send_bytes)) {
        return;
    }
    connection->is_sending = true;
    tcp_queue_run(&connection->at_sender, &connection->send_job,
                  self->params.send.send);
}

void tcp_send_acked(TcpConnection *connection, const FabPacket *packet)
{
    if (connection->flow->flow.done) {
        return;
    }
    if (fab_tcp_sender_ack(&connection->sender, packet->ack,
                           packet->window_bytes, packet->has_gap)) {
        connection->backoff = 0;
        rto_restart(connection);
        messages_submit(connection);
    }
    tcp_send_pump(connection);
}

static void rto_event(SimEvent *event)
{
    TcpConnection *connection =
        SIM_CONTAINER_OF(event, TcpConnection, rto_event);
    FabTcpSender *sender = &connection->sender;

    if (sender->most == sender->una) {
        /* The window is closed. A segment finds out whether it still is. */
        sender->peer_window = MAX(sender->peer_window, sender->mss_bytes);
    } else {
        fab_tcp_sender_timeout(sender);
    }
    if (connection->backoff++ == TIMEOUTS_MAX) {
        tcp_abort(connection->flow);
        return;
    }
    rto_restart(connection);
    tcp_send_pump(connection);
}

void tcp_send_completed(void *owner)
{
    TcpQueue *queue = owner;

    tcp_send_pump(queue->connection);
}

void tcp_send_start(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;

    sim_event_init(&connection->rto_event, self->flow.fabric->engine, rto_event,
                   SIM_PRIORITY_NORMAL, self->flow.rank);
    connection->send_job = (FabCoreJob){.done = send_done, .owner = connection};
    messages_submit(connection);
    tcp_send_pump(connection);
}

void tcp_send_done(TcpConnection *connection)
{
    sim_event_cancel(&connection->rto_event);
}
