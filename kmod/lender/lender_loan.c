// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loans: the requests of borrowers, and the end of a loan.
 *
 * Bus mastering is off while no borrower has attached. When the borrower is lost, bus
 * mastering is switched off at once, because the windows that the device writes to may
 * soon lead elsewhere.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "lender.h"

static unsigned int attach_ms = 30000;
module_param(attach_ms, uint, 0644);
MODULE_PARM_DESC(attach_ms,
		 "time after which a loan ends that its borrower has not attached, in ms (30000)");

static bool closing;	/* the module goes */
static bool sleeping;	/* this node goes to sleep, or is asleep */
static atomic_t loan_numbers;

/* Makes the device silent before a reset. */
static void quiesce(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
	if (!pci_wait_for_pending_transaction(pdev))
		pci_warn(pdev, "transactions of the device are still pending before its reset\n");
}

void lender_restore(struct lender_device *d)
{
	struct pci_dev *pdev = d->pdev;

	if (!pci_load_saved_state(pdev, d->saved))
		pci_restore_state(pdev);
	/* The saved state may have bus mastering on. */
	pci_clear_master(pdev);
	/* Some kinds of reset leave on what the borrower has switched on. */
	if (pdev->msix_cap)
		pci_write_config_word(pdev, pdev->msix_cap + PCI_MSIX_FLAGS, 0);
	if (pdev->msi_cap)
		pci_write_config_word(pdev, pdev->msi_cap + PCI_MSI_FLAGS, 0);
}

void lender_reset(struct lender_device *d)
{
	struct pci_dev *pdev = d->pdev;
	int err;

	/* A function level reset would wait a minute for a device that was unplugged. */
	if (!pci_device_is_present(pdev))
		return;
	quiesce(pdev);
	pci_cfg_access_lock(pdev);
	err = __pci_reset_function_locked(pdev);
	lender_restore(d);
	pci_cfg_access_unlock(pdev);
	atomic64_inc(&lender_counts.resets);
	if (!err)
		return;

	atomic64_inc(&lender_counts.reset_failures);
	pci_warn(pdev, "%s, so its next user finds it in the state that the last user left\n",
		 err == -ENOTTY ? "it has no way to be reset" : "its reset failed");
}

/* @leaving: the loan that has ended, but for its windows; or NULL */
static void set_loan(struct lender_device *d, struct lender_loan *loan,
		     struct lender_loan *leaving)
{
	spin_lock_irq(&lender_lock);
	d->loan = loan;
	d->leaving = leaving;
	d->config_open = false;
	spin_unlock_irq(&lender_lock);
}

static void set_config_open(struct lender_device *d, bool open, bool resetting)
{
	spin_lock_irq(&lender_lock);
	/* If the peer is lost from here on, lender_peer_lost() finds it open. */
	d->config_open = open && dlend_peer_is_up(d->loan->peer);
	d->resetting = resetting;
	spin_unlock_irq(&lender_lock);
}

static void close_bars(struct lender_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		if (!loan->bars[i].size)
			continue;
		dlend_unexport(loan->bars[i].export);
		dma_unmap_resource(dlend_peer_dev(loan->peer), loan->bars[i].addr,
				   loan->bars[i].size, DMA_BIDIRECTIONAL, 0);
		loan->bars[i].size = 0;
	}
}

/* Lets the NTB forward the requests of the device. close_windows() undoes this. */
static int admit(struct lender_device *d, struct lender_loan *loan)
{
	int err = dlend_admit(loan->peer, pci_dev_id(d->pdev));

	loan->admitted = !err;
	return err == -ENOSPC ? -EUSERS : err;
}

static void close_windows(struct lender_device *d, struct lender_loan *loan)
{
	if (loan->admitted)
		dlend_expel(loan->peer, pci_dev_id(d->pdev));
	loan->admitted = false;
	close_bars(loan);
	lender_iommu_close(d, loan);
	if (loan->msi)
		dlend_unimport(loan->msi);
	if (loan->dma)
		dlend_unimport(loan->dma);
	loan->msi = NULL;
	loan->dma = NULL;
}

/*
 * A borrower that has given up BORROW before the lender came to it does not know of the loan,
 * so it neither attaches nor returns it. Such a loan ends by itself. The device lock is held.
 */
