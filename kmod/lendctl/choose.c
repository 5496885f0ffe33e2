// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices by the words of "farside inventory" and "farside select": name, vendor, fabric,
 * instance, physical or virtual function. None of them is the serial number or the
 * address of one card, so a request stays valid on equal nodes and after a repair.
 *
 * inventory/inv_select.c reads requests by the same rules, those of dl_select.h.
 */
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../uapi/dl_select.h"
#include "lend.h"

/* Names that an error lists. */
#define LISTED_MAX 12

/* Writes the path of a file in a folder. Return: whether there is room for it. */
static bool join(char path[PATH_MAX], const char *dir, const char *file)
{
	return snprintf(path, PATH_MAX, "%s/%s", dir, file) < PATH_MAX;
}

/* Reads a number of @base from a file of a function. Return: whether it is there. */
static bool read_number(const char *dir, const char *file, int base, __u32 *ret)
{
	char path[PATH_MAX], line[64];
	bool ok = false;
	FILE *in;

	in = join(path, dir, file) ? fopen(path, "re") : NULL;
	if (!in)
		return false;
	if (fgets(line, sizeof(line), in)) {
		char *end;
		unsigned long value = strtoul(line, &end, base);

		ok = end != line && (*end == '\n' || *end == '\0');
		if (ok)
			*ret = value;
	}
	fclose(in);
	return ok;
}

/*
 * Reads the InfiniBand subnet of the function's port: the upper half of its first GID.
 * Return: 0 if it is in none, or in one with the prefix that all subnets have at first.
 */
static __u64 read_fabric(const char *dir)
{
	char path[PATH_MAX], port[PATH_MAX], first[256] = "", line[64];
	const struct dirent *entry;
	__u64 prefix = 0;
	FILE *in;
	DIR *folder;

	folder = join(path, dir, "infiniband") ? opendir(path) : NULL;
	if (!folder)
		return 0;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' &&
		    (!first[0] || strcmp(entry->d_name, first) < 0))
			snprintf(first, sizeof(first), "%s", entry->d_name);
	closedir(folder);
	in = join(port, path, first) && join(path, port, "ports/1/gids/0") ?
		     fopen(path, "re") : NULL;
	if (!in)
		return 0;
	if (fgets(line, sizeof(line), in))
		prefix = dl_select_fabric(line);
	fclose(in);
	return prefix;
}

/* Adds @choice with its names. Return: false if there is no memory. */
static bool append(struct lend_choices *choices, struct lend_choice *choice,
		   __u16 vendor, __u16 device, const char *ids)
{
	struct lend_choice *larger =
		reallocarray(choices->list, choices->n + 1, sizeof(*larger));

	if (!larger)
		return false;
	lend_names(vendor, device, ids, choice->vendor, choice->name);
	if (choice->fabric)
		snprintf(choice->fabric_text, sizeof(choice->fabric_text),
			 "%04x:%04x:%04x:%04x", (unsigned int)(choice->fabric >> 48),
			 (unsigned int)(choice->fabric >> 32 & 0xffff),
			 (unsigned int)(choice->fabric >> 16 & 0xffff),
			 (unsigned int)(choice->fabric & 0xffff));
	choices->list = larger;
	choices->list[choices->n++] = *choice;
	return true;
}

/* Adds the virtual functions of @physical, whose folder is @dir. */
static bool append_virtual(struct lend_choices *choices, const char *dir,
			   const struct lend_choice *physical, __u16 vendor,
			   __u16 device, const char *ids)
{
	struct lend_choice choice = *physical;
	unsigned int i;

	for (i = 0;; i++) {
		char path[PATH_MAX], target[PATH_MAX], link[32];
		const char *name;
		ssize_t n;

		snprintf(link, sizeof(link), "virtfn%u", i);
		n = join(path, dir, link) ? readlink(path, target, sizeof(target) - 1) : 0;
		if (n <= 0)
			return true;
		target[n] = '\0';
		name = strrchr(target, '/');
		choice.is_virtual = true;
		choice.virtual_number = i;
		if (lend_parse_function(name ? name + 1 : target, &choice.function) &&
		    !append(choices, &choice, vendor, device, ids))
			return false;
	}
}

