// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows between devices (peer-to-peer): a lent device, the source, reaches the BARs of
 * another device of its borrower, the target.
 *
 * The source's lender has a route for each target: the addresses at which the source
 * reaches the target's BARs. If the target is lent by another node, that node has a grant,
 * which its borrower has made (lender_grant.c), and opens its windows to the source's
 * lender alone. The lenders exchange the descriptors of these windows themselves.
 *
 * A window is closed at the source's end before it is closed at the target's. Otherwise it
 * could be opened onto another device while the source still reaches it.
 */
#include <linux/slab.h>
#include <linux/wait.h>

#include "lender_p2p.h"

/* Opening windows takes up to 100 ms for each LUT entry. */
#define FETCH_TIMEOUT_MS 20000

/* At the source's lender. */
struct route {
	struct list_head node;
	struct lender_pair pair;
	struct lender_device *source;	/* counted */
	struct dlend_peer *borrower;	/* counted */
	struct dlend_peer *peer;	/* counted: node of the target; NULL: this node */
	bool pending;		/* op_open() is at work on it, and ends it if it is dead */
	bool dead;
	bool ending;		/* @end was queued */
	bool lost;		/* the borrower is told of the end */
	struct work_struct end;
	bool admitted;		/* the adapter to @peer forwards the source's requests */
	struct iommu_domain *domain;	/* of the source's loan; NULL without an IOMMU */
	struct {
		struct dlend_import *import;
		struct lender_span span;	/* mapped in @domain, if not empty */
		phys_addr_t phys;	/* what PLACE maps, whole pages; @size 0: nothing */
		u64 size;
	} bars[DLEND_BARS];
};

/* Guards the list and what the sources reach. Nobody waits for a peer while holding it. */
static DEFINE_MUTEX(p2p_mutex);
static LIST_HEAD(routes);
/* Number of routes that have ended, for those who wait for the end of some. */
static unsigned int ended;
static DECLARE_WAIT_QUEUE_HEAD(ended_wait);

/* Routes. */

static void route_free(struct route *route)
{
	dlend_peer_put(route->peer);
	dlend_peer_put(route->borrower);
	lender_put(route->source);
	kfree(route);
}

/* The source does not reach the BAR any more. p2p_mutex is held. */
static void route_unmap(struct route *route, unsigned int i)
{
	struct lender_span *span = &route->bars[i].span;

	if (lender_span_is_empty(span))
		return;
	lender_iommu_unmap(route->domain, span);
	*span = (struct lender_span){ 1, 0 };
	if (route->bars[i].size)
		atomic64_dec(&lender_counts.p2p_placed);
}

/*
 * The borrower must not use addresses that soon lead elsewhere: it has stopped the source when
 * it answers, or knows of no such pair any more. Somebody else may be waiting for this answer
 * as long, so it gets half the time.
 */
static void tell_lost(struct route *route)
{
	struct dlend_msg_p2p msg;
	int ret;

	lender_pair_put(&msg, &route->pair);
	ret = dlend_call(route->borrower, DLEND_OP_P2P_LOST, &msg, sizeof(msg), NULL, 0,
			 LENDER_P2P_REVOKE_MS / 2);
	if (ret >= 0 || ret == -ENODEV || route->domain)
		return;
	pci_warn(route->source->pdev, "node %u does not say that it uses device %x no more: error %d; its bus mastering is off\n",
		 dlend_peer_node(route->borrower), route->pair.target, -ret);
	pci_clear_master(route->source->pdev);
}

static void end_work(struct work_struct *work)
{
	struct route *route = container_of(work, struct route, end);
	unsigned int i;

	if (route->lost)
		tell_lost(route);
	if (route->admitted)
		dlend_expel(route->peer, pci_dev_id(route->source->pdev));
	for (i = 0; i < DLEND_BARS; i++)
		dlend_unimport(route->bars[i].import);
	atomic64_dec(&lender_counts.p2p_routes);
	mutex_lock(&p2p_mutex);
	list_del(&route->node);
	WRITE_ONCE(ended, ended + 1);
	mutex_unlock(&p2p_mutex);
	wake_up_all(&ended_wait);
	route_free(route);
}

/*
 * Ends a route, or leaves its end to op_open(). The source with an IOMMU does not reach the
 * target any more; the rest, which may wait for the target's node, is left to a work.
 * p2p_mutex is held.
 */
