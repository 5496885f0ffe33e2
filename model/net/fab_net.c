/* SPDX-License-Identifier: MIT */
#include "fab_net.h"

#include <string.h>

#include "fab_attachment.h"
#include "fab_account_priv.h"
#include "sim_random.h"

/* A server that sends at a rate; it carries fractions of a ps over. */
typedef struct Wire {
    SimTime free_at;
    uint64_t carry;
} Wire;

struct FabNetPort {
    FabNet *net;
    uint64_t rate_bytes_s;
    uint32_t rank;
    const FabNetPortOps *ops;
    void *owner;
    Wire egress; /* of the port */
    Wire out;    /* of the switch, to the port */
    FabNetCounters counters;
};

struct FabNet {
    FabFabric *fabric;
    char *name;
    FabNetParams params;
    SimRandom random;
    GPtrArray *ports;   /* owned */
    GPtrArray *packets; /* owned: all that were ever made */
    FabPacket *free;
    uint64_t alive;
};

/* The networks of a fabric. */
typedef struct NetList {
    FabAttachment attachment;
    GPtrArray *nets; /* owned */
} NetList;

static SimTime net_now(const FabNet *net)
{
    return sim_engine_now(net->fabric->engine);
}

/* ---- Packets --------------------------------------------------------- */

/* The bytes that a packet takes on the wire of @net. */
static uint32_t net_wire_bytes(const FabNet *net, const FabPacket *packet)
{
    uint32_t frame = packet->header_bytes + packet->payload_bytes;

    return MAX(frame, FAB_NET_FRAME_MIN) + FAB_NET_FRAMING +
           net->params.overhead_bytes;
}

void fab_net_packet_free(FabNet *net, FabPacket *packet)
{
    net->alive--;
    packet->next = net->free;
    net->free = packet;
}

/* Takes @bytes of @wire, which sends nothing else from @from on. Returns when
 * they are sent. */
static SimTime wire_take(Wire *wire, SimTime from, uint64_t rate,
                         uint32_t bytes)
{
    __uint128_t work = (__uint128_t)bytes * SIM_S + wire->carry;

    wire->free_at = MAX(wire->free_at, from) + (SimTime)(work / rate);
    wire->carry = work % rate;
    return wire->free_at;
}

/* Bytes that wait in the switch for @port. */
static uint64_t switch_queued(const FabNetPort *port, SimTime now)
{
    return port->out.free_at <= now ? 0
                                    : (__uint128_t)(port->out.free_at - now) *
                                          port->rate_bytes_s / SIM_S;
}

/* The packet has left its port, and goes to the switch or to the receiver. */
static void packet_leave(FabPacket *packet)
{
    FabNetPort *from = packet->from, *to = packet->to;
    FabNet *net = from->net;
    SimTime now = net_now(net);
    uint32_t bytes = net_wire_bytes(net, packet);
    SimTime at = now + net->params.latency;

    from->ops->sent(from->owner, packet);
    if (net->params.loss > 0 &&
        sim_random_double(&net->random) < net->params.loss) {
        from->counters.lost++;
        fab_net_packet_free(net, packet);
        return;
    }
    if (net->params.has_switch) {
        SimTime there = now + net->params.latency / 2;

        if (net->params.buffer_bytes > 0 &&
            switch_queued(to, there) + bytes > net->params.buffer_bytes) {
            to->counters.dropped++;
            fab_net_packet_free(net, packet);
            return;
        }
        at = wire_take(&to->out, there, to->rate_bytes_s, bytes) +
             (net->params.latency - net->params.latency / 2);
    }
    packet->is_leaving = false;
    sim_event_schedule(&packet->event, at);
}

static void packet_event(SimEvent *event)
{
    FabPacket *packet = SIM_CONTAINER_OF(event, FabPacket, event);

    if (packet->is_leaving) {
        packet_leave(packet);
    } else {
        packet->to->counters.received++;
        packet->to->ops->receive(packet->to->owner, packet);
    }
}

