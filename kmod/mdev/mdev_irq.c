// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of a virtual machine: the device's message raises an interrupt here, whose
 * handler signals an eventfd. KVM waits for it, and no program runs in between.
 */
#include <linux/eventfd.h>
#include <linux/interrupt.h>
#include <linux/slab.h>

#include "mdev.h"

unsigned int mdev_irq_count(struct mdev_guest *guest, unsigned int index)
{
	struct pci_dev *pdev = guest->slot->pdev;
	int n = 0;

	if (!pdev)
		return 0;
	if (index == VFIO_PCI_MSIX_IRQ_INDEX)
		n = pci_msix_vec_count(pdev);
	else if (index == VFIO_PCI_MSI_IRQ_INDEX)
		n = min(pci_msi_vec_count(pdev), 1);
	return max(n, 0);
}

static irqreturn_t raise(int irq, void *data)
{
	struct mdev_vector *vector = data;

	atomic64_inc(&mdev_counts.interrupts);
	dlend_eventfd_signal(vector->trigger);
	return IRQ_HANDLED;
}

static void unset_vector(struct mdev_guest *guest, unsigned int n)
{
	struct mdev_vector *vector = &guest->vector[n];

	if (!vector->trigger)
		return;
	free_irq(pci_irq_vector(guest->slot->pdev, n), vector);
	eventfd_ctx_put(vector->trigger);
	vector->trigger = NULL;
}

static int set_vector(struct mdev_guest *guest, unsigned int n, int fd)
{
	struct mdev_vector *vector = &guest->vector[n];
	struct pci_dev *pdev = guest->slot->pdev;
	int err;

	unset_vector(guest, n);
	if (fd < 0)
		return 0;
	vector->trigger = eventfd_ctx_fdget(fd);
	if (IS_ERR(vector->trigger)) {
		err = PTR_ERR(vector->trigger);
		vector->trigger = NULL;
		return err;
	}
	snprintf(vector->name, sizeof(vector->name), "dl_mdev%u(%s)", n, pci_name(pdev));
	err = request_irq(pci_irq_vector(pdev, n), raise, 0, vector->name, vector);
	if (err) {
		eventfd_ctx_put(vector->trigger);
		vector->trigger = NULL;
	}
	return err;
}

/* The function of the slot is still there. */
void mdev_irq_close(struct mdev_guest *guest)
{
	unsigned int i;

	if (!guest->vectors)
		return;
	for (i = 0; i < guest->vectors; i++)
		unset_vector(guest, i);
	pci_free_irq_vectors(guest->slot->pdev);
	kfree(guest->vector);
	guest->vector = NULL;
	guest->vectors = 0;
}

static int open_vectors(struct mdev_guest *guest, unsigned int index, unsigned int n)
{
	int ret;

	guest->vector = kcalloc(n, sizeof(*guest->vector), GFP_KERNEL_ACCOUNT);
	if (!guest->vector)
		return -ENOMEM;
	ret = pci_alloc_irq_vectors(guest->slot->pdev, n, n,
				    index == VFIO_PCI_MSI_IRQ_INDEX ? PCI_IRQ_MSI :
				    PCI_IRQ_MSIX);
	if (ret < 0) {
		kfree(guest->vector);
		guest->vector = NULL;
		return ret;
	}
	guest->vectors = n;
	guest->irq_index = index;
	return 0;
}

static int set_triggers(struct mdev_guest *guest, const struct vfio_irq_set *set,
			const s32 *fds)
{
	bool first = !guest->vectors;
	unsigned int i;
	int err;

	if (first)
		err = open_vectors(guest, set->index, set->start + set->count);
	else
		err = set->index != guest->irq_index ||
		      set->start + set->count > guest->vectors ? -EINVAL : 0;
	for (i = 0; i < set->count && !err; i++)
		err = set_vector(guest, set->start + i, fds[i]);
	if (err && first)
		mdev_irq_close(guest);
	return err;
}

/* The user raises interrupts itself, as a test. */
static int fire(struct mdev_guest *guest, const struct vfio_irq_set *set, const u8 *raised)
{
	unsigned int i;

	if (set->index != guest->irq_index || set->start + set->count > guest->vectors)
		return -EINVAL;
	for (i = 0; i < set->count; i++)
		if (guest->vector[set->start + i].trigger && (!raised || raised[i]))
			dlend_eventfd_signal(guest->vector[set->start + i].trigger);
	return 0;
}

int mdev_irq_set(struct mdev_guest *guest, const struct vfio_irq_set *set, void *data)
{
	if (set->index != VFIO_PCI_MSIX_IRQ_INDEX && set->index != VFIO_PCI_MSI_IRQ_INDEX)
		return -EINVAL;
	if ((set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -ENOTTY;
	switch (set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_NONE:
		if (!set->count) {
			if (set->index == guest->irq_index)
				mdev_irq_close(guest);
			return 0;
		}
		return fire(guest, set, NULL);
	case VFIO_IRQ_SET_DATA_BOOL:
		return fire(guest, set, data);
	case VFIO_IRQ_SET_DATA_EVENTFD:
		return set_triggers(guest, set, data);
	}
	return -EINVAL;
}
