/* SPDX-License-Identifier: MIT */
#include "fab_nvme_bell_priv.h"

static void bell_send(FabNvmeBell *bell)
{
    bell->is_busy = true;
    bell->dma.data = bell->value;
    fab_endpoint_dma(bell->by, &bell->dma);
}

static void bell_left(FabDma *dma)
{
    FabNvmeBell *bell = dma->owner;

    bell->is_busy = false;
    if (bell->fn) {
        bell->fn(bell->owner);
    }
    if (bell->again > 0 && !bell->is_busy) {
        bell->again--;
        bell_send(bell);
    }
}

void fab_nvme_bell_init(FabNvmeBell *bell, FabEndpoint *by, FabBusAddr addr,
                        uint32_t flow, FabSentFn fn, void *owner)
{
    *bell = (FabNvmeBell){
        .dma = {.type = FAB_TLP_MWR,
                .addr = addr,
                .size_bytes = FAB_NVME_BELL_BYTES,
                .flow = flow,
                .done = bell_left,
                .owner = bell},
        .by = by,
        .fn = fn,
        .owner = owner,
    };
}

void fab_nvme_bell_ring(FabNvmeBell *bell, uint64_t value)
{
    bell->value = value;
    if (bell->is_busy) {
        bell->again++;
    } else {
        bell_send(bell);
    }
}
