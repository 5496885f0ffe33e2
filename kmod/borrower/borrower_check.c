// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of a lender's description of a device. The PCI core believes a function: a class
 * code makes it program legacy ports, an MSI-X table at a wrong place makes it write
 * there, a capability can move the BARs. A lender may lie, so a description that no
 * endpoint has is refused before the PCI core sees it.
 */
#include <linux/bitmap.h>
#include <linux/log2.h>
#include <linux/sizes.h>

#include "borrower.h"
#include "dl_caps.h"

/* The lender's node, for messages. */
static u32 lender(const struct borrower_loan *loan)
{
	return loan->fdid >> 16;
}

static int check_bar(const struct borrower_loan *loan, unsigned int i,
		     struct dlend_why *why)
{
	const struct borrower_bar *bar = &loan->bars[i];

	if (!is_power_of_2(bar->size) || bar->size < 16 || bar->size > BIT_ULL(62))
		return dlend_why_set(why, -EPROTO,
				     "node %u says that BAR %u has %llu bytes; a BAR has a power of two, from 16 bytes on",
				     lender(loan), i, bar->size);
	if (bar->flags & ~(PCI_BASE_ADDRESS_MEM_TYPE_64 |
			   PCI_BASE_ADDRESS_MEM_PREFETCH))
		return dlend_why_set(why, -EPROTO,
				     "node %u says that BAR %u has the flags %#x; only memory BARs of 32 or 64 bits can be borrowed",
				     lender(loan), i, bar->flags);
	if (!(bar->flags & PCI_BASE_ADDRESS_MEM_TYPE_64)) {
		if (bar->size > SZ_2G)
			return dlend_why_set(why, -EPROTO,
					     "node %u says that BAR %u has 32 bits and %llu bytes; such a BAR has at most 2 GiB",
					     lender(loan), i, bar->size);
	} else if (i == DLEND_BARS - 1 || loan->bars[i + 1].size) {
		return dlend_why_set(why, -EPROTO,
				     "node %u says that BAR %u has 64 bits, but the next BAR, its upper half, is not free",
				     lender(loan), i);
	}
	return 0;
}

/*
 * Return: the reason why the PCI core must not see a function of this class, or NULL.
 * Bridges forward to other devices; the others have addresses that no BAR holds.
 */
static const char *forbidden_class(u32 class)
{
	switch (class >> 16) {
	case PCI_BASE_CLASS_BRIDGE:
		return "a bridge";
	case PCI_BASE_CLASS_PROCESSOR:
		return "a processor";
	}
	switch (class >> 8) {
	case PCI_CLASS_NOT_DEFINED:
	case PCI_CLASS_NOT_DEFINED_VGA:
		return "of the time before class codes";
	case PCI_CLASS_STORAGE_IDE:
		return "an IDE controller, which has legacy ports";
	case PCI_CLASS_SYSTEM_PIC:
	case PCI_CLASS_SYSTEM_DMA:
	case PCI_CLASS_SYSTEM_TIMER:
	case PCI_CLASS_SYSTEM_RTC:
	case PCI_CLASS_SYSTEM_PCI_HOTPLUG:
	case 0x0806:	/* IOMMU */
	case 0x0807:	/* Root Complex Event Collector */
		return "a part of a node's own platform";
	}
	return NULL;
}

/*
 * Checks IDs and class of a device before any window is opened. check_ids() checks that its
 * configuration space has the same ones, and there they do not change.
 */
static int check_class(const struct borrower_loan *loan, struct dlend_why *why)
{
	const struct dlend_device_info *device = &loan->device;
	const char *kind = forbidden_class(device->class);

	if (kind)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows a device of class %06x: it is %s, and cannot be borrowed",
				     lender(loan), device->class, kind);
	return borrower_allow_check(device->vendor, device->device, device->class, why);
}

/* Takes the weight of the devices that share the lender's window. */
static int take_weight(struct borrower_loan *loan, u32 weight, struct dlend_why *why)
{
	u32 least = dlend_window_weight(loan->device.class);

	if (weight < least || weight > DLEND_WEIGHTS_MAX)
		return dlend_why_set(why, -EPROTO,
				     "node %u says that its devices have the weight %u; it must be %u to %lu",
				     lender(loan), weight, least, DLEND_WEIGHTS_MAX);
	loan->weight = weight;
	return 0;
}

int borrower_check_borrow(struct borrower_loan *loan,
			  const struct dlend_msg_borrow_answer *answer,
			  struct dlend_why *why)
{
	unsigned int i;
	int err = check_class(loan, why);

	if (!err)
		err = take_weight(loan, le32_to_cpu(answer->weight), why);
	if (err)
		return err;
	for (i = 0; i < DLEND_BARS; i++) {
		loan->bars[i].size = le64_to_cpu(answer->bars[i].size);
		loan->bars[i].flags = le32_to_cpu(answer->bars[i].flags);
	}
	for (i = 0; i < DLEND_BARS; i++) {
		if (!loan->bars[i].size)
			continue;
		err = check_bar(loan, i, why);
		if (err)
			return err;
	}
	return 0;
}

