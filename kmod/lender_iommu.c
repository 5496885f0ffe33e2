// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that a device can reach. With an IOMMU, a device that is lent reaches
 * the borrower's windows and nothing else, and a device that is available reaches
 * nothing. Without an IOMMU, a device reaches all of this node's memory.
 */
#include <linux/module.h>

#include "lender.h"

static bool allow_no_iommu;
module_param(allow_no_iommu, bool, 0444);
MODULE_PARM_DESC(allow_no_iommu,
		 "lend devices without an IOMMU: a borrower can make them reach all memory of this node");

/* Addresses of interrupt messages, which an IOMMU does not translate as memory. */
#define INTERRUPTS_START 0xfee00000ULL
#define INTERRUPTS_END 0xfef00000ULL

/* Address at which the device sees the MSI window; below 4 GiB, for 32-bit devices. */
#define MSI_IOVA 0x40000000ULL

bool lender_iommu_permitted(struct lender_device *d, struct dlend_why *why)
{
	if (device_iommu_mapped(&d->pdev->dev) || allow_no_iommu)
		return true;
	dlend_why_set(why, -EPERM,
		      "%s is behind no IOMMU, so a borrower could make it reach all memory of this node; boot with intel_iommu=on, or load dl_lender with allow_no_iommu=1",
		      pci_name(d->pdev));
	return false;
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

	return iommu_map(domain, iova & PAGE_MASK, phys, end - phys,
			 IOMMU_READ | IOMMU_WRITE | IOMMU_MMIO);
}

/* Chooses the start of the upper half of the addresses that the domain translates. */
static int choose_iova(struct iommu_domain *domain, u64 size, u64 *iova)
{
	u64 top = domain->geometry.aperture_end;
	u64 half = (top >> 1) + 1;

	if (domain->geometry.aperture_start > half || size > half ||
	    !is_power_of_2(half))
		return -ENOSPC;
	*iova = half;
	return 0;
}

int lender_iommu_open(struct lender_device *d, struct lender_loan *loan,
		      const struct dlend_msg_attach *req, u64 *dma_bus,
		      u64 *msi_bus)
{
	bool translated = le32_to_cpu(req->flags) & DLEND_ATTACH_TRANSLATED;
	int err;

	*dma_bus = dlend_import_bus(loan->dma);
	*msi_bus = dlend_import_bus(loan->msi);
	if (!d->group)
		return 0;

	loan->domain = iommu_domain_alloc(&pci_bus_type);
	if (!loan->domain)
		return -ENOMEM;
	err = iommu_attach_group(loan->domain, d->group);
	if (err) {
		iommu_domain_free(loan->domain);
		loan->domain = NULL;
		return err;
	}

	if (translated && dlend_peer_is_loopback(loan->peer)) {
		/*
		 * Lender and borrower share one IOMMU, so the borrower itself maps
		 * its memory in this domain, at the addresses of its window.
		 */
		*dma_bus = le64_to_cpu(req->dma.addr);
	} else {
		err = choose_iova(loan->domain, loan->dma->size, dma_bus);
		if (!err) {
			*dma_bus += loan->dma->phys & ~PAGE_MASK;
			err = map(loan->domain, *dma_bus, loan->dma);
		}
	}
	if (!err && !is_interrupt_range(loan->msi->phys)) {
		*msi_bus = MSI_IOVA + (loan->msi->phys & ~PAGE_MASK);
		err = map(loan->domain, *msi_bus, loan->msi);
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
