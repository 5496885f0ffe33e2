// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices that this node may lend: their table, and the way from their own
 * driver to ours and back.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "lender.h"

#define DRIVER_NAME "dl_lender"

/* How long a borrower may take to let go of a device when this module goes. */
#define REVOKE_TIMEOUT_MS 10000

static DEFINE_MUTEX(lender_admin);
DEFINE_SPINLOCK(lender_lock);
struct lender_device *lender_devices[DLEND_DEVICES_MAX];

struct lender_counts lender_counts;
static struct dentry *debugfs;

static void lender_free(struct kref *ref)
{
	struct lender_device *d = container_of(ref, struct lender_device, ref);

	pci_dev_put(d->pdev);
	kfree(d->old_override);
	kfree(d);
}

void lender_put(struct lender_device *d)
{
	if (d)
		kref_put(&d->ref, lender_free);
}

static unsigned int index_of(u32 fdid)
{
	return fdid & 0xffff;
}

/* lender_lock is held. */
static struct lender_device *find(u32 fdid)
{
	unsigned int index = index_of(fdid);

	if (index >= DLEND_DEVICES_MAX || !lender_devices[index] ||
	    lender_devices[index]->fdid != fdid)
		return NULL;
	return lender_devices[index];
}

struct lender_device *lender_get(u32 fdid)
{
	struct lender_device *d;
	unsigned long flags;

	spin_lock_irqsave(&lender_lock, flags);
	d = find(fdid);
	if (d)
		kref_get(&d->ref);
	spin_unlock_irqrestore(&lender_lock, flags);
	return d;
}

struct lender_device *lender_of_loan(struct dlend_peer *peer, u32 fdid, u32 loan)
{
	struct lender_device *d = find(fdid);

	if (!d || !d->loan || d->loan->peer != peer || d->loan->number != loan)
		return NULL;
	return d;
}

/* References to all devices, by ID; the caller gives them back. */
unsigned int lender_collect(struct lender_device **list, unsigned int max)
{
	unsigned long flags;
	unsigned int i, n = 0;

	spin_lock_irqsave(&lender_lock, flags);
	for (i = 0; i < DLEND_DEVICES_MAX && n < max; i++) {
		if (!lender_devices[i])
			continue;
		kref_get(&lender_devices[i]->ref);
		list[n++] = lender_devices[i];
	}
	spin_unlock_irqrestore(&lender_lock, flags);
	return n;
}

static u32 bdf_of(struct pci_dev *pdev)
{
	return pci_domain_nr(pdev->bus) << 16 | pci_dev_id(pdev);
}

void lender_describe(struct lender_device *d, struct dlend_device_info *info)
{
	struct pci_dev *pdev = d->pdev;
	unsigned long flags;

	memset(info, 0, sizeof(*info));
	info->fdid = d->fdid;
	info->bdf = bdf_of(pdev);
	info->vendor = pdev->vendor;
	info->device = pdev->device;
	info->subsystem_vendor = pdev->subsystem_vendor;
	info->subsystem_device = pdev->subsystem_device;
	info->class = pdev->class;

	spin_lock_irqsave(&lender_lock, flags);
	if (d->loan) {
		info->state = DLEND_DEVICE_BORROWED;
		info->borrower = dlend_peer_node(d->loan->peer);
		info->dma_window = d->loan->dma_size;
	} else if (READ_ONCE(d->bound)) {
		info->state = DLEND_DEVICE_AVAILABLE;
	} else {
		info->state = DLEND_DEVICE_LOCAL;
	}
	spin_unlock_irqrestore(&lender_lock, flags);
	/* A driver may be binding now, and hold the lock for long. */
	if (device_trylock(&pdev->dev)) {
		if (pdev->dev.driver)
			strscpy(info->driver, pdev->dev.driver->name,
				sizeof(info->driver));
		device_unlock(&pdev->dev);
	}
}