static int check_ids(const struct borrower_loan *loan, struct dlend_why *why)
{
	u16 vendor = get_unaligned_le16(loan->config + PCI_VENDOR_ID);
	u16 device = get_unaligned_le16(loan->config + PCI_DEVICE_ID);
	u32 class = get_unaligned_le32(loan->config + PCI_CLASS_REVISION) >> 8;

	if (!vendor || vendor == 0xffff)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows the vendor ID %04x, which means that there is no function",
				     lender(loan), vendor);
	if (vendor != loan->device.vendor || device != loan->device.device ||
	    class != loan->device.class)
		return dlend_why_set(why, -EPROTO,
				     "node %u calls the device %04x:%04x class %06x, but its configuration space says %04x:%04x class %06x",
				     lender(loan), loan->device.vendor,
				     loan->device.device, loan->device.class,
				     vendor, device, class);
	return 0;
}

/* Return: whether @size bytes lie in the BAR that @where names, a register of MSI-X. */
static bool is_in_bar(const struct borrower_loan *loan, u32 where, u64 size)
{
	unsigned int bar = where & PCI_MSIX_TABLE_BIR;

	return bar < DLEND_BARS &&
	       (where & PCI_MSIX_TABLE_OFFSET) + size <= loan->bars[bar].size;
}

static int check_msix(const struct borrower_loan *loan, unsigned int at,
		      struct dlend_why *why)
{
	u16 control = get_unaligned_le16(loan->config + at + PCI_MSIX_FLAGS);
	u32 table = get_unaligned_le32(loan->config + at + PCI_MSIX_TABLE);
	u32 pba = get_unaligned_le32(loan->config + at + PCI_MSIX_PBA);
	u64 entries = (control & PCI_MSIX_FLAGS_QSIZE) + 1;
	u64 table_size = entries * PCI_MSIX_ENTRY_SIZE;
	u64 pba_size = DIV_ROUND_UP(entries, 64) * 8;

	if (!is_in_bar(loan, table, table_size))
		return dlend_why_set(why, -EPROTO,
				     "node %u puts an MSI-X table of %llu entries at %#x, which is in no BAR",
				     lender(loan), entries, table);
	if (!is_in_bar(loan, pba, pba_size))
		return dlend_why_set(why, -EPROTO,
				     "node %u puts the MSI-X pending bits at %#x, which is in no BAR",
				     lender(loan), pba);
	if ((table & PCI_MSIX_TABLE_BIR) == (pba & PCI_MSIX_PBA_BIR) &&
	    (table & PCI_MSIX_TABLE_OFFSET) < (pba & PCI_MSIX_PBA_OFFSET) + pba_size &&
	    (pba & PCI_MSIX_PBA_OFFSET) < (table & PCI_MSIX_TABLE_OFFSET) + table_size)
		return dlend_why_set(why, -EPROTO,
				     "node %u puts MSI-X table and pending bits at the same place",
				     lender(loan));
	return 0;
}

static int check_express(const struct borrower_loan *loan, unsigned int at,
			 struct dlend_why *why)
{
	u16 flags = get_unaligned_le16(loan->config + at + PCI_EXP_FLAGS);
	unsigned int type = (flags & PCI_EXP_FLAGS_TYPE) >> 4;
	unsigned int version = flags & PCI_EXP_FLAGS_VERS;

	if (type != PCI_EXP_TYPE_ENDPOINT && type != PCI_EXP_TYPE_LEG_END &&
	    type != PCI_EXP_TYPE_RC_END)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows a PCI Express function of type %u, which is no endpoint",
				     lender(loan), type);
	if (version != 1 && version != 2)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows a PCI Express capability of version %u; there are 1 and 2",
				     lender(loan), version);
	return 0;
}

/* @seen: capabilities of a function that may occur once. @used: bytes that are taken. */
static int check_capability(const struct borrower_loan *loan, unsigned int at,
			    unsigned long *seen, unsigned long *used,
			    struct dlend_why *why)
{
	unsigned int id = loan->config[at];
	unsigned int size = dlend_capability_size(loan->config, at);

	if (!size)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows the capability %#x, which a borrowed device cannot have",
				     lender(loan), id);
	if (at + size > DLEND_CFG_SIZE)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows a capability %#x at %#x that ends beyond the configuration space",
				     lender(loan), id, at);
	if (find_next_bit(used, at + size, at) < at + size)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows a capability %#x at %#x that overlaps another one, or a list that is a loop",
				     lender(loan), id, at);
	bitmap_set(used, at, size);
	if (id != PCI_CAP_ID_VNDR && test_and_set_bit(id, seen))
		return dlend_why_set(why, -EPROTO,
				     "node %u shows the capability %#x twice",
				     lender(loan), id);
	if (id == PCI_CAP_ID_MSIX)
		return check_msix(loan, at, why);
	if (id == PCI_CAP_ID_EXP)
		return check_express(loan, at, why);
	return 0;
}

