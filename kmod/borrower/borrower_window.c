// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows of the lender's adapter onto this node; the memory of loans.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "borrower.h"

struct workqueue_struct *borrower_wq;
DEFINE_SRCU(borrower_srcu);

void borrower_loan_free(struct kref *ref)
{
	struct borrower_loan *loan = container_of(ref, struct borrower_loan, ref);

	put_device(loan->requester);
	dlend_peer_put(loan->peer);
	kfree(loan);
}

/* Sets @why to the reason why a window was not opened, and to what is free. Return: @err. */
static int no_window(struct borrower_loan *loan, int err, u64 size,
		     const char *purpose, struct dlend_why *why)
{
	struct dlend_free_windows free;
	u32 node = dlend_peer_node(loan->peer);

	if (err != -ENOSPC || dlend_windows_free(loan->peer, &free))
		return dlend_why_set(why, err,
				     "no window of node %u can be opened for %s: error %d",
				     node, purpose, -err);
	return dlend_why_set(why, err,
			     "%llu KiB for %s do not fit into the windows of node %u; free are %u large windows of at most %llu MiB, and %u of %llu KiB",
			     size / SZ_1K, purpose, node, free.direct_count,
			     free.direct_max / SZ_1M, free.lut_count,
			     free.lut_size / SZ_1K);
}

int borrower_window_open(struct borrower_loan *loan,
			 const struct borrower_range *range,
			 struct dlend_export **ret_export,
			 struct dlend_window_desc *desc, struct dlend_why *why)
{
	struct dlend_export *export;
	int err = 0;

	mutex_lock(&loan->windows_mutex);
	export = loan->closed ? ERR_PTR(-ENOTCONN) :
		 dlend_export(loan->peer, range->start, range->size, range->kind, desc);
	if (IS_ERR(export))
		err = no_window(loan, PTR_ERR(export), range->size,
				range->purpose, why);
	else
		*ret_export = export;
	mutex_unlock(&loan->windows_mutex);
	return err;
}

void borrower_window_close(struct dlend_export **export)
{
	if (*export)
		dlend_unexport(*export);
	*export = NULL;
}
