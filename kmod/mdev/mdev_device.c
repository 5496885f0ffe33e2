// SPDX-License-Identifier: GPL-2.0-only
/*
 * The mediated device: what VFIO asks for.
 */
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "mdev.h"

static struct mdev_guest *to_guest(struct vfio_device *vdev)
{
	return container_of(vdev, struct mdev_guest, vdev);
}

/* Stops the device: no DMA, no interrupt. The function is still there. */
static void quiesce(struct mdev_guest *guest)
{
	pci_clear_master(guest->slot->pdev);
	mdev_irq_close(guest);
	mdev_memory_off(guest);
}

/* The next user must not find the queues of the last one. */
static int reset(struct mdev_guest *guest)
{
	int err;

	if (mdev_is_lost(guest))
		return -ENODEV;
	quiesce(guest);
	err = dlend_guest_reset(guest->slot->pdev);
	mdev_config_reset(guest);
	atomic64_inc(err ? &mdev_counts.reset_failures : &mdev_counts.resets);
	if (err)
		dev_warn(&guest->slot->dev, "its lender left it as it was: error %d\n", err);
	return err;
}

void mdev_device_lose(struct mdev_guest *guest)
{
	if (!guest->open)
		return;
	quiesce(guest);
	mdev_config_close(guest);
	mdev_bar_lose(guest);
}

static int open_device(struct vfio_device *vdev)
{
	struct mdev_guest *guest = to_guest(vdev);
	int err = -ENODEV;

	mutex_lock(&guest->slot->lock);
	if (mdev_is_lost(guest))
		goto unlock;
	/* All devices of a machine are opened by one process. */
	guest->machine = current->mm;
	mmgrab(guest->machine);
	err = mdev_memory_open(guest);
	if (err)
		goto drop;
	err = mdev_bar_open(guest);
	if (err) {
		mdev_memory_close(guest);
		goto drop;
	}
	mdev_config_open(guest);
	guest->open = true;
	atomic64_inc(&mdev_counts.users);
	goto unlock;

drop:
	mmdrop(guest->machine);
	guest->machine = NULL;
unlock:
	mutex_unlock(&guest->slot->lock);
	return err;
}

static void close_device(struct vfio_device *vdev)
{
	struct mdev_guest *guest = to_guest(vdev);

	mutex_lock(&guest->slot->lock);
	guest->open = false;
	reset(guest);
	if (!mdev_is_lost(guest)) {
		mdev_config_close(guest);
		dlend_guest_closed(guest->slot->pdev);
	}
	mdev_bar_close(guest);
	mdev_memory_close(guest);
	mmdrop(guest->machine);
	guest->machine = NULL;
	atomic64_dec(&mdev_counts.users);
	mutex_unlock(&guest->slot->lock);
}

/* Return: bytes of the region @index; 0 if there is none. */
static u64 region_size(struct mdev_guest *guest, unsigned int index)
{
	if (index < PCI_STD_NUM_BARS)
		return guest->bar_size[index];
	return index == VFIO_PCI_CONFIG_REGION_INDEX ? sizeof(guest->config) : 0;
}

/* Accesses one register. */
static void access(struct mdev_guest *guest, unsigned int index, u64 at, u8 *data,
		   size_t size, bool write)
{
	mutex_lock(&guest->slot->lock);
	if (index != VFIO_PCI_CONFIG_REGION_INDEX)
		mdev_bar_access(guest, index, at, data, size, write);
	else if (write)
		mdev_config_write(guest, at, data, size);
	else
		mdev_config_read(guest, at, data, size);
	mutex_unlock(&guest->slot->lock);
}

