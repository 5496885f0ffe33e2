// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that a device can reach. With an IOMMU, a device that is lent reaches
 * the borrower's windows and nothing else, and a device that is available reaches
 * nothing. Without an IOMMU, a device reaches all of this node's memory.
 *
 * The borrower itself reaches this node through the adapter, whose windows it can open
 * without our help. So the IOMMU has to translate for the adapter, too: with iommu=pt it
 * translates only for the devices that are lent.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "lender.h"

static bool allow_no_iommu;
module_param(allow_no_iommu, bool, 0444);
MODULE_PARM_DESC(allow_no_iommu,
		 "lend devices without an IOMMU that translates for them and for the NTB adapters, without interrupt remapping, or below a switch without ACS: a borrower can reach all memory of this node, or raise any of its interrupts");

/* Addresses of interrupt messages, which an IOMMU does not translate as memory. */
#define INTERRUPTS_START 0xfee00000ULL
#define INTERRUPTS_END 0xfef00000ULL

/* Lowest address of a window for the device. The first MiB is special on PCs. */
#define IOVA_FIRST SZ_1M

bool lender_iommu_is_waived(void)
{
	return allow_no_iommu;
}

bool lender_iommu_bounds(struct dlend_peer *peer, struct dlend_why *why)
{
	struct device *dev = dlend_peer_dev(peer);

	if (allow_no_iommu || dlend_peer_is_loopback(peer))
		return true;
	if (!dlend_is_translated(dev)) {
		dlend_why_set(why, -EPERM,
			      "the node behind adapter %s could reach all memory of this node, because no IOMMU translates for the adapter; boot without iommu=pt, or load dl_lender with allow_no_iommu=1",
			      dlend_peer_name(peer));
		return false;
	}
	if (!dlend_interrupts_remapped(dev)) {
		dlend_why_set(why, -EPERM,
			      "the node behind adapter %s could raise any interrupt of this node, because these are not remapped; enable that, or load dl_lender with allow_no_iommu=1",
			      dlend_peer_name(peer));
		return false;
	}
	return true;
}

/*
 * Returns a port of a switch that lets requests of @pdev pass to its other ports, so that
 * no IOMMU sees them: ACS P2P Request Redirect is off there (PCIe 5.0 s6.12.1). NULL: there
 * is none. The groups of Linux 6.1 do not tell: they do not join ports of one switch.
 */
static struct pci_dev *port_without_redirect(struct pci_dev *pdev)
{
	struct pci_dev *port;
	u16 control;
	int acs;

	for (port = pci_upstream_bridge(pdev); port; port = pci_upstream_bridge(port)) {
		if (pci_pcie_type(port) != PCI_EXP_TYPE_DOWNSTREAM ||
		    list_is_singular(&port->bus->devices))
			continue;
		acs = pci_find_ext_capability(port, PCI_EXT_CAP_ID_ACS);
		if (!acs || pci_read_config_word(port, acs + PCI_ACS_CTRL, &control) ||
		    !(control & PCI_ACS_RR))
			return port;
	}
	return NULL;
}

bool lender_iommu_permitted(struct lender_device *d, struct dlend_why *why)
{
	struct device *dev = &d->pdev->dev;
	struct dlend_peer *peer;
	struct pci_dev *port;
	unsigned int i;
	bool ok;

	if (allow_no_iommu)
		return true;
	if (!device_iommu_mapped(dev)) {
		dlend_why_set(why, -EPERM,
			      "%s is behind no IOMMU, so a borrower could make it reach all memory of this node; boot with intel_iommu=on, or load dl_lender with allow_no_iommu=1",
			      pci_name(d->pdev));
		return false;
	}
	if (!dlend_interrupts_remapped(dev)) {
		dlend_why_set(why, -EPERM,
			      "%s could raise any interrupt of this node, because its IOMMU does not remap interrupts; enable that, or load dl_lender with allow_no_iommu=1",
			      pci_name(d->pdev));
		return false;
	}
	port = port_without_redirect(d->pdev);
	if (port) {
		dlend_why_set(why, -EPERM,
			      "%s could reach the devices below other ports of its switch without the IOMMU, because port %s does not redirect its requests; enable ACS there, or load dl_lender with allow_no_iommu=1",
			      pci_name(d->pdev), pci_name(port));
		return false;
	}
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		peer = dlend_peer_at(i);
		if (!peer)
			continue;
		ok = lender_iommu_bounds(peer, why);
		dlend_peer_put(peer);
		if (!ok)
			return false;
	}
	return true;
}

int lender_iommu_claim(struct lender_device *d)
{
	struct iommu_group *group = iommu_group_get(&d->pdev->dev);
	int err;

	if (!group)
		return allow_no_iommu ? 0 : -EPERM;
	err = iommu_group_claim_dma_owner(group, d);
	if (err) {
		iommu_group_put(group);
		return err;
	}
	d->group = group;
	return 0;
}