FabPacket *fab_net_packet_new(FabNet *net)
{
    FabPacket *packet = net->free;

    if (packet) {
        net->free = packet->next;
        memset(packet, 0, sizeof(*packet));
    } else {
        packet = g_new0(FabPacket, 1);
        g_ptr_array_add(net->packets, packet);
    }
    net->alive++;
    packet->is_splittable = true;
    return packet;
}

void fab_net_send(FabNetPort *port, FabPacket *packet)
{
    FabNet *net = port->net;
    uint32_t bytes = net_wire_bytes(net, packet);
    SimTime now = net_now(net), before = MAX(port->egress.free_at, now);

    g_assert(packet->to && packet->to->net == net);
    packet->from = port;
    packet->is_leaving = true;
    sim_event_init(&packet->event, net->fabric->engine, packet_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    sim_event_schedule(&packet->event, wire_take(&port->egress, now,
                                                 port->rate_bytes_s, bytes));
    port->counters.sent++;
    port->counters.sent_bytes += bytes;
    port->counters.busy_ps += port->egress.free_at - before;
}

/* ---- Networks -------------------------------------------------------- */

static void net_free(void *data)
{
    FabNet *net = data;

    for (unsigned i = 0; i < net->packets->len; i++) {
        sim_event_cancel(&((FabPacket *)net->packets->pdata[i])->event);
    }
    g_ptr_array_unref(net->packets);
    g_ptr_array_unref(net->ports);
    g_free(net->name);
    g_free(net);
}

static void list_free(FabAttachment *attachment)
{
    NetList *list = (NetList *)attachment;

    g_ptr_array_unref(list->nets);
    g_free(list);
}

static const FabAttachmentOps list_ops = {.free = list_free};

FabNet *fab_net_find(const FabFabric *fabric, const char *name)
{
    const NetList *list = (NetList *)fab_fabric_attachment(fabric, &list_ops);

    for (unsigned i = 0; list && i < list->nets->len; i++) {
        FabNet *net = list->nets->pdata[i];

        if (strcmp(net->name, name) == 0) {
            return net;
        }
    }
    return NULL;
}

FabNet *fab_net_new(FabFabric *fabric, const char *name,
                    const FabNetParams *params)
{
    NetList *list = (NetList *)fab_fabric_attachment(fabric, &list_ops);
    FabNet *net = g_new0(FabNet, 1);
    g_autofree char *stream = g_strconcat(name, ".loss", NULL);

    g_assert(!fab_net_find(fabric, name));
    if (!list) {
        list = g_new0(NetList, 1);
        list->nets = g_ptr_array_new_with_free_func(net_free);
        fab_fabric_attach(fabric, &list->attachment, &list_ops);
    }
    net->fabric = fabric;
    net->name = g_strdup(name);
    net->params = *params;
    sim_random_init(&net->random, fabric->seed, stream);
    net->ports = g_ptr_array_new_with_free_func(g_free);
    net->packets = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(list->nets, net);
    return net;
}

FabNetPort *fab_net_join(FabNet *net, uint64_t rate_bytes_s, uint32_t rank,
                         const FabNetPortOps *ops, void *owner)
{
    FabNetPort *port = g_new0(FabNetPort, 1);

    g_assert(rate_bytes_s > 0);
    port->net = net;
    port->rate_bytes_s = rate_bytes_s;
    port->rank = rank;
    port->ops = ops;
    port->owner = owner;
    g_ptr_array_add(net->ports, port);
    return port;
}

FabNet *fab_net_port_net(const FabNetPort *port)
{
    return port->net;
}

uint64_t fab_net_packets_alive(const FabNet *net)
{
    return net->alive;
}

bool fab_net_port_is_busy(const FabNetPort *port)
{
    return port->egress.free_at > net_now(port->net);
}

const FabNetCounters *fab_net_port_counters(const FabNetPort *port)
{
    return &port->counters;
}
