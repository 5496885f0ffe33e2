// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configuration space of a device in a virtual machine: an image, made when the device is
 * opened. Of the guest's writes only bus mastering reaches the device. The kernel itself
 * sets interrupts, and masks the line as INTx Disable says. Where the guest has put the BARs,
 * dl_borrower is told: other devices of the guest may write there.
 */
#include <linux/pci.h>

#include "mdev.h"

static void allow(struct mdev_guest *guest, unsigned int at, unsigned int size, u32 bits)
{
	while (size--) {
		guest->writable[at++] = bits;
		bits >>= 8;
	}
}

static void allow_bars(struct mdev_guest *guest)
{
	unsigned int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		unsigned int at = PCI_BASE_ADDRESS_0 + 4 * i;
		u64 size = guest->bar_size[i];
		bool wide;

		if (!size)
			continue;
		wide = guest->config[at] & PCI_BASE_ADDRESS_MEM_TYPE_64;
		put_unaligned_le32(get_unaligned_le32(guest->config + at) &
				   ~(u32)PCI_BASE_ADDRESS_MEM_MASK, guest->config + at);
		allow(guest, at, 4, ~(u32)(size - 1) & (u32)PCI_BASE_ADDRESS_MEM_MASK);
		if (wide) {
			put_unaligned_le32(0, guest->config + at + 4);
			allow(guest, at + 4, 4, ~(u32)((size - 1) >> 32));
		}
	}
}

static u64 place_of(struct mdev_guest *guest, unsigned int i)
{
	const u8 *at = guest->config + PCI_BASE_ADDRESS_0 + 4 * i;
	u64 place = get_unaligned_le32(at) & (u32)PCI_BASE_ADDRESS_MEM_MASK;

	if (*at & PCI_BASE_ADDRESS_MEM_TYPE_64)
		place |= (u64)get_unaligned_le32(at + 4) << 32;
	return place;
}

/* Tells where the BARs are, if that has changed. */
static void tell_places(struct mdev_guest *guest)
{
	bool on = get_unaligned_le16(guest->config + PCI_COMMAND) & PCI_COMMAND_MEMORY;
	u64 places[PCI_STD_NUM_BARS];
	unsigned int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		places[i] = on && guest->bar_size[i] ? place_of(guest, i) :
						       DLEND_GUEST_NOWHERE;
	if (!memcmp(places, guest->bar_places, sizeof(places)))
		return;
	memcpy(guest->bar_places, places, sizeof(places));
	dlend_guest_bars(guest->slot->pdev, guest->machine, places);
}

void mdev_config_close(struct mdev_guest *guest)
{
	memset(guest->bar_places, 0xff, sizeof(guest->bar_places));
	dlend_guest_bars(guest->slot->pdev, NULL, guest->bar_places);
}

void mdev_config_open(struct mdev_guest *guest)
{
	struct pci_dev *pdev = guest->slot->pdev;
	unsigned int at;
	u32 value;

	memset(guest->config, 0, sizeof(guest->config));
	memset(guest->writable, 0, sizeof(guest->writable));
	for (at = 0; at < pdev->cfg_size; at += 4) {
		pci_read_config_dword(pdev, at, &value);
		put_unaligned_le32(value, guest->config + at);
	}
	allow(guest, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
	      PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	guest->forwards = dlend_guest_forwards(pdev);
	guest->has_line = dlend_guest_has_line(pdev);
	guest->line_off = 0;
	guest->config[PCI_INTERRUPT_PIN] = guest->has_line;
	allow(guest, PCI_CACHE_LINE_SIZE, 2, 0xffff);
	allow(guest, PCI_INTERRUPT_LINE, 1, 0xff);
	allow_bars(guest);
	if (pdev->msix_cap)
		allow(guest, pdev->msix_cap + PCI_MSIX_FLAGS, 2,
		      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	/* The user emulates the rest of the capability. */
	if (pdev->msi_cap) {
		if (!dlend_guest_has_vectors(pdev))
			guest->config[pdev->msi_cap + PCI_MSI_FLAGS] &= ~PCI_MSI_FLAGS_QMASK;
		allow(guest, pdev->msi_cap + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_ENABLE);
	}
	if (pdev->pm_cap)
		allow(guest, pdev->pm_cap + PCI_PM_CTRL, 2, PCI_PM_CTRL_STATE_MASK);
	if (pdev->pcie_cap) {
		allow(guest, pdev->pcie_cap + PCI_EXP_DEVCTL, 2,
		      0xffff & ~PCI_EXP_DEVCTL_BCR_FLR);
		allow(guest, pdev->pcie_cap + PCI_EXP_LNKCTL, 2, 0x1fb);
	}
	memset(guest->bar_places, 0xff, sizeof(guest->bar_places));
	dlend_guest_bars(pdev, guest->machine, guest->bar_places);
	mdev_config_reset(guest);
}

void mdev_config_reset(struct mdev_guest *guest)
{
	struct pci_dev *pdev = guest->slot->pdev;
	u16 command = get_unaligned_le16(guest->config + PCI_COMMAND);
	u8 *msix;

	command &= ~(PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	put_unaligned_le16(command, guest->config + PCI_COMMAND);
	guest->line_off &= ~MDEV_LINE_MACHINE;
	if (pdev)
		tell_places(guest);
	if (!pdev || !pdev->msix_cap)
		return;
	msix = guest->config + pdev->msix_cap + PCI_MSIX_FLAGS;
	put_unaligned_le16(get_unaligned_le16(msix) & PCI_MSIX_FLAGS_QSIZE, msix);
}

void mdev_config_read(struct mdev_guest *guest, unsigned int at, u8 *data, size_t size)
{
	if (!mdev_is_lost(guest)) {
		memcpy(data, guest->config + at, size);
		return;
	}
	memset(data, 0xff, size);
	/* QEMU goes by this register of its own accord, and aborts if there is no such pin. */
	if (at <= PCI_INTERRUPT_PIN && at + size > PCI_INTERRUPT_PIN)
		data[PCI_INTERRUPT_PIN - at] = guest->config[PCI_INTERRUPT_PIN];
}

static u16 command(struct mdev_guest *guest)
{
	return get_unaligned_le16(guest->config + PCI_COMMAND);
}

void mdev_config_write(struct mdev_guest *guest, unsigned int at, const u8 *data,
		       size_t size)
{
	u16 before = command(guest), changed;
	size_t i;

	if (mdev_is_lost(guest))
		return;
	for (i = 0; i < size; i++) {
		u8 bits = guest->writable[at + i];

		guest->config[at + i] = (guest->config[at + i] & ~bits) | (data[i] & bits);
	}
	tell_places(guest);
	changed = command(guest) ^ before;
	if (changed & PCI_COMMAND_INTX_DISABLE)
		mdev_irq_line_off(guest, MDEV_LINE_MACHINE,
				  command(guest) & PCI_COMMAND_INTX_DISABLE);
	if (!(changed & PCI_COMMAND_MASTER))
		return;
	if (before & PCI_COMMAND_MASTER) {
		pci_clear_master(guest->slot->pdev);
		mdev_memory_off(guest);
	} else {
		mdev_memory_on(guest);
		pci_set_master(guest->slot->pdev);
	}
}
