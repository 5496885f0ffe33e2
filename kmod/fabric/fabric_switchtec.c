// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Requester IDs that a Switchtec lets through.
 *
 * A Switchtec forwards a request only if its Requester ID is in a table of the
 * partition that the request comes from. The kernel's NTB driver enters the Root Complex
 * and the NTB itself, so that CPUs can use the windows, and the NTB interface has no
 * function for other entries. A lent device writes into the windows by itself. So this
 * file enters it, through the registers of the NTB's BAR 0.
 *
 * After its start the driver does not touch this partition's control block any more, but
 * the peer's driver does: it sets up the windows. LOCK and CFG keep the two apart.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/switchtec.h>

#include "fabric.h"

#define ID_SHIFT 16

struct dlend_switchtec {
	struct pci_dev *pdev;	/* borrowed */
	void __iomem *bar;
	struct ntb_ctrl_regs __iomem *ctl;	/* of this node's partition */
	struct mutex mutex;	/* guards the table and @refs */
	unsigned int n;		/* entries of the table */
	unsigned int refs[];	/* users of each entry that this file has made */
};

static bool is_switchtec(struct pci_dev *pdev)
{
	/* Generations 3 and 4, and generation 5 in the name of its new owner. */
	return pdev->vendor == PCI_VENDOR_ID_MICROSEMI || pdev->vendor == PCI_VENDOR_ID_EFAR;
}

struct dlend_switchtec *dlend_switchtec_new(struct pci_dev *pdev)
{
	struct ntb_ctrl_regs __iomem *ctl;
	struct ntb_info_regs __iomem *info;
	struct dlend_switchtec *st;
	void __iomem *bar;
	unsigned int n;

	if (!is_switchtec(pdev))
		return NULL;
	bar = pci_iomap_range(pdev, 0, SWITCHTEC_GAS_NTB_OFFSET,
			      SWITCHTEC_NTB_REG_DBMSG_OFFSET);
	if (!bar)
		return ERR_PTR(-ENOMEM);
	info = bar + SWITCHTEC_NTB_REG_INFO_OFFSET;
	ctl = bar + SWITCHTEC_NTB_REG_CTRL_OFFSET;
	ctl += ioread8(&info->partition_id);
	n = min_t(unsigned int, ioread16(&ctl->req_id_table_size),
		  ARRAY_SIZE(ctl->req_id_table));
	st = kzalloc(struct_size(st, refs, n), GFP_KERNEL);
	if (!st) {
		pci_iounmap(pdev, bar);
		return ERR_PTR(-ENOMEM);
	}
	st->pdev = pdev;
	st->bar = bar;
	st->ctl = ctl;
	st->n = n;
	mutex_init(&st->mutex);
	return st;
}

void dlend_switchtec_free(struct dlend_switchtec *st)
{
	if (!st)
		return;
	pci_iounmap(st->pdev, st->bar);
	kfree(st);
}

/*
 * The peer holds the lock for 100 ms each time that it opens or closes a window. It can also
 * keep it. Return: 0 when the partition has left @pending; -ETIMEDOUT after @end; -ENODEV if
 * the NTB is gone.
 */
static int operate(struct dlend_switchtec *st, u32 op, u32 pending, u32 wanted, ktime_t end)
{
	u32 status;

	iowrite32(op, &st->ctl->partition_op);
	do {
		usleep_range(200, 1000);
		status = ioread32(&st->ctl->partition_status);
		if (PCI_POSSIBLE_ERROR(status))
			return -ENODEV;
		if ((status & 0xffff) == wanted)
			return 0;
		if ((status & 0xffff) != pending)
			return -EIO;
	} while (ktime_before(ktime_get(), end));
	return -ETIMEDOUT;
}

static int set_entry(struct dlend_switchtec *st, unsigned int i, u32 value)
{
	ktime_t end = ktime_add_ms(ktime_get(), dlend_lost_ms);
	int err;

	err = operate(st, NTB_CTRL_PART_OP_LOCK, NTB_CTRL_PART_STATUS_LOCKING,
		      NTB_CTRL_PART_STATUS_LOCKED, end);
	if (!err) {
		iowrite32(value, &st->ctl->req_id_table[i]);
		err = operate(st, NTB_CTRL_PART_OP_CFG, NTB_CTRL_PART_STATUS_CONFIGURING,
			      NTB_CTRL_PART_STATUS_NORMAL, end);
	}
	if (!err)
		return 0;
	pci_err(st->pdev, "entry %u of the table of Requester IDs cannot be changed: error %d, status %#x, error register %#x\n",
		i, -err, ioread32(&st->ctl->partition_status),
		ioread32(&st->ctl->req_id_error));
	/* Gives the lock back, or the request for it. */
	iowrite32(NTB_CTRL_PART_OP_RESET, &st->ctl->partition_op);
	return err;
}

/* Return: the entry of an ID; if it has none, a free one; -ENOSPC; -ENODEV. */
static int find_entry(struct dlend_switchtec *st, u16 id, bool *ret_found)
{
	int free = -ENOSPC;
	unsigned int i;
	u32 entry;

	*ret_found = false;
	for (i = 0; i < st->n; i++) {
		entry = ioread32(&st->ctl->req_id_table[i]);
		if (PCI_POSSIBLE_ERROR(entry))
			return -ENODEV;
		if (entry & NTB_CTRL_REQ_ID_EN && entry >> ID_SHIFT == id) {
			*ret_found = true;
			return i;
		}
		if (!(entry & NTB_CTRL_REQ_ID_EN) && free < 0)
			free = i;
	}
	return free;
}

int dlend_switchtec_admit(struct dlend_switchtec *st, u16 id)
{
	bool found;
	int i, err = 0;

	mutex_lock(&st->mutex);
	i = find_entry(st, id, &found);
	if (i < 0)
		err = i;
	else if (!found)
		err = set_entry(st, i, (u32)id << ID_SHIFT | NTB_CTRL_REQ_ID_EN);
	/* An entry that the NTB's driver has made has no users, and stays. */
	if (!err && (!found || st->refs[i]))
		st->refs[i]++;
	mutex_unlock(&st->mutex);
	if (err == -ENOSPC)
		pci_err(st->pdev, "%02x:%02x.%x cannot use the windows: all %u entries of the table of Requester IDs are in use; a device that is lent over this NTB must be returned first\n",
			id >> 8, PCI_SLOT(id), PCI_FUNC(id), st->n);
	return err;
}

void dlend_switchtec_expel(struct dlend_switchtec *st, u16 id)
{
	bool found;
	int i;

	mutex_lock(&st->mutex);
	i = find_entry(st, id, &found);
	if (found && st->refs[i] && !--st->refs[i])
		set_entry(st, i, 0);
	mutex_unlock(&st->mutex);
}

void dlend_switchtec_show(struct dlend_switchtec *st, struct seq_file *file)
{
	unsigned int i;
	u32 entry;

	mutex_lock(&st->mutex);
	for (i = 0; i < st->n; i++) {
		entry = ioread32(&st->ctl->req_id_table[i]);
		if (entry & NTB_CTRL_REQ_ID_EN)
			seq_printf(file, "%u %02x:%02x.%x %s\n", i, entry >> 24,
				   PCI_SLOT(entry >> ID_SHIFT & 0xff),
				   PCI_FUNC(entry >> ID_SHIFT & 0xff),
				   st->refs[i] ? "lent" : "own");
	}
	seq_printf(file, "entries %u\n", st->n);
	mutex_unlock(&st->mutex);
}
