// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile borrower. It is loaded in place of dl_borrower, knows the protocol of
 * dl_proto.h, and breaks its rules.
 *
 * The name of a misdeed written to the file "rogue" in the folder of Device Lending in
 * debugfs commits it. Then the file has the name, and the result: "ok", or the error with
 * which the lender refused it. The device that it has the right to borrow is @mine;
 * another node has borrowed @other of the same lender.
 *
 * A misdeed begins without a loan. What it has borrowed stays borrowed until the next one,
 * so that the test can look at the lender meanwhile.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/switchtec.h>

#include "compat.h"
#include "dl_fabric.h"
#include "dl_proto.h"

static uint mine = 0x10000, other = 0x10001;
module_param(mine, uint, 0644);
MODULE_PARM_DESC(mine, "ID of the device that is borrowed (0x10000)");
module_param(other, uint, 0644);
MODULE_PARM_DESC(other, "ID of a device that another node has borrowed (0x10001)");

static ulong victim;
module_param(victim, ulong, 0644);
MODULE_PARM_DESC(victim, "address of 8 bytes of the lender's memory, all of them 0x5a");

#define VICTIM 0x5a5a5a5a5a5a5a5aULL

/* Numbers of loans grow from 1 on, and all below this are tried. */
#define NUMBERS 64

#define AREA SZ_64K

/* Opening windows takes up to 100 ms for each LUT entry. */
#define PATIENCE_MS 20000

/* Guards all below, and serializes the misdeeds. */
static DEFINE_MUTEX(mutex);
static struct dlend_peer *peer;
static void *memory;
static dma_addr_t dma;
static struct dlend_export *export;
static struct dlend_window_desc window;	/* that leads to @memory */
static u32 loan;			/* of @mine, or 0 */
static char name[32];
static int result;
static struct dentry *file;
static union {
	u8 bytes[DLEND_MSG_MAX];
	struct dlend_msg_borrow_answer borrow;
	struct dlend_msg_attach_answer attach;
	struct dlend_msg_cfg_answer config;
} answer;

static int call(u16 op, const void *req, size_t len)
{
	int ret = dlend_call(peer, op, req, len, &answer, sizeof(answer), PATIENCE_MS);

	return min(ret, 0);
}

/* The steps of a good borrower, with a device and a loan of choice. */

static int ask_borrow(u32 fdid)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(fdid) };
	int err = call(DLEND_OP_BORROW, &req, sizeof(req));

	if (err)
		return err;
	switch (le32_to_cpu(answer.borrow.status)) {
	case DLEND_BORROW_OK:
		loan = le32_to_cpu(answer.borrow.loan);
		return 0;
	case DLEND_BORROW_UNKNOWN:
		return -ENOENT;
	case DLEND_BORROW_TAKEN:
		return -EBUSY;
	default:
		return -EAGAIN;
	}
}

static struct dlend_msg_attach attach_request(void)
{
	return (struct dlend_msg_attach){
		.fdid = cpu_to_le32(mine),
		.loan = cpu_to_le32(loan),
		.dma = window,
		.msi = window,
	};
}

static int ask_attach(const struct dlend_msg_attach *req)
{
	return call(DLEND_OP_ATTACH, req, sizeof(*req));
}

static int take(void)
{
	struct dlend_msg_attach req;
	int err = ask_borrow(mine);

	if (err)
		return err;
	req = attach_request();
	return ask_attach(&req);
}

static int ask(u16 op, u32 fdid, u32 number)
{
	struct dlend_msg_return req = { cpu_to_le32(fdid), cpu_to_le32(number) };

	return call(op, &req, sizeof(req));
}

static int ask_config(u32 fdid, u32 number, unsigned int at, unsigned int size,
		      const u32 *value)
{
	struct dlend_msg_cfg req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.offset = cpu_to_le16(at),
		.size = cpu_to_le16(size),
		.value = cpu_to_le32(value ? *value : 0),
	};
	int ret = dlend_call_polled(peer,
				    value ? DLEND_OP_CFG_WRITE : DLEND_OP_CFG_READ, &req,
				    sizeof(req), &answer, sizeof(answer), 0);

	return min(ret, 0);
}

