// SPDX-License-Identifier: GPL-2.0-only
/* Misdeeds of dl_rogue with loans, its own and those of others. */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/pci.h>
#include <linux/suspend.h>

#include "compat.h"
#include "rogue.h"

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
		mutex_lock(&rogue_mutex);
		if (waits_for_sleep)
			result = ask_borrow(mine);
		mutex_unlock(&rogue_mutex);
	}
	return NOTIFY_DONE;
}

/*
 * A lender on this node has the usual priority, 0, and is told before. The chain's lock is
 * taken before the mutex, so a misdeed must not register this.
 */
struct notifier_block rogue_sleep = {
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

/* Interrupts that the lender shall handle. */

static int set_irqs(u32 fdid, u32 number, u32 kind, u32 count)
{
	struct dlend_msg_irq_set req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.kind = cpu_to_le32(kind),
		.count = cpu_to_le32(count),
	};

	return call(DLEND_OP_IRQ_SET, &req, sizeof(req));
}

static int irq_no_guest(void)
{
	return take() ?: set_irqs(mine, loan, DLEND_IRQ_MSI, 1);
}

static int irq_no_kind(void)
{
	return take() ?: set_irqs(mine, loan, DLEND_IRQ_MSIX + 1, 1);
}

static int irq_too_many(void)
{
	return take() ?: set_irqs(mine, loan, DLEND_IRQ_MSIX, DLEND_IRQ_VECTORS + 1);
}

static int irq_not_attached(void)
{
	return ask_borrow(mine) ?: set_irqs(mine, loan, DLEND_IRQ_MSI, 1);
}

static int unmask(u32 fdid, u32 number)
{
	struct dlend_msg_irq_unmask req = {
		.fdid = cpu_to_le32(fdid),
		.loan = cpu_to_le32(number),
		.number = cpu_to_le32(1),
	};

	return call(DLEND_OP_IRQ_UNMASK, &req, sizeof(req));
}

static int unmask_nothing(void)
{
	return take() ?: unmask(mine, loan);
}

/* Loans of another borrower. */

static int set_irqs_other(u32 number)
{
	return set_irqs(other, number, DLEND_IRQ_MSI, 1);
}

static int unmask_other(u32 number)
{
	return unmask(other, number);
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

static int others_irqs(void)
{
	return all_numbers(set_irqs_other);
}

static int others_unmask(void)
{
	return all_numbers(unmask_other);
}

const struct rogue_misdeed rogue_loan[] = {
	{ "borrow-taken", borrow_taken },
	{ "borrow-unknown", borrow_unknown },
	{ "borrow-elsewhere", borrow_elsewhere },
	{ "borrow-asleep", borrow_asleep },
	{ "borrow-again", borrow_again },
	{ "return-twice", return_twice },
	{ "reset-not-attached", reset_not_attached },
	{ "reset-returned", reset_returned },
	{ "reset-write", reset_write },
	{ "irq-no-guest", irq_no_guest },
	{ "irq-no-kind", irq_no_kind },
	{ "irq-too-many", irq_too_many },
	{ "irq-not-attached", irq_not_attached },
	{ "unmask-nothing", unmask_nothing },
	{ "others-irqs", others_irqs },
	{ "others-unmask", others_unmask },
	{ "others-read", others_read },
	{ "others-write", others_write },
	{ "others-return", others_return },
	{ "others-reset", others_reset },
	{ "others-extended", others_extended },
	{ "others-attach", others_attach },
	{ }
};
