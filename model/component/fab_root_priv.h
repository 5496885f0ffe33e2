/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROOT_PRIV_H
#define FAB_ROOT_PRIV_H

#include "fab_completer_priv.h"
#include "fab_account_priv.h"
#include "fab_iommu_priv.h"
#include "fab_memory_priv.h"
#include "fab_observe_priv.h"
#include "fab_ranges_priv.h"
#include "fab_root.h"
#include "fab_root_ats_priv.h"

/*
 * The root translates the address of a request from a root port, and then
 * dispatches the request: to memory, to the path between root ports, or to the
 * interrupt controller. It dispatches posted requests in the order of their
 * arrival. It dispatches any other TLP after the posted requests that came
 * earlier at the same port (PCIe 5.0 s2.4.1).
 */

/* The TLPs that wait at one root port. */
typedef struct RootIngress {
    uint64_t posted_received;   /* number of posted requests received */
    uint64_t posted_dispatched; /* all posted requests with a lower number are
                                   dispatched */
    uint32_t ordered_bytes;     /* of ordered writes under way to memory */
    uint32_t passed; /* posted requests that have passed the one with the number
                        posted_dispatched */
    GArray *early;   /* of uint64_t, ascending: the numbers of all that have
                        passed such a request, and are greater than
                        posted_dispatched; NULL: none ever has */
    SimTime visible_at; /* when all writes to memory so far are visible */
    FabFifo posted; /* translated posted requests behind an untranslated one; by
                       posted_before */
    FabFifo others; /* translated reads, and completions, behind a posted
                       request */
    FabFifo reads;  /* reads dispatched to memory, which takes no more now */
} RootIngress;

/* The path from one root port to another. */
typedef struct RootPath {
    FabFifo posted;
    struct SplitRead *reads, *reads_tail; /* not all of their pieces are sent */
    FabFifo completions; /* completions behind a posted request */
    uint64_t order;      /* path_order of the next TLP dispatched to the path */
    uint32_t posted_sent; /* bytes of the first of `posted` already sent on */
    bool no_tag;          /* `reads` wait for a free tag */
} RootPath;

/* The reads of one requester through one root port. */
typedef struct RootRequester {
    FabBdf id;
    uint32_t reads;   /* reads that are not complete; 0: the record is free */
    uint32_t waiting; /* reads of which a piece is not sent */
    uint32_t pieces;  /* tags held */
} RootRequester;

/* The tags of forwarded reads that leave through one root port. */
typedef struct RootEgress {
    GArray *requesters;   /* of RootRequester */
    uint32_t shared_used; /* of the params.forwarded_reads for all requesters */
    uint32_t starving;    /* requesters that wait and hold no tag */
    uint32_t waiting;     /* requesters that wait */
    unsigned turn;        /* root port whose path gets the next tag */
    uint64_t used;        /* bit n is 0: the path from root port n is empty */
} RootEgress;

/* A read (or AtomicOp) from one root port to another, until its last
 * completion. */
typedef struct SplitRead {
    struct SplitRead *next; /* in its path, or in the list of free ones */
    FabTlp *tlp;            /* NULL: all pieces are sent */
    uint32_t sent_bytes;
    unsigned ingress, egress;
    unsigned requester; /* index in RootEgress.requesters */
    FabBdf requester_id;
    uint16_t tag;
    uint8_t attr;
    bool ecrc;
    uint32_t flow;
    uint32_t transaction;
    FabBusAddr addr;
    uint32_t request_bytes;
    uint32_t back_bytes;       /* bytes of the completions of pieces */
    uint32_t returned_bytes;   /* bytes returned to the requester so far */
    uint32_t pieces;           /* pieces sent */
    uint32_t pieces_back;      /* pieces completed */
    uint32_t pieces_returned;  /* pieces whose return to the requester began */
    uint32_t piece_left_bytes; /* bytes of the last of these still to return */
    bool metered;              /* as its TLP */
    bool failed; /* the requester has got a completion with an error */
    struct {
        uint16_t bytes;
        uint8_t status;
        bool back : 1;
        bool poisoned : 1;
    } piece[64]; /* 4096 bytes in 64 */
} SplitRead;