static int ask_extended(u32 fdid, u32 number, u32 at)
{
	struct dlend_msg_extended req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.offset = cpu_to_le32(at),
	};

	return call(DLEND_OP_CFG_EXTENDED, &req, sizeof(req));
}

static void give_back(void)
{
	if (loan)
		ask(DLEND_OP_RETURN, mine, loan);
	loan = 0;
}

/* Configuration space. */

static int read_after_take(unsigned int at, unsigned int size)
{
	return take() ?: ask_config(mine, loan, at, size, NULL);
}

static int config_beyond(void)
{
	return read_after_take(DLEND_CFG_SPACE, 4);
}

static int config_last(void)
{
	return read_after_take(0xfffc, 4);
}

static int config_write_beyond(void)
{
	u32 ones = ~0;

	return take() ?: ask_config(mine, loan, DLEND_CFG_SPACE, 4, &ones);
}

static int config_unaligned(void)
{
	return read_after_take(2, 4);
}

static int config_size_0(void)
{
	return read_after_take(0, 0);
}

static int config_size_3(void)
{
	return read_after_take(0, 3);
}

static int config_size_8(void)
{
	return read_after_take(0, 8);
}

static int config_no_loan(void)
{
	return ask_config(mine, 0, 0, 4, NULL);
}

static int config_not_attached(void)
{
	return ask_borrow(mine) ?: ask_config(mine, loan, 0, 4, NULL);
}

static int config_returned(void)
{
	int err = take();
	u32 was = loan;

	give_back();
	return err ?: ask_config(mine, was, 0, 4, NULL);
}

/* Ones to all registers. */
static int config_all(void)
{
	unsigned int at;
	u32 ones = ~0;
	int err = take();

	for (at = 0; at < DLEND_CFG_SPACE && !err; at += 4)
		err = ask_config(mine, loan, at, 4, &ones);
	return err;
}

/* Return: offset of the capability MSI in the image that ATTACH has answered, or 0. */
static unsigned int find_msi(void)
{
	const u8 *config = answer.attach.config;
	unsigned int i, at = config[PCI_CAPABILITY_LIST];

	for (i = 0; i < 48 && at >= PCI_STD_HEADER_SIZEOF && at < DLEND_CFG_SIZE - 16; i++) {
		if (config[at] == PCI_CAP_ID_MSI)
			return at;
		at = config[at + PCI_CAP_LIST_NEXT] & ~3;
	}
	return 0;
}

/* Interrupts of the lender itself: the address is not in the window. */
static int msi_outside(void)
{
	u32 addr = 0xfee00000, upper = 0, data = 0x31, flags = PCI_MSI_FLAGS_ENABLE;
	int err = take();
	unsigned int at;
	bool wide;

	if (err)
		return err;
	at = find_msi();
	if (!at)
		return -ENOENT;
	wide = answer.attach.config[at + PCI_MSI_FLAGS] & PCI_MSI_FLAGS_64BIT;
	err = ask_config(mine, loan, at + PCI_MSI_ADDRESS_LO, 4, &addr);
	if (!err && wide)
		err = ask_config(mine, loan, at + PCI_MSI_ADDRESS_HI, 4, &upper);
	if (!err)
		err = ask_config(mine, loan, at + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32),
				 2, &data);
	return err ?: ask_config(mine, loan, at + PCI_MSI_FLAGS, 2, &flags);
}

static int extended_low(void)
{
	return take() ?: ask_extended(mine, loan, 0);
}

static int extended_high(void)
{
	return take() ?: ask_extended(mine, loan, DLEND_CFG_SPACE - DLEND_CFG_PIECE + 4);
}

static int extended_wrap(void)
{
	return take() ?: ask_extended(mine, loan, ~0);
}

