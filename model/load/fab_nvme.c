/* SPDX-License-Identifier: MIT */
#include "fab_nvme_priv.h"

#include <string.h>

#include "fab_lend.h"
#include "sim_engine.h"
#include "sim_random.h"

#define BELLS_OFFSET 0x1000u

/*
 * A command passes these steps: the fetch of its entry, the fetch of its PRP
 * list, and the controller, which takes one command after the other. A read
 * then waits for the latency of the media. After that the media serve its pages
 * one by one, and the drive writes each page to the host at once. A write
 * fetches its data, the media take its pages one by one, and their latency
 * follows. The media serve the commands in turn, page by page.
 *
 * With shadow doorbells the controller reads the tail from memory before it
 * fetches entries, and the head before it writes a completion entry. After each
 * fetch it says in memory up to where it has seen the tail, and reads the tail
 * again. So does the emulated drive of QEMU. A doorbell for which it looks
 * anyway does not make it look once more.
 *
 * A serial controller waits for each entry, list and shadow doorbell, and until
 * the data of a read are on the wire. It orders no other DMA meanwhile.
 */
typedef struct Slot Slot;

/* A read of the shadow of a tail. */
typedef struct TailLook {
    FabDma dma;
    FabNvmeQueue *queue;
    Slot *slot;      /* that it follows the fetch of; NULL: none */
    uint64_t rung;   /* FabNvmeQueue.rung when it began */
    uint32_t resets; /* resets of the queue when it was ordered */
} TailLook;

/* A page on its way to or from the host. */
typedef struct Page {
    FabDma dma;
    Slot *slot;
    struct Page *next_free;
} Page;

/* A command the drive works on. */
struct Slot {
    FabNvme *nvme;
    Slot *next; /* in the list of free slots, of the media, or of a full CQ */
    FabNvmeQueue *queue;
    uint32_t resets; /* resets of the queue when the fetch began */
    uint32_t index;  /* index of its entry in the SQ */
    FabNvmeSqe sqe;
    SimEvent event;
    enum {
        SLOT_FETCHED,
        SLOT_LISTED,
        SLOT_ACCEPTED,
        SLOT_READY,
        SLOT_WRITTEN
    } step;
    FabDma fetch, list, cqe, msi;
    FabDma tail_event, head_event, head_look; /* shadow doorbells */
    TailLook tail_look;
    bool has_looked; /* it has read the head */
    uint32_t pages;
    uint32_t moved;      /* pages that the DMA engine has moved */
    uint32_t media_done; /* pages that the media have served */
    uint32_t media_todo; /* further pages that the media may serve now */
    uint32_t orders;     /* orders to the DMA engine that are not done */
    uint16_t status;
    bool is_posted; /* the engine has its completion entry, or it gets none */
};

typedef struct SlotList {
    Slot *head, *tail;
} SlotList;

struct FabNvmeQueue {
    FabNvme *nvme;
    FabNvmeQueueParams params;
    uint32_t number; /* from 1 */
    unsigned watch;  /* handle of the watch on the doorbells */
    uint32_t resets; /* number of resets so far */
    uint32_t sq_tail, sq_head;
    /* Entries up to the tail in the last doorbell, and up to that in the
     * shadow, since the last reset. */
    uint64_t rung, seen;
    uint32_t looks; /* reads of the shadow under way, or to come */
    TailLook look;  /* without the fetch of an entry before it */
    bool is_looking;
    uint32_t sq_fetched; /* the driver may write entries before this again */
    bool *is_fetching;   /* by entry: its fetch is under way */
    uint32_t cq_tail, cq_head;
    bool phase;
    SlotList unposted; /* completed commands, while the CQ is full */
};

struct FabNvme {
    FabEndpoint *device;
    FabNvmeParams params;
    SimEngine *engine;
    SimRandom random;
    unsigned refs;
    GPtrArray *queues; /* owned */
    unsigned turn;     /* queue whose entry is fetched next */
    Slot *slots;
    Slot *free;
    Page *free_pages;
    GPtrArray *pages;  /* all of them, owned */
    FabDma *waits_for; /* order for which a serial controller waits */
    FabDma *orders_head, *orders_tail; /* that wait for its end */
    SimTime accept_free; /* when the controller can take the next command */
    uint64_t next_block; /* first block after the last read */
    SlotList media;      /* commands with pages for the media */
    SimEvent media_event;
    uint64_t carry; /* fraction of the media's time, in 1 / bandwidth ps */
};

