// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA of a borrowed device into this node's memory, through a window of the
 * lender's adapter. Nothing is copied.
 *
 * Without an IOMMU here, the window is all of memory, and an address for the device
 * is a physical address plus an offset. With an IOMMU, the window is a range of
 * addresses that the IOMMU translates, and memory is mapped into it when a driver asks
 * for it. Such a window may be smaller than memory, and it may be full.
 *
 * The kernel's own offsets for a bus (dma_range_map) are not used, because the kernel
 * drops them when a driver is unbound. The next driver would then give the device
 * addresses of the lender's memory, and memory that a driver frees after its remove
 * would be taken for another page.
 */
#include <linux/bitops.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/iova.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "borrower.h"

/*
 * Start of the translated window, in the addresses of this node's IOMMU. It lies
 * beyond the addresses that the kernel gives to other devices, and within 39 bits,
 * which every IOMMU translates.
 */
#define WINDOW_IOVA BIT_ULL(38)
#define WINDOW_MAX BIT_ULL(38)
#define WINDOW_MIN SZ_1M

static bool is_translated(struct device *dev)
{
	struct iommu_domain *domain;

	if (!device_iommu_mapped(dev))
		return false;
	domain = iommu_get_domain_for_dev(dev);
	return !domain || domain->type != IOMMU_DOMAIN_IDENTITY;
}

/*
 * Return: the size of a window from address 0 on that holds all memory, a power of two;
 * 0 if 64 bits cannot hold it.
 */
static u64 memory_size(struct borrower_loan *loan)
{
	return dma_get_required_mask(loan->requester) + 1;
}

static u64 default_window(struct borrower_loan *loan)
{
	struct dlend_free_windows free;
	u64 size = roundup_pow_of_two(totalram_pages() << PAGE_SHIFT);

	if (!dlend_windows_free(loan->peer, &free) && free.direct_max)
		size = min(size, rounddown_pow_of_two(free.direct_max));
	return size;
}

static int choose_window(struct borrower_loan *loan, u64 window,
			 struct dlend_why *why)
{
	loan->translated = is_translated(loan->requester);
	if (loan->translated && !dlend_peer_is_loopback(loan->peer))
		return dlend_why_set(why, -EOPNOTSUPP,
				     "this node's IOMMU translates the addresses of %s, which a borrower does not support; boot with iommu=pt",
				     dlend_peer_name(loan->peer));
	if (!loan->translated) {
		loan->dma_start = 0;
		loan->dma_size = memory_size(loan);
		if (!loan->dma_size)
			return dlend_why_set(why, -EOPNOTSUPP,
					     "this node's memory ends beyond 2^63, which no window reaches");
		if (window && window != loan->dma_size)
			return dlend_why_set(why, -EINVAL,
					     "without an IOMMU the window is all of this node's memory, %llu MiB; leave the size out",
					     loan->dma_size / SZ_1M);
		return 0;
	}
	loan->dma_start = WINDOW_IOVA;
	loan->dma_size = window ?: default_window(loan);
	if (loan->dma_size < WINDOW_MIN || loan->dma_size > WINDOW_MAX ||
	    !IS_ALIGNED(loan->dma_size, PAGE_SIZE))
		return dlend_why_set(why, -EINVAL,
				     "a window has 1 to %llu MiB",
				     WINDOW_MAX / SZ_1M);
	return 0;
}

int borrower_dma_prepare(struct borrower_loan *loan, u64 window,
			 struct dlend_msg_attach *req, struct dlend_why *why)
{
	struct borrower_range range = {
		.kind = DLEND_WINDOW_DIRECT,
		.purpose = "DMA",
	};
	int err = choose_window(loan, window, why);

	if (err)
		return err;
	range.start = loan->dma_start;
	range.size = loan->dma_size;
	err = borrower_window_open(loan, &range, &loan->dma_export, &req->dma,
				   why);
	if (err)
		return err;
	if (loan->translated)
		req->flags |= cpu_to_le32(DLEND_ATTACH_TRANSLATED);
	return 0;
}

int borrower_dma_start(struct borrower_loan *loan)
{
	int err;

	if (!loan->translated)
		return 0;
	err = iova_cache_get();
	if (err)
		return err;
	init_iova_domain(&loan->iova, PAGE_SIZE,
			 loan->dma_start >> PAGE_SHIFT);
	err = iova_domain_init_rcaches(&loan->iova);
	if (err) {
		put_iova_domain(&loan->iova);
		iova_cache_put();
		return err;
	}
	loan->domain = iommu_get_domain_for_dev(loan->requester);
	return 0;
}

/* No mapping is made or undone after this, so the domain may go. */
void borrower_dma_kill(struct borrower_loan *loan)
{
	unsigned long flags;

	spin_lock_irqsave(&loan->dma_lock, flags);
	WRITE_ONCE(loan->dead, true);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
}

