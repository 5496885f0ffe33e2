/* SPDX-License-Identifier: MIT */
#include "fab_dpc_priv.h"

#include "fab_account_priv.h"
#include "fab_link_priv.h"
#include "fab_outage_priv.h"

typedef enum DpcState {
    DPC_IDLE,
    DPC_TRIGGERED, /* the link goes down in this moment */
    DPC_HELD,      /* until software clears DPC Trigger Status */
    DPC_TRAINING,
} DpcState;

typedef struct FabDpc {
    FabLinkPart part;
    DpcState state;
    SimEvent event;
} FabDpc;

static void dpc_event(SimEvent *event)
{
    FabDpc *dpc = SIM_CONTAINER_OF(event, FabDpc, event);
    FabPort *port = dpc->part.port;

    switch (dpc->state) {
    case DPC_TRIGGERED:
        dpc->state = DPC_HELD;
        port->counters.dpc_triggers++;
        fab_outage_begin(port);
        if (port->params.dpc.release) {
            sim_event_schedule(event, event->time + port->params.dpc.release);
        }
        return;
    case DPC_HELD:
        dpc->state = DPC_TRAINING;
        sim_event_schedule(event, event->time + port->params.dpc.training);
        return;
    default:
        dpc->state = DPC_IDLE;
        fab_outage_end(port);
        return;
    }
}

/* Returns whether an error of @severity triggers @port. An uncorrectable error
 * that it has found itself always does (DPC Trigger Enable, s7.9.15.3). */
static bool is_trigger(const FabPort *port, FabSeverity severity, bool is_own)
{
    return is_own || severity == FAB_SEVERITY_FATAL ||
           port->params.dpc.trigger == FAB_DPC_NONFATAL;
}

static bool dpc_contains(FabLinkPart *part, FabSeverity severity, bool is_own)
{
    FabDpc *dpc = (FabDpc *)part;

    if (!is_trigger(part->port, severity, is_own)) {
        return false;
    }
    if (dpc->state == DPC_IDLE) {
        /* Not now, for the caller handles a TLP. */
        dpc->state = DPC_TRIGGERED;
        sim_event_schedule(&dpc->event,
                           sim_engine_now(part->port->owner->engine));
    }
    return true;
}

static FabStatus dpc_status(const FabLinkPart *part)
{
    return ((const FabDpc *)part)->state != DPC_IDLE &&
                   part->port->params.dpc.completer_abort
               ? FAB_STATUS_CA
               : FAB_STATUS_UR;
}

static void dpc_free(FabLinkPart *part)
{
    FabDpc *dpc = (FabDpc *)part;

    fab_link_remove(part);
    sim_event_cancel(&dpc->event);
    g_free(dpc);
}

static const FabLinkOps dpc_ops = {
    .contains = dpc_contains,
    .status = dpc_status,
    .free = dpc_free,
};

void fab_dpc_init(FabPort *port)
{
    FabDpc *dpc;

    if (port->params.dpc.trigger == FAB_DPC_OFF ||
        !fab_port_is_downstream(port)) {
        return;
    }
    dpc = g_new0(FabDpc, 1);
    sim_event_init(&dpc->event, port->owner->engine, dpc_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    fab_link_add(port, &dpc->part, &dpc_ops, false);
}
