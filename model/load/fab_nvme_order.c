/* SPDX-License-Identifier: MIT */
/* The orders of a drive's controller to its DMA engine: entries and lists
 * that it fetches, and completion entries. */
#include "fab_nvme_drive_priv.h"

static bool is_waited_for(const FabNvme *nvme, const FabDma *dma)
{
    bool is_page = dma->kind == FAB_NVME_ORDER_PAGE;

    return nvme->params.serial &&
           (dma->type == FAB_TLP_MWR ? is_page : !is_page);
}

/* The queue of the command that @dma is for. */
static const FabNvmeQueue *queue_of(FabDma *dma)
{
    switch (dma->kind) {
    case FAB_NVME_ORDER_TAIL_LOOK:
        return SIM_CONTAINER_OF(dma, FabNvmeTailLook, dma)->queue;
    case FAB_NVME_ORDER_PAGE:
        return SIM_CONTAINER_OF(dma, FabNvmePage, dma)->slot->queue;
    default:
        return ((FabNvmeSlot *)dma->owner)->queue;
    }
}

static void dma_send(FabNvme *nvme, FabDma *dma)
{
    if (dma->kind == FAB_NVME_ORDER_TAIL_LOOK) {
        FabNvmeTailLook *look = SIM_CONTAINER_OF(dma, FabNvmeTailLook, dma);

        look->rung = look->queue->rung;
    }
    if (is_waited_for(nvme, dma)) {
        nvme->waits_for = dma;
    }
    fab_endpoint_dma(queue_of(dma)->params.function, dma);
}

void fab_nvme_dma_order(FabNvme *nvme, FabDma *dma)
{
    if (!nvme->waits_for) {
        dma_send(nvme, dma);
        return;
    }
    dma->next = NULL;
    if (nvme->orders_tail) {
        nvme->orders_tail->next = dma;
    } else {
        nvme->orders_head = dma;
    }
    nvme->orders_tail = dma;
}

/* @dma is done. What is ordered now comes before the orders that wait. */
void fab_nvme_dma_over(FabNvme *nvme, const FabDma *dma)
{
    if (nvme->waits_for == dma) {
        nvme->waits_for = NULL;
    }
}

/* Gives the engine the orders that have waited. */
void fab_nvme_dma_resume(FabNvme *nvme)
{
    while (!nvme->waits_for && nvme->orders_head) {
        FabDma *dma = nvme->orders_head;

        nvme->orders_head = dma->next;
        if (!nvme->orders_head) {
            nvme->orders_tail = NULL;
        }
        dma_send(nvme, dma);
    }
}

/* ---- Fetching -------------------------------------------------------- */

/* Fetches entries until no entry or no free slot is left. */
void fab_nvme_entries_fetch(FabNvme *nvme)
{
    unsigned idle = 0; /* queues without an entry, looked at in a row */

    while (idle < nvme->queues->len && nvme->free) {
        FabNvmeQueue *queue = nvme->queues->pdata[nvme->turn];
        FabNvmeSlot *slot = nvme->free;

        nvme->turn = (nvme->turn + 1) % nvme->queues->len;
        if (queue->sq_head == queue->sq_tail) {
            idle++;
            continue;
        }
        idle = 0;
        nvme->free = slot->next;
        slot->queue = queue;
        slot->resets = queue->resets;
        slot->index = queue->sq_head;
        slot->status = 0;
        slot->moved = 0;
        slot->orders = 0;
        slot->is_posted = false;
        slot->has_looked = false;
        queue->is_fetching[slot->index] = true;
        queue->sq_head = (queue->sq_head + 1) % queue->params.entries;
        queue->looks += queue->params.has_shadow;
        slot->fetch.addr =
            queue->params.sq + (FabBusAddr)slot->index * FAB_NVME_SQE_BYTES;
        slot->fetch.flow = queue->params.flow;
        if (queue->params.sq_in_drive) {
            slot->fetch.status = FAB_STATUS_SC;
            fab_nvme_slot_step(
                slot, FAB_NVME_SLOT_FETCHED,
                fab_endpoint_load(nvme->device, FAB_NVME_SQE_BYTES));
        } else {
            fab_nvme_dma_order(nvme, &slot->fetch);
        }
    }
}

void fab_nvme_slot_release(FabNvmeSlot *slot)
{
    FabNvme *nvme = slot->nvme;

    slot->next = nvme->free;
    nvme->free = slot;
    fab_nvme_entries_fetch(nvme);
}

