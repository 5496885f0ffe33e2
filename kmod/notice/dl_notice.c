// SPDX-License-Identifier: GPL-2.0-only
/* Notices that a device's memory goes; see include/dl_notice.h. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
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

bool dlend_notice_send(struct device *importer, dma_addr_t start, u64 size)
{
	struct dlend_notice notice = {
		.importer = importer,
		.start = start,
		.size = size,
	};

	blocking_notifier_call_chain(&notices, 0, &notice);
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

static LIST_HEAD(kept_list);
static DEFINE_MUTEX(kept_lock);			/* guards it */

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

static void keep_look(struct work_struct *work)
{
	struct kept *kept, *next;

	mutex_lock(&kept_lock);
	list_for_each_entry_safe(kept, next, &kept_list, node) {
		if (is_attached(kept))
			continue;
		list_del(&kept->node);
		put_device(kept->dev);
		dma_buf_put(kept->dmabuf);
		kfree(kept);
		module_put(THIS_MODULE);
	}
	if (!list_empty(&kept_list))
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
