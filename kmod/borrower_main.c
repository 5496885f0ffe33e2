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
#include <linux/workqueue.h>

#include "borrower.h"

/* A lender opens windows for all BARs, which takes up to 100 ms for each LUT entry. */
#define ATTACH_TIMEOUT_MS 20000

static DEFINE_MUTEX(borrower_admin);
static DEFINE_SPINLOCK(borrower_lock);
/* A writer holds both locks, a reader one of them. */
static LIST_HEAD(loans);

static void reap_work(struct work_struct *work);
/* Ends the loans that are dead or revoked. It may wait for the PCI core's locks. */
static DECLARE_WORK(reap, reap_work);

static void get_device_info(struct dlend_device_info *info,
			    const struct dlend_msg_device *msg)
{
	memset(info, 0, sizeof(*info));
	info->fdid = le32_to_cpu(msg->fdid);
	info->state = min_t(u32, le32_to_cpu(msg->state), DLEND_DEVICE_BORROWED);
	info->borrower = le32_to_cpu(msg->borrower);
	info->bdf = le32_to_cpu(msg->bdf);
	info->vendor = le16_to_cpu(msg->vendor);
	info->device = le16_to_cpu(msg->device);
	info->subsystem_vendor = le16_to_cpu(msg->subsystem_vendor);
	info->subsystem_device = le16_to_cpu(msg->subsystem_device);
	info->class = le32_to_cpu(msg->class) & 0xffffff;
	info->physical = le16_to_cpu(msg->physical);
	info->physical_device = le16_to_cpu(msg->physical_device);
	info->virtual_number = le16_to_cpu(msg->virtual_number);
	info->is_virtual = msg->is_virtual != 0;
	info->fabric = le64_to_cpu(msg->fabric);
	info->dma_window = le64_to_cpu(msg->dma_window);
	/* The text comes from a peer. Terminate it, and replace control characters. */
	strscpy(info->driver, msg->driver, sizeof(info->driver));
	for (char *c = info->driver; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
}

static struct borrower_loan *find(u32 fdid)
{
	struct borrower_loan *loan;

	list_for_each_entry(loan, &loans, node)
		if (loan->fdid == fdid)
			return loan;
	return NULL;
}

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

static int send_borrow(struct borrower_loan *loan, struct dlend_why *why)
{
	struct dlend_msg_borrow req = { .fdid = cpu_to_le32(loan->fdid) };
	struct dlend_msg_borrow_answer answer;
	u32 node = loan->fdid >> 16;
	int ret;

	ret = dlend_call(loan->peer, DLEND_OP_BORROW, &req, sizeof(req), &answer,
			 sizeof(answer), 0);
	if (ret == -EOPNOTSUPP)
		return dlend_why_set(why, ret,
				     "node %u does not lend: it has not loaded dl_lender",
				     node);
	if (ret == -EHOSTDOWN)
		return dlend_why_set(why, ret, "node %u goes to sleep", node);
	if (ret == -EPERM)
		return dlend_why_set(why, ret,
				     "this node could reach all of node %u, whose log says why; this needs permission there (allow_no_iommu)",
				     node);
	if (ret >= 0 && ret != sizeof(answer))
		ret = -EPROTO;
	if (ret < 0)
		return dlend_why_set(why, ret, "node %u does not answer: error %d",
				     node, -ret);
	switch (le32_to_cpu(answer.status)) {
	case DLEND_BORROW_OK:
		break;
	case DLEND_BORROW_TAKEN:
		return dlend_why_set(why, -EBUSY,
				     "device %x is borrowed by node %u",
				     loan->fdid, le32_to_cpu(answer.holder));
	case DLEND_BORROW_UNAVAILABLE:
		return dlend_why_set(why, -EBUSY,
				     "device %x is not available: its own node %u uses it; make it available there",
				     loan->fdid, node);
	default:
		return dlend_why_set(why, -ENOENT, "node %u has no device %x",
				     node, loan->fdid);
	}
	loan->number = le32_to_cpu(answer.loan);
	get_device_info(&loan->device, &answer.device);
	return borrower_check_borrow(loan, &answer, why);
}

static int send_attach(struct borrower_loan *loan, struct dlend_msg_attach *req,
		       struct dlend_msg_attach_answer *answer, struct dlend_why *why)
{
	u32 node = loan->fdid >> 16;
	int ret;

	req->fdid = cpu_to_le32(loan->fdid);
	req->loan = cpu_to_le32(loan->number);
	ret = dlend_call(loan->peer, DLEND_OP_ATTACH, req, sizeof(*req), answer,
			 sizeof(*answer), ATTACH_TIMEOUT_MS);
	if (ret == -ENOSPC)
		return dlend_why_set(why, ret,
				     "node %u has no window left for the device's BARs, or its IOMMU has no addresses left for this node's memory",
				     node);
	if (ret == -EUSERS)
		return dlend_why_set(why, ret,
				     "the NTB of node %u has no entry left for the Requester ID of this device; a device that is lent over it must be returned first",
				     node);
	if (ret == -EOPNOTSUPP && loan->guest)
		return dlend_why_set(why, ret,
				     "a device for a virtual machine needs an IOMMU on its own node, too, and node %u has none",
				     node);
	if (ret == -EPERM)
		return dlend_why_set(why, ret,
				     "a BAR of the device shares a window with other devices of node %u, whose log names them; this needs permission there (allow_neighbours)",
				     node);
	if (ret >= 0 && ret != sizeof(*answer))
		ret = -EPROTO;
	if (ret < 0)
		return dlend_why_set(why, ret,
				     "node %u could not open its windows: error %d",
				     node, -ret);
	loan->dma_bus = le64_to_cpu(answer->dma_bus);
	loan->msi_bus = le64_to_cpu(answer->msi_bus);
	loan->live = le64_to_cpu(answer->live);
	memcpy(loan->config, answer->config, sizeof(answer->config));
	return borrower_check_attach(loan, why);
}

static int fetch_extended(struct borrower_loan *loan, struct dlend_why *why)
{
	struct dlend_msg_extended req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	unsigned int at;
	int ret;

	for (at = DLEND_CFG_SIZE; at < DLEND_CFG_SPACE; at += DLEND_CFG_PIECE) {
		req.offset = cpu_to_le32(at);
		ret = dlend_call(loan->peer, DLEND_OP_CFG_EXTENDED, &req, sizeof(req),
				 loan->config + at, DLEND_CFG_PIECE, 0);
		if (ret >= 0 && ret != sizeof(struct dlend_msg_extended_answer))
			ret = -EPROTO;
		if (ret < 0)
			return dlend_why_set(why, ret,
					     "node %u does not show the configuration space of the device from %#x on: error %d",
					     loan->fdid >> 16, at, -ret);
	}
	return borrower_check_extended(loan, why);
}

static void send_return(struct borrower_loan *loan)
{
	struct dlend_msg_return req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	int ret;

	/* After a loss the lender has ended the loan by itself. */
	if (READ_ONCE(loan->dead) &&
	    (READ_ONCE(loan->gone) || !dlend_peer_is_up(loan->peer)))
		return;
	ret = dlend_call(loan->peer, DLEND_OP_RETURN, &req, sizeof(req), NULL, 0,
			 ATTACH_TIMEOUT_MS);
	if (ret < 0 && !READ_ONCE(loan->dead))
		pr_warn("dl_borrower: device %x: node %u has not taken it back: error %d\n",
			loan->fdid, dlend_peer_node(loan->peer), -ret);
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

/* Undoes send_borrow() and attach(), also if they failed half way. */
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
		send_return(loan);
	close_windows(loan);
	borrower_msi_stop(loan);
	borrower_dma_stop(loan);
}

static void free_loan(struct kref *ref)
{
	struct borrower_loan *loan = container_of(ref, struct borrower_loan, ref);

	put_device(loan->requester);
	dlend_peer_put(loan->peer);
	kfree(loan);
}

static void unlist(struct borrower_loan *loan)
{
	spin_lock_irq(&borrower_lock);
	list_del(&loan->node);
	spin_unlock_irq(&borrower_lock);
	kref_put(&loan->ref, free_loan);
}

/* borrower_admin is held. */
static void end_loan(struct borrower_loan *loan, bool surprise)
{
	dismantle(loan, surprise);
	atomic64_inc(surprise ? &borrower_counts.lost :
				&borrower_counts.returned);
	pr_info("dl_borrower: device %x of node %u %s\n", loan->fdid,
		dlend_peer_node(loan->peer), surprise ? "is lost" : "is returned");
	unlist(loan);
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
	err = send_attach(loan, &req, &answer, why);
	if (!err)
		err = fetch_extended(loan, why);
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
	mutex_init(&loan->windows_mutex);
	spin_lock_init(&loan->config_lock);
	spin_lock_init(&loan->dma_lock);
	return loan;
}

/* borrower_admin is held. */
static int borrow(struct dlend_peer *peer, u32 fdid, u64 window, unsigned int flags,
		  struct dlend_loan_info *info, struct dlend_why *why)
{
	struct borrower_loan *loan;
	int err;

	if (find(fdid))
		return dlend_why_set(why, -EBUSY,
				     "device %x is borrowed by this node already",
				     fdid);
	loan = new_loan(fdid, peer);
	if (!loan)
		return dlend_why_set(why, -ENOMEM, "no memory");
	loan->guest = flags & DLEND_BORROW_GUEST;
	/* Enter the loan into the list first, so that a loss or a REVOKE finds it. */
	spin_lock_irq(&borrower_lock);
	list_add_tail(&loan->node, &loans);
	spin_unlock_irq(&borrower_lock);
	/* If the peer was lost before the entry, the calls below fail. */
	err = send_borrow(loan, why);
	if (!err)
		err = attach(loan, window, why);
	if (!err && READ_ONCE(loan->dead))
		err = dlend_why_set(why, -ENOTCONN, "node %u is lost", fdid >> 16);
	if (err) {
		dismantle(loan, READ_ONCE(loan->dead));
		unlist(loan);
		return err;
	}
	atomic64_inc(&borrower_counts.loans);
	if (info)
		describe(loan, info);
	return 0;
}

/* borrower_admin is held. */
static bool has_dead_loan(struct dlend_peer *peer)
{
	struct borrower_loan *loan;

	list_for_each_entry(loan, &loans, node)
		if (loan->peer == peer && READ_ONCE(loan->dead))
			return true;
	return false;
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
	/*
	 * The driver of a lost device may still access its window, and a new loan may
	 * get the same window. So wait until the functions of lost devices are removed.
	 */
	flush_work(&reap);
	mutex_lock(&borrower_admin);
	if (has_dead_loan(peer))
		err = dlend_why_set(why, -EBUSY,
				    "a device of node %u that was lost is being removed; try again",
				    fdid >> 16);
	else if (dlend_peer_is_up(peer))
		err = borrow(peer, fdid, window, flags, info, why);
	else
		err = dlend_why_set(why, -ENOTCONN, "node %u is not connected",
				    fdid >> 16);
	mutex_unlock(&borrower_admin);
	if (err)
		pr_info("dl_borrower: device %x is not borrowed: %s\n", fdid, why->text);
	dlend_peer_put(peer);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_borrow);

int dlend_borrower_return(u32 fdid, struct dlend_why *why)
{
	struct borrower_loan *loan;
	int err = 0;

	mutex_lock(&borrower_admin);
	loan = find(fdid);
	if (loan)
		end_loan(loan, READ_ONCE(loan->dead));
	else
		err = dlend_why_set(why, -ENOENT,
				    "device %x is not borrowed by this node", fdid);
	mutex_unlock(&borrower_admin);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_return);

unsigned int dlend_borrower_loans(struct dlend_loan_info *infos, unsigned int max)
{
	struct borrower_loan *loan;
	unsigned int n = 0;

	mutex_lock(&borrower_admin);
	list_for_each_entry(loan, &loans, node)
		if (n < max)
			describe(loan, &infos[n++]);
	mutex_unlock(&borrower_admin);
	return n;
}
EXPORT_SYMBOL_GPL(dlend_borrower_loans);

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
	mutex_lock(&borrower_admin);
	from = find(source);
	to = find(target);
	if (!is_own(local, from, source, why) || !is_own(local, to, target, why))
		err = -ENOENT;
	else if (!from && !to)
		err = dlend_why_set(why, -ENOENT,
				    "this node has borrowed neither device %x nor device %x",
				    source, target);
	else
		err = borrower_p2p_enable(source, from, target, to,
					  from && to ? NULL : local, why);
	mutex_unlock(&borrower_admin);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_enable);