static SimTime nvme_now(const FabNvme *nvme)
{
    return sim_engine_now(nvme->engine);
}

static void list_push(SlotList *list, Slot *slot)
{
    slot->next = NULL;
    if (list->tail) {
        list->tail->next = slot;
    } else {
        list->head = slot;
    }
    list->tail = slot;
}

static Slot *list_pop(SlotList *list)
{
    Slot *slot = list->head;

    list->head = slot->next;
    if (!list->head) {
        list->tail = NULL;
    }
    return slot;
}

static bool is_stale(const Slot *slot)
{
    return slot->resets != slot->queue->resets;
}

static void slot_stamp(Slot *slot, FabNvmeStage stage)
{
    if (!is_stale(slot)) {
        slot->sqe.stamps->at[stage] = nvme_now(slot->nvme);
    }
}

static void slot_step(Slot *slot, int step, SimTime time)
{
    slot->step = step;
    sim_event_schedule(&slot->event, time);
}

/* ---- Orders to the DMA engine ---------------------------------------- */

/* FabDma.kind of the orders of which the controller tells the kind. */
enum {
    ORDER_PAGE = 1,  /* of a Page */
    ORDER_TAIL_LOOK, /* of a TailLook */
};

static void tail_looked(FabDma *dma);
static void page_done(FabDma *dma);

static bool is_waited_for(const FabNvme *nvme, const FabDma *dma)
{
    bool is_page = dma->kind == ORDER_PAGE;

    return nvme->params.serial &&
           (dma->type == FAB_TLP_MWR ? is_page : !is_page);
}

static void dma_send(FabNvme *nvme, FabDma *dma)
{
    if (dma->kind == ORDER_TAIL_LOOK) {
        TailLook *look = SIM_CONTAINER_OF(dma, TailLook, dma);

        look->rung = look->queue->rung;
    }
    if (is_waited_for(nvme, dma)) {
        nvme->waits_for = dma;
    }
    fab_endpoint_dma(nvme->device, dma);
}

static void dma_order(FabNvme *nvme, FabDma *dma)
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
static void dma_over(FabNvme *nvme, const FabDma *dma)
{
    if (nvme->waits_for == dma) {
        nvme->waits_for = NULL;
    }
}

/* Gives the engine the orders that have waited. */
static void dma_resume(FabNvme *nvme)
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
static void entries_fetch(FabNvme *nvme)
{
    unsigned idle = 0; /* queues without an entry, looked at in a row */

    while (idle < nvme->queues->len && nvme->free) {
        FabNvmeQueue *queue = nvme->queues->pdata[nvme->turn];
        Slot *slot = nvme->free;

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
        slot->media_done = 0;
        slot->media_todo = 0;
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
            slot_step(slot, SLOT_FETCHED,
                      fab_endpoint_load(nvme->device, FAB_NVME_SQE_BYTES));
        } else {
            dma_order(nvme, &slot->fetch);
        }
    }
}

static void slot_release(Slot *slot)
{
    FabNvme *nvme = slot->nvme;

    slot->next = nvme->free;
    nvme->free = slot;
    entries_fetch(nvme);
}

static void fetch_done(FabDma *dma)
{
    Slot *slot = dma->owner;

    dma_over(slot->nvme, dma);
    dma_resume(slot->nvme);
    slot_step(slot, SLOT_FETCHED, nvme_now(slot->nvme));
}

static void list_done(FabDma *dma)
{
    Slot *slot = dma->owner;

    dma_over(slot->nvme, dma);
    dma_resume(slot->nvme);
    slot_step(slot, SLOT_LISTED, nvme_now(slot->nvme));
}

/* The entry @index is fetched. The driver may write the entries before the
 * first one that is still being fetched again. */
static void entry_fetched(FabNvmeQueue *queue, uint32_t index)
{
    queue->is_fetching[index] = false;
    while (queue->sq_fetched != queue->sq_head &&
           !queue->is_fetching[queue->sq_fetched]) {
        queue->sq_fetched = (queue->sq_fetched + 1) % queue->params.entries;
    }
}

/* ---- Completing ------------------------------------------------------ */

static void slot_order_done(Slot *slot)
{
    if (--slot->orders == 0 && slot->is_posted) {
        slot_release(slot);
    }
}

static void post_done(FabDma *dma)
{
    slot_order_done(dma->owner);
}

static void slot_post(Slot *slot)
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
        dma_order(slot->nvme, &slot->cqe);
    }
    if (params->interrupt) {
        dma_order(slot->nvme, &slot->msi);
    } else if (params->cq_in_drive) {
        slot_release(slot);
    }
}

