// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loans: a device of another node becomes a function of this node. The function is
 * removed when the device is returned, or when its lender is lost.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/reboot.h>
#include <linux/suspend.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "borrower.h"
#include "dl_notice.h"

static DEFINE_SPINLOCK(borrower_lock);
static LIST_HEAD(loans);

/* borrower_lock is held. */
static struct borrower_loan *find(u32 fdid)
{
	struct borrower_loan *loan;

	list_for_each_entry(loan, &loans, node)
		if (loan->fdid == fdid)
			return loan;
	return NULL;
}

/* Return: a reference to a loan, or NULL. */
static struct borrower_loan *get(u32 fdid)
{
	struct borrower_loan *loan;

	spin_lock_irq(&borrower_lock);
	loan = borrower_loan_get(find(fdid));
	spin_unlock_irq(&borrower_lock);
	return loan;
}

/* The loan is complete, and borrower_lock or its mutex is held. */
static void describe(struct borrower_loan *loan, struct dlend_loan_info *info)
{
	struct device *dev = &loan->pdev->dev;

	memset(info, 0, sizeof(*info));
	info->fdid = loan->fdid;
	info->lender = dlend_peer_node(loan->peer);
	info->domain = pci_domain_nr(loan->pdev->bus);
	info->bus = loan->pdev->bus->number;
	info->devfn = loan->pdev->devfn;
	info->vendor = loan->pdev->vendor;
	info->device = loan->pdev->device;
	info->class = loan->pdev->class;
	info->dma_window = loan->dma_size;
	info->dma_free = borrower_dma_free(loan);
	/* A driver that binds now may hold the lock for long. */
	if (device_trylock(dev)) {
		if (dev->driver)
			strscpy(info->driver, dev->driver->name,
				sizeof(info->driver));
		device_unlock(dev);
	}
}

/* windows_mutex is held. */
static void close_bars(struct borrower_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		if (loan->bars[i].import)
			dlend_unimport(loan->bars[i].import);
		loan->bars[i].import = NULL;
	}
}

/* windows_mutex is held. */
static int open_bar(struct borrower_loan *loan, unsigned int i,
		    const struct dlend_window_desc *desc)
{
	struct borrower_bar *bar = &loan->bars[i];
	struct dlend_import *import;

	if (loan->closed)
		return -ENOTCONN;
	import = dlend_import(loan->peer, desc);
	if (IS_ERR(import))
		return PTR_ERR(import);
	bar->import = import;
	bar->phys = import->phys;
	bar->parent = import->parent;
	return import->size == bar->size ? 0 : -EPROTO;
}

static int open_bars(struct borrower_loan *loan,
		     const struct dlend_msg_attach_answer *answer,
		     struct dlend_why *why)
{
	unsigned int i;
	int err = 0;

	mutex_lock(&loan->windows_mutex);
	for (i = 0; i < DLEND_BARS && !err; i++) {
		if (!loan->bars[i].size)
			continue;
		err = open_bar(loan, i, &answer->bars[i]);
		if (err)
			dlend_why_set(why, err,
				      "node %u answered with a wrong window for BAR %u: error %d",
				      dlend_peer_node(loan->peer), i, -err);
	}
	mutex_unlock(&loan->windows_mutex);
	return err ?: borrower_check_windows(loan, why);
}

/*
 * Ends what other devices do in the BARs, before the lender opens these windows onto something
 * else. The function's driver is removed later. Sleeps, but takes no lock of the PCI core.
 */
static void tell_bars(struct borrower_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++)
		if (loan->bars[i].phys)
			dlend_notice_bars_send(loan->bars[i].phys, loan->bars[i].size);
}

/* Closes the windows of the loan, for ever. Sleeps, but takes no lock of the PCI core. */
static void close_windows(struct borrower_loan *loan)
{
	mutex_lock(&loan->windows_mutex);
	loan->closed = true;
	close_bars(loan);
	borrower_window_close(&loan->msi_export);
	borrower_window_close(&loan->dma_export);
	borrower_dma_purge(loan);
	mutex_unlock(&loan->windows_mutex);
}

