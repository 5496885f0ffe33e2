// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory and registers that a far node can reach through the windows onto this one.
 *
 * The bounds are those of this node's IOMMU, if it translates for the adapter. The far
 * node can open windows by itself: an adapter lets the node at its end program the
 * windows through which that node reaches this one.
 */
#include <linux/iommu.h>
#include <linux/pci.h>

#include "fabric.h"

bool dlend_is_translated(struct device *dev)
{
	struct iommu_domain *domain;

	if (!device_iommu_mapped(dev))
		return false;
	/* Without a domain the device reaches nothing. */
	domain = iommu_get_domain_for_dev(dev);
	return !domain || domain->type != IOMMU_DOMAIN_IDENTITY;
}
EXPORT_SYMBOL_GPL(dlend_is_translated);

/* Return: whether @other has registers in this range that are not those of @pdev. */
static bool has_registers(struct pci_dev *other, struct pci_dev *pdev, u64 start, u64 end)
{
	unsigned int i;

	for (i = 0; i < PCI_BRIDGE_RESOURCES; i++) {
		struct resource *res = &other->resource[i];

#ifdef CONFIG_PCI_IOV
		/*
		 * These hold the BARs of all virtual functions, also those of @pdev.
		 * The other virtual functions are looked at one by one.
		 */
		if (i >= PCI_IOV_RESOURCES && i <= PCI_IOV_RESOURCE_END &&
		    other == pci_physfn(pdev))
			continue;
#endif
		if (resource_type(res) == IORESOURCE_MEM && res->parent &&
		    res->start <= end && res->end >= start)
			return true;
	}
	return false;
}

struct pci_dev *dlend_neighbour(struct pci_dev *pdev, u64 start, u64 size)
{
	struct pci_dev *other = NULL;

	for_each_pci_dev(other)
		if (other != pdev && has_registers(other, pdev, start, start + size - 1))
			return other;
	return NULL;
}
EXPORT_SYMBOL_GPL(dlend_neighbour);
