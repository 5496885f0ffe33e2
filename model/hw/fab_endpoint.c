/* SPDX-License-Identifier: MIT */
#include "fab_endpoint_priv.h"

/* ---- Behind the BARs ------------------------------------------------- */

/* The only Read Completion Boundary an Endpoint may use (PCIe 5.0 s2.3.1.1). */
#define ENDPOINT_RCB_BYTES 128

static void read_event(SimEvent *event)
{
    FabEndpoint *endpoint = SIM_CONTAINER_OF(event, FabEndpoint, read_event);
    FabTlp *tlp = fab_fifo_pop(&endpoint->reading);
    uint32_t most =
        endpoint->params.completion_bytes
            ? MAX(endpoint->params.completion_bytes, ENDPOINT_RCB_BYTES)
            : endpoint->component.ports[0]->mps_bytes;

    if (endpoint->reading.head) {
        sim_event_schedule(event, endpoint->reading.head->tail_at);
    }
    endpoint->counters.served_bytes += tlp->request_bytes;
    fab_tlp_answer(tlp, ENDPOINT_SOURCE, endpoint->component.bdf, most,
                   ENDPOINT_RCB_BYTES, endpoint->params.ecrc);
}

static void visible_event(SimEvent *event)
{
    FabEndpoint *endpoint = SIM_CONTAINER_OF(event, FabEndpoint, visible_event);
    FabTlp *tlp = fab_fifo_pop(&endpoint->visible);
    FabBusAddr addr = tlp->addr;
    uint64_t data = tlp->data;
    uint32_t bytes = tlp->payload_bytes;

    if (endpoint->visible.head) {
        sim_event_schedule(event, endpoint->visible.head->ready_at);
    }
    fab_port_consume(tlp, event->time);
    fab_memory_notify(endpoint->memory, addr, bytes, data);
}

static void request_receive(FabEndpoint *endpoint, FabPort *ingress,
                            FabTlp *tlp)
{
    FabComponent *component = &endpoint->component;
    SimTime now = sim_engine_now(component->engine);

    if (fab_component_find_bar(component, tlp->addr) < 0) {
        FabTlp *cpl = fab_tlp_refuse(component->fabric, tlp, FAB_STATUS_UR,
                                     component->bdf);

        if (cpl) {
            fab_port_send(ingress, ENDPOINT_SOURCE, cpl);
        }
    } else if (tlp->cls == FAB_CLASS_NP) {
        tlp->tail_at =
            fab_memory_read(endpoint->memory, now, tlp->request_bytes);
        tlp->data = fab_memory_peek(endpoint->memory, tlp->addr);
        fab_fifo_push(&endpoint->reading, tlp);
        if (endpoint->reading.head == tlp) {
            sim_event_schedule(&endpoint->read_event, tlp->tail_at);
        }
    } else {
        tlp->ready_at =
            fab_memory_write(endpoint->memory, now, tlp->payload_bytes);
        endpoint->counters.served_bytes += tlp->payload_bytes;
        if (!fab_memory_watched_at(endpoint->memory, tlp->addr,
                                   tlp->payload_bytes)) {
            fab_port_consume(tlp, tlp->ready_at);
            return;
        }
        fab_fifo_push(&endpoint->visible, tlp);
        if (endpoint->visible.head == tlp) {
            sim_event_schedule(&endpoint->visible_event, tlp->ready_at);
        }
    }
}

static void endpoint_receive(FabComponent *component, FabPort *ingress,
                             FabTlp *tlp)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;

    if (fab_tlp_is_completion(tlp)) {
        fab_dma_completion(endpoint, tlp);
    } else {
        request_receive(endpoint, ingress, tlp);
    }
}

/* ---- For observers --------------------------------------------------- */

static bool is_completer_busy(const FabEndpoint *endpoint)
{
    return fab_memory_busy_until(endpoint->memory) >
           sim_engine_now(endpoint->component.engine);
}

static void endpoint_resources(const FabComponent *component, FabResourceFn fn,
                               void *data)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;
    FabResourceState tags;

    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_COMPLETER,
                 .used = is_completer_busy(endpoint),
             });
    fab_dma_resource(endpoint, &tags);
    fn(data, &tags);
}

