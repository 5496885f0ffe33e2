// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a far node can reach through the windows that lead to this one.
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