/* A tag of the root, used by a piece of a read. */
typedef struct SplitTag {
    SplitRead *read;  /* NULL: free */
    SimTime deadline; /* of the completion time-out */
    uint32_t transaction;
    uint16_t piece;
    uint16_t next_free;
    bool reserved; /* the one that its requester always gets */
} SplitTag;

/* A write by the CPU that has not left for its port. */
typedef struct CpuWrite {
    FabSentFn fn; /* nullable */
    void *owner;
    FabBusAddr addr;
    uint64_t data;
    SimTime given_at;
    SimTime time; /* of the CPU */
    uint32_t size_bytes;
    uint32_t flow;
} CpuWrite;

/* A read by the CPU. */
typedef struct CpuRead {
    FabReadFn fn;      /* NULL: word_fn */
    FabWordFn word_fn; /* nullable */
    uint64_t data;
    void *owner;
    FabBusAddr addr;
    uint32_t size_bytes;
    uint32_t flow;
    SimTime due;      /* when it is over; SIM_TIME_NONE: not known yet */
    SimTime deadline; /* of the completion time-out, while due is not known */
    uint32_t transaction;
    FabStatus status;
    uint16_t next_free;
    bool in_use;
} CpuRead;

/* A posted write of root port @from that is under way until @time. */
typedef struct RootAck {
    SimTime time;
    uint32_t bytes;
    unsigned from;
} RootAck;

typedef void (*RootAckFn)(FabRoot *root, unsigned from, uint32_t bytes);

/* fab_root_acks.c */
typedef struct RootAcks {
    FabRoot *root;
    RootAckFn fn; /* @bytes of @from are acknowledged */
    RootAck *ring;
    uint32_t mask, head, tail;
    SimEvent event;
} RootAcks;

void fab_root_acks_init(RootAcks *acks, FabRoot *root, RootAckFn fn);
/* Nothing happens to @acks that are not initialized. */
void fab_root_acks_free(RootAcks *acks);
void fab_root_acks_add(RootAcks *acks, SimTime time, unsigned from,
                       uint32_t bytes);

typedef struct RootNodes RootNodes;
typedef void (*FabRootTurnFn)(FabRoot *root, unsigned from);
/* Takes the completion @tlp of a piece, which comes in at @ingress. */
typedef void (*FabRootPieceFn)(FabRoot *root, FabPort *ingress, FabTlp *tlp);

struct FabRoot {
    FabComponent component;
    RootIngress *ingress;
    RootPath *paths;      /* see fab_root_path() */
    FabIommu *iommu;      /* NULL: off */
    RootNodes *nodes;     /* NULL: all root ports are in one node */
    uint32_t *path_queue; /* by port: limit of TLPs of one class queued there
                             from another port */
    unsigned ports;
    FabCompleter completer; /* the host's memory */
    RootAcks ordered;       /* of RootIngress.ordered_bytes */

    FabRootParams params;
    struct RootAts *ats;               /* NULL: the IOMMU is off */
    unsigned node_of[FAB_SOURCES_MAX]; /* by root port */
    FabNodeWay *node_ways;  /* of FAB_NODES times FAB_NODES; NULL: all are as
                               params.nodes has it */
    uint32_t cores;         /* that write at a time */
    uint32_t cores_storing; /* those of them in the time of a store */
    uint32_t cpu_queue; /* limit of CPU writes queued at a port or on the way */

    unsigned read_turn;     /* root port whose waiting read of memory is next */
    uint32_t reads_waiting; /* in RootIngress.reads of all ports */

    /* Between root ports. */
    RootEgress *egress; /* by port */
    SplitTag *tags;
    uint32_t tag_count;
    uint16_t free_tag;
    SplitRead *free_reads;
    GPtrArray *read_slabs;
    SimEvent split_timeout_event;
    SimTime piece_free[FAB_NODES]; /* when a node forwards the next piece of a
                                      write */
    FabRootPieceFn piece_over;     /* for a piece that is given up */
    uint32_t tag_waits;            /* paths whose reads lack a tag */
    SimTime tag_wait_since;