/* Undoes borrower_send_borrow() and attach(), also if they failed half way. */
static void dismantle(struct borrower_loan *loan, bool surprise)
{
	borrower_bridge_remove(loan, surprise);
	/* No other device may reach this one when its lender resets it. */
	borrower_p2p_end(loan);
	mutex_lock(&loan->windows_mutex);
	close_bars(loan);
	mutex_unlock(&loan->windows_mutex);
	/* The lender resets the device before this node closes the device's windows. */
	if (loan->number)
		borrower_send_return(loan);
	close_windows(loan);
	borrower_msi_stop(loan);
	borrower_dma_stop(loan);
}

/* The loan's mutex is held. */
static void set_complete(struct borrower_loan *loan, bool complete)
{
	spin_lock_irq(&borrower_lock);
	loan->complete = complete;
	spin_unlock_irq(&borrower_lock);
}

/* The loan's mutex is held, and the caller has a reference. */
static void unlist(struct borrower_loan *loan)
{
	loan->ended = true;
	spin_lock_irq(&borrower_lock);
	list_del(&loan->node);
	/* op_irq() may have found it before. */
	spin_lock(&loan->irq_lock);
	spin_unlock(&loan->irq_lock);
	spin_unlock_irq(&borrower_lock);
	borrower_loan_put(loan);
}

/* The same. */
static void end_loan(struct borrower_loan *loan)
{
	bool surprise = READ_ONCE(loan->dead);

	set_complete(loan, false);
	dismantle(loan, surprise);
	atomic64_inc(surprise ? &borrower_counts.lost :
				&borrower_counts.returned);
	pr_info("dl_borrower: device %x of node %u %s\n", loan->fdid,
		dlend_peer_node(loan->peer), surprise ? "is lost" : "is returned");
	unlist(loan);
}

/* Ends a loan that is dead, revoked, or closed. It may wait for the PCI core's locks. */
static void reap_work(struct work_struct *work)
{
	struct borrower_loan *loan = container_of(work, struct borrower_loan, reap);

	mutex_lock(&loan->mutex);
	if (!loan->ended && (READ_ONCE(loan->revoked) || READ_ONCE(loan->dead) ||
			     READ_ONCE(loan->left)))
		end_loan(loan);
	mutex_unlock(&loan->mutex);
	borrower_loan_put(loan);
}

void borrower_reap(struct borrower_loan *loan)
{
	borrower_loan_get(loan);
	/* The caller has a reference, or found it in the list: this is not the last one. */
	if (!queue_work(borrower_wq, &loan->reap))
		borrower_loan_put(loan);
}

static int attach(struct borrower_loan *loan, u64 window, struct dlend_why *why)
{
	struct dlend_msg_attach_answer answer;
	struct dlend_msg_attach req = {};
	int err;

	loan->requester = dlend_peer_requester(loan->peer, loan->device.bdf);
	if (!loan->requester)
		return dlend_why_set(why, -ENODEV,
				     "node %u describes the device at %04x:%02x:%02x.%x, where there is none",
				     dlend_peer_node(loan->peer),
				     loan->device.bdf >> 16,
				     loan->device.bdf >> 8 & 0xff,
				     PCI_SLOT(loan->device.bdf & 0xff),
				     PCI_FUNC(loan->device.bdf));
	err = borrower_dma_prepare(loan, window, &req, why);
	if (err)
		return err;
	err = borrower_msi_prepare(loan, &req, why);
	if (err)
		return err;
	err = borrower_send_attach(loan, &req, &answer, why);
	if (!err)
		err = borrower_fetch_extended(loan, why);
	if (err)
		return err;
	err = open_bars(loan, &answer, why);
	if (err)
		return err;
	borrower_p2p_add(loan);
	err = borrower_dma_start(loan);
	if (!err)
		err = borrower_msi_start(loan);
	if (!err)
		err = borrower_bridge_add(loan);
	if (err)
		return dlend_why_set(why, err,
				     "device %x could not be added here: error %d",
				     loan->fdid, -err);
	return 0;
}

static struct borrower_loan *new_loan(u32 fdid, struct dlend_peer *peer)
{
	struct borrower_loan *loan = kzalloc(sizeof(*loan), GFP_KERNEL);