static int check_capabilities(const struct borrower_loan *loan,
			      struct dlend_why *why)
{
	DECLARE_BITMAP(used, DLEND_CFG_SIZE) = {};
	DECLARE_BITMAP(seen, 256) = {};
	unsigned int at = loan->config[PCI_CAPABILITY_LIST];
	int err;

	if (!(loan->config[PCI_STATUS] & PCI_STATUS_CAP_LIST))
		return 0;
	while (at) {
		if (at < PCI_STD_HEADER_SIZEOF || at & 3)
			return dlend_why_set(why, -EPROTO,
					     "node %u shows a capability at %#x; capabilities begin at multiples of 4, from 0x40 on",
					     lender(loan), at);
		err = check_capability(loan, at, seen, used, why);
		if (err)
			return err;
		at = loan->config[at + PCI_CAP_LIST_NEXT];
	}
	return 0;
}

int borrower_check_attach(struct borrower_loan *loan, struct dlend_why *why)
{
	u64 dma_end = loan->dma_bus + loan->dma_size;
	u64 msi_end = loan->msi_bus + loan->msi_size;

	if (dma_end < loan->dma_bus || msi_end < loan->msi_bus ||
	    !PAGE_ALIGNED(loan->dma_bus) || !PAGE_ALIGNED(loan->msi_bus))
		return dlend_why_set(why, -EPROTO,
				     "node %u puts the DMA window at %#llx and the MSI window at %#llx; they must begin at a page and must not wrap around",
				     lender(loan), loan->dma_bus, loan->msi_bus);
	if (loan->dma_bus < msi_end && loan->msi_bus < dma_end)
		return dlend_why_set(why, -EPROTO,
				     "node %u puts the DMA window (%#llx) over the MSI window (%#llx)",
				     lender(loan), loan->dma_bus, loan->msi_bus);
	if (loan->guest && loan->dma_bus)
		return dlend_why_set(why, -EPROTO,
				     "node %u puts the DMA window of a virtual machine at %#llx, not at 0",
				     lender(loan), loan->dma_bus);
	return check_ids(loan, why) ?: check_capabilities(loan, why);
}

static int check_extended(struct borrower_loan *loan, unsigned int at, u32 header,
			  unsigned long *used, struct dlend_why *why)
{
	u32 second = at + 8 <= DLEND_CFG_SPACE ?
		get_unaligned_le32(loan->config + at + 4) : 0;
	unsigned int id = PCI_EXT_CAP_ID(header);
	unsigned int size = dlend_extended_size(header, second);

	/* The list may begin with a Null Capability. */
	if (at == DLEND_CFG_SIZE && header >> 20 && !(header & 0xfffff))
		size = 4;
	if (!size)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows the extended capability %#x, version %u, which a borrowed device cannot have",
				     lender(loan), id, PCI_EXT_CAP_VER(header));
	if (at + size > DLEND_CFG_SPACE)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows an extended capability %#x at %#x that ends beyond the configuration space",
				     lender(loan), id, at);
	if (find_next_bit(used, at + size, at) < at + size)
		return dlend_why_set(why, -EPROTO,
				     "node %u shows an extended capability %#x at %#x that overlaps another one, or a list that is a loop",
				     lender(loan), id, at);
	bitmap_set(used, at, size);
	if (id == PCI_EXT_CAP_ID_ERR) {
		if (loan->aer)
			return dlend_why_set(why, -EPROTO,
					     "node %u shows the extended capability %#x twice",
					     lender(loan), id);
		loan->aer = at;
	}
	return 0;
}

int borrower_check_extended(struct borrower_loan *loan, struct dlend_why *why)
{
	unsigned long *used = bitmap_zalloc(DLEND_CFG_SPACE, GFP_KERNEL);
	unsigned int at = DLEND_CFG_SIZE;
	int err = 0;

	if (!used)
		return dlend_why_set(why, -ENOMEM, "no memory");
	loan->aer = 0;
	do {
		u32 header = get_unaligned_le32(loan->config + at);

		if (!header && at == DLEND_CFG_SIZE)
			break;
		err = check_extended(loan, at, header, used, why);
		at = header >> 20;
		if (!err && at && (at < DLEND_CFG_SIZE || at & 3))
			err = dlend_why_set(why, -EPROTO,
					    "node %u shows an extended capability at %#x; they begin at multiples of 4, from 0x100 on",
					    lender(loan), at);
	} while (at && !err);
	bitmap_free(used);
	return err;
}

int borrower_check_windows(struct borrower_loan *loan, struct dlend_why *why)
{
	unsigned int i;

	for (i = 0; i < DLEND_BARS; i++) {
		const struct borrower_bar *bar = &loan->bars[i];

		if (!bar->size)
			continue;
		if (!bar->parent)
			return dlend_why_set(why, -EPROTO,
					     "node %u answered with a window for BAR %u that leads to no device",
					     lender(loan), i);
		if (bar->phys & (bar->size - 1))
			return dlend_why_set(why, -EPROTO,
					     "node %u answered with a window for BAR %u at %pa, which is not aligned to its size %#llx",
					     lender(loan), i, &bar->phys, bar->size);
	}
	return 0;
}
