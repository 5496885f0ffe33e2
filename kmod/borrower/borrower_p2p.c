// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peer-to-peer: a device of this node, the source, reaches the BARs of another one, the
 * target. At least one of them is borrowed.
 *
 * A driver asks for the address of a BAR by dma_map_resource(). If the source is borrowed,
 * its lender has told under which addresses the source reaches the BARs of each target,
 * and these are what the driver gets. If the source is this node's own, it reaches the
 * target's windows as it reaches any BAR, and the kernel does not ask this module.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "borrower_p2p.h"
#include "dl_notice.h"

static bool allow_neighbours;
module_param(allow_neighbours, bool, 0444);
MODULE_PARM_DESC(allow_neighbours,
		 "let borrowed devices reach own devices whose BARs share a window with other devices: they can reach the registers of these too");

/* The source's lender may have to ask another node, which opens windows for all BARs. */
#define OPEN_TIMEOUT_MS 25000

/* Longest wait of the end of a loan for the end of its pairs. */
#define END_MS 1500

static DECLARE_WAIT_QUEUE_HEAD(ended_wait);	/* a pair has ended */
/* Loans whose BARs have addresses here. Guarded by borrower_p2p_lock. */
static LIST_HEAD(targets);

/* Mappings. */

static bool holds(phys_addr_t phys, size_t size, phys_addr_t start, u64 length)
{
	return phys >= start && size <= length && phys - start <= length - size;
}

/* borrower_p2p_lock is held. Return: the pair by which the device reaches a range, or NULL. */
static struct p2p *find_range(struct borrower_loan *loan, phys_addr_t phys, size_t size,
			      dma_addr_t *ret_bus)
{
	struct p2p *p2p;
	unsigned int i;

	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (p2p->source_loan != loan || !p2p->ready || p2p->lost)
			continue;
		for (i = 0; i < DLEND_BARS; i++) {
			if (!holds(phys, size, p2p->bars[i].phys, p2p->bars[i].size))
				continue;
			*ret_bus = p2p->bars[i].bus + (phys - p2p->bars[i].phys);
			return p2p;
		}
	}
	return NULL;
}

/* Return: ID of the borrowed device whose BAR holds a range, or 0. */
static u32 owner_of(phys_addr_t phys, size_t size)
{
	struct borrower_loan *loan;
	unsigned long flags;
	unsigned int i;
	u32 fdid = 0;

	spin_lock_irqsave(&borrower_p2p_lock, flags);
	list_for_each_entry(loan, &targets, p2p_node)
		for (i = 0; i < DLEND_BARS; i++)
			if (holds(phys, size, loan->bars[i].phys, loan->bars[i].size))
				fdid = loan->fdid;
	spin_unlock_irqrestore(&borrower_p2p_lock, flags);
	return fdid;
}

static void say_refused(struct device *dev, struct borrower_loan *loan, phys_addr_t phys,
			size_t size)
{
	u32 target = owner_of(phys, size);

	if (target)
		dev_warn_ratelimited(dev,
				     "device %x may not reach device %x; \"lendctl enable-p2p %x %x\" lets it\n",
				     loan->fdid, target, loan->fdid, target);
	else
		dev_warn_ratelimited(dev,
				     "device %x may not reach %pa, which belongs to no device that was enabled by \"lendctl enable-p2p %x ID\"\n",
				     loan->fdid, &phys, loan->fdid);
}

dma_addr_t borrower_p2p_map(struct device *dev, phys_addr_t phys, size_t size,
			    enum dma_data_direction dir, unsigned long attrs)
{
	u64 mask = dma_get_mask(dev);
	struct borrower_loan *loan;
	unsigned long flags;
	struct p2p *p2p;
	dma_addr_t bus;
	bool fits;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	if (!loan) {
		borrower_loan_exit(idx);
		return DMA_MAPPING_ERROR;
	}
	spin_lock_irqsave(&borrower_p2p_lock, flags);
	p2p = find_range(loan, phys, size, &bus);
	fits = p2p && bus + size - 1 <= mask;
	if (fits)
		p2p->mapped++;
	spin_unlock_irqrestore(&borrower_p2p_lock, flags);
	if (!p2p)
		say_refused(dev, loan, phys, size);
	borrower_loan_exit(idx);
	if (fits)
		return bus;
	if (p2p)
		dev_warn_ratelimited(dev,
				     "it would reach the other device at %pad, but its driver has asked for addresses up to %#llx\n",
				     &bus, mask);
	return DMA_MAPPING_ERROR;
}

