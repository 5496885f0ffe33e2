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
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/dma-map-ops.h>
#include <linux/iommu.h>
#include <linux/iova.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "borrower.h"

/* Sizes of a translated window of the loopback, which has no adapter that limits it. */
#define WINDOW_MAX BIT_ULL(38)
#define WINDOW_MIN SZ_1M

/*
 * Return: the size of a window from address 0 on that holds all memory, a power of two;
 * 0 if 64 bits cannot hold it.
 */
static u64 memory_size(struct borrower_loan *loan)
{
	return dma_get_required_mask(loan->requester) + 1;
}

static int choose_linear(struct borrower_loan *loan, u64 window,
			 struct dlend_why *why)
{
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

/* In the loopback each device has a domain of its own, so its addresses are its own. */
static int choose_loopback(struct borrower_loan *loan, u64 window,
			   struct dlend_why *why)
{
	struct dlend_free_windows free;
	u64 size = roundup_pow_of_two(totalram_pages() << PAGE_SHIFT);

	if (!dlend_windows_free(loan->peer, &free) && free.direct_max)
		size = min(size, rounddown_pow_of_two(free.direct_max));
	loan->dma_start = borrower_space_start();
	loan->dma_size = window ?: size;
	if (loan->dma_size < WINDOW_MIN || loan->dma_size > WINDOW_MAX ||
	    !IS_ALIGNED(loan->dma_size, PAGE_SIZE))
		return dlend_why_set(why, -EINVAL,
				     "a window has 1 to %llu MiB",
				     WINDOW_MAX / SZ_1M);
	return 0;
}

static int choose_window(struct borrower_loan *loan, u64 window,
			 struct dlend_why *why)
{
	int err;