	if (!loan)
		return NULL;
	kref_init(&loan->ref);
	loan->fdid = fdid;
	loan->peer = dlend_peer_get(peer);
	INIT_LIST_HEAD(&loan->p2p_node);
	mutex_init(&loan->mutex);
	INIT_WORK(&loan->reap, reap_work);
	mutex_init(&loan->place_mutex);
	mutex_init(&loan->windows_mutex);
	spin_lock_init(&loan->config_lock);
	spin_lock_init(&loan->dma_lock);
	spin_lock_init(&loan->irq_lock);
	return loan;
}

/* Enters a loan into the list first, so that a loss or a REVOKE finds it. */
static int enter(struct borrower_loan *loan, struct dlend_why *why)
{
	int err = 0;

	spin_lock_irq(&borrower_lock);
	if (find(loan->fdid)) {
		err = -EBUSY;
	} else {
		borrower_loan_get(loan);
		list_add_tail(&loan->node, &loans);
	}
	spin_unlock_irq(&borrower_lock);
	if (err)
		dlend_why_set(why, err, "device %x is borrowed by this node already",
			      loan->fdid);
	return err;
}

/* The loan's mutex is held, and the loan is in the list. */
static int begin(struct borrower_loan *loan, u64 window, struct dlend_loan_info *info,
		 struct dlend_why *why)
{
	/* If the peer was lost before the entry, the calls below fail. */
	int err = borrower_send_borrow(loan, why);

	if (!err)
		err = attach(loan, window, why);
	if (!err && READ_ONCE(loan->dead))
		err = dlend_why_set(why, -ENOTCONN, "node %u is lost", loan->fdid >> 16);
	if (err) {
		dismantle(loan, READ_ONCE(loan->dead));
		unlist(loan);
		return err;
	}
	set_complete(loan, true);
	atomic64_inc(&borrower_counts.loans);
	if (info)
		describe(loan, info);
	return 0;
}

static int borrow(struct dlend_peer *peer, u32 fdid, u64 window, unsigned int flags,
		  struct dlend_loan_info *info, struct dlend_why *why)
{
	struct borrower_loan *loan = new_loan(fdid, peer);
	int err;

	if (!loan)
		return dlend_why_set(why, -ENOMEM, "no memory");
	loan->guest = flags & DLEND_BORROW_GUEST;
	loan->forwards = flags & DLEND_BORROW_FORWARD;
	loan->once = flags & DLEND_BORROW_ONCE;
	mutex_lock(&loan->mutex);
	err = enter(loan, why);
	if (!err)
		err = begin(loan, window, info, why);
	mutex_unlock(&loan->mutex);
	borrower_loan_put(loan);
	return err;
}

/* Return: a reference to a lost loan of the peer, or NULL. */
static struct borrower_loan *get_dead(struct dlend_peer *peer)
{
	struct borrower_loan *loan, *found = NULL;

	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node)
		if (loan->peer == peer && READ_ONCE(loan->dead))
			found = loan;
	borrower_loan_get(found);
	spin_unlock_irq(&borrower_lock);
	return found;
}

/*
 * The driver of a lost device may still access its window, and a new loan may get the same
 * window. So wait until the functions of the peer's lost devices are removed.
 */
static int await_dead(struct dlend_peer *peer, struct dlend_why *why)
{
	struct borrower_loan *loan = get_dead(peer), *next;

	while (loan) {
		flush_work(&loan->reap);
		next = get_dead(peer);
		borrower_loan_put(loan);
		if (next == loan) {
			borrower_loan_put(next);
			return dlend_why_set(why, -EBUSY,
					     "a device of node %u that was lost is being removed; try again",
					     dlend_peer_node(peer));
		}
		loan = next;
	}
	return 0;
}

int dlend_borrower_borrow(u32 fdid, u64 window, unsigned int flags,
			  struct dlend_loan_info *info, struct dlend_why *why)
{
	struct dlend_peer *peer = dlend_peer_find(fdid >> 16);
	int err;

