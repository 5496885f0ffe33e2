/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the round trip of doorbells between two ends. Both modules in this
 * folder share this code and only ring and receive in their own way, so their
 * results can be compared.
 *
 * A program writes a number N to the file "run" of one end. This end rings PING.
 * The other end's interrupt handler answers with PONG, this end's handler rings
 * PING again, and so on. The write returns after the Nth PONG. A read of "run"
 * returns the mean time of the N round trips, in nanoseconds.
 */
#ifndef PING_H
#define PING_H

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

enum {
	PING_PING = 0,
	PING_PONG = 1,
	PING_BELLS,
};

/* A doorbell without an answer for this time (in jiffies) is lost. */
#define PING_TIMEOUT	(10 * HZ)

struct ping {
	/* Rings one of PING_BELLS at the other end. May run in any context. */
	void (*ring)(struct ping *ping, unsigned int bell);
	struct dentry *dir;
	struct mutex lock;	/* one run at a time */
	struct completion done;
	u32 left;		/* PONGs still to come; 0: no run */
	u32 count;
	ktime_t start;
	ktime_t end;
};

/* The interrupt handler calls this. */
static inline void ping_hear(struct ping *ping, unsigned int bell)
{
	if (bell == PING_PING) {
		ping->ring(ping, PING_PONG);
	} else if (READ_ONCE(ping->left) == 0) {
		/* A late PONG of a run that timed out. */
	} else if (--ping->left) {
		ping->ring(ping, PING_PING);
	} else {
		ping->end = ktime_get();
		complete(&ping->done);
	}
}

static ssize_t ping_run_write(struct file *file, const char __user *buf,
			      size_t size, loff_t *pos)
{
	struct ping *ping = file_inode(file)->i_private;
	u32 count;
	int err;

	err = kstrtou32_from_user(buf, size, 0, &count);
	if (err)
		return err;
	if (!count)
		return -EINVAL;
	if (mutex_lock_interruptible(&ping->lock))
		return -EINTR;
	reinit_completion(&ping->done);
	ping->count = 0;
	ping->start = ktime_get();
	WRITE_ONCE(ping->left, count);
	ping->ring(ping, PING_PING);
	if (wait_for_completion_timeout(&ping->done, PING_TIMEOUT)) {
		ping->count = count;
	} else {
		WRITE_ONCE(ping->left, 0);
		err = -ETIMEDOUT;
	}
	mutex_unlock(&ping->lock);
	return err ?: size;
}

static int ping_run_show(struct seq_file *s, void *unused)
{
	struct ping *ping = s->private;

	if (!ping->count)
		return -ENODATA;
	seq_printf(s, "%llu\n", div_u64(ktime_to_ns(ktime_sub(ping->end,
							      ping->start)),
					ping->count));
	return 0;
}

static int ping_run_open(struct inode *inode, struct file *file)
{
	return single_open(file, ping_run_show, inode->i_private);
}

static const struct file_operations ping_run_fops = {
	.owner = THIS_MODULE,
	.open = ping_run_open,
	.read = seq_read,
	.write = ping_run_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* Must be called before the first interrupt. */
static inline void ping_init(struct ping *ping,
			     void (*ring)(struct ping *ping, unsigned int bell))
{
	ping->ring = ring;
	mutex_init(&ping->lock);
	init_completion(&ping->done);
}

/* Makes the module's folder in debugfs. */
static inline void ping_publish(struct ping *ping)
{
	ping->dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("run", 0600, ping->dir, ping, &ping_run_fops);
}

/* Removes the folder. Waits until a current run has ended. */
static inline void ping_remove(struct ping *ping)
{
	debugfs_remove_recursive(ping->dir);
}

#endif
