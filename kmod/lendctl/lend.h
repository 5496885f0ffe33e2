/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of lendctl that need no kernel module: numbers, names, output, and facts
 * about a device from the system's files.
 */
#ifndef LEND_H
#define LEND_H

#include <stdbool.h>
#include <stdio.h>

#include "../uapi/dl_ctl.h"

/* Bytes for a name or a sentence, with its NUL. */
#define LEND_TEXT 256

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define __printf(format_at, args_at) \
	__attribute__((format(printf, format_at, args_at)))

/*
 * Parse arguments of the command line. Return: whether all of @text is valid. @ret_* is
 * set only then.
 */
bool lend_parse_id(const char *text, __u32 *ret_id);
bool lend_parse_node(const char *text, __u32 *ret_node);
/* @text: a number of queues or interrupts, 1 to 65535 */
bool lend_parse_share(const char *text, unsigned int *ret_number);
/* @text: a whole number of MiB; @ret_window: set to bytes */
bool lend_parse_window(const char *text, __u64 *ret_window);
/* @text: [SEGMENT:]BUS:DEVICE.FUNCTION, hexadecimal as lspci writes it */
bool lend_parse_function(const char *text, struct dl_ctl_function *ret_function);
/* @text: seconds, possibly with a fraction; @ret_ms: set to milliseconds */
bool lend_parse_seconds(const char *text, int *ret_ms);

/* Writes SEGMENT:BUS:DEVICE.FUNCTION. Return: @text. */
const char *lend_function_text(const struct dl_ctl_function *function,
			       char text[LEND_TEXT]);
/* Writes a size in the largest unit that makes it a whole number. Return: @text. */
const char *lend_size_text(__u64 size, char text[LEND_TEXT]);
/* Writes the state in words. Return: @text. */
const char *lend_state_text(const struct dl_ctl_device *device,
			    char text[LEND_TEXT]);

/*
 * lend_name() - writes class, vendor and device in words
 * @ids: path of a file pci.ids, or NULL for the system's file
 *
 * If the file or an entry is missing, this writes hexadecimal numbers in its place.
 * Return: @text.
 */
const char *lend_name(const struct dl_ctl_device *device, const char *ids,
		      char text[LEND_TEXT]);

/*
 * lend_names() - writes vendor and device as "farside inventory" does: without an entry in
 * the file, as 0x and four digits. @ids as for lend_name().
 */
void lend_names(__u16 vendor, __u16 device, const char *ids, char vendor_name[LEND_TEXT],
		char device_name[LEND_TEXT]);

/* A function that can be added or borrowed. */
struct lend_choice {
	__u32 id, node;		/* 0 for a device that has no ID */
	__u32 class;
	struct dl_ctl_function function;
	__u64 physical;		/* orders the physical functions of a node by address */
	bool is_virtual;
	unsigned int virtual_number;	/* from 0 on */
	__u64 fabric;		/* subnet prefix; 0: not known */
	char fabric_text[20];	/* "" if not known */
	char vendor[LEND_TEXT], name[LEND_TEXT];	/* of the physical function */
	bool dropped;		/* lend_choose() has excluded it */
};

struct lend_choices {
	struct lend_choice *list;	/* by node and slot */
	unsigned int n;
};

/* The words by which a user chooses. NULL and 0: not given. */
struct lend_request {
	const char *device, *vendor, *fabric;
	__u32 node;
	unsigned int instance, virtual_number;
	bool is_virtual;
};

/* Bytes for the reason why nothing is chosen, with its NUL. */
#define LEND_WHY 1024

/* Return: the InfiniBand subnet prefix of a function's port; 0 if it is not known. */
__u64 lend_fabric(const char *root, const struct dl_ctl_function *function);
/*
 * Adds the devices of this node, and their virtual functions, from sysfs. Return: false
 * if there is no memory.
 */