static int extended_not_attached(void)
{
	return ask_borrow(mine) ?: ask_extended(mine, loan, DLEND_CFG_SIZE);
}

/* Windows. */

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

/* States. */

static int borrow_taken(void)
{
	return ask_borrow(other);
}

static int borrow_unknown(void)
{
	return ask_borrow((mine & 0xffff0000) | 0xfffe);
}

static int borrow_elsewhere(void)
{
	return ask_borrow(0x7fff0000);
}

static bool waits_for_sleep;

static int go_to_sleep(struct notifier_block *nb, unsigned long event, void *unused)
{
	if (event == PM_SUSPEND_PREPARE) {
		mutex_lock(&mutex);
		if (waits_for_sleep)
			result = ask_borrow(mine);
		mutex_unlock(&mutex);
	}
	return NOTIFY_DONE;
}

/*
 * A lender on this node has the usual priority, 0, and is told before. The chain's lock is
 * taken before the mutex, so a misdeed must not register this.
 */
static struct notifier_block sleep_notifier = {
	.notifier_call = go_to_sleep,
	.priority = -1,
};

/* Borrows when this node goes to sleep. */
static int borrow_asleep(void)
{
	if (waits_for_sleep)
		return -EBUSY;
	waits_for_sleep = true;
	return -EINPROGRESS;
}

/* The first loan ends when a node borrows again. */
static int borrow_again(void)
{
	int err = take();
	u32 was = loan;

	err = err ?: take();
	return err ?: ask_config(mine, was, 0, 4, NULL);
}

static int return_twice(void)
{
	int err = take();
	u32 was = loan;

	give_back();
	return err ?: ask(DLEND_OP_RETURN, mine, was);
}

static int reset_not_attached(void)
{
	return ask_borrow(mine) ?: ask(DLEND_OP_RESET, mine, loan);
}

static int reset_returned(void)
{
	int err = take();
	u32 was = loan;

	give_back();
	return err ?: ask(DLEND_OP_RESET, mine, was);
}

static DECLARE_COMPLETION(reset_done);
static int reset_result;

static int reset_thread(void *unused)
{
	static u8 nothing[DLEND_MSG_MAX];	/* @answer is for the writes */
	struct dlend_msg_return req = { cpu_to_le32(mine), cpu_to_le32(loan) };

	reset_result = dlend_call(peer, DLEND_OP_RESET, &req, sizeof(req), nothing,
				  sizeof(nothing), PATIENCE_MS);
	kthread_complete_and_exit(&reset_done, 0);
}

/*
 * Writes to a register while the device is reset: it may then read as ones, which the lender
 * must not write back. Return: -EBUSY if some write was refused so, and none otherwise.
 */
static int reset_write(void)
{
	u32 memory_on = PCI_COMMAND_MEMORY;
	struct task_struct *task;
	int write, err = take();

	if (err)
		return err;
	reinit_completion(&reset_done);
	task = kthread_run(reset_thread, NULL, "dl_rogue");
	if (IS_ERR(task))
		return PTR_ERR(task);
	while (!wait_for_completion_timeout(&reset_done, 1)) {
		write = ask_config(mine, loan, PCI_COMMAND, 2, &memory_on);
		if (write && err != -EIO)
			err = write == -EBUSY ? write : -EIO;
	}
	return reset_result ?: err;
}

/* Loans of another borrower. Return: -ENODEV if each number was refused so. */
static int all_numbers(int (*try)(u32 number))
{
	int err, ret = -ENODEV;
	u32 i;

	for (i = 0; i < NUMBERS; i++) {
		err = try(i);
		if (err != -ENODEV)
			ret = err;
	}
	return ret;
}

static int read_other(u32 number)
{
	return ask_config(other, number, 0, 4, NULL);
}

static int write_other(u32 number)
{
	u32 nothing = 0;

	return ask_config(other, number, PCI_COMMAND, 2, &nothing);
}