	loan->translated = dlend_is_translated(loan->requester);
	if (loan->guest && dlend_peer_is_loopback(loan->peer))
		return dlend_why_set(why, -EOPNOTSUPP,
				     "a device of this node itself cannot be borrowed for a virtual machine; use vfio-pci");
	if (loan->guest && !loan->translated)
		return dlend_why_set(why, -EOPNOTSUPP,
				     "a device for a virtual machine needs an IOMMU that translates, on this node too; boot with intel_iommu=on");
	if (!loan->translated)
		return choose_linear(loan, window, why);
	if (dlend_peer_is_loopback(loan->peer))
		return choose_loopback(loan, window, why);
	err = borrower_space_take(loan, window, why);
	loan->dma_start = loan->slice.start;
	loan->dma_size = loan->slice.size;
	return err;
}

/* Narrows the description of a window to the slice of a loan. */
static void narrow(struct dlend_window_desc *desc, u64 start, u64 size)
{
	u64 at = start - le64_to_cpu(desc->addr);

	desc->offset = cpu_to_le64(le64_to_cpu(desc->offset) + at);
	desc->addr = cpu_to_le64(start);
	desc->size = cpu_to_le64(size);
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
	/* Loans with slices share one export of the whole window. */
	if (loan->slice.peer) {
		range.start = borrower_space_start();
		range.size = loan->slice.space;
	}
	err = borrower_window_open(loan, &range, &loan->dma_export, &req->dma,
				   why);
	if (err)
		return err;
	narrow(&req->dma, loan->dma_start, loan->dma_size);
	if (loan->translated)
		req->flags |= cpu_to_le32(DLEND_ATTACH_TRANSLATED);
	if (loan->guest)
		req->flags |= cpu_to_le32(DLEND_ATTACH_GUEST);
	return 0;
}

int borrower_dma_start(struct borrower_loan *loan)
{
	unsigned long flags;
	int err;

	if (!loan->translated)
		return 0;
	loan->sink = (void *)get_zeroed_page(GFP_KERNEL);
	loan->dma_pages = vzalloc(BITS_TO_LONGS(loan->dma_size >> PAGE_SHIFT) *
				  sizeof(long));
	if (!loan->sink || !loan->dma_pages)
		return -ENOMEM;
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
	loan->iova_ready = true;
	spin_lock_irqsave(&loan->dma_lock, flags);
	/* A loan of the loopback uses the domain that its lender made for it. */
	if (!loan->dead)
		loan->domain = loan->slice.peer ? loan->slice.domain :
			       iommu_get_domain_for_dev(loan->requester);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	return 0;
}

/* No mapping is made or undone after this. dma_lock is held. */
static void leave_domain(struct borrower_loan *loan)
{
	loan->domain = NULL;
	atomic64_sub(loan->dma_mapped, &borrower_counts.mapped);
	loan->dma_mapped = 0;
}

void borrower_dma_kill(struct borrower_loan *loan)
{
	unsigned long flags;

	spin_lock_irqsave(&loan->dma_lock, flags);
	WRITE_ONCE(loan->dead, true);
	/* The lender of the loopback ends its domain after a loss. */
	if (!loan->slice.peer)
		leave_domain(loan);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
}

/*
 * The domain of an adapter stays when a loan ends. A mapping that stays in it would open
 * memory that has another use by then to the next device at the same address.
 */
void borrower_dma_purge(struct borrower_loan *loan)
{
	unsigned long n = loan->dma_size >> PAGE_SHIFT, at, end, flags;
	struct iommu_domain *domain;

	spin_lock_irqsave(&loan->dma_lock, flags);
	domain = loan->domain;
	leave_domain(loan);
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	if (!domain || !loan->slice.peer)
		return;
	/* Without a domain nobody changes what is mapped. */
	for_each_set_bitrange(at, end, loan->dma_pages, n) {
		iommu_unmap(domain, loan->dma_start + ((u64)at << PAGE_SHIFT),
			    (size_t)(end - at) << PAGE_SHIFT);
		cond_resched();
	}
}

void borrower_dma_stop(struct borrower_loan *loan)
{
	if (loan->iova_ready) {
		u64 used = atomic64_read(&loan->dma_used);

		if (used)
			pr_info("dl_borrower: device %x: its driver still has %llu bytes of DMA memory, for open files\n",
				loan->fdid, used);
		loan->iova_ready = false;
		put_iova_domain(&loan->iova);
		iova_cache_put();
	}
	/* No address leads to it: borrower_dma_purge() came before. */
	free_page((unsigned long)loan->sink);
	loan->sink = NULL;
	vfree(loan->dma_pages);
	loan->dma_pages = NULL;
	borrower_space_give(loan);
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

/* Return: whether the device reaches all of the window; if not, there is a message. */
static bool mask_suffices(struct borrower_loan *loan, u64 mask)
{
	/* A driver that has set no mask has the default mask of 32 bits. */
	if (last_bus(loan) <= mask)
		return true;
	dev_warn_ratelimited(&loan->pdev->dev,
			     "its DMA window ends at %#llx, but its driver has asked for addresses up to %#llx\n",
			     last_bus(loan), mask);
	return false;
}

/* Return: free addresses of the window, or 0 after a message. */
static u64 take_iova(struct borrower_loan *loan, size_t length)
{
	u64 last = loan->dma_start + loan->dma_size - 1;
	unsigned long pfn = alloc_iova_fast(&loan->iova, length >> PAGE_SHIFT,
					    last >> PAGE_SHIFT, true);

	if (pfn)
		return (u64)pfn << PAGE_SHIFT;
	atomic64_inc(&borrower_counts.no_room);
	dev_warn_ratelimited(&loan->pdev->dev,
			     "No room in IOMMU range: %zu bytes asked for, %llu of %llu free\n",
			     length, borrower_dma_free(loan), loan->dma_size);
	return 0;
}

/* A scatterlist, or one range of memory */
struct memory {
	struct scatterlist *list;	/* NULL: one range */
	int n;
	phys_addr_t phys;
	size_t size;
};

/* Return: the bytes of the pages that hold a range. */
static size_t pages_of(phys_addr_t phys, size_t size)
{
	return PAGE_ALIGN(offset_in_page(phys) + size);
}

/*
 * The IOMMU core maps a list of whole pages with one flush, of which an IOMMU in caching
 * mode, as emulated ones are, has to be told each time. So the parts are widened to whole
 * pages, and keep what they were in their DMA addresses, which have no meaning yet.
 */
static void round_out(struct scatterlist *list, int n)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, n, i) {
		unsigned int before = offset_in_page(sg->offset);

		sg_dma_address(sg) = sg->offset;
		sg_dma_len(sg) = sg->length;
		sg->offset -= before;
		sg->length = PAGE_ALIGN(before + sg->length);
	}
}

