/* SPDX-License-Identifier: MIT */
#ifndef FAB_PLAN_H
#define FAB_PLAN_H

#include "fab_component.h"

/*
 * Computes whether the mapping entries of a lender's NTB adapter suffice. The
 * adapter's prefetchable window (prefetch_total) is divided into entries of
 * equal size. Every mapping takes whole entries:
 *
 *   reserved  entries kept back for each remote node
 *   MSI       one entry for each borrower
 *   BARs      BARs of devices in other hosts that devices in this host access
 *             (P2P) or that this host borrows; each BAR is rounded up to
 * entries windows   the DMA windows of the lent devices, in the remaining
 * entries
 */

typedef enum FabPlanTerm {
    FAB_PLAN_FITS, /* no term is too large */
    FAB_PLAN_RESERVED,
    FAB_PLAN_MSI,
    FAB_PLAN_BARS,
    FAB_PLAN_WINDOWS,
} FabPlanTerm;

/* A group of mapped devices with equal BARs. A size of 0 stands for no BAR. */
typedef struct FabPlanTarget {
    uint64_t bar_bytes[FAB_BARS];
    uint32_t count;
} FabPlanTarget;

/* The DMA window of a lent device. */
typedef struct FabPlanWindow {
    uint64_t bytes;     /* size set by hand; 0: automatic */
    uint32_t weight;    /* weight of the device when the remaining entries are
                           shared, at most 65536; 0 counts as 1 */
    uint64_t ram_bytes; /* RAM of the borrower, the largest size that a window
                           needs; 0: not known */
    bool covers_ram;    /* the borrower's IOMMU is off: the window is its RAM,
                           and devices of one borrower share it */
    uint32_t borrower;  /* any number that identifies the borrower */
} FabPlanWindow;

typedef struct FabPlanParams {
    uint64_t window_bytes; /* prefetch_total, a power of two */
    uint32_t entries;      /* a power of two */
    uint32_t reserved;     /* ntb_lut2_switch_max_entries */
    uint32_t nodes;        /* number_of_nodes, this one included */
    uint32_t spared;       /* entries less, for nodes whose IOMMU is off */
    uint32_t borrowers;    /* number_of_borrowers */
    const FabPlanTarget *targets;
    unsigned target_count;
    const FabPlanWindow *windows;
    unsigned window_count;
} FabPlanParams;

/* All sizes are in bytes. If a term is too large, the terms after it are
 * computed as far as possible. */
typedef struct FabPlan {
    uint64_t entry_bytes;    /* mapping_entry_size */
    uint64_t reserved_bytes; /* for all remote nodes */
    uint64_t ondemand_bytes; /* prefetch_ondemand */
    uint64_t msi_bytes;      /* prefetch_msi */
    uint64_t bars_bytes;     /* prefetch_BARs */
    uint64_t free_bytes;     /* prefetch_free: for DMA windows */
    uint64_t windows_bytes;  /* all DMA windows together */
    uint64_t left_bytes;     /* unused bytes of the window */
    FabPlanTerm broken;      /* the first term that does not fit */
    uint64_t short_bytes;    /* bytes that the broken term lacks */
} FabPlan;

/*
 * Computes *ret_plan, and the size of each window in @ret_windows (nullable,
 * params->window_count long). The size is 0 for a window that shares the one of
 * another device. Fails with FAB_ERROR_CONFIG when @params make no sense, and
 * leaves the results untouched. A plan that does not fit is not a failure.
 */
bool fab_plan_compute(const FabPlanParams *params, FabPlan *ret_plan,
                      uint64_t *ret_windows, GError **error);

/* The manual's name of @term, such as "prefetch_msi". */
const char *fab_plan_term_name(FabPlanTerm term);

#endif
