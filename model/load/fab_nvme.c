/* SPDX-License-Identifier: MIT */
#include "fab_nvme_drive_priv.h"

#include <string.h>

#include "fab_lend.h"

#define BELLS_OFFSET 0x1000u

/* ---- Commands -------------------------------------------------------- */

/* Reads the shadow of the tail, if it has changed, and the controller does not
 * look anyway. */
static void tail_look(FabNvmeQueue *queue)
{
    if (queue->is_looking || queue->looks > 0 || queue->seen == queue->rung ||
        queue->sq_head != queue->sq_tail) {
        return;
    }
    queue->is_looking = true;
    queue->looks++;
    queue->look.resets = queue->resets;
    fab_nvme_dma_order(queue->nvme, &queue->look.dma);
}

/* The PRP list is there. The controller takes the command when it is done with
 * the one before. */
static void slot_listed(FabNvmeSlot *slot)
{
    FabNvme *nvme = slot->nvme;

    fab_nvme_slot_stamp(slot, FAB_NVME_LIST);
    if (slot->list.status != FAB_STATUS_SC) {
        slot->status = FAB_NVME_DATA_TRANSFER_ERROR;
        fab_nvme_slot_stamp(slot, FAB_NVME_MEDIA);
        fab_nvme_slot_stamp(slot, FAB_NVME_DATA);
        fab_nvme_slot_complete(slot);
        return;
    }
    fab_nvme_slot_step(slot, FAB_NVME_SLOT_ACCEPTED,
                       fab_drive_accept(&nvme->drive, fab_nvme_now(nvme)));
}

static void slot_fetched(FabNvmeSlot *slot)
{
    FabNvmeQueue *queue = slot->queue;
    uint32_t list_bytes;

    if (fab_nvme_is_stale(slot)) {
        fab_nvme_slot_complete(slot);
        return;
    }
    if (slot->fetch.status != FAB_STATUS_SC) {
        /* The controller does not know the command, so it cannot complete
         * it. */
        fab_nvme_entry_fetched(queue, slot->index);
        queue->looks -= queue->params.has_shadow;
        fab_nvme_slot_release(slot);
        tail_look(queue);
        return;
    }
    slot->sqe = queue->params.sqes[slot->index];
    slot->pages = fab_nvme_pages(slot->sqe.size_bytes);
    slot->work = (FabDriveWork){.size_bytes = slot->sqe.size_bytes,
                                .is_write = slot->sqe.write};
    fab_nvme_entry_fetched(queue, slot->index);
    fab_nvme_slot_stamp(slot, FAB_NVME_FETCH);
    if (queue->params.has_shadow) {
        slot->tail_look.queue = queue;
        slot->tail_look.resets = queue->resets;
        fab_nvme_shadow_access(slot, &slot->tail_event, &slot->tail_look.dma,
                               0);
    }
    list_bytes = fab_nvme_list_bytes(slot->sqe.size_bytes);
    if (list_bytes == 0) {
        slot->list.status = FAB_STATUS_SC;
        slot_listed(slot);
        return;
    }
    slot->list.addr = slot->sqe.list;
    slot->list.size_bytes = list_bytes;
    slot->list.flow = queue->params.flow;
    if (queue->params.lists_in_drive) {
        slot->list.status = FAB_STATUS_SC;
        fab_nvme_slot_step(slot, FAB_NVME_SLOT_LISTED,
                           fab_endpoint_load(slot->nvme->device, list_bytes));
    } else {
        fab_nvme_dma_order(slot->nvme, &slot->list);
    }
}

static void slot_accepted(FabNvmeSlot *slot)
{
    FabNvme *nvme = slot->nvme;
    const FabNvmeSqe *sqe = &slot->sqe;
    bool is_next = sqe->block == nvme->next_block;

    if (sqe->write) {
        for (uint32_t i = 0; i < slot->pages; i++) {
            fab_nvme_page_move(slot, i);
        }
        return;
    }
    nvme->next_block = sqe->block + sqe->size_bytes / nvme->params.block_bytes;
    if (nvme->params.read_ahead && is_next) {
        fab_nvme_slot_step(slot, FAB_NVME_SLOT_READY, fab_nvme_now(nvme));
    } else {
        fab_nvme_slot_step(slot, FAB_NVME_SLOT_READY,
                           fab_nvme_now(nvme) +
                               fab_nvme_media_latency(nvme, false));
    }
}

