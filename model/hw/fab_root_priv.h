/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROOT_PRIV_H
#define FAB_ROOT_PRIV_H

#include "fab_completer.h"
#include "fab_fabric_priv.h"
#include "fab_iommu.h"
#include "fab_memory.h"
#include "fab_observe_priv.h"
#include "fab_ranges.h"
#include "fab_root.h"

/*
 * A request comes in at a root port, has its address translated, and is then
 * dispatched: to memory, to the path between root ports, or to the interrupt
 * controller. Posted requests are dispatched in the order they came, and no
 * other request before the posted ones that came earlier (PCIe 5.0 s2.4.1).
 */

/* Requests of one root port that are not dispatched yet. */
typedef struct RootIngress {
    uint64_t posted_received;   /* numbers posted requests */
    uint64_t posted_dispatched; /* those before this are dispatched */
    SimTime visible_at;         /* the writes to memory so far are visible */
    FabFifo posted; /* translated, behind one that is not; by posted_before */
    FabFifo others; /* translated reads and completions, behind a posted one */
    FabFifo reads;  /* dispatched to memory, which takes no more now */
} RootIngress;

/* The path from one root port to another. */
typedef struct RootPath {
    FabFifo posted, others;
    FabFifo completions;  /* those behind a posted request */
    uint64_t order;       /* numbers what is dispatched to it */
    uint32_t posted_sent; /* bytes of the first already sent on */
    uint32_t other_sent;
    struct SplitRead *read; /* of the first of the others, once begun */
    bool no_tag;            /* others wait for a piece to come back */
} RootPath;

/* A read from one root port to another, until its last completion. */
typedef struct SplitRead {
    struct SplitRead *next; /* free */
    unsigned ingress;
    FabBdf requester_id;
    uint16_t tag;
    uint8_t attr;
    bool ecrc;
    uint32_t flow;
    FabBusAddr addr;
    uint32_t request_bytes;
    uint32_t returned_bytes;      /* given to the requester so far */
    uint32_t pieces, pieces_back; /* sent; and answered */
    uint32_t pieces_returned;     /* given to the requester, or begun to be */
    uint32_t piece_left_bytes;    /* of the last of these, not given yet */
    bool all_sent;
    bool failed; /* the requester has been told of an error */
    struct {
        uint16_t bytes;
        uint8_t status;
        bool back;
    } piece[64]; /* 4096 bytes in 64 */
} SplitRead;

/* A tag of the root, which stands for a piece of a read. */
typedef struct SplitTag {
    SplitRead *read; /* NULL: free */
    uint16_t piece;
    uint16_t next_free;
} SplitTag;

/* A write by the CPU that has not left for its port. */
typedef struct CpuWrite {
    FabSentFn fn; /* nullable */
    void *owner;
    FabBusAddr addr;
    uint64_t data;
    SimTime given_at;
    uint32_t size_bytes;
    uint32_t flow;
} CpuWrite;

/* A read by the CPU. */
typedef struct CpuRead {
    FabReadFn fn;
    void *owner;
    FabBusAddr addr;
    uint32_t size_bytes;
    uint32_t flow;
    SimTime due; /* when it is over; NONE: not known yet */
    FabStatus status;
    uint16_t next_free;
    bool in_use;
} CpuRead;

struct FabRoot {
    FabComponent component;
    FabRootParams params;
    FabCompleter completer; /* the host's memory */
    FabIommu *iommu;        /* NULL: off */
    RootIngress *ingress;
    RootPath *paths; /* [from * ports + to] */
    unsigned ports;
    uint32_t *path_queue; /* by port: the most TLPs queued there from another */
    uint32_t cpu_queue;   /* and from the CPU, with those on the way */

    unsigned read_turn; /* root port whose waiting read of memory is next */

    /* Between root ports. */
    SplitTag *tags;
    uint16_t free_tag;
    uint32_t tags_used;
    SplitRead *free_reads;
    GPtrArray *read_slabs;
    unsigned path_turn; /* path that gets the next tag */
    bool tag_wait;
    SimTime tag_wait_since;

