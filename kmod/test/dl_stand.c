// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node that stands still in the middle of something, while its heart goes on beating.
 *
 * "stand", in the folder of Device Lending in debugfs, takes a line:
 *
 *	call OP			the next thread that sends a request OP stands before that
 *	before MODULE:FUNCTION	the next thread that calls the function stands before it runs
 *	after MODULE:FUNCTION	the same when it has run, before it returns
 *	keep			the locks of the control blocks at both ends of all adapters
 *				are kept
 *	hold FUNCTION		allocates memory for the DMA of a PCI function
 *	drop			a thread of its own frees that memory
 *	go			the thread goes on, and the locks are given back
 *
 * OP is a number of enum dlend_op_number. Then the file has "waits", "stands" or "goes". The
 * modules of Device Lending are the real ones: a kprobe leads from the function at which a
 * thread is to stand to another one with the same arguments, of which there may be six.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/switchtec.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "dl_fabric.h"

typedef long (*any_fn)(long a, long b, long c, long d, long e, long f);

/* The mutex serializes the orders. */
static DEFINE_MUTEX(mutex);
static struct kprobe probe;
static bool probed;
static bool is_call, is_after;
static u16 wanted;
static atomic_t armed;		/* 1 until a thread has taken the order */
static atomic_t standing;	/* threads in stand_still() */
static bool released;
static DECLARE_WAIT_QUEUE_HEAD(wait);
static char symbol[64];
static struct task_struct *keeper;
static struct dentry *file;

static struct pci_dev *held;
static void *memory;
static dma_addr_t dma;
static struct work_struct drop_work;

/* Not a wait that the kernel would report as a hung task. */
static void stand_still(void)
{
	wait_event_idle(wait, READ_ONCE(released));
}

static long stand_any(long a, long b, long c, long d, long e, long f)
{
	any_fn fn = (any_fn)probe.addr;
	long ret;

	if (!is_after)
		stand_still();
	ret = fn(a, b, c, d, e, f);
	if (is_after)
		stand_still();
	atomic_dec(&standing);
	return ret;
}

static int stand_call(struct dlend_peer *peer, u16 op, const void *req, size_t len,
		      void *resp, size_t room, unsigned int timeout_ms)
{
	int ret;

	stand_still();
	ret = dlend_call(peer, op, req, len, resp, room, timeout_ms);
	atomic_dec(&standing);
	return ret;
}

static int stand_hit(struct kprobe *hit, struct pt_regs *regs)
{
	if (is_call && (u16)regs_get_kernel_argument(regs, 1) != wanted)
		return 0;
	if (!atomic_cmpxchg(&armed, 1, 0))
		return 0;
	atomic_inc(&standing);
	regs->ip = is_call ? (unsigned long)stand_call : (unsigned long)stand_any;
	return 1;
}

NOKPROBE_SYMBOL(stand_hit);

/* The threads go on, and the function is as before. */
static void release(void)
{
	if (!probed)
		return;
	atomic_set(&armed, 0);
	WRITE_ONCE(released, true);
	wake_up_all(&wait);
	while (atomic_read(&standing))
		msleep(20);
	unregister_kprobe(&probe);
	probed = false;
}

static int arm(const char *when, const char *what)
{
	int err;

	release();
	is_call = !strcmp(when, "call");
	is_after = !strcmp(when, "after");
	if (!is_call && !is_after && strcmp(when, "before"))
		return -EINVAL;
	if (is_call) {
		err = kstrtou16(what, 10, &wanted);
		if (err)
			return err;
		what = "dl_fabric:dlend_call";
	}
	strscpy(symbol, what, sizeof(symbol));
	memset(&probe, 0, sizeof(probe));
	probe.pre_handler = stand_hit;
	probe.symbol_name = symbol;
	WRITE_ONCE(released, false);
	atomic_set(&armed, 1);
	err = register_kprobe(&probe);
	probed = !err;
	if (err)
		atomic_set(&armed, 0);
	return err;
}

/* Some drivers free memory long after their function has gone. */

static int hold(const char *name)
{
	struct device *dev = held ? NULL : bus_find_device_by_name(&pci_bus_type, NULL, name);

	if (!dev)
		return -ENODEV;
	memory = dma_alloc_coherent(dev, PAGE_SIZE, &dma, GFP_KERNEL);
	if (!memory) {
		put_device(dev);
		return -ENOMEM;
	}
	held = to_pci_dev(dev);
	return 0;
}

