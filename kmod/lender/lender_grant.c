// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants: at the lender of a target, the windows through which the lender of a source on
 * another node lets the source reach it. lender_p2p.c has the other end.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "lender_p2p.h"

struct grant {
	struct kref ref;
	struct list_head node;
	struct lender_pair pair;
	struct lender_device *target;	/* counted */
	bool closing;		/* @end was queued; guarded by grant_mutex */
	struct work_struct end;

	/* Held while a window opens or closes, and while the source's lender is told. */
	struct mutex mutex;
	/* A writer holds both mutexes, a reader one of them. */
	struct dlend_peer *peer;	/* counted: the source's lender; NULL: not fetched */
	bool open;		/* there are windows */
	/* Guarded by @mutex. */
	struct {
		struct dlend_export *export;
		dma_addr_t addr;
		u64 size;	/* 0 if there is nothing to undo */
	} bars[DLEND_BARS];
};

/* Guards the list. Nobody waits for a peer while holding it. */
static DEFINE_MUTEX(grant_mutex);
static LIST_HEAD(grants);
/* Number of grants that have ended, for those who wait for the end of some. */
static unsigned int ended;
static DECLARE_WAIT_QUEUE_HEAD(ended_wait);

static void grant_free(struct kref *ref)
{
	struct grant *grant = container_of(ref, struct grant, ref);

	dlend_peer_put(grant->peer);
	lender_put(grant->target);
	kfree(grant);
}

static void set_open(struct grant *grant, bool open)
{
	mutex_lock(&grant_mutex);
	grant->open = open;
	mutex_unlock(&grant_mutex);
}

/* The grant's mutex is held. */
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
	set_open(grant, false);
}

/*
 * First the source's lender is told that the windows go. If it does not answer, they are
 * closed all the same.
 */
static void end_work(struct work_struct *work)
{
	struct grant *grant = container_of(work, struct grant, end);
	struct dlend_msg_p2p req;

	mutex_lock(&grant->mutex);
	if (grant->peer) {
		lender_pair_put(&req, &grant->pair);
		dlend_call(grant->peer, DLEND_OP_P2P_REVOKE, &req, sizeof(req), NULL, 0,
			   LENDER_P2P_REVOKE_MS);
	}
	grant_close(grant);
	mutex_unlock(&grant->mutex);
	atomic64_dec(&lender_counts.p2p_grants);
	mutex_lock(&grant_mutex);
	list_del(&grant->node);
	WRITE_ONCE(ended, ended + 1);
	mutex_unlock(&grant_mutex);
	wake_up_all(&ended_wait);
	kref_put(&grant->ref, grant_free);
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
	kref_init(&grant->ref);
	mutex_init(&grant->mutex);
	INIT_WORK(&grant->end, end_work);
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
	if (err)
		kref_put(&grant->ref, grant_free);
	return err;
}

/* The grant's mutex is held. The caller undoes this by grant_close(), also on error. */
static int open_bar(struct grant *grant, unsigned int i, struct dlend_window_desc *desc)
{
	struct device *ntb = dlend_peer_dev(grant->peer);
	struct pci_dev *pdev = grant->target->pdev;
	u64 start = pci_resource_start(pdev, i);
	u64 size = pci_resource_len(pdev, i);
	struct dlend_export *export;
	dma_addr_t addr;
	int err;

	err = lender_check_reach(pdev, i, grant->peer);
	if (err)
		return err;
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
	return 0;
}

/* The grant's mutex is held. Return: 0, or an error if there are no windows. */
static int open_windows(struct grant *grant, struct dlend_peer *peer,
			struct dlend_msg_p2p_windows *windows)
{
	unsigned int i;
	int err = 0;

	/* From here on the loss of @peer finds the grant. */
	mutex_lock(&grant_mutex);
	if (grant->peer || grant->closing)
		err = -ENODEV;
	else
		grant->peer = dlend_peer_get(peer);
	grant->open = !err;
	mutex_unlock(&grant_mutex);
	if (err)
		return err;
	for (i = 0; i < DLEND_BARS && !err; i++)
		if (lender_is_memory_bar(grant->target->pdev, i))
			err = open_bar(grant, i, &windows->bars[i]);
	if (!err)
		return 0;
	grant_close(grant);
	mutex_lock(&grant_mutex);
	grant->peer = NULL;
	mutex_unlock(&grant_mutex);
	dlend_peer_put(peer);
	return err;
}

int lender_grant_fetch(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room)
{
	struct dlend_msg_p2p_windows *windows = resp;
	struct grant *grant, *found = NULL;
	struct lender_pair pair;
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
	if (found)
		kref_get(&found->ref);
	mutex_unlock(&grant_mutex);
	if (!found)
		return lender_refuse(peer, -ENODEV, "nobody has granted this target");
	mutex_lock(&found->mutex);
	err = open_windows(found, peer, windows);
	mutex_unlock(&found->mutex);
	kref_put(&found->ref, grant_free);
	return err ?: sizeof(*windows);
}

/* Queues the end of grants. Return: whether there are any that have not ended. */
static bool begin_ends(struct lender_device *target, const struct lender_pair *pair,
		       unsigned int *ret_ended)
{
	struct grant *grant;
	bool found = false;

	mutex_lock(&grant_mutex);
	*ret_ended = ended;
	list_for_each_entry(grant, &grants, node) {
		if (grant->target != target || (pair && !lender_pair_is(&grant->pair, pair)))
			continue;
		found = true;
		if (!grant->closing)
			queue_work(lender_wq, &grant->end);
		grant->closing = true;
	}
	mutex_unlock(&grant_mutex);
	return found;
}

void lender_grant_begin_end(struct lender_device *target)
{
	unsigned int seen;

	begin_ends(target, NULL, &seen);
}

void lender_grant_end(struct lender_device *target, const struct lender_pair *pair)
{
	unsigned int seen;

	while (begin_ends(target, pair, &seen))
		wait_event(ended_wait, READ_ONCE(ended) != seen);
}

void lender_grant_peer_down(struct dlend_peer *peer)
{
	struct grant *grant, *found;

	do {
		found = NULL;
		mutex_lock(&grant_mutex);
		list_for_each_entry(grant, &grants, node)
			if (grant->peer == peer && grant->open)
				found = grant;
		if (found)
			kref_get(&found->ref);
		mutex_unlock(&grant_mutex);
		if (found) {
			mutex_lock(&found->mutex);
			grant_close(found);
			mutex_unlock(&found->mutex);
			kref_put(&found->ref, grant_free);
		}
	} while (found);
}
