/* SPDX-License-Identifier: MIT */
#ifndef FAB_NVME_BELL_PRIV_H
#define FAB_NVME_BELL_PRIV_H

#include "fab_nvme_priv.h"

/* A doorbell that threads of a GPU ring: a write of its DMA engine. It leaves
 * in order. What is rung while one has not left follows it, with the last
 * value. */
typedef struct FabNvmeBell {
    FabDma dma;
    FabEndpoint *by;
    FabSentFn fn; /* nullable: one for each ring, when it has left */
    void *owner;
    uint64_t value;
    uint32_t again; /* rings that wait */
    bool is_busy;
} FabNvmeBell;

void fab_nvme_bell_init(FabNvmeBell *bell, FabEndpoint *by, FabBusAddr addr,
                        uint32_t flow, FabSentFn fn, void *owner);
void fab_nvme_bell_ring(FabNvmeBell *bell, uint64_t value);

#endif