void fab_nvme_fetch_done(FabDma *dma)
{
    FabNvmeSlot *slot = dma->owner;

    fab_nvme_dma_over(slot->nvme, dma);
    fab_nvme_dma_resume(slot->nvme);
    fab_nvme_slot_step(slot, FAB_NVME_SLOT_FETCHED, fab_nvme_now(slot->nvme));
}

void fab_nvme_list_done(FabDma *dma)
{
    FabNvmeSlot *slot = dma->owner;

    fab_nvme_dma_over(slot->nvme, dma);
    fab_nvme_dma_resume(slot->nvme);
    fab_nvme_slot_step(slot, FAB_NVME_SLOT_LISTED, fab_nvme_now(slot->nvme));
}

/* The entry @index is fetched. The driver may write the entries before the
 * first one that is still being fetched again. */
void fab_nvme_entry_fetched(FabNvmeQueue *queue, uint32_t index)
{
    queue->is_fetching[index] = false;
    while (queue->sq_fetched != queue->sq_head &&
           !queue->is_fetching[queue->sq_fetched]) {
        queue->sq_fetched = (queue->sq_fetched + 1) % queue->params.entries;
    }
}

/* ---- Completing ------------------------------------------------------ */

void fab_nvme_slot_order_done(FabNvmeSlot *slot)
{
    if (--slot->orders == 0 && slot->is_posted) {
        fab_nvme_slot_release(slot);
    }
}

void fab_nvme_post_done(FabDma *dma)
{
    fab_nvme_slot_order_done(dma->owner);
}

void fab_nvme_slot_post(FabNvmeSlot *slot)
{
    FabNvmeQueue *queue = slot->queue;
    const FabNvmeQueueParams *params = &queue->params;

    slot->is_posted = true;
    slot->orders += params->interrupt + !params->cq_in_drive;
    slot->cqe.addr =
        params->cq + (FabBusAddr)queue->cq_tail * FAB_NVME_CQE_BYTES;
    slot->cqe.data = queue->sq_fetched | (uint64_t)queue->number << 16 |
                     (uint64_t)slot->sqe.cid << 32 |
                     (uint64_t)queue->phase << 48 |
                     (uint64_t)slot->status << 49;
    slot->cqe.flow = params->flow;
    queue->cq_tail = (queue->cq_tail + 1) % params->entries;
    if (queue->cq_tail == 0) {
        queue->phase = !queue->phase;
    }
    slot->msi.addr = params->msi_addr;
    slot->msi.data = params->msi_data;
    slot->msi.flow = params->flow;
    if (params->cq_in_drive) {
        /* The driver sees it in the next event at the earliest. */
        fab_endpoint_store(slot->nvme->device, slot->cqe.addr,
                           FAB_NVME_CQE_BYTES, slot->cqe.data);
    } else {
        fab_nvme_dma_order(slot->nvme, &slot->cqe);
    }
    if (params->interrupt) {
        fab_nvme_dma_order(slot->nvme, &slot->msi);
    } else if (params->cq_in_drive) {
        fab_nvme_slot_release(slot);
    }
}

bool fab_nvme_cq_is_full(const FabNvmeQueue *queue)
{
    return (queue->cq_tail + 1) % queue->params.entries == queue->cq_head;
}

/* Writes @event to memory, and then reads @look from there. */
void fab_nvme_shadow_access(FabNvmeSlot *slot, FabDma *event, FabDma *look,
                            uint32_t offset)
{
    const FabNvmeQueueParams *params = &slot->queue->params;

    event->addr = params->event + offset;
    event->flow = params->flow;
    look->addr = params->shadow + offset;
    look->flow = params->flow;
    slot->orders += 2;
    fab_nvme_dma_order(slot->nvme, event);
    fab_nvme_dma_order(slot->nvme, look);
}

void fab_nvme_slot_complete(FabNvmeSlot *slot)
{
    if (fab_nvme_is_stale(slot)) {
        slot->is_posted = true;
        slot->orders++;
        fab_nvme_slot_order_done(slot);
    } else if (slot->queue->params.has_shadow && !slot->has_looked) {
        slot->has_looked = true;
        fab_nvme_shadow_access(slot, &slot->head_event, &slot->head_look,
                               FAB_NVME_BELL_BYTES);
    } else if (fab_nvme_cq_is_full(slot->queue)) {
        fab_nvme_list_push(&slot->queue->unposted, slot);
    } else {
        fab_nvme_slot_post(slot);
    }
}

void fab_nvme_head_looked(FabDma *dma)
{
    FabNvmeSlot *slot = dma->owner;

    fab_nvme_dma_over(slot->nvme, dma);
    fab_nvme_slot_complete(slot);
    fab_nvme_slot_order_done(slot);
    fab_nvme_dma_resume(slot->nvme);
}