    /* CPU. */
    CpuWrite *cpu_writes; /* ring */
    uint32_t cpu_writes_mask, cpu_writes_head, cpu_writes_tail;
    FabPort *cpu_stall;  /* the first waits until this port takes it; NULL: it
                            does not wait */
    SimTime cpu_sent_at; /* the last write left then */
    SimEvent write_event;
    FabFifo cpu_transit; /* on the way to root ports, there at due_at */
    SimEvent transit_event;
    CpuRead *cpu_reads;
    uint16_t free_cpu_read;
    GArray *cpu_read_wait;  /* CpuRead, those without a slot */
    unsigned cpu_read_next; /* first that waits */
    SimEvent cpu_read_event;

    /* Device addresses given out. */
    FabRanges *iova;
    GArray *iova_maps;
    uint8_t *domain_of;    /* by Requester ID; NULL: all are in domain 0 */
    uint64_t mapped_bytes; /* in the IOMMU */
    FabRootCounters counters;
};

#define NO_TAG UINT16_MAX

/* The root queues this many TLPs of one source at an egress, and as many more
 * as are in transit. The others stay where they came from. */
#define ROOT_QUEUE_TLPS 8

/* The source at a root port for TLPs of the host itself. */
static inline unsigned fab_root_host_source(const FabRoot *root)
{
    return root->ports;
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

/* fab_root_split.c */
void fab_root_split_init(FabRoot *root);
void fab_root_split_free(FabRoot *root);

/* True if there is a free tag for a piece of a read. */
static inline bool fab_root_split_has_tag(const FabRoot *root)
{
    return root->free_tag != NO_TAG;
}

/* The next piece of the first write of @path, and of its first read (or atomic)
 * under a tag, of which there must be one. The last piece takes the request out
 * of the path. */
FabTlp *fab_root_split_write(FabRoot *root, RootPath *path);
FabTlp *fab_root_split_read(FabRoot *root, RootPath *path);

/* Notes the completion @tlp of a piece. Returns the read that the piece is of;
 * NULL if no piece has this tag. */
SplitRead *fab_root_split_take(FabRoot *root, const FabTlp *tlp);

/* The next completion for the requester of @read, after @last has come back for
 * it; NULL: those of further pieces must come first. */
FabTlp *fab_root_split_next(FabRoot *root, SplitRead *read, const FabTlp *last);

/* The piece with tag @number has come back wholly: frees the tag, and the read
 * after its last piece. */
void fab_root_split_end(FabRoot *root, uint16_t number);

/* fab_root_p2p.c */
void fab_root_p2p_init(FabRoot *root);
void fab_root_p2p_free(FabRoot *root);
/* Takes a request, and a completion for one of the root's pieces. */
void fab_root_p2p_request(FabRoot *root, FabPort *from, FabPort *to,
                          FabTlp *tlp);
void fab_root_p2p_completion(FabRoot *root, FabPort *ingress, FabTlp *tlp);
/* Sends @cpl on to a requester, behind the posted requests of this path. */
void fab_root_p2p_return(FabRoot *root, unsigned from, unsigned to,
                         FabTlp *cpl);
/* Sends what can go from one port to the other. */
void fab_root_p2p_advance(FabRoot *root, unsigned from, unsigned to);

/* The TLPs between root ports. */
void fab_root_p2p_waiters(const FabRoot *root, const FabObserver *observer);
/* True if a read to another root port waits. */
bool fab_root_p2p_is_wanted(const FabRoot *root);

/* fab_root_cpu.c */
void fab_root_cpu_init(FabRoot *root);
void fab_root_cpu_free(FabRoot *root);
void fab_root_cpu_completion(FabRoot *root, FabTlp *tlp);
/* A TLP of the host has left @port. */
void fab_root_cpu_drained(FabRoot *root, FabPort *port);
/* The writes and reads that the CPU has not sent yet. */
void fab_root_cpu_waiters(const FabRoot *root, const FabObserver *observer);

/* fab_root_observe.c */
extern const FabObserveOps fab_root_observe_ops;

#endif
