/* SPDX-License-Identifier: MIT */
#ifndef FAB_NVME_DRIVE_PRIV_H
#define FAB_NVME_DRIVE_PRIV_H

#include "fab_nvme_priv.h"

#include "sim_engine.h"
#include "sim_random.h"

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
typedef struct FabNvmeSlot FabNvmeSlot;

/* A read of the shadow of a tail. */
typedef struct FabNvmeTailLook {
    FabDma dma;
    FabNvmeQueue *queue;
    FabNvmeSlot *slot; /* that it follows the fetch of; NULL: none */
    uint64_t rung;     /* FabNvmeQueue.rung when it began */
    uint32_t resets;   /* resets of the queue when it was ordered */
} FabNvmeTailLook;

/* A page on its way to or from the host. */
typedef struct FabNvmePage {
    FabDma dma;
    FabNvmeSlot *slot;
    struct FabNvmePage *next_free;
} FabNvmePage;

/* A command the drive works on. */
struct FabNvmeSlot {
    FabNvme *nvme;
    FabNvmeSlot *next; /* in the list of free slots, or of a full CQ */
    FabNvmeQueue *queue;
    uint32_t resets; /* resets of the queue when the fetch began */
    uint32_t index;  /* index of its entry in the SQ */
    FabNvmeSqe sqe;
    SimEvent event;
    enum {
        FAB_NVME_SLOT_FETCHED,
        FAB_NVME_SLOT_LISTED,
        FAB_NVME_SLOT_ACCEPTED,
        FAB_NVME_SLOT_READY,
        FAB_NVME_SLOT_WRITTEN
    } step;
    FabDma fetch, list, cqe, msi;
    FabDma tail_event, head_event, head_look; /* shadow doorbells */
    FabNvmeTailLook tail_look;
    bool has_looked; /* it has read the head */
    uint32_t pages;
    uint32_t moved;    /* pages that the DMA engine has moved */
    FabDriveWork work; /* of the media */
    uint32_t orders;   /* orders to the DMA engine that are not done */
    uint16_t status;
    bool is_posted; /* the engine has its completion entry, or it gets none */
};

typedef struct FabNvmeSlots {
    FabNvmeSlot *head, *tail;
} FabNvmeSlots;

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
    uint32_t looks;       /* reads of the shadow under way, or to come */
    FabNvmeTailLook look; /* without the fetch of an entry before it */
    bool is_looking;
    uint32_t sq_fetched; /* the driver may write entries before this again */
    bool *is_fetching;   /* by entry: its fetch is under way */
    uint32_t cq_tail, cq_head;
    bool phase;
    FabNvmeSlots unposted; /* completed commands, while the CQ is full */
};

struct FabNvme {
    FabEndpoint *device;
    FabNvmeParams params;
    SimEngine *engine;
    SimRandom random;
    unsigned refs;
    GPtrArray *queues; /* owned */
    unsigned turn;     /* queue whose entry is fetched next */
    FabNvmeSlot *slots;
    FabNvmeSlot *free;
    FabNvmePage *free_pages;
    GPtrArray *pages;  /* all of them, owned */
    FabDma *waits_for; /* order for which a serial controller waits */
    FabDma *orders_head, *orders_tail; /* that wait for its end */
    uint64_t next_block;               /* first block after the last read */
    FabDrive drive;
    SimEvent media_event; /* the media have served a page */
    uint64_t carry; /* fraction of the media's time, in 1 / bandwidth ps */
};

/* FabDma.kind of the orders of which the controller tells the kind. */
enum {
    FAB_NVME_ORDER_PAGE = 1,  /* of a FabNvmePage */
    FAB_NVME_ORDER_TAIL_LOOK, /* of a FabNvmeTailLook */
};

static inline SimTime fab_nvme_now(const FabNvme *nvme)
{
    return sim_engine_now(nvme->engine);
}

static inline void fab_nvme_list_push(FabNvmeSlots *list, FabNvmeSlot *slot)
{
    slot->next = NULL;
    if (list->tail) {
        list->tail->next = slot;
    } else {
        list->head = slot;
    }
    list->tail = slot;
}

static inline FabNvmeSlot *fab_nvme_list_pop(FabNvmeSlots *list)
{
    FabNvmeSlot *slot = list->head;

    list->head = slot->next;
    if (!list->head) {
        list->tail = NULL;
    }
    return slot;
}

static inline bool fab_nvme_is_stale(const FabNvmeSlot *slot)
{
    return slot->resets != slot->queue->resets;
}

static inline void fab_nvme_slot_stamp(FabNvmeSlot *slot, FabNvmeStage stage)
{
    if (!fab_nvme_is_stale(slot)) {
        slot->sqe.stamps->at[stage] = fab_nvme_now(slot->nvme);
    }
}

static inline void fab_nvme_slot_step(FabNvmeSlot *slot, int step, SimTime time)
{
    slot->step = step;
    sim_event_schedule(&slot->event, time);
}

/*
 * fab_nvme_order.c: orders to the DMA engine. fab_nvme_dma_over() is to be
 * called first when one is done, and fab_nvme_dma_resume() last: what is
 * ordered between them comes before the orders that wait.
 */
void fab_nvme_dma_order(FabNvme *nvme, FabDma *dma);
void fab_nvme_dma_over(FabNvme *nvme, const FabDma *dma);
void fab_nvme_dma_resume(FabNvme *nvme);

/* Fetches entries until no entry or no free slot is left. */
void fab_nvme_entries_fetch(FabNvme *nvme);
/* The entry @index is fetched. The driver may write the entries before the
 * first one that is still being fetched again. */
void fab_nvme_entry_fetched(FabNvmeQueue *queue, uint32_t index);
void fab_nvme_slot_release(FabNvmeSlot *slot);
/* An order of @slot is done. */
void fab_nvme_slot_order_done(FabNvmeSlot *slot);

/* The command is over: its completion entry leaves as soon as it can. */
void fab_nvme_slot_complete(FabNvmeSlot *slot);
void fab_nvme_slot_post(FabNvmeSlot *slot);
bool fab_nvme_cq_is_full(const FabNvmeQueue *queue);
/* Writes @event to memory, and then reads @look from there. */
void fab_nvme_shadow_access(FabNvmeSlot *slot, FabDma *event, FabDma *look,
                            uint32_t offset);

/* FabDma.done of the orders of a slot. */
void fab_nvme_fetch_done(FabDma *dma);
void fab_nvme_list_done(FabDma *dma);
void fab_nvme_post_done(FabDma *dma);
void fab_nvme_head_looked(FabDma *dma);

/* fab_nvme_media.c: another @pages pages of @slot are ready for the media. */
void fab_nvme_media_add(FabNvmeSlot *slot, uint32_t pages);
/* Moves page number @number of @slot to or from the host. */
void fab_nvme_page_move(FabNvmeSlot *slot, uint32_t number);
/* A latency of the media, with its random part. */
SimTime fab_nvme_media_latency(FabNvme *nvme, bool is_write);
void fab_nvme_media_event(SimEvent *event);

#endif
