/* SPDX-License-Identifier: MIT */
#include "fab_endpoint_priv.h"

#include <string.h>

#include "fab_root_ats_priv.h"
#include "fab_answer_priv.h"

/* ---- Behind the BARs ------------------------------------------------- */

/* The only Read Completion Boundary an Endpoint may use (PCIe 5.0 s2.3.1.1). */
#define ENDPOINT_RCB_BYTES 128

/* The function of @endpoint with a BAR that holds @addr; NULL: none. */
static FabEndpoint *function_at(FabEndpoint *endpoint, FabBusAddr addr)
{
    FabEndpoint *function = endpoint;

    do {
        if (fab_component_find_bar(&function->component, addr) >= 0) {
            return function;
        }
        function = function->next;
    } while (function != endpoint);
    return NULL;
}

/* Counts @bytes that @function of @endpoint has served. */
static void count_served(FabEndpoint *endpoint, FabEndpoint *function,
                         uint32_t bytes)
{
    endpoint->counters.served_bytes += bytes;
    if (function != endpoint) {
        function->counters.served_bytes += bytes;
    }
}

static SIM_HOT void read_answer(FabComponent *owner, FabTlp *tlp)
{
    FabEndpoint *endpoint = (FabEndpoint *)owner;
    uint32_t most =
        endpoint->params.completion_bytes
            ? MAX(endpoint->params.completion_bytes, ENDPOINT_RCB_BYTES)
            : owner->ports[0]->mps_bytes;
    /* A single function was found when the request came. */
    FabEndpoint *function = G_LIKELY(endpoint->next == endpoint)
                                ? endpoint
                                : function_at(endpoint, tlp->addr);

    count_served(endpoint, function, tlp->request_bytes);
    fab_tlp_answer(tlp, ENDPOINT_SOURCE, function->component.bdf, most,
                   ENDPOINT_RCB_BYTES, endpoint->params.ecrc);
}

static void request_receive(FabEndpoint *endpoint, FabPort *ingress,
                            FabTlp *tlp)
{
    FabComponent *component = &endpoint->component;
    FabEndpoint *function = function_at(endpoint, tlp->addr);

    if (G_UNLIKELY(fab_tlp_is_malformed(tlp, ingress))) {
        fab_tlp_drop_malformed(tlp);
        return;
    }
    /* Bad data must not change a register (PCIe 5.0 s2.7.2.2). */
    if (!function || tlp->poisoned) {
        FabTlp *cpl =
            fab_tlp_refuse(component, tlp, FAB_STATUS_UR,
                           function ? function->component.bdf : component->bdf);

        if (cpl) {
            fab_port_send(ingress, ENDPOINT_SOURCE, cpl);
        }
    } else if (tlp->cls == FAB_CLASS_NP) {
        fab_completer_read(&endpoint->completer, tlp);
    } else {
        count_served(endpoint, function, tlp->payload_bytes);
        (void)fab_completer_write(&endpoint->completer, tlp, 0);
    }
}

static SIM_HOT void endpoint_receive(FabComponent *component, FabPort *ingress,
                                     FabTlp *tlp)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;

    if (fab_tlp_is_completion(tlp)) {
        if (G_LIKELY(!endpoint->atc) ||
            !fab_atc_completion(endpoint->atc, tlp)) {
            fab_dma_completion(endpoint, tlp);
        }
    } else if (G_UNLIKELY(tlp->type == FAB_TLP_MSGD)) {
        fab_atc_message(endpoint->atc, tlp);
    } else {
        request_receive(endpoint, ingress, tlp);
    }
}

/* ---- For observers --------------------------------------------------- */

static void endpoint_resources(const FabComponent *component, FabResourceFn fn,
                               void *data)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;
    FabResourceState tags;

    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_COMPLETER,
                 .used = fab_completer_is_busy(&endpoint->completer),
             });
    fab_dma_resource(endpoint, &tags);
    fn(data, &tags);
    if (endpoint->params.flight_bytes) {
        fab_dma_flight_resource(endpoint, &tags);
        fn(data, &tags);
    }
    if (endpoint->atc) {
        fn(data, &(FabResourceState){
                     .kind = FAB_RESOURCE_TRANSLATIONS,
                     .size = endpoint->params.ats.requests,
                     .used = fab_atc_requests(endpoint->atc),
                     .is_wanted = fab_atc_is_wanted(endpoint->atc),
                     .requests = fab_atc_counters(endpoint->atc)->requests,
                 });
    }
}

