/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices that a device's memory goes, for those that reach it by DMA and cannot be told by
 * other means: an importer that has attached to a dma-buf by dma_buf_attach() hears nothing
 * when the memory behind it goes, and devmem TCP attaches so.
 */
#ifndef DL_NOTICE_H
#define DL_NOTICE_H

#include <linux/device.h>
#include <linux/notifier.h>
#include <linux/types.h>

/**
 * struct dlend_notice - a range of addresses that will lead elsewhere
 * @importer: the device that reaches it by DMA
 * @start: first address, as @importer uses it
 * @size: bytes
 * @stopped: set by the importer's driver: @importer does no DMA to the range any more, and
 *	none is in flight
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