static void route_end(struct route *route)
{
	unsigned int i;

	route->dead = true;
	if (route->pending || route->ending)
		return;
	for (i = 0; i < DLEND_BARS; i++)
		route_unmap(route, i);
	route->ending = true;
	queue_work(lender_wq, &route->end);
}

/* The routes that are to end. NULL means any. */
struct wanted {
	const struct lender_pair *pair;
	struct dlend_peer *borrower;
	struct dlend_peer *peer;
	struct lender_device *device;	/* source, or target on this node */
	bool lost;			/* the borrower does not know of the end */
};

static bool is_wanted(const struct route *route, const struct wanted *wanted)
{
	const struct lender_device *d = wanted->device;

	return (!wanted->pair || lender_pair_is(&route->pair, wanted->pair)) &&
	       (!wanted->borrower || route->borrower == wanted->borrower) &&
	       (!wanted->peer || route->peer == wanted->peer) &&
	       (!d || route->source == d || (!route->peer && route->pair.target == d->fdid));
}

/* Return: whether there are routes that have not ended, besides those left to op_open(). */
static bool begin_ends(const struct wanted *wanted, unsigned int *ret_ended)
{
	struct route *route;
	bool found = false;

	mutex_lock(&p2p_mutex);
	*ret_ended = ended;
	list_for_each_entry(route, &routes, node) {
		if (!is_wanted(route, wanted))
			continue;
		if (wanted->lost && !route->dead && route->borrower != wanted->peer)
			route->lost = true;
		route_end(route);
		found |= route->ending;
	}
	mutex_unlock(&p2p_mutex);
	return found;
}

/* Ends routes, and waits until their windows are closed. */
static void end_routes(const struct wanted *wanted)
{
	unsigned int seen;

	while (begin_ends(wanted, &seen))
		wait_event(ended_wait, READ_ONCE(ended) != seen);
}

/*
 * Finds the node of the target. Return: 0 with a reference in @ret, or with NULL for this
 * node; or an error.
 */
static int find_target_node(struct dlend_peer *borrower, const struct lender_pair *pair,
			    bool is_borrowers, struct dlend_peer **ret)
{
	struct dlend_peer *peer;

	*ret = NULL;
	if (is_borrowers) {
		*ret = dlend_peer_get(borrower);
		return 0;
	}
	if (pair->target >> 16 == dlend_peer_self(borrower))
		return 0;
	peer = dlend_peer_find(pair->target >> 16);
	if (peer == borrower || !peer || !dlend_peer_is_up(peer)) {
		dlend_peer_put(peer);
		return peer && peer == borrower ?
		       lender_refuse(borrower, -EINVAL, "it names its own device as borrowed") :
		       -ENETUNREACH;
	}
	*ret = peer;
	return 0;
}

/* p2p_mutex is held. Return: 0, or why the source gets no further route. */
static int check_routes(struct dlend_peer *borrower, const struct lender_pair *pair)
{
	unsigned int n = 0;
	struct route *route;

	list_for_each_entry(route, &routes, node) {
		if (route->pair.source != pair->source)
			continue;
		if (route->pair.target == pair->target)
			return lender_refuse(borrower, -EEXIST, LENDER_PAIR_TWICE);
		n++;
	}
	return n < DLEND_P2P_MAX ? 0 : lender_refuse(borrower, -EDQUOT, LENDER_PAIRS_MANY);
}

/* Enters a route without windows, so that REVOKE and the end of the loan find it. */
static struct route *route_new(struct dlend_peer *borrower, const struct lender_pair *pair,
			       bool is_borrowers)
{
	struct route *route = kzalloc(sizeof(*route), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!route)
		return ERR_PTR(-ENOMEM);
	route->pair = *pair;
	route->borrower = dlend_peer_get(borrower);
	route->pending = true;
	INIT_WORK(&route->end, end_work);
	for (i = 0; i < DLEND_BARS; i++)
		route->bars[i].span = (struct lender_span){ 1, 0 };
	err = find_target_node(borrower, pair, is_borrowers, &route->peer);
	if (err)
		goto free;
	mutex_lock(&p2p_mutex);
	route->source = lender_get_lent(borrower, pair->source, pair->source_loan);
	err = route->source ? check_routes(borrower, pair) :
			      lender_refuse(borrower, -ENODEV, LENDER_NO_LOAN);
	if (!err)
		list_add_tail(&route->node, &routes);
	mutex_unlock(&p2p_mutex);
	if (!err)
		return route;
free:
	route_free(route);
	return ERR_PTR(err);
}