void borrower_p2p_unmap(struct device *dev, dma_addr_t addr, size_t size,
			enum dma_data_direction dir, unsigned long attrs)
{
	struct borrower_loan *loan;
	unsigned long flags;
	struct p2p *p2p;
	unsigned int i;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	spin_lock_irqsave(&borrower_p2p_lock, flags);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (!loan || p2p->source_loan != loan || !p2p->mapped)
			continue;
		for (i = 0; i < DLEND_BARS; i++)
			if (holds(addr, size, p2p->bars[i].bus, p2p->bars[i].size))
				break;
		if (i == DLEND_BARS)
			continue;
		p2p->mapped--;
		break;
	}
	spin_unlock_irqrestore(&borrower_p2p_lock, flags);
	borrower_loan_exit(idx);
}

/* Begin. */

/* borrower_p2p_lock is held. */
static struct p2p *find(u32 source, u32 target)
{
	struct p2p *p2p;

	list_for_each_entry(p2p, &borrower_pairs, node)
		if (p2p->source == source && p2p->target == target)
			return p2p;
	return NULL;
}

/*
 * Enters a pair first, so that a loss finds it. Return: 0, or an error with @why set if there
 * is such a pair, or if a loan ends.
 */
static int enter(struct p2p *p2p, struct dlend_why *why)
{
	int err = 0;

	spin_lock_irq(&borrower_p2p_lock);
	if (find(p2p->source, p2p->target))
		err = -EEXIST;
	else if ((p2p->source_loan && p2p->source_loan->p2p_ended) ||
		 (p2p->target_loan && p2p->target_loan->p2p_ended))
		err = -ENOTCONN;
	else
		list_add_tail(&p2p->node, &borrower_pairs);
	spin_unlock_irq(&borrower_p2p_lock);
	if (err)
		dlend_why_set(why, err, err == -EEXIST ? "it is enabled already" :
			      "one of the devices is lost or returned");
	return err;
}

static bool is_gone(struct borrower_loan *loan)
{
	return READ_ONCE(loan->dead) || READ_ONCE(loan->revoked);
}

/* Return: 0, or -EPERM with @why set if the window opens BARs of another function. */
static int check_neighbours(struct p2p *p2p, unsigned int bar, struct dlend_why *why)
{
	struct pci_dev *pdev = p2p->local, *other;
	u64 start, size;

	if (allow_neighbours)
		return 0;
	dlend_export_reach(p2p->source_loan->peer, p2p->bars[bar].phys,
			   p2p->bars[bar].size, &start, &size);
	other = dlend_neighbour(pdev, start, size);
	if (!other)
		return 0;
	dlend_why_set(why, -EPERM,
		      "the window of %llu KiB onto BAR %u of %s would also open registers of %s; boot with pci=resource_alignment=16@%s, or load dl_borrower with allow_neighbours=1",
		      size / SZ_1K, bar, pci_name(pdev), pci_name(other), pci_name(pdev));
	pci_dev_put(other);
	return -EPERM;
}

/* The pair's mutex is held. The caller undoes this by close_exports(), also on error. */
static int export_bar(struct p2p *p2p, unsigned int i, struct dlend_window_desc *desc,
		      struct dlend_why *why)
{
	struct dlend_peer *peer = p2p->source_loan->peer;
	u64 size = p2p->bars[i].size;
	struct dlend_export *export;
	dma_addr_t addr;
	int err;

