// SPDX-License-Identifier: GPL-2.0-only
/* Misdeeds of dl_rogue in configuration space. */
#include <linux/pci.h>

#include "rogue.h"

static int read_after_take(unsigned int at, unsigned int size)
{
	return take() ?: ask_config(mine, loan, at, size, NULL);
}

static int config_beyond(void)
{
	return read_after_take(DLEND_CFG_SPACE, 4);
}

static int config_last(void)
{
	return read_after_take(0xfffc, 4);
}

static int config_write_beyond(void)
{
	u32 ones = ~0;

	return take() ?: ask_config(mine, loan, DLEND_CFG_SPACE, 4, &ones);
}

static int config_unaligned(void)
{
	return read_after_take(2, 4);
}

static int config_size_0(void)
{
	return read_after_take(0, 0);
}

static int config_size_3(void)
{
	return read_after_take(0, 3);
}

static int config_size_8(void)
{
	return read_after_take(0, 8);
}

static int config_no_loan(void)
{
	return ask_config(mine, 0, 0, 4, NULL);
}

static int config_not_attached(void)
{
	return ask_borrow(mine) ?: ask_config(mine, loan, 0, 4, NULL);
}

static int config_returned(void)
{
	int err = take();
	u32 was = loan;

	give_back();
	return err ?: ask_config(mine, was, 0, 4, NULL);
}

/* Ones to all registers. */
static int config_all(void)
{
	unsigned int at;
	u32 ones = ~0;
	int err = take();

	for (at = 0; at < DLEND_CFG_SPACE && !err; at += 4)
		err = ask_config(mine, loan, at, 4, &ones);
	return err;
}

/* Return: offset of the capability MSI in the image that ATTACH has answered, or 0. */
static unsigned int find_msi(void)
{
	const u8 *config = answer.attach.config;
	unsigned int i, at = config[PCI_CAPABILITY_LIST];

	for (i = 0; i < 48 && at >= PCI_STD_HEADER_SIZEOF && at < DLEND_CFG_SIZE - 16; i++) {
		if (config[at] == PCI_CAP_ID_MSI)
			return at;
		at = config[at + PCI_CAP_LIST_NEXT] & ~3;
	}
	return 0;
}

/* Enables MSI with this address. */
static int set_msi(u64 bus, u32 flags)
{
	u32 addr = lower_32_bits(bus), upper = upper_32_bits(bus), data = 0x31;
	unsigned int at = find_msi();
	bool wide;
	int err;

	if (!at)
		return -ENOENT;
	wide = answer.attach.config[at + PCI_MSI_FLAGS] & PCI_MSI_FLAGS_64BIT;
	err = ask_config(mine, loan, at + PCI_MSI_ADDRESS_LO, 4, &addr);
	if (!err && wide)
		err = ask_config(mine, loan, at + PCI_MSI_ADDRESS_HI, 4, &upper);
	if (!err)
		err = ask_config(mine, loan, at + (wide ? PCI_MSI_DATA_64 : PCI_MSI_DATA_32),
				 2, &data);
	return err ?: ask_config(mine, loan, at + PCI_MSI_FLAGS, 2, &flags);
}

/* Interrupts of the lender itself: the address is not in the window. */
static int msi_outside(void)
{
	return take() ?: set_msi(0xfee00000, PCI_MSI_FLAGS_ENABLE);
}

/* The address is good, and the device has one vector, not 32. */
static int msi_too_many(void)
{
	return take() ?: set_msi(le64_to_cpu(answer.attach.msi_bus),
				 PCI_MSI_FLAGS_ENABLE | 5 << 4);
}

static int extended_low(void)
{
	return take() ?: ask_extended(mine, loan, 0);
}

static int extended_high(void)
{
	return take() ?: ask_extended(mine, loan, DLEND_CFG_SPACE - DLEND_CFG_PIECE + 4);
}

static int extended_wrap(void)
{
	return take() ?: ask_extended(mine, loan, ~0);
}

static int extended_not_attached(void)
{
	return ask_borrow(mine) ?: ask_extended(mine, loan, DLEND_CFG_SIZE);
}

const struct rogue_misdeed rogue_config[] = {
	{ "config-beyond", config_beyond },
	{ "config-last", config_last },
	{ "config-write-beyond", config_write_beyond },
	{ "config-unaligned", config_unaligned },
	{ "config-size-0", config_size_0 },
	{ "config-size-3", config_size_3 },
	{ "config-size-8", config_size_8 },
	{ "config-no-loan", config_no_loan },
	{ "config-not-attached", config_not_attached },
	{ "config-returned", config_returned },
	{ "config-all", config_all },
	{ "msi-outside", msi_outside },
	{ "msi-too-many", msi_too_many },
	{ "extended-low", extended_low },
	{ "extended-high", extended_high },
	{ "extended-wrap", extended_wrap },
	{ "extended-not-attached", extended_not_attached },
	{ }
};
