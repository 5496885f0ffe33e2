// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants: at the lender of a target, the windows through which the lender of a source on
 * another node lets the source reach it. lender_p2p.c has the other end.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "lender_p2p.h"

struct grant {
	struct list_head node;
	struct lender_pair pair;
	struct lender_device *target;	/* counted */
	struct dlend_peer *peer;	/* counted: the source's lender; NULL: not fetched */
	bool closing;		/* somebody ends it, and frees it */
	struct {
		struct dlend_export *export;
		dma_addr_t addr;
		u64 size;	/* 0 if there is nothing to undo */
	} bars[DLEND_BARS];
};

static DEFINE_MUTEX(grant_mutex);
static LIST_HEAD(grants);

/* grant_mutex is held. */
static void grant_close(struct grant *grant)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		if (!grant->bars[i].size)
			continue;
		dlend_unexport(grant->bars[i].export);
		dma_unmap_resource(dlend_peer_dev(grant->peer), grant->bars[i].addr,
				   grant->bars[i].size, DMA_BIDIRECTIONAL, 0);
		grant->bars[i].size = 0;
	}
}

/*
 * Ends a grant that the caller has marked as closing. First the source's lender is told
 * that the windows go. If it does not answer, they are closed all the same.
 */
static void end_grant(struct grant *grant)
{
	struct dlend_msg_p2p req;

	if (grant->peer) {
		lender_pair_put(&req, &grant->pair);
		dlend_call(grant->peer, DLEND_OP_P2P_REVOKE, &req, sizeof(req), NULL, 0,
			   LENDER_P2P_REVOKE_MS);
	}
	mutex_lock(&grant_mutex);
	grant_close(grant);
	list_del(&grant->node);
	mutex_unlock(&grant_mutex);
	atomic64_dec(&lender_counts.p2p_grants);
	dlend_peer_put(grant->peer);
	lender_put(grant->target);
	kfree(grant);
}

/*
 * Marks a grant as closing. @target: of this device; @pair: (nullable) this one.
 * Return: the grant, or NULL if there is none.
 */
static struct grant *take_grant(struct lender_device *target, const struct lender_pair *pair)
{
	struct grant *grant, *found = NULL;

	mutex_lock(&grant_mutex);
	list_for_each_entry(grant, &grants, node) {
		if (grant->closing || grant->target != target ||
		    (pair && !lender_pair_is(&grant->pair, pair)))
			continue;
		grant->closing = true;
		found = grant;
		break;
	}
	mutex_unlock(&grant_mutex);
	return found;
}

int lender_grant_make(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		      size_t room)
{
	struct grant *grant, *other;
	unsigned int n = 0;
	struct lender_pair pair;
	int err;

	err = lender_pair_get(peer, data, 0, &pair);
	if (err)
		return err;
	grant = kzalloc(sizeof(*grant), GFP_KERNEL);
	if (!grant)
		return -ENOMEM;
	grant->pair = pair;
	mutex_lock(&grant_mutex);
	grant->target = lender_get_lent(peer, pair.target, pair.target_loan);
	if (!grant->target)
		err = lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	list_for_each_entry(other, &grants, node) {
		if (other->target != grant->target)
			continue;
		if (other->pair.source == pair.source)
			err = lender_refuse(peer, -EEXIST, LENDER_PAIR_TWICE);
		n++;
	}
	if (!err && n >= DLEND_P2P_MAX)
		err = lender_refuse(peer, -EDQUOT, LENDER_PAIRS_MANY);
	if (!err) {
		list_add_tail(&grant->node, &grants);
		atomic64_inc(&lender_counts.p2p_grants);
	}
	mutex_unlock(&grant_mutex);
	if (err) {
		lender_put(grant->target);
		kfree(grant);
	}
	return err;
}

/* grant_mutex is held. The caller undoes this by grant_close(), also on error. */
static int open_bar(struct grant *grant, unsigned int i, struct dlend_window_desc *desc)
{
	struct device *ntb = dlend_peer_dev(grant->peer);
	struct pci_dev *pdev = grant->target->pdev;
	u64 start = pci_resource_start(pdev, i), reach, reach_size;
	u64 size = pci_resource_len(pdev, i);
	struct dlend_export *export;
	dma_addr_t addr;

	addr = dma_map_resource(ntb, start, size, DMA_BIDIRECTIONAL, 0);
	if (dma_mapping_error(ntb, addr))
		return -ENOMEM;
	export = dlend_export(grant->peer, addr, size, 0, desc);
	if (IS_ERR(export)) {
		dma_unmap_resource(ntb, addr, size, DMA_BIDIRECTIONAL, 0);
		return PTR_ERR(export);
	}
	grant->bars[i].export = export;
	grant->bars[i].addr = addr;
	grant->bars[i].size = size;
	dlend_export_reach(export, start, &reach, &reach_size);
	return lender_check_neighbours(pdev, i, reach, reach_size);
}

int lender_grant_fetch(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room)
{
	struct dlend_msg_p2p_windows *windows = resp;
	struct grant *grant, *found = NULL;
	struct lender_pair pair;
	unsigned int i;
	int err;

	memset(windows, 0, sizeof(*windows));
	err = lender_pair_get(peer, data, 0, &pair);
	if (err)
		return err;
	if (pair.source >> 16 != dlend_peer_node(peer))
		return lender_refuse(peer, -EPERM, "the source is not its own");
	mutex_lock(&grant_mutex);
	list_for_each_entry(grant, &grants, node)
		if (!grant->closing && !grant->peer && lender_pair_is(&grant->pair, &pair))
			found = grant;
	if (!found) {
		mutex_unlock(&grant_mutex);
		return lender_refuse(peer, -ENODEV, "nobody has granted this target");
	}
	found->peer = dlend_peer_get(peer);
	for (i = 0; i < DLEND_BARS && !err; i++)
		if (lender_is_memory_bar(found->target->pdev, i))
			err = open_bar(found, i, &windows->bars[i]);
	if (err) {
		grant_close(found);
		dlend_peer_put(found->peer);
		found->peer = NULL;
	}
	mutex_unlock(&grant_mutex);
	if (err)
		return err;
	return sizeof(*windows);
}

void lender_grant_end(struct lender_device *target, const struct lender_pair *pair)
{
	struct grant *grant;

	while ((grant = take_grant(target, pair)))
		end_grant(grant);
}

void lender_grant_peer_down(struct dlend_peer *peer)
{
	struct grant *grant;

	mutex_lock(&grant_mutex);
	list_for_each_entry(grant, &grants, node)
		if (grant->peer == peer)
			grant_close(grant);
	mutex_unlock(&grant_mutex);
}
