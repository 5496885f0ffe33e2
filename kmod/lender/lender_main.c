// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orders of the administrator, who decides which devices this node may lend. A device
 * goes from its own driver to ours and back.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#include "lender.h"

#define DRIVER_NAME "dl_lender"

/* Time that borrowers have to return their devices when the module or the node goes. */
#define REVOKE_TIMEOUT_MS 10000

unsigned int dlend_lender_list(struct dlend_device_info *infos,
			       unsigned int max)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	unsigned int i, n;

	n = lender_collect(list, min_t(unsigned int, max, DLEND_DEVICES_MAX));
	for (i = 0; i < n; i++) {
		lender_describe(list[i], &infos[i]);
		lender_put(list[i]);
	}
	return n;
}
EXPORT_SYMBOL_GPL(dlend_lender_list);

/*
 * A device has this driver while it may be lent. The driver has no ID table, so it gets
 * a device only by driver_override, and it accepts only devices of our own table.
 */
static int lender_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct lender_device *list[DLEND_DEVICES_MAX], *d = NULL;
	unsigned int i, n = lender_collect(list, DLEND_DEVICES_MAX);
	int err;

	for (i = 0; i < n; i++) {
		if (list[i]->pdev == pdev && list[i]->taken)
			d = list[i];
		else
			lender_put(list[i]);
	}
	if (!d)
		return -ENODEV;

	err = pci_enable_device_mem(pdev);
	if (err)
		goto put;
	pci_clear_master(pdev);
	err = lender_iommu_claim(d);
	if (err) {
		pci_err(pdev, "dl_lender cannot own the device's IOMMU group: error %d\n", -err);
		goto disable;
	}
	/* A request that the device calls translated (ATS) would pass the IOMMU unchecked. */
	d->was_untrusted = pdev->untrusted;
	pdev->untrusted = true;
	dlend_report_errors(pdev, true);
	pci_save_state(pdev);
	d->saved = pci_store_saved_state(pdev);
	if (!d->saved) {
		err = -ENOMEM;
		goto release;
	}
	lender_reset(d);
	d->bound = true;
	pci_set_drvdata(pdev, d);
	return 0;

release:
	dlend_report_errors(pdev, false);
	pdev->untrusted = d->was_untrusted;
	lender_iommu_release(d);
disable:
	pci_disable_device(pdev);
put:
	lender_put(d);
	return err;
}

static void lender_unbind(struct pci_dev *pdev)
{
	struct lender_device *d = pci_get_drvdata(pdev);

	d->bound = false;
	/* A device still on loan was unbound in sysfs or unplugged: it is gone. */
	lender_tell_gone(d);
	lender_end_loan(d);
	kfree(d->saved);
	d->saved = NULL;
	dlend_report_errors(pdev, false);
	lender_iommu_release(d);
	pdev->untrusted = d->was_untrusted;
	pci_disable_device(pdev);
	lender_put(d);
}

/* The node goes down, or another kernel starts: the device must not write any more. */
static void lender_shutdown(struct pci_dev *pdev)
{
	struct lender_device *d = pci_get_drvdata(pdev);

	d->bound = false;
	lender_end_loan(d);
	pci_clear_master(pdev);
}

static const char *name_of(pci_channel_state_t state)
{
	switch (state) {
	case pci_channel_io_normal:
		return "a non-fatal error";
	case pci_channel_io_frozen:
		return "a fatal error";
	default:
		return "an error for which there is no recovery";
	}
}

/*
 * The PCI core found an error of the device or of its link (AER, DPC) that was not
 * corrected. Also after a non-fatal error some request or its data is lost. Nothing tells
 * the borrower's driver which, so to that driver the device goes away. The device lock is
 * held.
 */
static pci_ers_result_t lender_error(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct lender_device *d = pci_get_drvdata(pdev);

	if (d->loan)
		pci_err(pdev, "device %x has %s; its loan to node %u ends\n", d->fdid,
			name_of(state), dlend_peer_node(d->loan->peer));
	else
		pci_err(pdev, "device %x has %s; nobody has borrowed it\n", d->fdid,
			name_of(state));
	lender_fail(d);
	switch (state) {
	case pci_channel_io_normal:
		return PCI_ERS_RESULT_CAN_RECOVER;
	case pci_channel_io_frozen:
		return PCI_ERS_RESULT_NEED_RESET;
	default:
		return PCI_ERS_RESULT_DISCONNECT;
	}
}

