/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The devices of other nodes, and the devices that this node has borrowed. A function
 * with a parameter @why writes the reason of an error there.
 */
#ifndef DL_BORROWER_H
#define DL_BORROWER_H

#include <linux/pci.h>
#include <linux/types.h>

#include "dl_lender.h"
#include "dl_proto.h"

/**
 * struct dlend_loan_info - describes a device that this node has borrowed
 * @fdid: its ID
 * @lender: number of the node that it is plugged into
 * @domain: its PCI domain here; above 0xffff
 * @bus: its bus number here
 * @devfn: its device and function number here
 * @vendor: as in its configuration space
 * @device: as in its configuration space
 * @class: class code, 24 bits
 * @dma_window: bytes of this node's memory that the device can reach
 * @dma_free: bytes of the window that are not mapped; the whole window if
 *	this node has no IOMMU that translates
 * @driver: name of its driver here; "" if none is bound
 */
struct dlend_loan_info {
	u32 fdid;
	u32 lender;
	u32 domain;
	u8 bus, devfn;
	u16 vendor, device;
	u32 class;
	u64 dma_window;
	u64 dma_free;
	char driver[32];
};

/*
 * For dlend_borrower_borrow(): a virtual machine of this node shall have the device. The
 * function gets the driver dl_mdev and no other.
 */
#define DLEND_BORROW_GUEST 1
/* With DLEND_BORROW_GUEST: the lender handles MSI and MSI-X, too, and tells of them. */
#define DLEND_BORROW_FORWARD 2
/* With DLEND_BORROW_GUEST: this node returns the device when its user has closed it. */
#define DLEND_BORROW_ONCE 4

/**
 * dlend_borrower_borrow() - borrow a device of another node, and add it to this node
 * @fdid: the device
 * @window: bytes of the DMA window; 0 for the default
 * @flags: 0, or DLEND_BORROW_GUEST and others
 * @info: (nullable) set to a description of the loan; a driver may bind later
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT if the node is not known or has no such device; -ENOTCONN if
 * the node is not up; -EBUSY if the device is borrowed (@why names the node) or
 * not available; -EACCES if this node may not borrow such a device;
 * -ENOSPC if a window does not fit (@why names what is free);
 * -EINVAL if the size of the window is wrong; or another error of this node or of the
 * lender.
 */
int dlend_borrower_borrow(u32 fdid, u64 window, unsigned int flags,
			  struct dlend_loan_info *info, struct dlend_why *why);

/**
 * dlend_borrower_return() - take a device from its driver here and give it back
 * @fdid: the device
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0, or -ENOENT if this node has not borrowed it.
 */
int dlend_borrower_return(u32 fdid, struct dlend_why *why);

#define DLEND_PATTERN_MAX 40

/**
 * struct dlend_pattern - an entry of the list of devices that this node may borrow
 * @text: its text, with a NUL
 */
struct dlend_pattern {
	char text[DLEND_PATTERN_MAX];
};

/**
 * dlend_borrower_allow() - let this node borrow devices
 * @pattern: VENDOR:DEVICE[:CLASS[:PROG-IF]][+quirks]; see borrower_allow.c
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0, also if the list has the entry; -EINVAL or -ENOSPC.
 */
int dlend_borrower_allow(const char *pattern, struct dlend_why *why);

/**
 * dlend_borrower_disallow() - undo dlend_borrower_allow()
 * @pattern: as there
 * @why: set to the reason of an error
 *
 * A loan that exists goes on.
 *
 * Context: Process context. Sleeps.
 * Return: 0, -EINVAL, or -ENOENT if there is no such entry.
 */
int dlend_borrower_disallow(const char *pattern, struct dlend_why *why);

/**
 * dlend_borrower_allowed() - list what this node may borrow
 * @patterns: filled in
 * @max: entries of @patterns
 *
 * Context: Process context. Sleeps.
 * Return: how many entries the list has; no more than @max were filled in.
 */
unsigned int dlend_borrower_allowed(struct dlend_pattern *patterns, unsigned int max);

/**
 * dlend_borrower_loans() - describe the devices that this node has borrowed
 * @infos: filled in
 * @max: entries of @infos
 *
 * Context: Process context. Sleeps.
 * Return: how many entries were filled in.
 */
