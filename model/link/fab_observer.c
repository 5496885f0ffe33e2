/* SPDX-License-Identifier: MIT */
#include "fab_observe_priv.h"

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