/*
 * The link was reset, so the device has lost its configuration. If it was lent, lender_fail()
 * has seen to another reset at the end of the loan. The device lock is held.
 */
static pci_ers_result_t lender_slot_reset(struct pci_dev *pdev)
{
	lender_restore(pci_get_drvdata(pdev));
	return PCI_ERS_RESULT_RECOVERED;
}

/*
 * Somebody on this node resets the device: by sysfs, or together with another function of
 * its bus. The PCI core restores the configuration space, but the MSI-X table and the queues
 * of the borrower's driver are lost, and that driver does not know. So to it the device goes
 * away. The device lock is held from here until lender_reset_done(). The core does not
 * call these two for the resets of lender_reset().
 */
static void lender_reset_prepare(struct pci_dev *pdev)
{
	struct lender_device *d = pci_get_drvdata(pdev);

	if (d->loan)
		pci_warn(pdev, "device %x is reset by this node; its loan to node %u ends\n",
			 d->fdid, dlend_peer_node(d->loan->peer));
	lender_tell_gone(d);
	lender_reset_begins(d);
}

static void lender_reset_done(struct pci_dev *pdev)
{
	lender_reset_ends(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers lender_error_handlers = {
	.error_detected = lender_error,
	.slot_reset = lender_slot_reset,
	.reset_prepare = lender_reset_prepare,
	.reset_done = lender_reset_done,
};

static struct pci_driver lender_driver = {
	.name = DRIVER_NAME,
	.probe = lender_probe,
	.remove = lender_unbind,
	.shutdown = lender_shutdown,
	.err_handler = &lender_error_handlers,
	.driver_managed_dma = true,
};

/* Gives the device to its old driver, or to the one that the kernel finds. */
static void give_back(struct lender_device *d)
{
	struct device *dev = &d->pdev->dev;

	dlend_override_set(d->pdev, d->old_override);
	kfree(d->old_override);
	d->old_override = NULL;
	d->taken = false;
	/* The device may have been unbound in sysfs already. */
	if (dev->driver == &lender_driver.driver)
		device_release_driver(dev);
	if (device_attach(dev) <= 0 && d->driven)
		pci_warn(d->pdev, "no driver of this node takes the device back\n");
}

static int take(struct lender_device *d, struct dlend_why *why)
{
	struct pci_dev *pdev = d->pdev;
	int err;

	if (!lender_iommu_permitted(d, why))
		return -EPERM;
	err = lender_check_virtual(pdev, why);
	if (err)
		return err;

	if (!d->taken) {
		d->old_override = dlend_override_copy(pdev);
		d->driven = READ_ONCE(pdev->dev.driver);
	}
	err = dlend_override_set(pdev, DRIVER_NAME);
	if (err) {
		kfree(d->old_override);
		d->old_override = NULL;
		return dlend_why_set(why, err, "no memory");
	}
	d->taken = true;
	device_release_driver(&pdev->dev);
	err = device_driver_attach(&lender_driver.driver, &pdev->dev);
	if (!err && !d->bound)
		err = -EBUSY;
	if (err) {
		give_back(d);
		dlend_why_set(why, err,
			      err == -EPERM || err == -EBUSY ?
			      "%s cannot be isolated: another device of its IOMMU group is in use" :
			      "%s cannot be enabled", pci_name(pdev));
	} else {
		err = lender_check_taken(pdev, why);
		if (err)
			give_back(d);
	}
	return err;
}

static int unknown(u32 fdid, struct dlend_why *why)
{
	return dlend_why_set(why, -ENOENT,
			     "this node has no device %x; the list shows its devices",
			     fdid);
}

/*
 * Checks that a device is not borrowed. If the check succeeds, the device cannot be
 * borrowed until it is made available again.
 */
static int check_idle(struct lender_device *d, struct dlend_why *why)
{
	u32 node = 0;
	bool borrowed;

	device_lock(&d->pdev->dev);
	borrowed = d->loan;
	if (borrowed)
		node = dlend_peer_node(d->loan->peer);
	else
		d->bound = false;
	device_unlock(&d->pdev->dev);
	if (borrowed)
		return dlend_why_set(why, -EBUSY,
				     "device %x is borrowed by node %u, which must return it first",
				     d->fdid, node);
	return 0;
}

int dlend_lender_available(u32 fdid, struct dlend_why *why)
{
	struct lender_device *d = lender_get(fdid);
	int err = 0;

	if (!d)
		return unknown(fdid, why);
	mutex_lock(&d->order_mutex);
	if (dlend_going_down())
		err = dlend_why_set(why, -EBUSY, "this node goes down");
	else if (!d->bound)
		err = take(d, why);
	mutex_unlock(&d->order_mutex);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_available);

int dlend_lender_unavailable(u32 fdid, struct dlend_why *why)
{
	struct lender_device *d = lender_get(fdid);
	int err;

	if (!d)
		return unknown(fdid, why);
	mutex_lock(&d->order_mutex);
	err = check_idle(d, why);
	if (!err && d->taken)
		give_back(d);
	mutex_unlock(&d->order_mutex);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_unavailable);

/* Return: a reference to the function, or NULL. */
static struct pci_dev *function_at(u32 bdf)
{
	return pci_get_domain_bus_and_slot(bdf >> 16, bdf >> 8 & 0xff, bdf & 0xff);
}

/*
 * Held while an entry is made, and taken when a function has left its bus. A virtual
 * function gives its physical function up only after that.
 */
static DEFINE_MUTEX(unplug_mutex);

static int enter(struct lender_device *d, u32 bdf, struct dlend_why *why)
{
	struct pci_dev *physical = pci_physfn(d->pdev), *again;
	int err;

	mutex_lock(&unplug_mutex);
	again = function_at(bdf);
	pci_dev_put(again);
	if (again == d->pdev) {
		d->physical = pci_dev_id(physical);
		d->physical_device = physical->device;
		if (d->pdev->is_virtfn)
			d->virtual_number = pci_iov_vf_id(d->pdev);
		err = lender_enter(d, why);
	} else {
		err = dlend_why_set(why, -ENODEV, "the function was unplugged");
	}
	mutex_unlock(&unplug_mutex);
	return err;
}

int dlend_lender_add(u32 bdf, u64 fabric, u32 *fdid, struct dlend_why *why)
{
	struct lender_device *d;
	int err;

	if (dlend_going_down())
		return dlend_why_set(why, -EBUSY, "this node goes down");
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return dlend_why_set(why, -ENOMEM, "no memory");
	kref_init(&d->ref);
	mutex_init(&d->order_mutex);
	init_completion(&d->idle);
	lender_loan_prepare(d);
	d->fabric = fabric;
	d->pdev = function_at(bdf);
	if (!d->pdev) {
		err = dlend_why_set(why, -ENODEV,
				    "there is no function %04x:%02x:%02x.%x",
				    bdf >> 16, bdf >> 8 & 0xff, PCI_SLOT(bdf),
				    PCI_FUNC(bdf));
		goto put;
	}
	err = lender_check(d->pdev, why);
	if (err)
		goto put;

	err = enter(d, bdf, why);
	if (err)
		goto put;
	*fdid = d->fdid;
	return 0;
put:
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_add);

int dlend_lender_remove(u32 fdid, struct dlend_why *why)
{
	struct lender_device *d = lender_get(fdid);
	int err;

	if (!d)
		return unknown(fdid, why);
	mutex_lock(&d->order_mutex);
	err = check_idle(d, why);
	if (!err) {
		if (d->taken)
			give_back(d);
		lender_leave(d);
	}
	mutex_unlock(&d->order_mutex);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_remove);

struct pci_dev *dlend_lender_function(u32 fdid)
{
	struct lender_device *d = lender_get(fdid);
	struct pci_dev *pdev = NULL;

	if (!d)
		return NULL;
	mutex_lock(&d->order_mutex);
	if (!d->taken)
		pdev = pci_dev_get(d->pdev);
	mutex_unlock(&d->order_mutex);
	lender_put(d);
	return pdev;
}
EXPORT_SYMBOL_GPL(dlend_lender_function);

/*
 * Takes the ID from a device that was unplugged. The locks of the PCI core are held, and
 * maybe the order_mutex of another device, whose driver removes its virtual functions.
 */
static int lender_notify(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	struct device *dev = data;
	unsigned int i, n;

	if (event != BUS_NOTIFY_REMOVED_DEVICE)
		return NOTIFY_DONE;
	mutex_lock(&unplug_mutex);
	mutex_unlock(&unplug_mutex);
	n = lender_collect(list, DLEND_DEVICES_MAX);
	for (i = 0; i < n; i++) {
		if (&list[i]->pdev->dev == dev)
			lender_leave(list[i]);
		lender_put(list[i]);
	}
	return NOTIFY_DONE;
}

static struct notifier_block lender_notifier = {
	.notifier_call = lender_notify,
};

/* Return: whether a device is lent; the log says which. */
static bool is_lending(void)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	unsigned int i, n = lender_collect(list, DLEND_DEVICES_MAX);
	bool lending = false;

	for (i = 0; i < n; i++) {
		device_lock(&list[i]->pdev->dev);
		if (list[i]->loan) {
			pr_warn("dl_lender: this node cannot sleep: device %x is lent to node %u, which must return it first\n",
				list[i]->fdid, dlend_peer_node(list[i]->loan->peer));
			lending = true;
		}
		device_unlock(&list[i]->pdev->dev);
		lender_put(list[i]);
	}
	return lending;
}

/* A borrower does not know that its device sleeps, and its requests would be lost. */
static int lender_sleep(struct notifier_block *nb, unsigned long event, void *unused)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		/* First no new loan, then a look at those that there are. */
		lender_loan_sleep(true);
		if (!is_lending())
			return NOTIFY_DONE;
		/* A notifier that refuses is not told that the node stays awake. */
		lender_loan_sleep(false);
		return notifier_from_errno(-EBUSY);
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		lender_loan_sleep(false);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block lender_sleep_notifier = {
	.notifier_call = lender_sleep,
};

/* Ends all loans in order. There is no new one. */
static void call_back(void)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	bool lent[DLEND_DEVICES_MAX];
	unsigned long end, now;
	unsigned int i, n;

	n = lender_collect(list, DLEND_DEVICES_MAX);
	/* Ask all borrowers before waiting for any of them. */
	for (i = 0; i < n; i++)
		lent[i] = lender_revoke(list[i], false);
	end = jiffies + msecs_to_jiffies(REVOKE_TIMEOUT_MS);
	for (i = 0; i < n; i++) {
		now = jiffies;
		if (lent[i] &&
		    !wait_for_completion_timeout(&list[i]->idle,
						 time_before(now, end) ?
						 end - now : 0))
			pci_warn(list[i]->pdev,
				 "the borrower has not returned the device within %u s; it is taken back\n",
				 REVOKE_TIMEOUT_MS / 1000);
		lender_put(list[i]);
	}
}