	err = check_neighbours(p2p, i, why);
	if (err)
		return err;
	addr = dma_map_resource(dlend_peer_dev(peer), p2p->bars[i].phys, size,
				DMA_BIDIRECTIONAL, 0);
	if (dma_mapping_error(dlend_peer_dev(peer), addr))
		return dlend_why_set(why, -ENOMEM, "no memory");
	export = p2p->closed || is_gone(p2p->source_loan) ? ERR_PTR(-ENOTCONN) :
		 dlend_export(peer, addr, size, 0, desc);
	if (IS_ERR(export)) {
		dma_unmap_resource(dlend_peer_dev(peer), addr, size, DMA_BIDIRECTIONAL, 0);
		return dlend_why_set(why, PTR_ERR(export),
				     "no window of node %u's adapter is free for BAR %u of %llu KiB: error %ld",
				     dlend_peer_node(peer), i, size / SZ_1K,
				     -PTR_ERR(export));
	}
	p2p->bars[i].export = export;
	p2p->bars[i].addr = addr;
	return 0;
}

/* The pair's mutex is held. */
static void close_exports(struct p2p *p2p)
{
	unsigned int i;

	if (p2p->admitted)
		dlend_expel(p2p->target_loan->peer, pci_dev_id(p2p->local));
	p2p->admitted = false;
	for (i = 0; i < DLEND_BARS; i++) {
		if (!p2p->bars[i].export)
			continue;
		dlend_unexport(p2p->bars[i].export);
		dma_unmap_resource(dlend_peer_dev(p2p->source_loan->peer),
				   p2p->bars[i].addr, p2p->bars[i].size,
				   DMA_BIDIRECTIONAL, 0);
		p2p->bars[i].export = NULL;
	}
}

static int export_bars(struct p2p *p2p, struct dlend_msg_p2p_open *req,
		       struct dlend_why *why)
{
	unsigned int i;
	int err = 0;

	mutex_lock(&p2p->mutex);
	for (i = 0; i < DLEND_BARS && !err; i++)
		if (p2p->bars[i].size)
			err = export_bar(p2p, i, &req->bars[i], why);
	mutex_unlock(&p2p->mutex);
	return err;
}

/* Puts the error of a lender into words. @peer: the lender. Return: @err. */
static int explain(struct p2p *p2p, struct dlend_peer *peer, int err,
		   struct dlend_why *why)
{
	u32 node = dlend_peer_node(peer);

	switch (err) {
	case -EOPNOTSUPP:
		return dlend_why_set(why, err,
				     "node %u or %u has modules that know no peer-to-peer",
				     p2p->source >> 16, p2p->target >> 16);
	case -EPROTONOSUPPORT:
		return dlend_why_set(why, err,
				     "node %u or %u has modules of another version",
				     p2p->source >> 16, p2p->target >> 16);
	case -ENETUNREACH:
		return dlend_why_set(why, err,
				     "nodes %u and %u are not connected with each other, and the devices' data pass between them",
				     p2p->source >> 16, p2p->target >> 16);
	case -EDQUOT:
		return dlend_why_set(why, err,
				     "node %u lets a device reach at most %u others, and be reached by as many",
				     node, DLEND_P2P_MAX);
	case -ENOSPC:
		return dlend_why_set(why, err,
				     "node %u's adapter has no window left for the BARs of device %x, or its IOMMU no addresses",
				     p2p->source >> 16, p2p->target);
	case -EUSERS:
		return dlend_why_set(why, err,
				     "the adapter of node %u has no entry left for the Requester ID of device %x",
				     p2p->source >> 16, p2p->source);
	case -EPERM:
		return dlend_why_set(why, err,
				     "a BAR of device %x shares a window with other devices of node %u, whose log names them; this needs permission there (allow_neighbours)",
				     p2p->target, p2p->target >> 16);
	case -ENODEV:
		return dlend_why_set(why, err,
				     "node %u or %u does not know that its device is lent to this node",
				     p2p->source >> 16, p2p->target >> 16);
	default:
		return dlend_why_set(why, err, "node %u refused: error %d", node, -err);
	}
}

static int send_grant(struct p2p *p2p, struct dlend_why *why)
{
	struct dlend_peer *peer = p2p->target_loan->peer;
	int ret = dlend_call(peer, DLEND_OP_P2P_GRANT, &p2p->msg, sizeof(p2p->msg), NULL,
			     0, 0);

	return ret < 0 ? explain(p2p, peer, ret, why) : 0;
}