    /* CPU. */
    CpuWrite *cpu_writes; /* ring */
    uint32_t cpu_writes_mask, cpu_writes_head, cpu_writes_tail;
    FabPort *cpu_stall; /* the first write waits until this port takes it; NULL:
                           it does not wait */
    SimTime cpu_sent_at; /* when the last write left */
    SimEvent write_event;
    FabFifo cpu_transit; /* TLPs on the way to root ports, by due_at */
    SimEvent transit_event;
    CpuRead *cpu_reads;
    uint16_t free_cpu_read;
    GArray *cpu_read_wait;  /* of CpuRead: reads without a slot */
    unsigned cpu_read_next; /* index of the first that waits */
    SimEvent cpu_read_event;
    SimEvent cpu_timeout_event;

    /* Device addresses. */
    FabRanges *iova;
    GArray *iova_maps;
    uint8_t *domain_of;    /* by Requester ID; NULL: all are in domain 0 */
    uint64_t mapped_bytes; /* in the IOMMU */
    FabRootCounters counters;
};

#define NO_TAG UINT16_MAX

/* The root queues this many TLPs of one source and class at an egress, plus the
 * number that fits into the transit time. The others wait in the root. */
#define ROOT_QUEUE_TLPS 8

/* The source at a root port for TLPs of the host itself. */
static inline unsigned fab_root_host_source(const FabRoot *root)
{
    return root->ports;
}

/* The path from root port @from to root port @to. Those to one port lie one
 * behind the other, because a TLP that leaves it looks at all of them. */
static inline RootPath *fab_root_path(const FabRoot *root, unsigned from,
                                      unsigned to)
{
    return &root->paths[to * root->ports + from];
}

/* The root port after @index, in turn. */
static inline unsigned fab_root_next_port(const FabRoot *root, unsigned index)
{
    return index + 1 == root->ports ? 0 : index + 1;
}

/* The root port whose bridge ranges hold @addr; NULL if there is none. */
FabPort *fab_root_route(FabRoot *root, FabBusAddr addr);

/* fab_root_iova.c */
void fab_root_iova_init(FabRoot *root);
void fab_root_iova_free(FabRoot *root);

/* The IOMMU adds this to device addresses of @domain. */
static inline FabBusAddr fab_root_domain_base(unsigned domain)
{
    return (FabBusAddr)domain << FAB_DEVICE_ADDR_BITS;
}

/* fab_root_nodes.c. To be called if root->nodes is not NULL, but for _init and
 * _free. */
/* @go_on is called when TLPs at root port @from may have their turn. */
void fab_root_nodes_init(FabRoot *root, FabRootTurnFn go_on);
void fab_root_nodes_free(FabRoot *root);
/* True if the posted request @tlp, whose turn it is, must wait for others that
 * are under way to another node. */
bool fab_root_nodes_hold(FabRoot *root, const FabTlp *tlp);
/* A posted request enters, and leaves, the path between two root ports. */
void fab_root_nodes_begin(FabRoot *root, unsigned from, unsigned to,
                          FabTlp *tlp);
void fab_root_nodes_left(FabRoot *root, unsigned from, unsigned to,
                         const FabTlp *tlp);
/* The time at which @bytes that set out at @time have crossed to the node of
 * root port @to; @time if it is the same node. */
SimTime fab_root_nodes_arrive(FabRoot *root, unsigned from, unsigned to,
                              SimTime time, uint32_t bytes);
/* Take the ways between the memory at @addr and the node of a root port for
 * @bytes. Return the time at which they are over. */
SimTime fab_root_nodes_to_memory(FabRoot *root, unsigned from, FabBusAddr addr,
                                 uint32_t bytes);
SimTime fab_root_nodes_from_memory(FabRoot *root, unsigned to, FabBusAddr addr,
                                   uint32_t bytes);
/* Tells @waits of the posted requests that are held back at root port @from. */
void fab_root_nodes_waits(const FabRoot *root, unsigned from, FabWaits *waits);

/* The time at which a TLP of root port @from, with @bytes of payload and whose
 * end came in at @tail_at, may leave through root port @to. */
static inline SimTime fab_root_ready_at(FabRoot *root, unsigned from,
                                        unsigned to, SimTime tail_at,
                                        uint32_t bytes)
{
    SimTime time = tail_at + root->params.transit;

    return G_UNLIKELY(root->nodes)
               ? fab_root_nodes_arrive(root, from, to, time, bytes)
               : time;
}

/* fab_root_split.c */
void fab_root_split_init(FabRoot *root, FabRootPieceFn piece_over);
void fab_root_split_free(FabRoot *root);