static void undo_round_out(struct scatterlist *list, int n)
{
	struct scatterlist *sg;
	int i;

	for_each_sg(list, sg, n, i) {
		sg->offset = sg_dma_address(sg);
		sg->length = sg_dma_len(sg);
	}
}

/* Maps all of the memory from @iova on. dma_lock is held. */
static int map_memory(struct iommu_domain *domain, u64 iova, const struct memory *memory,
		      size_t length, int prot)
{
	ssize_t mapped;

	if (!memory->list)
		return dlend_iommu_map(domain, iova, memory->phys & PAGE_MASK, length, prot,
				       GFP_ATOMIC);
	round_out(memory->list, memory->n);
	mapped = dlend_iommu_map_sg(domain, iova, memory->list, memory->n, prot);
	undo_round_out(memory->list, memory->n);
	if (mapped == (ssize_t)length)
		return 0;
	if (mapped > 0)
		iommu_unmap(domain, iova, mapped);
	return mapped < 0 ? mapped : -EIO;
}

/*
 * Maps pages of a lost device, all to one page that nobody else uses. A driver that gets
 * no address may try again for ever, as nvme does in its probe, which then never ends; and
 * if it gets an address that leads nowhere, a device that is still told of it is blamed by
 * the IOMMU. dma_lock is held.
 */
static int map_sink(struct borrower_loan *loan, u64 iova, size_t length, int prot)
{
	size_t done;
	int err;

	for (done = 0; done < length; done += PAGE_SIZE) {
		err = dlend_iommu_map(loan->domain, iova + done, virt_to_phys(loan->sink),
				      PAGE_SIZE, prot, GFP_ATOMIC);
		if (!err)
			continue;
		if (done)
			iommu_unmap(loan->domain, iova, done);
		return err;
	}
	return 0;
}

/* dma_lock is held. */
static unsigned int page_of(struct borrower_loan *loan, u64 iova)
{
	return (iova - loan->dma_start) >> PAGE_SHIFT;
}

/* Maps the memory, @length bytes in whole pages, at @iova, which the caller has taken. */
static int map_at(struct borrower_loan *loan, u64 iova, const struct memory *memory,
		  size_t length, int prot)
{
	unsigned long flags;
	int err = -ENODEV;

	spin_lock_irqsave(&loan->dma_lock, flags);
	if (loan->domain)
		err = loan->dead ?
			      map_sink(loan, iova, length, prot) :
			      map_memory(loan->domain, iova, memory, length, prot);
	if (!err) {
		bitmap_set(loan->dma_pages, page_of(loan, iova), length >> PAGE_SHIFT);
		loan->dma_mapped += length;
		atomic64_add(length, &borrower_counts.mapped);
	}
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	if (!err)
		atomic64_add(length, &loan->dma_used);
	return err;
}

/* Return: the first address of the IOMMU at which the memory is mapped, or 0. */
static u64 map_translated(struct borrower_loan *loan, const struct memory *memory,
			  size_t length, enum dma_data_direction dir)
{
	u64 iova = take_iova(loan, length);

	if (!iova)
		return 0;
	if (!map_at(loan, iova, memory, length, prot_of(dir)))
		return iova;
	free_iova_fast(&loan->iova, iova >> PAGE_SHIFT, length >> PAGE_SHIFT);
	return 0;
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
	const struct memory memory = { .phys = phys, .size = size };
	u64 iova;

	if (!mask_suffices(loan, mask))
		return DMA_MAPPING_ERROR;
	if (!loan->translated)
		return map_linear(loan, phys, size);
	iova = map_translated(loan, &memory, pages_of(phys, size), dir);
	if (!iova)
		return DMA_MAPPING_ERROR;
	return iova - loan->dma_start + loan->dma_bus + offset_in_page(phys);
}

