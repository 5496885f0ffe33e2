// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile borrower. It is loaded in place of dl_borrower, knows the protocol of
 * dl_proto.h, and breaks its rules.
 *
 * The name of a misdeed written to the file "rogue" in the folder of Device Lending in
 * debugfs commits it. Then the file has the name, and the result: "ok", or the error with
 * which the lender refused it. The device that it has the right to borrow is @mine;
 * another node has borrowed @other of the same lender.
 *
 * A misdeed begins without a loan. What it has borrowed stays borrowed until the next one,
 * so that the test can look at the lender meanwhile.
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#include "rogue.h"

static dma_addr_t dma;
static struct dlend_export *export;
static char name[32];
static struct dentry *file;

static const struct rogue_misdeed none[] = {
	{ "nothing", take },
	{ }
};

static const struct rogue_misdeed *const tables[] = {
	none, rogue_config, rogue_window, rogue_loan, rogue_p2p, rogue_message,
};

/* Finds the lender, and opens a window onto own memory for it. Return: 0 or an error. */
static int prepare(void)
{
	struct dlend_export *new;

	if (!peer)
		peer = dlend_peer_find(mine >> 16);
	if (!peer || export)
		return peer ? 0 : -ENOTCONN;
	dma = dma_map_single(dlend_peer_dev(peer), memory, AREA, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dlend_peer_dev(peer), dma))
		return -ENOMEM;
	new = dlend_export(peer, dma, AREA, DLEND_WINDOW_LUT, &window);
	if (IS_ERR(new)) {
		dma_unmap_single(dlend_peer_dev(peer), dma, AREA, DMA_BIDIRECTIONAL);
		return PTR_ERR(new);
	}
	export = new;
	return 0;
}

/* The misdeed @name; NULL if there is none. */
static const struct rogue_misdeed *find(void)
{
	const struct rogue_misdeed *misdeed;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (misdeed = tables[i]; misdeed->name; misdeed++)
			if (!strcmp(misdeed->name, name))
				return misdeed;
	return NULL;
}

static int commit(void)
{
	const struct rogue_misdeed *misdeed = find();
	int err;

	if (!misdeed)
		return -ENOENT;
	err = prepare();
	if (err)
		return err;
	give_back();
	result = misdeed->commit();
	return 0;
}

static ssize_t rogue_write(struct file *unused, const char __user *text, size_t size,
			   loff_t *at)
{
	int err;

	if (!size || size >= sizeof(name))
		return -EINVAL;
	mutex_lock(&rogue_mutex);
	memset(name, 0, sizeof(name));
	if (copy_from_user(name, text, size)) {
		err = -EFAULT;
	} else {
		strim(name);
		err = commit();
	}
	mutex_unlock(&rogue_mutex);
	return err ?: size;
}

static int rogue_show(struct seq_file *out, void *unused)
{
	mutex_lock(&rogue_mutex);
	if (result)
		seq_printf(out, "%s: %pe\n", name, ERR_PTR(result));
	else
		seq_printf(out, "%s: ok\n", name);
	mutex_unlock(&rogue_mutex);
	return 0;
}

static int rogue_open(struct inode *inode, struct file *opened)
{
	return single_open(opened, rogue_show, NULL);
}

static const struct file_operations rogue_fops = {
	.owner = THIS_MODULE,
	.open = rogue_open,
	.read = seq_read,
	.write = rogue_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init rogue_init(void)
{
	int err;

	memory = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(AREA));
	if (!memory)
		return -ENOMEM;
	err = register_pm_notifier(&rogue_sleep);
	if (err) {
		free_pages((unsigned long)memory, get_order(AREA));
		return err;
	}
	file = debugfs_create_file("rogue", 0600, dlend_debugfs_root(), NULL, &rogue_fops);
	return 0;
}

/* The last loan is not returned. */
static void __exit rogue_exit(void)
{
	debugfs_remove(file);
	unregister_pm_notifier(&rogue_sleep);
	if (export) {
		dlend_unexport(export);
		dma_unmap_single(dlend_peer_dev(peer), dma, AREA, DMA_BIDIRECTIONAL);
	}
	dlend_peer_put(peer);
	free_pages((unsigned long)memory, get_order(AREA));
}

module_init(rogue_init);
module_exit(rogue_exit);
MODULE_DESCRIPTION("A hostile borrower, for tests of Device Lending");
MODULE_LICENSE("GPL");
