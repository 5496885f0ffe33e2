/* SPDX-License-Identifier: MIT */
#ifndef FAB_NIC_PRIV_H
#define FAB_NIC_PRIV_H

#include "fab_endpoint_priv.h"
#include "fab_nic.h"
#include "sim_random.h"

/* Reads of descriptors that a queue has under way at most. */
#define NIC_FETCHES 64u

/* A read of descriptors. */
typedef struct NicFetch {
    struct NicFetch *next_free;
    void *queue;
    uint32_t count;
    FabDma dma;
} NicFetch;

/* A packet on its way from the chip to memory. */
typedef struct RxWork {
    struct RxWork *next_free;
    FabNicRxQueue *queue;
    FabNicReceived received;
    unsigned orders; /* that are not done */
    FabDma header, payload[FAB_NIC_FRAGMENTS], entry[FAB_NIC_FRAGMENTS];
    /* With FabNicParams.flush: */
    struct RxWork *next; /* in the order of the completion entries */
    unsigned payloads;   /* that are written */
    unsigned writes;     /* ... and are not on their way yet */
    unsigned reads;      /* that are not answered */
    bool is_flushed;
    FabDma flush[FAB_NIC_FRAGMENTS];
} RxWork;

/* A packet on its way from memory to the wire. */
typedef struct TxWork {
    struct TxWork *next; /* in the order of the wire, or free */
    FabNicTxQueue *queue;
    FabPacket *packet;
    bool is_last; /* of its descriptor */
    unsigned orders;
    FabDma header, payload;
} TxWork;

typedef struct NicPort {
    FabNic *nic;
    unsigned number;
    FabNetPort *net;           /* NULL: not connected */
    uint64_t rx_used, tx_used; /* bytes on the chip */
    GPtrArray *rss;            /* of FabNicRxQueue, in order of number */
    GPtrArray *tx;             /* of FabNicTxQueue */
    unsigned tx_turn;
    TxWork *tx_head, *tx_tail; /* in the order of the wire */
} NicPort;

struct FabNic {
    FabEndpoint *device;
    SimEngine *engine;
    FabNicParams params;
    FabNicCounters counters;
    NicPort ports[FAB_NIC_PORTS];
    GPtrArray *rx, *tx;             /* owned */
    GHashTable *steering;           /* tuple to FabNicRxQueue */
    GPtrArray *rx_works, *tx_works; /* owned */
    SimRandom random;               /* for packets that are not split */
    RxWork *free_rx;
    TxWork *free_tx;
};

struct FabNicRxQueue {
    FabNic *nic;
    FabNicRxParams params;
    unsigned number;
    FabNicBuffer *ring;
    /* Packets whose entries are on their way to memory. The driver posts
     * buffers as soon as others are taken, so these may be more than there are
     * entries. */
    GPtrArray *on_way;    /* of FabNicReceived, by number; owned */
    GArray *free_numbers; /* of guint: in `on_way`, without a packet */
    /* Counts of descriptors, modulo 2^32: filled by the driver, posted by the
     * doorbell, fetched or being fetched, there, taken by a packet. */
    uint32_t filled, posted, ordered, there, taken;
    uint32_t entries;                /* completion entries written */
    FabPacket *head, *tail;          /* packets that wait for descriptors */
    RxWork *flush_head, *flush_tail; /* packets that wait for their flush */
    NicFetch fetches[NIC_FETCHES];
    NicFetch *free_fetch;
    FabDma msi;
    bool msi_busy, is_armed;
    uint32_t finished; /* packets with all entries on their way to memory */
    uint32_t seen;     /* packets whose entries the driver has seen */
    uint32_t known;    /* ... as the NIC knows from the last arming, or packets
                          that an interrupt has announced */
    SimEvent moderation_event;
    FabBusAddr regs, cpu_regs;
    unsigned reg_watch, entry_watch, msi_watch;
};

struct FabNicTxQueue {
    FabNic *nic;
    FabNicTxParams params;
    unsigned number;
    NicPort *port;
    FabNicSend *ring;
    uint32_t filled, posted, ordered, there; /* as above */
    uint32_t begun;    /* descriptors whose packets are all begun */
    uint32_t offset;   /* bytes of the next one that are begun */
    uint32_t finished; /* descriptors that were read as a whole */
    uint32_t reported; /* ... and have a completion entry */
    uint32_t freed;    /* ... which the driver has seen */
    uint32_t entries;
    NicFetch fetches[NIC_FETCHES];
    NicFetch *free_fetch;
    FabDma entry;
    bool entry_busy;
    FabBusAddr regs, cpu_regs;
    unsigned reg_watch, entry_watch;
};

/* Returns true if a doorbell with @tail can be the driver's, which has filled
 * descriptors up to @filled and rung for those up to @posted. Other writes
 * reach the registers, too: those of a device whose data lie in this BAR. */
static inline bool nic_tail_is_driver(uint32_t tail, uint32_t posted,
                                      uint32_t filled)
{
    return tail - posted <= filled - posted;
}

/* The NIC's own addresses of the registers of queue @number, and those for the
 * CPU of @driver; false if they cannot be reached. */
bool fab_nic_regs(FabNic *nic, FabRoot *driver, unsigned number,
                  FabBusAddr *ret_regs, FabBusAddr *ret_cpu_regs);

/* Makes the reads of a queue. @done is called with the read as the owner. */
void fab_nic_fetches_init(NicFetch *fetches, NicFetch **ret_free, void *queue,
                          uint32_t flow, FabDmaFn done);

/* Orders a read of @count descriptors of @bytes from number @first of a ring.
 */
void fab_nic_fetch(FabNic *nic, NicFetch **free, FabBusAddr ring,
                   uint32_t bytes, uint32_t first, uint32_t count);

/* fab_nic_rx.c: a packet has come in at @port. Takes ownership. */
void fab_nic_rx_take(NicPort *port, FabPacket *packet);
void fab_nic_rx_free(void *queue);

/* fab_nic_tx.c: a packet has left the port. */
void fab_nic_tx_sent(NicPort *port, const FabPacket *packet);
void fab_nic_tx_free(void *queue);

#endif
