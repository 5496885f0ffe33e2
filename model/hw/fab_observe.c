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

bool fab_forwarding_blockers(const FabComponent *component,
                             const FabPort *ingress, FabClass cls,
                             FabBlockerFn fn, void *data)
{
    for (unsigned i = 0; i < component->port_count; i++) {
        const FabPort *egress = component->ports[i];

        if (egress->peer && ingress->index < egress->source_count &&
            egress->sources[ingress->index].queue[cls].head &&
            fn(data, &(FabBlocker){.egress = egress})) {
            return true;
        }
    }
    return false;
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

void fab_observer_tlp(const FabObserver *observer, const FabTlp *tlp,
                      FabPlaceKind place, const FabPort *port)
{
    observer->fn(observer->data, &(FabWaiter){
                                     .flow = tlp->flow,
                                     .cls = tlp->cls,
                                     .bytes = MAX(fab_observed_bytes(tlp), 1),
                                     .place = place,
                                     .component = observer->component,
                                     .port = port,
                                 });
}

void fab_observer_fifo(const FabObserver *observer, const FabFifo *fifo,
                       FabPlaceKind place)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        fab_observer_tlp(observer, tlp, place, NULL);
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
