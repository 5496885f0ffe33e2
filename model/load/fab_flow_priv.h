/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_PRIV_H
#define FAB_FLOW_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_meter.h"
#include "fab_flow_observe.h"
#include "fab_pace_priv.h"
#include "sim_engine.h"
#include "sim_random.h"

/* Orders of DMA engines that move the data of a flow, at most. */
#define FAB_FLOW_ORDERS 2

/* One of them, of which the flow leaves bytes out. */
typedef struct FabFlowOrder {
    FabDma *dma;
    uint64_t moved;       /* bytes of the present one */
    FabPace paces[2];     /* of its bytes: alone, and beside the other one */
    FabPaceResult steady; /* of the present pace, while flows leave work out */
} FabFlowOrder;

/* In the result of ops->under_way(): something else than the orders is under
 * way, too. */
#define FAB_FLOW_BETWEEN (1u << FAB_FLOW_ORDERS)

/* The operations of a kind of flow. */
typedef struct FabFlowOps {
    /* The function of flow->event. The first event is the start of the flow. */
    SimEventFn event;
    void (*free)(FabFlow *flow);
    /* For observers. NULL: the flow always has one operation under way, whose
     * step is "operation". */
    void (*wait)(const FabFlow *flow, FabFlowWait *ret_wait);
    /* The FAB_NVME_AREAS areas that the flow has placed. NULL: it places none.
     */
    const struct FabNvmeArea *(*areas)(const FabFlow *flow);
    /* For flows that leave work out; NULL: it cannot. Returns the units, of
     * those that fab_flow_mark() counts, that it has not begun, and may leave
     * out; they are left out in multiples of *@ret_grain. */
    uint64_t (*left)(const FabFlow *flow, uint64_t *ret_grain);
    /* Leaves @units out, which would have taken @time. Calls
     * fab_flow_left_out(). */
    void (*skip)(FabFlow *flow, uint64_t units, SimTime time);
    bool marks; /* it calls fab_flow_mark(); otherwise units are ps */
    /* The bytes that flow->meter counts for a unit. NULL: they differ. */
    uint64_t (*unit_bytes)(const FabFlow *flow);
    /* The bytes of units that have gone part of their way and wait in a memory
     * or a device. flow->meter need not have counted them. NULL: none. */
    uint64_t (*waiting)(const FabFlow *flow);
    /* For flows that leave bytes of orders out, too; NULL: they do not. Sets
     * @ret_orders to the FAB_FLOW_ORDERS or fewer orders that move their data,
     * and returns their number. */
    unsigned (*orders)(FabFlow *flow, FabDma **ret_orders);
    /* Returns a bit for each of these orders that is under way. */
    unsigned (*under_way)(const FabFlow *flow);
} FabFlowOps;

typedef struct FabFlowEngine FabFlowEngine;

/* First member of every flow. */
struct FabFlow {
    const FabFlowOps *ops;
    FabFabric *fabric;
    char *name;
    uint32_t number;
    bool started, done;
    SimTime start, warmup;
    uint32_t rank;         /* of its events; set when it starts */
    unsigned waits_for;    /* number of flows that must be done first */
    GPtrArray *followers;  /* flows that wait for this one; NULL: none */
    FabFlowEngine *engine; /* that it needs; NULL: none */
    unsigned place;        /* among those of the engine */
    SimTime ready_at;      /* it waits for the engine since then */
    SimRandom random;
    SimEvent event;
    FabMeter meter;             /* of the orders that move the flow's data */
    bool writes_are_operations; /* each metered write is an operation, which
                                   fails if a TLP of it is lost */
    FabFlowResult result;
    SimHistogram *latency;
    FabPace *pace;        /* NULL: it leaves nothing out */
    FabPaceResult steady; /* of its pace, while flows leave work out */
    FabFlowOrder *orders; /* owned; NULL: it leaves no bytes of them out */
    unsigned n_orders, under_way; /* the latter: as ops->under_way() */
    bool by_orders;               /* it leaves these out now, and no units */
    SimTime inside;         /* time left out within the present operation */
    SimTime inside_all;     /* within all units */
    uint64_t inside_bytes;  /* the bytes of that */
    SimTime base;           /* time left out before it began */
    FabFlowSkipped skipped; /* half_latency: times all operations so far */
};

/* Returns whether a flow with this name and start can be made. */
bool fab_flow_check(FabFabric *fabric, const char *name, SimTime start,
                    GError **error);

/* Returns true if @wrong is NULL. Otherwise @wrong says what is wrong with the
 * parameters of the flow @name, and becomes the text of @error. */
bool fab_flow_accept(const char *name, const char *wrong, GError **error);

/* Initialises @flow, the zeroed first member of a block of g_new(), and gives
 * it to @fabric. To be called last, when nothing can fail any more. */
void fab_flow_init(FabFlow *flow, FabFabric *fabric, const FabFlowOps *ops,
                   const char *name, SimTime warmup, SimTime start);

/* Counts an operation that ends now, and @bytes of it that flow->meter has not
 * counted. Returns true if the operation has a latency, because it is measured
 * and did not fail. */
bool fab_flow_count(FabFlow *flow, SimTime begin, uint64_t bytes,
                    FabStatus status);

/* The flow with the number @number, from 1; NULL if there is none. */
FabFlow *fab_flow_nth(FabFabric *fabric, uint32_t number);

/* Ends the flow, whose last operation is over. */
void fab_flow_finish(FabFlow *flow);

/* @units of work have ended. */
void fab_flow_marked(FabFlow *flow, uint64_t units);
static inline void fab_flow_mark(FabFlow *flow, uint64_t units)
{
    if (G_UNLIKELY(flow->pace)) {
        fab_flow_marked(flow, units);
    }
}

/* Called by ops->skip(): counts @operations and @bytes that were left out. */
void fab_flow_left_out(FabFlow *flow, uint64_t operations, uint64_t bytes);

/* Adds the latency of the operation that ends now, of which there is one at a
 * time. It began at @begin. */
void fab_flow_add_latency(FabFlow *flow, SimTime begin);

static inline FabFlow *fab_flow_of_event(SimEvent *event)
{
    return SIM_CONTAINER_OF(event, FabFlow, event);
}

/* Returns the size of @target: the size of the BAR, or UINT64_MAX for memory.
 */
bool fab_target_size(const FabTarget *target, uint64_t *ret_bytes,
                     GError **error);

/* Takes @size_bytes of @target: reserves memory of a root, or uses a BAR from
 * offset 0 on. Returns an address in the host of @target. */
bool fab_target_take(const FabTarget *target, uint64_t size_bytes,
                     FabBusAddr *ret_addr, GError **error);

#endif