void lender_iommu_release(struct lender_device *d)
{
	if (!d->group)
		return;
	iommu_group_release_dma_owner(d->group);
	iommu_group_put(d->group);
	d->group = NULL;
}

static bool is_interrupt_range(phys_addr_t phys)
{
	return phys >= INTERRUPTS_START && phys < INTERRUPTS_END;
}

static int map(struct iommu_domain *domain, u64 iova, struct dlend_import *import)
{
	phys_addr_t phys = import->phys & PAGE_MASK;
	u64 end = PAGE_ALIGN(import->phys + import->size);

	return dlend_iommu_map(domain, iova & PAGE_MASK, phys, end - phys,
			       IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO, GFP_KERNEL);
}

/*
 * Chooses the lowest addresses for a window: a device may have fewer address bits than
 * the IOMMU. The addresses that the IOMMU keeps for itself are left out.
 * @import: what the window leads to
 * @other: a window that the device has already; empty if @first is larger than @last
 * @iova: set to the address of the first page
 */
static int choose_iova(struct lender_device *d, struct iommu_domain *domain,
		       const struct dlend_import *import, const struct lender_span *other,
		       u64 *iova)
{
	const struct lender_span interrupts = { INTERRUPTS_START, INTERRUPTS_END - 1 };
	u64 phys = import->phys & PAGE_MASK;
	u64 size = PAGE_ALIGN(import->phys + import->size) - phys;
	/* With the alignment of @phys the IOMMU can use large pages. */
	u64 align = clamp_t(u64, phys & -phys, PAGE_SIZE, SZ_1G);
	struct iommu_resv_region *region, *next;
	struct lender_span place;
	LIST_HEAD(regions);
	bool moved;
	int err;

	err = iommu_get_group_resv_regions(d->group, &regions);
	if (err)
		return err;
	align = min_t(u64, align, roundup_pow_of_two(size));
	place.first = ALIGN(max_t(u64, domain->geometry.aperture_start, IOVA_FIRST),
			    align);
	place.last = place.first + size - 1;
	do {
		moved = lender_span_move_behind(&place, &interrupts, align);
		moved |= lender_span_move_behind(&place, other, align);
		list_for_each_entry(region, &regions, list) {
			struct lender_span busy = lender_span_of(region->start,
								 region->length);

			moved |= lender_span_move_behind(&place, &busy, align);
		}
	} while (moved);
	list_for_each_entry_safe(region, next, &regions, list)
		kfree(region);
	if (lender_span_is_empty(&place) || place.last > domain->geometry.aperture_end)
		return -ENOSPC;
	*iova = place.first;
	return 0;
}

/* Maps an import at the lowest free addresses. Sets @bus to its address for the device. */
static int map_import(struct lender_device *d, struct lender_loan *loan,
		      struct dlend_import *import, struct lender_span *other, u64 *bus)
{
	u64 iova;
	int err;

	err = choose_iova(d, loan->domain, import, other, &iova);
	if (!err)
		err = map(loan->domain, iova, import);
	if (err)
		return err;
	*bus = iova + (import->phys & ~PAGE_MASK);
	other->first = iova;
	other->last = PAGE_ALIGN(*bus + import->size) - 1;
	return 0;
}

/*
 * Maps the DMA window of a virtual machine at address 0, and the MSI window behind it.
 * Interrupt messages have no place in the DMA window.
 */
static int map_guest(struct lender_device *d, struct lender_loan *loan, u64 *msi_bus)
{
	struct lender_span window = { 0, loan->dma->size - 1 };
	struct iommu_resv_region *region, *next;
	phys_addr_t phys = loan->dma->phys;
	u64 size = loan->dma->size;
	LIST_HEAD(regions);
	int err;

	if (!PAGE_ALIGNED(phys | size) || size < SZ_1M)
		return -EINVAL;
	if (window.last > loan->domain->geometry.aperture_end)
		return -ENOSPC;
	err = iommu_get_group_resv_regions(d->group, &regions);
	if (err)
		return err;
	list_for_each_entry_safe(region, next, &regions, list) {
		/* Memory that the firmware shares with the device cannot be the guest's. */
		if (region->type != IOMMU_RESV_MSI && region->start <= window.last)
			err = -ENOSPC;
		kfree(region);
	}
	if (!err)
		err = dlend_iommu_map(loan->domain, 0, phys,
				      min_t(u64, size, INTERRUPTS_START),
				      IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO, GFP_KERNEL);
	if (!err && size > INTERRUPTS_END)
		err = dlend_iommu_map(loan->domain, INTERRUPTS_END, phys + INTERRUPTS_END,
				      size - INTERRUPTS_END,
				      IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO, GFP_KERNEL);
	if (!err && !is_interrupt_range(loan->msi->phys))
		err = map_import(d, loan, loan->msi, &window, msi_bus);
	return err;
}