static int compare(const void *a, const void *b)
{
	const struct lend_choice *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->physical != y->physical)
		return x->physical < y->physical ? -1 : 1;
	if (x->is_virtual != y->is_virtual)
		return x->is_virtual ? 1 : -1;
	return (int)x->virtual_number - (int)y->virtual_number;
}

static __u64 physical_of(const struct dl_ctl_function *function)
{
	return (__u64)function->segment << 16 | function->bus << 8 | function->devfn;
}

/* Adds the function in @dir, unless an inventory does not list it. */
static bool append_function(struct lend_choices *choices, const char *dir,
			    const char *address, const char *ids)
{
	struct lend_choice choice = {};
	char path[PATH_MAX];
	__u32 class, vendor, device;

	/* Only a virtual function has a link to its physical function. */
	if (!join(path, dir, "physfn") || access(path, F_OK) == 0)
		return true;
	if (!read_number(dir, "class", 16, &class) ||
	    !read_number(dir, "vendor", 16, &vendor) ||
	    !read_number(dir, "device", 16, &device) ||
	    !dl_select_type(class, vendor, NULL) ||
	    !lend_parse_function(address, &choice.function))
		return true;
	/* A borrowed device is another node's. */
	if (choice.function.segment > 0xffff)
		return true;
	choice.class = class;
	choice.physical = physical_of(&choice.function);
	choice.fabric = read_fabric(dir);
	return append(choices, &choice, vendor, device, ids) &&
	       append_virtual(choices, dir, &choice, vendor, device, ids);
}

__u64 lend_fabric(const char *root, const struct dl_ctl_function *function)
{
	char folder[PATH_MAX], dir[PATH_MAX], text[LEND_TEXT];

	if (!join(folder, root, "sys/bus/pci/devices") ||
	    !join(dir, folder, lend_function_text(function, text)))
		return 0;
	return read_fabric(dir);
}

bool lend_choices_read(struct lend_choices *choices, const char *root, const char *ids)
{
	char folder[PATH_MAX], dir[PATH_MAX];
	const struct dirent *entry;
	bool ok = true;
	DIR *all;

	all = join(folder, root, "sys/bus/pci/devices") ? opendir(folder) : NULL;
	while (all && ok && (entry = readdir(all))) {
		if (entry->d_name[0] == '.' || !join(dir, folder, entry->d_name))
			continue;
		ok = append_function(choices, dir, entry->d_name, ids);
	}
	if (all)
		closedir(all);
	if (choices->n)
		qsort(choices->list, choices->n, sizeof(*choices->list), compare);
	return ok;
}

bool lend_choices_take(struct lend_choices *choices, const struct dl_ctl_device *devices,
		       unsigned int n, const char *ids)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct dl_ctl_device *device = &devices[i];
		struct lend_choice choice = {
			.id = device->id,
			.node = device->node,
			.class = device->class,
			.function = device->function,
			.physical = (__u64)device->function.segment << 16 |
				    device->physical,
			.is_virtual = device->flags & DL_CTL_VIRTUAL,
			.virtual_number = device->virtual_number,
			.fabric = device->fabric,
		};

		if (!append(choices, &choice, device->vendor, device->physical_device, ids))
			return false;
	}
	if (choices->n)
		qsort(choices->list, choices->n, sizeof(*choices->list), compare);
	return true;
}

void lend_choices_free(struct lend_choices *choices)
{
	free(choices->list);
	*choices = (struct lend_choices){};
}

/* An attribute of a device, as text; "" if it has none. */
typedef const char *(*attribute)(const struct lend_choice *choice, char *text);

static const char *name_of(const struct lend_choice *choice, char *text)
{
	(void)text;
	return choice->name;
}

static const char *vendor_of(const struct lend_choice *choice, char *text)
{
	(void)text;
	return choice->vendor;
}

static const char *fabric_of(const struct lend_choice *choice, char *text)
{
	(void)text;
	return choice->fabric_text;
}

static const char *node_of(const struct lend_choice *choice, char *text)
{
	sprintf(text, "%u", choice->node);
	return text;
}

/* Return: whether an earlier device that is kept has the same value. */
static bool is_repeated(const struct lend_choices *choices, unsigned int index, attribute of)
{
	char own[16], other[16];
	const char *value = of(&choices->list[index], own);
	unsigned int i;

	for (i = 0; i < index; i++)
		if (!choices->list[i].dropped &&
		    strcmp(of(&choices->list[i], other), value) == 0)
			return true;
	return false;
}

