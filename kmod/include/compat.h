/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels that these modules are built for: 6.1, 6.12 and 7.3. All
 * of them are here: no other file asks for a version. Where stable updates or
 * distributions differ, Kbuild looks into the kernel's headers, and defines DLEND_*.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include <linux/aer.h>
#include <linux/dma-buf.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/vfio.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/hex.h>
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/*
 * Without one of these options set_dma_ops() does nothing, and the drivers of borrowed
 * functions would hand out addresses of this node.
 */
#if !IS_ENABLED(CONFIG_DMA_OPS) && !IS_ENABLED(CONFIG_ARCH_HAS_DMA_OPS)
#error "the kernel needs CONFIG_DMA_OPS or CONFIG_ARCH_HAS_DMA_OPS; set CONFIG_GART_IOMMU=y"
#endif

/*
 * Otherwise the length of a part of a list is also its length for the device, and cannot be
 * kept there while the IOMMU maps whole pages.
 */
#if !IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH)
#error "the kernel needs CONFIG_NEED_SG_DMA_LENGTH, as all kernels for x86 have it"
#endif

/*
 * There a spinlock sleeps, but accesses to configuration space and DMA mappings come with
 * raw spinlocks held and interrupts off.
 */
#if IS_ENABLED(CONFIG_PREEMPT_RT)
#error "the modules do not support kernels with CONFIG_PREEMPT_RT"
#endif

/* Name of the member of struct dma_map_ops: alloc_pages() became a macro in 6.10. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define DLEND_ALLOC_PAGES_OP alloc_pages_op
#else
#define DLEND_ALLOC_PAGES_OP alloc_pages
#endif

/**
 * dlend_iommu_map() - iommu_map() in any context
 * @domain: of the device
 * @iova: first address of the device
 * @phys: where it leads
 * @size: bytes
 * @prot: IOMMU_READ and others
 * @gfp: GFP_KERNEL, or GFP_ATOMIC where the caller must not sleep
 *
 * Return: 0 or a negative error.
 */
static inline int dlend_iommu_map(struct iommu_domain *domain, unsigned long iova,
				  phys_addr_t phys, size_t size, int prot, gfp_t gfp)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return iommu_map(domain, iova, phys, size, prot, gfp);
#else
	if (gfpflags_allow_blocking(gfp))
		return iommu_map(domain, iova, phys, size, prot);
	return iommu_map_atomic(domain, iova, phys, size, prot);
#endif
}

/**
 * dlend_iommu_map_sg() - iommu_map_sg() where the caller must not sleep
 * @domain: of the device
 * @iova: first address of the device
 * @list: of whole pages
 * @n: its length
 * @prot: IOMMU_READ and others
 *
 * Return: the bytes that are mapped, or a negative error and nothing is.
 */
static inline ssize_t dlend_iommu_map_sg(struct iommu_domain *domain, unsigned long iova,
					 struct scatterlist *list, unsigned int n, int prot)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return iommu_map_sg(domain, iova, list, n, prot, GFP_ATOMIC);
#else
	/* The core has this function, but does not export it. */
	struct scatterlist *sg;
	size_t done = 0, part;
	unsigned int i;
	int err = 0;

	for_each_sg(list, sg, n, i) {
		for (part = 0; part < sg->length && !err;) {
			size_t mapped = 0;

			err = domain->ops->map_pages(domain, iova + done,
						     sg_phys(sg) + part, PAGE_SIZE,
						     (sg->length - part) >> PAGE_SHIFT,
						     prot, GFP_ATOMIC, &mapped);
			err = err ?: mapped ? 0 : -EIO;
			part += mapped;
			done += mapped;
		}
		if (err)
			break;
	}
	if (!err && domain->ops->iotlb_sync_map)
		domain->ops->iotlb_sync_map(domain, iova, done);
	if (err && done)
		iommu_unmap(domain, iova, done);
	return err ?: (ssize_t)done;
#endif
}

