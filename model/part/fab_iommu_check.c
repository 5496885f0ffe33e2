/* SPDX-License-Identifier: MIT */
/* The parameters of an IOMMU, checked. */
#include "fab_iommu_priv.h"

#include "fab_iotlb_priv.h"
#include "fab_size.h"
#include "fab_walk_cache_priv.h"

#define WALKS_MAX (1u << 16)

bool fab_iommu_check(const FabIommuParams *params, GError **error)
{
    uint32_t size;

    if (!fab_iotlb_check(params->iotlb_entries, params->iotlb_ways, "an IOTLB",
                         error) ||
        (params->l2_entries &&
         !fab_iotlb_check(params->l2_entries, params->l2_ways,
                          "a second level of the IOTLB", error))) {
        return false;
    }
    if (!params->walks || params->walks > WALKS_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%u page walks at a time: must be 1 to %u", params->walks,
                    WALKS_MAX);
        return false;
    }
    /* With a walk shorter than a hit, TLPs of one page would overtake each
     * other. */
    if (params->hit < 0 || params->walk < params->hit || params->walk > SIM_S) {
        g_autofree char *hit = fab_time_text(params->hit);
        g_autofree char *walk = fab_time_text(params->walk);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "an IOTLB hit of %s and a page walk of %s: must be 0 to "
                    "1 s, and a walk no shorter than a hit",
                    hit, walk);
        return false;
    }
    /* The same with a second level that is quicker than the first one. */
    if (params->l2_entries &&
        (params->l2_hit < params->hit || params->l2_hit > SIM_S)) {
        g_autofree char *hit = fab_time_text(params->hit);
        g_autofree char *second = fab_time_text(params->l2_hit);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "an IOTLB hit of %s and a second level of %s: the second "
                    "level must take 0 to 1 s, and no less than the first",
                    hit, second);
        return false;
    }
    if (params->replay < 0 || params->replay > SIM_S) {
        g_autofree char *replay = fab_time_text(params->replay);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a replay of %s: must be 0 to 1 s", replay);
        return false;
    }
    if (params->walk_read < 0 || params->walk_read > SIM_S) {
        g_autofree char *read = fab_time_text(params->walk_read);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "a read of a page table of %s: must be 0 to 1 s", read);
        return false;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(params->walk_cache); i++) {
        if (params->walk_cache[i] > FAB_WALK_CACHE_MOST) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "a paging-structure cache of %u entries: must be at "
                        "most %u",
                        params->walk_cache[i], FAB_WALK_CACHE_MOST);
            return false;
        }
    }
    if (!fab_page_size_find(params->page_bytes, &size)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "IOMMU pages of %" G_GUINT64_FORMAT
                    " bytes: must be 4 KiB, 2 MiB or 1 GiB",
                    params->page_bytes);
        return false;
    }
    return true;
}