/* Writes "A, B". Return: how many different values the devices have that are kept. */
static unsigned int list_values(const struct lend_choices *choices, attribute of,
				char *text, size_t size)
{
	size_t length = 0;
	unsigned int i, n = 0;
	char own[16];

	text[0] = '\0';
	for (i = 0; i < choices->n; i++) {
		const char *value = of(&choices->list[i], own);

		if (choices->list[i].dropped || !value[0] || is_repeated(choices, i, of))
			continue;
		if (n++ < LISTED_MAX && length < size)
			length += snprintf(text + length, size - length, "%s%s",
					   n > 1 ? ", " : "", value);
	}
	if (n > LISTED_MAX && length < size)
		snprintf(text + length, size - length, " and %u more", n - LISTED_MAX);
	return n;
}

/* Drops the devices whose attribute is not @wish. Return: how many are left. */
static unsigned int keep(struct lend_choices *choices, attribute of, const char *wish)
{
	unsigned int i, left = 0;
	char own[16];

	for (i = 0; i < choices->n; i++) {
		if (strcmp(of(&choices->list[i], own), wish) != 0)
			choices->list[i].dropped = true;
		left += !choices->list[i].dropped;
	}
	return left;
}

static bool some_lack(const struct lend_choices *choices, attribute of)
{
	unsigned int i;
	char own[16];

	for (i = 0; i < choices->n; i++)
		if (!choices->list[i].dropped && !of(&choices->list[i], own)[0])
			return true;
	return false;
}

/*
 * Keeps the devices with the wanted value. Without a wish, all must have the same, or, if
 * @none_is_default, some must have none. Return: false with the reason.
 */
static bool narrow(struct lend_choices *choices, const struct lend_request *request,
		   const char *key, attribute of, const char *wish, bool none_is_default,
		   char *why)
{
	char values[600];
	unsigned int n = list_values(choices, of, values, sizeof(values));
	bool lack = some_lack(choices, of);

	switch (dl_select_rule(wish, n, lack, none_is_default)) {
	case DL_SELECT_WITHOUT:
		return keep(choices, of, "");
	case DL_SELECT_ALL:
		return true;
	case DL_SELECT_UNCLEAR:
		snprintf(why, LEND_WHY,
			 "there are devices \"%s\" of more than one %s; add --%s; there are %s",
			 request->device, key, key, values);
		return false;
	case DL_SELECT_WISHED:
		break;
	}
	if (keep(choices, of, wish))
		return true;
	if (n == 0)
		snprintf(why, LEND_WHY, "no device \"%s\" has a %s; leave --%s out",
			 request->device, key, key);
	else
		snprintf(why, LEND_WHY, "there is no device \"%s\" of %s \"%s\"; there %s %s",
			 request->device, key, wish, n == 1 ? "is only" : "are", values);
	return false;
}

/*
 * Finds the wanted function of physical function number @request->instance.
 * Return: NULL with the reason if there is none.
 */
static const struct lend_choice *at_instance(const struct lend_choices *choices,
					     const struct lend_request *request, char *why)
{
	unsigned int i, instances = 0, virtuals = 0;
	bool have_physical = false;
	__u64 last = 0;

	for (i = 0; i < choices->n; i++) {
		const struct lend_choice *choice = &choices->list[i];

		if (choice->dropped)
			continue;
		if (!instances || choice->physical != last)
			instances++;
		last = choice->physical;
		if (instances != request->instance + 1)
			continue;
		if (choice->is_virtual == request->is_virtual &&
		    choice->virtual_number == request->virtual_number)
			return choice;
		virtuals += choice->is_virtual;
		have_physical |= !choice->is_virtual;
	}
	if (instances <= request->instance)
		snprintf(why, LEND_WHY,
			 "there %s %u device%s \"%s\"; write --instance with a number from 0 to %u",
			 instances == 1 ? "is" : "are", instances, instances == 1 ? "" : "s",
			 request->device, instances - 1);
	else if (!request->is_virtual)
		snprintf(why, LEND_WHY,
			 "the physical function of device \"%s\" has no ID, but %u of its virtual functions; add --virtual-function",
			 request->device, virtuals);
	else if (virtuals)
		snprintf(why, LEND_WHY,
			 "device \"%s\" has no virtual function %u; there %s %u, counted from 0",
			 request->device, request->virtual_number, virtuals == 1 ? "is" : "are",
			 virtuals);
	else
		snprintf(why, LEND_WHY,
			 "device \"%s\" has no virtual functions%s; leave --virtual-function out",
			 request->device, have_physical ? " now" : "");
	return NULL;
}

