/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_PRIV_H
#define FAB_FLOW_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_flow_observe.h"
#include "sim_engine.h"
#include "sim_random.h"

/* The operations of a kind of flow. */
typedef struct FabFlowOps {
    /* The function of flow->event, which first comes when the flow starts. */
    SimEventFn event;
    void (*free)(FabFlow *flow);
    /* Nullable: one operation called "operation" is always under way, and is
     * in the flow's own time while nothing else is. For observers. */
    void (*wait)(const FabFlow *flow, FabFlowWait *ret_wait);
} FabFlowOps;

/* First member of every flow. */
struct FabFlow {
    const FabFlowOps *ops;
    FabFabric *fabric;
    char *name;
    uint32_t number;
    bool started, done;
    SimTime start, warmup;
    uint32_t rank;        /* of its events; known when it starts */
    unsigned waits_for;   /* flows that must be done first */
    GPtrArray *followers; /* those that wait for this one; NULL: none */
    SimRandom random;
    SimEvent event;
    FabFlowResult result;
    SimHistogram *latency;
};

/* Returns whether a flow of this name and start can be made. */
bool fab_flow_check(FabFabric *fabric, const char *name, SimTime start,
                    GError **error);

/* Returns whether @wrong is NULL. If it is not, it says what is wrong with the
 * parameters of the flow @name, and @error is set to that. */
bool fab_flow_accept(const char *name, const char *wrong, GError **error);

/* Gives @flow, the zeroed first member of a block of g_new(), to @fabric. It is
 * called last, when nothing can fail any more. */
void fab_flow_init(FabFlow *flow, FabFabric *fabric, const FabFlowOps *ops,
                   const char *name, SimTime warmup, SimTime start);

/* Counts an operation that ends now. Returns true if it is measured and did not
 * fail, so that it has a latency. */
bool fab_flow_count(FabFlow *flow, SimTime begin, uint64_t bytes,
                    FabStatus status);

/* The flow with the number @number, from 1; NULL if there is none. */
FabFlow *fab_flow_nth(FabFabric *fabric, uint32_t number);

/* Ends the flow, whose last operation is over. */
void fab_flow_finish(FabFlow *flow);

static inline FabFlow *fab_flow_of_event(SimEvent *event)
{
    return SIM_CONTAINER_OF(event, FabFlow, event);
}

/* Gets how much @target can hold: the size of the BAR, UINT64_MAX for
 * memory. */
bool fab_target_size(const FabTarget *target, uint64_t *ret_bytes,
                     GError **error);

/* Takes @size_bytes of @target: memory is reserved, a BAR begins at offset 0.
 * The address is that in the host of @target. */
bool fab_target_take(const FabTarget *target, uint64_t size_bytes,
                     FabBusAddr *ret_addr, GError **error);

#endif
