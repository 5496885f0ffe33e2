// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host bridge of a borrowed device, and its configuration space. Reads are answered
 * from an image, except for registers that change by themselves, which the lender is
 * asked for. Writes go to the lender, which decides whether they have an effect. The
 * BARs hold addresses of this node, so writes to them stay here.
 *
 * Accesses come with interrupts off and spinlocks held (pci_lock), so they must not
 * sleep. The lender is therefore asked by polled calls. If the lender does not answer, a
 * read returns all ones.
 */
#include <linux/pci.h>
#include <asm/unaligned.h>

#include "borrower.h"

#define BAR_END (PCI_BASE_ADDRESS_0 + 4 * DLEND_BARS)

static bool is_bar(unsigned int at)
{
	return at >= PCI_BASE_ADDRESS_0 && at < BAR_END;
}

static struct borrower_loan *loan_of(struct pci_bus *bus)
{
	struct borrower_loan *loan =
		READ_ONCE(((struct borrower_bus *)bus->sysdata)->loan);

	/* A scan of the bus must not find again what was removed from it. */
	return loan && !READ_ONCE(loan->removed) ? loan : NULL;
}

static u32 part(u32 dword, int at, int size)
{
	dword >>= 8 * (at & 3);
	return size == 4 ? dword : dword & (BIT(8 * size) - 1);
}

static u32 ask(struct borrower_loan *loan, u16 op, int at, int size, u32 value,
	       bool *ok)
{
	struct dlend_msg_cfg req = {
		.fdid = cpu_to_le32(loan->fdid),
		.loan = cpu_to_le32(loan->number),
		.offset = cpu_to_le16(at),
		.size = cpu_to_le16(size),
		.value = cpu_to_le32(value),
	};
	struct dlend_msg_cfg_answer answer;
	int ret;

	ret = dlend_call_polled(loan->peer, op, &req, sizeof(req), &answer,
				sizeof(answer), 0);
	*ok = ret == sizeof(answer);
	if (!*ok) {
		atomic64_inc(&borrower_counts.config_failed);
		return ~0;
	}
	return le32_to_cpu(answer.value);
}

/*
 * Return: the lender's @dword where the lender may change bits, else the image.
 * config_lock is held.
 */
