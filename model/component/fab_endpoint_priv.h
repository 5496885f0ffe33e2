/* SPDX-License-Identifier: MIT */
#ifndef FAB_ENDPOINT_PRIV_H
#define FAB_ENDPOINT_PRIV_H

#include "fab_atc_priv.h"
#include "fab_completer_priv.h"
#include "fab_endpoint.h"
#include "fab_mmu_priv.h"
#include "fab_account_priv.h"
#include "fab_observe_priv.h"

/* A read request of the DMA engine, by tag. */
typedef struct DmaRead {
    FabDma *dma; /* NULL: the tag is free */
    uint32_t left_bytes;
    uint32_t bytes;   /* of the request */
    SimTime free_at;  /* when the tag gets free, once all data are in */
    SimTime deadline; /* of the completion time-out */
    uint32_t transaction;
    uint32_t
        failed; /* `transaction` of the last read with this tag that failed */
    uint16_t next; /* next free tag, or next draining read by free_at */
} DmaRead;

typedef struct DmaQueue {
    FabDma *head, *tail;
} DmaQueue;

/* The orders of a function that are not wholly issued. */
typedef struct DmaLane {
    DmaQueue held; /* writes that params.writes holds back */
    DmaQueue writes, reads;
    DmaQueue thread_writes, thread_reads; /* the same of threads, which do not
                                             wait behind whole copies */
    bool is_threads_turn;                 /* when both have a request */
} DmaLane;

/* Moves the data of the orders of one direction inside the device. */
typedef struct DmaMover {
    SimTime free_at;  /* when the data of the last order are moved */
    DmaQueue waiting; /* orders that wait for the bus */
} DmaMover;

/* Splits orders into TLPs, and matches completions with them. */
typedef struct DmaEngine {
    /* The functions whose write began, and that made a write and a read,
     * last. */
    FabEndpoint *start_turn, *write_turn, *read_turn;
    uint8_t attr;     /* of its requests: FAB_ATTR_ */
    DmaQueue leaving; /* writes whose last TLP waits at the egress */
    uint32_t writes_started;
    SimEvent start_event; /* the first write's latency is over */
    DmaMover read_mover, write_mover;
    DmaQueue moving; /* reads whose data are moved, by not_before */
    SimEvent move_event;
    SimTime gap_until;   /* the next transfer of a write begins then */
    SimTime bus_free_at; /* the bus that both movers share */
    DmaMover *bus_turn;  /* that gets it if both want it */
    SimEvent bus_event;
    uint64_t flight_bytes; /* of reads under way, without those of threads */
    DmaRead *tags;
    uint16_t free_tag;
    uint32_t tags_used, tags_usable;
    uint16_t draining_head, draining_tail; /* reads whose data are in */
    SimEvent drain_event;
    SimEvent timeout_event;
    bool tag_wait;
    SimTime tag_wait_since;
} DmaEngine;

struct FabEndpoint {
    FabComponent component;
    FabEndpoint *device; /* of a virtual function; else the endpoint itself */
    FabEndpoint *next;   /* function of the device, in a ring */
    unsigned offset;     /* of its Routing ID from the device's */
    DmaLane lane;
    /* The following are the device's alone, but for params and counters. */
    DmaEngine dma;
    FabEndpointParams params;
    FabAtc *atc;            /* NULL: its requests are not translated here */
    FabMmu *mmu;            /* NULL: orders of threads need no translation */
    FabCompleter completer; /* memory or registers behind the BARs */
    FabEndpointCounters counters;
};

static inline void fab_dma_queue_push(DmaQueue *queue, FabDma *dma)
{
    dma->next = NULL;
    if (queue->tail) {
        queue->tail->next = dma;
    } else {
        queue->head = dma;
    }
    queue->tail = dma;
}

static inline void fab_dma_queue_pop(DmaQueue *queue)
{
    queue->head = queue->head->next;
    if (!queue->head) {
        queue->tail = NULL;
    }
}

/* Returns whether another read may be under way. One always may. */
static inline bool fab_dma_has_flight_room(const FabEndpoint *endpoint)
{
    uint32_t most = endpoint->params.flight_bytes;

    return !most || endpoint->dma.tags_used == 0 ||
           endpoint->dma.flight_bytes + endpoint->params.read_bytes <= most;
}

/* Returns whether a function has writes that have begun, or reads. */
static inline bool fab_dma_has_writes(const FabEndpoint *endpoint)
{
    const FabEndpoint *function = endpoint;

    do {
        if (function->lane.writes.head || function->lane.thread_writes.head) {
            return true;
        }
        function = function->next;
    } while (function != endpoint);
    return false;
}

/* @without_threads: other than those of threads. */
static inline bool fab_dma_has_reads(const FabEndpoint *endpoint,
                                     bool without_threads)
{
    const FabEndpoint *function = endpoint;

    do {
        if (function->lane.reads.head ||
            (!without_threads && function->lane.thread_reads.head)) {
            return true;
        }
        function = function->next;
    } while (function != endpoint);
    return false;
}

/* fab_dma.c */
void fab_dma_init(FabEndpoint *endpoint);
void fab_dma_free(FabEndpoint *endpoint);
/* The order @dma of threads has left the MMU. */
void fab_dma_translated(FabEndpoint *endpoint, FabDma *dma);
void fab_dma_completion(FabEndpoint *endpoint, FabTlp *tlp);
/* The write @tlp leaves the ATC, and is queued at the port next. */
void fab_dma_leaves(FabEndpoint *endpoint, const FabTlp *tlp);
void fab_dma_drained(void *owner, FabPort *port, const FabTlp *tlp);
/* fab_dma_move.c */
void fab_dma_move_init(FabEndpoint *endpoint);
void fab_dma_move_done(FabEndpoint *endpoint);
/* The write @dma begins: it joins the writes of its function when the engine
 * moves its data. */
void fab_dma_write_begin(FabEndpoint *endpoint, FabDma *dma);
/* The data of the read @dma are in. */
void fab_dma_read_in(FabEndpoint *endpoint, FabDma *dma);
/* fab_dma_observe.c: the tags, the bytes in flight (if params.flight_bytes
 * limits them), and the orders that are not done. */
void fab_dma_resource(const FabEndpoint *endpoint, FabResourceState *ret_state);
void fab_dma_flight_resource(const FabEndpoint *endpoint,
                             FabResourceState *ret_state);
void fab_dma_waiters(const FabEndpoint *endpoint, FabDmaWaiterFn fn,
                     void *data);

/* The function of @endpoint, a device, with the Routing ID @bdf; the device
 * itself if there is none. */
static inline FabEndpoint *fab_endpoint_function_of(FabEndpoint *endpoint,
                                                    FabBdf bdf)
{
    FabEndpoint *function = endpoint;

    do {
        if (function->component.bdf == bdf) {
            return function;
        }
        function = function->next;
    } while (function != endpoint);
    return endpoint;
}

/* The only source of the endpoint's egress. It holds the endpoint's requests
 * and its completions for others, because a read completion must not pass
 * posted requests. */
#define ENDPOINT_SOURCE 0

/* TLPs of a class that the engine keeps ready at the egress, unless the
 * parameters say otherwise. */
#define DMA_QUEUE_TLPS 2

#define NO_TAG UINT16_MAX

#endif