static bool cq_is_full(const FabNvmeQueue *queue)
{
    return (queue->cq_tail + 1) % queue->params.entries == queue->cq_head;
}

/* Writes @event to memory, and then reads @look from there. */
static void shadow_access(Slot *slot, FabDma *event, FabDma *look,
                          uint32_t offset)
{
    const FabNvmeQueueParams *params = &slot->queue->params;

    event->addr = params->event + offset;
    event->flow = params->flow;
    look->addr = params->shadow + offset;
    look->flow = params->flow;
    slot->orders += 2;
    dma_order(slot->nvme, event);
    dma_order(slot->nvme, look);
}

static void slot_complete(Slot *slot)
{
    if (is_stale(slot)) {
        slot->is_posted = true;
        slot->orders++;
        slot_order_done(slot);
    } else if (slot->queue->params.has_shadow && !slot->has_looked) {
        slot->has_looked = true;
        shadow_access(slot, &slot->head_event, &slot->head_look,
                      FAB_NVME_BELL_BYTES);
    } else if (cq_is_full(slot->queue)) {
        list_push(&slot->queue->unposted, slot);
    } else {
        slot_post(slot);
    }
}

static void head_looked(FabDma *dma)
{
    Slot *slot = dma->owner;

    dma_over(slot->nvme, dma);
    slot_complete(slot);
    slot_order_done(slot);
    dma_resume(slot->nvme);
}

/* ---- Media and data -------------------------------------------------- */

static uint32_t page_bytes(const Slot *slot, uint32_t page)
{
    uint32_t begin = page * FAB_NVME_PAGE_BYTES;

    return MIN(slot->sqe.size_bytes - begin, FAB_NVME_PAGE_BYTES);
}

/* The media begin to serve the first page that waits. */
static void media_begin(FabNvme *nvme)
{
    const Slot *slot = nvme->media.head;
    uint64_t bandwidth = slot->sqe.write ? nvme->params.write_bandwidth_bytes_s
                                         : nvme->params.read_bandwidth_bytes_s;
    uint64_t work =
        page_bytes(slot, slot->media_done) * (uint64_t)SIM_S + nvme->carry;

    nvme->carry = work % bandwidth;
    sim_event_schedule(&nvme->media_event, nvme_now(nvme) + work / bandwidth);
}

/* Another @pages pages of @slot are ready for the media. */
static void media_add(Slot *slot, uint32_t pages)
{
    FabNvme *nvme = slot->nvme;

    slot->media_todo += pages;
    if (slot->media_todo > pages) {
        return; /* the slot is in the list already */
    }
    list_push(&nvme->media, slot);
    if (nvme->media.head == slot && !sim_event_is_pending(&nvme->media_event)) {
        media_begin(nvme);
    }
}

static void page_done(FabDma *dma)
{
    Page *page = SIM_CONTAINER_OF(dma, Page, dma);
    Slot *slot = page->slot;
    FabNvme *nvme = slot->nvme;

    dma_over(nvme, dma);
    page->next_free = nvme->free_pages;
    nvme->free_pages = page;
    if (dma->status != FAB_STATUS_SC) {
        slot->status = FAB_NVME_DATA_TRANSFER_ERROR;
    }
    slot->orders--;
    if (++slot->moved == slot->pages) {
        slot_stamp(slot, FAB_NVME_DATA);
    }
    if (slot->sqe.write) {
        media_add(slot, 1);
    } else if (slot->moved == slot->pages) {
        slot_complete(slot); /* the entry leaves behind the data */
    }
    dma_resume(nvme);
}

static Page *page_new(FabNvme *nvme)
{
    Page *page = nvme->free_pages;

    if (page) {
        nvme->free_pages = page->next_free;
    } else {
        page = g_new0(Page, 1);
        page->dma.done = page_done;
        page->dma.kind = ORDER_PAGE;
        g_ptr_array_add(nvme->pages, page);
    }
    return page;
}

/* Moves page number @number of @slot to or from the host. */
static void page_move(Slot *slot, uint32_t number)
{
    Page *page = page_new(slot->nvme);

    page->slot = slot;
    page->dma.type = slot->sqe.write ? FAB_TLP_MRD : FAB_TLP_MWR;
    page->dma.addr = slot->sqe.prp + (FabBusAddr)number * FAB_NVME_PAGE_BYTES;
    page->dma.size_bytes = page_bytes(slot, number);
    page->dma.flow = slot->queue->params.flow;
    page->dma.metered = slot->queue->params.metered;
    slot->orders++;
    dma_order(slot->nvme, &page->dma);
}

