// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts that this node handles for the borrower: those that cannot cross an NTB as
 * they are, because they are a line, and those that the borrower wants to be told of. The
 * handler notes the vector, and a work tells the borrower. Vectors that come meanwhile go
 * with the next message, so nothing that the device or the borrower does makes a queue
 * grow.
 */
#include <linux/interrupt.h>
#include <linux/slab.h>

#include "lender.h"

/* Longest wait for the borrower without sleeping. */
#define TELL_US 2000

struct irq_vector {
	struct lender_irqs *irqs;
	char name[32];
};

struct lender_irqs {
	struct lender_device *d;
	struct dlend_peer *peer;	/* counted */
	u32 number;			/* of the loan */
	u32 told;			/* number of the last message to the borrower */
	u32 unmasked;			/* of its last IRQ_UNMASK; guarded by lender_lock */
	enum dlend_irq_kind kind;
	unsigned int count;		/* vectors that have a handler */
	bool closing;
	atomic64_t pending;		/* bit n: the borrower is to be told of vector n */
	struct work_struct tell;
	struct irq_vector vector[DLEND_IRQ_VECTORS];
};

static struct workqueue_struct *wq;

int lender_irq_init(void)
{
	wq = alloc_workqueue("dl_lender_irq", WQ_HIGHPRI | WQ_PERCPU, 0);
	return wq ? 0 : -ENOMEM;
}

void lender_irq_exit(void)
{
	destroy_workqueue(wq);
}

bool lender_irq_has_line(struct pci_dev *pdev)
{
	return pdev->pin && pdev->irq && pci_intx_mask_supported(pdev);
}

static void raise(struct lender_irqs *irqs, unsigned int vector)
{
	atomic64_or(BIT_ULL(vector), &irqs->pending);
	queue_work(wq, &irqs->tell);
}

static irqreturn_t message_came(int irq, void *data)
{
	struct irq_vector *vector = data;

	raise(vector->irqs, vector - vector->irqs->vector);
	return IRQ_HANDLED;
}

/*
 * Others may share the line. The function is masked until the borrower has asked for it, as
 * VFIO does: otherwise a line that nobody serves would keep this CPU busy.
 */
static irqreturn_t line_came(int irq, void *data)
{
	struct irq_vector *vector = data;

	if (!pci_check_and_mask_intx(vector->irqs->d->pdev))
		return IRQ_NONE;
	raise(vector->irqs, 0);
	return IRQ_HANDLED;
}

/* Return: 0; -ETIMEDOUT if the borrower has not answered, and is not lost either. */
static int tell_once(struct lender_irqs *irqs, u64 vectors)
{
	struct dlend_msg_irq msg = {
		.fdid = cpu_to_le32(irqs->d->fdid),
		.loan = cpu_to_le32(irqs->number),
		.number = cpu_to_le32(irqs->told),
		.vectors = cpu_to_le64(vectors),
	};
	int err = dlend_call_polled(irqs->peer, DLEND_OP_IRQ, &msg, sizeof(msg), NULL, 0,
				    TELL_US);

	if (err == -ETIMEDOUT)
		err = dlend_call(irqs->peer, DLEND_OP_IRQ, &msg, sizeof(msg), NULL, 0, 0);
	return min(err, 0);
}

static void tell_work(struct work_struct *work)
{
	struct lender_irqs *irqs = container_of(work, struct lender_irqs, tell);
	u64 vectors;

	while (!READ_ONCE(irqs->closing)) {
		vectors = atomic64_xchg(&irqs->pending, 0);
		if (!vectors)
			return;
		atomic64_add(hweight64(vectors), &lender_counts.interrupts);
		irqs->told++;
		/* A borrower that stands still is told again until it is lost. */
		while (tell_once(irqs, vectors) == -ETIMEDOUT && !READ_ONCE(irqs->closing))
			;
	}
}

