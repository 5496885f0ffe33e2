// SPDX-License-Identifier: GPL-2.0-only
/* Notices that a device's memory goes; see include/dl_notice.h. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "dl_notice.h"

static BLOCKING_NOTIFIER_HEAD(notices);

int dlend_notice_register(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&notices, nb);
}
EXPORT_SYMBOL_GPL(dlend_notice_register);

int dlend_notice_unregister(struct notifier_block *nb)
{
	return blocking_notifier_chain_unregister(&notices, nb);
}
EXPORT_SYMBOL_GPL(dlend_notice_unregister);

/* Ranges that are mapped, and how many of them have gone */

static LIST_HEAD(mappings);
static DEFINE_SPINLOCK(mappings_lock);		/* guards both */
static unsigned int mappings_gone;

void dlend_mapping_add(struct dlend_mapping *mapping, struct device *importer,
		       dma_addr_t start, u64 size, bool reads)
{
	struct dlend_notice notice = {
		.importer = importer,
		.start = start,
		.size = size,
	};

	*mapping = (struct dlend_mapping){
		.importer = importer,
		.start = start,
		.size = size,
	};
	spin_lock_bh(&mappings_lock);
	list_add_tail(&mapping->node, &mappings);
	spin_unlock_bh(&mappings_lock);
	if (reads)
		blocking_notifier_call_chain(&notices, DLEND_MEMORY_IS_MAPPED, &notice);
}
EXPORT_SYMBOL_GPL(dlend_mapping_add);

void dlend_mapping_remove(struct dlend_mapping *mapping)
{
	spin_lock_bh(&mappings_lock);
	list_del(&mapping->node);
	if (mapping->gone)
		WRITE_ONCE(mappings_gone, mappings_gone - 1);
	spin_unlock_bh(&mappings_lock);
}
EXPORT_SYMBOL_GPL(dlend_mapping_remove);

bool dlend_mapping_has_gone(struct device *importer, dma_addr_t address)
{
	struct dlend_mapping *mapping;
	bool gone = false;

	if (!READ_ONCE(mappings_gone))
		return false;
	spin_lock_bh(&mappings_lock);
	list_for_each_entry(mapping, &mappings, node)
		gone |= mapping->gone && mapping->importer == importer &&
			address >= mapping->start && address - mapping->start < mapping->size;
	spin_unlock_bh(&mappings_lock);
	return gone;
}
EXPORT_SYMBOL_GPL(dlend_mapping_has_gone);

static bool is_mapped_for(struct device *importer)
{
	struct dlend_mapping *mapping;
	bool found = false;

	spin_lock_bh(&mappings_lock);
	list_for_each_entry(mapping, &mappings, node)
		found |= mapping->importer == importer;
	spin_unlock_bh(&mappings_lock);
	return found;
}

static void mappings_go(struct device *importer, dma_addr_t start, u64 size)
{
	struct dlend_mapping *mapping;

	spin_lock_bh(&mappings_lock);
	list_for_each_entry(mapping, &mappings, node) {
		if (mapping->gone || mapping->importer != importer ||
		    mapping->start + mapping->size <= start || start + size <= mapping->start)
			continue;
		mapping->gone = true;
		WRITE_ONCE(mappings_gone, mappings_gone + 1);
	}
	spin_unlock_bh(&mappings_lock);
}

bool dlend_notice_send(struct device *importer, dma_addr_t start, u64 size)
{
	struct dlend_notice notice = {
		.importer = importer,
		.start = start,
		.size = size,
	};

	mappings_go(importer, start, size);
	blocking_notifier_call_chain(&notices, DLEND_MEMORY_GOES, &notice);
	return notice.stopped;
}
EXPORT_SYMBOL_GPL(dlend_notice_send);

static BLOCKING_NOTIFIER_HEAD(bars_notices);

int dlend_notice_bars_register(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&bars_notices, nb);
}
EXPORT_SYMBOL_GPL(dlend_notice_bars_register);

int dlend_notice_bars_unregister(struct notifier_block *nb)
{
	return blocking_notifier_chain_unregister(&bars_notices, nb);
}
EXPORT_SYMBOL_GPL(dlend_notice_bars_unregister);

void dlend_notice_bars_send(phys_addr_t start, u64 size)
{
	struct dlend_bars_notice notice = { .start = start, .size = size };

	blocking_notifier_call_chain(&bars_notices, 0, &notice);
}
EXPORT_SYMBOL_GPL(dlend_notice_bars_send);

/* Devices that have gone, and to which dma-bufs are attached */