static void await_attach(struct lender_device *d)
{
	unsigned long patience = msecs_to_jiffies(READ_ONCE(attach_ms));

	d->loan->attach_by = jiffies + patience;
	kref_get(&d->ref);
	if (mod_delayed_work(lender_wq, &d->expire, patience))
		lender_put(d);
}

/* The device lock is held, and the caller has a reference. */
static void await_no_attach(struct lender_device *d)
{
	if (cancel_delayed_work(&d->expire))
		lender_put(d);
}

/*
 * Ends the loan of the device for its borrower. A reset follows, and then finish_loan().
 * The windows onto the BARs close before the reset: otherwise the borrower could change
 * the device after it. The windows that the device writes to close after the reset, when
 * it no longer writes.
 *
 * Return: the loan, or NULL if there is none.
 */
static struct lender_loan *stop_loan(struct lender_device *d)
{
	struct lender_loan *loan = d->loan;

	if (!loan)
		return NULL;
	await_no_attach(d);
	set_loan(d, NULL, loan);
	if (loan->attached) {
		pci_clear_master(d->pdev);
		lender_irq_close(loan);
		lender_p2p_end(d);
		close_bars(loan);
	}
	return loan;
}

static void finish_loan(struct lender_device *d, struct lender_loan *loan)
{
	close_windows(d, loan);
	set_loan(d, NULL, NULL);
	if (loan->attached)
		pci_info(d->pdev, "device %x is back from node %u\n", d->fdid,
			 dlend_peer_node(loan->peer));
	else
		pci_info(d->pdev, "device %x stays here: node %u has not attached it\n",
			 d->fdid, dlend_peer_node(loan->peer));
	dlend_peer_put(loan->peer);
	kfree(loan);
	complete_all(&d->idle);
}

void lender_end_loan(struct lender_device *d)
{
	struct lender_loan *loan = stop_loan(d);

	if (!loan)
		return;
	if (loan->attached)
		lender_reset(d);
	finish_loan(d, loan);
}

void lender_reset_begins(struct lender_device *d)
{
	d->ending = stop_loan(d);
	quiesce(d->pdev);
}

void lender_reset_ends(struct lender_device *d)
{
	lender_restore(d);
	if (d->ending)
		finish_loan(d, d->ending);
	d->ending = NULL;
}

/* Meanwhile the borrower may have returned the device, and another one may have it. */
static void fail_work(struct work_struct *work)
{
	struct lender_device *d = container_of(work, struct lender_device, fail);

	device_lock(&d->pdev->dev);
	if (d->loan && d->loan->failed)
		lender_end_loan(d);
	device_unlock(&d->pdev->dev);
	lender_put(d);
}

/*
 * If the borrower attaches now, the lock decides: either the loan is attached here, or ATTACH
 * finds no loan. The work may also come too late to be cancelled, and find a newer loan.
 */
static void expire_work(struct work_struct *work)
{
	struct lender_device *d = container_of(to_delayed_work(work), struct lender_device,
					       expire);

	device_lock(&d->pdev->dev);
	if (d->loan && !d->loan->attached && time_after_eq(jiffies, d->loan->attach_by))
		lender_end_loan(d);
	device_unlock(&d->pdev->dev);
	lender_put(d);
}

void lender_fail(struct lender_device *d)
{
	if (!d->loan)
		return;
	d->loan->failed = true;
	set_config_open(d, false, false);
	pci_clear_master(d->pdev);
	lender_revoke(d, true);
	kref_get(&d->ref);
	if (!queue_work(lender_wq, &d->fail))
		lender_put(d);
}

void lender_loan_prepare(struct lender_device *d)
{
	INIT_WORK(&d->fail, fail_work);
	INIT_DELAYED_WORK(&d->expire, expire_work);
}

