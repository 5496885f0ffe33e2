// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lender that lies. It is loaded in place of dl_lender on a machine that lends to
 * itself. It describes an NVMe drive that has one BAR, and whose BAR is that of the
 * function @bdf.
 *
 * The number of a lie written to the file "liar" in the folder of Device Lending in
 * debugfs tells the borrower this lie. Then the file has one line: the number and name of
 * the lie, and "borrowed" or the borrower's reason to refuse the device. Lie 0 is the
 * truth.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "compat.h"
#include "dl_borrower.h"
#include "dl_fabric.h"
#include "dl_proto.h"

static uint bdf = 0x28;
module_param(bdf, uint, 0444);
MODULE_PARM_DESC(bdf, "domain << 16 | bus << 8 | devfn of the function whose BAR 0 is shown (0x28)");

static ushort vendor = PCI_VENDOR_ID_REDHAT;
module_param(vendor, ushort, 0644);
MODULE_PARM_DESC(vendor, "vendor ID of the drive (0x1b36)");

static ushort device = 0x10;
module_param(device, ushort, 0644);
MODULE_PARM_DESC(device, "device ID of the drive (0x10)");

static uint class_code = 0x010802;
module_param(class_code, uint, 0644);
MODULE_PARM_DESC(class_code, "class code of the drive, 24 bits (0x010802)");

#define BAR_SIZE SZ_16K
#define TABLE_SIZE 64 /* entries of the MSI-X table, less 1 */

/* A slow lender takes this long for a request. */
#define SLOW_MS 200
#define SLOW_WRITES 30
/* The borrower's DRAIN_NS and some calls. */
#define SLOW_LIMIT_MS 2500

/* The capabilities of the truth. */
#define PM 0x40
#define MSIX 0x50
#define EXPRESS 0x60
#define VENDOR 0xa0
#define SERIAL 0x100
#define AER 0x110
#define VENDOR_EXTENDED 0x140

enum lie {
	TRUTH,
	NO_VENDOR,
	OTHER_CLASS,
	OTHER_ID,
	CLASS_IDE,
	CLASS_BRIDGE,
	CLASS_INTERRUPTS,
	BAR_ODD,
	BAR_PORTS,
	BAR_HUGE,
	BAR_NO_UPPER,
	WEIGHT_NONE,
	WEIGHT_HUGE,
	WINDOW_SMALL,
	WINDOW_ASKEW,
	WINDOW_MEMORY,
	TABLE_BEYOND,
	TABLE_NO_BAR,
	PENDING_BEYOND,
	PENDING_OVER_TABLE,
	LIST_LOOP,
	LIST_HEADER,
	LIST_ODD,
	LIST_END,
	OVERLAP,
	TWO_TABLES,
	ENHANCED_ALLOCATION,
	ROOT_PORT,
	DMA_WRAPS,
	DMA_OVER_MSI,
	EXTENDED_LOOP,
	EXTENDED_BELOW,
	EXTENDED_ODD,
	EXTENDED_VERSION,
	EXTENDED_VIRTUAL,
	EXTENDED_SHORT,
	EXTENDED_END,
	EXTENDED_LONG,
	EXTENDED_OVERLAP,
	EXTENDED_TWICE,
	EXTENDED_NOTHING,
	SLOW,
	SILENT,
	LIES,
};

static const char *const names[LIES] = {
	[TRUTH] = "truth",
	[NO_VENDOR] = "no-vendor",
	[OTHER_CLASS] = "other-class",
	[OTHER_ID] = "other-id",
	[CLASS_IDE] = "class-ide",
	[CLASS_BRIDGE] = "class-bridge",
	[CLASS_INTERRUPTS] = "class-interrupts",
	[BAR_ODD] = "bar-odd",
	[BAR_PORTS] = "bar-ports",
	[BAR_HUGE] = "bar-huge",
	[BAR_NO_UPPER] = "bar-no-upper",
	[WEIGHT_NONE] = "weight-none",
	[WEIGHT_HUGE] = "weight-huge",
	[WINDOW_SMALL] = "window-small",
	[WINDOW_ASKEW] = "window-askew",
	[WINDOW_MEMORY] = "window-memory",
	[TABLE_BEYOND] = "table-beyond",
	[TABLE_NO_BAR] = "table-no-bar",
	[PENDING_BEYOND] = "pending-beyond",
	[PENDING_OVER_TABLE] = "pending-over-table",
	[LIST_LOOP] = "list-loop",
	[LIST_HEADER] = "list-header",
	[LIST_ODD] = "list-odd",
	[LIST_END] = "list-end",
	[OVERLAP] = "overlap",
	[TWO_TABLES] = "two-tables",
	[ENHANCED_ALLOCATION] = "enhanced-allocation",
	[ROOT_PORT] = "root-port",
	[DMA_WRAPS] = "dma-wraps",
	[DMA_OVER_MSI] = "dma-over-msi",
	[EXTENDED_LOOP] = "extended-loop",
	[EXTENDED_BELOW] = "extended-below",
	[EXTENDED_ODD] = "extended-odd",
	[EXTENDED_VERSION] = "extended-version",
	[EXTENDED_VIRTUAL] = "extended-virtual",
	[EXTENDED_SHORT] = "extended-short",
	[EXTENDED_END] = "extended-end",
	[EXTENDED_LONG] = "extended-long",
	[EXTENDED_OVERLAP] = "extended-overlap",
	[EXTENDED_TWICE] = "extended-twice",
	[EXTENDED_NOTHING] = "extended-nothing",
	[SLOW] = "slow",
	[SILENT] = "silent",
};

