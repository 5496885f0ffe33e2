// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a virtual machine. Its driver programs the device with guest addresses, and
 * any page may be meant. So all of the guest's memory is pinned and mapped while the
 * device can master the bus.
 *
 * VFIO tells a mediated device what its user unmaps, and not what it maps. So memory is
 * found by trying to pin it. Firmware makes QEMU unmap and map again all of the guest's
 * memory, for a moment, when it opens or locks the memory below 1 MiB: so what was
 * unmapped is tried again a little later, several times.
 *
 * VFIO lets go of a range when no device of the machine has pages of it pinned. It tells one
 * device after the other, and if a page is pinned again meanwhile it begins anew; Linux stops
 * with a BUG the eleventh time. So nothing is tried again while a device of the machine is
 * being told, nor before the others had time to be.
 */
#include <linux/bitmap.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "mdev.h"

#define CHUNK_PAGES (SZ_2M / PAGE_SIZE)
static_assert(CHUNK_PAGES <= VFIO_PIN_PAGES_MAX_ENTRIES);

/* The first retry, and how often the time doubles. */
#define AGAIN_MS 20
#define AGAIN_TRIES 8

/* The guests whose devices are open. */
static DEFINE_SPINLOCK(users_lock);
static LIST_HEAD(users);

static u64 address_of(u64 gfn)
{
	return gfn << PAGE_SHIFT;
}

/* Pins a run of pages. Return: whether all of them are the guest's memory. */
static bool pin(struct mdev_guest *guest, u64 gfn, unsigned int n, struct page **pages)
{
	int ret = vfio_pin_pages(&guest->vdev, address_of(gfn), n,
				 IOMMU_READ | IOMMU_WRITE, pages);
	unsigned int i;

	/* A BAR that the guest has mapped is no memory. */
	for (i = 0; ret == n && i < n; i++) {
		if (!PageReserved(pages[i]))
			continue;
		vfio_unpin_pages(&guest->vdev, address_of(gfn), n);
		return false;
	}
	if (ret > 0 && ret != n)
		vfio_unpin_pages(&guest->vdev, address_of(gfn), ret);
	return ret == n;
}

/* Maps a run of pinned pages for the device, or unpins them. */
static void map(struct mdev_guest *guest, u64 gfn, unsigned int n, struct page **pages)
{
	int err = dlend_guest_map(guest->slot->pdev, address_of(gfn), pages, n);

	if (err) {
		vfio_unpin_pages(&guest->vdev, address_of(gfn), n);
		dev_warn_ratelimited(&guest->slot->dev,
				     "guest memory at %#llx could not be mapped: error %d\n",
				     address_of(gfn), err);
		return;
	}
	bitmap_set(guest->pinned, gfn, n);
	atomic64_add(n, &mdev_counts.pinned);
}

/* Takes a chunk page by page, and maps runs of adjacent pages. */
static void fill_pages(struct mdev_guest *guest, u64 first)
{
	unsigned int i, n = 0;

	for (i = 0; i < CHUNK_PAGES; i++) {
		if (pin(guest, first + i, 1, guest->pages + n)) {
			n++;
			continue;
		}
		if (n)
			map(guest, first + i - n, n, guest->pages);
		n = 0;
	}
	if (n)
		map(guest, first + CHUNK_PAGES - n, n, guest->pages);
}

/* Nothing of the chunk is pinned. */
static void fill_chunk(struct mdev_guest *guest, u64 first)
{
	bool low = first < CHUNK_PAGES;

	if (pin(guest, first, CHUNK_PAGES, guest->pages)) {
		map(guest, first, CHUNK_PAGES, guest->pages);
		return;
	}
	/*
	 * Only the first chunk has holes within: ROMs. Memory that begins or ends within
	 * another one has its first or last page.
	 */
	if (!low && pin(guest, first, 1, guest->pages)) {
		vfio_unpin_pages(&guest->vdev, address_of(first), 1);
		low = true;
	} else if (!low && pin(guest, first + CHUNK_PAGES - 1, 1, guest->pages)) {
		vfio_unpin_pages(&guest->vdev, address_of(first + CHUNK_PAGES - 1), 1);
		low = true;
	}
	if (low)
		fill_pages(guest, first);
}

static void drop_chunk(struct mdev_guest *guest, u64 first)
{
	u64 last = first + CHUNK_PAGES, start = first, end;

	for (;;) {
		start = find_next_bit(guest->pinned, last, start);
		if (start >= last)
			return;
		end = find_next_zero_bit(guest->pinned, last, start);
		if (guest->slot->pdev)
			dlend_guest_unmap(guest->slot->pdev, address_of(start), end - start);
		vfio_unpin_pages(&guest->vdev, address_of(start), end - start);
		bitmap_clear(guest->pinned, start, end - start);
		atomic64_sub(end - start, &mdev_counts.pinned);
		start = end;
	}
}

static bool is_empty(struct mdev_guest *guest, u64 first)
{
	return find_next_bit(guest->pinned, first + CHUNK_PAGES, first) >=
	       first + CHUNK_PAGES;
}

static void fill(struct mdev_guest *guest)
{
	u64 pages = guest->window >> PAGE_SHIFT, first;

	for (first = 0; first < pages; first += CHUNK_PAGES) {
		if (is_empty(guest, first))
			fill_chunk(guest, first);
		cond_resched();
	}
}

