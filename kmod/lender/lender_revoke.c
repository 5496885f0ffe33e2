// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages by which a lender asks for a device, or says that it is gone.
 */
#include <linux/slab.h>

#include "lender.h"

/* A borrower that does not answer for so long is about to be lost. */
#define REVOKE_MS 2000

/* A message for a borrower, which the work frees. */
struct revocation {
	struct work_struct work;
	struct dlend_peer *peer;	/* counted */
	struct dlend_msg_revoke req;
};

static void revoke_work(struct work_struct *work)
{
	struct revocation *r = container_of(work, struct revocation, work);

	/* If the borrower does not answer, the device is taken back anyway. */
	dlend_call(r->peer, DLEND_OP_REVOKE, &r->req, sizeof(r->req), NULL, 0, REVOKE_MS);
	dlend_peer_put(r->peer);
	kfree(r);
}

/* Return: a message for the borrower of the device, or NULL if there is none. */
static struct revocation *revocation_new(struct lender_device *d, bool gone)
{
	struct revocation *r = kzalloc(sizeof(*r), GFP_KERNEL | __GFP_NOFAIL);

	INIT_WORK(&r->work, revoke_work);
	r->req.gone = cpu_to_le32(gone);
	spin_lock_irq(&lender_lock);
	if (d->loan) {
		r->peer = dlend_peer_get(d->loan->peer);
		r->req.fdid = cpu_to_le32(d->fdid);
		r->req.loan = cpu_to_le32(d->loan->number);
	}
	spin_unlock_irq(&lender_lock);
	if (r->peer)
		return r;
	kfree(r);
	return NULL;
}

bool lender_revoke(struct lender_device *d, bool gone)
{
	struct revocation *r = revocation_new(d, gone);

	if (r)
		queue_work(lender_wq, &r->work);
	return r;
}

void lender_tell_gone(struct lender_device *d)
{
	struct revocation *r = revocation_new(d, true);

	if (r)
		revoke_work(&r->work);
}
