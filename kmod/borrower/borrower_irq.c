// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of a borrowed device that its lender handles, and tells this node of.
 */
#include "borrower.h"

/* Longest wait for the lender without sleeping. */
#define UNMASK_US 2000

/* Return: 0 with @answer set, or the error of the call. */
static int send_set(struct borrower_loan *loan, enum dlend_irq_kind kind, unsigned int count,
		    struct dlend_msg_irq_set_answer *answer)
{
	struct dlend_msg_irq_set req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
		.kind = cpu_to_le32(kind),
		.count = cpu_to_le32(count),
	};
	int ret = dlend_call(loan->peer, DLEND_OP_IRQ_SET, &req, sizeof(req), answer,
			     sizeof(*answer), 0);

	if (ret >= 0 && ret != sizeof(*answer))
		ret = -EPROTO;
	return min(ret, 0);
}

static void set_raise(struct borrower_loan *loan, dlend_raise raise, void *data)
{
	spin_lock_irq(&loan->irq_lock);
	loan->raise = raise;
	loan->raise_data = data;
	loan->irq_number = 0;
	loan->unmask_number = 0;
	spin_unlock_irq(&loan->irq_lock);
}

static int irq_set(struct borrower_loan *loan, enum dlend_irq_kind kind, unsigned int count,
		   dlend_raise raise, void *data)
{
	struct dlend_msg_irq_set_answer answer;
	int err;

	if (READ_ONCE(loan->dead))
		return -ENODEV;
	/* The first one may come before the answer. */
	set_raise(loan, raise, data);
	err = send_set(loan, kind, count, &answer);
	if (err)
		set_raise(loan, NULL, NULL);
	return err;
}

int dlend_guest_irq_set(struct pci_dev *pdev, enum dlend_irq_kind kind, unsigned int count,
			dlend_raise raise, void *data)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	int err = loan ? irq_set(loan, kind, count, raise, data) : -ENODEV;

	borrower_loan_put(loan);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_guest_irq_set);

void dlend_guest_irq_clear(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	struct dlend_msg_irq_set_answer answer;

	if (!loan)
		return;
	set_raise(loan, NULL, NULL);
	if (!READ_ONCE(loan->dead))
		send_set(loan, DLEND_IRQ_NONE, 0, &answer);
	borrower_loan_put(loan);
}
EXPORT_SYMBOL_GPL(dlend_guest_irq_clear);

bool dlend_guest_has_line(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	struct dlend_msg_irq_set_answer answer = {};

	/* A lender with older modules does not know the request. */
	if (loan && (READ_ONCE(loan->dead) || send_set(loan, DLEND_IRQ_NONE, 0, &answer)))
		answer.has_line = 0;
	borrower_loan_put(loan);
	return answer.has_line;
}
EXPORT_SYMBOL_GPL(dlend_guest_has_line);

bool dlend_guest_forwards(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	bool forwards = loan && loan->forwards;

	borrower_loan_put(loan);
	return forwards;
}
EXPORT_SYMBOL_GPL(dlend_guest_forwards);

static int unmask(struct borrower_loan *loan)
{
	struct dlend_msg_irq_unmask req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	int err;

	if (READ_ONCE(loan->dead))
		return -ENODEV;
	spin_lock_irq(&loan->irq_lock);
	req.number = cpu_to_le32(++loan->unmask_number);
	spin_unlock_irq(&loan->irq_lock);
	err = dlend_call_polled(loan->peer, DLEND_OP_IRQ_UNMASK, &req, sizeof(req), NULL, 0,
				UNMASK_US);
	if (err == -ETIMEDOUT)
		err = dlend_call(loan->peer, DLEND_OP_IRQ_UNMASK, &req, sizeof(req), NULL, 0,
				 0);
	return min(err, 0);
}

int dlend_guest_irq_unmask(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);
	int err = loan ? unmask(loan) : -ENODEV;

	borrower_loan_put(loan);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_guest_irq_unmask);

void borrower_irq_raise(struct borrower_loan *loan, const struct dlend_msg_irq *msg)
{
	u32 number = le32_to_cpu(msg->number);

	lockdep_assert_held(&loan->irq_lock);
	if (!loan->raise || (s32)(number - loan->irq_number) <= 0)
		return;
	loan->irq_number = number;
	loan->raise(loan->raise_data, le64_to_cpu(msg->vectors));
}