/* Undoes the mapping of the pages that hold @size bytes at @addr of the device. */
static void unmap(struct borrower_loan *loan, dma_addr_t addr, size_t size)
{
	size_t length = pages_of(addr, size);
	u64 iova = addr - offset_in_page(addr) - loan->dma_bus + loan->dma_start;

	if (!loan->translated)
		return;
	borrower_dma_unmap(loan, iova, length);
	free_iova_fast(&loan->iova, iova >> PAGE_SHIFT, length >> PAGE_SHIFT);
}

/*
 * The function may be removed while its driver still frees memory, and from then on the
 * operations are those of dlend_orphan(). A caller that has fetched ours before finds no loan,
 * and nothing that is mapped.
 */

static dma_addr_t map_for(struct device *dev, phys_addr_t phys, size_t size,
			  enum dma_data_direction dir, u64 mask)
{
	dma_addr_t addr = DMA_MAPPING_ERROR;
	struct borrower_loan *loan;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	if (loan)
		addr = map(loan, phys, size, dir, mask);
	borrower_loan_exit(idx);
	return addr;
}

static void unmap_for(struct device *dev, dma_addr_t addr, size_t size)
{
	struct borrower_loan *loan;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	if (loan)
		unmap(loan, addr, size);
	borrower_loan_exit(idx);
}

static struct page *dlend_alloc_pages(struct device *dev, size_t size,
				      dma_addr_t *handle,
				      enum dma_data_direction dir, gfp_t gfp)
{
	struct page *page = alloc_pages_node(dev_to_node(dev), gfp,
					     get_order(size));

	if (!page)
		return NULL;
	*handle = map_for(dev, page_to_phys(page), size, dir, dev->coherent_dma_mask);
	if (*handle == DMA_MAPPING_ERROR) {
		__free_pages(page, get_order(size));
		return NULL;
	}
	return page;
}

