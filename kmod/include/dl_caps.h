/* SPDX-License-Identifier: GPL-2.0-only */
/* Capabilities that a borrowed function may have. A lender shows no others. */
#ifndef DL_CAPS_H
#define DL_CAPS_H

#include <linux/minmax.h>
#include <linux/pci_regs.h>

#include "compat.h"

/**
 * dlend_capability_size() - size of a capability of the first 256 bytes
 * @config: configuration space of a function
 * @at: offset of the capability
 *
 * Return: bytes of the capability, or 0 if a borrowed function must not have it.
 */
static inline unsigned int dlend_capability_size(const u8 *config, unsigned int at)
{
	u16 flags = get_unaligned_le16(config + at + PCI_CAP_FLAGS);

	switch (config[at]) {
	case PCI_CAP_ID_PM:
		return PCI_PM_SIZEOF;
	case PCI_CAP_ID_MSI:
		if (flags & PCI_MSI_FLAGS_MASKBIT)
			return flags & PCI_MSI_FLAGS_64BIT ? 24 : 20;
		return flags & PCI_MSI_FLAGS_64BIT ? 14 : 10;
	case PCI_CAP_ID_MSIX:
		return PCI_CAP_MSIX_SIZEOF;
	case PCI_CAP_ID_EXP:
		return (flags & PCI_EXP_FLAGS_VERS) == 1 ?
			PCI_CAP_EXP_ENDPOINT_SIZEOF_V1 :
			PCI_CAP_EXP_ENDPOINT_SIZEOF_V2;
	case PCI_CAP_ID_SSVID:
		return 8;
	case PCI_CAP_ID_VNDR:
		return max_t(unsigned int, flags & 0xff, 3);
	default:
		return 0;
	}
}

/* Bytes of Advanced Error Reporting of an endpoint without a log of TLP prefixes. */
#define DLEND_AER_SIZE PCI_ERR_ROOT_COMMAND

/**
 * dlend_extended_size() - size of an extended capability
 * @header: its first dword
 * @second: its second dword
 *
 * Return: bytes of the capability, or 0 if a borrowed function must not have it, or not
 * in this version.
 */
static inline unsigned int dlend_extended_size(u32 header, u32 second)
{
	unsigned int version = PCI_EXT_CAP_VER(header);

	switch (PCI_EXT_CAP_ID(header)) {
	case PCI_EXT_CAP_ID_ERR:
		return version >= 1 && version <= 3 ? DLEND_AER_SIZE : 0;
	case PCI_EXT_CAP_ID_DSN:
		return version == 1 ? PCI_EXT_CAP_DSN_SIZEOF : 0;
	case PCI_EXT_CAP_ID_VNDR:
		/* Length, which includes both dwords (PCI Express Base, 7.9.5.2). */
		return version == 1 && second >> 20 >= 8 ? second >> 20 : 0;
	default:
		return 0;
	}
}

#endif /* DL_CAPS_H */
