/* SPDX-License-Identifier: MIT */
#ifndef FAB_NIC_H
#define FAB_NIC_H

#include "fab_endpoint.h"
#include "fab_net.h"

/*
 * A NIC: what makes an endpoint send and receive packets. A driver keeps rings
 * of descriptors in the memory of its host and rings doorbells in BAR 0. The
 * NIC fetches descriptors, moves headers and payloads by DMA, writes completion
 * entries, and raises MSI-X interrupts. Each of these is a TLP of the endpoint
 * or of the CPU. What a descriptor says is kept beside the simulated memory.
 *
 * The functions are called by drivers, which are flows. A queue belongs to one
 * of them.
 */
typedef struct FabNic FabNic;
typedef struct FabNicRxQueue FabNicRxQueue;
typedef struct FabNicTxQueue FabNicTxQueue;

#define FAB_NIC_PORTS     8u
#define FAB_NIC_FRAGMENTS 8u /* buffers of a packet */

/* The registers of queue number N begin at FAB_NIC_REGS + N * FAB_NIC_REG_STEP
 * of BAR 0. All have four bytes. */
#define FAB_NIC_REGS     0x1000u
#define FAB_NIC_REG_STEP 16u
#define FAB_NIC_RX_TAIL  0u /* write: descriptors that were posted */
#define FAB_NIC_TX_TAIL  4u /* the same */
#define FAB_NIC_ARM                                                            \
    8u                   /* write: packets that were seen; the next one may    \
                            interrupt */
#define FAB_NIC_HEAD 12u /* read: for drivers that ask the NIC */

typedef struct FabNicParams {
    unsigned ports;
    uint64_t rate_bytes_s; /* of each port */
    uint32_t queues;       /* pairs of a receive and a transmit queue */
    uint32_t descriptor_bytes, completion_bytes; /* a power of two, 8 to 64 */
    /* Of transmit queues; 0: as above. A completion has 4 bytes at least. */
    uint32_t tx_descriptor_bytes, tx_completion_bytes;
    uint32_t rx_prefetch, tx_prefetch; /* descriptors that a read fetches */
    bool on_demand;     /* fetches receive descriptors when a packet needs them;
                           false: as soon as it has space for them */
    uint32_t cache;     /* descriptors of a queue that it holds or fetches */
    uint32_t tx_batch;  /* transmit descriptors for a completion entry */
    uint64_t rx_bytes;  /* space for packets that come in, for each port */
    uint64_t tx_bytes;  /* of packets that it reads at the same time */
    SimTime latency;    /* between the wire and DMA, each way */
    SimTime moderation; /* longest wait of a completion for its interrupt */
    uint32_t moderation_packets; /* ... or until there are so many */
    uint32_t segment_bytes;      /* largest payload of a transmit descriptor */
    bool header_split;
    bool flush; /* reads back the payload of a packet before its entries */
} FabNicParams;

typedef struct FabNicCounters {
    uint64_t rx_packets, tx_packets;
    uint64_t rx_header_bytes, rx_payload_bytes; /* written by DMA */
    uint64_t rx_linear_bytes;  /* of packets that were not split, headers
                                  included */
    uint64_t tx_payload_bytes; /* read by DMA */
    uint64_t rx_descriptors, tx_descriptors; /* fetched */
    uint64_t fetches;                        /* reads of descriptors */
    uint64_t rx_completions, tx_completions; /* entries written */
    uint64_t flushes;                        /* reads back of payload */
    uint64_t interrupts;
    uint64_t doorbells;     /* writes of registers that came in */
    uint64_t no_space;      /* packets dropped: no space on the chip */
    uint64_t no_descriptor; /* packets dropped: the ring was empty */
    uint64_t no_queue;      /* packets dropped: no queue takes them */
} FabNicCounters;

/* Makes @device, which is realized, a NIC. Its fabric owns the NIC. The
 * parameters must be right, and BAR 0 must have space for the registers. */
FabNic *fab_nic_new(FabEndpoint *device, const FabNicParams *params);
/* NULL if @device is no NIC. */
FabNic *fab_nic_of(const FabEndpoint *device);
FabEndpoint *fab_nic_device(const FabNic *nic);
const FabNicParams *fab_nic_params(const FabNic *nic);
const FabNicCounters *fab_nic_counters(const FabNic *nic);

/* Connects port number @port, which is not connected, to @net. */
void fab_nic_connect(FabNic *nic, unsigned port, FabNet *net);
/* NULL if the port is not connected. */
FabNetPort *fab_nic_port(const FabNic *nic, unsigned port);

