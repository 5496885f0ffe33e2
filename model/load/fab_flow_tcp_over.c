/* SPDX-License-Identifier: MIT */
/* Messages that are over, and the end of the flow. */
#include "fab_flow_tcp_priv.h"

static void timers_cancel(TcpFlow *self)
{
    for (uint32_t i = 0; i < self->params.connections; i++) {
        TcpConnection *connection = &self->connections[i];

        sim_event_cancel(&connection->rto_event);
        sim_event_cancel(&connection->ack_event);
        sim_event_cancel(&connection->hold_event);
    }
    sim_event_cancel(&self->warm_event);
    sim_event_cancel(&self->end_event);
}

static void flow_over(TcpFlow *self)
{
    timers_cancel(self);
    fab_flow_finish(&self->flow);
}

/* Counts the messages of which everything is there. */
static void messages_count(TcpConnection *connection)
{
    TcpFlow *self = connection->flow;
    uint64_t size = self->params.size_bytes;

    while (connection->over < self->params.count &&
           connection->delivered_bytes >= (connection->over + 1) * size) {
        SimTime begin = g_array_index(connection->begins, SimTime,
                                      connection->begins_over++);

        connection->over++;
        if (fab_flow_count(&self->flow, begin, 0, connection->status)) {
            sim_histogram_add(self->flow.latency, tcp_now(self) - begin);
        }
        connection->status = FAB_STATUS_SC;
    }
    /* Now and then, because a window may hold a million small messages. */
    if (connection->begins_over > connection->begins->len / 2) {
        g_array_remove_range(connection->begins, 0, connection->begins_over);
        connection->begins_over = 0;
    }
    if (connection->over == self->params.count &&
        ++self->over == self->params.connections) {
        flow_over(self);
    }
}

void tcp_delivered(TcpConnection *connection, uint64_t seq, uint32_t bytes)
{
    TcpFlow *self = connection->flow;

    if (self->flow.done) {
        return;
    }
    if (self->params.delivered) {
        self->params.delivered(self->params.data, connection->number, seq,
                               bytes);
    }
    if (tcp_now(self) >= self->flow.meter.from) {
        self->flow.meter.other += bytes;
    }
    connection->delivered_bytes += bytes;
    messages_count(connection);
}

void tcp_abort(TcpFlow *self)
{
    if (self->dmabuf) {
        fab_devmem_unbind(self->dmabuf);
    }
    for (uint32_t i = 0; i < self->params.connections; i++) {
        TcpConnection *connection = &self->connections[i];

        for (unsigned k = connection->begins_over; k < connection->begins->len;
             k++) {
            fab_flow_count(&self->flow,
                           g_array_index(connection->begins, SimTime, k), 0,
                           FAB_STATUS_CA);
        }
        fab_nic_steer(self->params.to, connection->tuple, NULL);
    }
    flow_over(self);
}