/* Nobody says that an attachment ends, so this is how often it is looked for. */
#define KEEP_MS 500

struct kept {
	struct list_head node;
	struct device *dev;			/* counted */
	struct dma_buf *dmabuf;			/* counted */
	struct dma_buf_attachment *attach;	/* of these two; it may have ended */
};

struct kept_netdev {
	struct list_head node;
	struct net_device *netdev;
	struct device *dev;			/* its parent; counted */
	bool is_unmapped;			/* in the last look */
};

static LIST_HEAD(kept_list);
static LIST_HEAD(kept_netdevs);
static DEFINE_MUTEX(kept_lock);			/* guards both */

static void keep_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(keep_work, keep_look);

static bool is_attached(struct kept *kept)
{
	struct dma_buf_attachment *attach;
	bool found = false;

	dma_resv_lock(kept->dmabuf->resv, NULL);
	list_for_each_entry(attach, &kept->dmabuf->attachments, node)
		found |= attach == kept->attach && attach->dev == kept->dev;
	dma_resv_unlock(kept->dmabuf->resv);
	return found;
}

/* The kernel unlocks the interface after the unmapping, so the second look counts. */
static void keep_look_netdevs(void)
{
	struct kept_netdev *kept, *next;

	list_for_each_entry_safe(kept, next, &kept_netdevs, node) {
		if (!kept->is_unmapped) {
			kept->is_unmapped = !is_mapped_for(kept->dev);
			continue;
		}
		list_del(&kept->node);
		free_netdev(kept->netdev);
		put_device(kept->dev);
		kfree(kept);
		module_put(THIS_MODULE);
	}
}

static void keep_look(struct work_struct *work)
{
	struct kept *kept, *next;

	mutex_lock(&kept_lock);
	keep_look_netdevs();
	list_for_each_entry_safe(kept, next, &kept_list, node) {
		if (is_attached(kept))
			continue;
		list_del(&kept->node);
		put_device(kept->dev);
		dma_buf_put(kept->dmabuf);
		kfree(kept);
		module_put(THIS_MODULE);
	}
	if (!list_empty(&kept_list) || !list_empty(&kept_netdevs))
		schedule_delayed_work(&keep_work, msecs_to_jiffies(KEEP_MS));
	mutex_unlock(&kept_lock);
}

static bool is_kept(const struct dma_buf_attachment *attach)
{
	struct kept *kept;

	list_for_each_entry(kept, &kept_list, node)
		if (kept->attach == attach && kept->dev == attach->dev)
			return true;
	return false;
}

void dlend_keep_attached(struct dma_buf_attachment *attach)
{
	struct kept *kept;

	mutex_lock(&kept_lock);
	if (!is_kept(attach)) {
		kept = kzalloc(sizeof(*kept), GFP_KERNEL | __GFP_NOFAIL);
		kept->dev = get_device(attach->dev);
		kept->dmabuf = attach->dmabuf;
		get_dma_buf(kept->dmabuf);
		kept->attach = attach;
		__module_get(THIS_MODULE);
		list_add_tail(&kept->node, &kept_list);
		schedule_delayed_work(&keep_work, msecs_to_jiffies(KEEP_MS));
	}
	mutex_unlock(&kept_lock);
}
EXPORT_SYMBOL_GPL(dlend_keep_attached);

void dlend_free_netdev(struct net_device *netdev)
{
	struct device *dev = netdev->dev.parent;
	struct kept_netdev *kept;

	if (!is_mapped_for(dev)) {
		free_netdev(netdev);
		return;
	}
	kept = kzalloc(sizeof(*kept), GFP_KERNEL | __GFP_NOFAIL);
	kept->netdev = netdev;
	kept->dev = get_device(dev);
	__module_get(THIS_MODULE);
	mutex_lock(&kept_lock);
	list_add_tail(&kept->node, &kept_netdevs);
	schedule_delayed_work(&keep_work, msecs_to_jiffies(KEEP_MS));
	mutex_unlock(&kept_lock);
}
EXPORT_SYMBOL_GPL(dlend_free_netdev);

static int __init dl_notice_init(void)
{
	return 0;
}

static void __exit dl_notice_exit(void)
{
	/* It has put the last reference to the module, and is about to return. */
	cancel_delayed_work_sync(&keep_work);
}

module_init(dl_notice_init);
module_exit(dl_notice_exit);

DLEND_IMPORT_NS(DMA_BUF);
MODULE_DESCRIPTION("Notices that a device's memory goes");
MODULE_LICENSE("GPL");
