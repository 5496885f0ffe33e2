// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "mdev.h"

struct mdev_counts mdev_counts;
static struct dentry *debugfs;

static int stats_show(struct seq_file *file, void *unused)
{
#define SHOW(name) \
	seq_printf(file, #name " %lld\n", atomic64_read(&mdev_counts.name))
	SHOW(users);
	SHOW(pinned);
	SHOW(unmapped);
	SHOW(resets);
	SHOW(reset_failures);
	SHOW(interrupts);
#undef SHOW
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void mdev_stats_init(void)
{
	debugfs = debugfs_create_file("mdev", 0444, dlend_debugfs_root(), NULL, &stats_fops);
}

void mdev_stats_exit(void)
{
	debugfs_remove(debugfs);
}