static void put_device_info(struct dlend_msg_device *msg,
			    const struct dlend_device_info *info)
{
	memset(msg, 0, sizeof(*msg));
	msg->fdid = cpu_to_le32(info->fdid);
	msg->state = cpu_to_le32(info->state);
	msg->borrower = cpu_to_le32(info->borrower);
	msg->bdf = cpu_to_le32(info->bdf);
	msg->vendor = cpu_to_le16(info->vendor);
	msg->device = cpu_to_le16(info->device);
	msg->subsystem_vendor = cpu_to_le16(info->subsystem_vendor);
	msg->subsystem_device = cpu_to_le16(info->subsystem_device);
	msg->class = cpu_to_le32(info->class);
	msg->physical = cpu_to_le16(info->physical);
	msg->physical_device = cpu_to_le16(info->physical_device);
	msg->virtual_number = cpu_to_le16(info->virtual_number);
	msg->is_virtual = cpu_to_le16(info->is_virtual);
	msg->fabric = cpu_to_le64(info->fabric);
	msg->dma_window = cpu_to_le64(info->dma_window);
	strscpy(msg->driver, info->driver, sizeof(msg->driver));
}

/*
 * Return: whether the device belongs to the node that @peer sees here. In the loopback
 * both ends ask this lender, and each must see the devices of one node only.
 */
static bool is_asked_for(struct dlend_peer *peer, u32 fdid)
{
	return fdid >> 16 == dlend_peer_self(peer);
}

static int op_list(struct dlend_peer *peer, const void *data, size_t len,
		   void *resp, size_t room)
{
	const struct dlend_msg_list *req = data;
	struct dlend_msg_list_answer *answer = resp;
	struct lender_device *list[DLEND_DEVICES_MAX];
	struct dlend_device_info info;
	unsigned int i, n, count = 0;

	n = lender_collect(list, DLEND_DEVICES_MAX);
	for (i = 0; i < n; i++) {
		if (is_asked_for(peer, list[i]->fdid) &&
		    list[i]->fdid >= le32_to_cpu(req->first) &&
		    count < DLEND_LIST_MAX) {
			lender_describe(list[i], &info);
			put_device_info(&answer->devices[count++], &info);
		}
		lender_put(list[i]);
	}
	answer->count = cpu_to_le32(count);
	answer->reserved = 0;
	return struct_size(answer, devices, count);
}

static bool is_memory_bar(struct pci_dev *pdev, unsigned int i)
{
	return pci_resource_len(pdev, i) &&
	       pci_resource_flags(pdev, i) & IORESOURCE_MEM;
}

static u32 bar_flags(struct pci_dev *pdev, unsigned int i)
{
	unsigned long flags = pci_resource_flags(pdev, i);
	u32 bits = 0;

	if (flags & IORESOURCE_MEM_64)
		bits |= PCI_BASE_ADDRESS_MEM_TYPE_64;
	if (flags & IORESOURCE_PREFETCH)
		bits |= PCI_BASE_ADDRESS_MEM_PREFETCH;
	return bits;
}

/* The device lock is held. */
static enum dlend_borrow_status make_loan(struct lender_device *d,
					  struct dlend_peer *peer,
					  struct dlend_msg_borrow_answer *answer)
{
	struct lender_loan *loan;

	/*
	 * A borrower that asks again does not have the loan any more. Either our
	 * response came too late, or the borrower's RETURN did not arrive.
	 */
	if (d->loan && d->loan->peer == peer)
		lender_end_loan(d);
	if (d->loan) {
		answer->holder = cpu_to_le32(dlend_peer_node(d->loan->peer));
		return DLEND_BORROW_TAKEN;
	}
	if (!d->bound || READ_ONCE(closing) || dlend_going_down())
		return DLEND_BORROW_UNAVAILABLE;
	loan = kzalloc(sizeof(*loan), GFP_KERNEL);
	if (!loan)
		return DLEND_BORROW_UNAVAILABLE;
	loan->peer = dlend_peer_get(peer);
	loan->number = atomic_inc_return(&loan_numbers);
	reinit_completion(&d->idle);
	set_loan(d, loan, NULL);
	await_attach(d);
	answer->loan = cpu_to_le32(loan->number);
	return DLEND_BORROW_OK;
}

/* Gives the reference to the device back. Return: the length of the answer. */
static int describe_device(struct lender_device *d, struct dlend_msg_borrow_answer *answer)
{
	struct dlend_device_info info;
	unsigned int i;

	lender_describe(d, &info);
	put_device_info(&answer->device, &info);
	for (i = 0; i < DLEND_BARS; i++) {
		if (!is_memory_bar(d->pdev, i))
			continue;
		answer->bars[i].size = cpu_to_le64(pci_resource_len(d->pdev, i));
		answer->bars[i].flags = cpu_to_le32(bar_flags(d->pdev, i));
	}
	lender_put(d);
	return sizeof(*answer);
}

