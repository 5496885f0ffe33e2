/* SPDX-License-Identifier: MIT */
#ifndef FAB_IOMMU_PRIV_H
#define FAB_IOMMU_PRIV_H

#include "fab_component_priv.h"
#include "fab_parts.h"
#include "sim_engine.h"

/*
 * The Translation Agent of a root: page tables, the IOTLB of one level or two,
 * and a limited number of page walkers. A miss of the first level is looked up
 * in the second one, and walks if it misses that, too; both levels keep the
 * page. A miss on a page that is already being looked up or walked, or queued
 * for a walker, waits for that.
 *
 * The tables are read at the end of a walk. A page that was unmapped during the
 * walk faults, and a page that was mapped during the walk is found. The IOTLB
 * does not keep faults, so every request to an unmapped page costs a walk, or
 * joins a walk.
 */
typedef struct FabIommu FabIommu;

/*
 * A device address has the bits of four levels of tables of 512 entries (VT-d
 * s3.6). Domains have their own tables but share IOTLB and walkers. The bits
 * above the device address hold the number of the domain.
 */
#define FAB_DEVICE_ADDR_BITS 48
#define FAB_IOMMU_ADDR_BITS  56

/* Makes an IOMMU with empty page tables. fab_iommu_map() may be called from now
 * on. Ignores params->enabled: a root whose IOMMU is off has no FabIommu.
 * @engine is borrowed. */
FabIommu *fab_iommu_new(SimEngine *engine, const FabIommuParams *params);

/* Frees @iommu (nullable), but not the TLPs that wait in it. */
void fab_iommu_free(FabIommu *iommu);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FabIommu, fab_iommu_free)

/* Gives each of @ports root ports a first level of its own, by the index of
 * FabTlp.ingress. Before fab_iommu_realize(). */
void fab_iommu_set_ports(FabIommu *iommu, unsigned ports);

/* fab_iommu_check.c: returns whether the parameters make sense. */
bool fab_iommu_check(const FabIommuParams *params, GError **error);

/*
 * Makes the IOTLB and the walkers. To be called once, before the first
 * translation. @rank is the rank of its events. Fails with FAB_ERROR_CONFIG
 * when the parameters make no sense. Among others, the number of sets
 * (iotlb_entries / iotlb_ways) must be a power of two, and a walk must not be
 * shorter than a hit.
 */
bool fab_iommu_realize(FabIommu *iommu, uint32_t rank, GError **error);

/*
 * Maps [@iova, +@size_bytes) to @phys, in pages of @page_bytes (4 KiB, 2 MiB or
 * 1 GiB). @iova, @phys and @size_bytes must be multiples of @page_bytes. Fails
 * with FAB_ERROR_ADDRESS when they are not, when a part is mapped already, when
 * the range is empty, or when it ends beyond FAB_IOMMU_ADDR_BITS.
 */
bool fab_iommu_map(FabIommu *iommu, FabBusAddr iova, FabBusAddr phys,
                   uint64_t size_bytes, uint64_t page_bytes, GError **error);

/*
 * Removes the pages that lie in [@iova, +@size_bytes) from the tables and the
 * IOTLB. A page that lies only partly in the range stays. A translation that
 * has hit the IOTLB, and waits for the end of params->hit, keeps its result.
 * Returns the number of bytes unmapped.
 */
uint64_t fab_iommu_unmap(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes);

/* The two parts of fab_iommu_unmap(): removes the pages from the tables alone,
 * and drops what the IOTLB and the paging-structure caches hold of the range.
 * In between, a translation that the IOTLB holds is still used. */
uint64_t fab_iommu_clear(FabIommu *iommu, FabBusAddr iova, uint64_t size_bytes);
void fab_iommu_invalidate(FabIommu *iommu, FabBusAddr iova,
                          uint64_t size_bytes);

typedef enum FabTranslation {
    FAB_TRANSLATION_DONE,    /* *ret_phys is valid now */
    FAB_TRANSLATION_PENDING, /* FabTranslateFn will be called, after the call of
                                fab_iommu_translate() */
    FAB_TRANSLATION_FAULT,   /* the address has more than FAB_IOMMU_ADDR_BITS,
                                which needs no walk */
} FabTranslation;

/* Called when the address of @tlp is translated. @phys is valid unless @fault
 * is true. The function may map, unmap and translate. */
typedef void (*FabTranslateFn)(void *owner, FabTlp *tlp, FabBusAddr phys,
                               bool fault);

/* Sets the function that is called, with @owner, when a pending translation
 * ends. To be called before the first translation. */
void fab_iommu_set_done(FabIommu *iommu, FabTranslateFn fn, void *owner);

/*
 * Translates the address of @tlp (a request; must not cross a page). While the
 * result is pending the IOMMU links the TLP by its `next`, and the caller must
 * not touch it. The order of the results of pending translations: walks of the
 * same time end in the order of their first misses; TLPs of one page come back
 * in the order of the calls; hits come back in the order of the calls. A hit
 * can overtake a miss on another page. With params->in_order all results come
 * in the order of the calls. The address of the TLP may have changed when its
 * translation ends.
 */
FabTranslation fab_iommu_translate(FabIommu *iommu, FabTlp *tlp,
                                   FabBusAddr *ret_phys);

/* Walkers that are busy, and walks and stopped requests that wait for one. */
uint32_t fab_iommu_walking(const FabIommu *iommu);
uint32_t fab_iommu_queued(const FabIommu *iommu);

/* For observers: calls @fn for every TLP in @iommu. @waits is true if the page
 * of the TLP has no walker yet. */
typedef void (*FabIommuFn)(void *data, const FabTlp *tlp, bool waits);
void fab_iommu_foreach(const FabIommu *iommu, FabIommuFn fn, void *data);

/* Hits, misses and faults count TLPs; misses include those that join a walk.
 * Walks count from their begin. wait_ps is the sum over all misses of the time
 * until a walker began with the page, and over all requests that wait behind
 * such a miss. */
const FabIommuCounters *fab_iommu_counters(const FabIommu *iommu);

/* Adds its IOTLBs to @sum, whose pages have @page_bytes at most. */
void fab_iommu_caching(const FabIommu *iommu, uint64_t page_bytes,
                       FabCaching *sum);

#endif
