// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start and end of dl_fabric.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/reboot.h>

#include "fabric.h"

/* The kernel is still running so long after the notice of a reboot: the reboot has failed. */
#define REBOOT_MS 60000

static bool noticed;
static unsigned long noticed_at;

bool dlend_going_down(void)
{
	if (system_state > SYSTEM_RUNNING)
		return true;
	/* Pairs with the release in fabric_reboot(): noticed_at is set before. */
	return smp_load_acquire(&noticed) &&
	       time_before(jiffies, noticed_at + msecs_to_jiffies(REBOOT_MS));
}
EXPORT_SYMBOL_GPL(dlend_going_down);

static int fabric_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	noticed_at = jiffies;
	/* A reader that sees the notice also sees its time. */
	smp_store_release(&noticed, true);
	return NOTIFY_DONE;
}

/* It runs before those of the clients, which end what there is. */
static struct notifier_block fabric_reboot_notifier = {
	.notifier_call = fabric_reboot,
	.priority = 1,
};

static int __init fabric_init(void)
{
	int err;

	err = dlend_peers_init() ?: dlend_session_init();
	if (err)
		return err;
	dlend_debugfs_init();
	err = register_reboot_notifier(&fabric_reboot_notifier);
	if (err)
		goto debugfs_done;
	err = dlend_mailbox_init();
	if (err)
		goto reboot_done;
	err = dlend_loop_init();
	if (err)
		goto mailbox_done;
	err = dlend_ntb_init();
	if (err)
		goto loop_done;
	return 0;

loop_done:
	dlend_loop_done();
mailbox_done:
	dlend_mailbox_done();
reboot_done:
	unregister_reboot_notifier(&fabric_reboot_notifier);
debugfs_done:
	dlend_debugfs_done();
	return err;
}

static void __exit fabric_exit(void)
{
	dlend_ntb_done();
	dlend_loop_done();
	dlend_mailbox_done();
	unregister_reboot_notifier(&fabric_reboot_notifier);
	dlend_debugfs_done();
	dlend_orphans_done();
}

module_init(fabric_init);
module_exit(fabric_exit);
MODULE_DESCRIPTION("Device Lending: peers, calls and windows across NTBs");
MODULE_LICENSE("GPL");