/* Serializes the lies, and guards all below. */
static DEFINE_MUTEX(mutex);
static enum lie lie;
static struct dlend_why why;
static bool slow, silent;
static int result;
static u8 config[DLEND_CFG_SPACE];
static struct pci_dev *pdev;
static void *memory;
static struct dlend_export *export;
static struct dentry *file;

static void put16(unsigned int at, u16 value)
{
	put_unaligned_le16(value, config + at);
}

static void put32(unsigned int at, u32 value)
{
	put_unaligned_le32(value, config + at);
}

static void capability(unsigned int at, u8 id, u8 next)
{
	config[at] = id;
	config[at + PCI_CAP_LIST_NEXT] = next;
}

static void extended(unsigned int at, u16 id, u8 version, u16 next)
{
	put32(at, id | version << 16 | (u32)next << 20);
}

static u32 class(void)
{
	switch (lie) {
	case CLASS_IDE:
		return 0x010180;
	case CLASS_BRIDGE:
		return 0x060400;
	case CLASS_INTERRUPTS:
		return 0x080020;
	default:
		return READ_ONCE(class_code);
	}
}

static void tell_truth(void)
{
	memset(config, 0, sizeof(config));
	put16(PCI_VENDOR_ID, vendor);
	put16(PCI_DEVICE_ID, device);
	put16(PCI_STATUS, PCI_STATUS_CAP_LIST);
	put32(PCI_CLASS_REVISION, class() << 8);
	config[PCI_CAPABILITY_LIST] = PM;
	capability(PM, PCI_CAP_ID_PM, MSIX);
	put16(PM + PCI_PM_PMC, 3);
	capability(MSIX, PCI_CAP_ID_MSIX, EXPRESS);
	put16(MSIX + PCI_MSIX_FLAGS, TABLE_SIZE);
	put32(MSIX + PCI_MSIX_TABLE, SZ_8K);
	put32(MSIX + PCI_MSIX_PBA, SZ_8K + SZ_4K);
	capability(EXPRESS, PCI_CAP_ID_EXP, VENDOR);
	put16(EXPRESS + PCI_EXP_FLAGS, PCI_EXP_TYPE_RC_END << 4 | 2);
	capability(VENDOR, PCI_CAP_ID_VNDR, 0);
	config[VENDOR + PCI_CAP_FLAGS] = 16;
	extended(SERIAL, PCI_EXT_CAP_ID_DSN, 1, AER);
	extended(AER, PCI_EXT_CAP_ID_ERR, 2, VENDOR_EXTENDED);
	extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, 0);
	put32(VENDOR_EXTENDED + 4, 16 << 20);
}