/* Writes the nodes of all devices. */
static void list_nodes(struct lend_choices *choices, char *text, size_t size)
{
	unsigned int i;

	for (i = 0; i < choices->n; i++)
		choices->list[i].dropped = false;
	list_values(choices, node_of, text, size);
}

const struct lend_choice *lend_choose(struct lend_choices *choices,
				      const struct lend_request *request, char *why)
{
	char values[600];
	unsigned int i, n;

	for (i = 0; i < choices->n; i++)
		choices->list[i].dropped = request->node &&
					   choices->list[i].node != request->node;
	n = list_values(choices, name_of, values, sizeof(values));
	if (!n && request->node && choices->n) {
		list_nodes(choices, values, sizeof(values));
		snprintf(why, LEND_WHY, "node %u has no device with an ID; nodes that have: %s",
			 request->node, values);
		return NULL;
	}
	if (!n) {
		snprintf(why, LEND_WHY, "there is no device to choose from");
		return NULL;
	}
	if (!keep(choices, name_of, request->device)) {
		snprintf(why, LEND_WHY, "there is no device \"%s\"; there %s %s",
			 request->device, n == 1 ? "is only" : "are", values);
		return NULL;
	}
	if (!narrow(choices, request, "vendor", vendor_of, request->vendor, false, why) ||
	    !narrow(choices, request, "fabric", fabric_of, request->fabric, true, why) ||
	    !narrow(choices, request, "node", node_of, NULL, false, why))
		return NULL;
	return at_instance(choices, request, why);
}

/* Return: whether both are of one row of an inventory. */
static bool is_equal(const struct lend_choice *a, const struct lend_choice *b)
{
	return a->is_virtual == b->is_virtual && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->vendor, b->vendor) == 0 && a->fabric == b->fabric;
}

/* Return: how many are as number @index is, or 0 if an earlier one is as well. */
static unsigned int count_of(const struct lend_choices *choices, unsigned int index)
{
	unsigned int i, n = 0;

	for (i = 0; i < choices->n; i++) {
		if (!is_equal(&choices->list[i], &choices->list[index]))
			continue;
		if (i < index)
			return 0;
		n++;
	}
	return n;
}

/* Return: the larger one of @width and the length of @text. */
static int widest(int width, const char *text)
{
	int length = strlen(text);

	return length > width ? length : width;
}

void lend_print_inventory(FILE *out, const struct lend_choices *choices, bool json)
{
	int name = strlen("Device"), vendor = strlen("Vendor");
	unsigned int i, rows = 0;

	for (i = 0; i < choices->n; i++) {
		name = widest(name, choices->list[i].name);
		vendor = widest(vendor, choices->list[i].vendor);
	}
	if (!json)
		fprintf(out, "%-12s %5s  %-*s  %-*s  %s\n", "Type", "Count", name, "Device",
			vendor, "Vendor", "Fabric");
	for (i = 0; i < choices->n; i++) {
		const struct lend_choice *choice = &choices->list[i];
		const char *type = dl_select_type(choice->class, 0, NULL);
		unsigned int count = count_of(choices, i);

		if (choice->is_virtual || !count)
			continue;
		if (!json) {
			fprintf(out, "%-12s %5u  %-*s  %-*s  %s\n", type, count, name,
				choice->name, vendor, choice->vendor,
				choice->fabric ? choice->fabric_text : "-");
			continue;
		}
		fprintf(out, "%s{\"type\": \"%s\", \"name\": ", rows++ ? ", " : "[",
			type);
		lend_json_string(out, choice->name);
		fputs(", \"vendor\": ", out);
		lend_json_string(out, choice->vendor);
		fprintf(out, ", \"count\": %u", count);
		if (choice->fabric)
			fprintf(out, ", \"fabric\": \"%s\"", choice->fabric_text);
		fputc('}', out);
	}
	if (json)
		fputs(rows ? "]\n" : "[]\n", out);
}
