// SPDX-License-Identifier: GPL-2.0-only
/*
 * A folder in debugfs for each peer.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "fabric.h"

static struct dentry *debugfs_root;

static const char *const counter_names[DLEND_COUNTERS] = {
	[DLEND_COUNT_SESSIONS] = "sessions",
	[DLEND_COUNT_LOST] = "lost",
	[DLEND_COUNT_CALLS] = "calls",
	[DLEND_COUNT_CALLS_POLLED] = "calls_polled",
	[DLEND_COUNT_TIMEOUTS] = "timeouts",
	[DLEND_COUNT_SKIPPED] = "skipped",
	[DLEND_COUNT_SERVED] = "served",
	[DLEND_COUNT_REFUSED] = "refused",
	[DLEND_COUNT_STALE] = "stale",
	[DLEND_COUNT_BAD_RESPONSE] = "bad_response",
	[DLEND_COUNT_BAD_HELLO] = "bad_hello",
	[DLEND_COUNT_BAD_IMPORT] = "bad_import",
	[DLEND_COUNT_DOORBELLS] = "doorbells",
	[DLEND_COUNT_EXPORTS] = "exports",
};

static const char *const state_names[] = {
	[DLEND_PEER_DISCONNECTED] = "disconnected",
	[DLEND_PEER_LINK_DOWN] = "link-down",
	[DLEND_PEER_HELLO] = "hello",
	[DLEND_PEER_UP] = "up",
	[DLEND_PEER_LOST] = "lost",
};

static int stats_show(struct seq_file *file, void *unused)
{
	struct dlend_peer *peer = file->private;
	int i;

	seq_printf(file, "state %s\n", state_names[READ_ONCE(peer->state)]);
	seq_printf(file, "self %u\n", peer->self);
	seq_printf(file, "node %u\n", peer->node);
	seq_printf(file, "session %u\n", peer->session_number);
	for (i = 0; i < DLEND_COUNTERS; i++)
		seq_printf(file, "%s %ld\n", counter_names[i],
			   atomic_long_read(&peer->count[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int windows_show(struct seq_file *file, void *unused)
{
	dlend_windows_show(file->private, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(windows);

static int requesters_show(struct seq_file *file, void *unused)
{
	struct dlend_peer *peer = file->private;

	if (peer->backend->admitted_show)
		peer->backend->admitted_show(peer, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(requesters);

static int connect_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct dlend_peer *)data)->wanted);
	return 0;
}

static int connect_set(void *data, u64 value)
{
	if (value)
		dlend_peer_connect(data);
	else
		dlend_peer_disconnect(data);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(connect_fops, connect_get, connect_set, "%llu\n");

void dlend_debugfs_add(struct dlend_peer *peer)
{
	peer->debugfs = debugfs_create_dir(peer->name, debugfs_root);
	debugfs_create_file("stats", 0444, peer->debugfs, peer, &stats_fops);
	debugfs_create_file("windows", 0444, peer->debugfs, peer, &windows_fops);
	debugfs_create_file("requesters", 0444, peer->debugfs, peer, &requesters_fops);
	debugfs_create_file("connect", 0600, peer->debugfs, peer, &connect_fops);
}

void dlend_debugfs_remove(struct dlend_peer *peer)
{
	debugfs_remove_recursive(peer->debugfs);
}

struct dentry *dlend_debugfs_root(void)
{
	return debugfs_root;
}
EXPORT_SYMBOL_GPL(dlend_debugfs_root);

void dlend_debugfs_init(void)
{
	debugfs_root = debugfs_create_dir("dl", NULL);
}

void dlend_debugfs_done(void)
{
	debugfs_remove_recursive(debugfs_root);
}
