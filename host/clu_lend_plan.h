/* SPDX-License-Identifier: MIT */
#ifndef CLU_LEND_PLAN_H
#define CLU_LEND_PLAN_H

#include "clu_plan_types.h"

/* The DMA window that lendctl gives to a loan of the description. */
typedef struct CluLendPlan {
    const TopoLend *lend;         /* borrowed */
    const CluPlanDevice *adapter; /* of the lender, towards the borrower */
    uint64_t space_bytes;         /* the direct window of the adapter */
    uint64_t window_bytes;        /* 0: the loan is refused for want of room */
    uint32_t weight;  /* of the device, and of all that share with it when it */
    uint64_t weights; /* is borrowed; both 0 if the share does not count */
    bool covers_ram; /* the window is the borrower's memory: its IOMMU is off */
} CluLendPlan;

/*
 * Returns what the machines of @plan do with `lend:` of its description, as an
 * array of CluLendPlan in the order of `lend:`; to be freed by g_array_unref().
 *
 * All devices have been added by their lenders (`lendctl add`) before the first
 * one is borrowed. Those with a given size are borrowed first, then the others
 * in the order of `lend:`. Leaves out devices that are not emulated, hosts that
 * no cable joins, and loans to virtual machines of a host, whose window follows
 * from the machine's memory.
 */
GArray *clu_lend_plan_new(const CluPlan *plan);

/* The loan of @row, and the reason for its window; to be freed. */
char *clu_lend_plan_note(const CluLendPlan *row);

#endif