int dlend_borrower_p2p_disable(u32 source, u32 target, struct dlend_why *why)
{
	int err;

	mutex_lock(&borrower_admin);
	err = borrower_p2p_disable(source, target, why);
	mutex_unlock(&borrower_admin);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_disable);

unsigned int dlend_borrower_p2p_list(struct dlend_p2p_info *infos, unsigned int max)
{
	unsigned int n;

	mutex_lock(&borrower_admin);
	n = borrower_p2p_list(infos, max);
	mutex_unlock(&borrower_admin);
	return n;
}
EXPORT_SYMBOL_GPL(dlend_borrower_p2p_list);

/* The list of a hostile peer must end as well: IDs must grow, and @max bounds them. */
static unsigned int ask_for_devices(struct dlend_peer *peer,
				    struct dlend_msg_list_answer *answer,
				    struct dlend_device_info *infos,
				    unsigned int max)
{
	u32 node = dlend_peer_node(peer), next = node << 16;
	unsigned int n = 0;

	while (n < max) {
		struct dlend_msg_list req = { .first = cpu_to_le32(next) };
		unsigned int i, count;
		int ret;

		ret = dlend_call(peer, DLEND_OP_LIST, &req, sizeof(req), answer,
				 DLEND_MSG_MAX, 0);
		if (ret < (int)sizeof(*answer))
			break;
		count = le32_to_cpu(answer->count);
		if (!count || count > DLEND_LIST_MAX ||
		    ret != struct_size(answer, devices, count))
			break;
		for (i = 0; i < count && n < max; i++) {
			get_device_info(&infos[n], &answer->devices[i]);
			if (infos[n].fdid < next || infos[n].fdid >> 16 != node)
				return n;
			next = infos[n++].fdid + 1;
		}
	}
	return n;
}

