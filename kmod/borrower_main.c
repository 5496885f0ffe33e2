// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loans: a device of another node becomes a function of this node. The function is
 * removed when the device is returned, or when its lender is lost.
 */
#include <linux/module.h>
#include <linux/mutex.h>
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

/* Checks and stores the BARs that the lender describes. */
static int check_bars(struct borrower_loan *loan,
		      const struct dlend_msg_borrow_answer *answer)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		struct borrower_bar *bar = &loan->bars[i];

		bar->size = le64_to_cpu(answer->bars[i].size);
		bar->flags = le32_to_cpu(answer->bars[i].flags);
		if (!bar->size)
			continue;
		if (!is_power_of_2(bar->size) || bar->size < 16 ||
		    bar->flags & ~(PCI_BASE_ADDRESS_MEM_TYPE_64 |
				   PCI_BASE_ADDRESS_MEM_PREFETCH))
			return -EPROTO;
		if (bar->flags & PCI_BASE_ADDRESS_MEM_TYPE_64) {
			if (i == DLEND_BARS - 1 || answer->bars[i + 1].size)
				return -EPROTO;
		} else if (bar->size > SZ_2G) {
			return -EPROTO;
		}
	}
	return 0;
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
	ret = check_bars(loan, &answer);
	if (ret)
		return dlend_why_set(why, ret, "node %u described BARs that no device has",
				     node);
	return 0;
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
	if (ret >= 0 && ret != sizeof(*answer))
		ret = -EPROTO;
	if (ret < 0)
		return dlend_why_set(why, ret,
				     "node %u could not open its windows: error %d",
				     node, -ret);
	loan->dma_bus = le64_to_cpu(answer->dma_bus);
	loan->msi_bus = le64_to_cpu(answer->msi_bus);
	loan->live = le64_to_cpu(answer->live);
	memcpy(loan->config, answer->config, sizeof(loan->config));
	if (loan->dma_bus + loan->dma_size < loan->dma_bus)
		return dlend_why_set(why, -EPROTO,
				     "node %u answered with a DMA window that wraps around", node);
	return 0;
}

static void send_return(struct borrower_loan *loan)
{
	struct dlend_msg_return req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
	};
	int ret;

	if (READ_ONCE(loan->dead))
		return;
	ret = dlend_call(loan->peer, DLEND_OP_RETURN, &req, sizeof(req), NULL, 0,
			 ATTACH_TIMEOUT_MS);
	if (ret < 0)
		pr_warn("dl_borrower: device %x: node %u has not taken it back: error %d\n",
			loan->fdid, dlend_peer_node(loan->peer), -ret);
}

static void close_bars(struct borrower_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		if (loan->bars[i].import)
			dlend_unimport(loan->bars[i].import);
		loan->bars[i].import = NULL;
	}
}

static int open_bars(struct borrower_loan *loan,
		     const struct dlend_msg_attach_answer *answer,
		     struct dlend_why *why)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		struct borrower_bar *bar = &loan->bars[i];
		struct dlend_import *import;
		int err = -EPROTO;

		if (!bar->size)
			continue;
		import = dlend_import(loan->peer, &answer->bars[i]);
		if (IS_ERR(import)) {
			err = PTR_ERR(import);
		} else {
			bar->import = import;
			if (import->size == bar->size)
				continue;
		}
		return dlend_why_set(why, err,
				     "node %u answered with a wrong window for BAR %u",
				     dlend_peer_node(loan->peer), i);
	}
	return 0;
}

/* Undoes send_borrow() and attach(), also if they failed half way. */
static void dismantle(struct borrower_loan *loan, bool surprise)
{
	borrower_bridge_remove(loan, surprise);
	close_bars(loan);
	/* The lender resets the device before this node closes the device's windows. */
	if (loan->number)
		send_return(loan);
	borrower_msi_stop(loan);
	borrower_dma_stop(loan);
}

static void unlist(struct borrower_loan *loan)
{
	spin_lock_irq(&borrower_lock);
	list_del(&loan->node);
	spin_unlock_irq(&borrower_lock);
}

static void free_loan(struct borrower_loan *loan)
{
	put_device(loan->requester);
	dlend_peer_put(loan->peer);
	kfree(loan);
}

