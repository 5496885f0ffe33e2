/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices of this node that may be lent. All functions sleep; where they fail
 * they return a negative errno and say why in @why.
 *
 * A device has an ID, the fdid: number of the node << 16 | index. It has it from
 * dlend_lender_add() until dlend_lender_remove(), or until the device is unplugged.
 */
#ifndef DL_LENDER_H
#define DL_LENDER_H

#include <linux/types.h>

#include "dl_why.h"

/* Largest number of devices that a node has added. */
#define DLEND_DEVICES_MAX 64

enum dlend_device_state {
	DLEND_DEVICE_LOCAL,	/* this node uses it */
	DLEND_DEVICE_AVAILABLE,	/* may be borrowed */
	DLEND_DEVICE_BORROWED,
};

struct dlend_device_info {
	u32 fdid;
	u32 state;	/* enum dlend_device_state */
	u32 borrower;	/* node, if it is borrowed */
	u32 bdf;	/* domain << 16 | bus << 8 | devfn, on its own node */
	u16 vendor, device, subsystem_vendor, subsystem_device;
	u32 class;	/* 24 bits */
	u64 dma_window;	/* bytes of the borrower that it reaches; 0 if not borrowed */
	char driver[32];	/* on its own node; "" if none, "dl_lender" if lent */
};

/*
 * dlend_lender_add() - gives a device an ID
 * @bdf: domain << 16 | bus << 8 | devfn
 *
 * Return: 0; -ENODEV without such a device; -EEXIST; -EINVAL for a bridge or the
 * adapter itself; -ENOSPC with DLEND_DEVICES_MAX of them.
 */
int dlend_lender_add(u32 bdf, u32 *fdid, struct dlend_why *why);

/* Takes the ID back, and the device too if it is available. -EBUSY if borrowed. */
int dlend_lender_remove(u32 fdid, struct dlend_why *why);

/*
 * dlend_lender_available() - takes the device from its driver, to be borrowed
 *
 * Whether someone uses it can only be seen from outside the kernel: the caller
 * looks at mounts and interfaces before. Return: 0, also if it was available;
 * -EPERM without an IOMMU; -EBUSY if others of its IOMMU group are in use.
 */
int dlend_lender_available(u32 fdid, struct dlend_why *why);

/* Gives it back to its old driver. -EBUSY as long as it is borrowed. */
int dlend_lender_unavailable(u32 fdid, struct dlend_why *why);

/* Information on up to @max devices, by ID. Return: how many. */
unsigned int dlend_lender_list(struct dlend_device_info *infos, unsigned int max);

#endif
