// SPDX-License-Identifier: GPL-2.0-only
/* Numbers and names, to text and back. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lend.h"

#define PCI_IDS "/usr/share/misc/pci.ids"

/*
 * Parses a number. The characters are checked first, because strtoull() also accepts
 * blanks, signs, and any number of digits. Return: whether @text is valid.
 */
static bool parse(const char *text, int base, unsigned int digits, __u64 max,
		  __u64 *ret)
{
	unsigned long long value;
	size_t i, length = strlen(text);

	if (length == 0 || length > digits)
		return false;
	for (i = 0; i < length; i++)
		if (base == 16 ? !isxdigit((unsigned char)text[i]) :
				 !isdigit((unsigned char)text[i]))
			return false;
	value = strtoull(text, NULL, base);
	if (value > max)
		return false;
	*ret = value;
	return true;
}

bool lend_parse_id(const char *text, __u32 *ret_id)
{
	__u64 value;

	if (strncmp(text, "0x", 2) == 0)
		text += 2;
	if (!parse(text, 16, 8, 0xffffffff, &value))
		return false;
	*ret_id = value;
	return true;
}

bool lend_parse_node(const char *text, __u32 *ret_node)
{
	__u64 value;

	if (!parse(text, 10, 10, 0xffffffff, &value) || value == 0)
		return false;
	*ret_node = value;
	return true;
}

bool lend_parse_share(const char *text, unsigned int *ret_number)
{
	__u64 value;

	if (!parse(text, 10, 5, 0xffff, &value) || value == 0)
		return false;
	*ret_number = value;
	return true;
}

bool lend_parse_window(const char *text, __u64 *ret_window)
{
	__u64 value;

	/* 2^43 MiB: the size in bytes must fit into 64 bits. */
	if (!parse(text, 10, 15, 1ULL << 43, &value) || value == 0)
		return false;
	*ret_window = value << 20;
	return true;
}

bool lend_parse_seconds(const char *text, int *ret_ms)
{
	char *end;
	double value;

	/* Check the characters first: strtod() also accepts infinity and exponents. */
	if (!isdigit((unsigned char)*text) ||
	    text[strspn(text, "0123456789.")] != '\0' || strlen(text) > 10)
		return false;
	value = strtod(text, &end);
	if (*end != '\0' || value > 86400)
		return false;
	*ret_ms = value * 1000;
	return true;
}

bool lend_parse_function(const char *text, struct dl_ctl_function *ret_function)
{
	static const struct {
		char end;
		unsigned int digits;
		__u64 max;
	} parts[] = {
		{ ':', 8, 0xffffffff }, { ':', 2, 0xff }, { '.', 2, 0x1f },
		{ '\0', 1, 7 },
	};
	const char *colon = strchr(text, ':');
	__u64 values[4] = {};
	unsigned int i;

	/* Without a second colon there is no segment. */
	for (i = colon && !strchr(colon + 1, ':') ? 1 : 0; i < 4; i++) {
		size_t length = strcspn(text, ":.");
		char part[9];

		if (text[length] != parts[i].end || length >= sizeof(part))
			return false;
		memcpy(part, text, length);
		part[length] = '\0';
		if (!parse(part, 16, parts[i].digits, parts[i].max, &values[i]))
			return false;
		text += length + 1;
	}
	*ret_function = (struct dl_ctl_function){
		.segment = values[0],
		.bus = values[1],
		.devfn = values[2] << 3 | values[3],
	};
	return true;
}

const char *lend_function_text(const struct dl_ctl_function *function,
			       char text[LEND_TEXT])
{
	snprintf(text, LEND_TEXT, "%04x:%02x:%02x.%x", function->segment,
		 function->bus, function->devfn >> 3, function->devfn & 7);
	return text;
}

const char *lend_size_text(__u64 size, char text[LEND_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;

	while (size && size % 1024 == 0 && unit < 4) {
		size /= 1024;
		unit++;
	}
	snprintf(text, LEND_TEXT, "%llu %s", (unsigned long long)size,
		 units[unit]);
	return text;
}

const char *lend_state_text(const struct dl_ctl_device *device,
			    char text[LEND_TEXT])
{
	switch (device->state) {
	case DL_CTL_LOCAL:
		return strcpy(text, "local");
	case DL_CTL_AVAILABLE:
		return strcpy(text, "available");
	case DL_CTL_BORROWED:
		snprintf(text, LEND_TEXT, "borrowed by node %u",
			 device->borrower);
		return text;
	default:
		snprintf(text, LEND_TEXT, "state %u", device->state);
		return text;
	}
}

/*
 * Reads the name from a line of pci.ids without its tabs: "DIGITS  Name". Return: whether
 * DIGITS are @number; only then @name is set.
 */
static bool entry(const char *line, unsigned int digits, unsigned int number,
		  char *name)
{
	char want[8];

	snprintf(want, sizeof(want), "%0*x", (int)digits, number);
	if (strncasecmp(line, want, digits) != 0 || line[digits] != ' ')
		return false;
	line += digits + strspn(line + digits, " ");
	snprintf(name, LEND_TEXT, "%.*s", (int)strcspn(line, "\r\n"), line);
	return true;
}

/*
 * Reads the file once. The line of a vendor has no tab, and the line of a device has one.
 * The line of a class begins with "C", and the line of a subclass has one tab.
 */
static void look_up(FILE *file, const struct dl_ctl_device *device, char *class,
		    char *vendor, char *name)
{
	enum { NOWHERE, VENDOR, CLASS } in = NOWHERE;
	char line[1024];

	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (strncmp(line, "C ", 2) == 0) {
			char base[LEND_TEXT];

			in = NOWHERE;
			if (entry(line + 2, 2, device->class >> 16, base)) {
				in = CLASS;
				strcpy(class, base);
			}
		} else if (line[0] != '\t') {
			in = entry(line, 4, device->vendor, vendor) ? VENDOR :
								      NOWHERE;
		} else if (in == VENDOR && line[1] != '\t') {
			entry(line + 1, 4, device->device, name);
		} else if (in == CLASS && line[1] != '\t') {
			entry(line + 1, 2, device->class >> 8 & 0xff, class);
		}
	}
}

void lend_names(__u16 vendor, __u16 device, const char *ids, char vendor_name[LEND_TEXT],
		char device_name[LEND_TEXT])
{
	struct dl_ctl_device numbers = { .vendor = vendor, .device = device };
	FILE *file = fopen(ids ? ids : PCI_IDS, "re");
	char class[LEND_TEXT];

	snprintf(vendor_name, LEND_TEXT, "0x%04x", vendor);
	snprintf(device_name, LEND_TEXT, "0x%04x", device);
	if (file) {
		look_up(file, &numbers, class, vendor_name, device_name);
		fclose(file);
	}
}

const char *lend_name(const struct dl_ctl_device *device, const char *ids,
		      char text[LEND_TEXT])
{
	char class[LEND_TEXT], vendor[LEND_TEXT], name[LEND_TEXT];
	FILE *file = fopen(ids ? ids : PCI_IDS, "re");

	snprintf(class, sizeof(class), "Class %04x", device->class >> 8);
	snprintf(vendor, sizeof(vendor), "Vendor %04x", device->vendor);
	snprintf(name, sizeof(name), "Device %04x", device->device);
	if (file) {
		look_up(file, device, class, vendor, name);
		fclose(file);
	}
	snprintf(text, LEND_TEXT, "%.80s %.80s %.80s", class, vendor, name);
	return text;
}