unsigned int dlend_borrower_loans(struct dlend_loan_info *infos,
				  unsigned int max);

/**
 * dlend_borrower_remote() - describe the devices of the nodes that are up
 * @infos: filled in
 * @max: entries of @infos
 *
 * The function asks each of these nodes. It leaves out a node that does not answer.
 *
 * Context: Process context. Sleeps.
 * Return: how many entries were filled in, or -ENOMEM.
 */
int dlend_borrower_remote(struct dlend_device_info *infos, unsigned int max);

/**
 * enum dlend_p2p_path - the way of the data between two devices
 * @DLEND_P2P_ONE_LENDER: within their lender
 * @DLEND_P2P_TWO_LENDERS: from one lender to the other
 * @DLEND_P2P_BORROWER: between a lender and this node, whose own device is one of them
 */
enum dlend_p2p_path {
	DLEND_P2P_ONE_LENDER,
	DLEND_P2P_TWO_LENDERS,
	DLEND_P2P_BORROWER,
};

/**
 * struct dlend_p2p_info - describes that a device may reach another one
 * @source: ID of the device that reads and writes
 * @target: ID of the device whose BARs it reaches
 * @path: enum dlend_p2p_path
 * @mapped: number of mappings that the source's driver has; 0 if the source is this
 *	node's own
 */
struct dlend_p2p_info {
	u32 source, target;
	u32 path;
	u32 mapped;
};

/**
 * dlend_borrower_p2p_enable() - let a device read and write the BARs of another one
 * @source: the device that reads and writes
 * @target: the other device
 * @local: the function of the one that this node has not borrowed; NULL if it has
 *	borrowed both, or knows neither
 * @why: set to the reason of an error
 *
 * This is one direction only. It ends when either device is returned.
 *
 * Context: Process context. Sleeps.
 * Return: 0; -EINVAL if both are the same; -ENOENT if this node uses one of them not, or
 * has borrowed neither; -EEXIST if it is enabled already; -ENETUNREACH if the lenders are
 * not connected with each other; -EDQUOT, -ENOSPC if a quota or the windows are used up;
 * -EPERM if other devices would be opened as well; or another error of a lender.
 */
int dlend_borrower_p2p_enable(u32 source, u32 target, struct pci_dev *local,
			      struct dlend_why *why);

/**
 * dlend_borrower_p2p_disable() - undo dlend_borrower_p2p_enable()
 * @source: as there
 * @target: as there
 * @why: set to the reason of an error
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ENOENT if it is not enabled; -EBUSY if the source's driver has mappings.
 */
int dlend_borrower_p2p_disable(u32 source, u32 target, struct dlend_why *why);

/**
 * dlend_borrower_p2p_list() - describe which devices may reach which others
 * @infos: filled in
 * @max: entries of @infos
 *
 * Context: Process context. Sleeps.
 * Return: how many entries were filled in.
 */
unsigned int dlend_borrower_p2p_list(struct dlend_p2p_info *infos, unsigned int max);

/**
 * dlend_guest_window() - the DMA window of a function that a virtual machine shall have
 * @pdev: a function; its driver calls this and the functions below
 *
 * Return: bytes of guest memory, from address 0 on, that the device can reach; 0 if
 * @pdev was not borrowed with DLEND_BORROW_GUEST.
 */
u64 dlend_guest_window(struct pci_dev *pdev);

/**
 * dlend_guest_map() - let the device reach pages of this node
 * @pdev: the function
 * @addr: at which the device shall reach the first page: its address in the guest
 * @pages: they stay where they are until dlend_guest_unmap()
 * @n: number of pages
 *
 * Nothing is mapped at these addresses yet.
 *
 * Context: Process context. Sleeps.
 * Return: 0; -ERANGE beyond the window; -ENODEV if the device is lost; or -ENOMEM.
 */
int dlend_guest_map(struct pci_dev *pdev, u64 addr, struct page **pages, unsigned int n);

/**
 * dlend_guest_unmap() - undo one call of dlend_guest_map()
 * @pdev: the function
 * @addr: as it was given
 * @n: as it was given
 *
 * The device does not reach the pages any more, also if it is lost.
 */