	if (!peer && fdid >> 16 == dlend_node())
		return dlend_why_set(why, -EINVAL,
				     "device %x is this node's own, and needs no loan; only other nodes can borrow it",
				     fdid);
	if (!peer)
		return dlend_why_set(why, -ENOENT, "node %u was never connected",
				     fdid >> 16);
	err = await_dead(peer, why);
	if (!err && dlend_peer_keeps_bars(peer))
		err = dlend_why_set(why, -EOPNOTSUPP,
				    "%s keeps all BARs of the adapter to node %u, and a loan needs room in one; ntb_hw_switchtec leaves it",
				    dev_driver_string(dlend_peer_dev(peer)), fdid >> 16);
	if (!err && dlend_going_down())
		err = dlend_why_set(why, -EBUSY, "this node goes down");
	if (!err && !dlend_peer_is_up(peer))
		err = dlend_why_set(why, -ENOTCONN, "node %u is not connected",
				    fdid >> 16);
	if (!err)
		err = borrow(peer, fdid, window, flags, info, why);
	if (err)
		pr_info("dl_borrower: device %x is not borrowed: %s\n", fdid, why->text);
	dlend_peer_put(peer);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_borrow);

int dlend_borrower_return(u32 fdid, struct dlend_why *why)
{
	struct borrower_loan *loan = get(fdid);
	bool ended = true;

	if (loan) {
		mutex_lock(&loan->mutex);
		ended = loan->ended;
		if (!ended)
			end_loan(loan);
		mutex_unlock(&loan->mutex);
		borrower_loan_put(loan);
	}
	return ended ? dlend_why_set(why, -ENOENT,
				     "device %x is not borrowed by this node", fdid) : 0;
}
EXPORT_SYMBOL_GPL(dlend_borrower_return);

unsigned int dlend_borrower_loans(struct dlend_loan_info *infos, unsigned int max)
{
	struct borrower_loan *loan;
	unsigned int n = 0;

	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node)
		if (loan->complete && n < max)
			describe(loan, &infos[n++]);
	spin_unlock_irq(&borrower_lock);
	return n;
}
EXPORT_SYMBOL_GPL(dlend_borrower_loans);

/* Return: a reference to a loan that has begun and does not end; or NULL. */
static struct borrower_loan *get_complete(u32 fdid)
{
	struct borrower_loan *loan;

	spin_lock_irq(&borrower_lock);
	loan = find(fdid);
	loan = borrower_loan_get(loan && loan->complete ? loan : NULL);
	spin_unlock_irq(&borrower_lock);
	return loan;
}

static bool is_own(struct pci_dev *local, struct borrower_loan *loan, u32 fdid,
		   struct dlend_why *why)
{
	if (loan || local)
		return true;
	dlend_why_set(why, -ENOENT,
		      "device %x is neither borrowed by this node nor used by it as its own; borrow it, or add it here",
		      fdid);
	return false;
}

int dlend_borrower_p2p_enable(u32 source, u32 target, struct pci_dev *local,
			      struct dlend_why *why)
{
	struct borrower_loan *from, *to;
	int err;

	if (source == target)
		return dlend_why_set(why, -EINVAL, "a device reaches itself anyway");
	from = get_complete(source);
	to = get_complete(target);
	if (!is_own(local, from, source, why) || !is_own(local, to, target, why))
		err = -ENOENT;
	else if (!from && !to)
		err = dlend_why_set(why, -ENOENT,
				    "this node has borrowed neither device %x nor device %x",
				    source, target);
	else
		err = borrower_p2p_enable(source, from, target, to,
					  from && to ? NULL : local, why);
	borrower_loan_put(from);
	borrower_loan_put(to);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_enable);

int dlend_borrower_p2p_disable(u32 source, u32 target, struct dlend_why *why)
{
	return borrower_p2p_disable(source, target, why);
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_disable);

unsigned int dlend_borrower_p2p_list(struct dlend_p2p_info *infos, unsigned int max)
{
	return borrower_p2p_list(infos, max);
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_list);

/* The lenders of two devices have lost each other. */
static int op_p2p_lost(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room)
{
	return borrower_p2p_lose(peer, data) ? 0 : -ENODEV;
}

void dlend_guest_bars(struct pci_dev *pdev, const void *machine,
		      const u64 bars[PCI_STD_NUM_BARS])
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);

	BUILD_BUG_ON(DLEND_GUEST_NOWHERE != DLEND_P2P_NOWHERE);
	BUILD_BUG_ON(PCI_STD_NUM_BARS != DLEND_BARS);
	if (loan)
		borrower_p2p_place(loan, machine, bars);
	borrower_loan_put(loan);
}
EXPORT_SYMBOL_GPL(dlend_guest_bars);

