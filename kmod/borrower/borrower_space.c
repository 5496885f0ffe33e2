// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of translated DMA windows. The requester of a far device's writes is this
 * node's adapter, so the writes of all loans that come through one adapter are translated
 * by one IOMMU domain, that of the adapter. One direct window leads to a range of the
 * domain's addresses, from WINDOW_IOVA on. Each loan has a slice of the range, and
 * no two slices of a domain overlap, also not those of two adapters that share a domain.
 *
 * The lender's IOMMU opens to a device its own slice only. The kernel gives out addresses
 * of the same domain, for this node's own use of the adapter. These are kept below the
 * range.
 */
#include <linux/iommu.h>
#include <linux/ioport.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/sizes.h>

#include "borrower.h"
#include "uapi/dl_window.h"

/*
 * Start of the range. It lies beyond the addresses that the kernel gives to devices with
 * few address bits, and within 39 bits, which every IOMMU translates.
 */
#define WINDOW_IOVA BIT_ULL(38)
#define WINDOW_MAX BIT_ULL(38)
#define WINDOW_MIN SZ_1M

/* The memory map lacks what the firmware keeps of this node's RAM; whole units have both. */
#define RAM_UNIT SZ_4M

static DEFINE_MUTEX(slices_mutex);
static LIST_HEAD(slices);	/* of struct borrower_slice */

static struct borrower_slice *of_peer(struct dlend_peer *peer)
{
	struct borrower_slice *slice;

	list_for_each_entry(slice, &slices, node)
		if (slice->peer == peer)
			return slice;
	return NULL;
}

/* Return: a slice of the domain that overlaps these addresses, or NULL. */
static struct borrower_slice *in_the_way(struct iommu_domain *domain, u64 start, u64 size)
{
	struct borrower_slice *slice;

	list_for_each_entry(slice, &slices, node)
		if (slice->domain == domain && slice->start < start + size &&
		    start < slice->start + slice->size)
			return slice;
	return NULL;
}

/* Return: the lowest free addresses of the window, or 0. */
static u64 find_place(struct iommu_domain *domain, u64 space, u64 size)
{
	/*
	 * With such an alignment the IOMMU and the lender's can use pages as large as the
	 * size allows, and nothing is lost between slices of equal size.
	 */
	u64 align = min_t(u64, size & -size, SZ_1G);
	u64 start = WINDOW_IOVA;

	while (start + size <= WINDOW_IOVA + space) {
		struct borrower_slice *busy = in_the_way(domain, start, size);

		if (!busy)
			return start;
		start = ALIGN(busy->start + busy->size, align);
	}
	return 0;
}

static u64 used_of(struct iommu_domain *domain)
{
	struct borrower_slice *slice;
	u64 used = 0;

	list_for_each_entry(slice, &slices, node)
		if (slice->domain == domain)
			used += slice->size;
	return used;
}

static int no_place(struct borrower_loan *loan, u64 size, struct dlend_why *why)
{
	const struct borrower_slice *slice = &loan->slice;
	u64 used = used_of(slice->domain), largest = slice->space;

	while (largest >= WINDOW_MIN &&
	       !find_place(slice->domain, slice->space, largest))
		largest /= 2;
	if (largest < WINDOW_MIN)
		return dlend_why_set(why, -ENOSPC,
				     "the other devices of node %u have all of the DMA window of %llu MiB; return one, or borrow them with smaller windows",
				     dlend_peer_node(loan->peer), slice->space / SZ_1M);
	return dlend_why_set(why, -ENOSPC,
			     "a window of %llu MiB does not fit: the DMA window of node %u has %llu MiB, of which loans have %llu MiB; the largest that fits has %llu MiB",
			     size / SZ_1M, dlend_peer_node(loan->peer),
			     slice->space / SZ_1M, used / SZ_1M, largest / SZ_1M);
}

static int limit_addresses(struct device *dev, void *unused)
{
	/* This stays, because nothing tells when the last such address is given back. */
	if (!dev->bus_dma_limit || dev->bus_dma_limit >= WINDOW_IOVA)
		dev->bus_dma_limit = WINDOW_IOVA - 1;
	return 0;
}

/* Keeps the kernel's own addresses of the domain out of the range. */
static void reserve_range(struct device *requester)
{
	struct iommu_group *group = iommu_group_get(requester);

	if (!group)
		return;
	iommu_group_for_each_dev(group, NULL, limit_addresses);
	iommu_group_put(group);
}