static void slot_event(SimEvent *event)
{
    FabNvmeSlot *slot = SIM_CONTAINER_OF(event, FabNvmeSlot, event);

    switch (slot->step) {
    case FAB_NVME_SLOT_FETCHED:
        slot_fetched(slot);
        break;
    case FAB_NVME_SLOT_LISTED:
        slot_listed(slot);
        break;
    case FAB_NVME_SLOT_ACCEPTED:
        slot_accepted(slot);
        break;
    case FAB_NVME_SLOT_READY:
        fab_nvme_media_add(slot, slot->pages);
        break;
    case FAB_NVME_SLOT_WRITTEN:
        fab_nvme_slot_stamp(slot, FAB_NVME_MEDIA);
        fab_nvme_slot_complete(slot);
        break;
    }
}

/* ---- Doorbells ------------------------------------------------------- */

static void tail_looked(FabDma *dma)
{
    FabNvmeTailLook *look = SIM_CONTAINER_OF(dma, FabNvmeTailLook, dma);
    FabNvmeQueue *queue = look->queue;
    FabNvme *nvme = queue->nvme;

    fab_nvme_dma_over(nvme, dma);
    if (look->resets == queue->resets) {
        queue->looks--;
        queue->seen = MAX(queue->seen, look->rung);
        queue->sq_tail = (uint32_t)(queue->seen % queue->params.entries);
    }
    if (look->slot) {
        fab_nvme_slot_order_done(look->slot);
    } else {
        queue->is_looking = false;
    }
    fab_nvme_entries_fetch(nvme);
    tail_look(queue);
    fab_nvme_dma_resume(nvme);
}

static void bell_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNvmeQueue *queue = owner;
    const FabComponent *device = fab_endpoint_component(queue->params.function);
    FabBusAddr bells = device->bars[0].addr + BELLS_OFFSET +
                       (FabBusAddr)queue->number * 2 * FAB_NVME_BELL_BYTES;
    uint32_t value = (uint32_t)data;

    if (data != fab_nvme_bell(queue->resets, value) ||
        value >= queue->params.entries) {
        return;
    }
    if (addr == bells) {
        uint32_t entries = queue->params.entries;

        while (queue->rung % entries != value) {
            queue->params.sqes[queue->rung++ % entries]
                .stamps->at[FAB_NVME_DOORBELL] = fab_nvme_now(queue->nvme);
        }
        if (queue->params.has_shadow) {
            tail_look(queue);
        } else {
            queue->sq_tail = value;
            fab_nvme_entries_fetch(queue->nvme);
        }
        return;
    }
    queue->cq_head = value;
    while (queue->unposted.head && !fab_nvme_cq_is_full(queue)) {
        fab_nvme_slot_post(fab_nvme_list_pop(&queue->unposted));
    }
}

/* ---- Life ------------------------------------------------------------ */

uint64_t fab_nvme_next_bells(const FabNvme *nvme)
{
    unsigned number = nvme ? nvme->queues->len + 1 : 1;

    return BELLS_OFFSET + (uint64_t)number * 2 * FAB_NVME_BELL_BYTES;
}

/* A lend has one handler for all vectors. The vector is the number of the
 * queue.
 */
static void interrupt_take(void *owner, unsigned vector)
{
    const FabNvme *nvme = owner;

    if (vector >= 1 && vector <= nvme->queues->len) {
        const FabNvmeQueue *queue = nvme->queues->pdata[vector - 1];

        queue->params.handler(queue->params.handler_owner);
    }
}

FabNvmeQueue *fab_nvme_queue_new(FabNvme *nvme,
                                 const FabNvmeQueueParams *params)
{
    FabNvmeQueue *queue = g_new0(FabNvmeQueue, 1);
    const FabComponent *device = fab_endpoint_component(params->function);
    FabLend *lend;

    queue->nvme = nvme;
    queue->params = *params;
    queue->is_fetching = g_new0(bool, params->entries);
    queue->phase = true;
    queue->look.queue = queue;
    queue->look.dma = (FabDma){.type = FAB_TLP_MRD,
                               .addr = params->shadow,
                               .size_bytes = FAB_NVME_BELL_BYTES,
                               .flow = params->flow,
                               .kind = FAB_NVME_ORDER_TAIL_LOOK,
                               .done = tail_looked};
    queue->watch = fab_endpoint_watch(
        nvme->device, device->bars[0].addr + fab_nvme_next_bells(nvme),
        2 * FAB_NVME_BELL_BYTES, bell_seen, queue);
    g_ptr_array_add(nvme->queues, queue);
    queue->number = nvme->queues->len;
    lend = fab_lend_of(params->function);
    if (params->interrupt && lend) {
        fab_lend_set_interrupt(lend, interrupt_take, nvme);
        fab_lend_msi(lend, queue->number, &queue->params.msi_addr,
                     &queue->params.msi_data);
    }
    return queue;
}