static int op_revoke(struct dlend_peer *peer, const void *data, size_t len,
		     void *resp, size_t room)
{
	const struct dlend_msg_revoke *req = data;
	struct borrower_loan *loan, *gone = NULL;
	int err = -ENODEV;

	spin_lock_irq(&borrower_lock);
	loan = find(le32_to_cpu(req->fdid));
	if (loan && loan->peer == peer &&
	    loan->number == le32_to_cpu(req->loan)) {
		if (req->gone) {
			WRITE_ONCE(loan->gone, true);
			borrower_dma_kill(loan);
			gone = borrower_loan_get(loan);
		}
		WRITE_ONCE(loan->revoked, true);
		borrower_reap(loan);
		err = 0;
	}
	spin_unlock_irq(&borrower_lock);
	/* The lender closes its windows when it has the answer. */
	if (gone)
		tell_bars(gone);
	borrower_loan_put(gone);
	return err;
}

/* Interrupts are off. The loan stays while one of the two locks is held. */
static int op_irq(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		  size_t room)
{
	const struct dlend_msg_irq *req = data;
	struct borrower_loan *loan;

	spin_lock(&borrower_lock);
	loan = find(le32_to_cpu(req->fdid));
	if (!loan || loan->peer != peer || loan->number != le32_to_cpu(req->loan)) {
		spin_unlock(&borrower_lock);
		return -ENODEV;
	}
	spin_lock(&loan->irq_lock);
	spin_unlock(&borrower_lock);
	borrower_irq_raise(loan, req);
	spin_unlock(&loan->irq_lock);
	return 0;
}

static const struct dlend_op borrower_ops[] = {
	{ DLEND_OP_REVOKE, 0, sizeof(struct dlend_msg_revoke),
	  sizeof(struct dlend_msg_revoke), op_revoke },
	{ DLEND_OP_P2P_LOST, 0, sizeof(struct dlend_msg_p2p),
	  sizeof(struct dlend_msg_p2p), op_p2p_lost },
	{ DLEND_OP_IRQ, DLEND_ATOMIC, sizeof(struct dlend_msg_irq),
	  sizeof(struct dlend_msg_irq), op_irq },
};

static void borrower_peer_up(struct dlend_peer *peer)
{
}

/* Any context. */
static void borrower_peer_lost(struct dlend_peer *peer)
{
	struct borrower_loan *loan;
	unsigned long flags;

	spin_lock_irqsave(&borrower_lock, flags);
	list_for_each_entry(loan, &loans, node)
		if (loan->peer == peer)
			borrower_dma_kill(loan);
	spin_unlock_irqrestore(&borrower_lock, flags);
}

/* Return: a reference to a loan of the peer whose windows are open, or NULL. */
static struct borrower_loan *find_open(struct dlend_peer *peer)
{
	struct borrower_loan *loan, *found = NULL;

	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node) {
		if (loan->peer == peer && !READ_ONCE(loan->closed)) {
			found = borrower_loan_get(loan);
			break;
		}
	}
	spin_unlock_irq(&borrower_lock);
	return found;
}

/* The locks of the PCI core may be held, so their users are left to the works. */
static void borrower_peer_down(struct dlend_peer *peer)
{
	struct borrower_loan *loan;

	while ((loan = find_open(peer))) {
		borrower_dma_kill(loan);
		tell_bars(loan);
		close_windows(loan);
		borrower_loan_put(loan);
	}
	borrower_p2p_peer_down(peer);
	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node)
		if (loan->peer == peer)
			borrower_reap(loan);
	spin_unlock_irq(&borrower_lock);
}

static struct dlend_client borrower_client = {
	.peer_up = borrower_peer_up,
	.peer_lost = borrower_peer_lost,
	.peer_down = borrower_peer_down,
};

/* Return: whether BARs of borrowed functions have addresses in this resource. */
static bool holds_bars(const struct resource *res)
{
	struct borrower_loan *loan;
	bool found = false;
	unsigned int i;

	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node)
		for (i = 0; i < DLEND_BARS; i++)
			if (loan->bars[i].parent && loan->bars[i].phys >= res->start &&
			    loan->bars[i].phys <= res->end)
				found = true;
	spin_unlock_irq(&borrower_lock);
	return found;
}

