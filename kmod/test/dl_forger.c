// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends peer-to-peer messages that no node of Device Lending would send, on a machine that
 * lends to itself. A line written to the file "forger" in the folder of Device Lending in
 * debugfs is a message:
 *
 *	NODE NAME VERSION FLAGS SOURCE LOAN TARGET LOAN [SIZE OFFSET]
 *
 * It goes to node NODE. NAME is grant, open, close, fetch, revoke or lost. Device IDs are
 * hexadecimal, SIZE and OFFSET are those of the window for BAR 0 of an open. The file then
 * has the result of the call: the length of the response, or a negative errno.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "dl_fabric.h"
#include "dl_proto.h"

static const struct {
	const char *name;
	u16 op;
} kinds[] = {
	{ "grant", DLEND_OP_P2P_GRANT },
	{ "open", DLEND_OP_P2P_OPEN },
	{ "close", DLEND_OP_P2P_CLOSE },
	{ "fetch", DLEND_OP_P2P_FETCH },
	{ "revoke", DLEND_OP_P2P_REVOKE },
	{ "lost", DLEND_OP_P2P_LOST },
};

static DEFINE_MUTEX(forger_mutex);
static int result;
static struct dentry *file;

static int forge(const char *line)
{
	u32 node, version, flags, source, source_loan, target, target_loan;
	struct dlend_msg_p2p_open msg = {};
	static u8 response[DLEND_MSG_MAX];
	u64 size = 0, offset = 0;
	struct dlend_peer *peer;
	unsigned int i;
	char name[8];
	int ret;

	if (sscanf(line, "%u %7s %u %u %x %u %x %u %llu %llu", &node, name, &version,
		   &flags, &source, &source_loan, &target, &target_loan, &size,
		   &offset) < 8)
		return -ENOEXEC;
	for (i = 0; i < ARRAY_SIZE(kinds) && strcmp(name, kinds[i].name); i++)
		;
	peer = dlend_peer_find(node);
	if (!peer || i == ARRAY_SIZE(kinds)) {
		dlend_peer_put(peer);
		return -ENOEXEC;
	}
	msg.p2p.version = cpu_to_le32(version);
	msg.p2p.flags = cpu_to_le32(flags);
	msg.p2p.source = cpu_to_le32(source);
	msg.p2p.source_loan = cpu_to_le32(source_loan);
	msg.p2p.target = cpu_to_le32(target);
	msg.p2p.target_loan = cpu_to_le32(target_loan);
	msg.bars[0].size = cpu_to_le64(size);
	msg.bars[0].offset = cpu_to_le64(offset);
	ret = dlend_call(peer, kinds[i].op, &msg,
			 kinds[i].op == DLEND_OP_P2P_OPEN ? sizeof(msg) : sizeof(msg.p2p),
			 response, sizeof(response), 0);
	dlend_peer_put(peer);
	return ret;
}

static ssize_t forger_write(struct file *f, const char __user *from, size_t size,
			    loff_t *at)
{
	char line[128];

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	line[size] = '\0';
	mutex_lock(&forger_mutex);
	result = forge(line);
	mutex_unlock(&forger_mutex);
	return size;
}

static int forger_show(struct seq_file *out, void *unused)
{
	seq_printf(out, "%d\n", result);
	return 0;
}

static int forger_open(struct inode *inode, struct file *f)
{
	return single_open(f, forger_show, NULL);
}

static const struct file_operations forger_fops = {
	.owner = THIS_MODULE,
	.open = forger_open,
	.read = seq_read,
	.write = forger_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init forger_init(void)
{
	file = debugfs_create_file("forger", 0600, dlend_debugfs_root(), NULL,
				   &forger_fops);
	return 0;
}

static void __exit forger_exit(void)
{
	debugfs_remove(file);
}

module_init(forger_init);
module_exit(forger_exit);
MODULE_DESCRIPTION("Forged peer-to-peer messages, for tests of Device Lending");
MODULE_LICENSE("GPL");
