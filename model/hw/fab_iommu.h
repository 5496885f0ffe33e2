/* SPDX-License-Identifier: MIT */
#ifndef FAB_IOMMU_H
#define FAB_IOMMU_H

#include "fab_root.h"
#include "sim_engine.h"

/*
 * The Translation Agent of a root: page tables, the IOTLB, and page walkers of
 * which only so many work at a time. Misses on a page that is already being
 * walked, or queued for a walker, wait for that walk.
 *
 * The tables are read when a walk ends: a page that was unmapped meanwhile
 * faults, and one that was mapped meanwhile is found. The IOTLB does not keep
 * faults, so every request to a page that is not mapped costs a walk (or joins
 * one).
 */
typedef struct FabIommu FabIommu;

/*
 * Device addresses are those of four levels of tables of 512 entries (VT-d
 * s3.6). Domains have tables of their own but share IOTLB and walkers: the
 * number of the domain stands above the device address.
 */
#define FAB_DEVICE_ADDR_BITS 48
#define FAB_IOMMU_ADDR_BITS  56

/* Makes empty page tables, which can be filled from now on. params->enabled is
 * ignored: a root whose IOMMU is off makes none. @engine is borrowed. */
FabIommu *fab_iommu_new(SimEngine *engine, const FabIommuParams *params);

/* Frees @iommu (nullable). TLPs that wait in it are not given back. */
void fab_iommu_free(FabIommu *iommu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabIommu, fab_iommu_free)

/*
 * Makes the IOTLB and the walkers; once, before the first translation. @rank is
 * that of its events. Fails with FAB_ERROR_CONFIG when the parameters make no
 * sense: among others, the number of sets (iotlb_entries / iotlb_ways) must be
 * a power of two, and a walk no shorter than a hit.
 */
bool fab_iommu_realize(FabIommu *iommu, uint32_t rank, GError **error);

/*
 * Maps [@iova, +@size_bytes) to @phys, in pages of @page_bytes (4 KiB, 2 MiB or
 * 1 GiB), of which all three must be multiples. Fails with FAB_ERROR_ADDRESS
 * when a part is mapped already, when the range is empty, or when it ends
 * beyond FAB_IOMMU_ADDR_BITS.
 */
bool fab_iommu_map(FabIommu *iommu, FabBusAddr iova, FabBusAddr phys,
                   uint64_t size_bytes, uint64_t page_bytes, GError **error);

/*
 * Removes the pages that lie in [@iova, +@size_bytes) from the tables and the
 * IOTLB. A page that lies in it only partly stays. Translations that wait for
 * the end of params->hit keep the result they have. Returns the number of bytes
 * unmapped.
 */
uint64_t fab_iommu_unmap(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes);

typedef enum FabTranslation {
    FAB_TRANSLATION_DONE,    /* *ret_phys is valid now */
    FAB_TRANSLATION_PENDING, /* the function will be called, never from within
                              */
    FAB_TRANSLATION_FAULT,   /* the address has more than FAB_IOMMU_ADDR_BITS;
                                no walk is needed to know that */
} FabTranslation;

/* Hands back @tlp, which goes to @phys unless @fault is true. The function may
 * map, unmap and translate. */
typedef void (*FabTranslateFn)(void *owner, FabTlp *tlp, FabBusAddr phys,
                               bool fault);

/* Has @fn called with @owner for pending translations; before the first one. */
void fab_iommu_set_done(FabIommu *iommu, FabTranslateFn fn, void *owner);

/*
 * Translates the address of @tlp (a request; must not cross a page). While the
 * result is pending the IOMMU links the TLP by its `next`, and the caller must
 * not touch it. Results of pending translations come in no order but this:
 * walks end in the order they were asked for, TLPs of one page come back in the
 * order they came, and so do those that hit. A hit overtakes a miss on another
 * page.
 */
FabTranslation fab_iommu_translate(FabIommu *iommu, FabTlp *tlp,
                                   FabBusAddr *ret_phys);

/* Page walks under way, and queued for a walker. */
uint32_t fab_iommu_walking(const FabIommu *iommu);
uint32_t fab_iommu_queued(const FabIommu *iommu);

/* For observers: calls @fn for every TLP in it. @waits is true for those whose
 * page has no walker yet. */
typedef void (*FabIommuFn)(void *data, const FabTlp *tlp, bool waits);
void fab_iommu_foreach(const FabIommu *iommu, FabIommuFn fn, void *data);

/* Hits, misses and faults count TLPs; a miss that joins a walk is a miss too.
 * Walks are those begun. wait_ps is the time that each miss waited for a walker
 * to begin on its page, summed over all misses. */
const FabIommuCounters *fab_iommu_counters(const FabIommu *iommu);

#endif
