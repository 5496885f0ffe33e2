/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_TCP_PRIV_H
#define FAB_FLOW_TCP_PRIV_H

#include "fab_core.h"
#include "fab_flow_priv.h"
#include "fab_flow_tcp.h"
#include "fab_tcp_priv.h"

typedef struct TcpFlow TcpFlow;
typedef struct TcpConnection TcpConnection;

/* Memory of a host that its NIC uses: the address for the CPU and that for the
 * NIC. */
typedef struct TcpArea {
    FabBusAddr cpu, device;
} TcpArea;

/* A packet in a host, from its completion until its data are read. */
typedef struct TcpSkb {
    struct TcpSkb *next;
    struct TcpQueue *queue;
    FabPacket *packet;
    uint32_t pages[FAB_NIC_FRAGMENTS];
    unsigned count;
    bool is_split;
    uint64_t seq; /* of the bytes that are new */
    uint32_t bytes;
} TcpSkb;

typedef struct TcpSkbList {
    TcpSkb *head, *tail;
    uint32_t count;
} TcpSkbList;

/* A receive queue and the core that serves it. */
typedef struct TcpQueue {
    TcpFlow *flow;
    TcpConnection *connection;
    bool is_sender; /* at the sender: for acknowledgements */
    FabNicRxQueue *rx;
    FabNicTxQueue *tx;
    FabCore *core;
    const FabTcpCosts *costs;
    FabRoot *host;
    FabDevmem *pool; /* of pages; borrowed if it is the dmabuf */
    bool is_bound;   /* ... to the dmabuf */
    TcpArea rx_headers, tx_headers;
    uint32_t rx_filled, tx_filled; /* for the addresses of headers */
    uint32_t slot_bytes;           /* of a header */
    TcpSkbList backlog;            /* that the driver has not seen */
    SimEvent notice_event;
    FabCoreJob poll_job;
    uint32_t poll_count; /* packets of the job; 0: it does not run */
    SimTime debt;        /* of the core: small work, added to the next job */
    bool must_ring;      /* transmit descriptors without a doorbell */
} TcpQueue;

/* A token that the user has. */
typedef struct TcpHeld {
    SimTime due;
    uint32_t token;
} TcpHeld;

/* A copy of the device out of RAM. */
typedef struct TcpCopy {
    TcpConnection *connection;
    FabDma dma;
    FabCoreJob job;
    SimEvent event; /* the device has set it up */
    uint64_t seq;
    bool is_busy;
} TcpCopy;

#define TCP_COPIES 2

struct TcpConnection {
    TcpFlow *flow;
    unsigned number;
    uint32_t tuple; /* of data; the next number is that of acknowledgements */

    /* The sender. */
    TcpQueue at_sender;
    FabTcpSender sender;
    TcpArea send_buffer;
    FabCoreJob send_job;
    bool is_sending;
    uint64_t send_seq;
    uint32_t send_bytes;
    SimEvent rto_event;
    unsigned backoff;
    uint64_t submitted;   /* messages */
    GArray *begins;       /* of SimTime: of messages, in turn */
    unsigned begins_over; /* the first ones of these are over */

    /* The receiver. */
    TcpQueue at_receiver;
    FabTcpReceiver receiver;
    TcpSkbList readable;
    uint64_t unread_bytes;
    uint64_t advertised; /* window in the last acknowledgement */
    uint32_t unacked;    /* packets since */
    bool must_ack, ack_waits;
    SimEvent ack_event; /* the delayed acknowledgement */
    FabCoreJob read_job, token_job;
    bool is_reading, is_returning;
    uint32_t reading; /* packets of the call under way */
    GArray *held;     /* of TcpHeld, by due */
    uint32_t held_first;
    FabDevmemTokens returning[FAB_DEVMEM_TOKENS];
    unsigned returning_count;
    SimEvent hold_event;
    TcpArea user_buffer;    /* for the CPU and for the device that copies */
    uint64_t user_bytes;    /* that were copied into it, in all */
    uint64_t ordered_bytes; /* ... that the device was told to copy */
    uint64_t copied_bytes;  /* ... that it has copied */
    TcpCopy copies[TCP_COPIES];
    uint64_t delivered_bytes;
    uint64_t over;    /* messages */
    FabStatus status; /* of the message under way */
};

/* A queue calls these to tell the ends of a connection. */
typedef struct TcpEnds {
    /* The sender: an acknowledgement has come; a batch is over. */
    void (*acked)(TcpConnection *connection, const FabPacket *packet);
    void (*pump)(TcpConnection *connection);
    /* The receiver, which takes @skb; a batch is over. */
    void (*segment)(TcpConnection *connection, TcpSkb *skb);
    void (*batch)(TcpConnection *connection);
} TcpEnds;

struct TcpFlow {
    FabFlow flow;
    FabTcpFlowParams params;
    const TcpEnds *ends;
    uint32_t mss_bytes;
    FabRoot *send_host, *receive_host;
    FabEndpoint *device;
    FabDevmem *dmabuf; /* NULL without devmem */
    TcpConnection *connections;
    TcpSkb *free_skbs;
    GPtrArray *skbs; /* owned */
    uint32_t over;   /* connections */
    SimEvent warm_event, end_event;
    SimTime send_busy_before, receive_busy_before, warm_at;
    FabTcpFlowStats stats; /* those that are counted */
};

static inline SimTime tcp_now(const TcpFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

/* fab_flow_tcp_queue.c: what both ends have in common. */
void tcp_queue_refill(TcpQueue *queue);
void tcp_queue_received(void *owner, const FabNicReceived *received);
/* An interrupt of the queue @owner has reached the CPU. */
void tcp_queue_interrupt(void *owner);
/* The handler of such an interrupt runs. */
void tcp_queue_handler(void *owner);
void tcp_queue_start(TcpQueue *queue);
void tcp_queue_done(TcpQueue *queue);
void tcp_skb_push(TcpSkbList *list, TcpSkb *skb);
TcpSkb *tcp_skb_pop(TcpSkbList *list);
/* Frees the packet of @skb, and its pages unless the user has them. */
void tcp_skb_free(TcpSkb *skb, bool with_pages);
/* Runs @job on the core of @queue, with the debt of the core. */
void tcp_queue_run(TcpQueue *queue, FabCoreJob *job, SimTime time);
/* Posts a transmit descriptor; tcp_queue_ring() tells the NIC. */
void tcp_queue_post(TcpQueue *queue, FabNicSend *send);
void tcp_queue_ring(TcpQueue *queue);

/* fab_flow_tcp_send.c */
void tcp_send_start(TcpConnection *connection);
void tcp_send_acked(TcpConnection *connection, const FabPacket *packet);
void tcp_send_pump(TcpConnection *connection);
void tcp_send_done(TcpConnection *connection);
/* Transmit descriptors of the queue @owner are free. */
void tcp_send_completed(void *owner);

/* fab_flow_tcp_receive.c */
void tcp_receive_start(TcpConnection *connection);
void tcp_receive_segment(TcpConnection *connection, TcpSkb *skb);
/* The driver has handed over a batch of packets. */
void tcp_receive_batch(TcpConnection *connection);
void tcp_receive_done(TcpConnection *connection);
/* Transmit descriptors of the queue @owner are free. */
void tcp_receive_acks_completed(void *owner);

/* fab_flow_tcp_over.c: @bytes from @seq are in the device's memory. */
void tcp_delivered(TcpConnection *connection, uint64_t seq, uint32_t bytes);
/* Ends the flow: the messages under way fail, and a binding ends. */
void tcp_abort(TcpFlow *self);

#endif