/* Asks the target's lender to open its windows. */
static int fetch(struct route *route, struct dlend_msg_p2p_windows *windows)
{
	struct dlend_msg_p2p req;
	int ret;

	lender_pair_put(&req, &route->pair);
	ret = dlend_call(route->peer, DLEND_OP_P2P_FETCH, &req, sizeof(req), windows,
			 sizeof(*windows), FETCH_TIMEOUT_MS);
	if (ret >= 0 && ret != sizeof(*windows))
		ret = -EPROTO;
	return ret < 0 ? ret : 0;
}

/* Collects the addresses that the source uses already. p2p_mutex is held. */
static unsigned int collect_busy(struct route *route, struct lender_span *busy)
{
	struct lender_device *d = route->source;
	struct lender_loan *loan = d->loan;
	unsigned int i, n = 0;
	struct route *other;

	busy[n++] = (struct lender_span){
		loan->dma_bus, loan->dma_bus + loan->dma_size - 1
	};
	busy[n++] = (struct lender_span){
		d->config.msi_bus, d->config.msi_bus + d->config.msi_size - 1
	};
	list_for_each_entry(other, &routes, node) {
		if (other->source != d)
			continue;
		for (i = 0; i < DLEND_BARS; i++)
			if (!lender_span_is_empty(&other->bars[i].span))
				busy[n++] = other->bars[i].span;
	}
	return n;
}

/* Lets the source reach a BAR. Device lock of the source and p2p_mutex are held. */
static int route_map(struct route *route, unsigned int i, phys_addr_t phys, u64 size,
		     u64 *ret_bus)
{
	/* Two windows of the loan, and the BARs of all targets. Guarded by p2p_mutex. */
	static struct lender_span busy[2 + DLEND_P2P_MAX * DLEND_BARS];
	unsigned int n;

	if (route->source->loan->guest) {
		/* The virtual machine chooses the address: op_place(). */
		*ret_bus = 0;
		if (PAGE_ALIGNED(phys | size)) {
			route->bars[i].phys = phys;
			route->bars[i].size = size;
		}
		return 0;
	}
	n = collect_busy(route, busy);
	return lender_iommu_map(route->source, route->source->loan, phys, size, busy, n,
				&route->bars[i].span, ret_bus);
}

/* The target is a device of this node, lent to the same borrower. */
static int open_local(struct route *route, struct dlend_msg_p2p_open_answer *answer)
{
	struct lender_device *target = lender_get_lent(route->borrower, route->pair.target,
						route->pair.target_loan);
	unsigned int i;
	int err = 0;

	if (!target)
		return lender_refuse(route->borrower, -ENODEV, LENDER_NO_LOAN);
	for (i = 0; i < DLEND_BARS && !err; i++) {
		u64 start = pci_resource_start(target->pdev, i);
		u64 size = pci_resource_len(target->pdev, i);
		u64 bus = pci_bus_address(target->pdev, i);

		if (!lender_is_memory_bar(target->pdev, i))
			continue;
		if (route->domain) {
			/* The IOMMU opens whole pages. */
			if (!PAGE_ALIGNED(start | size))
				err = lender_check_neighbours(target->pdev, i,
							      start & PAGE_MASK,
							      PAGE_ALIGN(start + size) -
							      (start & PAGE_MASK));
			if (!err)
				err = route_map(route, i, start, size, &bus);
		}
		answer->bars[i].bus = cpu_to_le64(bus);
		answer->bars[i].size = cpu_to_le64(size);
	}
	lender_put(target);
	return err;
}

/*
 * The target is on another node, which has opened @windows. Makes them ready for the source,
 * which does not reach them yet. It may wait for that node.
 */
static int import_windows(struct route *route, const struct dlend_window_desc *windows)
{
	unsigned int i;
	int err;

	if (!route->peer)
		return 0;
	err = dlend_admit(route->peer, pci_dev_id(route->source->pdev));
	if (err)
		return err == -ENOSPC ? -EUSERS : err;
	route->admitted = true;
	for (i = 0; i < DLEND_BARS; i++) {
		struct dlend_import *import;

		if (!windows[i].size)
			continue;
		import = dlend_import(route->peer, &windows[i]);
		if (IS_ERR(import))
			return PTR_ERR(import);
		route->bars[i].import = import;
	}
	return 0;
}