static int return_other(u32 number)
{
	return ask(DLEND_OP_RETURN, other, number);
}

static int reset_other(u32 number)
{
	return ask(DLEND_OP_RESET, other, number);
}

static int extended_other(u32 number)
{
	return ask_extended(other, number, DLEND_CFG_SIZE);
}

static int attach_other(u32 number)
{
	struct dlend_msg_attach req = attach_request();

	req.fdid = cpu_to_le32(other);
	req.loan = cpu_to_le32(number);
	return ask_attach(&req);
}

static int others_read(void)
{
	return all_numbers(read_other);
}

static int others_write(void)
{
	return all_numbers(write_other);
}

static int others_return(void)
{
	return all_numbers(return_other);
}

static int others_reset(void)
{
	return all_numbers(reset_other);
}

static int others_extended(void)
{
	return all_numbers(extended_other);
}

static int others_attach(void)
{
	return all_numbers(attach_other);
}

/* Peer-to-peer. */

static struct dlend_msg_p2p pair_of(u32 source, u32 source_loan, u32 target,
				    u32 target_loan)
{
	return (struct dlend_msg_p2p){
		.version = cpu_to_le32(DLEND_P2P_VERSION),
		.source = cpu_to_le32(source),
		.source_loan = cpu_to_le32(source_loan),
		.target = cpu_to_le32(target),
		.target_loan = cpu_to_le32(target_loan),
	};
}

static int ask_p2p(u16 op, struct dlend_msg_p2p pair)
{
	return call(op, &pair, sizeof(pair));
}

/* The target's BARs as those of the borrower itself, behind any window. */
static int ask_open(struct dlend_msg_p2p pair, u32 number, u64 offset)
{
	struct dlend_msg_p2p_open req = { .p2p = pair };

	if (pair.flags) {
		req.bars[0].window = cpu_to_le32(number);
		req.bars[0].offset = cpu_to_le64(offset);
		req.bars[0].size = cpu_to_le64(AREA);
	}
	return call(DLEND_OP_P2P_OPEN, &req, sizeof(req));
}

static int open_to_other(u32 number)
{
	return ask_open(pair_of(mine, loan, other, number), 0, 0);
}

static int p2p_open_others(void)
{
	return take() ?: all_numbers(open_to_other);
}

static int grant_other(u32 number)
{
	return ask_p2p(DLEND_OP_P2P_GRANT,
		       pair_of(dlend_node() << 16, 1, other, number));
}

static int p2p_grant_others(void)
{
	return all_numbers(grant_other);
}

static int fetch_other(u32 number)
{
	return ask_p2p(DLEND_OP_P2P_FETCH,
		       pair_of(dlend_node() << 16, 1, other, number));
}

static int p2p_fetch_others(void)
{
	return all_numbers(fetch_other);
}

static int place_other(u32 number)
{
	struct dlend_msg_p2p_place req = { .p2p = pair_of(mine, loan, other, number) };

	return call(DLEND_OP_P2P_PLACE, &req, sizeof(req));
}

static int p2p_place_others(void)
{
	return take() ?: all_numbers(place_other);
}

/* A grant for a source of another node is not for this one. */
static int p2p_fetch_foreign(void)
{
	return take() ?: ask_p2p(DLEND_OP_P2P_GRANT, pair_of(0x90000, 1, mine, loan)) ?:
	       ask_p2p(DLEND_OP_P2P_FETCH, pair_of(0x90000, 1, mine, loan));
}

static int p2p_version(void)
{
	struct dlend_msg_p2p pair = pair_of(dlend_node() << 16, 1, mine, loan);

	pair.version = cpu_to_le32(77);
	return ask_p2p(DLEND_OP_P2P_GRANT, pair);
}

static int p2p_itself(void)
{
	return take() ?: ask_open(pair_of(mine, loan, mine, loan), 0, 0);
}