static int send_open(struct p2p *p2p, struct dlend_msg_p2p_open *req,
		     struct dlend_why *why)
{
	struct dlend_peer *peer = p2p->source_loan->peer;
	struct dlend_msg_p2p_open_answer answer;
	unsigned int i;
	int ret;

	req->p2p = p2p->msg;
	ret = dlend_call(peer, DLEND_OP_P2P_OPEN, req, sizeof(*req), &answer,
			 sizeof(answer), OPEN_TIMEOUT_MS);
	if (ret >= 0 && ret != sizeof(answer))
		ret = -EPROTO;
	if (ret < 0)
		return explain(p2p, peer, ret, why);
	for (i = 0; i < DLEND_BARS; i++) {
		u64 bus = le64_to_cpu(answer.bars[i].bus);

		if (le64_to_cpu(answer.bars[i].size) != p2p->bars[i].size ||
		    bus + p2p->bars[i].size < bus)
			return dlend_why_set(why, -EPROTO,
					     "node %u answered with a wrong window for BAR %u of device %x",
					     dlend_peer_node(peer), i, p2p->target);
		p2p->bars[i].bus = bus;
	}
	return 0;
}

static bool is_same_lender(const struct p2p *p2p)
{
	return p2p->source_loan && p2p->target_loan &&
	       p2p->source_loan->peer == p2p->target_loan->peer;
}

/*
 * Has the source's driver end its DMA to the target, before a window that it goes through leads
 * elsewhere. A driver that hears no notices is told by the target's.
 */
static void stop_source(struct p2p *p2p)
{
	struct pci_dev *pdev = p2p->source_loan ? READ_ONCE(p2p->source_loan->pdev) : NULL;
	unsigned int i;

	for (i = 0; pdev && i < DLEND_BARS; i++)
		if (p2p->bars[i].bus)
			dlend_notice_send(&pdev->dev, p2p->bars[i].bus, p2p->bars[i].size);
}

static void send_close(struct p2p *p2p, struct borrower_loan *loan)
{
	int ret;

	/* The end of the loan ends these windows, too. */
	if (READ_ONCE(loan->dead))
		return;
	ret = dlend_call(loan->peer, DLEND_OP_P2P_CLOSE, &p2p->msg, sizeof(p2p->msg),
			 NULL, 0, OPEN_TIMEOUT_MS);
	/* A lender that has the device back has closed them. */
	if (ret < 0 && ret != -ENODEV && !READ_ONCE(loan->dead))
		pr_warn("dl_borrower: node %u has not closed the windows from device %x to device %x: error %d\n",
			dlend_peer_node(loan->peer), p2p->source, p2p->target, -ret);
}

/*
 * Ends a pair, also one whose begin has failed. The source's end is closed first. The caller
 * has made it busy.
 */
static void end(struct p2p *p2p)
{
	struct borrower_loan *source = p2p->source_loan;

	spin_lock_irq(&borrower_p2p_lock);
	p2p->ready = false;
	spin_unlock_irq(&borrower_p2p_lock);
	stop_source(p2p);
	if (source) {
		send_close(p2p, source);
		if (p2p->target_loan && !is_same_lender(p2p))
			send_close(p2p, p2p->target_loan);
	}
	mutex_lock(&p2p->mutex);
	close_exports(p2p);
	mutex_unlock(&p2p->mutex);
	if (source)
		mutex_lock(&source->place_mutex);
	spin_lock_irq(&borrower_p2p_lock);
	list_del(&p2p->node);
	spin_unlock_irq(&borrower_p2p_lock);
	if (source) {
		borrower_pairs_place_failed(source);
		mutex_unlock(&source->place_mutex);
	}
	wake_up_all(&ended_wait);
	kref_put(&p2p->ref, borrower_pair_free);
}

static void end_work(struct work_struct *work)
{
	end(container_of(work, struct p2p, end));
}

static void take_bars(struct p2p *p2p)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		if (p2p->target_loan) {
			p2p->bars[i].phys = p2p->target_loan->bars[i].phys;
			p2p->bars[i].size = p2p->target_loan->bars[i].size;
		} else if (pci_resource_flags(p2p->local, i) & IORESOURCE_MEM) {
			p2p->bars[i].phys = pci_resource_start(p2p->local, i);
			p2p->bars[i].size = pci_resource_len(p2p->local, i);
		}
	}
}