static bool endpoint_blockers(const FabComponent *component,
                              const FabPort *ingress, FabClass cls,
                              FabBlockerFn fn, void *data)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;

    return fab_completer_is_busy(&endpoint->completer) &&
           fn(data, &(FabBlocker){.resource = FAB_RESOURCE_COMPLETER});
}

static void atc_waiter(void *data, const FabTlp *tlp)
{
    fab_observer_tlp(data, tlp, FAB_PLACE_ATC, NULL);
}

static void endpoint_waiters(const FabComponent *component,
                             const FabObserver *observer)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;
    FabObserver own = *observer;

    if (endpoint->atc) {
        fab_atc_foreach(endpoint->atc, atc_waiter, &own);
    }
    fab_completer_waiters(&endpoint->completer, observer, FAB_PLACE_DEVICE);
}

static void endpoint_dma(const FabComponent *component, FabDmaWaiterFn fn,
                         void *data)
{
    fab_dma_waiters((const FabEndpoint *)component, fn, data);
}

static void endpoint_waits(const FabComponent *component, FabWaits *waits)
{
    fab_completer_waits(&((const FabEndpoint *)component)->completer, waits);
}

static const FabObserveOps endpoint_observe_ops = {
    .resources = endpoint_resources,
    .blockers = endpoint_blockers,
    .waiters = endpoint_waiters,
    .waits = endpoint_waits,
    .dma = endpoint_dma,
};

/* ---- Life ------------------------------------------------------------ */

static bool endpoint_realize(FabComponent *component, GError **error)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;
    FabRoot *root =
        component->root ? fab_component_as_root(component->root) : NULL;

    if (endpoint->device != endpoint) { /* its device does all for it */
        return true;
    }
    if (root && fab_root_params(root)->mps == FAB_MPS_PERF) {
        endpoint->params.read_bytes =
            MIN(endpoint->params.read_bytes, component->ports[0]->mps_bytes);
    }
    fab_dma_init(endpoint);
    if (root && endpoint->params.ats.entries && fab_root_has_ats(root)) {
        endpoint->atc = fab_atc_new(endpoint, fab_dma_leaves, error);
        if (!endpoint->atc) {
            return false;
        }
        fab_root_ats_add(root, component->bdf, fab_atc_drop, endpoint->atc);
    }
    if (endpoint->params.mmu.entries) {
        endpoint->mmu = fab_mmu_new(endpoint, fab_dma_translated, error);
        if (!endpoint->mmu) {
            return false;
        }
    }
    fab_completer_realize(&endpoint->completer, component->rank + 2,
                          read_answer);
    /* An endpoint acts on whole TLPs. */
    fab_port_set_latency(component->ports[0], FAB_FORWARDING_STORE,
                         component->ports[0]->params.latency);
    fab_port_set_drained(component->ports[0], ENDPOINT_SOURCE, fab_dma_drained,
                         endpoint);
    return true;
}

static void endpoint_free(FabComponent *component)
{
    FabEndpoint *endpoint = (FabEndpoint *)component;

    if (endpoint->device != endpoint) {
        return;
    }
    fab_dma_free(endpoint);
    fab_atc_free(endpoint->atc);
    fab_mmu_free(endpoint->mmu);
    fab_completer_done(&endpoint->completer);
}

static void endpoint_caching(const FabComponent *component, FabCaching *sum)
{
    const FabEndpoint *endpoint = (const FabEndpoint *)component;

    if (endpoint->atc) {
        fab_atc_caching(endpoint->atc, sum);
    }
    if (endpoint->mmu) {
        fab_mmu_caching(endpoint->mmu, sum);
    }
}

/* Every access to a function comes in at its device's port. */
static void function_receive(FabComponent *component, FabPort *ingress,
                             FabTlp *tlp)
{
    g_assert_not_reached();
}

static const FabComponentOps function_ops = {
    .receive = function_receive,
    .realize = endpoint_realize,
    .free = endpoint_free,
};

static const FabComponentOps endpoint_ops = {
    .receive = endpoint_receive,
    .realize = endpoint_realize,
    .free = endpoint_free,
    .sees_discards = true,
    .observe = &endpoint_observe_ops,
    .caching = endpoint_caching,
};

