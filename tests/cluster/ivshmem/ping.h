/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Doorbells back and forth, for measurements. Both modules here are this and
 * the few lines that ring and hear, so that what they measure is alike.
 *
 * One end writes a number N to its file "run". It rings PING; the other end's
 * interrupt handler answers PONG; this end's rings PING again, and so on. The
 * write returns when the Nth PONG was heard. Reading "run" tells the time of
 * one round trip, the mean of N, in nanoseconds.
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

/* A doorbell that is not answered for so long has been lost. */
#define PING_TIMEOUT	(10 * HZ)

struct ping {
	/* Rings one of PING_BELLS at the other end; in any context. */
	void (*ring)(struct ping *ping, unsigned int bell);
	struct dentry *dir;
	struct mutex lock;	/* one run at a time */
	struct completion done;
	u32 left;		/* PONGs to be heard yet; 0: no run */
	u32 count;
	ktime_t start;
	ktime_t end;
};

/* To be called by the interrupt handler. */
static inline void ping_hear(struct ping *ping, unsigned int bell)
{
	if (bell == PING_PING) {
		ping->ring(ping, PING_PONG);
	} else if (READ_ONCE(ping->left) == 0) {
		/* An answer to a run that was given up. */
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

/* Before the first interrupt. */
static inline void ping_init(struct ping *ping,
			     void (*ring)(struct ping *ping, unsigned int bell))
{
	ping->ring = ring;
	mutex_init(&ping->lock);
	init_completion(&ping->done);
}

/* Makes the folder MODULE of debugfs. */
static inline void ping_publish(struct ping *ping)
{
	ping->dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("run", 0600, ping->dir, ping, &ping_run_fops);
}

/* Waits for a run that goes on. */
static inline void ping_remove(struct ping *ping)
{
	debugfs_remove_recursive(ping->dir);
}

#endif
