/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_LIST_PRIV_H
#define FAB_FLOW_LIST_PRIV_H

#include "fab_flow_priv.h"

/* The flows of a fabric. */
typedef struct FlowList {
    FabAttachment attachment;
    GPtrArray *flows; /* owned; by number */
    GHashTable *by_name;
    GHashTable *engines; /* of FabFlowEngine, owned; by name. NULL: none */
    uint32_t running;    /* number of flows that are started and not done */
    uint32_t started;    /* number of flows that are started */
    SimTime stop;        /* of the present run */
    SimTime skipped;     /* time that flows have left out */
    double accuracy;     /* 0: they leave nothing out */
    SimEvent skip_event; /* a batch of a flow has ended; initialised if
                            `accuracy` is not 0 */
} FlowList;

/* The list of @fabric: the first returns NULL if it is not made yet, the second
 * makes it. */
FlowList *fab_flow_list_find(const FabFabric *fabric);
FlowList *fab_flow_list(FabFabric *fabric);

/* @flow waits for no other flow any more: it begins, or waits for its engine.
 */
void fab_flow_ready(FlowList *list, FabFlow *flow);

/* @flow is done, so its engine takes another one. */
void fab_flow_engine_leave(FabFlow *flow);

/* A flow has begun or ended, so the paces of all others may change. */
void fab_flow_pace_changed(FlowList *list);

#endif