static SimTime media_latency(FabNvme *nvme, SimTime least)
{
    return least + sim_random_below(&nvme->random, nvme->params.jitter + 1);
}

static void media_event(SimEvent *event)
{
    FabNvme *nvme = SIM_CONTAINER_OF(event, FabNvme, media_event);
    Slot *slot = list_pop(&nvme->media);
    uint32_t page = slot->media_done++;
    bool is_last = slot->media_done == slot->pages;

    if (--slot->media_todo > 0) {
        list_push(&nvme->media, slot);
    }
    if (nvme->media.head) {
        media_begin(nvme);
    }
    if (slot->sqe.write) {
        if (is_last) {
            slot_step(slot, SLOT_WRITTEN,
                      event->time +
                          media_latency(nvme, nvme->params.write_latency));
        }
        return;
    }
    if (is_last) {
        slot_stamp(slot, FAB_NVME_MEDIA);
    }
    page_move(slot, page);
}

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
    dma_order(queue->nvme, &queue->look.dma);
}

/* The PRP list is there. The controller takes the command when it is done with
 * the one before. */
static void slot_listed(Slot *slot)
{
    FabNvme *nvme = slot->nvme;

    slot_stamp(slot, FAB_NVME_LIST);
    if (slot->list.status != FAB_STATUS_SC) {
        slot->status = FAB_NVME_DATA_TRANSFER_ERROR;
        slot_stamp(slot, FAB_NVME_MEDIA);
        slot_stamp(slot, FAB_NVME_DATA);
        slot_complete(slot);
        return;
    }
    nvme->accept_free =
        MAX(nvme->accept_free, nvme_now(nvme)) + nvme->params.overhead;
    slot_step(slot, SLOT_ACCEPTED, nvme->accept_free);
}

static void slot_fetched(Slot *slot)
{
    FabNvmeQueue *queue = slot->queue;
    uint32_t list_bytes;

    if (is_stale(slot)) {
        slot_complete(slot);
        return;
    }
    if (slot->fetch.status != FAB_STATUS_SC) {
        /* The controller does not know the command, so it cannot complete
         * it. */
        entry_fetched(queue, slot->index);
        queue->looks -= queue->params.has_shadow;
        slot_release(slot);
        tail_look(queue);
        return;
    }
    slot->sqe = queue->params.sqes[slot->index];
    slot->pages = fab_nvme_pages(slot->sqe.size_bytes);
    entry_fetched(queue, slot->index);
    slot_stamp(slot, FAB_NVME_FETCH);
    if (queue->params.has_shadow) {
        slot->tail_look.queue = queue;
        slot->tail_look.resets = queue->resets;
        shadow_access(slot, &slot->tail_event, &slot->tail_look.dma, 0);
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
        slot_step(slot, SLOT_LISTED,
                  fab_endpoint_load(slot->nvme->device, list_bytes));
    } else {
        dma_order(slot->nvme, &slot->list);
    }
}

static void slot_accepted(Slot *slot)
{
    FabNvme *nvme = slot->nvme;
    const FabNvmeSqe *sqe = &slot->sqe;
    bool is_next = sqe->block == nvme->next_block;

    if (sqe->write) {
        for (uint32_t i = 0; i < slot->pages; i++) {
            page_move(slot, i);
        }
        return;
    }
    nvme->next_block = sqe->block + sqe->size_bytes / nvme->params.block_bytes;
    if (nvme->params.read_ahead && is_next) {
        slot_step(slot, SLOT_READY, nvme_now(nvme));
    } else {
        slot_step(slot, SLOT_READY,
                  nvme_now(nvme) +
                      media_latency(nvme, nvme->params.read_latency));
    }
}

static void slot_event(SimEvent *event)
{
    Slot *slot = SIM_CONTAINER_OF(event, Slot, event);

    switch (slot->step) {
    case SLOT_FETCHED:
        slot_fetched(slot);
        break;
    case SLOT_LISTED:
        slot_listed(slot);
        break;
    case SLOT_ACCEPTED:
        slot_accepted(slot);
        break;
    case SLOT_READY:
        media_add(slot, slot->pages);
        break;
    case SLOT_WRITTEN:
        slot_stamp(slot, FAB_NVME_MEDIA);
        slot_complete(slot);
        break;
    }
}

/* ---- Doorbells ------------------------------------------------------- */

