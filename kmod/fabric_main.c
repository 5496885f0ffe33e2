// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start and end of dl_fabric.
 */
#include <linux/module.h>

#include "fabric.h"

static int __init fabric_init(void)
{
	int err;

	err = dlend_peers_init() ?: dlend_session_init();
	if (err)
		return err;
	dlend_debugfs_init();
	err = dlend_mailbox_init();
	if (err)
		goto debugfs_done;
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
debugfs_done:
	dlend_debugfs_done();
	return err;
}

static void __exit fabric_exit(void)
{
	dlend_ntb_done();
	dlend_loop_done();
	dlend_mailbox_done();
	dlend_debugfs_done();
}

module_init(fabric_init);
module_exit(fabric_exit);
MODULE_DESCRIPTION("Device Lending: peers, calls and windows across NTBs");
MODULE_LICENSE("GPL");