static int choose_space(struct borrower_loan *loan, struct dlend_why *why)
{
	struct borrower_slice *slice = &loan->slice, *other = of_peer(loan->peer);
	const struct iommu_domain_geometry *geometry = &slice->domain->geometry;
	struct dlend_free_windows free;
	int err;

	if (other) {
		slice->space = other->space;
		return 0;
	}
	err = dlend_windows_free(loan->peer, &free);
	if (err)
		return dlend_why_set(why, err, "node %u is not connected",
				     dlend_peer_node(loan->peer));
	if (free.direct_max < WINDOW_MIN)
		return dlend_why_set(why, -ENOSPC,
				     "node %u has no direct window of 1 MiB or more that is free",
				     dlend_peer_node(loan->peer));
	slice->space = min_t(u64, free.direct_max, WINDOW_MAX);
	if (WINDOW_IOVA + slice->space - 1 > geometry->aperture_end)
		return dlend_why_set(why, -EOPNOTSUPP,
				     "this node's IOMMU translates addresses up to %#llx for %s; a DMA window needs %#llx",
				     (u64)geometry->aperture_end,
				     dlend_peer_name(loan->peer),
				     WINDOW_IOVA + slice->space - 1);
	return 0;
}

static int add_ram(struct resource *res, void *sum)
{
	*(u64 *)sum += resource_size(res);
	return 0;
}

static u64 ram_size(void)
{
	u64 sum = 0;

	walk_iomem_res_desc(IORES_DESC_NONE,
			    IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY, 0, U64_MAX,
			    &sum, add_ram);
	return round_up(sum, RAM_UNIT);
}

/* Return: the fair share of what is free, in whole MiB, and at least one. */
static u64 default_size(const struct borrower_loan *loan)
{
	u64 used = used_of(loan->slice.domain);
	u64 free = loan->slice.space > used ? loan->slice.space - used : 0;

	return max_t(u64, WINDOW_MIN, WINDOW_MIN *
		     dlend_window_share(free / WINDOW_MIN,
					dlend_window_weight(loan->device.class),
					loan->weight, ram_size() / WINDOW_MIN));
}

static int choose_slice(struct borrower_loan *loan, u64 size, struct dlend_why *why)
{
	struct borrower_slice *slice = &loan->slice;
	bool chosen = size;
	int err = choose_space(loan, why);

	if (err)
		return err;
	if (size && (size < WINDOW_MIN || size > slice->space ||
		     !IS_ALIGNED(size, PAGE_SIZE)))
		return dlend_why_set(why, -EINVAL,
				     "a window has 1 to %llu MiB, and whole pages; the adapter of node %u has no larger one",
				     slice->space / SZ_1M,
				     dlend_peer_node(loan->peer));
	if (!size)
		size = default_size(loan);
	slice->start = find_place(slice->domain, slice->space, size);
	/* Without a wish for a size, a smaller one that fits is better than none. */
	while (!slice->start && !chosen && size / 2 >= WINDOW_MIN) {
		size = round_down(size / 2, WINDOW_MIN);
		slice->start = find_place(slice->domain, slice->space, size);
	}
	if (!slice->start)
		return no_place(loan, size, why);
	slice->size = size;
	return 0;
}

int borrower_space_take(struct borrower_loan *loan, u64 size, struct dlend_why *why)
{
	struct borrower_slice *slice = &loan->slice;
	int err;

	slice->domain = iommu_get_domain_for_dev(loan->requester);
	if (!slice->domain)
		return dlend_why_set(why, -EOPNOTSUPP,
				     "this node's IOMMU has no domain for %s",
				     dlend_peer_name(loan->peer));
	mutex_lock(&slices_mutex);
	err = choose_slice(loan, size, why);
	if (!err) {
		slice->peer = loan->peer;
		list_add_tail(&slice->node, &slices);
	}
	mutex_unlock(&slices_mutex);
	if (!err)
		reserve_range(loan->requester);
	return err;
}

void borrower_space_give(struct borrower_loan *loan)
{
	struct borrower_slice *slice = &loan->slice;

	if (!slice->peer)
		return;
	mutex_lock(&slices_mutex);
	list_del(&slice->node);
	slice->peer = NULL;
	mutex_unlock(&slices_mutex);
}

u64 borrower_space_start(void)
{
	return WINDOW_IOVA;
}