/* Changes the configuration space. */
static void tell_lie(void)
{
	tell_truth();
	switch (lie) {
	case NO_VENDOR:
		put16(PCI_VENDOR_ID, 0xffff);
		break;
	case OTHER_CLASS:
		put32(PCI_CLASS_REVISION, 0x010185 << 8);
		break;
	case OTHER_ID:
		put16(PCI_VENDOR_ID, PCI_VENDOR_ID_INTEL);
		put16(PCI_DEVICE_ID, 0x0102);
		break;
	case WINDOW_ASKEW:
		/* All in the first 8 KiB. */
		put32(MSIX + PCI_MSIX_TABLE, SZ_4K);
		put32(MSIX + PCI_MSIX_PBA, SZ_4K + SZ_2K);
		break;
	case TABLE_BEYOND:
		put16(MSIX + PCI_MSIX_FLAGS, 1023);
		break;
	case TABLE_NO_BAR:
		put32(MSIX + PCI_MSIX_TABLE, SZ_8K | 3);
		break;
	case PENDING_BEYOND:
		put32(MSIX + PCI_MSIX_PBA, SZ_16K - 8);
		break;
	case PENDING_OVER_TABLE:
		put32(MSIX + PCI_MSIX_PBA, SZ_8K + 64);
		break;
	case LIST_LOOP:
		capability(VENDOR, PCI_CAP_ID_VNDR, MSIX);
		break;
	case LIST_HEADER:
		capability(VENDOR, PCI_CAP_ID_VNDR, PCI_SUBSYSTEM_VENDOR_ID);
		break;
	case LIST_ODD:
		capability(VENDOR, PCI_CAP_ID_VNDR, 0xb2);
		break;
	case LIST_END:
		capability(VENDOR, PCI_CAP_ID_VNDR, 0xf8);
		capability(0xf8, PCI_CAP_ID_MSI, 0);
		break;
	case OVERLAP:
		capability(EXPRESS, PCI_CAP_ID_EXP, EXPRESS + 16);
		capability(EXPRESS + 16, PCI_CAP_ID_VNDR, 0);
		break;
	case TWO_TABLES:
		capability(VENDOR, PCI_CAP_ID_VNDR, 0xc0);
		memcpy(config + 0xc0, config + MSIX, PCI_CAP_MSIX_SIZEOF);
		capability(0xc0, PCI_CAP_ID_MSIX, 0);
		break;
	case ENHANCED_ALLOCATION:
		capability(VENDOR, PCI_CAP_ID_VNDR, 0xc0);
		capability(0xc0, PCI_CAP_ID_EA, 0);
		break;
	case ROOT_PORT:
		put16(EXPRESS + PCI_EXP_FLAGS, PCI_EXP_TYPE_ROOT_PORT << 4 | 2);
		break;
	case EXTENDED_LOOP:
		extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, AER);
		break;
	case EXTENDED_BELOW:
		extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, MSIX);
		break;
	case EXTENDED_ODD:
		extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, 0x202);
		break;
	case EXTENDED_VERSION:
		extended(AER, PCI_EXT_CAP_ID_ERR, 9, VENDOR_EXTENDED);
		break;
	case EXTENDED_VIRTUAL:
		extended(AER, PCI_EXT_CAP_ID_SRIOV, 1, VENDOR_EXTENDED);
		break;
	case EXTENDED_SHORT:
		put32(VENDOR_EXTENDED + 4, 4 << 20);
		break;
	case EXTENDED_END:
		extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, 0xff8);
		extended(0xff8, PCI_EXT_CAP_ID_DSN, 1, 0);
		break;
	case EXTENDED_LONG:
		put32(VENDOR_EXTENDED + 4, 0xfffu << 20);
		break;
	case EXTENDED_OVERLAP:
		extended(SERIAL, PCI_EXT_CAP_ID_DSN, 1, SERIAL + 8);
		extended(SERIAL + 8, PCI_EXT_CAP_ID_DSN, 1, 0);
		break;
	case EXTENDED_TWICE:
		extended(VENDOR_EXTENDED, PCI_EXT_CAP_ID_VNDR, 1, 0x200);
		extended(0x200, PCI_EXT_CAP_ID_ERR, 2, 0);
		break;
	case EXTENDED_NOTHING:
		/* A Null Capability that is not the first one. */
		extended(VENDOR_EXTENDED, 0, 0, 0x200);
		break;
	default:
		break;
	}
}