/* Takes the read or AtomicOp @tlp into the path from port @from to port @to. */
void fab_root_split_add(FabRoot *root, unsigned from, unsigned to, FabTlp *tlp);

/* The read of @path that may take a tag of port @to. If tags are free, this is
 * the oldest one of the requester that holds the fewest; otherwise the oldest
 * one of a requester that holds none. NULL: no read of the path may. */
SplitRead *fab_root_split_pick(const FabRoot *root, const RootPath *path,
                               unsigned to);

/* True if a read of the path from some port to port @to may get a tag. */
static inline bool fab_root_split_has_tag(const FabRoot *root, unsigned to)
{
    return root->egress[to].shared_used < root->params.forwarded_reads ||
           root->egress[to].starving;
}

/* The first tag that forwarded reads use. The CPU has the tags before. */
static inline unsigned fab_root_split_first_tag(const FabRoot *root)
{
    return root->params.cpu.mmio_reads;
}

/* Ends the life of @tlp, whose payload the root sends on in other TLPs. */
void fab_root_take(FabRoot *root, FabTlp *tlp);

/* Make the next piece of the first write from port @from to port @to, or of
 * @read. A piece of a read takes a tag, which fab_root_split_pick() has found.
 * The last piece removes the request from the path. */
FabTlp *fab_root_split_write(FabRoot *root, unsigned from, unsigned to);
FabTlp *fab_root_split_read(FabRoot *root, RootPath *path, SplitRead *read);

/* Notes the completion @tlp of a piece. Returns the read of the piece; NULL if
 * no piece has this tag. */
SplitRead *fab_root_split_take(FabRoot *root, const FabTlp *tlp);

/* Makes the next completion for the requester of @read, after the completion
 * @last has come back. NULL: an earlier piece is not back yet, or all data that
 * are back have been returned. */
FabTlp *fab_root_split_next(FabRoot *root, SplitRead *read, const FabTlp *last);

/* Frees the tag of a piece, @number as in its TLP, and also the read if this
 * was its last piece. */
void fab_root_split_end(FabRoot *root, uint16_t number);

/* Tells @waits of the pieces of all reads. */
void fab_root_split_waits(const FabRoot *root, FabWaits *waits);
/* Tells that the last node of @waits waits for a tag of port @to. */
void fab_root_split_wait_for_tags(const FabRoot *root, unsigned to,
                                  FabWaits *waits);

/* fab_root_p2p.c */
void fab_root_p2p_init(FabRoot *root);
void fab_root_p2p_free(FabRoot *root);
/* Take a request, or a completion for one of the root's pieces. */
void fab_root_p2p_request(FabRoot *root, FabPort *from, FabPort *to,
                          FabTlp *tlp);
void fab_root_p2p_completion(FabRoot *root, FabPort *ingress, FabTlp *tlp);
/* Sends @cpl to a requester, behind the posted requests of this path. */
void fab_root_p2p_return(FabRoot *root, unsigned from, unsigned to,
                         FabTlp *cpl);
/* Sends the TLPs that can go from port @from to port @to. */
void fab_root_p2p_advance(FabRoot *root, unsigned from, unsigned to);

/* Reports the TLPs between root ports. */
void fab_root_p2p_waiters(const FabRoot *root, const FabObserver *observer);
/* Tells @waits of the TLPs between root ports, and of the reads split. */
void fab_root_p2p_waits(const FabRoot *root, FabWaits *waits);
/* True if a read to another root port waits. */
bool fab_root_p2p_is_wanted(const FabRoot *root);
/* Shared tags in use at the root port that uses most. */
uint32_t fab_root_p2p_tags_used(const FabRoot *root);

/* fab_root_cpu.c */
void fab_root_cpu_init(FabRoot *root);
void fab_root_cpu_free(FabRoot *root);
void fab_root_cpu_completion(FabRoot *root, FabTlp *tlp);
/* A TLP of the host has left @port. */
void fab_root_cpu_drained(FabRoot *root, FabPort *port);
/* Reports the writes and reads that the CPU has not sent yet. */
void fab_root_cpu_waiters(const FabRoot *root, const FabObserver *observer);

/* fab_root_observe.c */
extern const FabObserveOps fab_root_observe_ops;

#endif
