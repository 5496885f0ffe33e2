/* SPDX-License-Identifier: MIT */
/* The media of a drive, and the pages that they serve. */
#include "fab_nvme_drive_priv.h"

static uint32_t page_bytes(const FabNvmeSlot *slot, uint32_t page)
{
    uint32_t begin = page * FAB_NVME_PAGE_BYTES;

    return MIN(slot->sqe.size_bytes - begin, FAB_NVME_PAGE_BYTES);
}

/* The media begin to serve the first page that waits. */
static void media_begin(FabNvme *nvme)
{
    const FabNvmeSlot *slot = nvme->media.head;
    uint64_t bandwidth = slot->sqe.write ? nvme->params.write_bandwidth_bytes_s
                                         : nvme->params.read_bandwidth_bytes_s;
    uint64_t work =
        page_bytes(slot, slot->media_done) * (uint64_t)SIM_S + nvme->carry;

    nvme->carry = work % bandwidth;
    sim_event_schedule(&nvme->media_event,
                       fab_nvme_now(nvme) + work / bandwidth);
}

/* Another @pages pages of @slot are ready for the media. */
void fab_nvme_media_add(FabNvmeSlot *slot, uint32_t pages)
{
    FabNvme *nvme = slot->nvme;

    slot->media_todo += pages;
    if (slot->media_todo > pages) {
        return; /* the slot is in the list already */
    }
    fab_nvme_list_push(&nvme->media, slot);
    if (nvme->media.head == slot && !sim_event_is_pending(&nvme->media_event)) {
        media_begin(nvme);
    }
}

static void page_done(FabDma *dma)
{
    FabNvmePage *page = SIM_CONTAINER_OF(dma, FabNvmePage, dma);
    FabNvmeSlot *slot = page->slot;
    FabNvme *nvme = slot->nvme;

    fab_nvme_dma_over(nvme, dma);
    page->next_free = nvme->free_pages;
    nvme->free_pages = page;
    if (dma->status != FAB_STATUS_SC) {
        slot->status = FAB_NVME_DATA_TRANSFER_ERROR;
    }
    slot->orders--;
    if (++slot->moved == slot->pages) {
        fab_nvme_slot_stamp(slot, FAB_NVME_DATA);
    }
    if (slot->sqe.write) {
        fab_nvme_media_add(slot, 1);
    } else if (slot->moved == slot->pages) {
        fab_nvme_slot_complete(slot); /* the entry leaves behind the data */
    }
    fab_nvme_dma_resume(nvme);
}

static FabNvmePage *page_new(FabNvme *nvme)
{
    FabNvmePage *page = nvme->free_pages;

    if (page) {
        nvme->free_pages = page->next_free;
    } else {
        page = g_new0(FabNvmePage, 1);
        page->dma.done = page_done;
        page->dma.kind = FAB_NVME_ORDER_PAGE;
        g_ptr_array_add(nvme->pages, page);
    }
    return page;
}

/* Moves page number @number of @slot to or from the host. */
void fab_nvme_page_move(FabNvmeSlot *slot, uint32_t number)
{
    FabNvmePage *page = page_new(slot->nvme);

    page->slot = slot;
    page->dma.type = slot->sqe.write ? FAB_TLP_MRD : FAB_TLP_MWR;
    page->dma.addr = slot->sqe.prp + (FabBusAddr)number * FAB_NVME_PAGE_BYTES;
    page->dma.size_bytes = page_bytes(slot, number);
    page->dma.flow = slot->queue->params.flow;
    page->dma.metered = slot->queue->params.metered;
    slot->orders++;
    fab_nvme_dma_order(slot->nvme, &page->dma);
}

SimTime fab_nvme_media_latency(FabNvme *nvme, SimTime least)
{
    return least + sim_random_below(&nvme->random, nvme->params.jitter + 1);
}

void fab_nvme_media_event(SimEvent *event)
{
    FabNvme *nvme = SIM_CONTAINER_OF(event, FabNvme, media_event);
    FabNvmeSlot *slot = fab_nvme_list_pop(&nvme->media);
    uint32_t page = slot->media_done++;
    bool is_last = slot->media_done == slot->pages;

    if (--slot->media_todo > 0) {
        fab_nvme_list_push(&nvme->media, slot);
    }
    if (nvme->media.head) {
        media_begin(nvme);
    }
    if (slot->sqe.write) {
        if (is_last) {
            fab_nvme_slot_step(
                slot, FAB_NVME_SLOT_WRITTEN,
                event->time +
                    fab_nvme_media_latency(nvme, nvme->params.write_latency));
        }
        return;
    }
    if (is_last) {
        fab_nvme_slot_stamp(slot, FAB_NVME_MEDIA);
    }
    fab_nvme_page_move(slot, page);
}