/*
 * A device of this node reaches the target's windows by this node's bus, if the adapter
 * knows the device.
 */
static int admit(struct p2p *p2p, struct dlend_why *why)
{
	struct dlend_peer *peer = p2p->target_loan->peer;
	int err;

	mutex_lock(&p2p->mutex);
	err = p2p->closed || is_gone(p2p->target_loan) ? -ENOTCONN :
	      dlend_admit(peer, pci_dev_id(p2p->local));
	p2p->admitted = !err;
	mutex_unlock(&p2p->mutex);
	if (err)
		dlend_why_set(why, err,
			      "the adapter %s does not forward requests of %s: error %d",
			      dlend_peer_name(peer), pci_name(p2p->local), -err);
	return err;
}

static int begin(struct p2p *p2p, struct dlend_why *why)
{
	struct dlend_msg_p2p_open req = {};
	int err = 0;

	if (!p2p->source_loan)
		return admit(p2p, why);
	take_bars(p2p);
	p2p->msg = (struct dlend_msg_p2p){
		.version = cpu_to_le32(DLEND_P2P_VERSION),
		.flags = cpu_to_le32(p2p->target_loan ? 0 : DLEND_P2P_BORROWERS),
		.source = cpu_to_le32(p2p->source),
		.source_loan = cpu_to_le32(p2p->source_loan->number),
		.target = cpu_to_le32(p2p->target),
		.target_loan = cpu_to_le32(p2p->target_loan ? p2p->target_loan->number : 0),
	};
	if (!p2p->target_loan)
		err = export_bars(p2p, &req, why);
	else if (!is_same_lender(p2p))
		err = send_grant(p2p, why);
	if (!err)
		err = send_open(p2p, &req, why);
	return err;
}

int borrower_p2p_enable(u32 source, struct borrower_loan *source_loan, u32 target,
			struct borrower_loan *target_loan, struct pci_dev *local,
			struct dlend_why *why)
{
	struct p2p *p2p;
	int err;

	if ((source_loan && is_gone(source_loan)) || (target_loan && is_gone(target_loan)))
		return dlend_why_set(why, -ENOTCONN, "one of the devices is lost");
	p2p = kzalloc(sizeof(*p2p), GFP_KERNEL);
	if (!p2p)
		return dlend_why_set(why, -ENOMEM, "no memory");
	kref_init(&p2p->ref);
	mutex_init(&p2p->mutex);
	INIT_WORK(&p2p->end, end_work);
	p2p->source = source;
	p2p->source_loan = borrower_loan_get(source_loan);
	p2p->target = target;
	p2p->target_loan = borrower_loan_get(target_loan);
	p2p->local = pci_dev_get(local);
	p2p->busy = true;
	p2p->open = true;
	err = enter(p2p, why);
	if (err) {
		kref_put(&p2p->ref, borrower_pair_free);
		return err;
	}
	kref_get(&p2p->ref);
	err = begin(p2p, why);
	spin_lock_irq(&borrower_p2p_lock);
	if (!err && p2p->lost)
		err = dlend_why_set(why, -ENOTCONN, "one of the devices is lost");
	p2p->ready = !err;
	p2p->busy = err;
	spin_unlock_irq(&borrower_p2p_lock);
	if (err) {
		end(p2p);
	} else if (source_loan) {
		mutex_lock(&source_loan->place_mutex);
		borrower_pair_place(p2p);
		mutex_unlock(&source_loan->place_mutex);
	}
	kref_put(&p2p->ref, borrower_pair_free);
	return err;
}

