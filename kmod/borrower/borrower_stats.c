// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters, and the file "borrower" in debugfs that shows them.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "borrower.h"

struct borrower_counts borrower_counts;
static struct dentry *debugfs;

static int stats_show(struct seq_file *file, void *unused)
{
#define SHOW(name) \
	seq_printf(file, #name " %lld\n", atomic64_read(&borrower_counts.name))
	SHOW(loans);
	SHOW(lost);
	SHOW(returned);
	SHOW(config_reads);
	SHOW(config_writes);
	SHOW(config_failed);
	SHOW(no_room);
	SHOW(mapped);
#undef SHOW
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void borrower_stats_init(void)
{
	debugfs = debugfs_create_file("borrower", 0444, dlend_debugfs_root(), NULL,
				      &stats_fops);
}

void borrower_stats_exit(void)
{
	debugfs_remove(debugfs);
}