/*
 * Returns a device whose function somebody has removed from its bus. The PCI core's lock
 * of removals is held, except for a virtual function.
 */
static int borrower_notify(struct notifier_block *nb, unsigned long event,
			   void *data)
{
	struct borrower_loan *loan;

	if (event != BUS_NOTIFY_REMOVED_DEVICE)
		return NOTIFY_DONE;
	borrower_bridge_keep_bars(to_pci_dev(data), holds_bars);
	borrower_p2p_unplugged(data);
	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node) {
		struct pci_dev *pdev = READ_ONCE(loan->pdev);

		if (!pdev || &pdev->dev != data)
			continue;
		WRITE_ONCE(loan->removed, true);
		WRITE_ONCE(loan->revoked, true);
		borrower_reap(loan);
	}
	spin_unlock_irq(&borrower_lock);
	return NOTIFY_DONE;
}

static struct notifier_block borrower_notifier = {
	.notifier_call = borrower_notify,
};

/* The windows and the session do not outlive the sleep of a node. */
static int borrower_sleep(struct notifier_block *nb, unsigned long event,
			  void *unused)
{
	struct borrower_loan *loan;
	int ret = NOTIFY_DONE;

	if (event != PM_SUSPEND_PREPARE && event != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node) {
		pr_warn("dl_borrower: this node cannot sleep: device %x is borrowed; return it first\n",
			loan->fdid);
		ret = notifier_from_errno(-EBUSY);
	}
	spin_unlock_irq(&borrower_lock);
	return ret;
}

static struct notifier_block borrower_sleep_notifier = {
	.notifier_call = borrower_sleep,
};

/* Returns all devices, at the same time. */
static void return_all(void)
{
	struct borrower_loan *loan;

	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node) {
		WRITE_ONCE(loan->revoked, true);
		borrower_reap(loan);
	}
	spin_unlock_irq(&borrower_lock);
	flush_workqueue(borrower_wq);
}

/*
 * The node goes down, or another kernel starts. Now the lenders can still be told, and the
 * drivers of the devices can still bring these to rest.
 */
static int borrower_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	return_all();
	return NOTIFY_DONE;
}

static struct notifier_block borrower_reboot_notifier = {
	.notifier_call = borrower_reboot,
};

static int __init borrower_init(void)
{
	int err = borrower_allow_init();

	if (err)
		return err;
	borrower_wq = alloc_workqueue("dl_borrower", WQ_UNBOUND, 0);
	if (!borrower_wq)
		return -ENOMEM;
	err = dlend_client_register(&borrower_client);
	if (err)
		goto wq;
	err = dlend_ops_register(borrower_ops, ARRAY_SIZE(borrower_ops));
	if (err)
		goto client;
	err = bus_register_notifier(&pci_bus_type, &borrower_notifier);
	if (err)
		goto ops;
	err = register_pm_notifier(&borrower_sleep_notifier);
	if (err)
		goto notifier;
	err = register_reboot_notifier(&borrower_reboot_notifier);
	if (err)
		goto sleep;
	borrower_stats_init();
	return 0;

sleep:
	unregister_pm_notifier(&borrower_sleep_notifier);
notifier:
	bus_unregister_notifier(&pci_bus_type, &borrower_notifier);
ops:
	dlend_ops_unregister(borrower_ops, ARRAY_SIZE(borrower_ops));
client:
	dlend_client_unregister(&borrower_client);
wq:
	destroy_workqueue(borrower_wq);
	return err;
}

static void __exit borrower_exit(void)
{
	borrower_stats_exit();
	unregister_reboot_notifier(&borrower_reboot_notifier);
	unregister_pm_notifier(&borrower_sleep_notifier);
	return_all();
	bus_unregister_notifier(&pci_bus_type, &borrower_notifier);
	dlend_ops_unregister(borrower_ops, ARRAY_SIZE(borrower_ops));
	dlend_client_unregister(&borrower_client);
	destroy_workqueue(borrower_wq);
}

module_init(borrower_init);
module_exit(borrower_exit);
MODULE_DESCRIPTION("Device Lending: borrows PCI functions of other nodes");
MODULE_LICENSE("GPL");