static int op_borrow(struct dlend_peer *peer, const void *data, size_t len,
		     void *resp, size_t room)
{
	const struct dlend_msg_borrow *req = data;
	struct dlend_msg_borrow_answer *answer = resp;
	u32 fdid = le32_to_cpu(req->fdid);
	struct lender_device *d;
	enum dlend_borrow_status status;
	struct dlend_why why;

	memset(answer, 0, sizeof(*answer));
	/* The adapter may have come after the device was made available. */
	if (!lender_iommu_bounds(peer, &why))
		return lender_refuse(peer, -EPERM, why.text);
	d = is_asked_for(peer, fdid) ? lender_get(fdid) : NULL;
	if (!d) {
		answer->status = cpu_to_le32(DLEND_BORROW_UNKNOWN);
		return sizeof(*answer);
	}
	/* Its lock may be held while another borrower's windows close. */
	answer->holder = cpu_to_le32(lender_holder(d, peer));
	if (answer->holder) {
		answer->status = cpu_to_le32(DLEND_BORROW_TAKEN);
		return describe_device(d, answer);
	}
	device_lock(&d->pdev->dev);
	if (READ_ONCE(sleeping)) {
		device_unlock(&d->pdev->dev);
		lender_put(d);
		return lender_refuse(peer, -EHOSTDOWN, "this node goes to sleep");
	}
	status = make_loan(d, peer, answer);
	device_unlock(&d->pdev->dev);
	answer->weight = cpu_to_le32(lender_weight(d));
	answer->status = cpu_to_le32(status);
	return describe_device(d, answer);
}

static int open_bars(struct lender_device *d, struct lender_loan *loan,
		     struct dlend_msg_attach_answer *answer)
{
	struct device *ntb = dlend_peer_dev(loan->peer);
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		u64 size = pci_resource_len(d->pdev, i);
		struct dlend_export *export;
		dma_addr_t addr;
		int err;

		if (!is_memory_bar(d->pdev, i))
			continue;
		err = lender_check_reach(d->pdev, i, loan->peer);
		if (err)
			return err;
		addr = dma_map_resource(ntb, pci_resource_start(d->pdev, i),
					size, DMA_BIDIRECTIONAL, 0);
		if (dma_mapping_error(ntb, addr))
			return -ENOMEM;
		export = dlend_export(loan->peer, addr, size, 0,
				      &answer->bars[i]);
		if (IS_ERR(export)) {
			dma_unmap_resource(ntb, addr, size, DMA_BIDIRECTIONAL,
					   0);
			return PTR_ERR(export);
		}
		loan->bars[i].export = export;
		loan->bars[i].addr = addr;
		loan->bars[i].size = size;
	}
	return 0;
}

/* The device lock is held. The caller undoes this by close_windows(), also on error. */
static int open_windows(struct lender_device *d, struct lender_loan *loan,
			const struct dlend_msg_attach *req,
			struct dlend_msg_attach_answer *answer)
{
	u64 dma_bus, msi_bus;
	int err;

	loan->dma = dlend_import(loan->peer, &req->dma);
	if (IS_ERR(loan->dma)) {
		err = PTR_ERR(loan->dma);
		loan->dma = NULL;
		return err;
	}
	loan->msi = dlend_import(loan->peer, &req->msi);
	if (IS_ERR(loan->msi)) {
		err = PTR_ERR(loan->msi);
		loan->msi = NULL;
		return err;
	}
	err = admit(d, loan);
	if (err)
		return err;
	err = lender_iommu_open(d, loan, req, &dma_bus, &msi_bus);
	if (err)
		return err;
	answer->dma_bus = cpu_to_le64(dma_bus);
	answer->msi_bus = cpu_to_le64(msi_bus);
	return open_bars(d, loan, answer);
}

static void open_config(struct lender_device *d, struct lender_loan *loan,
			struct dlend_msg_attach_answer *answer)
{
	unsigned int i;
	u32 value;