/* ---- Queues ---------------------------------------------------------- */

/* The needs of queues of both kinds. Addresses are as the NIC sees them, but
 * for
 * @cpu_completions, which is the address in the driver's host. */
typedef struct FabNicRing {
    FabRoot *driver;
    unsigned port;
    uint32_t entries; /* of ring and completion ring: a power of two */
    FabBusAddr ring, completions, cpu_completions;
    uint32_t flow; /* in TLPs that belong to no packet */
} FabNicRing;

/* A receive buffer. A packet that is split fills payloads of as many buffers as
 * it needs, and the header of the first. Any other packet goes to the header
 * of one buffer as a whole. */
typedef struct FabNicBuffer {
    FabBusAddr header, payload;
    uint32_t payload_bytes;
    uint32_t id; /* for the driver */
} FabNicBuffer;

/* A packet whose completion entries are in memory. */
typedef struct FabNicReceived {
    FabPacket *packet; /* owned by the driver now */
    FabNicBuffer buffers[FAB_NIC_FRAGMENTS];
    unsigned count;
    bool is_split;
} FabNicReceived;

typedef struct FabNicRxParams {
    FabNicRing ring;
    bool split;     /* false: never split packets */
    bool rss;       /* takes packets by receive side scaling */
    double unsplit; /* share of packets whose headers the NIC does not know */
    /* Interrupts. NULL: the driver polls. Without @cpu_msi_addr the driver
     * finds out by itself that one has come (fab_nic_rx_interrupted()). */
    void (*interrupt)(void *owner);
    FabBusAddr msi_addr, cpu_msi_addr;
    /* The completion entries of a packet are visible. */
    void (*received)(void *owner, const FabNicReceived *received);
    void *owner;
} FabNicRxParams;

/* Makes a queue; NULL if all are in use. */
FabNicRxQueue *fab_nic_rx_new(FabNic *nic, const FabNicRxParams *params);
/* The number of descriptors that may be posted. */
uint32_t fab_nic_rx_space(const FabNicRxQueue *queue);
/* Posts a descriptor. The NIC learns of it by fab_nic_rx_bell(). */
void fab_nic_rx_post(FabNicRxQueue *queue, const FabNicBuffer *buffer);
void fab_nic_rx_bell(FabNicRxQueue *queue);
/* Allows the next interrupt, by a write to a register. A new queue is armed. */
void fab_nic_rx_arm(FabNicRxQueue *queue);
/* The number of the queue among the receive queues of its NIC. */
unsigned fab_nic_rx_number(const FabNicRxQueue *queue);
/* Interrupts are writes of @data to @addr, an address of the NIC. To be called
 * before the first one. */
void fab_nic_rx_set_msi(FabNicRxQueue *queue, FabBusAddr addr, uint32_t data);
/* The interrupt of receive queue @number has reached the driver. */
void fab_nic_rx_interrupted(const FabNic *nic, unsigned number);
/* Address of the queue's registers for the driver's CPU. */
FabBusAddr fab_nic_rx_regs(const FabNicRxQueue *queue);

/* Packets with @tuple go to @queue (flow steering). NULL: to the queues of
 * receive side scaling again. */
void fab_nic_steer(FabNic *nic, uint32_t tuple, FabNicRxQueue *queue);
/* The queue that takes packets with @tuple at @port; NULL if there is none. */
FabNicRxQueue *fab_nic_steered(const FabNic *nic, unsigned port,
                               uint32_t tuple);

/* A transmit descriptor. The NIC reads the header once, cuts the payload into
 * packets of at most @mss_bytes, and sends them. */
typedef struct FabNicSend {
    FabBusAddr header, payload;
    uint32_t payload_bytes, mss_bytes;
    FabPacket packet; /* what all packets have in common; `seq` is that of the
                         first, `is_push` that of the last */
} FabNicSend;

typedef struct FabNicTxParams {
    FabNicRing ring;
    /* Nullable: the completion entry of descriptors is visible. */
    void (*completed)(void *owner);
    void *owner;
} FabNicTxParams;

/* Makes a queue; NULL if all are in use. */
FabNicTxQueue *fab_nic_tx_new(FabNic *nic, const FabNicTxParams *params);
uint32_t fab_nic_tx_space(const FabNicTxQueue *queue);
void fab_nic_tx_post(FabNicTxQueue *queue, const FabNicSend *send);
void fab_nic_tx_bell(FabNicTxQueue *queue);

#endif