static void drop(struct mdev_guest *guest, u64 first, u64 end)
{
	for (first = round_down(first, CHUNK_PAGES); first < end; first += CHUNK_PAGES) {
		drop_chunk(guest, first);
		cond_resched();
	}
}

/* Return: whether VFIO may be about to unmap memory of the machine. */
static bool is_unmapping(struct mdev_guest *guest)
{
	struct mdev_guest *other;
	bool unmapping = false;

	spin_lock(&users_lock);
	list_for_each_entry(other, &users, user)
		if (other->machine == guest->machine &&
		    (other->unmapping ||
		     time_before(jiffies, other->unmapped_at + msecs_to_jiffies(AGAIN_MS))))
			unmapping = true;
	spin_unlock(&users_lock);
	return unmapping;
}

static void set_unmapping(struct mdev_guest *guest, bool unmapping)
{
	spin_lock(&users_lock);
	guest->unmapping = unmapping;
	guest->unmapped_at = jiffies;
	spin_unlock(&users_lock);
}

static void again_work(struct work_struct *work)
{
	struct mdev_guest *guest = container_of(to_delayed_work(work), struct mdev_guest,
						again);

	unsigned int ms;

	mutex_lock(&guest->slot->lock);
	if (guest->memory_on && !mdev_is_lost(guest) && is_unmapping(guest)) {
		schedule_delayed_work(&guest->again, msecs_to_jiffies(AGAIN_MS));
	} else if (guest->memory_on && !mdev_is_lost(guest)) {
		fill(guest);
		if (guest->tries) {
			guest->tries--;
			ms = AGAIN_MS << (AGAIN_TRIES - guest->tries);
			schedule_delayed_work(&guest->again, msecs_to_jiffies(ms));
		}
	}
	mutex_unlock(&guest->slot->lock);
}

int mdev_memory_open(struct mdev_guest *guest)
{
	u64 pages;

	guest->window = round_down(dlend_guest_window(guest->slot->pdev), SZ_2M);
	if (!guest->window)
		return -ENODEV;
	pages = guest->window >> PAGE_SHIFT;
	guest->pinned = vzalloc(BITS_TO_LONGS(pages) * sizeof(long));
	guest->pages = kcalloc(CHUNK_PAGES, sizeof(*guest->pages), GFP_KERNEL);
	INIT_DELAYED_WORK(&guest->again, again_work);
	if (guest->pinned && guest->pages) {
		guest->unmapped_at = jiffies - msecs_to_jiffies(AGAIN_MS);
		spin_lock(&users_lock);
		list_add(&guest->user, &users);
		spin_unlock(&users_lock);
		return 0;
	}
	vfree(guest->pinned);
	kfree(guest->pages);
	guest->pinned = NULL;
	guest->pages = NULL;
	return -ENOMEM;
}

void mdev_memory_on(struct mdev_guest *guest)
{
	struct page *page;

	guest->memory_on = true;
	fill(guest);
	/* The most likely mistake: a machine that is larger than the window. */
	if ((guest->window < SZ_2G && pin(guest, guest->window >> PAGE_SHIFT, 1, &page)) ||
	    (guest->window <= SZ_4G && pin(guest, SZ_4G >> PAGE_SHIFT, 1, &page))) {
		vfio_unpin_pages(&guest->vdev,
				 guest->window < SZ_2G ? guest->window : SZ_4G, 1);
		dev_warn(&guest->slot->dev,
			 "the guest has memory beyond the DMA window of %llu MiB, which the device does not reach; borrow it with a larger window\n",
			 guest->window / SZ_1M);
	}
}

void mdev_memory_off(struct mdev_guest *guest)
{
	guest->memory_on = false;
	if (guest->pinned)
		drop(guest, 0, guest->window >> PAGE_SHIFT);
}

void mdev_memory_close(struct mdev_guest *guest)
{
	mdev_memory_off(guest);
	/* The work finds memory_on false, if it still comes. */
	mutex_unlock(&guest->slot->lock);
	cancel_delayed_work_sync(&guest->again);
	mutex_lock(&guest->slot->lock);
	spin_lock(&users_lock);
	list_del(&guest->user);
	spin_unlock(&users_lock);
	vfree(guest->pinned);
	kfree(guest->pages);
	guest->pinned = NULL;
	guest->pages = NULL;
}

void mdev_memory_unmapped(struct mdev_guest *guest, u64 addr, u64 size)
{
	u64 first = addr >> PAGE_SHIFT, end;

	set_unmapping(guest, true);
	mutex_lock(&guest->slot->lock);
	if (guest->pinned && size && addr < guest->window) {
		end = min(addr + size - 1, guest->window - 1) >> PAGE_SHIFT;
		if (find_next_bit(guest->pinned, end + 1, first) <= end) {
			atomic64_inc(&mdev_counts.unmapped);
			/* Neighbours in a chunk come back with the retry. */
			drop(guest, first, end + 1);
		}
		if (guest->memory_on && !mdev_is_lost(guest)) {
			guest->tries = AGAIN_TRIES;
			mod_delayed_work(system_percpu_wq, &guest->again,
					 msecs_to_jiffies(AGAIN_MS));
		}
	}
	mutex_unlock(&guest->slot->lock);
	set_unmapping(guest, false);
}