void borrower_dma_stop(struct borrower_loan *loan)
{
	if (loan->domain) {
		u64 used = atomic64_read(&loan->dma_used);

		if (used)
			pr_info("dl_borrower: device %x: its driver still has %llu bytes of DMA memory, for open files\n",
				loan->fdid, used);
		loan->domain = NULL;
		put_iova_domain(&loan->iova);
		iova_cache_put();
	}
}

u64 borrower_dma_free(struct borrower_loan *loan)
{
	return loan->dma_size - atomic64_read(&loan->dma_used);
}

static int prot_of(enum dma_data_direction dir)
{
	switch (dir) {
	case DMA_TO_DEVICE:
		return IOMMU_READ;
	case DMA_FROM_DEVICE:
		return IOMMU_WRITE;
	default:
		return IOMMU_READ | IOMMU_WRITE;
	}
}

static dma_addr_t map_linear(struct borrower_loan *loan, phys_addr_t phys,
			     size_t size)
{
	u64 at = phys - loan->dma_start;

	if (size > loan->dma_size || at > loan->dma_size - size) {
		atomic64_inc(&borrower_counts.no_room);
		dev_warn_ratelimited(&loan->pdev->dev,
				     "%pa lies beyond the DMA window of %llu MiB\n",
				     &phys, loan->dma_size / SZ_1M);
		return DMA_MAPPING_ERROR;
	}
	return at + loan->dma_bus;
}

/* Return: the last address of the window, as the device uses it. */
static u64 last_bus(struct borrower_loan *loan)
{
	return loan->dma_bus + loan->dma_size - 1;
}

/*
 * Maps memory for the device.
 * @mask: DMA mask of the device
 *
 * Return: the address for the device, or DMA_MAPPING_ERROR after a message.
 */
static dma_addr_t map(struct borrower_loan *loan, phys_addr_t phys,
		      size_t size, enum dma_data_direction dir, u64 mask)
{
	size_t offset = offset_in_page(phys);
	size_t length = PAGE_ALIGN(offset + size);
	u64 last = loan->dma_start + loan->dma_size - 1;
	unsigned long flags, pfn;
	int err = -ENODEV;
	u64 iova;

	/* A driver that has set no mask has the default mask of 32 bits. */
	if (last_bus(loan) > mask) {
		dev_warn_ratelimited(&loan->pdev->dev,
				     "its DMA window ends at %#llx, but its driver has asked for addresses up to %#llx\n",
				     last_bus(loan), mask);
		return DMA_MAPPING_ERROR;
	}
	if (!loan->translated)
		return map_linear(loan, phys, size);
	pfn = alloc_iova_fast(&loan->iova, length >> PAGE_SHIFT,
			      last >> PAGE_SHIFT, true);
	if (!pfn) {
		atomic64_inc(&borrower_counts.no_room);
		dev_warn_ratelimited(&loan->pdev->dev,
				     "No room in IOMMU range: %zu bytes asked for, %llu of %llu free\n",
				     length, borrower_dma_free(loan),
				     loan->dma_size);
		return DMA_MAPPING_ERROR;
	}
	iova = (u64)pfn << PAGE_SHIFT;
	spin_lock_irqsave(&loan->dma_lock, flags);
	if (!loan->dead)
		err = dlend_iommu_map(loan->domain, iova, phys - offset, length,
				      prot_of(dir), GFP_ATOMIC);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	if (err) {
		free_iova_fast(&loan->iova, pfn, length >> PAGE_SHIFT);
		return DMA_MAPPING_ERROR;
	}
	atomic64_add(length, &loan->dma_used);
	return iova - loan->dma_start + loan->dma_bus + offset;
}

static void unmap(struct borrower_loan *loan, dma_addr_t addr, size_t size)
{
	size_t offset = offset_in_page(addr);
	size_t length = PAGE_ALIGN(offset + size);
	u64 iova = addr - offset - loan->dma_bus + loan->dma_start;
	unsigned long flags;

	if (!loan->translated)
		return;
	spin_lock_irqsave(&loan->dma_lock, flags);
	if (!loan->dead)
		iommu_unmap(loan->domain, iova, length);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	free_iova_fast(&loan->iova, iova >> PAGE_SHIFT, length >> PAGE_SHIFT);
	atomic64_sub(length, &loan->dma_used);
}

static struct page *dlend_alloc_pages(struct device *dev, size_t size,
				      dma_addr_t *handle,
				      enum dma_data_direction dir, gfp_t gfp)
{
	struct page *page = alloc_pages_node(dev_to_node(dev), gfp,
					     get_order(size));

	if (!page)
		return NULL;
	*handle = map(borrower_loan_of(dev), page_to_phys(page), size, dir,
		      dev->coherent_dma_mask);
	if (*handle == DMA_MAPPING_ERROR) {
		__free_pages(page, get_order(size));
		return NULL;
	}
	return page;
}

static void dlend_free_pages(struct device *dev, size_t size, struct page *page,
			     dma_addr_t handle, enum dma_data_direction dir)
{
	unmap(borrower_loan_of(dev), handle, size);
	__free_pages(page, get_order(size));
}