/* The device lock of the source and p2p_mutex are held. */
static int open_remote(struct route *route, struct dlend_msg_p2p_open_answer *answer)
{
	unsigned int i;
	int err;

	for (i = 0; i < DLEND_BARS; i++) {
		struct dlend_import *import = route->bars[i].import;
		u64 bus;

		if (!import)
			continue;
		bus = dlend_import_bus(import);
		if (route->domain) {
			err = route_map(route, i, import->phys, import->size, &bus);
			if (err)
				return err;
		}
		answer->bars[i].bus = cpu_to_le64(bus);
		answer->bars[i].size = cpu_to_le64(import->size);
	}
	return 0;
}

/* Ends the work of op_open() on a route; after an error, or if it is dead, the route, too. */
static int route_done(struct route *route, int err)
{
	route->pending = false;
	atomic64_inc(&lender_counts.p2p_routes);
	if (route->dead)
		err = err ?: -ENODEV;
	if (err)
		route_end(route);
	return err;
}

static int route_open(struct route *route, const struct dlend_window_desc *windows,
		      struct dlend_msg_p2p_open_answer *answer)
{
	struct lender_device *d = route->source;
	int err = -ENODEV;

	device_lock(&d->pdev->dev);
	/* The loan may have ended while the other lender was asked. */
	if (!READ_ONCE(route->dead) && d->loan && d->loan->number == route->pair.source_loan)
		err = import_windows(route, windows);
	mutex_lock(&p2p_mutex);
	if (!err && !route->dead) {
		route->domain = d->loan->domain;
		err = route->peer ? open_remote(route, answer) : open_local(route, answer);
	}
	err = route_done(route, err);
	mutex_unlock(&p2p_mutex);
	device_unlock(&d->pdev->dev);
	return err;
}

static int op_open(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		   size_t room)
{
	const struct dlend_msg_p2p_open *req = data;
	bool is_borrowers = le32_to_cpu(req->p2p.flags) & DLEND_P2P_BORROWERS;
	struct dlend_msg_p2p_open_answer *answer = resp;
	struct dlend_msg_p2p_windows windows = {};
	struct lender_device *source;
	struct route *route;
	struct lender_pair pair;
	int err;

	memset(answer, 0, sizeof(*answer));
	err = lender_pair_get(peer, &req->p2p, DLEND_P2P_BORROWERS, &pair);
	if (err)
		return err;
	route = route_new(peer, &pair, is_borrowers);
	if (IS_ERR(route))
		return PTR_ERR(route);
	source = route->source;
	kref_get(&source->ref);
	if (is_borrowers)
		memcpy(windows.bars, req->bars, sizeof(windows.bars));
	else if (route->peer)
		err = fetch(route, &windows);
	if (err) {
		mutex_lock(&p2p_mutex);
		route_done(route, err);
		mutex_unlock(&p2p_mutex);
	} else {
		err = route_open(route, windows.bars, answer);
	}
	/* The borrower may try again at once. */
	if (err)
		end_routes(&(struct wanted){ .borrower = peer, .pair = &pair });
	if (err)
		pci_info_ratelimited(source->pdev, "device %x does not get windows to device %x: error %d\n",
				     pair.source, pair.target, -err);
	else
		pci_info(source->pdev, "device %x may reach device %x\n", pair.source,
			 pair.target);
	lender_put(source);
	return err ?: sizeof(*answer);
}

/* p2p_mutex is held. Return: the route of a borrower whose source is attached; or NULL. */
static struct route *find_route(struct dlend_peer *borrower, const struct lender_pair *pair)
{
	struct route *route;

	list_for_each_entry(route, &routes, node)
		if (route->borrower == borrower && lender_pair_is(&route->pair, pair) &&
		    !route->pending && !route->dead)
			return route;
	return NULL;
}

