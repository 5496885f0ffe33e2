// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host bridge of a borrowed device.
 */
#include <linux/pci.h>

#include "borrower.h"

/*
 * Domains up to 0xffff belong to the firmware. The IOMMU drivers of Intel and AMD keep
 * the low 16 bits of a domain only: if a function of this node had the same low bits, it
 * would share its place in their tables with the loan.
 */
#define DOMAIN_FIRST 0x1f000
#define DOMAIN_LAST 0x1ffff

static bool domain_is_free(int domain)
{
	struct pci_bus *bus = NULL;

	while ((bus = pci_find_next_bus(bus)))
		if ((pci_domain_nr(bus) & 0xffff) == (domain & 0xffff))
			return false;
	return true;
}

/* Return: a domain, or -EBUSY if none is free. */
static int free_domain(void)
{
	int domain;

	for (domain = DOMAIN_FIRST; domain <= DOMAIN_LAST; domain++)
		if (domain_is_free(domain))
			return domain;
	return -EBUSY;
}

/*
 * Gives the BARs the addresses of their windows. An address may be above 4 GiB even if
 * the BAR has 32 bits, because no hardware decodes the register.
 */
static int claim_bars(struct borrower_loan *loan)
{
	struct pci_dev *pdev = loan->pdev;
	unsigned int i;
	int err;

	for (i = 0; i < DLEND_BARS; i++) {
		struct borrower_bar *bar = &loan->bars[i];
		struct resource *res = &pdev->resource[i];

		if (!bar->size)
			continue;
		res->name = pci_name(pdev);
		res->start = bar->phys;
		res->end = bar->phys + bar->size - 1;
		res->flags &= ~IORESOURCE_UNSET;
		err = request_resource(bar->parent, res);
		if (err) {
			pci_err(pdev, "BAR %u: another driver has taken %pR\n", i, res);
			return err;
		}
	}
	return 0;
}

/*
 * A virtual function (SR-IOV) that was lent in the loopback has left, and its BARs have
 * left the tree of resources with all that is below them: ours, and the regions of the
 * driver, which could not release them now. So ours come back. Other devices need no
 * such care, see borrower_bridge_keep_bars().
 */
static void restore_bars(struct borrower_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		struct resource *res = &loan->pdev->resource[i];

		if (!res->parent || res->parent == &iomem_resource || res->parent->parent)
			continue;
		release_resource(res);
		if (insert_resource(&iomem_resource, res))
			pci_err(loan->pdev, "BAR %u: another device has taken %pR\n", i, res);
	}
}

/* The function has no driver any more. What others have in its BARs stays in the tree. */
static void release_bars(struct borrower_loan *loan)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++)
		if (loan->pdev->resource[i].parent)
			remove_resource(&loan->pdev->resource[i]);
}

void borrower_bridge_keep_bars(struct pci_dev *gone,
			       bool (*is_ours)(const struct resource *res))
{
	unsigned int i;

	/*
	 * Linux 6.1 stops with a BUG if the place of a virtual function is taken when the
	 * function is made again, so that place is left free.
	 */
	if (gone->is_virtfn)
		return;
	for (i = 0; i < DEVICE_COUNT_RESOURCE; i++) {
		struct resource *res = &gone->resource[i];

		if (res->parent && res->child && is_ours(res))
			remove_resource(res);
	}
}

/*
 * A driver may hold the removed function for as long as one of its files is open, even
 * after this module is gone. So the function is marked as disconnected, which ends
 * accesses to its configuration space, and dl_fabric frees its DMA memory.
 */
static void detach(struct borrower_loan *loan)
{
	struct borrower_bus *priv = pci_host_bridge_priv(loan->bridge);

	if (loan->pdev) {
		loan->pdev->error_state = pci_channel_io_perm_failure;
		borrower_dma_detach(loan);
		dev_set_msi_domain(&loan->pdev->dev, NULL);
		pci_dev_put(loan->pdev);
		loan->pdev = NULL;
	}
	WRITE_ONCE(loan->removed, true);
	WRITE_ONCE(priv->loan, NULL);
	/* Those who have found the loan by its function may still use it. */
	synchronize_srcu(&borrower_srcu);
}

/* pci_lock_rescan_remove() was called. */
static void remove_bus(struct borrower_loan *loan)
{
	if (loan->pdev)
		restore_bars(loan);
	pci_stop_root_bus(loan->bridge->bus);
	if (loan->pdev)
		release_bars(loan);
	pci_remove_root_bus(loan->bridge->bus);
	detach(loan);
	/* pci_remove_root_bus() only unregisters the bridge. */
	pci_free_host_bridge(loan->bridge);
	loan->bridge = NULL;
}

static struct pci_host_bridge *new_bridge(struct borrower_loan *loan)
{
	static struct resource busn = {
		.name = "Device Lending",
		.flags = IORESOURCE_BUS,
	};
	int domain = free_domain();
	struct pci_host_bridge *bridge;
	struct borrower_bus *priv;

	if (domain < 0)
		return ERR_PTR(domain);
	bridge = pci_alloc_host_bridge(sizeof(*priv));
	if (!bridge)
		return ERR_PTR(-ENOMEM);
	priv = pci_host_bridge_priv(bridge);
	priv->sysdata.domain = domain;
	priv->sysdata.node = dev_to_node(dlend_peer_dev(loan->peer));
	priv->loan = loan;
	/* The bridge has no parent, because the NTB may be removed before it. */
	bridge->sysdata = priv;
	bridge->ops = &borrower_config_ops;
	pci_add_resource(&bridge->windows, &busn);
	return bridge;
}

int borrower_bridge_add(struct borrower_loan *loan)
{
	struct pci_host_bridge *bridge;
	int err;

	borrower_config_init(loan);
	loan->devfn = PCI_DEVFN(PCI_SLOT(loan->device.bdf & 0xff), 0);

	pci_lock_rescan_remove();
	bridge = new_bridge(loan);
	if (IS_ERR(bridge)) {
		err = PTR_ERR(bridge);
		goto unlock;
	}
	err = pci_scan_root_bus_bridge(bridge);
	if (err) {
		pci_free_host_bridge(bridge);
		goto unlock;
	}
	loan->bridge = bridge;
	loan->pdev = pci_get_slot(loan->bridge->bus, loan->devfn);
	err = loan->pdev ? claim_bars(loan) : -ENODEV;
	if (!err && loan->guest)
		err = dlend_override_set(loan->pdev, "dl_mdev");
	if (err) {
		remove_bus(loan);
		goto unlock;
	}
	borrower_dma_attach(loan);
	dev_set_msi_domain(&loan->pdev->dev, loan->msi_domain);
	pci_bus_add_devices(loan->bridge->bus);
unlock:
	pci_unlock_rescan_remove();
	if (err)
		borrower_config_stop(loan);
	return err;
}

void borrower_bridge_remove(struct borrower_loan *loan, bool surprise)
{
	if (!loan->bridge)
		return;
	if (surprise)
		loan->pdev->error_state = pci_channel_io_perm_failure;
	pci_lock_rescan_remove();
	remove_bus(loan);
	pci_unlock_rescan_remove();
	borrower_config_stop(loan);
}
