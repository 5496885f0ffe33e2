// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that were removed while their driver still has DMA memory. The driver frees
 * that memory when the last file is closed. The module that added the device may be
 * gone by then.
 */
#include <linux/dma-map-ops.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>

#include "compat.h"
#include "fabric.h"

static bool had_orphans;

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

static void *orphan_alloc(struct device *dev, size_t size, dma_addr_t *handle, gfp_t gfp,
			  unsigned long attrs)
{
	return NULL;
}

static struct page *orphan_alloc_pages(struct device *dev, size_t size, dma_addr_t *handle,
				       enum dma_data_direction dir, gfp_t gfp)
{
	return NULL;
}

static dma_addr_t orphan_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				  enum dma_data_direction dir, unsigned long attrs)
{
	return DMA_MAPPING_ERROR;
}

static void orphan_unmap_phys(struct device *dev, dma_addr_t addr, size_t size,
			      enum dma_data_direction dir, unsigned long attrs)
{
}

DLEND_DEFINE_MAPS(orphan)

static int orphan_map_sg(struct device *dev, struct scatterlist *list, int n,
			 enum dma_data_direction dir, unsigned long attrs)
{
	return -EIO;
}

static void orphan_unmap_sg(struct device *dev, struct scatterlist *list, int n,
			    enum dma_data_direction dir, unsigned long attrs)
{
}

/*
 * The device is gone: nothing is mapped any more, and what was mapped is undone already. A
 * driver may ask all the same.
 */
static const struct dma_map_ops orphan_ops = {
	.alloc = orphan_alloc,
	.free = orphan_free,
	.DLEND_ALLOC_PAGES_OP = orphan_alloc_pages,
	.free_pages = orphan_free_pages,
	DLEND_MAPS(orphan),
	.map_sg = orphan_map_sg,
	.unmap_sg = orphan_unmap_sg,
};

/* dlend_orphans_done() waits until a thread that was stopped before the return has gone on. */
static void orphan_gone(void *unused)
{
	module_put(THIS_MODULE);
}

void dlend_orphan(struct pci_host_bridge *bridge, struct device *dev)
{
	WRITE_ONCE(had_orphans, true);
	/* Without memory for the action, the module stays. */
	__module_get(THIS_MODULE);
	if (devm_add_action(&bridge->dev, orphan_gone, NULL))
		dev_warn(dev, "no memory: dl_fabric cannot be removed any more\n");
	set_dma_ops(dev, &orphan_ops);
}
EXPORT_SYMBOL_GPL(dlend_orphan);

void dlend_orphans_done(void)
{
	if (READ_ONCE(had_orphans))
		synchronize_rcu_tasks();
}
