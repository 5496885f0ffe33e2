/* SPDX-License-Identifier: MIT */
#ifndef FAB_NET_H
#define FAB_NET_H

#include "fab_fabric.h"

/*
 * A network of packets between ports of NICs. It is not PCIe: a port sends a
 * packet at its rate, a switch stores it and sends it at the rate of the port
 * that it goes to. A packet may be lost. Nothing is sent again and nothing is
 * held back: that is a matter of the protocols above.
 */
typedef struct FabNet FabNet;
typedef struct FabNetPort FabNetPort;

/* An Ethernet frame on the wire: preamble and start delimiter 8, FCS 4, gap 12;
 * no frame has less than 64 bytes with its FCS (IEEE 802.3-2018 s3.2, s4.4.2).
 * The 14 bytes of the MAC header belong to the headers of the packet. */
#define FAB_NET_FRAMING    24u
#define FAB_NET_FRAME_MIN  60u /* without FCS */
#define FAB_NET_MAC_HEADER 14u

typedef struct FabNetParams {
    SimTime latency;         /* from the end of a packet at its sender to its
                                end at the receiver, if nothing is in its way,
                                less the time that the switch takes to send it */
    double loss;             /* probability that a packet is lost */
    uint64_t buffer_bytes;   /* of the switch, for each port; 0: no limit */
    uint32_t overhead_bytes; /* of each packet, beside headers and framing: the
                                headers of an encapsulation */
    bool
        has_switch; /* false: a cable between two ports, which stores nothing */
} FabNetParams;

/*
 * A packet. Its sender makes it by fab_net_packet_new() and fills it in; the
 * receiver frees it. The network knows the sizes and the ports only.
 */
typedef struct FabPacket {
    FabNetPort *to;
    uint32_t tuple; /* addresses and ports of TCP, as one number: receive side
                       scaling and flow steering use it */
    uint32_t flow;  /* for observers */
    uint32_t header_bytes, payload_bytes;
    void *socket; /* at the receiver; found by the tuple */
    uint64_t seq; /* of the first byte of the payload */
    uint64_t ack; /* the next byte that the sender of the packet expects */
    uint64_t window_bytes;
    bool is_ack;        /* has no payload */
    bool is_push;       /* ends a message */
    bool has_gap;       /* its sender has data beyond a gap (SACK) */
    bool is_splittable; /* a NIC finds the end of the headers */
    /* For the network alone. */
    FabNetPort *from;
    SimEvent event;
    struct FabPacket *next;
    bool is_leaving;
    /* For the NIC that receives it. */
    void *queue;
} FabPacket;

typedef struct FabNetCounters {
    uint64_t sent;     /* packets */
    uint64_t received; /* packets */
    uint64_t lost;     /* packets from this port that were lost on the wire */
    uint64_t
        dropped; /* packets to this port that the switch had no space for */
    uint64_t sent_bytes; /* on the wire, with framing */
    SimTime busy_ps;     /* sending */
} FabNetCounters;

/* Called when a packet has left a port, and when one has come in, whose
 * ownership passes to the owner. */
typedef struct FabNetPortOps {
    void (*sent)(void *owner, const FabPacket *packet);
    void (*receive)(void *owner, FabPacket *packet);
} FabNetPortOps;

/* Makes a network. @fabric owns it. */
FabNet *fab_net_new(FabFabric *fabric, const char *name,
                    const FabNetParams *params);
/* NULL if @fabric has no network @name. */
FabNet *fab_net_find(const FabFabric *fabric, const char *name);

/* Adds a port that sends @rate_bytes_s. Its events have the rank @rank. @owner
 * must outlive the fabric's run. The network owns the port. */
FabNetPort *fab_net_join(FabNet *net, uint64_t rate_bytes_s, uint32_t rank,
                         const FabNetPortOps *ops, void *owner);
FabNet *fab_net_port_net(const FabNetPort *port);

FabPacket *fab_net_packet_new(FabNet *net);
void fab_net_packet_free(FabNet *net, FabPacket *packet);
/* Packets that are neither free nor delivered, for tests. */
uint64_t fab_net_packets_alive(const FabNet *net);

/* Sends @packet, behind those that @port has not sent yet. Takes ownership. */
void fab_net_send(FabNetPort *port, FabPacket *packet);

/* True while @port sends. */
bool fab_net_port_is_busy(const FabNetPort *port);
const FabNetCounters *fab_net_port_counters(const FabNetPort *port);

#endif