/* Device lock of the source and p2p_mutex are held. */
static int route_place(struct route *route, const __le64 *bus)
{
	/* Guarded by p2p_mutex. */
	static struct lender_span busy[2 + DLEND_P2P_MAX * DLEND_BARS];
	unsigned int i, n;
	int err = 0;

	for (i = 0; i < DLEND_BARS; i++)
		route_unmap(route, i);
	for (i = 0; i < DLEND_BARS && !err; i++) {
		u64 at = le64_to_cpu(bus[i]);

		if (at == DLEND_P2P_NOWHERE || !route->bars[i].size)
			continue;
		if (!PAGE_ALIGNED(at)) {
			err = -EINVAL;
			break;
		}
		n = collect_busy(route, busy);
		err = lender_iommu_map_at(route->source, route->source->loan,
					  route->bars[i].phys, route->bars[i].size, busy,
					  n, at, &route->bars[i].span);
		if (!err)
			atomic64_inc(&lender_counts.p2p_placed);
	}
	/* All or nothing. */
	for (i = 0; i < DLEND_BARS && err; i++)
		route_unmap(route, i);
	return err;
}

static int op_place(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		    size_t room)
{
	const struct dlend_msg_p2p_place *req = data;
	struct lender_device *d;
	struct route *route;
	struct lender_pair pair;
	int err;

	err = lender_pair_get(peer, &req->p2p, 0, &pair);
	if (err)
		return err;
	d = lender_get_lent(peer, pair.source, pair.source_loan);
	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	device_lock(&d->pdev->dev);
	mutex_lock(&p2p_mutex);
	route = find_route(peer, &pair);
	/* With its loan a device loses its routes. */
	if (!route)
		err = lender_refuse(peer, -ENODEV, "there is no such pair");
	else if (!d->loan->guest)
		err = lender_refuse(peer, -EOPNOTSUPP, "no virtual machine has the source");
	else
		err = route_place(route, req->bus);
	mutex_unlock(&p2p_mutex);
	device_unlock(&d->pdev->dev);
	if (err)
		pci_info_ratelimited(d->pdev, "device %x does not reach device %x where a virtual machine has it: error %d\n",
				     pair.source, pair.target, -err);
	lender_put(d);
	return err;
}

/* The end. */

/* The target's lender closes its windows. */
static int op_revoke(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		     size_t room)
{
	struct lender_pair pair;
	int err = lender_pair_get(peer, data, 0, &pair);

	if (!err)
		end_routes(&(struct wanted){ .peer = peer, .pair = &pair, .lost = true });
	return err;
}

/* The borrower of the source, of the target, or of both ends peer-to-peer. */
static int op_close(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		    size_t room)
{
	struct lender_device *target;
	struct lender_pair pair;
	int err = lender_pair_get(peer, data, DLEND_P2P_BORROWERS, &pair);

	if (err)
		return err;
	end_routes(&(struct wanted){ .borrower = peer, .pair = &pair });
	target = lender_get_lent(peer, pair.target, pair.target_loan);
	if (target)
		lender_grant_end(target, &pair);
	lender_put(target);
	return 0;
}

void lender_p2p_end(struct lender_device *d)
{
	/* Each kind may wait for other nodes, so both begin at once. */
	lender_grant_begin_end(d);
	end_routes(&(struct wanted){ .device = d });
	lender_grant_end(d, NULL);
}

void lender_p2p_peer_down(struct dlend_peer *peer)
{
	lender_grant_peer_down(peer);
	end_routes(&(struct wanted){ .peer = peer, .lost = true });
}

#define OP(op, type, handler) \
	{ op, 0, sizeof(struct type), sizeof(struct type), handler }

static const struct dlend_op p2p_ops[] = {
	OP(DLEND_OP_P2P_GRANT, dlend_msg_p2p, lender_grant_make),
	OP(DLEND_OP_P2P_OPEN, dlend_msg_p2p_open, op_open),
	OP(DLEND_OP_P2P_CLOSE, dlend_msg_p2p, op_close),
	OP(DLEND_OP_P2P_FETCH, dlend_msg_p2p, lender_grant_fetch),
	OP(DLEND_OP_P2P_REVOKE, dlend_msg_p2p, op_revoke),
	OP(DLEND_OP_P2P_PLACE, dlend_msg_p2p_place, op_place),
};

int lender_p2p_init(void)
{
	return dlend_ops_register(p2p_ops, ARRAY_SIZE(p2p_ops));
}

void lender_p2p_exit(void)
{
	dlend_ops_unregister(p2p_ops, ARRAY_SIZE(p2p_ops));
}