static void tail_looked(FabDma *dma)
{
    TailLook *look = SIM_CONTAINER_OF(dma, TailLook, dma);
    FabNvmeQueue *queue = look->queue;
    FabNvme *nvme = queue->nvme;

    dma_over(nvme, dma);
    if (look->resets == queue->resets) {
        queue->looks--;
        queue->seen = MAX(queue->seen, look->rung);
        queue->sq_tail = (uint32_t)(queue->seen % queue->params.entries);
    }
    if (look->slot) {
        slot_order_done(look->slot);
    } else {
        queue->is_looking = false;
    }
    entries_fetch(nvme);
    tail_look(queue);
    dma_resume(nvme);
}

static void bell_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    FabNvmeQueue *queue = owner;
    const FabComponent *device = fab_endpoint_component(queue->nvme->device);
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
                .stamps->at[FAB_NVME_DOORBELL] = nvme_now(queue->nvme);
        }
        if (queue->params.has_shadow) {
            tail_look(queue);
        } else {
            queue->sq_tail = value;
            entries_fetch(queue->nvme);
        }
        return;
    }
    queue->cq_head = value;
    while (queue->unposted.head && !cq_is_full(queue)) {
        slot_post(list_pop(&queue->unposted));
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
    const FabComponent *device = fab_endpoint_component(nvme->device);
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
                               .kind = ORDER_TAIL_LOOK,
                               .done = tail_looked};
    queue->watch = fab_endpoint_watch(
        nvme->device, device->bars[0].addr + fab_nvme_next_bells(nvme),
        2 * FAB_NVME_BELL_BYTES, bell_seen, queue);
    g_ptr_array_add(nvme->queues, queue);
    queue->number = nvme->queues->len;
    lend = fab_lend_of(nvme->device);
    if (params->interrupt && lend) {
        fab_lend_set_interrupt(lend, interrupt_take, nvme);
        fab_lend_msi(lend, queue->number, &queue->params.msi_addr,
                     &queue->params.msi_data);
    }
    return queue;
}

void fab_nvme_queue_reset(FabNvmeQueue *queue)
{
    SlotList unposted = queue->unposted;

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
    queue->unposted = (SlotList){NULL, NULL};
    while (unposted.head) {
        slot_complete(list_pop(&unposted));
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

static void slot_init(FabNvme *nvme, Slot *slot)
{
    const FabComponent *device = fab_endpoint_component(nvme->device);

    slot->nvme = nvme;
    sim_event_init(&slot->event, nvme->engine, slot_event, SIM_PRIORITY_NORMAL,
                   device->rank);
    slot->fetch = (FabDma){.type = FAB_TLP_MRD,
                           .size_bytes = FAB_NVME_SQE_BYTES,
                           .done = fetch_done,
                           .owner = slot};
    slot->list = slot->fetch;
    slot->list.done = list_done;
    slot->cqe = (FabDma){.type = FAB_TLP_MWR,
                         .size_bytes = FAB_NVME_CQE_BYTES,
                         .done = post_done,
                         .owner = slot};
    slot->msi = slot->cqe;
    slot->msi.size_bytes = FAB_NVME_BELL_BYTES;
    slot->tail_event = slot->msi;
    slot->head_event = slot->msi;
    slot->head_look = slot->msi;
    slot->head_look.type = FAB_TLP_MRD;
    slot->head_look.done = head_looked;
    slot->tail_look.slot = slot;
    slot->tail_look.dma = slot->head_look;
    slot->tail_look.dma.done = tail_looked;
    slot->tail_look.dma.kind = ORDER_TAIL_LOOK;
    slot->next = nvme->free;
    nvme->free = slot;
}

FabNvme *fab_nvme_ref(FabNvme *peer, FabEndpoint *device,
                      const FabNvmeParams *params)
{
    FabComponent *component = fab_endpoint_component(device);
    g_autofree char *stream = NULL;
    FabNvme *nvme = peer;

    if (peer) {
        peer->refs++;
        return peer;
    }
    nvme = g_new0(FabNvme, 1);
    nvme->device = device;
    nvme->params = *params;
    nvme->engine = component->engine;
    nvme->refs = 1;
    stream = g_strconcat(component->name, ".media", NULL);
    sim_random_init(&nvme->random, component->fabric->seed, stream);
    nvme->queues = g_ptr_array_new_with_free_func(queue_free);
    nvme->pages = g_ptr_array_new_with_free_func(g_free);
    nvme->next_block = UINT64_MAX;
    sim_event_init(&nvme->media_event, nvme->engine, media_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    nvme->slots = g_new0(Slot, params->commands);
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
