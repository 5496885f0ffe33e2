// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts of a virtual machine: an interrupt of the device becomes a signal of an
 * eventfd. KVM waits for it, and no program runs in between.
 *
 * A message of the device raises an interrupt of this node, whose handler signals the
 * eventfd. Or the device's lender handles the interrupt, and tells this node of it: if the
 * device was borrowed so, and always for a line interrupt, which is no message.
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
	if (index == VFIO_PCI_INTX_IRQ_INDEX)
		n = guest->has_line;
	else if (index == VFIO_PCI_MSIX_IRQ_INDEX)
		n = pci_msix_vec_count(pdev);
	else if (index == VFIO_PCI_MSI_IRQ_INDEX)
		n = min(pci_msi_vec_count(pdev), dlend_guest_has_vectors(pdev) ? 32 : 1);
	return clamp(n, 0, guest->forwards ? DLEND_IRQ_VECTORS : INT_MAX);
}

u32 mdev_irq_flags(unsigned int index)
{
	if (index == VFIO_PCI_INTX_IRQ_INDEX)
		return VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE |
		       VFIO_IRQ_INFO_AUTOMASKED;
	return VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE;
}

/* trigger_lock is held, except by a handler whose vector stays until it is done. */
static void signal(struct mdev_vector *vector)
{
	atomic64_inc(&mdev_counts.interrupts);
	dlend_eventfd_signal(vector->trigger);
}

static irqreturn_t message_came(int irq, void *data)
{
	signal(data);
	return IRQ_HANDLED;
}

/* The lender has handled these. Interrupts are off. */
static void told(void *data, u64 vectors)
{
	struct mdev_guest *guest = data;
	unsigned int i;

	spin_lock(&guest->trigger_lock);
	for (i = 0; i < guest->vectors; i++)
		if (vectors & BIT_ULL(i) && guest->vector[i].trigger &&
		    !(guest->irq_index == VFIO_PCI_INTX_IRQ_INDEX && guest->line_off))
			signal(&guest->vector[i]);
	spin_unlock(&guest->trigger_lock);
}

/* Return: the eventfd that the vector had. */
static struct eventfd_ctx *exchange(struct mdev_guest *guest, struct mdev_vector *vector,
				    struct eventfd_ctx *trigger)
{
	struct eventfd_ctx *old;

	spin_lock_irq(&guest->trigger_lock);
	old = vector->trigger;
	vector->trigger = trigger;
	spin_unlock_irq(&guest->trigger_lock);
	return old;
}

static void unset_vector(struct mdev_guest *guest, unsigned int n)
{
	struct mdev_vector *vector = &guest->vector[n];

	if (!vector->trigger)
		return;
	if (!guest->told)
		free_irq(pci_irq_vector(guest->slot->pdev, n), vector);
	eventfd_ctx_put(exchange(guest, vector, NULL));
}

static int set_vector(struct mdev_guest *guest, unsigned int n, int fd)
{
	struct mdev_vector *vector = &guest->vector[n];
	struct pci_dev *pdev = guest->slot->pdev;
	struct eventfd_ctx *trigger;
	int err;

	unset_vector(guest, n);
	if (fd < 0)
		return 0;
	trigger = eventfd_ctx_fdget(fd);
	if (IS_ERR(trigger))
		return PTR_ERR(trigger);
	exchange(guest, vector, trigger);
	if (guest->told)
		return 0;
	snprintf(vector->name, sizeof(vector->name), "dl_mdev%u(%s)", n, pci_name(pdev));
	err = request_irq(pci_irq_vector(pdev, n), message_came, 0, vector->name, vector);
	if (err)
		eventfd_ctx_put(exchange(guest, vector, NULL));
	return err;
}

/* The function of the slot is still there. */
void mdev_irq_close(struct mdev_guest *guest)
{
	unsigned int i;

	if (!guest->vectors)
		return;
	vfio_virqfd_disable(&guest->unmask);
	if (guest->told)
		dlend_guest_irq_clear(guest->slot->pdev);
	for (i = 0; i < guest->vectors; i++)
		unset_vector(guest, i);
	if (!guest->told)
		pci_free_irq_vectors(guest->slot->pdev);
	kfree(guest->vector);
	guest->vector = NULL;
	guest->vectors = 0;
}

