/* SPDX-License-Identifier: MIT */
#ifndef FAB_PORT_PRIV_H
#define FAB_PORT_PRIV_H

#include "fab_component_priv.h"
#include "sim_engine.h"

/*
 * A port is one end of a link: an egress that arbitrates, holds credits and
 * puts TLPs on the wire, and a receive buffer that hands credits back. A link
 * is nothing but two connected ports.
 *
 * Events are what a simulation costs. A TLP that meets no other costs one event
 * a hop, its arrival. A link is a FIFO, so it has at most one arrival pending,
 * however many TLPs are in flight. Credits travel back as records that the
 * sender looks at when it wants to send; only a sender that lacks credits
 * gets an event for them.
 */

/* TLPs in the order in which they came. */
typedef struct FabFifo {
    FabTlp *head, *tail;
    uint32_t count;
} FabFifo;

/* Called when @tlp of a source has begun to leave, so that the owner may queue
 * another. @tlp is on the wire: the function must not change it. */
typedef void (*FabDrainedFn)(void *owner, FabPort *port, const FabTlp *tlp);

/*
 * A source of TLPs at an egress, with a queue for each class. Ordering rules
 * hold between the TLPs of one source; the egress arbitrates between sources. A
 * switch has one for each ingress port. A source needs no limit of its own,
 * because its TLPs keep their places in the receive buffers they came through.
 */
typedef struct FabSource {
    FabFifo queue[FAB_CLASSES];
    uint32_t relaxed;     /* TLPs with RO or IDO in it */
    uint32_t weight;      /* share under weighted arbitration */
    uint64_t served;      /* bytes sent by weight, under weighted arbitration */
    FabDrainedFn drained; /* nullable */
    void *owner;
} FabSource;

#define FAB_SOURCES_MAX 64

/* Credits on their way back to the sender. */
typedef struct FabCreditReturn {
    SimTime time;
    uint32_t cls;
    uint32_t header;
    uint32_t data;
} FabCreditReturn;

#define FAB_UNLIMITED_HEADER(cls) (1u << (cls))
#define FAB_UNLIMITED_DATA(cls)   (8u << (cls))

struct FabPort {
    /* Hot when sending. */
    FabComponent *owner;
    FabPort *peer;
    SimTime busy_until; /* the wire is taken until then */
    uint64_t active;    /* sources that hold something */
    FabSource *sources;
    uint64_t order;       /* numbers TLPs as they are queued */
    uint64_t byte_time;   /* of the whole link, in 1/FAB_PS_FRACTION ps */
    uint64_t time_carry;  /* what the last TLP left over, same unit */
    uint64_t dllp_owed;   /* DLLP time not yet on the wire, same unit */
    SimTime skp_next;     /* when the next SKP ordered set is due */
    SimTime skp_interval; /* 0: none */
    SimTime skp_time;
    uint32_t source_count;
    uint32_t round_robin; /* source to look at first */
    uint64_t shared;      /* active sources at the last weighted arbitration */
    uint64_t served;      /* FabSource.served of the one that it chose */
    uint32_t unlimited; /* bits of FAB_UNLIMITED_: the peer counts no credits */
    uint32_t header[FAB_CLASSES]; /* credits granted and not used */
    uint32_t data[FAB_CLASSES];
    FabCreditReturn *returns; /* ring, in order of time */
    uint32_t returns_mask, returns_head, returns_tail;
    bool waiting;          /* for credits, */
    SimTime waiting_since; /* since this time */
    /* Results of the last arbitration that found no TLP to send. */
    SimTime wake; /* the next time at which one may leave */
    bool starved; /* one lacked credits */
    SimEvent send_event;
    FabFifo flight; /* on the wire to the peer */
    SimEvent arrive_event;

    /* Receive side. */
    SimTime propagation; /* of the link */
    SimTime latency;     /* of the owner, until it acts on what came in: */
    bool cuts_through;   /* from the first byte on; otherwise from the last */
    uint32_t freed_header[FAB_CLASSES]; /* the sender does not know yet */
    uint32_t freed_data[FAB_CLASSES];
    uint32_t freed_bytes[FAB_CLASSES];
    SimTime freed_at[FAB_CLASSES]; /* time of the last of these */
    uint32_t
        granted_header[FAB_CLASSES]; /* the sender knows, or will soon, and */
    uint32_t granted_data[FAB_CLASSES]; /* has not used */
    uint32_t dllp_bytes; /* TLP bytes between DLLPs under FAB_DLLP_SPEC */
    uint32_t ack_bytes;  /* received since the last Ack */
    uint32_t mps_bytes;  /* of the hierarchy */

