// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices that this node may borrow. The lender chooses IDs and class of a device, and
 * with them what this node's kernel does before any driver is bound, and which driver that
 * is: a driver looks at IDs, or at the class, and seldom at both. So the list of this node
 * decides. Its entries are written as for "lspci -d":
 *
 *	VENDOR:DEVICE[:CLASS[:PROG-IF]][+quirks]
 *
 * in hexadecimal. A field that is empty or "*" is any value, and an "x" any digit of the
 * class. A device for which the kernel runs quirks is borrowed only if an entry with
 * "+quirks" names it; such an entry has vendor, device and class.
 */
#include <linux/ctype.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "borrower.h"

#define ENTRIES_MAX 64

struct entry {
	u16 vendor, device;
	bool any_vendor, any_device, quirks;
	u32 class, mask;	/* a device's class is compared under the mask */
};

/*
 * The default: devices that QEMU emulates. Linux 6.1 and 6.12 have no harmful quirk for them,
 * so they may be borrowed also if the quirks of this kernel are not known.
 */
static const char *const defaults[] = {
	"1b36:0010:0108:02",	/* NVMe drive */
	"8086:10d3:0200:00",	/* network adapter e1000e */
	"8086:10c9:0200:00",	/* network adapter igb, and its virtual functions */
	"8086:10ca:0200:00",
	"1af4:1041:0200:00",	/* virtio: network adapter, disk, SCSI */
	"1af4:1042:0100:00",
	"1af4:1048:0100:00",
	"1234:fa90:1200:00",	/* the accelerator of this project */
	"1234:fa91:0200:00",	/* its NIC */
};

static DEFINE_MUTEX(allow_mutex);
static struct entry entries[ENTRIES_MAX];
static unsigned int n_entries;
static bool allow_given;	/* by the parameter */
static struct entry default_entries[ARRAY_SIZE(defaults)];

/* Reads up to @digits digits into @value and @mask. Return: whether the field is right. */
static bool parse_field(const char *text, size_t digits, bool wild, u32 *value, u32 *mask)
{
	size_t length = strlen(text), i;

	*value = 0;
	*mask = 0;
	if (!length || !strcmp(text, "*"))
		return true;
	if (length > digits || (wild && length != digits))
		return false;
	for (i = 0; i < length; i++) {
		int digit = hex_to_bin(text[i]);

		if (digit < 0 && !(wild && tolower(text[i]) == 'x'))
			return false;
		*value = *value << 4 | max(digit, 0);
		*mask = *mask << 4 | (digit < 0 ? 0 : 0xf);
	}
	return true;
}

/* Return: whether @pattern is an entry. */
static bool parse_entry(const char *pattern, struct entry *entry)
{
	static const char suffix[] = "+quirks";
	char copy[DLEND_PATTERN_MAX], *text = copy, *field;
	u32 value[4] = {}, mask[4] = {};
	size_t length;
	unsigned int i;

	if (strscpy(copy, pattern, sizeof(copy)) < 0)
		return false;
	length = strlen(text);
	memset(entry, 0, sizeof(*entry));
	if (length >= sizeof(suffix) &&
	    !strcmp(text + length - (sizeof(suffix) - 1), suffix)) {
		entry->quirks = true;
		text[length - (sizeof(suffix) - 1)] = '\0';
	}
	if (!strchr(text, ':'))
		return false;
	for (i = 0; (field = strsep(&text, ":")); i++)
		if (i == 4 || !parse_field(field, i < 3 ? 4 : 2, i >= 2, &value[i], &mask[i]))
			return false;
	entry->vendor = value[0];
	entry->any_vendor = !mask[0];
	entry->device = value[1];
	entry->any_device = !mask[1];
	entry->class = value[2] << 8 | value[3];
	entry->mask = mask[2] << 8 | mask[3];
	/* An override is for one kind of device, not for whatever a lender shows. */
	return !entry->quirks || (mask[0] && mask[1] && mask[2] == 0xffff);
}