	lender_config_make(d);
	d->config.msi_bus = le64_to_cpu(answer->msi_bus);
	d->config.msi_size = loan->msi->size;
	answer->live = cpu_to_le64(lender_config_live(&d->config));
	spin_lock_irq(&lender_lock);
	for (i = 0; i < DLEND_CFG_SIZE; i += 4) {
		value = lender_config_read(d, i, 4);
		put_unaligned_le32(value, answer->config + i);
	}
	d->config_open = true;
	spin_unlock_irq(&lender_lock);
}

static int attach(struct lender_device *d, struct lender_loan *loan,
		  const struct dlend_msg_attach *req,
		  struct dlend_msg_attach_answer *answer)
{
	u16 command;
	int err;

	if (loan->attached)
		return lender_refuse(loan->peer, -EBUSY, "its windows are open already");
	if (le32_to_cpu(req->flags) & ~(DLEND_ATTACH_TRANSLATED | DLEND_ATTACH_GUEST))
		return lender_refuse(loan->peer, -EINVAL, "unknown flags");
	if (le32_to_cpu(req->flags) & DLEND_ATTACH_GUEST &&
	    (!d->group || !(le32_to_cpu(req->flags) & DLEND_ATTACH_TRANSLATED)))
		return lender_refuse(loan->peer, -EOPNOTSUPP,
				     "a virtual machine needs an IOMMU at both ends");
	if (!(le32_to_cpu(req->flags) & DLEND_ATTACH_GUEST) &&
	    !lender_check_interrupts(d->pdev))
		return lender_refuse(loan->peer, -ENOTTY,
				     "a line interrupt reaches only virtual machines");
	err = open_windows(d, loan, req, answer);
	if (err) {
		pci_info_ratelimited(d->pdev, "device %x cannot be lent to node %u: its windows are refused with error %d\n",
				     d->fdid, dlend_peer_node(loan->peer), -err);
		close_windows(d, loan);
		return err;
	}
	/* This node has no driver that would handle a line interrupt. */
	pci_read_config_word(d->pdev, PCI_COMMAND, &command);
	pci_write_config_word(d->pdev, PCI_COMMAND,
			      command | PCI_COMMAND_INTX_DISABLE);
	loan->guest = le32_to_cpu(req->flags) & DLEND_ATTACH_GUEST;
	loan->dma_size = loan->dma->size;
	loan->dma_bus = le64_to_cpu(answer->dma_bus);
	open_config(d, loan, answer);
	loan->attached = true;
	await_no_attach(d);
	atomic64_inc(&lender_counts.loans);
	pci_info(d->pdev, "device %x is lent to node %u\n", d->fdid,
		 dlend_peer_node(loan->peer));
	return sizeof(*answer);
}

/* Return: the device, locked and with a reference; NULL if @peer has no such loan. */
static struct lender_device *lock_loan(struct dlend_peer *peer, __le32 fdid,
				       __le32 number)
{
	struct lender_device *d = lender_get(le32_to_cpu(fdid));

	if (!d)
		return NULL;
	device_lock(&d->pdev->dev);
	if (d->loan && d->loan->peer == peer &&
	    d->loan->number == le32_to_cpu(number))
		return d;
	device_unlock(&d->pdev->dev);
	lender_put(d);
	return NULL;
}

static void unlock_loan(struct lender_device *d)
{
	device_unlock(&d->pdev->dev);
	lender_put(d);
}

static int op_attach(struct dlend_peer *peer, const void *data, size_t len,
		     void *resp, size_t room)
{
	const struct dlend_msg_attach *req = data;
	struct lender_device *d = lock_loan(peer, req->fdid, req->loan);
	int ret;

	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	memset(resp, 0, sizeof(struct dlend_msg_attach_answer));
	ret = attach(d, d->loan, req, resp);
	unlock_loan(d);
	return ret;
}

static int op_return(struct dlend_peer *peer, const void *data, size_t len,
		     void *resp, size_t room)
{
	const struct dlend_msg_return *req = data;
	struct lender_device *d = lock_loan(peer, req->fdid, req->loan);

	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	lender_end_loan(d);
	unlock_loan(d);
	return 0;
}

