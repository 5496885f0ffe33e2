/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The size of a DMA window that nobody has chosen. dl_borrower, the simulator and "farside
 * plan" compute it with the functions of this file, so they agree.
 *
 * The rule is the SmartIO manual's ("Automatic DMA Window Size"): the device that is
 * borrowed gets a fair share of what is free in the lender's adapter. It shares with the
 * devices of the lender that have been added and are not borrowed yet. A device that is
 * known to need a large window gets more. The share does not leave room for P2P, which
 * may be enabled later.
 *
 * The manual does not say how much more an accelerator gets. DLEND_WEIGHT_ACCELERATOR is
 * assumed.
 */
#ifndef DL_WINDOW_H
#define DL_WINDOW_H

#include <linux/types.h>

/* Shares of a device of any kind, and of an accelerator. */
#define DLEND_WEIGHT 1
#define DLEND_WEIGHT_ACCELERATOR 4

/* Largest weight of a device. */
#define DLEND_WEIGHT_MAX 65536

/* Return: the weight of a device with this class code, whose low byte is the interface. */
static inline __u32 dlend_window_weight(__u32 class_code)
{
	__u32 base = class_code >> 16;

	/* Display controllers and processing accelerators (PCI Code and ID, s1.4, s1.19). */
	return base == 0x03 || base == 0x12 ? DLEND_WEIGHT_ACCELERATOR : DLEND_WEIGHT;
}

/*
 * dlend_window_share - the size of the window of a device
 * @free: what is free in the adapter, without what is reserved; in any unit
 * @weight: weight of the device, 1 to DLEND_WEIGHT_MAX
 * @total: weight of all devices that share, this one included; @weight to 2^40
 * @most: the largest size that the device can use, which is the borrower's RAM; in the same
 *	unit; 0 if it is not known
 *
 * Return: the size in the unit of @free, rounded down to a whole number of it, at most @free.
 */
static inline __u64 dlend_window_share(__u64 free, __u32 weight, __u64 total, __u64 most)
{
	/* The product @free * @weight may have more than 64 bits. */
	__u64 share = free / total * weight + free % total * weight / total;

	return most && share > most ? most : share;
}

#endif