FabEndpoint *fab_endpoint_new(FabFabric *fabric, const char *name,
                              const FabPortParams *port,
                              const FabEndpointParams *params)
{
    FabEndpoint *endpoint = FAB_ARENA_NEW(&fabric->arena, FabEndpoint, 1);
    FabComponent *component = &endpoint->component;
    FabMemoryParams memory = {
        .latency = params->completer_latency,
        .bandwidth_bytes_s = params->completer_bandwidth_bytes_s,
    };

    g_assert(params->tags >= 1 && params->reads >= 1);
    fab_component_init(component, fabric, &endpoint_ops, FAB_KIND_ENDPOINT,
                       name);
    endpoint->device = endpoint;
    endpoint->next = endpoint;
    endpoint->params = *params;
    if (params->queue == 0) {
        endpoint->params.queue = DMA_QUEUE_TLPS;
    }
    for (unsigned i = 0; i < FAB_BARS; i++) {
        component->bars[i] = params->bars[i];
    }
    fab_completer_init(&endpoint->completer, component,
                       fab_memory_new(&memory, 0));
    fab_component_add_port(component, "port", port);
    return endpoint;
}

FabEndpoint *fab_endpoint_function_new(FabEndpoint *device, const char *name,
                                       unsigned offset)
{
    FabFabric *fabric = device->component.fabric;
    FabEndpoint *function = FAB_ARENA_NEW(&fabric->arena, FabEndpoint, 1);
    FabEndpoint *last = device;

    g_assert(device->device == device);
    fab_component_init(&function->component, fabric, &function_ops,
                       FAB_KIND_ENDPOINT, name);
    fab_component_share_port(&function->component, device->component.ports[0]);
    memcpy(function->component.bars, device->params.bars,
           sizeof(device->params.bars));
    function->params = device->params;
    function->device = device;
    function->offset = offset;
    while (last->next != device) {
        last = last->next;
    }
    function->next = device;
    last->next = function;
    return function;
}

FabEndpoint *fab_endpoint_device(FabEndpoint *endpoint)
{
    return endpoint->device;
}

FabEndpoint *fab_endpoint_next_function(const FabEndpoint *function)
{
    return function->next == function->device ? NULL : function->next;
}

unsigned fab_endpoint_function_offset(const FabEndpoint *endpoint)
{
    return endpoint->offset;
}

FabComponent *fab_endpoint_component(FabEndpoint *endpoint)
{
    return &endpoint->component;
}

FabEndpoint *fab_component_as_endpoint(FabComponent *component)
{
    return component->ops == &endpoint_ops || component->ops == &function_ops
               ? (FabEndpoint *)component
               : NULL;
}

const FabEndpointParams *fab_endpoint_params(const FabEndpoint *endpoint)
{
    return &endpoint->params;
}

unsigned fab_endpoint_watch(FabEndpoint *endpoint, FabBusAddr addr,
                            uint64_t size_bytes, FabWatchFn fn, void *owner)
{
    return fab_memory_watch(endpoint->device->completer.memory, addr,
                            size_bytes, fn, owner);
}

void fab_endpoint_unwatch(FabEndpoint *endpoint, unsigned handle)
{
    fab_memory_unwatch(endpoint->device->completer.memory, handle);
}

SimTime fab_endpoint_load(FabEndpoint *endpoint, uint32_t size_bytes)
{
    return fab_memory_read(endpoint->device->completer.memory,
                           sim_engine_now(endpoint->component.engine),
                           size_bytes);
}

void fab_endpoint_store(FabEndpoint *endpoint, FabBusAddr addr,
                        uint32_t size_bytes, uint64_t data)
{
    FabMemory *memory = endpoint->device->completer.memory;

    (void)fab_memory_write(memory, sim_engine_now(endpoint->component.engine),
                           size_bytes);
    fab_memory_notify(memory, addr, size_bytes, data);
}

const FabEndpointCounters *fab_endpoint_counters(const FabEndpoint *endpoint)
{
    return &endpoint->counters;
}

const FabAtcCounters *fab_endpoint_atc_counters(const FabEndpoint *endpoint)
{
    return endpoint->atc ? fab_atc_counters(endpoint->atc) : NULL;
}
