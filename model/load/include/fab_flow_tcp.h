/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_TCP_H
#define FAB_FLOW_TCP_H

#include "fab_devmem.h"
#include "fab_flow.h"
#include "fab_nic.h"

/* Times of a core for the work of the kernel's TCP and its callers. */
typedef struct FabTcpCosts {
    SimTime packet;        /* of a packet with data that came in */
    SimTime ack;           /* of an acknowledgement that came in or goes out */
    SimTime send;          /* of a transmit descriptor, whatever its size */
    SimTime call;          /* of a system call */
    uint64_t copy_bytes_s; /* rate of copies from the kernel to the user */
} FabTcpCosts;

/*
 * A NIC is driven by the host that has borrowed it, or else by its own; this is
 * its host here. An application on the host of the NIC @from sends messages
 * over @connections TCP connections to one on the host of the NIC @to, which
 * has the data go to @device. The connections exist from the start, and have
 * their own queues and cores at either end.
 *
 * The sender's NIC reads headers and payload from the sender's RAM and cuts
 * them into packets; nothing is copied there (MSG_ZEROCOPY). At the receiver,
 * without @devmem, packets go to pages in RAM, the CPU copies the payload into
 * the user's buffer, and the device copies it from there. With @devmem, the
 * headers go to RAM, and payloads straight into pages of a dmabuf in the memory
 * of @device, which the connections' receive queues share. Payloads of packets
 * that the NIC cannot split, and of connections that are not steered to the
 * bound queues, go the way through RAM.
 *
 * A message is over when its last byte is in the device's memory, and the
 * application knows. Its latency runs from the time at which the sender's
 * application handed it to its socket, which takes a window of data. After 15
 * time-outs in sequence the flow ends, and the messages under way fail.
 */
typedef struct FabTcpFlowParams {
    FabNic *from, *to;
    unsigned from_port, to_port;
    FabTarget device;
    bool devmem;
    uint64_t size_bytes;  /* of a message */
    uint64_t count;       /* messages of each connection */
    uint32_t connections; /* 1 to 64 */
    uint32_t mtu_bytes;
    uint32_t header_bytes; /* of IP and TCP */
    uint64_t window_bytes; /* receive and send buffer of a connection */
    uint32_t entries;      /* of each ring: a power of two */
    uint32_t refill; /* free entries at which a driver posts descriptors */
    bool polling;    /* false: interrupts */
    bool steered;
    uint32_t ack_every; /* packets */
    SimTime rto;
    uint64_t chunk_bytes;      /* most bytes of one copy by the device */
    SimTime setup;             /* of the device for such a copy */
    uint32_t page_bytes;       /* of receive buffers, in RAM or in the device */
    FabTcpCosts send, receive; /* of the two hosts */
    /* Only with @devmem. */
    uint64_t buffer_bytes; /* of the dmabuf */
    SimTime hold;          /* for which the user keeps a fragment */
    uint32_t tokens;       /* returned by one call, at most */
    double unsplit;        /* share of packets that the NIC cannot split */
    SimTime owner_ends;    /* the receiver's process dies; SIM_TIME_NONE: no */
    /* Nullable, for tests: @bytes from @seq of connection @number have reached
     * the device's memory. */
    void (*delivered)(void *data, unsigned number, uint64_t seq,
                      uint32_t bytes);
    void *data;
    SimTime start;
} FabTcpFlowParams;

/* See fab_flow.h for what the makers of flows have in common. */
FabFlow *fab_tcp_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabTcpFlowParams *params, GError **error);

/* Sums over all connections. */
typedef struct FabTcpFlowStats {
    SimTime send_busy, receive_busy; /* of the cores, from the warm-up on */
    SimTime time;                    /* ... in this time */
    uint64_t retransmits, timeouts;  /* segments sent again; time-outs */
    uint64_t accepted_bytes;         /* by TCP, each byte once */
    uint64_t duplicate_bytes;        /* that came in again */
    uint64_t direct_bytes; /* payload that the user got in the dmabuf */
    uint64_t linear_bytes; /* payload of packets that were not split */
    uint64_t host_bytes;   /* payload that came by way of RAM, all of it */
    uint64_t acks;         /* sent */
    uint64_t calls;        /* system calls of the receiver */
    FabDevmemCounters devmem;
    uint32_t held; /* fragments with the user now */
} FabTcpFlowStats;

/* Returns false if @flow is of another kind. */
bool fab_tcp_flow_stats(const FabFlow *flow, FabTcpFlowStats *ret_stats);

#endif