static int p2p_window(void)
{
	struct dlend_msg_p2p pair;
	int err = take();

	pair = pair_of(mine, loan, dlend_node() << 16, 0);
	pair.flags = cpu_to_le32(DLEND_P2P_BORROWERS);
	return err ?: ask_open(pair, 9999, 0);
}

static int p2p_window_beyond(void)
{
	struct dlend_msg_p2p pair;
	int err = take();

	pair = pair_of(mine, loan, dlend_node() << 16, 0);
	pair.flags = cpu_to_le32(DLEND_P2P_BORROWERS);
	return err ?: ask_open(pair, le32_to_cpu(window.window), BIT_ULL(50));
}

static int p2p_too_many(void)
{
	int i, err = take();

	for (i = 0; i <= DLEND_P2P_MAX && !err; i++)
		err = ask_p2p(DLEND_OP_P2P_GRANT,
			      pair_of((dlend_node() << 16) + i, 1, mine, loan));
	return err;
}

/* Nobody's windows are closed by this, and it is no error. */
static int p2p_close_others(void)
{
	int err = 0;
	u32 i;

	for (i = 0; i < NUMBERS && !err; i++)
		err = ask_p2p(DLEND_OP_P2P_CLOSE, pair_of(other, i, mine, i)) ?:
		      ask_p2p(DLEND_OP_P2P_REVOKE, pair_of(other, i, mine, i));
	return err;
}

/* Messages. */

/* Return: -EINVAL if the lender has refused all wrong lengths so. */
static int lengths(void)
{
	static const struct {
		u16 op, len;
	} kinds[] = {
		{ DLEND_OP_LIST, sizeof(struct dlend_msg_list) },
		{ DLEND_OP_BORROW, sizeof(struct dlend_msg_borrow) },
		{ DLEND_OP_ATTACH, sizeof(struct dlend_msg_attach) },
		{ DLEND_OP_RETURN, sizeof(struct dlend_msg_return) },
		{ DLEND_OP_RESET, sizeof(struct dlend_msg_return) },
		{ DLEND_OP_CFG_READ, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_WRITE, sizeof(struct dlend_msg_cfg) },
		{ DLEND_OP_CFG_EXTENDED, sizeof(struct dlend_msg_extended) },
		{ DLEND_OP_P2P_GRANT, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_OPEN, sizeof(struct dlend_msg_p2p_open) },
		{ DLEND_OP_P2P_CLOSE, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_FETCH, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_REVOKE, sizeof(struct dlend_msg_p2p) },
		{ DLEND_OP_P2P_PLACE, sizeof(struct dlend_msg_p2p_place) },
	};
	static const u8 zeros[DLEND_MSG_MAX];
	unsigned int i, j;
	int err;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const u16 wrong[] = { 0, 1, kinds[i].len / 2, kinds[i].len - 1,
				      kinds[i].len + 1, DLEND_MSG_MAX };

		for (j = 0; j < ARRAY_SIZE(wrong); j++) {
			err = call(kinds[i].op, zeros, wrong[j]);
			if (err != -EINVAL)
				return err ?: -EBADMSG;
		}
	}
	return -EINVAL;
}

static int unknown_requests(void)
{
	static const u16 numbers[] = { 0, 15, 30, 31, 34, 255, 256, 4096, 65535 };
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		err = call(numbers[i], memory, 16);
		if (err != -EOPNOTSUPP)
			return err ?: -EBADMSG;
	}
	return -EOPNOTSUPP;
}

/* A request that sleeps, in a slot whose requests are handled in an interrupt. */
static int borrow_polled(void)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(mine) };
	int ret = dlend_call_polled(peer, DLEND_OP_BORROW, &req, sizeof(req), &answer,
				    sizeof(answer), 0);

	return min(ret, 0);
}

/* Floods. */

#define FLOOD_THREADS 8
#define FLOOD_CALLS 100
/* The threads compete for the slots of calls, and one of them may wait long. */
#define FLOOD_PATIENCE_MS 60000