static int op_borrow(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		     size_t room)
{
	const struct dlend_msg_borrow *req = data;
	struct dlend_msg_borrow_answer *answer = resp;
	u32 flags = PCI_BASE_ADDRESS_MEM_TYPE_64;
	u64 size = BAR_SIZE;

	memset(answer, 0, sizeof(*answer));
	answer->weight = cpu_to_le32(DLEND_WEIGHT_ACCELERATOR);
	switch (lie) {
	case WEIGHT_NONE:
		answer->weight = 0;
		break;
	case WEIGHT_HUGE:
		answer->weight = cpu_to_le32(DLEND_WEIGHTS_MAX + 1);
		break;
	case BAR_ODD:
		size -= SZ_4K;
		break;
	case BAR_PORTS:
		flags = PCI_BASE_ADDRESS_SPACE_IO;
		break;
	case BAR_HUGE:
		flags = 0;
		size = SZ_4G;
		break;
	case BAR_NO_UPPER:
		answer->bars[1].size = cpu_to_le64(SZ_4K);
		break;
	case WINDOW_ASKEW:
		size = SZ_8K;
		break;
	default:
		break;
	}
	answer->status = cpu_to_le32(DLEND_BORROW_OK);
	answer->loan = cpu_to_le32(1);
	answer->bars[0].size = cpu_to_le64(size);
	answer->bars[0].flags = cpu_to_le32(flags);
	answer->device.fdid = req->fdid;
	answer->device.bdf = cpu_to_le32(bdf);
	answer->device.vendor = cpu_to_le16(vendor);
	answer->device.device = cpu_to_le16(device);
	answer->device.class = cpu_to_le32(class());
	return sizeof(*answer);
}

static int op_attach(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		     size_t room)
{
	const struct dlend_msg_attach *req = data;
	struct dlend_msg_attach_answer *answer = resp;
	u64 addr = pci_resource_start(pdev, 0), size = BAR_SIZE;
	u64 dma = SZ_4G;

	tell_lie();
	memset(answer, 0, sizeof(*answer));
	memcpy(answer->config, config, sizeof(answer->config));
	if (lie == WINDOW_SMALL) {
		size = SZ_8K;
	} else if (lie == WINDOW_ASKEW) {
		addr += SZ_4K;
		size = SZ_8K;
	} else if (lie == WINDOW_MEMORY) {
		addr = virt_to_phys(memory);
	} else if (lie == DMA_WRAPS) {
		dma = -(le64_to_cpu(req->dma.size) / 2) & PAGE_MASK;
	} else if (lie == DMA_OVER_MSI) {
		dma = 0xfee00000;
	}
	answer->dma_bus = cpu_to_le64(dma);
	answer->msi_bus = req->msi.addr;
	answer->live = cpu_to_le64(BIT_ULL(PCI_COMMAND / 4) | BIT_ULL(MSIX / 4));
	export = dlend_export(peer, addr, size, DLEND_WINDOW_LUT, &answer->bars[0]);
	if (IS_ERR(export)) {
		int err = PTR_ERR(export);

		export = NULL;
		return err;
	}
	return sizeof(*answer);
}

static int op_return(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		     size_t room)
{
	dlend_unexport(export);
	export = NULL;
	return 0;
}

/* The image does not change. */
static int op_config(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		     size_t room)
{
	const struct dlend_msg_cfg *req = data;
	struct dlend_msg_cfg_answer *answer = resp;
	unsigned int at = le16_to_cpu(req->offset) & (DLEND_CFG_SPACE - 4);

	if (READ_ONCE(silent))
		return -EIO;
	if (READ_ONCE(slow))
		mdelay(SLOW_MS);
	answer->value = cpu_to_le32(get_unaligned_le32(config + at));
	return sizeof(*answer);
}

static int op_extended(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room)
{
	const struct dlend_msg_extended *req = data;
	struct dlend_msg_extended_answer *answer = resp;
	u32 at = le32_to_cpu(req->offset);

	if (at > DLEND_CFG_SPACE - DLEND_CFG_PIECE)
		return -EINVAL;
	memcpy(answer->config, config + at, sizeof(answer->config));
	return sizeof(*answer);
}

#define OP(op, flags, type, handler) \
	{ op, flags, sizeof(struct type), sizeof(struct type), handler }

static const struct dlend_op ops[] = {
	OP(DLEND_OP_BORROW, 0, dlend_msg_borrow, op_borrow),
	OP(DLEND_OP_ATTACH, 0, dlend_msg_attach, op_attach),
	OP(DLEND_OP_RETURN, 0, dlend_msg_return, op_return),
	OP(DLEND_OP_CFG_READ, DLEND_ATOMIC, dlend_msg_cfg, op_config),
	OP(DLEND_OP_CFG_WRITE, DLEND_ATOMIC, dlend_msg_cfg, op_config),
	OP(DLEND_OP_CFG_EXTENDED, 0, dlend_msg_extended, op_extended),
};

/*
 * No lie: the lender's heart beats, and it answers, but late. Writes with interrupts off do
 * not wait for it. One with interrupts on waits for those before it, but not for ever.
 * Return: 0, or -ETIME with @why set.
 */