static void dlend_free_pages(struct device *dev, size_t size, struct page *page,
			     dma_addr_t handle, enum dma_data_direction dir)
{
	unmap_for(dev, handle, size);
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

/* Memory of this node, or a BAR of another device */
static dma_addr_t dlend_map_phys(struct device *dev, phys_addr_t phys, size_t size,
				 enum dma_data_direction dir, unsigned long attrs)
{
	if (attrs & DMA_ATTR_MMIO)
		return borrower_p2p_map(dev, phys, size, dir, attrs);
	return map_for(dev, phys, size, dir, dma_get_mask(dev));
}

static void dlend_unmap_phys(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir, unsigned long attrs)
{
	if (attrs & DMA_ATTR_MMIO)
		borrower_p2p_unmap(dev, addr, size, dir, attrs);
	else
		unmap_for(dev, addr, size);
}

DLEND_DEFINE_MAPS(dlend)

/* The parts of a list are adjacent in the window, so one flush takes them all. */
static int map_list(struct borrower_loan *loan, struct scatterlist *list, int n,
		    enum dma_data_direction dir)
{
	const struct memory memory = { .list = list, .n = n };
	struct scatterlist *sg;
	size_t length = 0;
	u64 iova;
	int i;

	for_each_sg(list, sg, n, i)
		length += pages_of(sg_phys(sg), sg->length);
	iova = map_translated(loan, &memory, length, dir);
	if (!iova)
		return -ENOMEM;
	for_each_sg(list, sg, n, i) {
		sg_dma_address(sg) = iova - loan->dma_start + loan->dma_bus +
				     offset_in_page(sg_phys(sg));
		sg_dma_len(sg) = sg->length;
		iova += pages_of(sg_phys(sg), sg->length);
	}
	return n;
}

static void dlend_unmap_sg(struct device *dev, struct scatterlist *list, int n,
			   enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *last = list;
	int i;

	for (i = 1; i < n; i++)
		last = sg_next(last);
	unmap_for(dev, sg_dma_address(list),
		  sg_dma_address(last) + sg_dma_len(last) - sg_dma_address(list));
}

static int map_any_list(struct borrower_loan *loan, struct scatterlist *list, int n,
			enum dma_data_direction dir, u64 mask)
{
	struct scatterlist *sg;
	int i;

	if (!mask_suffices(loan, mask))
		return -EIO;
	if (loan->translated)
		return map_list(loan, list, n, dir);
	for_each_sg(list, sg, n, i) {
		sg_dma_address(sg) = map_linear(loan, sg_phys(sg), sg->length);
		if (sg_dma_address(sg) == DMA_MAPPING_ERROR)
			return -EIO;
		sg_dma_len(sg) = sg->length;
	}
	return n;
}

static int dlend_map_sg(struct device *dev, struct scatterlist *list, int n,
			enum dma_data_direction dir, unsigned long attrs)
{
	struct borrower_loan *loan;
	int ret = -EIO, idx;

	loan = borrower_loan_enter(dev, &idx);
	if (loan)
		ret = map_any_list(loan, list, n, dir, dma_get_mask(dev));
	borrower_loan_exit(idx);
	return ret;
}

/* A driver whose mask is refused usually fails without a word, so the reason is here. */
static int dlend_dma_supported(struct device *dev, u64 mask)
{
	struct borrower_loan *loan;
	int ret = 0, idx;

	loan = borrower_loan_enter(dev, &idx);
	if (loan && last_bus(loan) <= mask)
		ret = 1;
	else if (loan)
		dev_warn_ratelimited(dev,
				     "its driver offers %d address bits, but its DMA window is %#llx to %#llx; %san IOMMU on its own node puts the window at lower addresses\n",
				     fls64(mask), loan->dma_bus, last_bus(loan),
				     loan->translated ? "a smaller window or " : "");
	borrower_loan_exit(idx);
	return ret;
}

static u64 dlend_get_required_mask(struct device *dev)
{
	struct borrower_loan *loan;
	u64 mask;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	mask = DMA_BIT_MASK(loan ? fls64(last_bus(loan)) : 32);
	borrower_loan_exit(idx);
	return mask;
}

/*
 * A mapping takes a power of two of addresses, aligned to that power of two. For a
 * mapping larger than this limit, so many addresses might never be free in one piece.
 */
static size_t dlend_max_mapping_size(struct device *dev)
{
	size_t size = SIZE_MAX;
	struct borrower_loan *loan;
	int idx;

	loan = borrower_loan_enter(dev, &idx);
	if (loan && loan->translated)
		size = loan->dma_size / 8;
	borrower_loan_exit(idx);
	return size;
}

static const struct dma_map_ops borrower_dma_ops = {
	.alloc = dlend_alloc,
	.free = dlend_free,
	.DLEND_ALLOC_PAGES_OP = dlend_alloc_pages,
	.free_pages = dlend_free_pages,
	.mmap = dlend_mmap,
	.get_sgtable = dlend_get_sgtable,
	DLEND_MAPS(dlend),
	.map_sg = dlend_map_sg,
	.unmap_sg = dlend_unmap_sg,
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

bool borrower_dma_is_ours(struct device *dev)
{
	return get_dma_ops(dev) == &borrower_dma_ops;
}

int borrower_dma_map_list(struct borrower_loan *loan, u64 start, struct scatterlist *list,
			  int n, size_t length)
{
	const struct memory memory = { .list = list, .n = n };

	return map_at(loan, start, &memory, length, IOMMU_READ | IOMMU_WRITE);
}

/* Not inlined, nor split: a test stops a thread where this begins. */
noinline void borrower_dma_unmap(struct borrower_loan *loan, u64 start, size_t length)
{
	unsigned long flags;

	if (WARN_ON_ONCE(start < loan->dma_start || length > loan->dma_size ||
			 start - loan->dma_start > loan->dma_size - length))
		return;

	spin_lock_irqsave(&loan->dma_lock, flags);
	if (loan->domain) {
		iommu_unmap(loan->domain, start, length);
		bitmap_clear(loan->dma_pages, page_of(loan, start), length >> PAGE_SHIFT);
		loan->dma_mapped -= length;
		atomic64_sub(length, &borrower_counts.mapped);
	}
	spin_unlock_irqrestore(&loan->dma_lock, flags);
	atomic64_sub(length, &loan->dma_used);
}