static bool endpoint_blockers(const FabComponent *component,
                              const FabPort *ingress, FabClass cls,
                              FabBlockerFn fn, void *data)
{
    return is_completer_busy((const FabEndpoint *)component) &&
           fn(data, &(FabBlocker){.resource = FAB_RESOURCE_COMPLETER});
}

static void endpoint_waiters(const FabComponent *component,
                             const FabObserver *observer)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;

    fab_observer_fifo(observer, &endpoint->reading, FAB_PLACE_DEVICE);
    fab_observer_fifo(observer, &endpoint->visible, FAB_PLACE_DEVICE);
}

static void endpoint_dma(const FabComponent *component, FabDmaWaiterFn fn,
                         void *data)
{
    fab_dma_waiters((const FabEndpoint *)component, fn, data);
}

static const FabObserveOps endpoint_observe_ops = {
    .resources = endpoint_resources,
    .blockers = endpoint_blockers,
    .waiters = endpoint_waiters,
    .dma = endpoint_dma,
};

/* ---- Life ------------------------------------------------------------ */

static bool endpoint_realize(FabComponent *component, GError **error)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;

    fab_dma_init(endpoint);
    sim_event_init(&endpoint->read_event, component->engine, read_event,
                   SIM_PRIORITY_NORMAL, component->rank + 2);
    sim_event_init(&endpoint->visible_event, component->engine, visible_event,
                   SIM_PRIORITY_NORMAL, component->rank + 3);
    fab_port_set_drained(component->ports[0], ENDPOINT_SOURCE, fab_dma_drained,
                         endpoint);
    return true;
}

static void endpoint_free(FabComponent *component)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;

    fab_fifo_clear(component->fabric, &endpoint->reading);
    fab_fifo_clear(component->fabric, &endpoint->visible);
    sim_event_cancel(&endpoint->read_event);
    sim_event_cancel(&endpoint->visible_event);
    fab_dma_free(endpoint);
    fab_memory_free(endpoint->memory);
    g_free(endpoint);
}

static const FabComponentOps endpoint_ops = {
    .receive = endpoint_receive,
    .realize = endpoint_realize,
    .free = endpoint_free,
    .observe = &endpoint_observe_ops,
};

FabEndpoint *fab_endpoint_new(FabFabric *fabric, const char *name,
                              const FabPortParams *port,
                              const FabEndpointParams *params)
{
    FabEndpoint *endpoint = g_new0(FabEndpoint, 1);
    FabComponent *component = &endpoint->component;
    FabPortParams store = *port;
    FabMemoryParams memory = {
        .latency = params->completer_latency,
        .bandwidth_bytes_s = params->completer_bandwidth_bytes_s,
    };

    g_assert(params->tags >= 1 && params->reads >= 1);
    /* An endpoint acts on whole TLPs. */
    store.forwarding = FAB_FORWARDING_STORE;
    fab_component_init(component, fabric, &endpoint_ops, FAB_KIND_ENDPOINT,
                       name);
    endpoint->params = *params;
    for (unsigned i = 0; i < FAB_BARS; i++) {
        component->bars[i] = params->bars[i];
    }
    endpoint->memory = fab_memory_new(&memory, 0);
    fab_component_add_port(component, "port", &store);
    return endpoint;
}

FabComponent *fab_endpoint_component(FabEndpoint *endpoint)
{
    return &endpoint->component;
}

FabEndpoint *fab_component_as_endpoint(FabComponent *component)
{
    return component->ops == &endpoint_ops ? (FabEndpoint *)component : NULL;
}

const FabEndpointParams *fab_endpoint_params(const FabEndpoint *endpoint)
{
    return &endpoint->params;
}

unsigned fab_endpoint_watch(FabEndpoint *endpoint, FabBusAddr addr,
                            uint64_t size_bytes, FabWatchFn fn, void *owner)
{
    return fab_memory_watch(endpoint->memory, addr, size_bytes, fn, owner);
}

void fab_endpoint_unwatch(FabEndpoint *endpoint, unsigned handle)
{
    fab_memory_unwatch(endpoint->memory, handle);
}

const FabEndpointCounters *fab_endpoint_counters(const FabEndpoint *endpoint)
{
    return &endpoint->counters;
}
