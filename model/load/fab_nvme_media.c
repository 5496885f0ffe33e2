/* SPDX-License-Identifier: MIT */
/* The media of a drive, and the pages that they serve. */
#include "fab_nvme_drive_priv.h"

/* The media begin to serve the page whose turn it is. */
static void media_begin(FabNvme *nvme)
{
    SimTime end =
        fab_drive_begin(&nvme->drive, fab_nvme_now(nvme), &nvme->carry);

    if (end != FAB_DRIVE_IDLE) {
        sim_event_schedule(&nvme->media_event, end);
    }
}

/* Another @pages pages of @slot are ready for the media. */
void fab_nvme_media_add(FabNvmeSlot *slot, uint32_t pages)
{
    if (fab_drive_add(&slot->nvme->drive, &slot->work, pages)) {
        media_begin(slot->nvme);
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
    page->dma.size_bytes = fab_drive_page_bytes(&slot->work, number);
    page->dma.flow = slot->queue->params.flow;
    page->dma.metered = slot->queue->params.metered;
    slot->orders++;
    fab_nvme_dma_order(slot->nvme, &page->dma);
}

SimTime fab_nvme_media_latency(FabNvme *nvme, bool is_write)
{
    return fab_drive_latency(
        &nvme->drive, is_write,
        sim_random_below(&nvme->random, nvme->params.jitter + 1));
}

void fab_nvme_media_event(SimEvent *event)
{
    FabNvme *nvme = SIM_CONTAINER_OF(event, FabNvme, media_event);
    FabNvmeSlot *slot =
        SIM_CONTAINER_OF(fab_drive_end(&nvme->drive), FabNvmeSlot, work);
    bool is_last = slot->work.done == slot->pages;

    media_begin(nvme);
    if (slot->sqe.write) {
        if (is_last) {
            fab_nvme_slot_step(slot, FAB_NVME_SLOT_WRITTEN,
                               event->time +
                                   fab_nvme_media_latency(nvme, true));
        }
        return;
    }
    if (is_last) {
        fab_nvme_slot_stamp(slot, FAB_NVME_MEDIA);
    }
    fab_nvme_page_move(slot, slot->work.done - 1);
}
