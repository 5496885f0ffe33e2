// SPDX-License-Identifier: GPL-2.0-only
/*
 * This kernel's quirks for a function, by its IDs and class. The PCI core runs such
 * functions of the kernel ("quirks") before any driver is bound, and cannot be told to leave
 * them out. Most are for parts of a chipset: they act on the whole machine, and believe all
 * that the function's registers say.
 *
 * The build makes the table from the kernel's source; see quirks/generate. It lacks the
 * functions that quirks/harmless names.
 */
#include <linux/kernel.h>
#include <linux/mod_devicetable.h>
#include <linux/types.h>

#include "borrower.h"

/* A field matches as in pci_do_fixups() of the kernel: all bits set are any value. */
struct quirk {
	u16 vendor, device;
	u32 class;
	u8 shift;
	const char *name;
};

#define QUIRK(v, d, c, s, f) { (u16)(v), (u16)(d), (u32)(c), (u8)(s), #f "()" },

static const struct quirk quirks[] = {
#include "quirks_table.h"
	/* Walks the registers of BAR 0 as they lead it, also beyond the end of the BAR. */
	QUIRK(PCI_ANY_ID, PCI_ANY_ID, 0x0c03, 8, quirk_usb_early_handoff)
	/* No quirk: it may choose the function as the boot VGA device of this node. */
	QUIRK(PCI_ANY_ID, PCI_ANY_ID, 0x0300, 8, vga_arbiter_add_pci_device)
};

const char *borrower_quirk(u16 vendor, u16 device, u32 class)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(quirks); i++) {
		const struct quirk *quirk = &quirks[i];

		if ((quirk->vendor == (u16)PCI_ANY_ID || quirk->vendor == vendor) &&
		    (quirk->device == (u16)PCI_ANY_ID || quirk->device == device) &&
		    (quirk->class == (u32)PCI_ANY_ID ||
		     quirk->class == class >> quirk->shift))
			return quirk->name;
	}
	return NULL;
}

const char *borrower_quirks_unknown(void)
{
#ifdef QUIRKS_UNKNOWN
	return QUIRKS_UNKNOWN;
#else
	return NULL;
#endif
}