bool lend_choices_read(struct lend_choices *choices, const char *root, const char *ids);
/* Adds devices that have an ID. Return: false if there is no memory. */
bool lend_choices_take(struct lend_choices *choices, const struct dl_ctl_device *devices,
		       unsigned int n, const char *ids);
void lend_choices_free(struct lend_choices *choices);
/*
 * Return: the function that @request means, or NULL with the reason in @why, which has
 * LEND_WHY bytes.
 */
const struct lend_choice *lend_choose(struct lend_choices *choices,
				      const struct lend_request *request, char *why);
/* Prints the physical functions by type, as "farside inventory" does. */
void lend_print_inventory(FILE *out, const struct lend_choices *choices, bool json);

/*
 * Facts about a function from the system's files. @root is put before /sys, /proc and
 * /dev. It is "" except in tests.
 */

/* Return: whether the system has the function. */
bool lend_exists(const char *root, const struct dl_ctl_function *function);

/* Return: whether the kernel can reset the function. */
bool lend_has_reset(const char *root, const struct dl_ctl_function *function);

/* Finds the driver that is bound to a function. Return: whether there is one. */
bool lend_driver(const char *root, const struct dl_ctl_function *function,
		 char driver[LEND_TEXT]);

/*
 * lend_subdevices() - finds the network interfaces or the disks of a function
 * @kind: "net" or "block"
 * @names: set to their names, separated by blanks
 *
 * Return: how many.
 */
unsigned int lend_subdevices(const char *root,
			     const struct dl_ctl_function *function,
			     const char *kind, char names[LEND_TEXT]);

#define LEND_USERS_MAX 16

/* The users of a device: one sentence for each of the first LEND_USERS_MAX. */
struct lend_users {
	unsigned int n;
	char text[LEND_USERS_MAX][LEND_TEXT];
};

/*
 * lend_users_find() - finds the users of a device: file systems, swap, RAID and LVM,
 * interfaces that are up, and processes that have one of its files open
 */
void lend_users_find(struct lend_users *users, const char *root,
		     const struct dl_ctl_function *function);

/* A virtual function (SR-IOV) of an NVMe drive. */
struct lend_virtual {
	char physical[LEND_TEXT];	/* the physical function, as lspci writes it */
	char controller[32];		/* its NVMe controller, such as nvme0 */
	unsigned int number;		/* of the virtual function, from 1 on */
	unsigned int queues, interrupts;	/* it gets this many; 0: an equal share */
};

/*
 * Finds the drive of a virtual function, which must have no driver. Return: whether it is
 * found; if not, @why has the reason.
 */
bool lend_virtual_find(const char *root, const struct dl_ctl_function *function,
		       struct lend_virtual *ret, char why[LEND_TEXT]);
/*
 * Takes a virtual function offline. With @online, gives it queues and interrupts then,
 * whose numbers are set in @what, and brings it online. Return: whether the drive did
 * that; if not, @why has the reason.
 */
bool lend_virtual_set(const char *root, struct lend_virtual *what, bool online,
		      char why[LEND_TEXT]);

/* Output: text for people, and JSON for programs. @ids as for lend_name(). */
void lend_print_list(FILE *out, const struct dl_ctl_device *devices,
		     unsigned int n_devices, const struct dl_ctl_node *nodes,
		     unsigned int n_nodes, const char *ids);
void lend_json_list(FILE *out, const struct dl_ctl_device *devices,
		    unsigned int n_devices, const struct dl_ctl_node *nodes,
		    unsigned int n_nodes, const char *ids);
void lend_print_p2p(FILE *out, const struct dl_ctl_p2p *pairs, unsigned int n);
void lend_json_p2p(FILE *out, const struct dl_ctl_p2p *pairs, unsigned int n);
/* Writes a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD. */
void lend_json_string(FILE *out, const char *text);
/* Writes a JSON object. */
void lend_json_device(FILE *out, const struct dl_ctl_device *device,
		      const char *ids);

#endif
