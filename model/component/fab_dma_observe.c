/* SPDX-License-Identifier: MIT */
/* The state of a DMA engine, for observers. */
#include "fab_endpoint_priv.h"

void fab_dma_resource(const FabEndpoint *endpoint, FabResourceState *ret_state)
{
    const FabPort *port = endpoint->component.ports[0];

    *ret_state = (FabResourceState){
        .kind = FAB_RESOURCE_TAGS,
        .size = endpoint->dma.tags_usable,
        .unit_bytes = endpoint->params.read_bytes,
        .used = endpoint->dma.tags_used,
        .is_wanted = fab_dma_has_reads(endpoint, false),
        .requests = port->counters.tlps_sent[FAB_CLASS_NP],
    };
}

void fab_dma_flight_resource(const FabEndpoint *endpoint,
                             FabResourceState *ret_state)
{
    const DmaEngine *engine = &endpoint->dma;
    uint32_t size =
        MAX(endpoint->params.flight_bytes / endpoint->params.read_bytes, 1);

    fab_dma_resource(endpoint, ret_state);
    ret_state->kind = FAB_RESOURCE_FLIGHT;
    ret_state->size = size;
    /* Reads of less than the largest size may be more than `size`. */
    ret_state->used = fab_dma_has_flight_room(endpoint)
                          ? MIN(engine->tags_used, size - 1)
                          : MAX(engine->tags_used, size);
}

/* The place of reads without any request, while the engine makes no more.
 * @is_own: they are not those of threads. */
static FabPlaceKind unissued_place(const FabEndpoint *endpoint, bool is_own)
{
    FabLinkState link;

    if (endpoint->dma.tags_used == endpoint->dma.tags_usable ||
        (is_own && !fab_dma_has_flight_room(endpoint))) {
        return FAB_PLACE_TAG;
    }
    fab_port_observe(endpoint->component.ports[0], &link);
    return fab_port_queue_place(&link, FAB_CLASS_NP);
}

/* The orders of @queue, whose requests lack what @unissued says. */
static void queue_waiters(const FabEndpoint *endpoint, const DmaQueue *queue,
                          FabPlaceKind unissued, FabDmaWaiterFn fn, void *data)
{
    for (const FabDma *dma = queue->head; dma; dma = dma->next) {
        FabDmaWaiter waiter = {.flow = dma->flow, .phase = FAB_DMA_READING};

        if (dma->issued_bytes == 0) {
            waiter.phase = FAB_DMA_UNISSUED;
            waiter.place = unissued;
            waiter.port =
                unissued == FAB_PLACE_TAG ? NULL : endpoint->component.ports[0];
        }
        fn(data, &waiter);
    }
}

/* The reads of @queue, whose data are in. */
static void moving_waiters(const DmaQueue *queue, FabDmaWaiterFn fn, void *data)
{
    for (const FabDma *dma = queue->head; dma; dma = dma->next) {
        fn(data, &(FabDmaWaiter){
                     .flow = dma->flow,
                     .phase = FAB_DMA_DRAINING,
                     .bytes = dma->size_bytes,
                     .place = FAB_PLACE_DEVICE,
                 });
    }
}

static void read_waiters(const FabEndpoint *endpoint, FabDmaWaiterFn fn,
                         void *data)
{
    const DmaEngine *engine = &endpoint->dma;
    const FabEndpoint *function = endpoint;

    do {
        queue_waiters(endpoint, &function->lane.reads,
                      unissued_place(endpoint, true), fn, data);
        queue_waiters(endpoint, &function->lane.thread_reads,
                      unissued_place(endpoint, false), fn, data);
        function = function->next;
    } while (function != endpoint);
    for (uint32_t i = 0; engine->tags_used > 0 && i < endpoint->params.tags;
         i++) {
        if (engine->tags[i].dma) {
            fn(data, &(FabDmaWaiter){.flow = engine->tags[i].dma->flow,
                                     .phase = FAB_DMA_READING});
        }
    }
    for (uint16_t tag = engine->draining_head; tag != NO_TAG;
         tag = engine->tags[tag].next) {
        fn(data, &(FabDmaWaiter){
                     .flow = engine->tags[tag].dma->flow,
                     .phase = FAB_DMA_DRAINING,
                     .bytes = MAX(engine->tags[tag].left_bytes, 1),
                     .place = FAB_PLACE_DEVICE,
                 });
    }
    moving_waiters(&engine->read_mover.waiting, fn, data);
    moving_waiters(&engine->moving, fn, data);
}

static void write_waiters(const FabEndpoint *endpoint, const DmaQueue *queue,
                          bool held, FabDmaWaiterFn fn, void *data)
{
    const FabPort *port = endpoint->component.ports[0];
    SimTime now = sim_engine_now(endpoint->component.engine);
    FabLinkState link;

    if (!queue->head) {
        return;
    }
    fab_port_observe(port, &link);
    for (const FabDma *dma = queue->head; dma; dma = dma->next) {
        FabDmaWaiter waiter = {
            .flow = dma->flow,
            .phase = FAB_DMA_WRITING,
            .place = FAB_PLACE_SERIAL,
            .port = port,
        };

        if (held || (dma->issued_bytes == 0 && dma->not_before > now)) {
            waiter.place = FAB_PLACE_DEVICE;
            waiter.port = NULL;
        } else if (fab_credits_lack_class(link.lacks, FAB_CLASS_P)) {
            waiter.place = FAB_PLACE_CREDITS;
        }
        fn(data, &waiter);
    }
}

void fab_dma_waiters(const FabEndpoint *endpoint, FabDmaWaiterFn fn, void *data)
{
    const FabEndpoint *function = endpoint;

    if (endpoint->mmu) {
        fab_mmu_waiters(endpoint->mmu, fn, data);
    }
    read_waiters(endpoint, fn, data);
    /* The writes in `leaving` were ordered before those in `writes`. */
    write_waiters(endpoint, &endpoint->dma.leaving, false, fn, data);
    write_waiters(endpoint, &endpoint->dma.write_mover.waiting, true, fn, data);
    do {
        write_waiters(endpoint, &function->lane.writes, false, fn, data);
        write_waiters(endpoint, &function->lane.held, true, fn, data);
        write_waiters(endpoint, &function->lane.thread_writes, false, fn, data);
        function = function->next;
    } while (function != endpoint);
}
