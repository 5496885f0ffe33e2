/* SPDX-License-Identifier: MIT */
#include "fab_mmu_priv.h"

#include "fab_endpoint_priv.h"
#include "fab_iommu_priv.h"

/* The smallest page of a FabIommu, which stands for one of the MMU. */
#define UNIT_SHIFT 12

/* The end of the physical addresses that a table can hold. */
#define ADDR_BITS 52

struct FabMmu {
    FabEndpoint *endpoint;
    FabIommu *iommu;
    unsigned shift; /* from an address to that in the FabIommu */
    FabMmuFn done;
};

static void translated(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault)
{
    FabMmu *mmu = owner;
    FabDma *dma = (FabDma *)(uintptr_t)tlp->data;

    g_assert(!fault);
    fab_tlp_free(mmu->endpoint->component.fabric, tlp);
    mmu->done(mmu->endpoint, dma);
}

bool fab_mmu_translate(FabMmu *mmu, FabDma *dma)
{
    FabFabric *fabric = mmu->endpoint->component.fabric;
    FabTlp *tlp = fab_tlp_new(fabric, FAB_TLP_MRD);
    FabBusAddr phys;

    /* It carries the order through the FabIommu, and never leaves. */
    tlp->addr = (dma->addr & (UINT64_MAX >> (64 - ADDR_BITS))) >> mmu->shift;
    tlp->data = (uintptr_t)dma;
    if (fab_iommu_translate(mmu->iommu, tlp, &phys) ==
        FAB_TRANSLATION_PENDING) {
        return false;
    }
    fab_tlp_free(fabric, tlp);
    return true;
}

typedef struct Waiters {
    FabDmaWaiterFn fn;
    void *data;
} Waiters;

static void waiter(void *data, const FabTlp *tlp, bool waits)
{
    const Waiters *self = data;
    const FabDma *dma = (const FabDma *)(uintptr_t)tlp->data;

    self->fn(self->data, &(FabDmaWaiter){
                             .flow = dma->flow,
                             .phase = FAB_DMA_UNISSUED,
                             .place = FAB_PLACE_DEVICE,
                         });
}

void fab_mmu_waiters(const FabMmu *mmu, FabDmaWaiterFn fn, void *data)
{
    fab_iommu_foreach(mmu->iommu, waiter, &(Waiters){fn, data});
}

void fab_mmu_caching(const FabMmu *mmu, FabCaching *sum)
{
    fab_iommu_caching(mmu->iommu, mmu->endpoint->params.mmu.page_bytes, sum);
}

FabMmu *fab_mmu_new(FabEndpoint *endpoint, FabMmuFn done, GError **error)
{
    const FabMmuParams *params = &endpoint->params.mmu;
    FabIommuParams units = {
        .enabled = true,
        .iotlb_entries = params->entries,
        .l2_entries = params->l2_entries,
        .l2_hit = params->l2_hit,
        .walk = params->walk,
        .walks = params->walks,
        .page_bytes = UINT64_C(1) << UNIT_SHIFT,
    };
    FabMmu *mmu = g_new0(FabMmu, 1);

    mmu->endpoint = endpoint;
    mmu->done = done;
    while (params->page_bytes >> mmu->shift > units.page_bytes) {
        mmu->shift++;
    }
    mmu->iommu = fab_iommu_new(endpoint->component.engine, &units);
    fab_iommu_set_done(mmu->iommu, translated, mmu);
    /* Every page is mapped; its place is of no concern. */
    if (!fab_iommu_map(mmu->iommu, 0, 0, UINT64_C(1) << ADDR_BITS,
                       units.page_bytes, error) ||
        !fab_iommu_realize(mmu->iommu, endpoint->component.rank, error)) {
        fab_mmu_free(mmu);
        return NULL;
    }
    return mmu;
}

void fab_mmu_free(FabMmu *mmu)
{
    if (!mmu) {
        return;
    }
    fab_iommu_free(mmu->iommu);
    g_free(mmu);
}