/* The windows stay. */
static int op_reset(struct dlend_peer *peer, const void *data, size_t len,
		    void *resp, size_t room)
{
	const struct dlend_msg_return *req = data;
	struct lender_device *d = lock_loan(peer, req->fdid, req->loan);
	int ret = 0;

	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	if (d->loan->attached) {
		set_config_open(d, false, true);
		lender_irq_close(d->loan);
		lender_reset(d);
		pci_write_config_word(d->pdev, PCI_COMMAND,
				      PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE);
		set_config_open(d, true, false);
	} else {
		ret = lender_refuse(peer, -EINVAL, LENDER_NO_WINDOWS);
	}
	unlock_loan(d);
	return ret;
}

static int op_irq_set(struct dlend_peer *peer, const void *data, size_t len, void *resp,
		      size_t room)
{
	const struct dlend_msg_irq_set *req = data;
	struct dlend_msg_irq_set_answer *answer = resp;
	u32 kind = le32_to_cpu(req->kind), count = le32_to_cpu(req->count);
	struct lender_device *d;
	int err;

	if (kind > DLEND_IRQ_MSIX || count > DLEND_IRQ_VECTORS || !kind != !count)
		return lender_refuse(peer, -EINVAL, "there are no such interrupts");
	d = lock_loan(peer, req->fdid, req->loan);
	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	if (!d->loan->attached)
		err = lender_refuse(peer, -EINVAL, LENDER_NO_WINDOWS);
	else if (!d->loan->guest)
		err = lender_refuse(peer, -EOPNOTSUPP, "the loan is not for a virtual machine");
	else
		err = lender_irq_open(d, d->loan, kind, count);
	*answer = (struct dlend_msg_irq_set_answer) {
		.has_line = cpu_to_le32(lender_irq_has_line(d->pdev)),
	};
	unlock_loan(d);
	return err ?: sizeof(*answer);
}

static int op_irq_unmask(struct dlend_peer *peer, const void *data, size_t len, void *resp,
			 size_t room)
{
	const struct dlend_msg_irq_unmask *req = data;
	struct lender_device *d;
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&lender_lock, flags);
	d = lender_of_loan(peer, le32_to_cpu(req->fdid), le32_to_cpu(req->loan));
	if (d)
		err = lender_irq_unmask(d, le32_to_cpu(req->number));
	spin_unlock_irqrestore(&lender_lock, flags);
	return err ? lender_refuse(peer, err, "it has no line interrupt") : 0;
}

/* Interrupts are off, as in all atomic handlers. */
static int access_config(struct dlend_peer *peer, const struct dlend_msg_cfg *req,
			 struct dlend_msg_cfg_answer *answer, bool write)
{
	unsigned int at = le16_to_cpu(req->offset);
	unsigned int size = le16_to_cpu(req->size);
	struct lender_device *d;
	unsigned long flags;
	u32 value;

	if ((size != 1 && size != 2 && size != 4) || at % size ||
	    at + size > DLEND_CFG_SPACE)
		return lender_refuse(peer, -EINVAL, LENDER_NO_REGISTER);

	spin_lock_irqsave(&lender_lock, flags);
	d = lender_of_loan(peer, le32_to_cpu(req->fdid),
			   le32_to_cpu(req->loan));
	if (!d || !d->config_open) {
		bool busy = d && d->resetting;

		spin_unlock_irqrestore(&lender_lock, flags);
		if (busy)
			return -EBUSY;
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	}
	if (write) {
		atomic64_inc(&lender_counts.config_writes);
		lender_config_write(d, at, size, le32_to_cpu(req->value));
		value = lender_config_read(d, at & ~3, 4);
	} else {
		atomic64_inc(&lender_counts.config_reads);
		value = lender_config_read(d, at, size);
	}
	spin_unlock_irqrestore(&lender_lock, flags);
	answer->value = cpu_to_le32(value);
	return sizeof(*answer);
}

static int op_cfg_read(struct dlend_peer *peer, const void *data, size_t len,
		       void *resp, size_t room)
{
	return access_config(peer, data, resp, false);
}

static int op_cfg_write(struct dlend_peer *peer, const void *data, size_t len,
			void *resp, size_t room)
{
	return access_config(peer, data, resp, true);
}

