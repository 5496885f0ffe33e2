/* SPDX-License-Identifier: MIT */
/* The state of crossings, for the files that make, run and lose them. */
#ifndef EXP_CROSSING_PRIV_H
#define EXP_CROSSING_PRIV_H

#include "exp_build.h"
#include "exp_crossing.h"
#include "fab_endpoint.h"
#include "fab_ntb.h"

/* A page of a machine's memory, for which exp_crossings_place() gives a place
 */
#define PAGE_BYTES 4096u

/* The least that a request covers: one DW (PCIe 5.0 s2.2.5) */
#define DW_BYTES 4u

/* An element that requests go to. */
typedef struct Place {
    FabComponent *component;
    FabBusAddr addr; /* in its host */
    uint64_t size_bytes;
} Place;

/* The same, as a source must address it over a link. */
typedef struct Way {
    const struct Direction *direction;
    const FabComponent *source, *target;
    FabBusAddr target_addr;
    FabBusAddr addr;
} Way;

typedef struct Direction {
    TopoHost *from, *to;
    FabNtb *near;      /* the adapter in @from by which the link begins, */
    unsigned way;      /* and the way out of it */
    GQueue items;      /* of Item, under way, in the order in which they
                          entered */
    GHashTable *reads; /* of Item by tag: arrived, or not, but not answered */
} Direction;

typedef struct Item {
    ExpCrossings *owner;
    ExpCrossing crossing;
    Direction *direction;
    SimEvent event; /* its arrival, when the fabric is done with it */
    GList link;     /* in the direction's items */
    unsigned refs;  /* the queue, the fabric's callbacks, the table of reads */
    bool is_queued;
    bool is_known;      /* its arrival is known or over */
    bool is_ready;      /* it may arrive when all writes before it have */
    bool is_lost;       /* it never arrives; @event says so */
    bool is_torn;       /* a link has lost a TLP of it, or of its completion */
    bool is_unanswered; /* READ: its COMPLETION never arrives */
    int64_t arrived;    /* the time of it */
    unsigned unsent;    /* pieces that have not left the CPU */
    FabBusAddr last; /* first byte of the last piece, as the target sees it */
    SimTime done;    /* READ: the fabric's completion; -1: not yet */
    struct Item *answer; /* READ: its COMPLETION */
    FabComponent *target;
    FabRoot *reader;  /* READ by the CPU that the fabric has not done */
    uint32_t number;  /* of its TLPs; 0: it has none */
    GList in_readers; /* while @reader is set */
    FabDma dma;       /* of a device */
} Item;

/* A link goes down at this event. */
typedef struct Outage {
    SimEvent event;
    ExpCrossings *owner;
    const char *link; /* its name; NULL: that of a device */
} Outage;

struct ExpCrossings {
    TopoDescription view; /* with the faults that are the fabric's */
    const TopoDescription *description;
    const ExpCrossingsOps *ops;
    void *data;
    ExpFabric *fabric;
    SimEngine *engine;
    GPtrArray *links;      /* topo_joins() */
    Direction *directions; /* two for each link */
    Place *memory;         /* of each host */
    GHashTable **pages;    /* of each host: Place by number of page */
    GArray *ways;          /* of Way */
    GHashTable *items;     /* all whose TLPs the fabric has, by number */
    Item **stalls;         /* of each host: the write that its CPU waits for */
    GQueue readers;        /* of Item: reads of CPUs */
    Outage *outages;       /* of each fault of the description */
    uint32_t number;
    unsigned queued;
    bool has_called;
};

static inline int64_t crossing_to_ns(SimTime time)
{
    return (time + SIM_NS - 1) / SIM_NS;
}

static inline int64_t crossing_now_ns(const ExpCrossings *self)
{
    return crossing_to_ns(sim_engine_now(self->engine));
}

/* exp_crossing_item.c. Frees @item when it is no longer used. */
void crossing_unref(Item *item);

/* Takes @item out of the queue of its direction, which may free it. */
void crossing_drop(Item *item);

/* The TLPs of @item do not matter any more. This may free it. */
void crossing_forget(Item *item);

/* @item arrives now: tells the caller, and lets go what waited for it. */
void crossing_arrive(Item *item);

/* The write at the head of @direction has gone: reads and completions that
 * waited only for it arrive. */
void crossing_let_go(Direction *direction);

/* The fabric is done with @item at @time. */
void crossing_arrival_known(Item *item, SimTime time);

/* The completion of @read, which has one, is in when the fabric's is, and later
 * by the time that the machine took to answer. */
void crossing_answer(Item *read);

/* exp_crossing_send.c. Finds the address by which @source reaches @place over
 * the link of @direction. Maps it at first. */
bool crossing_find_way(ExpCrossings *self, const Direction *direction,
                       FabComponent *source, const Place *place,
                       FabBusAddr *ret_addr, GError **error);

/* Gives a request to the element that sends it. Returns the number of its TLPs;
 * 0 if there are none. */
uint32_t crossing_send(Item *item);

/* exp_crossing_loss.c. @item will be lost, unless its arrival is known. */
void crossing_doom(Item *item);

/* The same for the machine's answer to @read, even if it is still to come. */
void crossing_lose_answer(Item *read);

/* @item is lost now: tells the caller. */
void crossing_lose(Item *item);

/* A link that is down has discarded @tlp. */
void crossing_tlp_lost(ExpCrossings *self, const FabTlp *tlp);

/* Schedules the events at which links go down, of the faults of the
 * description. exp_crossings_free() ends them. */
void crossing_watch_outages(ExpCrossings *self);

#endif