/* Return: 0 or a negative errno. */
static int allocate(struct mdev_guest *guest, unsigned int index, unsigned int n)
{
	static const enum dlend_irq_kind kinds[] = {
		[VFIO_PCI_INTX_IRQ_INDEX] = DLEND_IRQ_LINE,
		[VFIO_PCI_MSI_IRQ_INDEX] = DLEND_IRQ_MSI,
		[VFIO_PCI_MSIX_IRQ_INDEX] = DLEND_IRQ_MSIX,
	};
	struct pci_dev *pdev = guest->slot->pdev;

	if (guest->told)
		return dlend_guest_irq_set(pdev, kinds[index], n, told, guest);
	return min(pci_alloc_irq_vectors(pdev, n, n, index == VFIO_PCI_MSI_IRQ_INDEX ?
					 PCI_IRQ_MSI : PCI_IRQ_MSIX), 0);
}

static int open_vectors(struct mdev_guest *guest, unsigned int index, unsigned int n)
{
	int err;

	guest->vector = kcalloc(n, sizeof(*guest->vector), GFP_KERNEL_ACCOUNT);
	if (!guest->vector)
		return -ENOMEM;
	guest->told = guest->forwards || index == VFIO_PCI_INTX_IRQ_INDEX;
	err = allocate(guest, index, n);
	if (err) {
		kfree(guest->vector);
		guest->vector = NULL;
		return err;
	}
	spin_lock_irq(&guest->trigger_lock);
	guest->irq_index = index;
	guest->line_off &= ~MDEV_LINE_USER;
	guest->vectors = n;
	spin_unlock_irq(&guest->trigger_lock);
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
	/* The line may have come before there was anybody to signal. */
	if (!err && set->index == VFIO_PCI_INTX_IRQ_INDEX)
		dlend_guest_irq_unmask(guest->slot->pdev);
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

static int set_trigger(struct mdev_guest *guest, const struct vfio_irq_set *set, void *data)
{
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

static bool has_line_open(struct mdev_guest *guest)
{
	return guest->vectors && guest->irq_index == VFIO_PCI_INTX_IRQ_INDEX;
}

void mdev_irq_line_off(struct mdev_guest *guest, unsigned int who, bool off)
{
	spin_lock_irq(&guest->trigger_lock);
	guest->line_off = off ? guest->line_off | who : guest->line_off & ~who;
	spin_unlock_irq(&guest->trigger_lock);
	/* The line comes again if it has come meanwhile. */
	if (!guest->line_off && has_line_open(guest))
		dlend_guest_irq_unmask(guest->slot->pdev);
}

/* The function stays until vfio_virqfd_disable() has waited for this. */
static void unmask_work(void *data, void *unused)
{
	struct mdev_guest *guest = data;

	if (!READ_ONCE(guest->line_off))
		dlend_guest_irq_unmask(READ_ONCE(guest->slot->pdev));
}

static int set_mask(struct mdev_guest *guest, const struct vfio_irq_set *set, void *data,
		    bool mask)
{
	s32 fd = data ? *(s32 *)data : -1;
	u8 yes = data ? *(u8 *)data : 0;

	if (set->index != VFIO_PCI_INTX_IRQ_INDEX)
		return -ENOTTY;
	if (!has_line_open(guest) || set->start || set->count != 1)
		return -EINVAL;
	switch (set->flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_NONE:
		yes = 1;
		fallthrough;
	case VFIO_IRQ_SET_DATA_BOOL:
		if (yes)
			mdev_irq_line_off(guest, MDEV_LINE_USER, mask);
		return 0;
	case VFIO_IRQ_SET_DATA_EVENTFD:
		if (mask)
			return -ENOTTY;
		vfio_virqfd_disable(&guest->unmask);
		return fd < 0 ? 0 : vfio_virqfd_enable(guest, NULL, unmask_work, NULL,
						       &guest->unmask, fd);
	}
	return -EINVAL;
}

int mdev_irq_set(struct mdev_guest *guest, const struct vfio_irq_set *set, void *data)
{
	if (set->index > VFIO_PCI_MSIX_IRQ_INDEX)
		return -EINVAL;
	switch (set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) {
	case VFIO_IRQ_SET_ACTION_TRIGGER:
		return set_trigger(guest, set, data);
	case VFIO_IRQ_SET_ACTION_MASK:
		return set_mask(guest, set, data, true);
	case VFIO_IRQ_SET_ACTION_UNMASK:
		return set_mask(guest, set, data, false);
	}
	return -ENOTTY;
}
