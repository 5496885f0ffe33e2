// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters, and the file "lender" in debugfs that shows them; the log of what was refused.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "lender.h"

struct lender_counts lender_counts;
static struct dentry *debugfs;

int lender_refuse(struct dlend_peer *peer, int err, const char *what)
{
	atomic64_inc(&lender_counts.requests_refused);
	if (dlend_peer_may_log(peer))
		pr_warn("dl_lender: a request of node %u is refused: %s\n",
			dlend_peer_node(peer), what);
	return err;
}

static int stats_show(struct seq_file *file, void *unused)
{
#define SHOW(name) \
	seq_printf(file, #name " %lld\n", atomic64_read(&lender_counts.name))
	SHOW(loans);
	SHOW(resets);
	SHOW(reset_failures);
	SHOW(config_reads);
	SHOW(config_writes);
	SHOW(config_refused);
	SHOW(requests_refused);
	SHOW(interrupts);
	SHOW(p2p_routes);
	SHOW(p2p_grants);
	SHOW(p2p_placed);
#undef SHOW
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void lender_stats_init(void)
{
	debugfs = debugfs_create_file("lender", 0444, dlend_debugfs_root(), NULL,
				      &stats_fops);
}

void lender_stats_exit(void)
{
	debugfs_remove(debugfs);
}