unsigned int dlend_lender_list(struct dlend_device_info *infos, unsigned int max)
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
 * The driver that a device has while it may be lent. It matches nothing but
 * what is sent to it by driver_override, and takes only devices of the table.
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
		pci_err(pdev, "its IOMMU group cannot be had: %d\n", err);
		goto disable;
	}
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
	/* By hand, or because the device goes: no time for good manners. */
	lender_revoke(d, true);
	lender_end_loan(d);
	kfree(d->saved);
	d->saved = NULL;
	lender_iommu_release(d);
	pci_disable_device(pdev);
	lender_put(d);
}

static struct pci_driver lender_driver = {
	.name = DRIVER_NAME,
	.probe = lender_probe,
	.remove = lender_unbind,
	.driver_managed_dma = true,
};

static int override(struct pci_dev *pdev, const char *name)
{
	const char *text = name ?: "";

	return driver_set_override(&pdev->dev, &pdev->driver_override, text,
				   strlen(text));
}

/* Gives the device to its old driver, or to whichever the kernel finds. */
static void give_back(struct lender_device *d)
{
	struct device *dev = &d->pdev->dev;

	override(d->pdev, d->old_override);
	kfree(d->old_override);
	d->old_override = NULL;
	d->taken = false;
	/* Its remove may have come already, by unbind in sysfs. */
	if (dev->driver == &lender_driver.driver)
		device_release_driver(dev);
	if (device_attach(dev) < 0)
		pci_warn(d->pdev, "no driver could be bound to it again\n");
}

static int take(struct lender_device *d, struct dlend_why *why)
{
	struct pci_dev *pdev = d->pdev;
	int err;

	if (!lender_iommu_permitted(d, why))
		return -EPERM;

	device_lock(&pdev->dev);
	if (!d->taken && pdev->driver_override)
		d->old_override = kstrdup(pdev->driver_override, GFP_KERNEL);
	device_unlock(&pdev->dev);
	err = override(pdev, DRIVER_NAME);
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
	return dlend_why_set(why, -ENOENT, "this node has no device %x; see list",
			     fdid);
}

/* Sees that it is not borrowed, and will not be until it is available again. */
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
	struct lender_device *d;
	int err = 0;

	mutex_lock(&lender_admin);
	d = lender_get(fdid);
	if (!d)
		err = unknown(fdid, why);
	else if (!d->bound)
		err = take(d, why);
	mutex_unlock(&lender_admin);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_available);

int dlend_lender_unavailable(u32 fdid, struct dlend_why *why)
{
	struct lender_device *d;
	int err;

	mutex_lock(&lender_admin);
	d = lender_get(fdid);
	if (!d) {
		err = unknown(fdid, why);
	} else {
		err = check_idle(d, why);
		if (!err && d->taken)
			give_back(d);
	}
	mutex_unlock(&lender_admin);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_unavailable);

/* Enters a device into the table. */
static int enter(struct lender_device *d, struct dlend_why *why)
{
	int i, err = 0, free = -1;

	spin_lock_irq(&lender_lock);
	for (i = DLEND_DEVICES_MAX - 1; i >= 0; i--) {
		if (!lender_devices[i]) {
			free = i;
		} else if (lender_devices[i]->pdev == d->pdev) {
			err = dlend_why_set(why, -EEXIST,
					    "%s has been added: it is device %x",
					    pci_name(d->pdev), lender_devices[i]->fdid);
			break;
		}
	}
	if (!err && free < 0)
		err = dlend_why_set(why, -ENOSPC, "there are %d devices already",
				    DLEND_DEVICES_MAX);
	if (!err) {
		d->fdid = dlend_node() << 16 | free;
		lender_devices[free] = d;
	}
	spin_unlock_irq(&lender_lock);
	return err;
}

