// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration space of a lent device. When the device is lent, this file makes an
 * image of its configuration space for the borrower: the header, and the capabilities
 * that make sense on another node, extended ones too. The borrower can change bus
 * mastering and the enable bits of MSI and MSI-X. Other bits that drivers usually set are
 * remembered and have no effect. Writes to all other bits are refused and counted. The
 * borrower cannot change the device's addresses and power state.
 *
 * Accesses come with interrupts off, some of them in an interrupt.
 */
#include <linux/bitops.h>
#include <linux/pci.h>

#include "dl_caps.h"
#include "lender.h"

/* Bounds a broken list: 0x40 to 0xff has room for this many capabilities of 4 bytes. */
#define CAPABILITIES_MAX 48

static void set16(u8 *mask, unsigned int at, u16 bits)
{
	mask[at] |= bits & 0xff;
	mask[at + 1] |= bits >> 8;
}

static void set32(u8 *mask, unsigned int at, u32 bits)
{
	put_unaligned_le32(get_unaligned_le32(mask + at) | bits, mask + at);
}

static u16 get16(const u8 *bytes, unsigned int at)
{
	return bytes[at] | bytes[at + 1] << 8;
}

static void hide16(struct lender_config *c, unsigned int at, u16 bits)
{
	c->shown[at] &= ~(bits & 0xff);
	c->shown[at + 1] &= ~(bits >> 8);
}

static void fill(u8 *mask, unsigned int at, unsigned int size)
{
	memset(mask + at, 0xff, size);
}

/*
 * Bits that a 1 clears, and that are not shown in @clear: a write of other bits beside
 * them must not write back the 1 that was read.
 */
static void never_clear(struct lender_config *c, unsigned int at, u16 bits)
{
	set16(c->zero, at, bits);
}

static void make_pm(struct lender_config *c, unsigned int at)
{
	/* Hide D1, D2 and PME. A PME would not reach the borrower. */
	hide16(c, at + PCI_PM_PMC, PCI_PM_CAP_PME_MASK | PCI_PM_CAP_D1 |
				   PCI_PM_CAP_D2 | PCI_PM_CAP_AUX_POWER);
	hide16(c, at + PCI_PM_CTRL, 0xffff);
	/* Power states have no effect, so leaving D3hot does not reset the device. */
	c->shown[at + PCI_PM_CTRL] |= PCI_PM_CTRL_NO_SOFT_RESET;
	c->keep[at + PCI_PM_CTRL] |= PCI_PM_CTRL_STATE_MASK;
}

static void make_msi(struct lender_config *c, unsigned int at,
		     unsigned int size)
{
	u16 flags = get16(c->shown, at + PCI_MSI_FLAGS);
	unsigned int end = flags & PCI_MSI_FLAGS_64BIT ? 14 : 10;

	hide16(c, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_QSIZE | PCI_MSI_FLAGS_ENABLE);
	set16(c->keep, at + PCI_MSI_FLAGS, PCI_MSI_FLAGS_QSIZE | PCI_MSI_FLAGS_ENABLE);
	fill(c->keep, at + PCI_MSI_ADDRESS_LO, end - PCI_MSI_ADDRESS_LO);
	c->msi = at;
	c->msi_end = at + end;
	if (flags & PCI_MSI_FLAGS_MASKBIT) {
		fill(c->live, at + size - 8, 8);
		fill(c->pass, at + size - 8, 4);
	}
}

static void make_msix(struct lender_config *c, unsigned int at)
{
	u16 bits = PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL;

	set16(c->live, at + PCI_MSIX_FLAGS, bits);
	set16(c->pass, at + PCI_MSIX_FLAGS, bits);
}