/* borrower_admin is held. */
static void end_loan(struct borrower_loan *loan, bool surprise)
{
	u32 fdid = loan->fdid, node = dlend_peer_node(loan->peer);

	dismantle(loan, surprise);
	unlist(loan);
	atomic64_inc(surprise ? &borrower_counts.lost :
				&borrower_counts.returned);
	pr_info("dl_borrower: device %x of node %u %s\n", fdid, node,
		surprise ? "is lost" : "is returned");
	free_loan(loan);
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
	if (err)
		return err;
	err = open_bars(loan, &answer, why);
	if (err)
		return err;
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
	loan->fdid = fdid;
	loan->peer = dlend_peer_get(peer);
	spin_lock_init(&loan->config_lock);
	spin_lock_init(&loan->dma_lock);
	return loan;
}

/* borrower_admin is held. */
static int borrow(struct dlend_peer *peer, u32 fdid, u64 window,
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
	/* Enter the loan into the list first, so that a loss or a REVOKE finds it. */
	spin_lock_irq(&borrower_lock);
	list_add_tail(&loan->node, &loans);
	spin_unlock_irq(&borrower_lock);
	/* If the peer was lost before the entry, the calls below fail. */
	err = send_borrow(loan, why);
	if (!err)
		err = attach(loan, window, why);
	if (err) {
		dismantle(loan, READ_ONCE(loan->dead));
		unlist(loan);
		free_loan(loan);
		return err;
	}
	atomic64_inc(&borrower_counts.loans);
	if (info)
		describe(loan, info);
	return 0;
}

int dlend_borrower_borrow(u32 fdid, u64 window, struct dlend_loan_info *info,
			  struct dlend_why *why)
{
	struct dlend_peer *peer = dlend_peer_find(fdid >> 16);
	int err;

	if (!peer)
		return dlend_why_set(why, -ENOENT, "node %u was never connected",
				     fdid >> 16);
	mutex_lock(&borrower_admin);
	if (dlend_peer_is_up(peer))
		err = borrow(peer, fdid, window, info, why);
	else
		err = dlend_why_set(why, -ENOTCONN, "node %u is not connected",
				    fdid >> 16);
	mutex_unlock(&borrower_admin);
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

/* Ends the loans that lenders have revoked. The handler must not: it cannot call the peer. */
static void revoke_work(struct work_struct *work)
{
	struct borrower_loan *loan, *next;

	mutex_lock(&borrower_admin);
	list_for_each_entry_safe(loan, next, &loans, node)
		if (READ_ONCE(loan->revoked))
			end_loan(loan, READ_ONCE(loan->dead));
	mutex_unlock(&borrower_admin);
}

static DECLARE_WORK(revoke, revoke_work);

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
		if (req->gone)
			borrower_dma_kill(loan);
		WRITE_ONCE(loan->revoked, true);
		err = 0;
	}
	spin_unlock_irq(&borrower_lock);
	if (!err)
		queue_work(system_long_wq, &revoke);
	return err;
}

static const struct dlend_op borrower_ops[] = {
	{ DLEND_OP_REVOKE, 0, sizeof(struct dlend_msg_revoke),
	  sizeof(struct dlend_msg_revoke), op_revoke },
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

static void borrower_peer_down(struct dlend_peer *peer)
{
	struct borrower_loan *loan, *next;

	mutex_lock(&borrower_admin);
	list_for_each_entry_safe(loan, next, &loans, node)
		if (loan->peer == peer)
			end_loan(loan, true);
	mutex_unlock(&borrower_admin);
}

static struct dlend_client borrower_client = {
	.peer_up = borrower_peer_up,
	.peer_lost = borrower_peer_lost,
	.peer_down = borrower_peer_down,
};

static int __init borrower_init(void)
{
	int err = dlend_client_register(&borrower_client);

	if (err)
		return err;
	err = dlend_ops_register(borrower_ops, ARRAY_SIZE(borrower_ops));
	if (err) {
		dlend_client_unregister(&borrower_client);
		return err;
	}
	borrower_stats_init();
	return 0;
}

static void __exit borrower_exit(void)
{
	struct borrower_loan *loan, *next;

	borrower_stats_exit();
	mutex_lock(&borrower_admin);
	list_for_each_entry_safe(loan, next, &loans, node)
		end_loan(loan, READ_ONCE(loan->dead));
	mutex_unlock(&borrower_admin);
	dlend_ops_unregister(borrower_ops, ARRAY_SIZE(borrower_ops));
	dlend_client_unregister(&borrower_client);
	cancel_work_sync(&revoke);
}

module_init(borrower_init);
module_exit(borrower_exit);
MODULE_DESCRIPTION("Device Lending: borrows PCI functions of other nodes");
MODULE_LICENSE("GPL");
