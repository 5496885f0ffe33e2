// SPDX-License-Identifier: GPL-2.0-only
/*
 * BARs of a device in a virtual machine. The guest's accesses go directly to the window
 * onto the device. When the device is lost, a page of memory takes the place of each page
 * of the window: the addresses of the window may soon lead to another device.
 *
 * A mapping may outlive the file of the device. It belongs to a file that each user gets
 * anew, and has no pages any more when that user has closed the device.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include "compat.h"
#include "mdev.h"

static void find_table(struct mdev_guest *guest, struct pci_dev *pdev)
{
	u32 at;

	guest->table_start = 0;
	guest->table_end = 0;
	if (!pdev->msix_cap)
		return;
	pci_read_config_dword(pdev, pdev->msix_cap + PCI_MSIX_TABLE, &at);
	guest->table_bar = at & PCI_MSIX_TABLE_BIR;
	at &= PCI_MSIX_TABLE_OFFSET;
	guest->table_start = round_down(at, PAGE_SIZE);
	guest->table_end = PAGE_ALIGN((u64)at + pci_msix_vec_count(pdev) *
				      PCI_MSIX_ENTRY_SIZE);
}

/*
 * The file of a mapping keeps this module: the file is let go after the last call of
 * bar_ops.
 */
static const struct file_operations bar_file_ops = {
	.owner = THIS_MODULE,
};

static struct file *new_file(void)
{
	struct file *file = shmem_file_setup("dl_mdev", 0, EMPTY_VMA_FLAGS);

	if (IS_ERR(file))
		return NULL;
	/* The device is open, so the module is in use. */
	__module_get(THIS_MODULE);
	replace_fops(file, &bar_file_ops);
	return file;
}

int mdev_bar_open(struct mdev_guest *guest)
{
	struct pci_dev *pdev = guest->slot->pdev;
	struct page *ones = alloc_page(GFP_KERNEL);
	struct file *file = new_file();
	unsigned int i;

	if (!ones || !file) {
		if (ones)
			__free_page(ones);
		if (file)
			fput(file);
		return -ENOMEM;
	}
	memset(page_address(ones), 0xff, PAGE_SIZE);
	/* VFIO must not take the page for memory of the user. */
	SetPageReserved(ones);
	find_table(guest, pdev);
	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		guest->bar_size[i] = pci_resource_len(pdev, i);
		guest->bar_phys[i] = pci_resource_start(pdev, i);
		if (guest->bar_size[i])
			guest->bars[i] = pci_iomap(pdev, i, 0);
	}
	mutex_lock(&guest->bar_lock);
	guest->ones = ones;
	guest->bar_file = file;
	guest->bars_dead = false;
	mutex_unlock(&guest->bar_lock);
	return 0;
}

/* A page fault has inserted its page before, or finds what has changed. */
static void unmap_all(struct file *file)
{
	unmap_mapping_range(file->f_mapping, 0, 0, 1);
}

static void unmap_registers(struct mdev_guest *guest)
{
	unsigned int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		if (guest->bars[i])
			iounmap(guest->bars[i]);
		guest->bars[i] = NULL;
	}
}

void mdev_bar_lose(struct mdev_guest *guest)
{
	mutex_lock(&guest->bar_lock);
	guest->bars_dead = true;
	mutex_unlock(&guest->bar_lock);
	unmap_all(guest->bar_file);
	unmap_registers(guest);
}

void mdev_bar_close(struct mdev_guest *guest)
{
	struct file *file = guest->bar_file;

	mutex_lock(&guest->bar_lock);
	guest->bar_file = NULL;
	mutex_unlock(&guest->bar_lock);
	unmap_all(file);
	unmap_registers(guest);
	fput(file);
	ClearPageReserved(guest->ones);
	__free_page(guest->ones);
	guest->ones = NULL;
}

/* Entries of the MSI-X table are the kernel's: VFIO sets interrupts by eventfds. */
static bool is_table(struct mdev_guest *guest, unsigned int bar, u64 start, u64 end)
{
	return guest->table_end && bar == guest->table_bar && start < guest->table_end &&
	       end > guest->table_start;
}

static void read_register(void __iomem *from, u8 *data, size_t size)
{
	if (size == 8)
		*(u64 *)data = readq(from);
	else if (size == 4)
		*(u32 *)data = readl(from);
	else if (size == 2)
		*(u16 *)data = readw(from);
	else
		*data = readb(from);
}

static void write_register(void __iomem *to, const u8 *data, size_t size)
{
	if (size == 8)
		writeq(*(u64 *)data, to);
	else if (size == 4)
		writel(*(u32 *)data, to);
	else if (size == 2)
		writew(*(u16 *)data, to);
	else
		writeb(*data, to);
}

void mdev_bar_access(struct mdev_guest *guest, unsigned int bar, u64 at, u8 *data,
		     size_t size, bool write)
{
	bool table = is_table(guest, bar, at, at + size);

	if (!guest->bars[bar] || (write && table))
		return;
	if (write)
		write_register(guest->bars[bar] + at, data, size);
	else
		read_register(guest->bars[bar] + at, data, size);
}

static vm_fault_t bar_fault(struct vm_fault *fault)
{
	struct vm_area_struct *vma = fault->vma;
	struct mdev_guest *guest = vma->vm_private_data;
	unsigned int bar = vma->vm_pgoff >> (MDEV_OFFSET_SHIFT - PAGE_SHIFT);
	u64 at = ((u64)vma->vm_pgoff << PAGE_SHIFT) & (BIT_ULL(MDEV_OFFSET_SHIFT) - 1);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	unsigned long pfn;

	at += (fault->address & PAGE_MASK) - vma->vm_start;
	mutex_lock(&guest->bar_lock);
	/* The user of this mapping may have closed the device, and another one have it. */
	if (vma->vm_file == guest->bar_file) {
		pfn = guest->bars_dead ? page_to_pfn(guest->ones) :
					 (guest->bar_phys[bar] + at) >> PAGE_SHIFT;
		ret = vmf_insert_pfn(vma, fault->address & PAGE_MASK, pfn);
	}
	mutex_unlock(&guest->bar_lock);
	return ret;
}

static void bar_opened(struct vm_area_struct *vma)
{
	struct mdev_guest *guest = vma->vm_private_data;

	get_device(&guest->vdev.device);
}

static void bar_unmapped(struct vm_area_struct *vma)
{
	struct mdev_guest *guest = vma->vm_private_data;

	put_device(&guest->vdev.device);
}

static const struct vm_operations_struct bar_ops = {
	.open = bar_opened,
	.close = bar_unmapped,
	.fault = bar_fault,
};

int mdev_bar_mmap(struct mdev_guest *guest, struct vm_area_struct *vma)
{
	u64 at = (u64)vma->vm_pgoff << PAGE_SHIFT, size = vma->vm_end - vma->vm_start;
	u64 bar = at >> MDEV_OFFSET_SHIFT;

	at &= BIT_ULL(MDEV_OFFSET_SHIFT) - 1;
	if (!(vma->vm_flags & VM_SHARED) || bar >= PCI_STD_NUM_BARS ||
	    at > guest->bar_size[bar] || size > guest->bar_size[bar] - at ||
	    is_table(guest, bar, at, at + size))
		return -EINVAL;
	/* The mapping belongs to a file of its own, so that it can be found by this file. */
	vma_set_file(vma, guest->bar_file);
	vma->vm_private_data = guest;
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	dlend_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &bar_ops;
	get_device(&guest->vdev.device);
	return 0;
}
