/* SPDX-License-Identifier: MIT */
#ifndef FAB_MMU_PRIV_H
#define FAB_MMU_PRIV_H

#include "fab_component_priv.h"
#include "fab_endpoint.h"
#include "fab_observe.h"

/*
 * The MMU of a GPU, through which the orders of its threads go. It translates
 * virtual addresses of the GPU with tables in the GPU's own memory, so a miss
 * makes no TLP. Its two levels of TLB and its walkers are those of a FabIommu,
 * with pages of FabMmuParams.page_bytes.
 */
typedef struct FabMmu FabMmu;

/* Called when the address of @dma, which was pending, is translated. */
typedef void (*FabMmuFn)(FabEndpoint *endpoint, FabDma *dma);

/* Makes the MMU of @endpoint. Fails with FAB_ERROR_CONFIG when the parameters
 * make no sense. @endpoint is borrowed. */
FabMmu *fab_mmu_new(FabEndpoint *endpoint, FabMmuFn done, GError **error);
void fab_mmu_free(FabMmu *mmu);

/* Translates the address of @dma, which lies in one page. Returns true if that
 * is done; if not, the MMU calls FabMmuFn later. A hit may overtake a miss. */
bool fab_mmu_translate(FabMmu *mmu, FabDma *dma);

/* Adds its TLBs to @sum. */
void fab_mmu_caching(const FabMmu *mmu, FabCaching *sum);

/* For observers: the orders that wait for a translation. */
void fab_mmu_waiters(const FabMmu *mmu, FabDmaWaiterFn fn, void *data);

#endif