static atomic_t flood_answers;
static DECLARE_COMPLETION(flood_done);

/* Random requests of the right length, most of them for nothing that there is. */
static int flood_thread(void *seed)
{
	static const u16 ops[] = {
		DLEND_OP_LIST, DLEND_OP_RETURN, DLEND_OP_RESET, DLEND_OP_CFG_EXTENDED,
		DLEND_OP_CFG_READ, DLEND_OP_CFG_WRITE, DLEND_OP_P2P_CLOSE,
		DLEND_OP_P2P_GRANT,
	};
	static const u16 len[] = { 8, 8, 8, 16, 16, 16, 24, 24 };
	struct rnd_state rnd;
	u32 words[6];
	u8 *room = kmalloc(DLEND_MSG_MAX, GFP_KERNEL);
	unsigned int i, j, kind;

	prandom_seed_state(&rnd, (uintptr_t)seed);
	for (i = 0; room && i < FLOOD_CALLS; i++) {
		kind = prandom_u32_state(&rnd) % ARRAY_SIZE(ops);
		for (j = 0; j < ARRAY_SIZE(words); j++)
			words[j] = prandom_u32_state(&rnd) % NUMBERS;
		words[0] = prandom_u32_state(&rnd) & 1 ? mine : other;
		if (dlend_call(peer, ops[kind], words, len[kind], room, DLEND_MSG_MAX,
			       FLOOD_PATIENCE_MS) != -ETIMEDOUT)
			atomic_inc(&flood_answers);
	}
	kfree(room);
	kthread_complete_and_exit(&flood_done, 0);
}

/* Return: 0 if the lender has answered each of the calls. */
static int flood(void)
{
	struct task_struct *task;
	int i, err = 0;

	atomic_set(&flood_answers, 0);
	for (i = 0; i < FLOOD_THREADS; i++) {
		task = kthread_run(flood_thread, (void *)(uintptr_t)(i + 1), "dl_rogue");
		if (IS_ERR(task)) {
			err = PTR_ERR(task);
			break;
		}
	}
	while (i--)
		wait_for_completion(&flood_done);
	if (!err && atomic_read(&flood_answers) != FLOOD_THREADS * FLOOD_CALLS)
		err = -ETIMEDOUT;
	return err;
}

/* Loans that nobody returns: each ends when the next one begins. */
static int flood_loans(void)
{
	int i, err = 0;

	for (i = 0; i < 10 && !err; i++)
		err = i & 1 ? ask_borrow(mine) : take();
	return err;
}

static const struct {
	const char *name;
	int (*commit)(void);
} misdeeds[] = {
	{ "nothing", take },
	{ "config-beyond", config_beyond },
	{ "config-last", config_last },
	{ "config-write-beyond", config_write_beyond },
	{ "config-unaligned", config_unaligned },
	{ "config-size-0", config_size_0 },
	{ "config-size-3", config_size_3 },
	{ "config-size-8", config_size_8 },
	{ "config-no-loan", config_no_loan },
	{ "config-not-attached", config_not_attached },
	{ "config-returned", config_returned },
	{ "config-all", config_all },
	{ "msi-outside", msi_outside },
	{ "extended-low", extended_low },
	{ "extended-high", extended_high },
	{ "extended-wrap", extended_wrap },
	{ "extended-not-attached", extended_not_attached },
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
	{ "borrow-taken", borrow_taken },
	{ "borrow-unknown", borrow_unknown },
	{ "borrow-elsewhere", borrow_elsewhere },
	{ "borrow-asleep", borrow_asleep },
	{ "borrow-again", borrow_again },
	{ "borrow-polled", borrow_polled },
	{ "return-twice", return_twice },
	{ "reset-not-attached", reset_not_attached },
	{ "reset-returned", reset_returned },
	{ "reset-write", reset_write },
	{ "others-read", others_read },
	{ "others-write", others_write },
	{ "others-return", others_return },
	{ "others-reset", others_reset },
	{ "others-extended", others_extended },
	{ "others-attach", others_attach },
	{ "p2p-open-others", p2p_open_others },
	{ "p2p-grant-others", p2p_grant_others },
	{ "p2p-fetch-others", p2p_fetch_others },
	{ "p2p-place-others", p2p_place_others },
	{ "p2p-fetch-foreign", p2p_fetch_foreign },
	{ "p2p-version", p2p_version },
	{ "p2p-itself", p2p_itself },
	{ "p2p-window", p2p_window },
	{ "p2p-window-beyond", p2p_window_beyond },
	{ "p2p-too-many", p2p_too_many },
	{ "p2p-close-others", p2p_close_others },
	{ "lengths", lengths },
	{ "unknown-requests", unknown_requests },
	{ "flood", flood },
	{ "flood-loans", flood_loans },
};

