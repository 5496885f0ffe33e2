/* SPDX-License-Identifier: MIT */
#ifndef FAB_IOMMU_H
#define FAB_IOMMU_H

#include "fab_root.h"
#include "fab_component_priv.h"

/*
 * The Translation Agent of a root: page tables, the IOTLB, and page walkers of
 * which only so many work at a time. Misses on a page that is already being
 * walked wait for that walk.
 */
typedef struct FabIommu FabIommu;

/* @rank is that of its events. */
FabIommu *fab_iommu_new(SimEngine *engine, const FabIommuParams *params,
                        uint32_t rank);
void fab_iommu_free(FabIommu *iommu);

/*
 * Maps [@iova, +@size_bytes) to @phys, in pages of @page_bytes (4 KiB, 2 MiB or
 * 1 GiB), of which all three must be multiples. Fails with FAB_ERROR_ADDRESS
 * when a part is mapped already.
 */
bool fab_iommu_map(FabIommu *iommu, FabBusAddr iova, FabBusAddr phys,
                   uint64_t size_bytes, uint64_t page_bytes, GError **error);

/* Removes mappings that lie in [@iova, +@size_bytes), and what the IOTLB holds
 * of them. Returns the number of bytes unmapped. */
uint64_t fab_iommu_unmap(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes);

typedef enum FabTranslation {
    FAB_TRANSLATION_DONE,    /* *ret_phys is valid now */
    FAB_TRANSLATION_PENDING, /* the function will be called, never from within */
    FAB_TRANSLATION_FAULT,   /* known now (IOTLB holds no faults: rare) */
} FabTranslation;

/* Hands back @tlp: to be sent to @phys, unless @fault. */
typedef void (*FabTranslateFn)(void *owner, FabTlp *tlp, FabBusAddr phys,
                               bool fault);

/* Who gets the results of pending translations; before the first. */
void fab_iommu_set_done(FabIommu *iommu, FabTranslateFn fn, void *owner);

/*
 * Translates the address of @tlp (a request; must not cross a page). While the
 * result is pending the IOMMU links the TLP by its `next`. Results of pending
 * translations come in no order but that of walks.
 */
FabTranslation fab_iommu_translate(FabIommu *iommu, FabTlp *tlp,
                                   FabBusAddr *ret_phys);

const FabIommuCounters *fab_iommu_counters(const FabIommu *iommu);

#endif