    /* Set up. */
    FabPortParams params;
    FabSpeed speed;
    uint32_t width;
    unsigned index; /* in its owner */
    uint32_t rank;
    char *name;
    bool has_bridge;
    FabBridge bridge;
    FabPortCounters counters;
};

#define FAB_PORT_RANKS 2

/* Framing, sequence number and LCRC of a TLP (PCIe 5.0 s3.6, s4.2). */
#define FAB_TLP_FRAME_BYTES 8

/* Every byte time of generations 1 to 5 at every width is a whole number of
 * these (253.90625 ps / 32 lanes; x12 needs the factor 3). */
#define FAB_PS_FRACTION (3 * 1024)

FabPort *fab_port_new(FabComponent *owner, const char *name, unsigned index,
                      const FabPortParams *params);
void fab_port_free(FabPort *port);

/* Connects two free ports at what both can do, or less if asked for; 0 asks
 * for the best. Fails if one is taken or cannot do what is asked. */
bool fab_port_connect(FabPort *a, FabPort *b, FabSpeed speed, uint32_t width,
                      SimTime propagation, GError **error);

/* After enumeration: gives the ports their MPS, credits and events. */
void fab_port_realize(FabPort *port, uint32_t mps_bytes);

/* Sets the number of sources of the egress; before anything is queued. */
void fab_port_set_sources(FabPort *port, unsigned count);

/* Says how long the owner takes to act on a TLP that comes in at @port:
 * @latency from its first byte on if it cuts through, otherwise from its last.
 * The owner's realize calls it; without it, the time is 0 from the last. */
void fab_port_set_latency(FabPort *port, FabForwarding forwarding,
                          SimTime latency);

/* Gives @source the share of the link @from under weighted arbitration. */
void fab_port_set_weight(FabPort *port, unsigned source, const FabPort *from);

/* Has @drained called with @owner whenever a TLP of @source leaves. */
void fab_port_set_drained(FabPort *port, unsigned source, FabDrainedFn drained,
                          void *owner);

/* Queues @tlp, whose ownership it takes, behind the others of @source, and
 * sends if it can. tlp->ready_at and tlp->tail_at are respected. */
void fab_port_send(FabPort *port, unsigned source, FabTlp *tlp);

/* TLPs of a class waiting in a source. */
static inline uint32_t fab_port_queued(const FabPort *port, unsigned source,
                                       FabClass cls)
{
    return port->sources[source].queue[cls].count;
}

/* The place of @tlp in the receive buffer of @ingress is free from @time on,
 * now or later. */
void fab_port_release(FabPort *ingress, const FabTlp *tlp, SimTime time);

/* For a TLP that ends here: frees its place in the receive buffer it came
 * through (if any) at @time, and gives the TLP back to the pool. */
void fab_port_consume(FabTlp *tlp, SimTime time);

/* fab_arbiter.c: takes the TLP that may leave now, and whose turn it is, out of
 * its source. Returns NULL if none may: then port->wake says when to look
 * again, and port->starved whether a TLP lacks credits. */
FabTlp *fab_port_take(FabPort *port, SimTime now, unsigned *ret_source);

static inline bool fab_port_has_credits(const FabPort *port, const FabTlp *tlp)
{
    FabClass cls = tlp->cls;

    return port->header[cls] >= 1 &&
           port->data[cls] >= fab_tlp_data_credits(tlp);
}

/* FIFO helpers. */
static inline void fab_fifo_push(FabFifo *fifo, FabTlp *tlp)
{
    tlp->next = NULL;
    if (fifo->tail) {
        fifo->tail->next = tlp;
    } else {
        fifo->head = tlp;
    }
    fifo->tail = tlp;
    fifo->count++;
}

static inline FabTlp *fab_fifo_pop(FabFifo *fifo)
{
    FabTlp *tlp = fifo->head;

    fifo->head = tlp->next;
    if (!fifo->head) {
        fifo->tail = NULL;
    }
    fifo->count--;
    return tlp;
}

#endif
