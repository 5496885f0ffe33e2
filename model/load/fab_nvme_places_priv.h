/* SPDX-License-Identifier: MIT */
#ifndef FAB_NVME_PLACES_PRIV_H
#define FAB_NVME_PLACES_PRIV_H

#include "fab_nvme_priv.h"

#define FAB_NVME_CID_BITS 12u
#define FAB_NVME_BLOCKS   (1ull << 31) /* number of blocks of the drive */

/* SQ, CQ, PRP lists, and the pages of shadow doorbells and their events */
#define FAB_NVME_AREAS 4

/* Memory that a driver and a drive share: a queue, or PRP lists. */
typedef struct FabNvmeArea {
    FabComponent *home; /* a root, or the device that has the BAR */
    int bar;            /* of a device */
    uint64_t offset;    /* in the BAR */
    uint64_t size_bytes;
    FabBusAddr addr;   /* in the host of `home` */
    FabBusAddr cpu;    /* for the driver */
    FabBusAddr device; /* for the drive; if in_drive, `addr` */
    bool in_drive;     /* Controller Memory Buffer (NVMe 1.3 s4.7) */
} FabNvmeArea;

/* The layout and addresses of everything that the driver and the drive share.
 */
typedef struct FabNvmePlaces {
    uint32_t commands;              /* largest number of outstanding commands */
    uint64_t stride_bytes;          /* of an operation's buffer */
    FabBusAddr cpu[FAB_NVME_AREAS]; /* addresses for the CPU */
    FabBusAddr device[FAB_NVME_AREAS]; /* the same for the drive */
    /* Those that are not in the driver's memory; shadow doorbells always are */
    FabNvmeArea placed[FAB_NVME_AREAS];
    FabBusAddr buffer; /* for the drive; for the CPU if each buffer is mapped */
    FabBusAddr bells;  /* for the driver */
    FabBusAddr msi;
} FabNvmePlaces;

/* Checks the parameters of a flow. @peer (nullable) is the controller that the
 * drive has already. */
bool fab_nvme_check(const char *name, const FabNvmeFlowParams *params,
                    const FabNvme *peer, GError **error);

/* Places everything, and maps it for both. BARs get the areas of all flows one
 * behind the other. The queues and lists of a drive that is lent may be in the
 * memory of its lender, too, unless it is lent to a guest. */
bool fab_nvme_find_places(const FabNvmeFlowParams *params, const FabNvme *peer,
                          FabNvmePlaces *places, GError **error);

/* Watches @area for writes. */
unsigned fab_nvme_area_watch(const FabNvmeArea *area, FabWatchFn fn,
                             void *owner);
void fab_nvme_area_unwatch(const FabNvmeArea *area, unsigned handle);

#endif
