/* SPDX-License-Identifier: MIT */
#include "fab_flow_tcp_priv.h"

/* Packets that a core handles before it looks at others: the weight of NAPI. */
#define BATCH 64u

/* ---- Packets --------------------------------------------------------- */

void tcp_skb_push(TcpSkbList *list, TcpSkb *skb)
{
    skb->next = NULL;
    if (list->tail) {
        list->tail->next = skb;
    } else {
        list->head = skb;
    }
    list->tail = skb;
    list->count++;
}

TcpSkb *tcp_skb_pop(TcpSkbList *list)
{
    TcpSkb *skb = list->head;

    list->head = skb->next;
    if (!list->head) {
        list->tail = NULL;
    }
    list->count--;
    return skb;
}

static TcpSkb *skb_new(TcpFlow *self)
{
    TcpSkb *skb = self->free_skbs;

    if (skb) {
        self->free_skbs = skb->next;
    } else {
        skb = g_new0(TcpSkb, 1);
        g_ptr_array_add(self->skbs, skb);
    }
    return skb;
}

void tcp_skb_free(TcpSkb *skb, bool with_pages)
{
    TcpFlow *self = skb->queue->flow;

    for (unsigned i = 0; with_pages && i < skb->count; i++) {
        fab_devmem_put(skb->queue->pool, skb->pages[i]);
    }
    if (skb->packet) {
        fab_net_packet_free(fab_net_port_net(skb->packet->to), skb->packet);
    }
    skb->packet = NULL;
    skb->next = self->free_skbs;
    self->free_skbs = skb;
}

/* ---- Descriptors ----------------------------------------------------- */

void tcp_queue_refill(TcpQueue *queue)
{
    uint32_t entries = queue->flow->params.entries, posted = 0, page;
    uint32_t refill = queue->flow->params.refill;

    if (fab_nic_rx_space(queue->rx) < MIN(refill, entries / 4)) {
        return;
    }
    while (fab_nic_rx_space(queue->rx) > 0 &&
           fab_devmem_take(queue->pool, &page)) {
        uint32_t slot = queue->rx_filled++ & (entries - 1);
        FabNicBuffer buffer = {
            .header =
                queue->rx_headers.device + (FabBusAddr)slot * queue->slot_bytes,
            .payload = fab_devmem_addr(queue->pool, page),
            .payload_bytes = queue->flow->params.page_bytes,
            .id = page,
        };

        fab_nic_rx_post(queue->rx, &buffer);
        posted++;
    }
    if (posted > 0) {
        fab_nic_rx_bell(queue->rx);
    }
}

void tcp_queue_post(TcpQueue *queue, FabNicSend *send)
{
    uint32_t slot = queue->tx_filled++ & (queue->flow->params.entries - 1);

    send->header =
        queue->tx_headers.device + (FabBusAddr)slot * queue->slot_bytes;
    fab_nic_tx_post(queue->tx, send);
    queue->must_ring = true;
}

void tcp_queue_ring(TcpQueue *queue)
{
    if (queue->must_ring) {
        queue->must_ring = false;
        fab_nic_tx_bell(queue->tx);
    }
}

/* ---- Packets that come in -------------------------------------------- */

void tcp_queue_run(TcpQueue *queue, FabCoreJob *job, SimTime time)
{
    job->time = time + queue->debt;
    queue->debt = 0;
    fab_core_run(queue->core, job);
}

/* Begins to handle the packets that have come in. */
static void poll_begin(TcpQueue *queue)
{
    SimTime time = 0;
    unsigned i = 0;

    if (queue->poll_count > 0 || queue->backlog.count == 0) {
        return;
    }
    queue->poll_count = MIN(queue->backlog.count, BATCH);
    for (const TcpSkb *skb = queue->backlog.head; i < queue->poll_count;
         i++, skb = skb->next) {
        time += skb->packet->is_ack ? queue->costs->ack : queue->costs->packet;
    }
    tcp_queue_run(queue, &queue->poll_job, time);
}

static void notice_event(SimEvent *event)
{
    TcpQueue *queue = SIM_CONTAINER_OF(event, TcpQueue, notice_event);

    if (queue->backlog.count == 0 && queue->poll_count == 0 &&
        !queue->flow->params.polling) {
        fab_nic_rx_arm(queue->rx);
    }
    poll_begin(queue);
}

static void poll_done(FabCoreJob *job)
{
    TcpQueue *queue = job->owner;
    TcpFlow *self = queue->flow;
    uint32_t count = queue->poll_count;

    queue->poll_count = 0;
    while (count-- > 0) {
        TcpSkb *skb = tcp_skb_pop(&queue->backlog);
        TcpConnection *connection = skb->packet->socket;

        if (skb->packet->is_ack) {
            self->ends->acked(connection, skb->packet);
            tcp_skb_free(skb, true);
        } else {
            self->ends->segment(connection, skb);
        }
    }
    tcp_queue_refill(queue);
    /* With receive side scaling, the packets may be of any connection. */
    for (uint32_t i = 0; i < self->params.connections; i++) {
        if (queue->is_sender) {
            self->ends->pump(&self->connections[i]);
        } else {
            self->ends->batch(&self->connections[i]);
        }
    }
    if (queue->backlog.count > 0) {
        poll_begin(queue);
    } else if (!self->params.polling) {
        fab_nic_rx_arm(queue->rx);
    }
}

static void notice_after(TcpQueue *queue, SimTime delay)
{
    if (!sim_event_is_pending(&queue->notice_event)) {
        sim_event_schedule(&queue->notice_event, tcp_now(queue->flow) + delay);
    }
}

void tcp_queue_interrupt(void *owner)
{
    TcpQueue *queue = owner;

    notice_after(queue, fab_root_params(queue->host)->cpu.interrupt);
}

void tcp_queue_handler(void *owner)
{
    notice_after(owner, 0);
}

void tcp_queue_received(void *owner, const FabNicReceived *received)
{
    TcpQueue *queue = owner;
    TcpFlow *self = queue->flow;
    TcpSkb *skb = skb_new(self);

    skb->queue = queue;
    skb->packet = received->packet;
    skb->count = received->count;
    skb->is_split = received->is_split;
    for (unsigned i = 0; i < received->count; i++) {
        skb->pages[i] = received->buffers[i].id;
    }
    tcp_skb_push(&queue->backlog, skb);
    if (self->params.polling && queue->poll_count == 0 &&
        !sim_event_is_pending(&queue->notice_event)) {
        SimTime poll = fab_root_params(queue->host)->cpu.poll;

        sim_event_schedule(
            &queue->notice_event,
            tcp_now(self) + sim_random_below(&self->flow.random, 2 * poll + 1));
    }
}

/* ---- Life ------------------------------------------------------------ */

void tcp_queue_start(TcpQueue *queue)
{
    TcpFlow *self = queue->flow;

    sim_event_init(&queue->notice_event, self->flow.fabric->engine,
                   notice_event, SIM_PRIORITY_NORMAL, self->flow.rank);
    queue->core = fab_core_new(queue->host, self->flow.rank);
    queue->poll_job = (FabCoreJob){.done = poll_done, .owner = queue};
    tcp_queue_refill(queue);
}

void tcp_queue_done(TcpQueue *queue)
{
    sim_event_cancel(&queue->notice_event);
    fab_core_free(queue->core);
    if (!queue->is_bound) {
        fab_devmem_free(queue->pool);
    }
}