static bool matches(const struct entry *entry, u16 vendor, u16 device, u32 class)
{
	return (entry->any_vendor || entry->vendor == vendor) &&
	       (entry->any_device || entry->device == device) &&
	       (class & entry->mask) == entry->class;
}

static bool equal(const struct entry *a, const struct entry *b)
{
	return a->vendor == b->vendor && a->any_vendor == b->any_vendor &&
	       a->device == b->device && a->any_device == b->any_device &&
	       a->class == b->class && a->mask == b->mask && a->quirks == b->quirks;
}

/* Writes @digits digits of a field that has @mask. Return: the end of the text. */
static char *put_field(char *at, u32 value, u32 mask, int digits)
{
	if (!mask)
		return at;
	while (digits-- > 0)
		*at++ = mask >> 4 * digits & 0xf ? hex_asc_lo(value >> 4 * digits) : 'x';
	return at;
}

static void entry_text(const struct entry *entry, char text[DLEND_PATTERN_MAX])
{
	char *at = put_field(text, entry->vendor, entry->any_vendor ? 0 : 0xffff, 4);

	*at++ = ':';
	at = put_field(at, entry->device, entry->any_device ? 0 : 0xffff, 4);
	if (entry->mask) {
		*at++ = ':';
		at = put_field(at, entry->class >> 8, entry->mask >> 8, 4);
	}
	if (entry->mask & 0xff) {
		*at++ = ':';
		at = put_field(at, entry->class & 0xff, entry->mask & 0xff, 2);
	}
	strcpy(at, entry->quirks ? "+quirks" : "");
}

/*
 * Reads a list into @list, which has room for @max. Return: the number of entries, or
 * -EINVAL or -ENOSPC.
 */
static int parse_list(const char *text, struct entry *list, unsigned int max)
{
	static const char separators[] = "\n ,";
	char word[DLEND_PATTERN_MAX];
	unsigned int n = 0;

	for (;;) {
		size_t length;

		text += strspn(text, separators);
		length = strcspn(text, separators);
		if (!length)
			return n;
		if (n == max)
			return -ENOSPC;
		if (length >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, length);
		word[length] = '\0';
		if (!parse_entry(word, &list[n++])) {
			pr_err("dl_borrower: allow: \"%.*s\" is no entry; write VENDOR:DEVICE:CLASS, as for lspci -d\n",
			       (int)length, text);
			return -EINVAL;
		}
		text += length;
	}
}

/* Replaces the list. */
static int allow_set(const char *text, const struct kernel_param *unused)
{
	struct entry *list = kcalloc(ENTRIES_MAX, sizeof(*list), GFP_KERNEL);
	int n;

	if (!list)
		return -ENOMEM;
	n = parse_list(text, list, ENTRIES_MAX);
	if (n >= 0) {
		mutex_lock(&allow_mutex);
		memcpy(entries, list, n * sizeof(*list));
		n_entries = n;
		allow_given = true;
		mutex_unlock(&allow_mutex);
	}
	kfree(list);
	return min(n, 0);
}

static int allow_get(char *page, const struct kernel_param *unused)
{
	char text[DLEND_PATTERN_MAX];
	unsigned int i;
	int n = 0;

	mutex_lock(&allow_mutex);
	for (i = 0; i < n_entries; i++) {
		entry_text(&entries[i], text);
		n += scnprintf(page + n, PAGE_SIZE - n, "%s%s", i ? "," : "", text);
	}
	mutex_unlock(&allow_mutex);
	return n + scnprintf(page + n, PAGE_SIZE - n, "\n");
}

static const struct kernel_param_ops allow_ops = { .set = allow_set, .get = allow_get };

module_param_cb(allow, &allow_ops, NULL, 0644);
MODULE_PARM_DESC(allow, "devices that may be borrowed: VENDOR:DEVICE[:CLASS[:PROG-IF]][+quirks],...");