int dlend_lender_add(u32 bdf, u32 *fdid, struct dlend_why *why)
{
	struct lender_device *d;
	int err;

	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return dlend_why_set(why, -ENOMEM, "no memory");
	kref_init(&d->ref);
	init_completion(&d->idle);
	d->pdev = pci_get_domain_bus_and_slot(bdf >> 16, bdf >> 8 & 0xff,
					      bdf & 0xff);
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

	mutex_lock(&lender_admin);
	err = enter(d, why);
	if (!err)
		*fdid = d->fdid;
	mutex_unlock(&lender_admin);
	if (!err)
		return 0;
put:
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_add);

/* lender_admin is held; the table's reference becomes the caller's. */
static void leave(struct lender_device *d)
{
	spin_lock_irq(&lender_lock);
	lender_devices[index_of(d->fdid)] = NULL;
	spin_unlock_irq(&lender_lock);
}

int dlend_lender_remove(u32 fdid, struct dlend_why *why)
{
	struct lender_device *d;
	int err;

	mutex_lock(&lender_admin);
	d = lender_get(fdid);
	if (!d) {
		err = unknown(fdid, why);
	} else {
		err = check_idle(d, why);
		if (!err) {
			if (d->taken)
				give_back(d);
			leave(d);
			lender_put(d);
		}
	}
	mutex_unlock(&lender_admin);
	lender_put(d);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_lender_remove);

/* A device that was unplugged loses its ID. */
static int lender_notify(struct notifier_block *nb, unsigned long event,
			 void *data)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	struct device *dev = data;
	unsigned int i, n;

	if (event != BUS_NOTIFY_REMOVED_DEVICE)
		return NOTIFY_DONE;
	n = lender_collect(list, DLEND_DEVICES_MAX);
	for (i = 0; i < n; i++) {
		if (&list[i]->pdev->dev == dev) {
			mutex_lock(&lender_admin);
			if (lender_devices[index_of(list[i]->fdid)] == list[i]) {
				leave(list[i]);
				lender_put(list[i]);
			}
			mutex_unlock(&lender_admin);
		}
		lender_put(list[i]);
	}
	return NOTIFY_DONE;
}

static struct notifier_block lender_notifier = {
	.notifier_call = lender_notify,
};

static int stats_show(struct seq_file *file, void *unused)
{
#define SHOW(name) \
	seq_printf(file, #name " %lld\n", atomic64_read(&lender_counts.name))
	SHOW(loans);
	SHOW(resets);
	SHOW(reset_failures);
	SHOW(config_reads);
	SHOW(config_writes);
	SHOW(config_refused);
	SHOW(requests_refused);
#undef SHOW
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int __init lender_init(void)
{
	int err;

	err = pci_register_driver(&lender_driver);
	if (err)
		return err;
	err = bus_register_notifier(&pci_bus_type, &lender_notifier);
	if (err)
		goto driver;
	err = lender_loan_init();
	if (err)
		goto notifier;
	debugfs = debugfs_create_file("lender", 0444, dlend_debugfs_root(), NULL,
				      &stats_fops);
	return 0;

notifier:
	bus_unregister_notifier(&pci_bus_type, &lender_notifier);
driver:
	pci_unregister_driver(&lender_driver);
	return err;
}

static void __exit lender_exit(void)
{
	struct lender_device *list[DLEND_DEVICES_MAX];
	bool lent[DLEND_DEVICES_MAX];
	unsigned long end, now;
	unsigned int i, n;
	struct dlend_why why;

	debugfs_remove(debugfs);
	lender_loan_stop();
	n = lender_collect(list, DLEND_DEVICES_MAX);
	/* All are asked for before one is waited for. */
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
				 "the borrower does not return it: taken\n");
	}
	lender_loan_exit();
	bus_unregister_notifier(&pci_bus_type, &lender_notifier);
	for (i = 0; i < n; i++) {
		dlend_lender_remove(list[i]->fdid, &why);
		lender_put(list[i]);
	}
	pci_unregister_driver(&lender_driver);
}

module_init(lender_init);
module_exit(lender_exit);
MODULE_DESCRIPTION("Device Lending: lends PCI functions to other nodes");
MODULE_LICENSE("GPL");
