/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices that a device's memory goes, for those that reach it by DMA and cannot be told by
 * other means: an importer that has attached to a dma-buf by dma_buf_attach() hears nothing
 * when the memory behind it goes, and devmem TCP attaches so.
 */
#ifndef DL_NOTICE_H
#define DL_NOTICE_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/notifier.h>
#include <linux/types.h>

/* Events of dlend_notice_register() */
enum {
	DLEND_MEMORY_GOES,
	DLEND_MEMORY_IS_MAPPED,		/* for a device that reads it */
};

/**
 * struct dlend_notice - a range of addresses that will lead elsewhere
 * @importer: the device that reaches it by DMA
 * @start: first address, as @importer uses it
 * @size: bytes
 * @stopped: set by the importer's driver: @importer does no DMA to the range any more, and
 *	none is in flight
 *
 * With DLEND_MEMORY_IS_MAPPED, one that @importer may read from now on.
 */
struct dlend_notice {
	struct device *importer;
	dma_addr_t start;
	u64 size;
	bool stopped;
};

/**
 * dlend_notice_register() - hear notices
 * @nb: its function gets a struct dlend_notice, and returns NOTIFY_DONE
 *
 * A notice comes in process context; the function may sleep, and takes no lock under which
 * somebody removes a device or calls an interface's operations.
 *
 * Return: 0.
 */
int dlend_notice_register(struct notifier_block *nb);
int dlend_notice_unregister(struct notifier_block *nb);

/**
 * dlend_notice_send() - say that a range goes
 * @importer: as in struct dlend_notice
 * @start: as there
 * @size: as there
 *
 * Context: Process context. Sleeps until the importer has stopped, for seconds at most.
 * Return: whether a driver has said that @importer does no DMA to the range any more.
 */
bool dlend_notice_send(struct device *importer, dma_addr_t start, u64 size);

/* A range that is mapped for a device; the members are dl_notice's own. */
struct dlend_mapping {
	struct list_head node;
	struct device *importer;
	dma_addr_t start;
	u64 size;
	bool gone;
};

/**
 * dlend_mapping_add() - say that a range is mapped for a device
 * @mapping: memory of the caller, until dlend_mapping_remove()
 * @importer: the device that reaches it by DMA; exists until then
 * @start: first address, as @importer uses it
 * @size: bytes
 * @reads: the device reads it, and does not write
 *
 * A later notice of any of its addresses (dlend_notice_send()) makes it one that has gone.
 */
void dlend_mapping_add(struct dlend_mapping *mapping, struct device *importer,
		       dma_addr_t start, u64 size, bool reads);
void dlend_mapping_remove(struct dlend_mapping *mapping);

/**
 * dlend_mapping_has_gone() - whether an address led to memory that has gone since
 * @importer: the device that reaches it by DMA
 * @address: the address, as @importer uses it
 *
 * A holder of the address may outlive the memory, as a packet does that waits to be sent. The
 * answer is true before the functions of dlend_notice_register() are called, and until the
 * mapping is removed. Until then it is also true of a new mapping at the same address.
 *
 * Context: Any but a hard interrupt.
 */
bool dlend_mapping_has_gone(struct device *importer, dma_addr_t address);

struct dma_buf_attachment;

/**
 * dlend_keep_attached() - keep the device of an attachment until this has ended
 * @attach: it exists now; its device may be removed
 *
 * An importer that does not know when the kernel detaches its dma-buf, as a NIC with devmem
 * TCP, may be removed before. The kernel then uses its struct device once more.
 *
 * Context: Process context.
 */
void dlend_keep_attached(struct dma_buf_attachment *attach);

struct net_device;

/**
 * dlend_free_netdev() - free_netdev(), as soon as no memory is mapped for its device any more
 * @netdev: unregistered; its parent may be removed. It calls nothing of its driver any more
 *
 * Linux locks an interface when it unbinds memory that was bound for sending, even if the
 * interface has gone (netdev_nl_sock_priv_destroy()).
 *
 * Context: Process context.
 */
void dlend_free_netdev(struct net_device *netdev);

/**
 * struct dlend_bars_notice - BARs of a device that are about to be somebody else's
 * @start: first physical address of this machine
 * @size: bytes
 *
 * The device's driver is removed later. Until then it may use the addresses, but has to end
 * what other devices do there by itself, when it hears this.
 */
struct dlend_bars_notice {
	phys_addr_t start;
	u64 size;
};

/**
 * dlend_notice_bars_register() - hear that BARs go
 * @nb: its function gets a struct dlend_bars_notice; the rest as dlend_notice_register()
 *
 * Return: 0.
 */
int dlend_notice_bars_register(struct notifier_block *nb);
int dlend_notice_bars_unregister(struct notifier_block *nb);

/**
 * dlend_notice_bars_send() - say that BARs go
 * @start: as in struct dlend_bars_notice
 * @size: as there
 *
 * Context: Process context. Sleeps until the drivers have ended DMA of other devices.
 */
void dlend_notice_bars_send(phys_addr_t start, u64 size);

#endif