static void *dlend_alloc(struct device *dev, size_t size, dma_addr_t *handle,
			 gfp_t gfp, unsigned long attrs)
{
	struct page *page = dlend_alloc_pages(dev, PAGE_ALIGN(size), handle,
					      DMA_BIDIRECTIONAL,
					      (gfp | __GFP_ZERO) & ~__GFP_COMP);

	return page ? page_address(page) : NULL;
}

static void dlend_free(struct device *dev, size_t size, void *memory,
		       dma_addr_t handle, unsigned long attrs)
{
	dlend_free_pages(dev, PAGE_ALIGN(size), virt_to_page(memory), handle,
			 DMA_BIDIRECTIONAL);
}

static int dlend_mmap(struct device *dev, struct vm_area_struct *vma,
		      void *memory, dma_addr_t handle, size_t size,
		      unsigned long attrs)
{
	unsigned long pages = PAGE_ALIGN(size) >> PAGE_SHIFT;

	if (vma->vm_pgoff >= pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -ENXIO;
	return remap_pfn_range(vma, vma->vm_start,
			       (virt_to_phys(memory) >> PAGE_SHIFT) +
			       vma->vm_pgoff,
			       vma->vm_end - vma->vm_start, vma->vm_page_prot);
}

static int dlend_get_sgtable(struct device *dev, struct sg_table *table,
			     void *memory, dma_addr_t handle, size_t size,
			     unsigned long attrs)
{
	int err = sg_alloc_table(table, 1, GFP_KERNEL);

	if (!err)
		sg_set_page(table->sgl, virt_to_page(memory), PAGE_ALIGN(size),
			    0);
	return err;
}

static dma_addr_t dlend_map_page(struct device *dev, struct page *page,
				 unsigned long offset, size_t size,
				 enum dma_data_direction dir, unsigned long attrs)
{
	return map(borrower_loan_of(dev), page_to_phys(page) + offset, size,
		   dir, dma_get_mask(dev));
}

static void dlend_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	unmap(borrower_loan_of(dev), addr, size);
}

static void dlend_unmap_sg(struct device *dev, struct scatterlist *list, int n,
			   enum dma_data_direction dir, unsigned long attrs)
{
	struct borrower_loan *loan = borrower_loan_of(dev);
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, n, i)
		unmap(loan, sg_dma_address(sg), sg_dma_len(sg));
}

static int dlend_map_sg(struct device *dev, struct scatterlist *list, int n,
			enum dma_data_direction dir, unsigned long attrs)
{
	struct borrower_loan *loan = borrower_loan_of(dev);
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, n, i) {
		sg_dma_address(sg) = map(loan, sg_phys(sg), sg->length, dir,
					 dma_get_mask(dev));
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR) {
			dlend_unmap_sg(dev, list, i, dir, attrs);
			return -ENOMEM;
		}
		sg_dma_len(sg) = sg->length;
	}
	return n;
}

/* A driver whose mask is refused usually fails without a word, so the reason is here. */
static int dlend_dma_supported(struct device *dev, u64 mask)
{
	struct borrower_loan *loan = borrower_loan_of(dev);

	if (last_bus(loan) <= mask)
		return 1;
	dev_warn_ratelimited(dev,
			     "its driver offers %d address bits, but its DMA window is %#llx to %#llx; %s\n",
			     fls64(mask), loan->dma_bus, last_bus(loan),
			     loan->translated ? "borrow it with a smaller window" :
			     "an IOMMU on its own node puts the window at lower addresses");
	return 0;
}

static u64 dlend_get_required_mask(struct device *dev)
{
	return DMA_BIT_MASK(fls64(last_bus(borrower_loan_of(dev))));
}

/*
 * A mapping takes a power of two of addresses, aligned to that power of two. For a
 * mapping larger than this limit, so many addresses might never be free in one piece.
 */
static size_t dlend_max_mapping_size(struct device *dev)
{
	struct borrower_loan *loan = borrower_loan_of(dev);

	return loan->translated ? loan->dma_size / 8 : SIZE_MAX;
}

static const struct dma_map_ops borrower_dma_ops = {
	.alloc = dlend_alloc,
	.free = dlend_free,
	.DLEND_ALLOC_PAGES_OP = dlend_alloc_pages,
	.free_pages = dlend_free_pages,
	.mmap = dlend_mmap,
	.get_sgtable = dlend_get_sgtable,
	.map_page = dlend_map_page,
	.unmap_page = dlend_unmap_page,
	.map_sg = dlend_map_sg,
	.unmap_sg = dlend_unmap_sg,
	.map_resource = borrower_p2p_map,
	.unmap_resource = borrower_p2p_unmap,
	.dma_supported = dlend_dma_supported,
	.get_required_mask = dlend_get_required_mask,
	.max_mapping_size = dlend_max_mapping_size,
};

void borrower_dma_attach(struct borrower_loan *loan)
{
	set_dma_ops(&loan->pdev->dev, &borrower_dma_ops);
}

void borrower_dma_detach(struct borrower_loan *loan)
{
	dlend_orphan(loan->bridge, &loan->pdev->dev);
}
