/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices that this node may lend. A function with a parameter @why writes the
 * reason of an error there.
 *
 * A device has an ID, the fdid: number of its node << 16 | index. It keeps the ID
 * from dlend_lender_add() until dlend_lender_remove(), or until it is unplugged.
 */
#ifndef DL_LENDER_H
#define DL_LENDER_H

#include <linux/types.h>

#include "dl_why.h"

struct pci_dev;

/* Largest number of devices that have an ID on one node. */
#define DLEND_DEVICES_MAX 64

/**
 * enum dlend_device_state - the user of a device
 * @DLEND_DEVICE_LOCAL: its own node
 * @DLEND_DEVICE_AVAILABLE: nobody; other nodes may borrow it
 * @DLEND_DEVICE_BORROWED: another node
 */
enum dlend_device_state {
	DLEND_DEVICE_LOCAL,
	DLEND_DEVICE_AVAILABLE,
	DLEND_DEVICE_BORROWED,
};

/**
 * struct dlend_device_info - describes a device
 * @fdid: its ID
 * @state: enum dlend_device_state
 * @borrower: number of the node that has borrowed it, or 0
 * @bdf: domain << 16 | bus << 8 | devfn, on its own node
 * @vendor: as in its configuration space
 * @device: as in its configuration space
 * @subsystem_vendor: as in its configuration space
 * @subsystem_device: as in its configuration space
 * @class: class code, 24 bits
 * @physical: bus << 8 | devfn of its physical function; its own unless it is virtual
 * @physical_device: the physical function's device ID
 * @virtual_number: number of a virtual function, from 0 on
 * @is_virtual: it is a virtual function (SR-IOV)
 * @fabric: number of the network behind its port, as for dlend_lender_add()
 * @dma_window: bytes of the borrower's memory that it can reach; 0 if not borrowed
 * @driver: name of its driver on its own node; "" if it has none, "dl_lender" if it is
 *	available or borrowed
 */
struct dlend_device_info {
	u32 fdid;
	u32 state;
	u32 borrower;
	u32 bdf;
	u16 vendor, device, subsystem_vendor, subsystem_device;
	u32 class;
	u16 physical, physical_device, virtual_number;
	bool is_virtual;
	u64 fabric;
	u64 dma_window;
	char driver[32];
};

/**
 * dlend_lender_add() - give a device an ID
 * @bdf: domain << 16 | bus << 8 | devfn
 * @fabric: number of the network behind its port, for InfiniBand the subnet prefix; 0 if
 *	it is not known. Other nodes see it; nothing else depends on it.
 * @fdid: set to the ID
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENODEV if there is no such device; -EEXIST if it has an ID already;
 * -EINVAL if it cannot be lent, such as a bridge or the NTB adapter; -ENOSPC if
 * DLEND_DEVICES_MAX devices have an ID; -ENOMEM.
 */
int dlend_lender_add(u32 bdf, u64 fabric, u32 *fdid, struct dlend_why *why);

/**
 * dlend_lender_remove() - take the ID from a device
 * @fdid: the device
 * @why: set to the reason of an error
 *
 * A device that is available goes back to its old driver.
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT if this node has no such device; -EBUSY if it is borrowed.
 */
int dlend_lender_remove(u32 fdid, struct dlend_why *why);

/**
 * dlend_lender_available() - take a device from its driver, so that it can be borrowed
 * @fdid: the device
 * @why: set to the reason of an error
 *
 * This function cannot tell whether the device is in use. The caller checks mounts and
 * network interfaces first.
 *
 * Context: Process context. Sleeps.
 * Return: 0, also if it was available already; -ENOENT if this node has no such
 * device; -EPERM if it is behind no IOMMU; -EBUSY if another device of its IOMMU
 * group is in use; -EINVAL if it cannot be lent; or another error of binding the
 * driver dl_lender.
 */
int dlend_lender_available(u32 fdid, struct dlend_why *why);

/**
 * dlend_lender_unavailable() - give a device back to its old driver
 * @fdid: the device
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT if this node has no such device; -EBUSY if it is borrowed.
 */
int dlend_lender_unavailable(u32 fdid, struct dlend_why *why);

/**
 * dlend_lender_function() - find a device that this node uses itself
 * @fdid: the device
 *
 * Context: Process context. Sleeps.
 * Return: a reference to the function, which the caller gives back by pci_dev_put(); NULL
 * if this node has no such device, or offers it to others.
 */
struct pci_dev *dlend_lender_function(u32 fdid);

/**
 * dlend_lender_list() - describe the devices that have an ID, in the order of their IDs
 * @infos: filled in
 * @max: entries of @infos
 *
 * Context: Process context. Sleeps.
 * Return: how many entries were filled in.
 */
unsigned int dlend_lender_list(struct dlend_device_info *infos,
			       unsigned int max);

#endif