void fab_nvme_queue_reset(FabNvmeQueue *queue)
{
    FabNvmeSlots unposted = queue->unposted;

    queue->resets++;
    queue->sq_tail = 0;
    queue->rung = 0;
    queue->seen = 0;
    queue->looks = 0;
    queue->sq_head = 0;
    queue->sq_fetched = 0;
    queue->cq_tail = 0;
    queue->cq_head = 0;
    queue->phase = true;
    memset(queue->is_fetching, 0, queue->params.entries * sizeof(bool));
    queue->unposted = (FabNvmeSlots){NULL, NULL};
    while (unposted.head) {
        fab_nvme_slot_complete(fab_nvme_list_pop(&unposted));
    }
}

uint32_t fab_nvme_queue_number(const FabNvmeQueue *queue)
{
    return queue->number;
}

static void queue_free(void *data)
{
    FabNvmeQueue *queue = data;

    fab_endpoint_unwatch(queue->nvme->device, queue->watch);
    g_free(queue->is_fetching);
    g_free(queue);
}

static void slot_init(FabNvme *nvme, FabNvmeSlot *slot)
{
    const FabComponent *device = fab_endpoint_component(nvme->device);

    slot->nvme = nvme;
    sim_event_init(&slot->event, nvme->engine, slot_event, SIM_PRIORITY_NORMAL,
                   device->rank);
    slot->fetch = (FabDma){.type = FAB_TLP_MRD,
                           .size_bytes = FAB_NVME_SQE_BYTES,
                           .done = fab_nvme_fetch_done,
                           .owner = slot};
    slot->list = slot->fetch;
    slot->list.done = fab_nvme_list_done;
    slot->cqe = (FabDma){.type = FAB_TLP_MWR,
                         .size_bytes = FAB_NVME_CQE_BYTES,
                         .done = fab_nvme_post_done,
                         .owner = slot};
    slot->msi = slot->cqe;
    slot->msi.size_bytes = FAB_NVME_BELL_BYTES;
    slot->tail_event = slot->msi;
    slot->head_event = slot->msi;
    slot->head_look = slot->msi;
    slot->head_look.type = FAB_TLP_MRD;
    slot->head_look.done = fab_nvme_head_looked;
    slot->tail_look.slot = slot;
    slot->tail_look.dma = slot->head_look;
    slot->tail_look.dma.done = tail_looked;
    slot->tail_look.dma.kind = FAB_NVME_ORDER_TAIL_LOOK;
    slot->next = nvme->free;
    nvme->free = slot;
}

FabNvme *fab_nvme_ref(FabNvme *peer, FabEndpoint *device,
                      const FabNvmeParams *params)
{
    FabComponent *component;
    g_autofree char *stream = NULL;
    FabNvme *nvme = peer;

    if (peer) {
        peer->refs++;
        return peer;
    }
    nvme = g_new0(FabNvme, 1);
    nvme->device = fab_endpoint_device(device);
    component = fab_endpoint_component(nvme->device);
    nvme->params = *params;
    nvme->drive.times = (FabDriveTimes){
        .overhead = params->overhead,
        .read_latency = params->read_latency,
        .write_latency = params->write_latency,
        .jitter = params->jitter,
        .read_bytes_s = (int64_t)params->read_bandwidth_bytes_s,
        .write_bytes_s = (int64_t)params->write_bandwidth_bytes_s,
    };
    nvme->engine = component->engine;
    nvme->refs = 1;
    stream = g_strconcat(component->name, ".media", NULL);
    sim_random_init(&nvme->random, component->fabric->seed, stream);
    nvme->queues = g_ptr_array_new_with_free_func(queue_free);
    nvme->pages = g_ptr_array_new_with_free_func(g_free);
    nvme->next_block = UINT64_MAX;
    sim_event_init(&nvme->media_event, nvme->engine, fab_nvme_media_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    nvme->slots = g_new0(FabNvmeSlot, params->commands);
    for (uint32_t i = params->commands; i-- > 0;) {
        slot_init(nvme, &nvme->slots[i]);
    }
    return nvme;
}

void fab_nvme_unref(FabNvme *nvme)
{
    if (--nvme->refs > 0) {
        return;
    }
    for (uint32_t i = 0; i < nvme->params.commands; i++) {
        sim_event_cancel(&nvme->slots[i].event);
    }
    sim_event_cancel(&nvme->media_event);
    g_ptr_array_unref(nvme->queues);
    g_ptr_array_unref(nvme->pages);
    g_free(nvme->slots);
    g_free(nvme);
}

FabEndpoint *fab_nvme_device(const FabNvme *nvme)
{
    return nvme->device;
}

const FabNvmeParams *fab_nvme_params(const FabNvme *nvme)
{
    return &nvme->params;
}