int borrower_p2p_disable(u32 source, u32 target, struct dlend_why *why)
{
	unsigned int mapped = 0;
	struct p2p *p2p;
	bool busy;

	spin_lock_irq(&borrower_p2p_lock);
	p2p = find(source, target);
	busy = p2p && p2p->busy;
	if (p2p && !busy) {
		mapped = p2p->mapped;
		p2p->busy = !mapped;
		p2p->ready = mapped;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	if (!p2p)
		return dlend_why_set(why, -ENOENT, "it is not enabled");
	if (busy)
		return dlend_why_set(why, -EBUSY, "it is being enabled or disabled; try again");
	if (mapped)
		return dlend_why_set(why, -EBUSY,
				     "the driver of device %x has %u mappings of device %x; end its use first",
				     source, mapped, target);
	end(p2p);
	return 0;
}

unsigned int borrower_p2p_list(struct dlend_p2p_info *infos, unsigned int max)
{
	unsigned int n = 0;
	struct p2p *p2p;

	spin_lock_irq(&borrower_p2p_lock);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (n == max)
			break;
		infos[n++] = (struct dlend_p2p_info){
			.source = p2p->source,
			.target = p2p->target,
			.mapped = p2p->mapped,
			.path = !p2p->source_loan || !p2p->target_loan ?
				DLEND_P2P_BORROWER :
				is_same_lender(p2p) ? DLEND_P2P_ONE_LENDER :
				DLEND_P2P_TWO_LENDERS,
		};
	}
	spin_unlock_irq(&borrower_p2p_lock);
	return n;
}

/* End. */

void borrower_p2p_add(struct borrower_loan *loan)
{
	spin_lock_irq(&borrower_p2p_lock);
	list_add_tail(&loan->p2p_node, &targets);
	spin_unlock_irq(&borrower_p2p_lock);
}

/* Begins to end the pairs of a loan. Return: whether there are any that have not ended. */
static bool begin_ends(struct borrower_loan *loan)
{
	bool found = false;
	struct p2p *p2p;

	spin_lock_irq(&borrower_p2p_lock);
	loan->p2p_ended = true;
	list_del_init(&loan->p2p_node);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (p2p->source_loan != loan && p2p->target_loan != loan)
			continue;
		p2p->ready = false;
		borrower_pair_lose(p2p);
		found = true;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	return found;
}

void borrower_p2p_end(struct borrower_loan *loan)
{
	wait_event_timeout(ended_wait, !begin_ends(loan), msecs_to_jiffies(END_MS));
}

bool borrower_p2p_lose(struct dlend_peer *peer, const struct dlend_msg_p2p *msg)
{
	struct p2p *p2p, *found = NULL;

	spin_lock_irq(&borrower_p2p_lock);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (!p2p->source_loan || p2p->source_loan->peer != peer ||
		    p2p->source != le32_to_cpu(msg->source) ||
		    p2p->msg.source_loan != msg->source_loan ||
		    p2p->target != le32_to_cpu(msg->target))
			continue;
		pr_info("dl_borrower: device %x does not reach device %x any more\n",
			p2p->source, p2p->target);
		borrower_pair_lose(p2p);
		kref_get(&p2p->ref);
		found = p2p;
		break;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	if (!found)
		return false;
	/* The lender closes its windows when it has the answer. */
	stop_source(found);
	kref_put(&found->ref, borrower_pair_free);
	return true;
}

bool borrower_p2p_unplugged(struct device *dev)
{
	bool found = false;
	struct p2p *p2p;

	spin_lock_irq(&borrower_p2p_lock);
	list_for_each_entry(p2p, &borrower_pairs, node) {
		if (!p2p->local || &p2p->local->dev != dev)
			continue;
		borrower_pair_lose(p2p);
		found = true;
	}
	spin_unlock_irq(&borrower_p2p_lock);
	return found;
}

void borrower_p2p_peer_down(struct dlend_peer *peer)
{
	struct p2p *p2p, *found;

	do {
		found = NULL;
		spin_lock_irq(&borrower_p2p_lock);
		list_for_each_entry(p2p, &borrower_pairs, node)
			if (p2p->open && (p2p->source_loan ?: p2p->target_loan)->peer == peer)
				found = p2p;
		if (found) {
			found->open = false;
			kref_get(&found->ref);
		}
		spin_unlock_irq(&borrower_p2p_lock);
		if (found) {
			mutex_lock(&found->mutex);
			found->closed = true;
			close_exports(found);
			mutex_unlock(&found->mutex);
			kref_put(&found->ref, borrower_pair_free);
		}
	} while (found);
}