static void make_express(struct lender_config *c, unsigned int at,
			 unsigned int size)
{
	u16 errors = PCI_EXP_DEVSTA_CED | PCI_EXP_DEVSTA_NFED |
		     PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD;

	hide16(c, at + PCI_EXP_FLAGS, PCI_EXP_FLAGS_SLOT | PCI_EXP_FLAGS_IRQ);
	/* Hide Function Level Reset: the BARs would have no addresses after it. */
	hide16(c, at + PCI_EXP_DEVCAP + 2, PCI_EXP_DEVCAP_FLR >> 16);
	/* Payload sizes and ordering depend on this node's hierarchy, so keep ours. */
	set16(c->keep, at + PCI_EXP_DEVCTL, U16_MAX & ~PCI_EXP_DEVCTL_BCR_FLR);
	set16(c->live, at + PCI_EXP_DEVSTA, errors | PCI_EXP_DEVSTA_TRPND);
	set16(c->clear, at + PCI_EXP_DEVSTA, errors);
	never_clear(c, at + PCI_EXP_DEVSTA, U16_MAX & ~errors);
	set16(c->keep, at + PCI_EXP_LNKCTL,
	      PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC |
	      PCI_EXP_LNKCTL_ES | PCI_EXP_LNKCTL_CLKREQ_EN);
	if (size < PCI_CAP_EXP_ENDPOINT_SIZEOF_V2)
		return;
	/* These features need a Root Complex that knows the borrower; ours does not. */
	memset(c->shown + at + PCI_EXP_DEVCAP2, 0, 4);
	hide16(c, at + PCI_EXP_DEVCTL2, 0xffff);
	set16(c->keep, at + PCI_EXP_DEVCTL2,
	      PCI_EXP_DEVCTL2_COMP_TIMEOUT | PCI_EXP_DEVCTL2_COMP_TMOUT_DIS);
}

static void make_capability(struct lender_config *c, unsigned int at,
			    unsigned int size)
{
	switch (c->shown[at]) {
	case PCI_CAP_ID_PM:
		make_pm(c, at);
		break;
	case PCI_CAP_ID_MSI:
		make_msi(c, at, size);
		break;
	case PCI_CAP_ID_MSIX:
		make_msix(c, at);
		break;
	case PCI_CAP_ID_EXP:
		make_express(c, at, size);
		break;
	}
}

static void make_header(struct lender_config *c, struct pci_dev *pdev,
			const u8 *real)
{
	memcpy(c->shown, real, PCI_STD_HEADER_SIZEOF);
	/* Ask the kernel: a virtual function (SR-IOV) does not have these registers. */
	memcpy(c->shown + PCI_VENDOR_ID, &(__le16){ cpu_to_le16(pdev->vendor) }, 2);
	memcpy(c->shown + PCI_DEVICE_ID, &(__le16){ cpu_to_le16(pdev->device) }, 2);
	memset(c->shown + PCI_COMMAND, 0, 2);
	set16(c->keep, PCI_COMMAND,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE |
	      PCI_COMMAND_SERR | PCI_COMMAND_PARITY | PCI_COMMAND_INVALIDATE);
	set16(c->live, PCI_COMMAND, PCI_COMMAND_MASTER);
	set16(c->pass, PCI_COMMAND, PCI_COMMAND_MASTER);
	set16(c->live, PCI_STATUS, 0xf900);
	set16(c->clear, PCI_STATUS, 0xf900);
	hide16(c, PCI_STATUS, PCI_STATUS_INTERRUPT);
	c->keep[PCI_CACHE_LINE_SIZE] = 0xff;
	c->keep[PCI_LATENCY_TIMER] = 0xff;
	c->shown[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	c->shown[PCI_BIST] = 0;
	memset(c->shown + PCI_BASE_ADDRESS_0, 0, 4 * DLEND_BARS);
	memset(c->shown + PCI_ROM_ADDRESS, 0, 4);
	/* A line interrupt does not cross an NTB. */
	c->shown[PCI_INTERRUPT_LINE] = 0;
	c->shown[PCI_INTERRUPT_PIN] = 0;
	c->keep[PCI_INTERRUPT_LINE] = 0xff;
}

static u32 read_device(struct pci_dev *pdev, unsigned int at,
		       unsigned int size)
{
	u32 value = ~0;
	u16 word;
	u8 byte;

	switch (size) {
	case 1:
		return pci_read_config_byte(pdev, at, &byte) ? 0xff : byte;
	case 2:
		return pci_read_config_word(pdev, at, &word) ? 0xffff : word;
	default:
		pci_read_config_dword(pdev, at, &value);
		return value;
	}
}

/*
 * The errors of the device are reported to this node's Root Complex, whose driver reads
 * and clears them. So the borrower sees no error. It may write masks and severities, as
 * drivers do, but the device keeps ours.
 */
static void make_aer(struct lender_config *c, unsigned int at)
{
	put_unaligned_le32(0, c->shown + at + PCI_ERR_UNCOR_STATUS);
	put_unaligned_le32(0, c->shown + at + PCI_ERR_COR_STATUS);
	/* ECRC has to be enabled in all of a hierarchy, so hide that the device has it. */
	put_unaligned_le32(0, c->shown + at + PCI_ERR_CAP);
	memset(c->shown + at + PCI_ERR_HEADER_LOG, 0,
	       DLEND_AER_SIZE - PCI_ERR_HEADER_LOG);
	/* The bits that are defined (PCI Express Base, 7.8.4.3, 7.8.4.4 and 7.8.4.6). */
	set32(c->keep, at + PCI_ERR_UNCOR_MASK, 0x07fff030);
	set32(c->keep, at + PCI_ERR_UNCOR_SEVER, 0x07fff030);
	set32(c->keep, at + PCI_ERR_COR_MASK, 0x0000f1c1);
}

/*
 * The list begins at 0x100. If the capability there is hidden, the first dword has only
 * the offset of the next one, which makes it a Null Capability.
 */
static void make_extended(struct lender_config *c, struct pci_dev *pdev)
{
	DECLARE_BITMAP(seen, DLEND_CFG_SPACE / 4) = {};
	unsigned int at = DLEND_CFG_SIZE, last = at;

	if (pdev->cfg_size < DLEND_CFG_SPACE)
		return;
	while (at >= DLEND_CFG_SIZE && at + 8 <= DLEND_CFG_SPACE &&
	       !test_and_set_bit(at / 4, seen)) {
		u32 header = read_device(pdev, at, 4);
		unsigned int size =
			dlend_extended_size(header, read_device(pdev, at + 4, 4));
		unsigned int i;

		if (header == 0 || header == ~0u)
			return;
		if (size && at + size <= DLEND_CFG_SPACE) {
			for (i = 0; i < size; i++)
				c->shown[at + i] = read_device(pdev, at + i, 1);
			put_unaligned_le32(header & 0xfffff, c->shown + at);
			if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_ERR)
				make_aer(c, at);
			if (at != last)
				set32(c->shown, last, at << 20);
			last = at;
		}
		at = PCI_EXT_CAP_NEXT(header);
	}
}

