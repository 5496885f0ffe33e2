/* SPDX-License-Identifier: MIT */
#ifndef FAB_NVME_PRIV_H
#define FAB_NVME_PRIV_H

#include "fab_drive.h"
#include "fab_fabric_priv.h"
#include "fab_flow_nvme.h"

/*
 * The controller of a drive. A driver has a pair of queues in its own memory.
 * The TLPs carry no contents, so the driver and the controller share the
 * contents of the queues directly. An entry counts as written or fetched only
 * when its TLPs have arrived.
 */
typedef struct FabNvme FabNvme;
typedef struct FabNvmeQueue FabNvmeQueue;

#define FAB_NVME_SQE_BYTES  64u                  /* NVMe 1.3 s4.2 */
#define FAB_NVME_CQE_BYTES  16u                  /* NVMe 1.3 s4.6 */
#define FAB_NVME_PRP_BYTES  8u                   /* NVMe 1.3 s4.3 */
#define FAB_NVME_PAGE_BYTES FAB_DRIVE_PAGE_BYTES /* CC.MPS */
#define FAB_NVME_BELL_BYTES 4u

/* The times at which the stages of a command ended. */
typedef struct FabNvmeStamps {
    SimTime at[FAB_NVME_STAGES];
} FabNvmeStamps;

/* The part of a submission queue entry that the model needs. */
typedef struct FabNvmeSqe {
    bool write;
    uint16_t cid;
    uint64_t block;
    uint32_t size_bytes;
    FabBusAddr prp;  /* address of the first page; the others follow */
    FabBusAddr list; /* address of the PRP list, if there are more than two
                        pages */
    FabNvmeStamps *stamps; /* owned by the driver; valid while the command is */
} FabNvmeSqe;

/* The two upper dwords of a completion queue entry (NVMe 1.3 s4.6.1): SQ head,
 * SQ identifier, command identifier, phase tag, status. */
#define FAB_NVME_CQE_HEAD(cqe)   ((uint16_t)(cqe))
#define FAB_NVME_CQE_SQ(cqe)     ((uint16_t)((cqe) >> 16))
#define FAB_NVME_CQE_CID(cqe)    ((uint16_t)((cqe) >> 32))
#define FAB_NVME_CQE_PHASE(cqe)  ((cqe) >> 48 & 1)
#define FAB_NVME_CQE_STATUS(cqe) ((uint16_t)((cqe) >> 49))

#define FAB_NVME_DATA_TRANSFER_ERROR 0x04u

/* The parameters of a queue pair; all addresses as the drive sees them. */
typedef struct FabNvmeQueueParams {
    FabEndpoint *function; /* of the drive, whose doorbells and address it has:
                              the device itself, or a virtual function */
    uint32_t entries;
    FabBusAddr sq, cq;
    bool sq_in_drive, cq_in_drive; /* they, and the PRP lists, are behind a BAR
                                      of the drive itself */
    bool lists_in_drive;
    bool has_shadow;          /* NVMe 1.3 s5.7, Doorbell Buffer Config */
    FabBusAddr shadow, event; /* the queue's doorbells in memory, and the
                                  values that want a doorbell register */
    const FabNvmeSqe *sqes;   /* contents of the SQ; owned by the driver */
    bool interrupt;           /* an MSI follows each completion entry */
    FabBusAddr msi_addr;      /* not used if the drive is lent: the lend has its
                                 own address and data */
    uint32_t msi_data;
    void (*handler)(void *owner); /* interrupt handler of a lent drive */
    void *handler_owner;
    uint32_t flow; /* number of the flow, for observers */
    bool metered;  /* the meter of the flow counts its data */
} FabNvmeQueueParams;

/* Adds a reference to @peer, the controller of @device, which also serves the
 * queues of its virtual functions. If @peer is NULL, makes
 * a new controller. */
FabNvme *fab_nvme_ref(FabNvme *peer, FabEndpoint *device,
                      const FabNvmeParams *params);
void fab_nvme_unref(FabNvme *nvme);
FabEndpoint *fab_nvme_device(const FabNvme *nvme);
const FabNvmeParams *fab_nvme_params(const FabNvme *nvme);

/* Offset in BAR 0 of the doorbells of the queue pair that is made next: SQ
 * tail, then CQ head (NVMe 1.3 s3.1, with CAP.DSTRD 0). */
uint64_t fab_nvme_next_bells(const FabNvme *nvme);

/* Makes a queue pair. @nvme owns it. */
FabNvmeQueue *fab_nvme_queue_new(FabNvme *nvme,
                                 const FabNvmeQueueParams *params);
/* Empties both queues. The commands that the drive works on for them get no
 * completion entry, but their transfers may still run. */
void fab_nvme_queue_reset(FabNvmeQueue *queue);
/* The SQ identifier in its completion entries. */
uint32_t fab_nvme_queue_number(const FabNvmeQueue *queue);

/* The value written to a doorbell of a queue that has had @resets resets. The
 * upper half exists in the model only. It distinguishes valid doorbells from
 * those before a reset and from writes of other flows. */
static inline uint64_t fab_nvme_bell(uint32_t resets, uint32_t index)
{
    return ((uint64_t)resets + 1) << 32 | index;
}

static inline uint32_t fab_nvme_pages(uint32_t size_bytes)
{
    return (size_bytes + FAB_NVME_PAGE_BYTES - 1) / FAB_NVME_PAGE_BYTES;
}

/* Bytes of the PRP list of a command: none for one or two pages. */
static inline uint32_t fab_nvme_list_bytes(uint32_t size_bytes)
{
    uint32_t pages = fab_nvme_pages(size_bytes);

    return pages > 2 ? (pages - 1) * FAB_NVME_PRP_BYTES : 0;
}

#endif
