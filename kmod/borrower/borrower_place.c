// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer-to-peer in a virtual machine: the lender of a source is told where the machine has the
 * targets. Pairs are kept here, too.
 */
#include <linux/slab.h>

#include "borrower_p2p.h"

DEFINE_SPINLOCK(borrower_p2p_lock);
LIST_HEAD(borrower_pairs);

void borrower_pair_free(struct kref *ref)
{
	struct p2p *p2p = container_of(ref, struct p2p, ref);

	borrower_loan_put(p2p->source_loan);
	borrower_loan_put(p2p->target_loan);
	pci_dev_put(p2p->local);
	kfree(p2p);
}

/* Nobody uses the pair any more, and it ends soon. borrower_p2p_lock is held. */
void borrower_pair_lose(struct p2p *p2p)
{
	p2p->lost = true;
	if (p2p->busy)
		return;
	p2p->busy = true;
	queue_work(borrower_wq, &p2p->end);
}

/*
 * If one virtual machine has both devices, the source reaches the target where the machine
 * does; otherwise nowhere. Tells the source's lender, unless it knows. place_mutex of the
 * source's loan is held.
 *
 * Return: whether the place where the target was may be free now.
 */
bool borrower_pair_place(struct p2p *p2p)
{
	struct borrower_loan *source = p2p->source_loan, *target = p2p->target_loan;
	struct dlend_msg_p2p_place req = { .p2p = p2p->msg };
	u64 bars[DLEND_BARS];
	bool somewhere = false, moved;
	unsigned int i;
	int ret;

	spin_lock_irq(&borrower_p2p_lock);
	p2p->told = p2p->moves;
	if (!source || !target || !source->guest || !p2p->ready || p2p->lost ||
	    READ_ONCE(source->dead)) {
		spin_unlock_irq(&borrower_p2p_lock);
		return false;
	}
	for (i = 0; i < DLEND_BARS; i++) {
		bars[i] = DLEND_P2P_NOWHERE;
		if (source->machine && source->machine == target->machine)
			bars[i] = target->machine_bars[i];
		somewhere |= bars[i] != DLEND_P2P_NOWHERE;
		req.bus[i] = cpu_to_le64(bars[i]);
	}
	spin_unlock_irq(&borrower_p2p_lock);
	if (!p2p->failed &&
	    (p2p->placed ? !memcmp(bars, p2p->place, sizeof(bars)) : !somewhere))
		return false;
	ret = dlend_call(source->peer, DLEND_OP_P2P_PLACE, &req, sizeof(req), NULL, 0, 0);
	/* A lender that refuses has first taken away what was there. */
	moved = ret >= 0 || p2p->placed;
	p2p->failed = ret < 0;
	p2p->placed = ret >= 0 && somewhere;
	memcpy(p2p->place, bars, sizeof(bars));
	if (ret >= 0 || READ_ONCE(source->dead))
		return moved;
	pr_warn("dl_borrower: device %x does not reach device %x in their virtual machine: node %u answers with error %d\n",
		p2p->source, p2p->target, dlend_peer_node(source->peer), -ret);
	if (!somewhere) {
		/*
		 * The source may still reach the target, which is another machine's soon:
		 * the end of the pair closes the windows.
		 */
		spin_lock_irq(&borrower_p2p_lock);
		borrower_pair_lose(p2p);
		spin_unlock_irq(&borrower_p2p_lock);
	}
	return moved;
}

/* Takes references to pairs of the source that have failed. Return: how many. */
static unsigned int collect_failed(struct borrower_loan *source, struct p2p **failed,
				   unsigned int max)
{
	unsigned int n = 0;
	struct p2p *p2p;

	spin_lock_irq(&borrower_p2p_lock);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (p2p->source_loan != source || !p2p->failed || n == max)
			continue;
		kref_get(&p2p->ref);
		failed[n++] = p2p;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	return n;
}

/*
 * A lender refuses a place that another target of the source still has: a machine may swap
 * two BARs. So what has failed is tried again when something has moved. Each round has at
 * least one failure fewer. place_mutex of the loan is held.
 */
void borrower_pairs_place_failed(struct borrower_loan *source)
{
	struct p2p *failed[DLEND_P2P_MAX];	/* a source has no more targets */
	unsigned int i, n;
	bool moved;

	do {
		moved = false;
		n = collect_failed(source, failed, ARRAY_SIZE(failed));
		for (i = 0; i < n; i++) {
			moved |= borrower_pair_place(failed[i]);
			kref_put(&failed[i]->ref, borrower_pair_free);
		}
	} while (moved);
}

/* Return: a reference to a pair of the loan whose source's lender must be told; or NULL. */
static struct p2p *take_moved(struct borrower_loan *loan)
{
	struct p2p *p2p, *found = NULL;

	spin_lock_irq(&borrower_p2p_lock);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (!p2p->source_loan || p2p->told == p2p->moves ||
		    (p2p->source_loan != loan && p2p->target_loan != loan))
			continue;
		kref_get(&p2p->ref);
		found = p2p;
		break;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	return found;
}

void borrower_p2p_place(struct borrower_loan *loan, const void *machine,
			const u64 bars[DLEND_BARS])
{
	struct p2p *p2p;

	spin_lock_irq(&borrower_p2p_lock);
	loan->machine = machine;
	memcpy(loan->machine_bars, bars, sizeof(loan->machine_bars));
	list_for_each_entry(p2p, &borrower_pairs, node)
		if (p2p->source_loan == loan || p2p->target_loan == loan)
			p2p->moves++;
	spin_unlock_irq(&borrower_p2p_lock);
	while ((p2p = take_moved(loan))) {
		mutex_lock(&p2p->source_loan->place_mutex);
		/* Another caller may have told of this move meanwhile. */
		if (borrower_pair_place(p2p))
			borrower_pairs_place_failed(p2p->source_loan);
		mutex_unlock(&p2p->source_loan->place_mutex);
		kref_put(&p2p->ref, borrower_pair_free);
	}
}
