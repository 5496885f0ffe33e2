// SPDX-License-Identifier: GPL-2.0-only
/* Misdeeds of dl_rogue with windows. */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/switchtec.h>

#include "rogue.h"

static ulong victim;
module_param(victim, ulong, 0644);
MODULE_PARM_DESC(victim, "address of 8 bytes of the lender's memory, all of them 0x5a");

#define VICTIM 0x5a5a5a5a5a5a5a5aULL

static int attach_no_loan(void)
{
	struct dlend_msg_attach req = attach_request();

	return ask_attach(&req);
}

static int attach_twice(void)
{
	struct dlend_msg_attach req;
	int err = take();

	req = attach_request();
	return err ?: ask_attach(&req);
}

static int attach_flags(void)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	req = attach_request();
	req.flags = cpu_to_le32(0x80);
	return err ?: ask_attach(&req);
}

/* The lender's attach_ms is ATTACH_MS. */
#define ATTACH_MS 1000

/* The loan has ended by itself. */
static int attach_late(void)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	req = attach_request();
	if (!err)
		msleep(ATTACH_MS + 500);
	return err ?: ask_attach(&req);
}

/* Attaches about when the loan ends. Return: 0 if it was attached, or had ended. */
static int attach_just_now(unsigned int ms)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	if (err)
		return err;
	req = attach_request();
	msleep(ms);
	err = ask_attach(&req);
	if (err)
		return err == -ENODEV ? 0 : err;
	/* A loan that is attached lasts. */
	msleep(50);
	err = ask_config(mine, loan, 0, 4, NULL);
	give_back();
	return err;
}

static int attach_race(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 12 && !err; i++)
		err = attach_just_now(ATTACH_MS - 6 + i);
	return err;
}

/* A virtual machine of a borrower that does not translate. */
static int attach_guest(void)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	req = attach_request();
	req.flags = cpu_to_le32(DLEND_ATTACH_GUEST);
	return err ?: ask_attach(&req);
}

/* Borrows, and attaches with other descriptors of windows. */
static int attach_windows(u32 number, u64 offset, u64 size, bool msi)
{
	struct dlend_msg_attach req;
	struct dlend_window_desc *desc = msi ? &req.msi : &req.dma;
	int err = ask_borrow(mine);

	if (err)
		return err;
	req = attach_request();
	desc->window = cpu_to_le32(number);
	desc->offset = cpu_to_le64(offset);
	desc->size = cpu_to_le64(size);
	return ask_attach(&req);
}

static int window_number(void)
{
	return attach_windows(9999, 0, AREA, false);
}

static int window_message(void)
{
	return attach_windows(~0, 0, AREA, true);
}

static int window_empty(void)
{
	return attach_windows(le32_to_cpu(window.window), 0, 0, false);
}

static int window_long(void)
{
	return attach_windows(le32_to_cpu(window.window), 0, BIT_ULL(45), false);
}

static int window_beyond(void)
{
	return attach_windows(le32_to_cpu(window.window), BIT_ULL(45), AREA, true);
}

static int window_wraps(void)
{
	return attach_windows(le32_to_cpu(window.window), -(u64)SZ_4K, SZ_8K, false);
}

/* Windows that this node opens itself, by the registers of its adapter. */

#define LUT_SIZE SZ_64K
#define LUT_PARTITION (0x3f << 1)
#define LOCK_TRIES 5000

static int operate(struct ntb_ctrl_regs __iomem *ctl, u32 op, u32 wanted)
{
	unsigned int i;

	iowrite32(op, &ctl->partition_op);
	for (i = 0; i < LOCK_TRIES; i++) {
		usleep_range(200, 1000);
		if ((ioread32(&ctl->partition_status) & 0xffff) == wanted)
			return 0;
	}
	return -ETIMEDOUT;
}

static int set_lut(struct ntb_ctrl_regs __iomem *ctl, unsigned int i, u64 entry)
{
	int err = operate(ctl, NTB_CTRL_PART_OP_LOCK, NTB_CTRL_PART_STATUS_LOCKED);

	if (err)
		return err;
	iowrite64(entry, &ctl->lut_entry[i]);
	return operate(ctl, NTB_CTRL_PART_OP_CFG, NTB_CTRL_PART_STATUS_NORMAL);
}

/* Reads the victim through a LUT entry that is free, and writes to it. */
static int through_lut(struct pci_dev *pdev, struct ntb_ctrl_regs __iomem *ctl)
{
	unsigned int n = min_t(unsigned int, ioread16(&ctl->lut_table_entries),
			       ARRAY_SIZE(ctl->lut_entry));
	u64 value, partition = 0, is = 0;
	unsigned int i, bar, lut = 0;
	void __iomem *through;
	int err;

	for (i = 0; i < n; i++) {
		value = ioread64(&ctl->lut_entry[i]);
		if (value & NTB_CTRL_LUT_EN)
			partition = value & LUT_PARTITION;
		else
			lut = i;
	}
	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (ioread32(&ctl->bar_entry[bar].ctl) & NTB_CTRL_BAR_LUT_WIN_EN)
			break;
	if (!lut || bar == PCI_STD_NUM_BARS)
		return -ENOSPC;
	through = ioremap(pci_resource_start(pdev, bar) + lut * LUT_SIZE +
			  victim % LUT_SIZE, sizeof(is));
	if (!through)
		return -ENOMEM;
	err = set_lut(ctl, lut, round_down(victim, LUT_SIZE) | partition | NTB_CTRL_LUT_EN);
	if (!err) {
		is = ioread64(through);
		iowrite32(0x12345678, through);
		err = set_lut(ctl, lut, 0);
	}
	iounmap(through);
	return err ?: is == VICTIM ? 0 : -EACCES;
}

/* Return: 0 if the lender's memory is open, -EACCES if it is not. */
static int own_window(void)
{
	struct pci_dev *pdev = to_pci_dev(dlend_peer_dev(peer));
	struct ntb_ctrl_regs __iomem *ctl;
	struct ntb_info_regs __iomem *info;
	void __iomem *bar;
	int err;

	bar = pci_iomap_range(pdev, 0, SWITCHTEC_GAS_NTB_OFFSET,
			      SWITCHTEC_NTB_REG_DBMSG_OFFSET);
	if (!bar)
		return -ENOMEM;
	info = bar + SWITCHTEC_NTB_REG_INFO_OFFSET;
	ctl = bar + SWITCHTEC_NTB_REG_CTRL_OFFSET;
	err = through_lut(pdev, ctl + ioread8(&info->partition_id));
	pci_iounmap(pdev, bar);
	return err;
}

const struct rogue_misdeed rogue_window[] = {
	{ "attach-no-loan", attach_no_loan },
	{ "attach-twice", attach_twice },
	{ "attach-flags", attach_flags },
	{ "attach-late", attach_late },
	{ "attach-race", attach_race },
	{ "attach-guest", attach_guest },
	{ "window-number", window_number },
	{ "window-message", window_message },
	{ "window-empty", window_empty },
	{ "window-long", window_long },
	{ "window-beyond", window_beyond },
	{ "window-wraps", window_wraps },
	{ "own-window", own_window },
	{ }
};
