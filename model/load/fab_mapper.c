/* SPDX-License-Identifier: MIT */
#include "fab_mapper_priv.h"

#include "fab_fabric_priv.h"

#define DOMAIN     0
#define PAGE_BYTES UINT64_C(4096)

struct FabMapper {
    FabRoot *root;
    FabLend *lend; /* NULL: the device is not lent */
    bool waits;
    FabMapped *head, *tail; /* if it waits: what it has to map, in order. The
                               first one is at the core, or waits for room */
    FabLendWaiter waiter;
    FabCore *core;
    const FabIommuParams *params;
    FabInvalidation invalidation; /* one at a time, because the core waits */
    FabMapped *waiting;           /* the call that waits for it; NULL: a flush
                                     by the timer */
    /* Device addresses that are unmapped, and not yet free. */
    GArray *queue; /* of FabBusAddr */
    FabCoreJob flush_job;
    SimEvent flush_event;
};

/* ---- Device addresses ------------------------------------------------ */

/* Maps whole pages from @addr on. Returns false if no device addresses are
 * left. */
static bool space_take(FabMapper *mapper, FabMapped *mapped, FabBusAddr addr)
{
    if (mapper->lend) {
        return fab_lend_take(mapper->lend, addr, mapped->bytes, &mapped->iova,
                             &mapped->device_addr);
    }
    if (!fab_root_take_iova(mapper->root, mapped->bytes, PAGE_BYTES,
                            &mapped->iova, NULL)) {
        return false;
    }
    if (!fab_root_iommu_map(mapper->root, DOMAIN, mapped->iova, addr,
                            mapped->bytes, NULL)) {
        fab_root_give_iova(mapper->root, mapped->iova);
        return false;
    }
    mapped->device_addr = mapped->iova;
    return true;
}

static void space_give(FabMapper *mapper, FabBusAddr iova)
{
    if (mapper->lend) {
        fab_lend_give(mapper->lend, iova);
    } else {
        fab_root_give_iova(mapper->root, iova);
    }
}

/* ---- Invalidation ---------------------------------------------------- */

static void queue_give(FabMapper *mapper)
{
    for (unsigned i = 0; i < mapper->queue->len; i++) {
        space_give(mapper, g_array_index(mapper->queue, FabBusAddr, i));
    }
    g_array_set_size(mapper->queue, 0);
}

static void invalidated(FabInvalidation *invalidation)
{
    FabMapper *mapper = invalidation->owner;
    FabMapped *mapped = mapper->waiting;

    if (mapper->params->lazy) {
        queue_give(mapper);
    } else {
        space_give(mapper, mapped->iova);
    }
    mapper->waiting = NULL;
    fab_core_go_on(mapper->core);
    if (mapped) {
        mapped->done(mapped);
    }
}

/* Waits for an invalidation of @size_bytes from @iova on (0: the domain). */
static void invalidate(FabMapper *mapper, FabMapped *mapped, FabBusAddr iova,
                       uint64_t size_bytes)
{
    mapper->waiting = mapped;
    mapper->invalidation = (FabInvalidation){
        .domain = DOMAIN,
        .iova = iova,
        .size_bytes = size_bytes,
        .done = invalidated,
        .owner = mapper,
    };
    fab_root_invalidate(mapper->root, &mapper->invalidation);
}

static void flush_begun(FabCoreJob *job)
{
    FabMapper *mapper = job->owner;

    invalidate(mapper, NULL, 0, 0);
}

static void flush_event(SimEvent *event)
{
    FabMapper *mapper = SIM_CONTAINER_OF(event, FabMapper, flush_event);

    mapper->flush_job =
        (FabCoreJob){.holds = true, .done = flush_begun, .owner = mapper};
    fab_core_run(mapper->core, &mapper->flush_job);
}

/* ---- Calls ----------------------------------------------------------- */

static void pages_map(FabMapper *mapper, FabMapped *mapped)
{
    FabBusAddr base = mapped->addr & ~(PAGE_BYTES - 1);

    mapped->bytes =
        (mapped->addr + mapped->size_bytes - base + PAGE_BYTES - 1) &
        ~(PAGE_BYTES - 1);
    if (space_take(mapper, mapped, base)) {
        mapped->device_addr += mapped->addr - base;
    } else {
        mapped->device_addr = FAB_ADDR_UNMAPPED;
    }
}