int dlend_borrower_remote(struct dlend_device_info *infos, unsigned int max)
{
	struct dlend_msg_list_answer *answer = kmalloc(DLEND_MSG_MAX, GFP_KERNEL);
	unsigned int i, n = 0;

	if (!answer)
		return -ENOMEM;
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		struct dlend_peer *peer = dlend_peer_at(i);

		if (!peer)
			continue;
		if (dlend_peer_is_up(peer))
			n += ask_for_devices(peer, answer, infos + n, max - n);
		dlend_peer_put(peer);
	}
	kfree(answer);
	return n;
}
EXPORT_SYMBOL_GPL(dlend_borrower_remote);

static void reap_work(struct work_struct *work)
{
	struct borrower_loan *loan, *next;

	mutex_lock(&borrower_admin);
	list_for_each_entry_safe(loan, next, &loans, node)
		if (READ_ONCE(loan->revoked) || READ_ONCE(loan->dead))
			end_loan(loan, READ_ONCE(loan->dead));
	borrower_p2p_reap();
	mutex_unlock(&borrower_admin);
}

/* The lenders of two devices have lost each other. */
static int op_p2p_lost(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		       size_t room)
{
	if (!borrower_p2p_lose(peer, data))
		return -ENODEV;
	queue_work(system_long_wq, &reap);
	return 0;
}

