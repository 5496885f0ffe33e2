/* SPDX-License-Identifier: MIT */
#include "fab_observe_priv.h"

void fab_observe_resources(const FabComponent *component, FabResourceFn fn,
                           void *data)
{
    const FabObserveOps *ops = component->ops->observe;

    if (ops && ops->resources) {
        ops->resources(component, fn, data);
    }
}

void fab_observe_blockers(const FabComponent *component, const FabPort *ingress,
                          FabClass cls, FabBlockerFn fn, void *data)
{
    const FabObserveOps *ops = component->ops->observe;

    if (ops && ops->blockers) {
        ops->blockers(component, ingress, cls, fn, data);
    } else {
        fab_forwarding_blockers(component, ingress, cls, fn, data);
    }
}

void fab_observe_waiters(const FabComponent *component, FabWaiterFn fn,
                         void *data)
{
    const FabObserveOps *ops = component->ops->observe;
    FabObserver observer = {
        .fn = fn,
        .data = data,
        .component = component,
        .now = sim_engine_now(component->engine),
    };

    for (unsigned i = 0; i < component->port_count; i++) {
        if (component->ports[i]->peer) {
            fab_port_waiters(component->ports[i], &observer);
        }
    }
    if (ops && ops->waiters) {
        ops->waiters(component, &observer);
    }
}

void fab_observe_dma(const FabComponent *component, FabDmaWaiterFn fn,
                     void *data)
{
    const FabObserveOps *ops = component->ops->observe;

    if (ops && ops->dma) {
        ops->dma(component, fn, data);
    }
}