/**
 * dlend_iommu_domain() - a domain without mappings
 * @dev: a function that will be attached to it
 *
 * Since 6.11 a domain is made for a device, before for a bus.
 *
 * Return: the domain, or NULL.
 */
static inline struct iommu_domain *dlend_iommu_domain(struct device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	struct iommu_domain *domain = iommu_paging_domain_alloc(dev);

	return IS_ERR(domain) ? NULL : domain;
#else
	return iommu_domain_alloc(dev->bus);
#endif
}

/*
 * Since 6.19 struct dma_map_ops has one pair of operations for memory and for BARs of other
 * devices, and an attribute tells which. Before, it has a pair for each, which
 * DLEND_DEFINE_MAPS() makes of NAME_map_phys() and NAME_unmap_phys().
 */
#ifdef DLEND_MAP_PHYS
#define DLEND_DEFINE_MAPS(name)
#define DLEND_MAPS(name) \
	.map_phys = name##_map_phys, \
	.unmap_phys = name##_unmap_phys
#else
#ifndef DMA_ATTR_MMIO
#define DMA_ATTR_MMIO BIT(10)
#endif
#define DLEND_DEFINE_MAPS(name) \
static dma_addr_t name##_map_page(struct device *dev, struct page *page, \
				  unsigned long offset, size_t size, \
				  enum dma_data_direction dir, unsigned long attrs) \
{ \
	return name##_map_phys(dev, page_to_phys(page) + offset, size, dir, attrs); \
} \
\
static dma_addr_t name##_map_resource(struct device *dev, phys_addr_t phys, size_t size, \
				      enum dma_data_direction dir, unsigned long attrs) \
{ \
	return name##_map_phys(dev, phys, size, dir, attrs | DMA_ATTR_MMIO); \
} \
\
static void name##_unmap_resource(struct device *dev, dma_addr_t addr, size_t size, \
				  enum dma_data_direction dir, unsigned long attrs) \
{ \
	name##_unmap_phys(dev, addr, size, dir, attrs | DMA_ATTR_MMIO); \
}

#define DLEND_MAPS(name) \
	.map_page = name##_map_page, \
	.unmap_page = name##_unmap_phys, \
	.map_resource = name##_map_resource, \
	.unmap_resource = name##_unmap_resource
#endif

/**
 * dlend_nr_irqs() - how many interrupts there can be
 *
 * Return: since 6.13 the result of a function, before a variable.
 */
static inline unsigned int dlend_nr_irqs(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	return irq_get_nr_irqs();
#else
	return nr_irqs;
#endif
}

/* 6.16 renamed the one, and 6.2 the other. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_container_of from_timer
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync del_timer_sync
#endif

/* A namespace of symbols is a string since 6.13. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define DLEND_IMPORT_NS(name) MODULE_IMPORT_NS(#name)
#else
#define DLEND_IMPORT_NS(name) MODULE_IMPORT_NS(name)
#endif

/* 7.0 renamed both. */
#ifndef DLEND_INVALIDATE_MAPPINGS
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings dma_buf_move_notify
#endif

/* Newer kernels warn of the old names of their workqueues. */
#ifndef DLEND_SYSTEM_DFL_WQ
#define system_dfl_wq system_unbound_wq
#define system_percpu_wq system_wq
#endif

/* They also warn of a workqueue that is neither for each CPU, once the default, nor for all. */
#ifndef DLEND_WQ_PERCPU
#define WQ_PERCPU 0
#endif

/* The flags of a mapping have a type of their own in 7.x. */
#ifndef EMPTY_VMA_FLAGS
#define EMPTY_VMA_FLAGS 0
#endif

/**
 * dlend_interrupts_remapped() - does the IOMMU check the messages of a device?
 * @dev: a PCI function
 *
 * Return: true if @dev can only raise interrupts that were given to it.
 */
static inline bool dlend_interrupts_remapped(struct device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	return msi_device_has_isolated_msi(dev);
#else
	return device_iommu_capable(dev, IOMMU_CAP_INTR_REMAP);
#endif
}