void dlend_guest_bars(struct pci_dev *pdev, const void *machine,
		      const u64 bars[PCI_STD_NUM_BARS])
{
	struct borrower_loan *loan = borrower_loan_of(&pdev->dev);

	BUILD_BUG_ON(DLEND_GUEST_NOWHERE != DLEND_P2P_NOWHERE);
	BUILD_BUG_ON(PCI_STD_NUM_BARS != DLEND_BARS);
	if (loan && borrower_p2p_place(loan, machine, bars))
		queue_work(system_long_wq, &reap);
}
EXPORT_SYMBOL_GPL(dlend_guest_bars);

static int op_revoke(struct dlend_peer *peer, const void *data, size_t len,
		     void *resp, size_t room)
{
	const struct dlend_msg_revoke *req = data;
	struct borrower_loan *loan;
	int err = -ENODEV;

	spin_lock_irq(&borrower_lock);
	loan = find(le32_to_cpu(req->fdid));
	if (loan && loan->peer == peer &&
	    loan->number == le32_to_cpu(req->loan)) {
		if (req->gone) {
			WRITE_ONCE(loan->gone, true);
			borrower_dma_kill(loan);
		}
		WRITE_ONCE(loan->revoked, true);
		err = 0;
	}
	spin_unlock_irq(&borrower_lock);
	if (!err)
		queue_work(system_long_wq, &reap);
	return err;
}