static void drop(struct work_struct *unused)
{
	if (!held)
		return;
	dma_free_coherent(&held->dev, PAGE_SIZE, memory, dma);
	pci_dev_put(held);
	held = NULL;
}

/* Keeps, or with @keep false gives back, the lock of a control block. */
static void lock_block(struct ntb_ctrl_regs __iomem *ctl, bool keep)
{
	u32 status = ioread32(&ctl->partition_status) & 0xffff;

	if (keep && status == NTB_CTRL_PART_STATUS_NORMAL)
		iowrite32(NTB_CTRL_PART_OP_LOCK, &ctl->partition_op);
	else if (!keep && status != NTB_CTRL_PART_STATUS_NORMAL)
		iowrite32(NTB_CTRL_PART_OP_RESET, &ctl->partition_op);
}

static void lock_adapter(struct pci_dev *pdev, bool keep)
{
	struct ntb_ctrl_regs __iomem *ctl;
	struct ntb_info_regs __iomem *info;
	void __iomem *bar = pci_iomap_range(pdev, 0, SWITCHTEC_GAS_NTB_OFFSET,
					    SWITCHTEC_NTB_REG_DBMSG_OFFSET);
	unsigned int i;
	u64 partitions;

	if (!bar)
		return;
	info = bar + SWITCHTEC_NTB_REG_INFO_OFFSET;
	ctl = bar + SWITCHTEC_NTB_REG_CTRL_OFFSET;
	partitions = ioread64(&info->ep_map);
	for (i = 0; i < 64; i++)
		if (partitions & BIT_ULL(i))
			lock_block(ctl + i, keep);
	pci_iounmap(pdev, bar);
}

static void lock_adapters(bool keep)
{
	struct dlend_peer *peer;
	u32 node;

	for (node = 1; node < 16; node++) {
		peer = dlend_peer_find(node);
		if (peer && dev_is_pci(dlend_peer_dev(peer)))
			lock_adapter(to_pci_dev(dlend_peer_dev(peer)), keep);
		dlend_peer_put(peer);
	}
}

/* The driver of the adapter gives the lock back by itself, so it is taken again. */
static int keep_locks(void *unused)
{
	while (!kthread_should_stop()) {
		lock_adapters(true);
		usleep_range(500, 1000);
	}
	lock_adapters(false);
	return 0;
}

static int keep(void)
{
	struct task_struct *task;

	if (keeper)
		return 0;
	task = kthread_run(keep_locks, NULL, "dl_stand");
	if (IS_ERR(task))
		return PTR_ERR(task);
	keeper = task;
	return 0;
}

static void go(void)
{
	if (keeper)
		kthread_stop(keeper);
	keeper = NULL;
	release();
}

static int obey(const char *line)
{
	char when[8], what[64];
	int n = sscanf(line, "%7s %63s", when, what);

	if (n == 2)
		return strcmp(when, "hold") ? arm(when, what) : hold(what);
	if (n != 1)
		return -EINVAL;
	if (!strcmp(when, "keep"))
		return keep();
	if (!strcmp(when, "go"))
		go();
	else if (!strcmp(when, "drop"))
		queue_work(system_dfl_wq, &drop_work);
	else
		return -EINVAL;
	return 0;
}

static ssize_t stand_write(struct file *unused, const char __user *text, size_t size,
			   loff_t *at)
{
	char line[80] = {};
	int err;

	if (!size || size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, text, size))
		return -EFAULT;
	mutex_lock(&mutex);
	err = obey(line);
	mutex_unlock(&mutex);
	return err ?: size;
}

static int stand_show(struct seq_file *out, void *unused)
{
	seq_puts(out, atomic_read(&armed) ? "waits\n" :
		      atomic_read(&standing) ? "stands\n" : "goes\n");
	return 0;
}

static int stand_open(struct inode *inode, struct file *opened)
{
	return single_open(opened, stand_show, NULL);
}

static const struct file_operations stand_fops = {
	.owner = THIS_MODULE,
	.open = stand_open,
	.read = seq_read,
	.write = stand_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init stand_init(void)
{
	INIT_WORK(&drop_work, drop);
	file = debugfs_create_file("stand", 0600, dlend_debugfs_root(), NULL, &stand_fops);
	return 0;
}

static void __exit stand_exit(void)
{
	debugfs_remove(file);
	go();
	flush_work(&drop_work);
	drop(NULL);
}

module_init(stand_init);
module_exit(stand_exit);
MODULE_DESCRIPTION("A node that stands still, for tests of Device Lending");
MODULE_LICENSE("GPL");