static u32 merge(struct borrower_loan *loan, int at, u32 dword)
{
	u32 image = get_unaligned_le32(loan->config + at);
	u32 lenders = loan->lenders[at / 4];

	return (dword & lenders) | (image & ~lenders);
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where,
		       int size, u32 *value)
{
	struct borrower_loan *loan = loan_of(bus);
	unsigned long flags;
	int at = where & ~3;
	bool ok, live;
	u32 dword;

	*value = ~0;
	if (!loan || devfn != loan->devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where + size > DLEND_CFG_SIZE || READ_ONCE(loan->dead))
		return PCIBIOS_SUCCESSFUL;
	live = loan->live & BIT_ULL(where / 4);
	if (live) {
		atomic64_inc(&borrower_counts.config_reads);
		dword = ask(loan, DLEND_OP_CFG_READ, at, 4, 0, &ok);
		if (!ok)
			return PCIBIOS_SUCCESSFUL;
	}
	spin_lock_irqsave(&loan->config_lock, flags);
	dword = live ? merge(loan, at, dword) :
		       get_unaligned_le32(loan->config + at);
	*value = part(dword, where, size);
	spin_unlock_irqrestore(&loan->config_lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

/* Stores the address that is written to a BAR. Size and kind of the BAR do not change. */
static void write_bar(struct borrower_loan *loan, int where, int size,
		      u32 value)
{
	unsigned int i = (where - PCI_BASE_ADDRESS_0) / 4;
	struct borrower_bar *bar = &loan->bars[i];
	u8 *at = loan->config + (where & ~3);

	if (size != 4)
		return;
	if (bar->size)
		put_unaligned_le32((value & ~(u32)(bar->size - 1)) | bar->flags,
				   at);
	else if (i && loan->bars[i - 1].size &&
		 loan->bars[i - 1].flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
		put_unaligned_le32(value & ~(u32)((loan->bars[i - 1].size - 1) >> 32),
				   at);
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where,
			int size, u32 value)
{
	struct borrower_loan *loan = loan_of(bus);
	unsigned long flags;
	bool ok;

	if (!loan || devfn != loan->devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where + size > DLEND_CFG_SIZE || READ_ONCE(loan->dead))
		return PCIBIOS_SUCCESSFUL;
	if (is_bar(where)) {
		spin_lock_irqsave(&loan->config_lock, flags);
		write_bar(loan, where, size, value);
		spin_unlock_irqrestore(&loan->config_lock, flags);
		return PCIBIOS_SUCCESSFUL;
	}
	/* The function has no ROM, so the kernel's writes to find its size do nothing. */
	if (where >= PCI_ROM_ADDRESS && where < PCI_ROM_ADDRESS + 4)
		return PCIBIOS_SUCCESSFUL;

	atomic64_inc(&borrower_counts.config_writes);
	value = ask(loan, DLEND_OP_CFG_WRITE, where, size, value, &ok);
	if (ok) {
		spin_lock_irqsave(&loan->config_lock, flags);
		put_unaligned_le32(merge(loan, where & ~3, value),
				   loan->config + (where & ~3));
		spin_unlock_irqrestore(&loan->config_lock, flags);
	}
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops bridge_ops = {
	.read = config_read,
	.write = config_write,
};

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
 * Chooses which bits of the configuration space the lender may change later. A hostile
 * lender may answer differently each time. The kernel relies on the IDs and the kind of
 * the function, on the offsets of its capabilities and on its MSI-X table, so these keep
 * their first values, which borrower_check_attach() has checked.
 */
static void choose_lenders_bits(struct borrower_loan *loan)
{
	u32 *bits = loan->lenders;
	unsigned int at;

	memset(bits, 0xff, sizeof(loan->lenders));
	memset(bits, 0, PCI_STD_HEADER_SIZEOF);
	bits[PCI_COMMAND / 4] = ~0;
	bits[PCI_CACHE_LINE_SIZE / 4] = 0xffff;	/* and latency */
	bits[PCI_INTERRUPT_LINE / 4] = 0xff;
	/* Stop at a capability that was visited already, because a list may be a loop. */
	at = loan->config[PCI_CAPABILITY_LIST] & ~3;
	while (at >= PCI_STD_HEADER_SIZEOF && bits[at / 4] == ~0) {
		bits[at / 4] = 0xffff0000;
		if (loan->config[at] == PCI_CAP_ID_MSIX) {
			bits[at / 4] = (PCI_MSIX_FLAGS_ENABLE |
					PCI_MSIX_FLAGS_MASKALL) << 16;
			bits[at / 4 + 1] = 0;
			bits[at / 4 + 2] = 0;
		}
		at = loan->config[at + PCI_CAP_LIST_NEXT] & ~3;
	}
}

/* Completes the image: no bridge, no ROM, no line interrupt, and the BARs of this node. */
static void init_config(struct borrower_loan *loan)
{
	unsigned int i;

	/* In the header only Command and Status change by themselves. */
	loan->live &= ~GENMASK_ULL(15, 0) | BIT_ULL(PCI_COMMAND / 4);
	loan->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	loan->config[PCI_INTERRUPT_PIN] = 0;
	memset(loan->config + PCI_ROM_ADDRESS, 0, 4);
	memset(loan->config + PCI_BASE_ADDRESS_0, 0, 4 * DLEND_BARS);

	for (i = 0; i < DLEND_BARS; i++) {
		struct borrower_bar *bar = &loan->bars[i];
		u8 *at = loan->config + PCI_BASE_ADDRESS_0 + 4 * i;

		if (!bar->size)
			continue;
		put_unaligned_le32(lower_32_bits(bar->phys) | bar->flags, at);
		if (bar->flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
			put_unaligned_le32(upper_32_bits(bar->phys), at + 4);
	}
	choose_lenders_bits(loan);
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
	WRITE_ONCE(priv->loan, NULL);
}

/* pci_lock_rescan_remove() was called. */
static void remove_bus(struct borrower_loan *loan)
{
	pci_stop_root_bus(loan->bridge->bus);
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
	bridge->ops = &bridge_ops;
	pci_add_resource(&bridge->windows, &busn);
	return bridge;
}

int borrower_bridge_add(struct borrower_loan *loan)
{
	struct pci_host_bridge *bridge;
	int err;

	init_config(loan);
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
	if (err) {
		remove_bus(loan);
		goto unlock;
	}
	borrower_dma_attach(loan);
	dev_set_msi_domain(&loan->pdev->dev, loan->msi_domain);
	pci_bus_add_devices(loan->bridge->bus);
unlock:
	pci_unlock_rescan_remove();
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
}
