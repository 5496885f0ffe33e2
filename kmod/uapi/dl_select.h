/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */
/*
 * The rules by which devices are listed and selected. lendctl and "farside" compile them,
 * so a request finds the same function in both. This header needs nothing but the C
 * library: lendctl runs in guests that have no other.
 */
#ifndef DL_SELECT_H
#define DL_SELECT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/types.h>

/*
 * Return: whether a display with this vendor ID is a console: that of a management
 * controller, or of a virtual machine. @name is what pci.ids or lspci calls it, or NULL.
 */
static inline bool dl_select_is_console(__u32 vendor, const char *name)
{
	static const __u32 vendors[] = {
		0x1a03,	/* ASPEED */
		0x102b,	/* Matrox G200 */
		0x19e5,	/* Huawei Hi1710 */
		0x126f,	/* Silicon Motion */
		0x18ca,	/* XGI */
		0x1013,	/* Cirrus, of QEMU */
		0x1234,	/* QEMU */
		0x1b36,	/* QXL */
		0x1af4,	/* virtio */
		0x15ad,	/* VMware */
		0x80ee,	/* VirtualBox */
		0x1414,	/* Hyper-V */
		0
	};
	static const char *const names[] = {
		"ASPEED", "BMC", "Matrox", "G200", "iLO", "Lights-Out", "Hi171", "Hi1710",
		"SM750", "XGI ", "Cirrus", "QEMU", "QXL", "Virtio", "VMware", "bochs",
		"VirtualBox", "Hyper-V", "iDRAC", "Nuvoton", "Pilot", "ES1000", "Volari",
		"Emulex", NULL
	};
	unsigned int i;

	for (i = 0; vendors[i]; i++)
		if (vendor == vendors[i])
			return true;
	for (i = 0; name && names[i]; i++)
		if (strstr(name, names[i]))
			return true;
	return false;
}

/*
 * Return: the type of a device as inventories show it, or NULL if they do not list it.
 * @class has base class, subclass and interface; @name as for dl_select_is_console().
 */
static inline const char *dl_select_type(__u32 class, __u32 vendor, const char *name)
{
	static const struct {
		__u32 code, mask;
		const char *type;
	} types[] = {
		{ 0x020700, 0xffff00, "Infiniband" },
		{ 0x020000, 0xff0000, "Network" },
		{ 0x010800, 0xffff00, "Storage" },
		{ 0x030000, 0xff0000, "GPU" },
		{ 0x120000, 0xff0000, "Accelerator" },
		{ 0x0b4000, 0xffff00, "Accelerator" },	/* co-processors */
		{ 0, 0, NULL }
	};
	unsigned int i;

	/* A 3D controller (0x0302) shows nothing. */
	if (class >> 16 == 0x03 && class >> 8 != 0x0302 && dl_select_is_console(vendor, name))
		return NULL;
	for (i = 0; types[i].type; i++)
		if ((class & types[i].mask) == types[i].code)
			return types[i].type;
	return NULL;
}

/*
 * Return: the InfiniBand subnet prefix of a port whose first GID is @gid, as sysfs writes
 * it; 0 if it is in no subnet, or in one with the prefix that all subnets have at first.
 */
static inline __u64 dl_select_fabric(const char *gid)
{
	unsigned int part[4];
	__u64 prefix;

	if (strspn(gid, "0123456789abcdefABCDEF:") != 39 ||
	    sscanf(gid, "%4x:%4x:%4x:%4x:", &part[0], &part[1], &part[2], &part[3]) != 4)
		return 0;
	prefix = (__u64)part[0] << 48 | (__u64)part[1] << 32 | part[2] << 16 | part[3];
	return prefix == 0xfe80000000000000ULL ? 0 : prefix;
}

/* The devices that stay when a request gives, or does not give, an attribute. */
enum dl_select_rule {
	DL_SELECT_WISHED,	/* those with the wanted value */
	DL_SELECT_WITHOUT,	/* those without a value */
	DL_SELECT_ALL,
	DL_SELECT_UNCLEAR,	/* none: the request must give the attribute */
};

/*
 * @has_wish: the request gives the attribute
 * @values: how many different values the devices have
 * @some_lack: some devices have no value
 * @none_is_default: without a wish, those mean the devices without a value
 */
static inline enum dl_select_rule dl_select_rule(bool has_wish, unsigned int values,
						 bool some_lack, bool none_is_default)
{
	if (has_wish)
		return DL_SELECT_WISHED;
	if (some_lack && (values == 0 || none_is_default))
		return DL_SELECT_WITHOUT;
	return values + some_lack == 1 ? DL_SELECT_ALL : DL_SELECT_UNCLEAR;
}

#endif
