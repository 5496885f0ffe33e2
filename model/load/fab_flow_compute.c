/* SPDX-License-Identifier: MIT */
#include "fab_flow_compute.h"

#include "fab_flow_priv.h"

typedef struct ComputeFlow {
    FabFlow flow;
    FabComputeFlowParams params;
    SimTime begin;
    bool is_begun;
} ComputeFlow;

static void compute_event(SimEvent *event)
{
    ComputeFlow *self = (ComputeFlow *)fab_flow_of_event(event);

    if (!self->is_begun) {
        self->is_begun = true;
        self->begin = event->time;
        sim_event_schedule(event, event->time + self->params.time);
        return;
    }
    if (fab_flow_count(&self->flow, self->begin, 0, FAB_STATUS_SC)) {
        sim_histogram_add(self->flow.latency, self->params.time);
    }
    fab_flow_finish(&self->flow);
}

static void compute_free(FabFlow *flow)
{
    g_free(flow);
}

/* Its units are time. */
static uint64_t compute_left(const FabFlow *flow, uint64_t *ret_grain)
{
    *ret_grain = 1;
    return sim_event_is_pending(&flow->event)
               ? flow->event.time - sim_engine_now(flow->fabric->engine)
               : 0;
}

static void compute_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    sim_event_reschedule(&flow->event, flow->event.time - time);
    fab_flow_left_out(flow, 0, 0);
}

static const FabFlowOps compute_ops = {
    .left = compute_left,
    .skip = compute_skip,
    .event = compute_event,
    .free = compute_free,
};

FabFlow *fab_compute_flow_new(FabFabric *fabric, const char *name,
                              SimTime warmup,
                              const FabComputeFlowParams *params,
                              GError **error)
{
    ComputeFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error)) {
        return NULL;
    }
    if (!fab_flow_accept(
            name, params->time < 0 ? "the time must not be negative" : NULL,
            error)) {
        return NULL;
    }
    self = g_new0(ComputeFlow, 1);
    self->params = *params;
    fab_flow_init(&self->flow, fabric, &compute_ops, name, warmup,
                  params->start);
    return &self->flow;
}