void lender_config_make(struct lender_device *d)
{
	struct lender_config *c = &d->config;
	unsigned int at, i, size, last = PCI_CAPABILITY_LIST;
	u8 real[DLEND_CFG_SIZE];

	for (i = 0; i < DLEND_CFG_SIZE; i += 4) {
		u32 value;

		pci_read_config_dword(d->pdev, i, &value);
		put_unaligned_le32(value, real + i);
	}
	memset(c, 0, sizeof(*c));
	make_header(c, d->pdev, real);
	make_extended(c, d->pdev);
	c->shown[last] = 0;
	if (!(get16(real, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return;

	at = real[PCI_CAPABILITY_LIST] & ~3;
	for (i = 0; i < CAPABILITIES_MAX && at >= PCI_STD_HEADER_SIZEOF; i++) {
		size = dlend_capability_size(real, at);
		if (size && at + size <= DLEND_CFG_SIZE) {
			memcpy(c->shown + at, real + at, size);
			make_capability(c, at, size);
			c->shown[last] = at;
			last = at + 1;
			c->shown[last] = 0;
		}
		at = real[at + 1] & ~3;
	}
}

u64 lender_config_live(const struct lender_config *config)
{
	u64 live = 0;
	unsigned int i;

	for (i = 0; i < DLEND_CFG_SIZE; i++)
		if (config->live[i])
			live |= BIT_ULL(i / 4);
	return live;
}

static u32 gather(const u8 *bytes, unsigned int at, unsigned int size)
{
	u32 value = 0;

	while (size--)
		value = value << 8 | bytes[at + size];
	return value;
}

static void write_device(struct pci_dev *pdev, unsigned int at,
			 unsigned int size, u32 value)
{
	switch (size) {
	case 1:
		pci_write_config_byte(pdev, at, value);
		break;
	case 2:
		pci_write_config_word(pdev, at, value);
		break;
	default:
		pci_write_config_dword(pdev, at, value);
	}
}

u32 lender_config_read(struct lender_device *d, unsigned int at,
		       unsigned int size)
{
	struct lender_config *c = &d->config;
	u32 value = gather(c->shown, at, size);
	u32 live = at < DLEND_CFG_SIZE ? gather(c->live, at, size) : 0;

	if (live)
		value = (value & ~live) | (read_device(d->pdev, at, size) & live);
	return value;
}

/*
 * Counts bits that the borrower may not write. Drivers try that, too, so the log has only
 * the first time of a loan. lender_lock is held.
 */
static void refuse(struct lender_device *d, unsigned int at, unsigned int bits)
{
	atomic64_add(bits, &lender_counts.config_refused);
	if (d->loan->misused)
		return;
	d->loan->misused = true;
	pci_notice(d->pdev, "device %x: node %u writes what it may not, at %#x of the configuration space\n",
		   d->fdid, dlend_peer_node(d->loan->peer), at);
}

/*
 * Applies the borrower's MSI registers. If they enable MSI, the address lies in the
 * borrower's MSI window and the device has so many vectors, address, data and number are
 * written to the device and MSI is enabled there. Otherwise MSI is disabled. A borrower
 * writes the address in parts, so all is checked after each write to the registers. The
 * number of a vector changes the data alone (PCI 3.0 6.8.1.3), never the address.
 */
static void commit_msi(struct lender_device *d)
{
	struct lender_config *c = &d->config;
	unsigned int at = c->msi, data = PCI_MSI_DATA_32;
	u16 flags = get16(c->shown, at + PCI_MSI_FLAGS), real;
	u64 bus = gather(c->shown, at + PCI_MSI_ADDRESS_LO, 4);
	u16 most = (flags & PCI_MSI_FLAGS_QMASK) >> 1, count = (flags & PCI_MSI_FLAGS_QSIZE) >> 4;
	bool good;

	if (flags & PCI_MSI_FLAGS_64BIT) {
		bus |= (u64)gather(c->shown, at + PCI_MSI_ADDRESS_HI, 4) << 32;
		data = PCI_MSI_DATA_64;
	}
	good = bus >= c->msi_bus && bus - c->msi_bus < c->msi_size && count <= most;
	pci_read_config_word(d->pdev, at + PCI_MSI_FLAGS, &real);
	real &= ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	if (good && flags & PCI_MSI_FLAGS_ENABLE) {
		pci_write_config_dword(d->pdev, at + PCI_MSI_ADDRESS_LO,
				       lower_32_bits(bus));
		if (flags & PCI_MSI_FLAGS_64BIT)
			pci_write_config_dword(d->pdev,
					       at + PCI_MSI_ADDRESS_HI,
					       upper_32_bits(bus));
		pci_write_config_word(d->pdev, at + data,
				      get16(c->shown, at + data));
		real |= PCI_MSI_FLAGS_ENABLE | count << 4;
	} else if (flags & PCI_MSI_FLAGS_ENABLE) {
		refuse(d, at + PCI_MSI_ADDRESS_LO, 1);
	}
	pci_write_config_word(d->pdev, at + PCI_MSI_FLAGS, real);
}

/*
 * Return: the bits of @pass that are written to the device. While this node handles its
 * interrupts, MSI-X is this node's.
 */
static u32 passed(struct lender_device *d, unsigned int at, u32 pass)
{
	if (d->loan->irqs && d->pdev->msix_cap &&
	    (at & ~3) == (d->pdev->msix_cap & ~3))
		return 0;
	return pass;
}

/* Return: whether the device answers. Some bits of its Command register are always 0. */
static bool answers(struct pci_dev *pdev)
{
	return read_device(pdev, PCI_COMMAND, 2) != 0xffff;
}

void lender_config_write(struct lender_device *d, unsigned int at,
			 unsigned int size, u32 value)
{
	struct lender_config *c = &d->config;
	u32 pass = at < DLEND_CFG_SIZE ? passed(d, at, gather(c->pass, at, size)) : 0;
	u32 clear = at < DLEND_CFG_SIZE ? gather(c->clear, at, size) : 0;
	u32 keep = gather(c->keep, at, size);
	u32 changes = value ^ lender_config_read(d, at, size);
	u32 refused = changes & ~(pass | clear | keep);
	unsigned int i;

	if (size < 4)
		refused &= BIT(8 * size) - 1;
	if (refused)
		refuse(d, at, hweight32(refused));
	for (i = 0; i < size; i++) {
		u8 mask = c->keep[at + i];

		c->shown[at + i] &= ~mask;
		c->shown[at + i] |= value >> (8 * i) & mask;
	}
	if (pass | clear) {
		u32 real = read_device(d->pdev, at, size);

		/* A device that does not answer, as in a reset, would get ones. */
		if (!answers(d->pdev))
			return;
		/* Bits that a 1 clears are written as 0, all others as they were read. */
		real &= ~(pass | clear | gather(c->zero, at, size));
		write_device(d->pdev, at, size, real | (value & (pass | clear)));
	}
	if (c->msi && !d->loan->irqs && at < c->msi_end && at + size > c->msi + PCI_MSI_FLAGS)
		commit_msi(d);
}
