// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a virtual machine that has a borrowed device: it is mapped where the machine
 * has it.
 */
#include <linux/iova.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "borrower.h"

/* Return: a reference to the loan if @pdev was borrowed for a virtual machine; or NULL. */
static struct borrower_loan *guest_loan(struct pci_dev *pdev)
{
	struct borrower_loan *loan;

	if (!borrower_dma_is_ours(&pdev->dev))
		return NULL;
	loan = borrower_loan_of(&pdev->dev);
	if (loan && loan->guest)
		return loan;
	borrower_loan_put(loan);
	return NULL;
}

u64 dlend_guest_window(struct pci_dev *pdev)
{
	struct borrower_loan *loan = guest_loan(pdev);
	u64 size = loan ? loan->dma_size : 0;

	borrower_loan_put(loan);
	return size;
}
EXPORT_SYMBOL_GPL(dlend_guest_window);
static int guest_map(struct borrower_loan *loan, u64 addr, struct page **pages, unsigned int n)
{
	size_t length = (size_t)n << PAGE_SHIFT;
	struct sg_table table;
	u64 start;
	int err;

	if (!loan->iova_ready)
		return -ENODEV;
	if (!PAGE_ALIGNED(addr) || addr >= loan->dma_size || length > loan->dma_size - addr)
		return -ERANGE;
	err = sg_alloc_table_from_pages(&table, pages, n, 0, length, GFP_KERNEL);
	if (err)
		return err;
	start = loan->dma_start + addr;
	err = borrower_dma_map_list(loan, start, table.sgl, table.orig_nents, length);
	sg_free_table(&table);
	return err;
}

int dlend_guest_map(struct pci_dev *pdev, u64 addr, struct page **pages, unsigned int n)
{
	struct borrower_loan *loan;
	int err = -ENODEV, idx;

	/* The addresses of the loan stay until the function is removed. */
	idx = srcu_read_lock(&borrower_srcu);
	loan = guest_loan(pdev);
	if (loan)
		err = guest_map(loan, addr, pages, n);
	srcu_read_unlock(&borrower_srcu, idx);
	borrower_loan_put(loan);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_guest_map);

static void guest_unmap(struct borrower_loan *loan, u64 addr, unsigned int n)
{
	borrower_dma_unmap(loan, loan->dma_start + addr, (size_t)n << PAGE_SHIFT);
}

void dlend_guest_unmap(struct pci_dev *pdev, u64 addr, unsigned int n)
{
	int idx = srcu_read_lock(&borrower_srcu);
	struct borrower_loan *loan = guest_loan(pdev);

	if (loan)
		guest_unmap(loan, addr, n);
	srcu_read_unlock(&borrower_srcu, idx);
	borrower_loan_put(loan);
}
EXPORT_SYMBOL_GPL(dlend_guest_unmap);

void dlend_guest_closed(struct pci_dev *pdev)
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);

	if (loan && loan->once) {
		WRITE_ONCE(loan->left, true);
		borrower_reap(loan);
	}
	borrower_loan_put(loan);
}
EXPORT_SYMBOL_GPL(dlend_guest_closed);