/* This comes before lender_shutdown(), while the adapters and the borrowers still answer. */
static int lender_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	call_back();
	return NOTIFY_DONE;
}

static struct notifier_block lender_reboot_notifier = {
	.notifier_call = lender_reboot,
};

static int __init lender_init(void)
{
	int err;

	err = lender_table_init();
	if (err)
		return err;
	err = pci_register_driver(&lender_driver);
	if (err)
		goto table;
	err = bus_register_notifier(&pci_bus_type, &lender_notifier);
	if (err)
		goto driver;
	err = register_pm_notifier(&lender_sleep_notifier);
	if (err)
		goto notifier;
	err = register_reboot_notifier(&lender_reboot_notifier);
	if (err)
		goto sleep;
	err = lender_loan_init();
	if (err)
		goto reboot;
	err = lender_p2p_init();
	if (err)
		goto loan;
	lender_stats_init();
	return 0;

loan:
	lender_loan_exit();
reboot:
	unregister_reboot_notifier(&lender_reboot_notifier);
sleep:
	unregister_pm_notifier(&lender_sleep_notifier);
notifier:
	bus_unregister_notifier(&pci_bus_type, &lender_notifier);
driver:
	pci_unregister_driver(&lender_driver);
table:
	lender_table_exit();
	return err;
}

static void __exit lender_exit(void)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	struct dlend_why why;
	unsigned int i, n;

	lender_stats_exit();
	unregister_reboot_notifier(&lender_reboot_notifier);
	lender_loan_stop();
	call_back();
	n = lender_collect(list, DLEND_DEVICES_MAX);
	lender_p2p_exit();
	lender_loan_exit();
	unregister_pm_notifier(&lender_sleep_notifier);
	bus_unregister_notifier(&pci_bus_type, &lender_notifier);
	for (i = 0; i < n; i++) {
		dlend_lender_remove(list[i]->fdid, &why);
		lender_put(list[i]);
	}
	pci_unregister_driver(&lender_driver);
	lender_table_exit();
}

module_init(lender_init);
module_exit(lender_exit);
MODULE_DESCRIPTION("Device Lending: lends PCI functions to other nodes");
MODULE_LICENSE("GPL");
