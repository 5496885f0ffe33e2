// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks whether a function can be lent at all. A function that cannot work on another
 * node is refused here, with the reason. Otherwise it would fail in the borrower's
 * driver.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>

#include "lender.h"

static bool allow_neighbours;
module_param(allow_neighbours, bool, 0444);
MODULE_PARM_DESC(allow_neighbours,
		 "lend devices whose BARs share a window with other devices: a borrower can reach the registers of these too");

bool lender_check_interrupts(struct pci_dev *pdev)
{
	return pdev->msi_cap || pdev->msix_cap || !pdev->pin;
}

/*
 * A physical function (SR-IOV) takes its virtual functions with it when it leaves its
 * driver, also those that are lent.
 */
int lender_check_virtual(struct pci_dev *pdev, struct dlend_why *why)
{
	unsigned int n = pci_num_vf(pdev);

	if (!n)
		return 0;
	return dlend_why_set(why, -EBUSY,
			     "%s has %u virtual functions, which would be lost; lend these instead, or write 0 to its sriov_numvfs",
			     pci_name(pdev), n);
}

/* Checks a function that its own driver may still use. */
int lender_check(struct pci_dev *pdev, struct dlend_why *why)
{
	unsigned int i;

	if (pdev->hdr_type != PCI_HEADER_TYPE_NORMAL ||
	    pdev->class >> 16 == PCI_BASE_CLASS_BRIDGE)
		return dlend_why_set(why, -EINVAL, "%s is a bridge", pci_name(pdev));
	for (i = 0; i < DLEND_PEERS_MAX; i++) {
		struct dlend_peer *peer = dlend_peer_at(i);
		bool is_adapter = peer && dlend_peer_dev(peer) == &pdev->dev;

		dlend_peer_put(peer);
		if (is_adapter)
			return dlend_why_set(why, -EINVAL,
					     "%s is the NTB adapter to a peer",
					     pci_name(pdev));
	}
	if (!lender_check_interrupts(pdev) && !lender_irq_has_line(pdev))
		return dlend_why_set(why, -EINVAL,
				     "%s has neither MSI nor MSI-X, and its line interrupt can neither cross an NTB nor be handled here, because the function cannot mask it",
				     pci_name(pdev));
	return 0;
}

/* Virtio 1.1, 4.1.2: IDs of transitional and of other devices. */
static bool is_virtio(struct pci_dev *pdev)
{
	return pdev->vendor == PCI_VENDOR_ID_REDHAT_QUMRANET &&
	       pdev->device >= 0x1000 && pdev->device <= 0x107f;
}

/* Virtio 1.1, 4.1.4.3. Return: features 32 to 63; 0 if the device has none. */
static u32 virtio_features_high(struct pci_dev *pdev)
{
	struct virtio_pci_common_cfg __iomem *common;
	u8 type = 0, bar = 0;
	u32 offset = 0, features;
	int at;

	for (at = pci_find_capability(pdev, PCI_CAP_ID_VNDR); at;
	     at = pci_find_next_capability(pdev, at, PCI_CAP_ID_VNDR)) {
		pci_read_config_byte(pdev, at + VIRTIO_PCI_CAP_CFG_TYPE, &type);
		if (type == VIRTIO_PCI_CAP_COMMON_CFG)
			break;
	}
	if (!at)
		return 0;
	pci_read_config_byte(pdev, at + VIRTIO_PCI_CAP_BAR, &bar);
	pci_read_config_dword(pdev, at + VIRTIO_PCI_CAP_OFFSET, &offset);
	if (bar > PCI_STD_RESOURCE_END)
		return 0;
	common = pci_iomap_range(pdev, bar, offset, sizeof(*common));
	if (!common)
		return 0;
	iowrite32(1, &common->device_feature_select);
	features = ioread32(&common->device_feature);
	pci_iounmap(pdev, common);
	return features;
}

#define NVME_REG_CSTS 0x1c
#define NVME_CSTS_CFS BIT(1)

/*
 * NVMe 1.4, 8.5: an offline secondary controller has no resources, shows a fatal status,
 * and answers no command.
 */
static bool is_offline(struct pci_dev *pdev)
{
	void __iomem *bar;
	u32 status;

	if (!pdev->is_virtfn || pdev->class != PCI_CLASS_STORAGE_EXPRESS)
		return false;
	bar = pci_iomap_range(pdev, 0, NVME_REG_CSTS, sizeof(status));
	if (!bar)
		return false;
	status = ioread32(bar);
	pci_iounmap(pdev, bar);
	return status & NVME_CSTS_CFS;
}

/*
 * Checks that need the function's registers. The function is bound to our driver, so it
 * gets no virtual functions any more.
 *
 * Without VIRTIO_F_ACCESS_PLATFORM a virtio driver gives its device physical
 * addresses (Virtio 1.1, 6.1). These are addresses of the borrower's node. On the
 * device's node the same addresses lead to other memory.
 */
int lender_check_taken(struct pci_dev *pdev, struct dlend_why *why)
{
	int err = lender_check_virtual(pdev, why);

	if (err)
		return err;
	if (is_offline(pdev))
		return dlend_why_set(why, -EINVAL,
				     "%s is a virtual function that is offline: give it queues and interrupts and bring it online through its physical function (lendctl online)",
				     pci_name(pdev));
	if (is_virtio(pdev) && !(virtio_features_high(pdev) &
				 BIT(VIRTIO_F_ACCESS_PLATFORM - 32)))
		return dlend_why_set(why, -EINVAL,
				     "%s is a virtio device without VIRTIO_F_ACCESS_PLATFORM: its driver gives it physical addresses (QEMU: set iommu_platform=on)",
				     pci_name(pdev));
	return 0;
}

int lender_check_neighbours(struct pci_dev *pdev, unsigned int bar, u64 start, u64 size)
{
	struct pci_dev *other;

	/* A borrower that can reach all memory can reach all registers, too. */
	if (allow_neighbours || lender_iommu_is_waived())
		return 0;
	/* All BARs of the device itself are lent. */
	other = dlend_neighbour(pdev, start, size);
	if (!other)
		return 0;
	pci_warn(pdev, "BAR %u is not lent: its window of %llu KiB would also open registers of %s; boot with pci=resource_alignment=16@%s, which keeps them apart, or load dl_lender with allow_neighbours=1\n",
		 bar, size / SZ_1K, pci_name(other), pci_name(pdev));
	pci_dev_put(other);
	return -EPERM;
}

int lender_check_reach(struct pci_dev *pdev, unsigned int bar, struct dlend_peer *peer)
{
	u64 start, size;

	dlend_export_reach(peer, pci_resource_start(pdev, bar),
			   pci_resource_len(pdev, bar), &start, &size);
	return lender_check_neighbours(pdev, bar, start, size);
}