/* Finds the lender, and opens a window onto own memory for it. Return: 0 or an error. */
static int prepare(void)
{
	struct dlend_export *new;

	if (!peer)
		peer = dlend_peer_find(mine >> 16);
	if (!peer || export)
		return peer ? 0 : -ENOTCONN;
	dma = dma_map_single(dlend_peer_dev(peer), memory, AREA, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dlend_peer_dev(peer), dma))
		return -ENOMEM;
	new = dlend_export(peer, dma, AREA, DLEND_WINDOW_LUT, &window);
	if (IS_ERR(new)) {
		dma_unmap_single(dlend_peer_dev(peer), dma, AREA, DMA_BIDIRECTIONAL);
		return PTR_ERR(new);
	}
	export = new;
	return 0;
}

static int commit(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(misdeeds) && strcmp(misdeeds[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(misdeeds))
		return -ENOENT;
	err = prepare();
	if (err)
		return err;
	give_back();
	result = misdeeds[i].commit();
	return 0;
}

static ssize_t rogue_write(struct file *unused, const char __user *text, size_t size,
			   loff_t *at)
{
	int err;

	if (!size || size >= sizeof(name))
		return -EINVAL;
	mutex_lock(&mutex);
	memset(name, 0, sizeof(name));
	if (copy_from_user(name, text, size)) {
		err = -EFAULT;
	} else {
		strim(name);
		err = commit();
	}
	mutex_unlock(&mutex);
	return err ?: size;
}

static int rogue_show(struct seq_file *out, void *unused)
{
	mutex_lock(&mutex);
	if (result)
		seq_printf(out, "%s: %pe\n", name, ERR_PTR(result));
	else
		seq_printf(out, "%s: ok\n", name);
	mutex_unlock(&mutex);
	return 0;
}

static int rogue_open(struct inode *inode, struct file *opened)
{
	return single_open(opened, rogue_show, NULL);
}

static const struct file_operations rogue_fops = {
	.owner = THIS_MODULE,
	.open = rogue_open,
	.read = seq_read,
	.write = rogue_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init rogue_init(void)
{
	int err;

	memory = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(AREA));
	if (!memory)
		return -ENOMEM;
	err = register_pm_notifier(&sleep_notifier);
	if (err) {
		free_pages((unsigned long)memory, get_order(AREA));
		return err;
	}
	file = debugfs_create_file("rogue", 0600, dlend_debugfs_root(), NULL, &rogue_fops);
	return 0;
}

/* The last loan is not returned. */
static void __exit rogue_exit(void)
{
	debugfs_remove(file);
	unregister_pm_notifier(&sleep_notifier);
	if (export) {
		dlend_unexport(export);
		dma_unmap_single(dlend_peer_dev(peer), dma, AREA, DMA_BIDIRECTIONAL);
	}
	dlend_peer_put(peer);
	free_pages((unsigned long)memory, get_order(AREA));
}

module_init(rogue_init);
module_exit(rogue_exit);
MODULE_DESCRIPTION("A hostile borrower, for tests of Device Lending");
MODULE_LICENSE("GPL");