static int write_slowly(struct pci_dev *here)
{
	ktime_t start = ktime_get();
	unsigned long flags;
	s64 took;
	int i;

	WRITE_ONCE(slow, true);
	local_irq_save(flags);
	for (i = 0; i < SLOW_WRITES; i++)
		pci_write_config_byte(here, PCI_CACHE_LINE_SIZE, i);
	local_irq_restore(flags);
	pci_write_config_byte(here, PCI_CACHE_LINE_SIZE, 0);
	took = ktime_ms_delta(ktime_get(), start);
	WRITE_ONCE(slow, false);
	if (took > SLOW_LIMIT_MS)
		return dlend_why_set(&why, -ETIME, "a write took %lld ms", took);
	return 0;
}

/*
 * No lie: the lender does not answer reads. What only it knows reads as ones, but the MSI-X
 * table keeps its size, or the kernel would write beyond the end of the BAR.
 * Return: 0, or -EIO with @why set.
 */
static int read_nothing(struct pci_dev *here)
{
	u16 status, control;

	WRITE_ONCE(silent, true);
	pci_read_config_word(here, PCI_STATUS, &status);
	pci_read_config_word(here, MSIX + PCI_MSIX_FLAGS, &control);
	WRITE_ONCE(silent, false);
	if (status != U16_MAX)
		return dlend_why_set(&why, -EIO, "the status register is %#x", status);
	if (control != TABLE_SIZE)
		return dlend_why_set(&why, -EIO, "the control word of MSI-X is %#x",
				     control);
	return 0;
}

static int use(const struct dlend_loan_info *info)
{
	struct pci_dev *here = pci_get_domain_bus_and_slot(info->domain, info->bus,
							   info->devfn);
	int err;

	if (!here)
		return dlend_why_set(&why, -ENODEV, "there is no function");
	err = lie == SLOW ? write_slowly(here) : read_nothing(here);
	pci_dev_put(here);
	return err;
}

static void tell(void)
{
	u32 fdid = dlend_node() << 16;
	struct dlend_loan_info info;
	struct dlend_why unused;

	memset(&why, 0, sizeof(why));
	result = dlend_borrower_borrow(fdid, 0, 0, &info, &why);
	if (result)
		return;
	if (lie == SLOW || lie == SILENT)
		result = use(&info);
	dlend_borrower_return(fdid, &unused);
}

static ssize_t liar_write(struct file *unused, const char __user *text, size_t size,
			  loff_t *at)
{
	unsigned int number;
	int err = kstrtouint_from_user(text, size, 10, &number);

	if (err)
		return err;
	if (number >= LIES)
		return -ERANGE;
	mutex_lock(&mutex);
	lie = number;
	tell();
	mutex_unlock(&mutex);
	return size;
}

static int liar_show(struct seq_file *out, void *unused)
{
	mutex_lock(&mutex);
	seq_printf(out, "%u %s: %s\n", lie, names[lie], result ? why.text : "borrowed");
	mutex_unlock(&mutex);
	return 0;
}

static int liar_open(struct inode *inode, struct file *opened)
{
	return single_open(opened, liar_show, NULL);
}

static const struct file_operations liar_fops = {
	.owner = THIS_MODULE,
	.open = liar_open,
	.read = seq_read,
	.write = liar_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init liar_init(void)
{
	int err = -ENODEV;

	pdev = pci_get_domain_bus_and_slot(bdf >> 16, bdf >> 8 & 0xff, bdf & 0xff);
	if (!pdev || pci_resource_len(pdev, 0) < BAR_SIZE) {
		pr_err("dl_liar: there is no function %#x with a BAR 0 of at least 16 KiB\n",
		       bdf);
		goto put;
	}
	err = -ENOMEM;
	memory = kzalloc(BAR_SIZE, GFP_KERNEL);
	if (!memory)
		goto put;
	err = dlend_ops_register(ops, ARRAY_SIZE(ops));
	if (err)
		goto free;
	file = debugfs_create_file("liar", 0600, dlend_debugfs_root(), NULL, &liar_fops);
	return 0;

free:
	kfree(memory);
put:
	pci_dev_put(pdev);
	return err;
}

static void __exit liar_exit(void)
{
	debugfs_remove(file);
	dlend_ops_unregister(ops, ARRAY_SIZE(ops));
	dlend_unexport(export);
	kfree(memory);
	pci_dev_put(pdev);
}

module_init(liar_init);
module_exit(liar_exit);
MODULE_DESCRIPTION("Test of dl_borrower: a lender that lies");
MODULE_LICENSE("GPL");
