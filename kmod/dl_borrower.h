/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices of other nodes: what there is, and what this node has borrowed. All
 * functions sleep; where they fail they return a negative errno and say why.
 */
#ifndef DL_BORROWER_H
#define DL_BORROWER_H

#include <linux/types.h>

#include "dl_lender.h"

/* A device that this node has borrowed. */
struct dlend_loan_info {
	u32 fdid;
	u32 lender;	/* node */
	u32 domain;	/* local address; more than 16 bits */
	u8 bus, devfn;
	u16 vendor, device;
	u32 class;
	u64 dma_window;	/* bytes of this node that the device reaches */
	u64 dma_free;	/* of which not in use; all or nothing without an IOMMU */
	char driver[32];	/* "" as long as none is bound */
};

/*
 * dlend_borrower_borrow() - puts a device of another node into this one
 * @window: bytes of the DMA window; 0 for the default
 * @info: (nullable) what has become of it; its driver may bind later
 *
 * Return: 0; -ENOENT if no node that is up has the ID; -EBUSY if it is borrowed
 * (@why has by whom) or not available; -ENOSPC if windows do not fit (@why has
 * what is free); -EINVAL for a window that cannot be.
 */
int dlend_borrower_borrow(u32 fdid, u64 window, struct dlend_loan_info *info,
			  struct dlend_why *why);

/* Takes it from its local driver and gives it back. -ENOENT if not borrowed. */
int dlend_borrower_return(u32 fdid, struct dlend_why *why);

/* What this node has borrowed: up to @max. Return: how many. */
unsigned int dlend_borrower_loans(struct dlend_loan_info *infos, unsigned int max);

/*
 * dlend_borrower_remote() - devices of the nodes that are up, up to @max
 *
 * Asks each of them; one that does not answer is left out.
 * Return: how many, or -ENOMEM.
 */
int dlend_borrower_remote(struct dlend_device_info *infos, unsigned int max);

#endif