void dlend_guest_unmap(struct pci_dev *pdev, u64 addr, unsigned int n);

/* Address of a BAR that a virtual machine has not mapped. */
#define DLEND_GUEST_NOWHERE (~0ULL)

/**
 * dlend_guest_bars() - say where a virtual machine has the BARs of the device
 * @pdev: the function
 * @machine: the same for all devices of one machine; NULL: no machine has the device
 * @bars: for each BAR its address in the machine, or DLEND_GUEST_NOWHERE
 *
 * Devices of one machine for which peer-to-peer is enabled reach each other at these
 * addresses when the function returns. A lender that refuses that is named in the log, and
 * asked again when another BAR has moved. If a lender does not say that a device reaches
 * the BARs no more, peer-to-peer of the two ends.
 *
 * Context: Process context. Sleeps, and waits for the lenders.
 */
void dlend_guest_bars(struct pci_dev *pdev, const void *machine,
		      const u64 bars[PCI_STD_NUM_BARS]);

/**
 * typedef dlend_raise - is told of interrupts that the lender has handled
 * @data: as it was given
 * @vectors: bit n: vector n has come, once or more often
 *
 * Context: Interrupts are off, and a lock is held.
 */
typedef void (*dlend_raise)(void *data, u64 vectors);

/**
 * dlend_guest_irq_set() - have the lender handle the device's interrupts
 * @pdev: the function; none of its interrupts is set up here
 * @kind: DLEND_IRQ_LINE, DLEND_IRQ_MSI or DLEND_IRQ_MSIX
 * @count: number of vectors, from the first on; at most DLEND_IRQ_VECTORS
 * @raise: called for each, until dlend_guest_irq_clear()
 * @data: for @raise
 *
 * A line is masked when it has come, until dlend_guest_irq_unmask(). A reset of the device
 * ends this, too.
 *
 * Context: Process context. Sleeps, and waits for the lender.
 * Return: 0; -EINVAL if the device does not have them; -EOPNOTSUPP if the lender cannot do
 * this; or another error, with none set.
 */
int dlend_guest_irq_set(struct pci_dev *pdev, enum dlend_irq_kind kind, unsigned int count,
			dlend_raise raise, void *data);

/**
 * dlend_guest_irq_clear() - undo dlend_guest_irq_set()
 * @pdev: the function
 *
 * @raise is not called any more when the function returns.
 *
 * Context: Process context. Sleeps, and waits for the lender.
 */
void dlend_guest_irq_clear(struct pci_dev *pdev);

/**
 * dlend_guest_has_line() - ask whether the lender can handle the device's line interrupt
 * @pdev: the function; the lender handles no interrupts of it now
 *
 * Context: Process context. Sleeps, and waits for the lender.
 * Return: whether it can.
 */
bool dlend_guest_has_line(struct pci_dev *pdev);

/**
 * dlend_guest_forwards() - ask how the device was borrowed
 * @pdev: the function
 *
 * Return: whether it was borrowed with DLEND_BORROW_FORWARD.
 */
bool dlend_guest_forwards(struct pci_dev *pdev);

/**
 * dlend_guest_has_vectors() - ask whether the device can have several vectors of MSI
 * @pdev: the function
 *
 * Return: true if the lender handles them, or this node remaps interrupts.
 */
bool dlend_guest_has_vectors(struct pci_dev *pdev);

/**
 * dlend_guest_closed() - say that the machine has closed the device
 * @pdev: the function
 *
 * If it was borrowed with DLEND_BORROW_ONCE it is returned soon, which removes the function.
 *
 * Context: Process context. Does not wait.
 */
void dlend_guest_closed(struct pci_dev *pdev);

/**
 * dlend_guest_irq_unmask() - say that the line interrupt was served
 * @pdev: the function
 *
 * If the line is still up, it comes again.
 *
 * Context: Process context. Waits for the lender, and may sleep.
 * Return: 0 or a negative error.
 */
int dlend_guest_irq_unmask(struct pci_dev *pdev);

/**
 * dlend_guest_reset() - have the lender reset the device
 * @pdev: the function
 *
 * Context: Process context. Sleeps.
 * Return: 0 or a negative error.
 */
int dlend_guest_reset(struct pci_dev *pdev);

#endif