int dlend_borrower_allow(const char *pattern, struct dlend_why *why)
{
	struct entry entry;
	unsigned int i;
	int err = 0;

	if (!parse_entry(pattern, &entry))
		return dlend_why_set(why, -EINVAL,
				     "write VENDOR:DEVICE[:CLASS[:PROG-IF]] as for lspci -d, 4 digits each, PROG-IF 2; with quirks, vendor, device and class are needed");
	mutex_lock(&allow_mutex);
	for (i = 0; i < n_entries; i++)
		if (equal(&entries[i], &entry))
			break;
	if (i == ENTRIES_MAX)
		err = dlend_why_set(why, -ENOSPC, "the list has %d entries already; remove one",
				    ENTRIES_MAX);
	else if (i == n_entries)
		entries[n_entries++] = entry;
	mutex_unlock(&allow_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_allow);

int dlend_borrower_disallow(const char *pattern, struct dlend_why *why)
{
	struct entry entry;
	unsigned int i;
	int err = 0;

	if (!parse_entry(pattern, &entry))
		return dlend_why_set(why, -EINVAL,
				     "write the entry as \"lendctl list-allowed\" shows it");
	mutex_lock(&allow_mutex);
	for (i = 0; i < n_entries; i++)
		if (equal(&entries[i], &entry))
			break;
	if (i < n_entries)
		memmove(&entries[i], &entries[i + 1],
			(--n_entries - i) * sizeof(entry));
	else
		err = dlend_why_set(why, -ENOENT,
				    "the list has no such entry; \"lendctl list-allowed\" shows all");
	mutex_unlock(&allow_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(dlend_borrower_disallow);

unsigned int dlend_borrower_allowed(struct dlend_pattern *patterns, unsigned int max)
{
	unsigned int i;

	mutex_lock(&allow_mutex);
	for (i = 0; i < n_entries && i < max; i++)
		entry_text(&entries[i], patterns[i].text);
	i = n_entries;
	mutex_unlock(&allow_mutex);
	return i;
}
EXPORT_SYMBOL_GPL(dlend_borrower_allowed);

int borrower_allow_check(u16 vendor, u16 device, u32 class, struct dlend_why *why)
{
	const char *quirk = borrower_quirk(vendor, device, class);
	const char *unknown = borrower_quirks_unknown();
	bool allowed = false, trusted = false;
	unsigned int i;

	mutex_lock(&allow_mutex);
	for (i = 0; i < n_entries; i++) {
		if (!matches(&entries[i], vendor, device, class))
			continue;
		allowed = true;
		trusted |= entries[i].quirks;
	}
	mutex_unlock(&allow_mutex);
	for (i = 0; i < ARRAY_SIZE(default_entries) && unknown; i++)
		if (matches(&default_entries[i], vendor, device, class))
			unknown = NULL;
	if (!allowed)
		return dlend_why_set(why, -EACCES,
				     "%04x:%04x class %06x may not be borrowed by this node; to change that: lendctl allow %04x:%04x:%04x",
				     vendor, device, class, vendor, device, class >> 8);
	if (trusted)
		return 0;
	if (quirk)
		return dlend_why_set(why, -EACCES,
				     "%04x:%04x class %06x makes this kernel run %s; if you trust its lender: lendctl allow %04x:%04x:%04x+quirks",
				     vendor, device, class, quirk, vendor, device, class >> 8);
	if (unknown)
		return dlend_why_set(why, -EACCES,
				     "%04x:%04x class %06x: this kernel's quirks are not known; if you trust its lender: lendctl allow %04x:%04x:%04x+quirks",
				     vendor, device, class, vendor, device, class >> 8);
	return 0;
}

int borrower_allow_init(void)
{
	const char *unknown = borrower_quirks_unknown();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(defaults); i++)
		if (WARN_ON(!parse_entry(defaults[i], &default_entries[i])))
			return -EINVAL;
	if (unknown)
		pr_warn("dl_borrower: the quirks of this kernel are not known, so few devices can be borrowed: %s\n",
			unknown);
	/* The parameter is read before this. */
	if (!allow_given) {
		memcpy(entries, default_entries, sizeof(default_entries));
		n_entries = ARRAY_SIZE(default_entries);
	}
	return 0;
}