int lender_iommu_open(struct lender_device *d, struct lender_loan *loan,
		      const struct dlend_msg_attach *req, u64 *dma_bus,
		      u64 *msi_bus)
{
	bool translated = le32_to_cpu(req->flags) & DLEND_ATTACH_TRANSLATED;
	struct lender_span other = { .first = 1, .last = 0 };
	int err = 0;

	*dma_bus = dlend_import_bus(loan->dma);
	*msi_bus = dlend_import_bus(loan->msi);
	if (!d->group)
		return 0;

	loan->domain = dlend_iommu_domain(&d->pdev->dev);
	if (!loan->domain)
		return -ENOMEM;
	err = iommu_attach_group(loan->domain, d->group);
	if (err) {
		iommu_domain_free(loan->domain);
		loan->domain = NULL;
		return err;
	}

	if (le32_to_cpu(req->flags) & DLEND_ATTACH_GUEST) {
		err = map_guest(d, loan, msi_bus);
		*dma_bus = 0;
		if (err)
			lender_iommu_close(d, loan);
		return err;
	}
	/* The MSI window comes first: some devices have 32 bits for its address only. */
	if (!is_interrupt_range(loan->msi->phys))
		err = map_import(d, loan, loan->msi, &other, msi_bus);
	if (!err && translated && dlend_peer_is_loopback(loan->peer)) {
		/*
		 * Lender and borrower share one IOMMU, so the borrower itself maps
		 * its memory in this domain, at the addresses of its window.
		 */
		*dma_bus = le64_to_cpu(req->dma.addr);
	} else if (!err) {
		err = map_import(d, loan, loan->dma, &other, dma_bus);
	}
	if (err)
		lender_iommu_close(d, loan);
	return err;
}

/* Freeing the domain also frees its mappings. */
void lender_iommu_close(struct lender_device *d, struct lender_loan *loan)
{
	if (!loan->domain)
		return;
	iommu_detach_group(loan->domain, d->group);
	iommu_domain_free(loan->domain);
	loan->domain = NULL;
}

int lender_iommu_map(struct lender_device *d, struct lender_loan *loan, phys_addr_t phys,
		     u64 size, const struct lender_span *busy, unsigned int n,
		     struct lender_span *ret, u64 *ret_bus)
{
	struct dlend_import range = { .phys = phys, .size = size };
	struct lender_span below = { .first = 1, .last = 0 };
	unsigned int i;
	u64 iova;
	int err;

	/* Each round begins behind a span that was in the way, so the rounds end. */
	do {
		err = choose_iova(d, loan->domain, &range, &below, &iova);
		if (err)
			return err;
		ret->first = iova;
		ret->last = PAGE_ALIGN(iova + (phys & ~PAGE_MASK) + size) - 1;
		for (i = 0; i < n; i++)
			if (lender_spans_overlap(&busy[i], ret))
				break;
		if (i < n)
			below = (struct lender_span){ 0, busy[i].last };
	} while (i < n);
	err = map(loan->domain, iova, &range);
	if (!err)
		*ret_bus = iova + (phys & ~PAGE_MASK);
	return err;
}

int lender_iommu_map_at(struct lender_device *d, struct lender_loan *loan,
			phys_addr_t phys, u64 size, const struct lender_span *busy,
			unsigned int n, u64 bus, struct lender_span *ret)
{
	struct lender_span place = { .first = bus, .last = bus + size - 1 };
	struct iommu_resv_region *region, *next;
	LIST_HEAD(regions);
	unsigned int i;
	int err;

	if (place.last < place.first || place.first < IOVA_FIRST ||
	    place.last > loan->domain->geometry.aperture_end ||
	    (place.first < INTERRUPTS_END && place.last >= INTERRUPTS_START))
		return -EBUSY;
	for (i = 0; i < n; i++)
		if (lender_spans_overlap(&busy[i], &place))
			return -EBUSY;
	err = iommu_get_group_resv_regions(d->group, &regions);
	list_for_each_entry_safe(region, next, &regions, list) {
		const struct lender_span kept = lender_span_of(region->start,
							       region->length);

		if (lender_spans_overlap(&kept, &place))
			err = -EBUSY;
		kfree(region);
	}
	if (!err)
		err = dlend_iommu_map(loan->domain, bus, phys, size,
				      IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO, GFP_KERNEL);
	if (!err)
		*ret = place;
	return err;
}

void lender_iommu_unmap(struct iommu_domain *domain, const struct lender_span *span)
{
	iommu_unmap(domain, span->first, span->last + 1 - span->first);
}
