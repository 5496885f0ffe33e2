// SPDX-License-Identifier: GPL-2.0-only
/* Notices that a device's memory goes; see include/dl_notice.h. */
#include <linux/module.h>

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

MODULE_DESCRIPTION("Notices that a device's memory goes");
MODULE_LICENSE("GPL");
