/* SPDX-License-Identifier: MIT */
#include "fab_endpoint_priv.h"

/* ---- Behind the BARs ------------------------------------------------- */

/* The only Read Completion Boundary an Endpoint may use (PCIe 5.0 s2.3.1.1). */
#define DEVICE_RCB_BYTES 128

static void read_event(SimEvent *event)
{
    FabEndpoint *device = SIM_CONTAINER_OF(event, FabEndpoint, read_event);
    FabTlp *tlp = fab_fifo_pop(&device->reading);
    uint32_t most = device->params.completion_bytes
                        ? MAX(device->params.completion_bytes, DEVICE_RCB_BYTES)
                        : device->component.ports[0]->mps_bytes;

    if (device->reading.head) {
        sim_event_schedule(event, device->reading.head->tail_at);
    }
    device->counters.served_bytes += tlp->request_bytes;
    fab_tlp_answer(tlp, DEVICE_SOURCE, device->component.bdf, most,
                   DEVICE_RCB_BYTES, device->params.ecrc);
}

static void visible_event(SimEvent *event)
{
    FabEndpoint *device = SIM_CONTAINER_OF(event, FabEndpoint, visible_event);
    FabTlp *tlp = fab_fifo_pop(&device->visible);
    FabBusAddr addr = tlp->addr;
    uint64_t data = tlp->data;
    uint32_t bytes = tlp->payload_bytes;

    if (device->visible.head) {
        sim_event_schedule(event, device->visible.head->ready_at);
    }
    fab_port_consume(tlp, event->time);
    fab_memory_notify(device->memory, addr, bytes, data);
}

static void request_receive(FabEndpoint *device, FabPort *ingress, FabTlp *tlp)
{
    FabComponent *component = &device->component;
    SimTime now = sim_engine_now(component->engine);

    if (fab_component_find_bar(component, tlp->addr) < 0) {
        FabTlp *cpl = fab_tlp_refuse(component->fabric, tlp, FAB_STATUS_UR,
                                     component->bdf);

        if (cpl) {
            fab_port_send(ingress, DEVICE_SOURCE, cpl);
        }
    } else if (tlp->cls == FAB_CLASS_NP) {
        tlp->tail_at = fab_memory_read(device->memory, now, tlp->request_bytes);
        tlp->data = fab_memory_peek(device->memory, tlp->addr);
        fab_fifo_push(&device->reading, tlp);
        if (device->reading.head == tlp) {
            sim_event_schedule(&device->read_event, tlp->tail_at);
        }
    } else {
        tlp->ready_at =
            fab_memory_write(device->memory, now, tlp->payload_bytes);
        device->counters.served_bytes += tlp->payload_bytes;
        if (!fab_memory_watched_at(device->memory, tlp->addr,
                                   tlp->payload_bytes)) {
            fab_port_consume(tlp, tlp->ready_at);
            return;
        }
        fab_fifo_push(&device->visible, tlp);
        if (device->visible.head == tlp) {
            sim_event_schedule(&device->visible_event, tlp->ready_at);
        }
    }
}

static void device_receive(FabComponent *component, FabPort *ingress,
                           FabTlp *tlp)
{
    FabEndpoint *device = (FabEndpoint *)component;

    if (fab_tlp_is_completion(tlp)) {
        fab_dma_completion(device, tlp);
    } else {
        request_receive(device, ingress, tlp);
    }
}

/* ---- Life ------------------------------------------------------------ */

static bool device_realize(FabComponent *component, GError **error)
{
    FabEndpoint *device = (FabEndpoint *)component;

    fab_dma_init(device);
    sim_event_init(&device->read_event, component->engine, read_event,
                   SIM_PRIORITY_NORMAL, component->rank + 2);
    sim_event_init(&device->visible_event, component->engine, visible_event,
                   SIM_PRIORITY_NORMAL, component->rank + 3);
    fab_port_set_drained(component->ports[0], DEVICE_SOURCE, fab_dma_drained,
                         device);
    return true;
}

static void device_free(FabComponent *component)
{
    FabEndpoint *device = (FabEndpoint *)component;

    fab_fifo_clear(component->fabric, &device->reading);
    fab_fifo_clear(component->fabric, &device->visible);
    sim_event_cancel(&device->read_event);
    sim_event_cancel(&device->visible_event);
    fab_dma_free(device);
    fab_memory_free(device->memory);
    g_free(device);
}

static const FabComponentOps device_ops = {
    .receive = device_receive,
    .realize = device_realize,
    .free = device_free,
};

FabEndpoint *fab_endpoint_new(FabFabric *fabric, const char *name,
                              const FabPortParams *port,
                              const FabEndpointParams *params)
{
    FabEndpoint *device = g_new0(FabEndpoint, 1);
    FabComponent *component = &device->component;
    FabPortParams store = *port;
    FabMemoryParams memory = {
        .latency = params->completer_latency,
        .bandwidth_bytes_s = params->completer_bandwidth_bytes_s,
    };

    g_assert(params->tags >= 1 && params->reads >= 1);
    /* An endpoint acts on whole TLPs. */
    store.forwarding = FAB_FORWARDING_STORE;
    fab_component_init(component, fabric, &device_ops, FAB_KIND_ENDPOINT, name);
    device->params = *params;
    for (unsigned i = 0; i < FAB_BARS; i++) {
        component->bars[i] = params->bars[i];
    }
    device->memory = fab_memory_new(&memory, 0);
    fab_component_add_port(component, "port", &store);
    return device;
}

FabComponent *fab_endpoint_component(FabEndpoint *device)
{
    return &device->component;
}

FabEndpoint *fab_component_as_endpoint(FabComponent *component)
{
    return component->ops == &device_ops ? (FabEndpoint *)component : NULL;
}

const FabEndpointParams *fab_endpoint_params(const FabEndpoint *device)
{
    return &device->params;
}

unsigned fab_endpoint_watch(FabEndpoint *device, FabBusAddr addr,
                            uint64_t size_bytes, FabWatchFn fn, void *owner)
{
    return fab_memory_watch(device->memory, addr, size_bytes, fn, owner);
}

void fab_endpoint_unwatch(FabEndpoint *device, unsigned handle)
{
    fab_memory_unwatch(device->memory, handle);
}

const FabEndpointCounters *fab_endpoint_counters(const FabEndpoint *device)
{
    return &device->counters;
}