/**
 * dlend_msi_parent() - the domain that gives the interrupts of a device their vectors
 * @dev: a PCI function
 *
 * Since 6.2 each device has an MSI domain of its own, and dev_get_msi_domain() returns
 * the parent of all. Before, it returns a domain that has this parent.
 *
 * Return: the domain of the vectors or of the remapping, or NULL.
 */
static inline struct irq_domain *dlend_msi_parent(struct device *dev)
{
	struct irq_domain *domain = dev_get_msi_domain(dev);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	if (domain && irq_domain_is_msi_parent(domain))
		return domain;
#endif
	return domain ? domain->parent : NULL;
}

/*
 * Some 6.12 have the driver_override of a function in struct device and others in
 * struct pci_dev, because a stable update moved it. Kbuild finds out.
 */

/**
 * dlend_override_set() - names the only driver that a function may have
 * @pdev: the function
 * @name: name of a driver, or NULL for any
 *
 * Return: 0 or -ENOMEM.
 */
static inline int dlend_override_set(struct pci_dev *pdev, const char *name)
{
	const char *text = name ?: "";

#ifdef DLEND_OVERRIDE_IN_PCI_DEV
	return driver_set_override(&pdev->dev, &pdev->driver_override, text,
				   strlen(text));
#else
	return device_set_driver_override(&pdev->dev, text);
#endif
}

/**
 * dlend_override_copy() - the name that dlend_override_set() or sysfs has set
 * @pdev: the function
 *
 * Return: a copy for kfree(), or NULL if any driver may have @pdev.
 */
static inline char *dlend_override_copy(struct pci_dev *pdev)
{
	char *name;

#ifdef DLEND_OVERRIDE_IN_PCI_DEV
	device_lock(&pdev->dev);
	name = kstrdup(pdev->driver_override, GFP_KERNEL);
	device_unlock(&pdev->dev);
#else
	spin_lock(&pdev->dev.driver_override.lock);
	name = kstrdup(pdev->dev.driver_override.name, GFP_ATOMIC);
	spin_unlock(&pdev->dev.driver_override.lock);
#endif
	return name;
}

/**
 * dlend_report_errors() - let a device report its errors to the root port (AER)
 * @pdev: the device
 * @report: or not
 *
 * Since 6.6 the PCI core does this for all devices.
 */
static inline void dlend_report_errors(struct pci_dev *pdev, bool report)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	if (report)
		pci_enable_pcie_error_reporting(pdev);
	else
		pci_disable_pcie_error_reporting(pdev);
#endif
}

/* VFIO asks for these in 6.12, for users of iommufd in place of containers. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0) && IS_ENABLED(CONFIG_IOMMUFD)
#define DLEND_VFIO_IOMMUFD_OPS \
	.bind_iommufd = vfio_iommufd_emulated_bind, \
	.unbind_iommufd = vfio_iommufd_emulated_unbind, \
	.attach_ioas = vfio_iommufd_emulated_attach_ioas, \
	.detach_ioas = vfio_iommufd_emulated_detach_ioas,
#else
#define DLEND_VFIO_IOMMUFD_OPS
#endif

/* Since 6.19 the size of a region is an operation of its own. */
#ifdef DLEND_REGION_INFO_CAPS
#define DLEND_VFIO_REGION_OP(fn) .get_region_info_caps = (fn),
#else
#define DLEND_VFIO_REGION_OP(fn)
#endif

/**
 * dlend_vfio_free() - the end of the release operation of a device of VFIO
 * @vdev: the device
 *
 * Since 6.3 VFIO itself frees it.
 */
static inline void dlend_vfio_free(struct vfio_device *vdev)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vfio_free_device(vdev);
#endif
}

/**
 * dlend_eventfd_signal() - adds 1 to an eventfd
 * @ctx: of the eventfd
 */
static inline void dlend_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

/**
 * dlend_vm_flags_set() - sets flags of a mapping that mmap() is making
 * @vma: the mapping
 * @flags: VM_*
 */
static inline void dlend_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

#endif
