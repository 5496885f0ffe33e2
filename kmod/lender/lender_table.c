// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the devices that this node may lend.
 */
#include <linux/slab.h>
#include <linux/sort.h>

#include "lender.h"
#include "uapi/dl_window.h"

struct workqueue_struct *lender_wq;

int lender_table_init(void)
{
	lender_wq = alloc_workqueue("dl_lender", WQ_UNBOUND, 0);
	return lender_wq ? 0 : -ENOMEM;
}

void lender_table_exit(void)
{
	destroy_workqueue(lender_wq);
}

DEFINE_SPINLOCK(lender_lock);
struct lender_device *lender_devices[DLEND_DEVICES_MAX];

/*
 * Index of the next ID, guarded by lender_lock. An ID is not used again until all others
 * were: a node that remembers it must not get another device by it.
 */
static u16 next_index;

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

/* lender_lock is held. */
static struct lender_device *find(u32 fdid)
{
	unsigned int i;

	for (i = 0; i < DLEND_DEVICES_MAX; i++)
		if (lender_devices[i] && lender_devices[i]->fdid == fdid)
			return lender_devices[i];
	return NULL;
}

/* lender_lock is held. */
static u32 next_fdid(void)
{
	u32 fdid;

	do
		fdid = dlend_node() << 16 | next_index++;
	while (find(fdid));
	return fdid;
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

struct lender_device *lender_of_loan(struct dlend_peer *peer, u32 fdid,
				     u32 loan)
{
	struct lender_device *d = find(fdid);

	if (!d || !d->loan || d->loan->peer != peer || d->loan->number != loan)
		return NULL;
	return d;
}

struct lender_device *lender_get_lent(struct dlend_peer *peer, u32 fdid, u32 loan)
{
	struct lender_device *d;
	unsigned long flags;

	spin_lock_irqsave(&lender_lock, flags);
	d = lender_of_loan(peer, fdid, loan);
	if (d && d->config_open)
		kref_get(&d->ref);
	else
		d = NULL;
	spin_unlock_irqrestore(&lender_lock, flags);
	return d;
}

u32 lender_holder(struct lender_device *d, struct dlend_peer *but)
{
	struct lender_loan *loan;
	unsigned long flags;
	u32 node = 0;

	spin_lock_irqsave(&lender_lock, flags);
	loan = d->loan ?: d->leaving;
	if (loan && loan->peer != but)
		node = dlend_peer_node(loan->peer);
	spin_unlock_irqrestore(&lender_lock, flags);
	return node;
}

bool lender_is_held_by(struct lender_device *d, struct dlend_peer *peer)
{
	unsigned long flags;
	bool held;

	spin_lock_irqsave(&lender_lock, flags);
	held = (d->loan && d->loan->peer == peer) ||
	       (d->leaving && d->leaving->peer == peer);
	spin_unlock_irqrestore(&lender_lock, flags);
	return held;
}

static int compare(const void *a, const void *b)
{
	const struct lender_device *const *x = a, *const *y = b;

	return (*x)->fdid < (*y)->fdid ? -1 : (*x)->fdid > (*y)->fdid;
}

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
	sort(list, n, sizeof(*list), compare, NULL);
	return n;
}

u32 lender_weight(const struct lender_device *d)
{
	unsigned long flags;
	u32 weight = dlend_window_weight(d->pdev->class);
	unsigned int i;

	spin_lock_irqsave(&lender_lock, flags);
	for (i = 0; i < DLEND_DEVICES_MAX; i++)
		if (lender_devices[i] && lender_devices[i] != d &&
		    !lender_devices[i]->loan)
			weight += dlend_window_weight(lender_devices[i]->pdev->class);
	spin_unlock_irqrestore(&lender_lock, flags);
	return weight;
}

int lender_enter(struct lender_device *d, struct dlend_why *why)
{
	int i, err = 0, free = -1;

	spin_lock_irq(&lender_lock);
	for (i = DLEND_DEVICES_MAX - 1; i >= 0; i--) {
		if (!lender_devices[i]) {
			free = i;
		} else if (lender_devices[i]->pdev == d->pdev) {
			err = dlend_why_set(why, -EEXIST,
					    "%s has an ID already: it is device %x",
					    pci_name(d->pdev),
					    lender_devices[i]->fdid);
			break;
		}
	}
	if (!err && free < 0)
		err = dlend_why_set(why, -ENOSPC,
				    "%d devices of this node have an ID, which is the limit; remove one first",
				    DLEND_DEVICES_MAX);
	if (!err) {
		d->fdid = next_fdid();
		lender_devices[free] = d;
	}
	spin_unlock_irq(&lender_lock);
	return err;
}

void lender_leave(struct lender_device *d)
{
	bool found = false;
	unsigned int i;

	spin_lock_irq(&lender_lock);
	for (i = 0; i < DLEND_DEVICES_MAX && !found; i++) {
		if (lender_devices[i] != d)
			continue;
		lender_devices[i] = NULL;
		found = true;
	}
	spin_unlock_irq(&lender_lock);
	if (found)
		lender_put(d);
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
	info->physical = d->physical;
	info->physical_device = d->physical_device;
	info->is_virtual = pdev->is_virtfn;
	info->virtual_number = d->virtual_number;
	info->fabric = d->fabric;

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
	/* If a driver is being bound, the device lock may be held for a long time. */
	if (device_trylock(&pdev->dev)) {
		if (pdev->dev.driver)
			strscpy(info->driver, pdev->dev.driver->name,
				sizeof(info->driver));
		device_unlock(&pdev->dev);
	}
}
