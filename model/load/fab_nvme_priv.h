/* SPDX-License-Identifier: MIT */
#ifndef FAB_NVME_PRIV_H
#define FAB_NVME_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_flow_nvme.h"

/*
 * The controller of a drive. A driver has a pair of queues in its own memory,
 * The model keeps the contents of the queues beside the fabric, but an entry
 * counts as written or fetched only when its TLPs have arrived.
 */
typedef struct FabNvme FabNvme;
typedef struct FabNvmeQueue FabNvmeQueue;

#define FAB_NVME_SQE_BYTES  64u   /* NVMe 1.3 s4.2 */
#define FAB_NVME_CQE_BYTES  16u   /* NVMe 1.3 s4.6 */
#define FAB_NVME_PRP_BYTES  8u    /* NVMe 1.3 s4.3 */
#define FAB_NVME_PAGE_BYTES 4096u /* CC.MPS */
#define FAB_NVME_BELL_BYTES 4u

/* The times at which the stages of a command ended. */
typedef struct FabNvmeStamps {
    SimTime at[FAB_NVME_STAGES];
} FabNvmeStamps;

/* A submission queue entry, as far as the model needs it. */
typedef struct FabNvmeSqe {
    bool write;
    uint16_t cid;
    uint64_t block;
    uint32_t size_bytes;
    FabBusAddr prp;        /* of the first page; the others follow */
    FabBusAddr list;       /* of the PRP list, if there are more than two */
    FabNvmeStamps *stamps; /* the driver's, for the command's life */
} FabNvmeSqe;

/* The two upper dwords of a completion queue entry (NVMe 1.3 s4.6.1): SQ head,
 * SQ identifier, command identifier, phase tag, status. */
#define FAB_NVME_CQE_HEAD(cqe)   ((uint16_t)(cqe))
#define FAB_NVME_CQE_CID(cqe)    ((uint16_t)((cqe) >> 32))
#define FAB_NVME_CQE_PHASE(cqe)  ((cqe) >> 48 & 1)
#define FAB_NVME_CQE_STATUS(cqe) ((uint16_t)((cqe) >> 49))

#define FAB_NVME_DATA_TRANSFER_ERROR 0x04u

/* The parameters of a queue pair; all addresses as the drive sees them. */
typedef struct FabNvmeQueueParams {
    uint32_t entries;
    FabBusAddr sq, cq;
    const FabNvmeSqe *sqes; /* contents of the SQ; the driver's */
    bool interrupt;         /* an MSI follows each completion entry */
    FabBusAddr msi_addr;    /* not used if the drive is lent to the driver: */
    uint32_t msi_data;      /* then the lend passes the interrupt on ... */
    void (*handler)(void *owner); /* ... and calls this when the driver runs */
    void *handler_owner;
    uint32_t flow; /* number, for observers */
} FabNvmeQueueParams;

/* Adds a reference to @peer, the controller of @device. If it is NULL, makes a
 * new one. */
FabNvme *fab_nvme_ref(FabNvme *peer, FabEndpoint *device,
                      const FabNvmeParams *params);
void fab_nvme_unref(FabNvme *nvme);
FabEndpoint *fab_nvme_device(const FabNvme *nvme);
const FabNvmeParams *fab_nvme_params(const FabNvme *nvme);

/* Offset in BAR 0 of the doorbells of the next queue pair to be made: SQ tail,
 * and CQ head behind it (NVMe 1.3 s3.1, with CAP.DSTRD 0). */
uint64_t fab_nvme_next_bells(const FabNvme *nvme);

/* A queue pair of @nvme (owned by it). */
FabNvmeQueue *fab_nvme_queue_new(FabNvme *nvme,
                                 const FabNvmeQueueParams *params);
/* Empties both queues. The drive drops the commands that it works on for
 * them. */
void fab_nvme_queue_reset(FabNvmeQueue *queue);

/* The value written to a doorbell of a queue that has had @resets resets. The
 * real register has no upper half: here it tells valid doorbells from those of
 * before a reset and from writes of other flows. */
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