static void map_ended(FabCoreJob *job);

static void map_begin(FabMapper *mapper, FabMapped *mapped)
{
    mapped->job = (FabCoreJob){
        .time = mapper->params->map,
        .done = map_ended,
        .owner = mapper,
    };
    fab_core_run(mapper->core, &mapped->job);
}

static void has_room(FabLendWaiter *waiter)
{
    FabMapper *mapper = SIM_CONTAINER_OF(waiter, FabMapper, waiter);

    map_begin(mapper, mapper->head);
}

static void map_ended(FabCoreJob *job)
{
    FabMapper *mapper = job->owner;
    FabMapped *mapped = SIM_CONTAINER_OF(job, FabMapped, job);

    pages_map(mapper, mapped);
    if (mapper->waits) {
        if (mapper->lend && mapped->device_addr == FAB_ADDR_UNMAPPED) {
            fab_lend_wait(mapper->lend, &mapper->waiter);
            return;
        }
        mapper->head = mapped->next;
        if (mapper->head) {
            map_begin(mapper, mapper->head);
        }
    }
    mapped->done(mapped);
}

static void unmap_ended(FabCoreJob *job)
{
    FabMapper *mapper = job->owner;
    FabMapped *mapped = SIM_CONTAINER_OF(job, FabMapped, job);

    fab_root_iommu_clear(mapper->root, DOMAIN, mapped->iova, mapped->bytes);
    if (!mapper->params->lazy) {
        invalidate(mapper, mapped, mapped->iova, mapped->bytes);
        return;
    }
    g_array_append_val(mapper->queue, mapped->iova);
    if (mapper->queue->len >= mapper->params->flush_queue) {
        sim_event_cancel(&mapper->flush_event);
        invalidate(mapper, mapped, 0, 0);
        return;
    }
    if (mapper->queue->len == 1) {
        sim_event_schedule(
            &mapper->flush_event,
            sim_engine_now(fab_root_component(mapper->root)->engine) +
                mapper->params->flush_time);
    }
    fab_core_go_on(mapper->core);
    mapped->done(mapped);
}

void fab_mapper_map(FabMapper *mapper, FabMapped *mapped)
{
    if (!mapper->waits) {
        map_begin(mapper, mapped);
        return;
    }
    mapped->next = NULL;
    if (mapper->head) {
        mapper->tail->next = mapped;
    } else {
        mapper->head = mapped;
        map_begin(mapper, mapped);
    }
    mapper->tail = mapped;
}

void fab_mapper_unmap(FabMapper *mapper, FabMapped *mapped)
{
    mapped->job = (FabCoreJob){
        .time = mapper->params->unmap,
        .holds = true,
        .done = unmap_ended,
        .owner = mapper,
    };
    fab_core_run(mapper->core, &mapped->job);
}

/* ---- Life ------------------------------------------------------------ */

bool fab_mapper_is_needed(FabEndpoint *device, FabRoot *root)
{
    const FabLend *lend = fab_lend_of(device);

    return lend ? fab_lend_maps_each(lend)
                : fab_root_params(root)->iommu.enabled;
}

FabMapper *fab_mapper_new(const FabMapperParams *params)
{
    FabMapper *mapper = g_new0(FabMapper, 1);
    FabRoot *root = params->root;

    mapper->root = root;
    mapper->lend = params->lend;
    mapper->waits = params->waits;
    mapper->waiter.fn = has_room;
    mapper->params = &fab_root_params(root)->iommu;
    mapper->core = fab_core_new(root, params->rank);
    mapper->queue = g_array_new(FALSE, FALSE, sizeof(FabBusAddr));
    g_assert(mapper->params->enabled && mapper->params->flush_queue > 0);
    sim_event_init(&mapper->flush_event, fab_root_component(root)->engine,
                   flush_event, SIM_PRIORITY_NORMAL, params->rank);
    return mapper;
}

void fab_mapper_free(FabMapper *mapper)
{
    if (mapper) {
        if (mapper->lend) {
            fab_lend_wait_end(mapper->lend, &mapper->waiter);
        }
        sim_event_cancel(&mapper->flush_event);
        fab_core_free(mapper->core);
        g_array_unref(mapper->queue);
        g_free(mapper);
    }
}