static const struct dlend_op borrower_ops[] = {
	{ DLEND_OP_REVOKE, 0, sizeof(struct dlend_msg_revoke),
	  sizeof(struct dlend_msg_revoke), op_revoke },
	{ DLEND_OP_P2P_LOST, 0, sizeof(struct dlend_msg_p2p),
	  sizeof(struct dlend_msg_p2p), op_p2p_lost },
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
			kref_get(&loan->ref);
			found = loan;
			break;
		}
	}
	spin_unlock_irq(&borrower_lock);
	return found;
}

/* The locks of the PCI core may be held, so their users are left to the work. */
static void borrower_peer_down(struct dlend_peer *peer)
{
	struct borrower_loan *loan;

	while ((loan = find_open(peer))) {
		borrower_dma_kill(loan);
		close_windows(loan);
		kref_put(&loan->ref, free_loan);
	}
	borrower_p2p_peer_down(peer);
	queue_work(system_long_wq, &reap);
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
	bool found;

	if (event != BUS_NOTIFY_REMOVED_DEVICE)
		return NOTIFY_DONE;
	borrower_bridge_keep_bars(to_pci_dev(data), holds_bars);
	found = borrower_p2p_unplugged(data);
	spin_lock_irq(&borrower_lock);
	list_for_each_entry(loan, &loans, node) {
		struct pci_dev *pdev = READ_ONCE(loan->pdev);

		if (!pdev || &pdev->dev != data)
			continue;
		WRITE_ONCE(loan->removed, true);
		WRITE_ONCE(loan->revoked, true);
		found = true;
	}
	spin_unlock_irq(&borrower_lock);
	if (found)
		queue_work(system_long_wq, &reap);
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

static void return_all(void)
{
	struct borrower_loan *loan, *next;

	mutex_lock(&borrower_admin);
	list_for_each_entry_safe(loan, next, &loans, node)
		end_loan(loan, READ_ONCE(loan->dead));
	mutex_unlock(&borrower_admin);
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
	err = dlend_client_register(&borrower_client);
	if (err)
		return err;
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
	cancel_work_sync(&reap);
}

module_init(borrower_init);
module_exit(borrower_exit);
MODULE_DESCRIPTION("Device Lending: borrows PCI functions of other nodes");
MODULE_LICENSE("GPL");