static ssize_t transfer(struct vfio_device *vdev, char __user *buffer, size_t count,
			loff_t *offset, bool write)
{
	struct mdev_guest *guest = to_guest(vdev);
	u64 index = *offset >> MDEV_OFFSET_SHIFT;
	u64 at = *offset & (BIT_ULL(MDEV_OFFSET_SHIFT) - 1);
	size_t done = 0;
	u64 end;

	if (index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	index = array_index_nospec(index, VFIO_PCI_NUM_REGIONS);
	end = region_size(guest, index);
	if (at >= end)
		return -EINVAL;
	count = min_t(u64, count, end - at);
	while (done < count) {
		/* Whole registers, as large as address and rest allow. */
		size_t size = 1UL << min_t(unsigned int, 3,
					   min(at ? __ffs64(at) : 3,
					       (unsigned int)__fls(count - done)));
		u64 data = ~0ULL;

		if (write && copy_from_user(&data, buffer + done, size))
			return -EFAULT;
		access(guest, index, at, (u8 *)&data, size, write);
		if (!write && copy_to_user(buffer + done, &data, size))
			return -EFAULT;
		done += size;
		at += size;
	}
	*offset += done;
	return done;
}

static ssize_t read_region(struct vfio_device *vdev, char __user *buffer, size_t count,
			   loff_t *offset)
{
	return transfer(vdev, buffer, count, offset, false);
}

static ssize_t write_region(struct vfio_device *vdev, const char __user *buffer,
			    size_t count, loff_t *offset)
{
	return transfer(vdev, (char __user *)buffer, count, offset, true);
}

static int mmap_region_of(struct vfio_device *vdev, struct vm_area_struct *vma)
{
	return mdev_bar_mmap(to_guest(vdev), vma);
}

static void dma_unmap(struct vfio_device *vdev, u64 addr, u64 size)
{
	mdev_memory_unmapped(to_guest(vdev), addr, size);
}

static long get_info(unsigned long arg)
{
	size_t min = offsetofend(struct vfio_device_info, num_irqs);
	struct vfio_device_info info;

	if (copy_from_user(&info, (void __user *)arg, min))
		return -EFAULT;
	if (info.argsz < min)
		return -EINVAL;
	info.flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
	info.num_regions = VFIO_PCI_NUM_REGIONS;
	info.num_irqs = VFIO_PCI_NUM_IRQS;
	return copy_to_user((void __user *)arg, &info, min) ? -EFAULT : 0;
}

/* Fills in @info of region info->index, with no capabilities. */
static int region_info(struct vfio_device *vdev, struct vfio_region_info *info,
		       struct vfio_info_cap *caps)
{
	struct mdev_guest *guest = to_guest(vdev);
	u32 index = info->index;

	if (index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	index = array_index_nospec(index, VFIO_PCI_NUM_REGIONS);
	info->offset = (u64)index << MDEV_OFFSET_SHIFT;
	info->size = region_size(guest, index);
	info->cap_offset = 0;
	info->flags = info->size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	/* The user leaves the page of the MSI-X table out by itself. */
	if (index < PCI_STD_NUM_BARS && info->size >= PAGE_SIZE)
		info->flags |= VFIO_REGION_INFO_FLAG_MMAP;
	return 0;
}

/* The same as a request, on kernels whose VFIO has no operation for it. */
static long get_region(struct mdev_guest *guest, unsigned long arg)
{
	size_t min = offsetofend(struct vfio_region_info, offset);
	struct vfio_region_info info;
	int err;

	if (copy_from_user(&info, (void __user *)arg, min))
		return -EFAULT;
	if (info.argsz < min)
		return -EINVAL;
	err = region_info(&guest->vdev, &info, NULL);
	if (err)
		return err;
	return copy_to_user((void __user *)arg, &info, min) ? -EFAULT : 0;
}

static long get_irq(struct mdev_guest *guest, unsigned long arg)
{
	size_t min = offsetofend(struct vfio_irq_info, count);
	struct vfio_irq_info info;

	if (copy_from_user(&info, (void __user *)arg, min))
		return -EFAULT;
	if (info.argsz < min || info.index >= VFIO_PCI_NUM_IRQS)
		return -EINVAL;
	info.flags = mdev_irq_flags(info.index);
	mutex_lock(&guest->slot->lock);
	info.count = mdev_irq_count(guest, info.index);
	mutex_unlock(&guest->slot->lock);
	return copy_to_user((void __user *)arg, &info, min) ? -EFAULT : 0;
}

static long set_irqs(struct mdev_guest *guest, unsigned long arg)
{
	size_t min = offsetofend(struct vfio_irq_set, count), size = 0;
	struct vfio_irq_set set;
	void *data = NULL;
	long err;

	if (copy_from_user(&set, (void __user *)arg, min))
		return -EFAULT;
	mutex_lock(&guest->slot->lock);
	if (mdev_is_lost(guest)) {
		/* The interrupts that a user takes away are gone already. */
		err = set.count ? -ENODEV : 0;
		goto unlock;
	}
	err = vfio_set_irqs_validate_and_prepare(&set, mdev_irq_count(guest, set.index),
						 VFIO_PCI_NUM_IRQS, &size);
	if (err)
		goto unlock;
	if (size) {
		data = memdup_user((void __user *)(arg + min), size);
		if (IS_ERR(data)) {
			err = PTR_ERR(data);
			goto unlock;
		}
	}
	err = mdev_irq_set(guest, &set, data);
	kfree(data);
unlock:
	mutex_unlock(&guest->slot->lock);
	return err;
}

static long control(struct vfio_device *vdev, unsigned int command, unsigned long arg)
{
	struct mdev_guest *guest = to_guest(vdev);
	long err;

	switch (command) {
	case VFIO_DEVICE_GET_INFO:
		return get_info(arg);
	case VFIO_DEVICE_GET_REGION_INFO:
		return get_region(guest, arg);
	case VFIO_DEVICE_GET_IRQ_INFO:
		return get_irq(guest, arg);
	case VFIO_DEVICE_SET_IRQS:
		return set_irqs(guest, arg);
	case VFIO_DEVICE_RESET:
		mutex_lock(&guest->slot->lock);
		err = reset(guest);
		mutex_unlock(&guest->slot->lock);
		return err;
	}
	return -ENOTTY;
}

static int init_device(struct vfio_device *vdev)
{
	struct mdev_guest *guest = to_guest(vdev);

	mutex_init(&guest->bar_lock);
	spin_lock_init(&guest->trigger_lock);
	return 0;
}

static void release_device(struct vfio_device *vdev)
{
	struct mdev_guest *guest = to_guest(vdev);

	if (guest->slot)
		put_device(&guest->slot->dev);
	dlend_vfio_free(vdev);
}

static const struct vfio_device_ops device_ops = {
	.name = "dl_mdev",
	.init = init_device,
	.release = release_device,
	.open_device = open_device,
	.close_device = close_device,
	.read = read_region,
	.write = write_region,
	.ioctl = control,
	.mmap = mmap_region_of,
	.dma_unmap = dma_unmap,
	DLEND_VFIO_REGION_OP(region_info)
	DLEND_VFIO_IOMMUFD_OPS
};

int mdev_device_add(struct mdev_device *mdev)
{
	struct mdev_slot *slot = container_of(mdev->type->parent, struct mdev_slot, parent);
	struct mdev_guest *guest;
	int err;

	guest = vfio_alloc_device(mdev_guest, vdev, &mdev->dev, &device_ops);
	if (IS_ERR(guest))
		return PTR_ERR(guest);
	guest->slot = slot;
	get_device(&slot->dev);
	mutex_lock(&slot->lock);
	err = slot->pdev ? 0 : -ENODEV;
	if (!err)
		slot->guest = guest;
	mutex_unlock(&slot->lock);
	if (!err)
		err = vfio_register_emulated_iommu_dev(&guest->vdev);
	if (err) {
		mutex_lock(&slot->lock);
		slot->guest = NULL;
		mutex_unlock(&slot->lock);
		vfio_put_device(&guest->vdev);
		return err;
	}
	dev_set_drvdata(&mdev->dev, guest);
	return 0;
}

/* Waits until the user has closed the device. */
void mdev_device_remove(struct mdev_device *mdev)
{
	struct mdev_guest *guest = dev_get_drvdata(&mdev->dev);
	struct mdev_slot *slot = guest->slot;

	vfio_unregister_group_dev(&guest->vdev);
	mutex_lock(&slot->lock);
	slot->guest = NULL;
	mutex_unlock(&slot->lock);
	vfio_put_device(&guest->vdev);
}
