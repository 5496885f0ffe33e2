// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that were removed while their driver still has DMA memory. The driver frees
 * that memory when the last file is closed. The module that added the device may be
 * gone by then.
 */
#include <linux/dma-map-ops.h>
#include <linux/gfp.h>
#include <linux/pci.h>

#include "dl_fabric.h"

static void orphan_free_pages(struct device *dev, size_t size,
			      struct page *page, dma_addr_t handle,
			      enum dma_data_direction dir)
{
	__free_pages(page, get_order(size));
}

static void orphan_free(struct device *dev, size_t size, void *memory,
			dma_addr_t handle, unsigned long attrs)
{
	free_pages((unsigned long)memory, get_order(size));
}

/* The device is gone: nothing is mapped or unmapped any more. */
static const struct dma_map_ops orphan_ops = {
	.free = orphan_free,
	.free_pages = orphan_free_pages,
};

static void orphan_gone(struct pci_host_bridge *bridge)
{
	module_put(THIS_MODULE);
}

void dlend_orphan(struct pci_host_bridge *bridge, struct device *dev)
{
	__module_get(THIS_MODULE);
	pci_set_host_bridge_release(bridge, orphan_gone, NULL);
	set_dma_ops(dev, &orphan_ops);
}
EXPORT_SYMBOL_GPL(dlend_orphan);