static int op_cfg_extended(struct dlend_peer *peer, const void *data, size_t len,
			   void *resp, size_t room)
{
	const struct dlend_msg_extended *req = data;
	struct dlend_msg_extended_answer *answer = resp;
	u32 at = le32_to_cpu(req->offset);
	struct lender_device *d;
	int ret = sizeof(*answer);

	if (at < DLEND_CFG_SIZE || at > DLEND_CFG_SPACE - DLEND_CFG_PIECE)
		return lender_refuse(peer, -EINVAL, LENDER_NO_REGISTER);
	d = lock_loan(peer, req->fdid, req->loan);
	if (!d)
		return lender_refuse(peer, -ENODEV, LENDER_NO_LOAN);
	spin_lock_irq(&lender_lock);
	if (d->config_open)
		memcpy(answer->config, d->config.shown + at, DLEND_CFG_PIECE);
	else
		ret = lender_refuse(peer, -ENODEV, LENDER_NO_WINDOWS);
	spin_unlock_irq(&lender_lock);
	unlock_loan(d);
	return ret;
}

#define OP(op, flags, type, handler) \
	{ op, flags, sizeof(struct type), sizeof(struct type), handler }

static const struct dlend_op lender_ops[] = {
	OP(DLEND_OP_LIST, 0, dlend_msg_list, op_list),
	OP(DLEND_OP_BORROW, 0, dlend_msg_borrow, op_borrow),
	OP(DLEND_OP_ATTACH, 0, dlend_msg_attach, op_attach),
	OP(DLEND_OP_RETURN, 0, dlend_msg_return, op_return),
	OP(DLEND_OP_CFG_READ, DLEND_ATOMIC, dlend_msg_cfg, op_cfg_read),
	OP(DLEND_OP_CFG_WRITE, DLEND_ATOMIC, dlend_msg_cfg, op_cfg_write),
	OP(DLEND_OP_CFG_EXTENDED, 0, dlend_msg_extended, op_cfg_extended),
	OP(DLEND_OP_RESET, 0, dlend_msg_return, op_reset),
	OP(DLEND_OP_IRQ_SET, 0, dlend_msg_irq_set, op_irq_set),
	OP(DLEND_OP_IRQ_UNMASK, DLEND_ATOMIC, dlend_msg_irq_unmask, op_irq_unmask),
};

static void lender_peer_up(struct dlend_peer *peer)
{
}

/* Any context. */
static void lender_peer_lost(struct dlend_peer *peer)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&lender_lock, flags);
	for (i = 0; i < DLEND_DEVICES_MAX; i++) {
		struct lender_device *d = lender_devices[i];
		u16 command;

		if (!d || !d->loan || d->loan->peer != peer ||
		    !d->config_open)
			continue;
		d->config_open = false;
		pci_read_config_word(d->pdev, PCI_COMMAND, &command);
		pci_write_config_word(d->pdev, PCI_COMMAND,
				      command & ~PCI_COMMAND_MASTER);
	}
	spin_unlock_irqrestore(&lender_lock, flags);
}

static void lender_peer_down(struct dlend_peer *peer)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	unsigned int i, n = lender_collect(list, DLEND_DEVICES_MAX);

	lender_p2p_peer_down(peer);
	for (i = 0; i < n; i++) {
		/* The lock of another device may be held over a wait for another peer. */
		if (lender_is_held_by(list[i], peer)) {
			device_lock(&list[i]->pdev->dev);
			if (list[i]->loan && list[i]->loan->peer == peer)
				lender_end_loan(list[i]);
			device_unlock(&list[i]->pdev->dev);
		}
		lender_put(list[i]);
	}
}

static struct dlend_client lender_client = {
	.peer_up = lender_peer_up,
	.peer_lost = lender_peer_lost,
	.peer_down = lender_peer_down,
};

int lender_loan_init(void)
{
	int err = lender_irq_init();

	if (err)
		return err;
	err = dlend_client_register(&lender_client);
	if (err)
		goto irq;
	err = dlend_ops_register(lender_ops, ARRAY_SIZE(lender_ops));
	if (!err)
		return 0;
	dlend_client_unregister(&lender_client);
irq:
	lender_irq_exit();
	return err;
}

void lender_loan_stop(void)
{
	WRITE_ONCE(closing, true);
}

void lender_loan_sleep(bool asleep)
{
	WRITE_ONCE(sleeping, asleep);
}

void lender_loan_exit(void)
{
	dlend_ops_unregister(lender_ops, ARRAY_SIZE(lender_ops));
	dlend_client_unregister(&lender_client);
	lender_irq_exit();
}