/* Return: the number of the vector for request_irq(). */
static int irq_of(struct lender_irqs *irqs, unsigned int n)
{
	struct pci_dev *pdev = irqs->d->pdev;

	return irqs->kind == DLEND_IRQ_LINE ? pdev->irq : pci_irq_vector(pdev, n);
}

static int request_vectors(struct lender_irqs *irqs, unsigned int count)
{
	bool line = irqs->kind == DLEND_IRQ_LINE;
	int err = 0;

	while (!err && irqs->count < count) {
		unsigned int n = irqs->count;
		struct irq_vector *vector = &irqs->vector[n];

		vector->irqs = irqs;
		snprintf(vector->name, sizeof(vector->name), "dl_lender%u(%s)", n,
			 pci_name(irqs->d->pdev));
		err = request_irq(irq_of(irqs, n), line ? line_came : message_came,
				  line ? IRQF_SHARED : 0, vector->name, vector);
		if (!err)
			irqs->count++;
	}
	return err;
}

static int open_vectors(struct lender_irqs *irqs, unsigned int count)
{
	struct pci_dev *pdev = irqs->d->pdev;
	int ret;

	if (irqs->kind == DLEND_IRQ_LINE) {
		pci_intx(pdev, 1);
		return request_vectors(irqs, count);
	}
	ret = pci_alloc_irq_vectors(pdev, count, count, irqs->kind == DLEND_IRQ_MSI ?
				    PCI_IRQ_MSI : PCI_IRQ_MSIX);
	return ret < 0 ? ret : request_vectors(irqs, count);
}

static void set_irqs(struct lender_loan *loan, struct lender_irqs *irqs)
{
	spin_lock_irq(&lender_lock);
	loan->irqs = irqs;
	spin_unlock_irq(&lender_lock);
}

void lender_irq_close(struct lender_loan *loan)
{
	struct lender_irqs *irqs = loan->irqs;
	struct pci_dev *pdev;

	if (!irqs)
		return;
	pdev = irqs->d->pdev;
	WRITE_ONCE(irqs->closing, true);
	set_irqs(loan, NULL);
	while (irqs->count) {
		irqs->count--;
		free_irq(irq_of(irqs, irqs->count), &irqs->vector[irqs->count]);
	}
	if (irqs->kind != DLEND_IRQ_LINE)
		pci_free_irq_vectors(pdev);
	/* Nobody here handles the line. */
	pci_intx(pdev, 0);
	cancel_work_sync(&irqs->tell);
	dlend_peer_put(irqs->peer);
	kfree(irqs);
}

int lender_irq_open(struct lender_device *d, struct lender_loan *loan,
		    enum dlend_irq_kind kind, unsigned int count)
{
	struct lender_irqs *irqs;
	int err;

	lender_irq_close(loan);
	if (kind == DLEND_IRQ_NONE)
		return 0;
	if (kind == DLEND_IRQ_LINE && (count != 1 || !lender_irq_has_line(d->pdev)))
		return -EINVAL;
	irqs = kzalloc(sizeof(*irqs), GFP_KERNEL);
	if (!irqs)
		return -ENOMEM;
	irqs->d = d;
	irqs->peer = dlend_peer_get(loan->peer);
	irqs->number = loan->number;
	irqs->kind = kind;
	INIT_WORK(&irqs->tell, tell_work);
	set_irqs(loan, irqs);
	err = open_vectors(irqs, count);
	if (err)
		lender_irq_close(loan);
	return err;
}

int lender_irq_unmask(struct lender_device *d, u32 number)
{
	struct lender_irqs *irqs = d->loan->irqs;

	if (!irqs || irqs->kind != DLEND_IRQ_LINE)
		return -EINVAL;
	if ((s32)(number - irqs->unmasked) <= 0)
		return 0;
	irqs->unmasked = number;
	/* A line that is still up stays masked, and the borrower is told again. */
	if (!pci_check_and_unmask_intx(d->pdev))
		raise(irqs, 0);
	return 0;
}
