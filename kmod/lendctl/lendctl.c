// SPDX-License-Identifier: GPL-2.0-only
/* lendctl: lends devices of this node to other nodes, and borrows theirs. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lend.h"

#ifndef LENDCTL_VERSION
#define LENDCTL_VERSION "unknown"
#endif

/* Exit statuses. */
enum { OK = 0, REFUSED = 1, USAGE = 2 };

/* Seconds to wait for a driver or a node. */
#define WAIT_DEFAULT 10
#define STRING(value) #value
#define STRING_OF(macro) STRING(macro)

/* Options that only some verbs take. */
enum {
	OPT_FORCE = 1, OPT_WAIT = 2, OPT_SHARE = 4, OPT_CHOOSE = 8, OPT_NODE = 16,
	OPT_GUEST = 32
};

static bool arg_json;
static bool arg_help;
static bool arg_force;
static bool arg_guest;		/* borrow for a virtual machine */
static unsigned int arg_queues, arg_interrupts;	/* 0: an equal share */
static int arg_wait_ms = WAIT_DEFAULT * 1000;
static struct lend_request arg_request;	/* the words that choose a device */

/* The first argument of a verb. */
enum argument { ARG_NONE, ARG_DEVICE, ARG_ID, ARG_NODE, ARG_PAIR };

struct verb {
	const char *name;
	const char *arguments;		/* names of its arguments */
	const char *summary;
	const char *help;
	enum argument first;		/* kind of the first argument */
	int least, most;		/* number of arguments */
	unsigned int options;		/* OPT_* that it takes */
	unsigned long number;		/* its ioctl() request, or 0 */
	const char *done;		/* as in "device 10000 cannot be returned" */
	/* @request holds the arguments. Return: the exit status. */
	int (*run)(const struct verb *verb, struct dl_ctl_request *request);
};

/*
 * Reports an error, in words on stderr and with --json also as an object on stdout.
 * @error: an errno, or 0. Return: @status.
 */
static __printf(3, 4) int
complain(int status, int error, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "lendctl: %s\n", text);
	if (arg_json) {
		fputs("{\"error\": ", stdout);
		lend_json_string(stdout, text);
		if (error) {
			const char *name = strerrorname_np(error);

			fputs(", \"errno\": ", stdout);
			lend_json_string(stdout, name ? name : "");
		}
		fputs("}\n", stdout);
	}
	return status;
}

static int ctl_open(void)
{
	int fd = open("/dev/" DL_CTL_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		complain(REFUSED, errno,
			 "there is no /dev/" DL_CTL_DEVICE
			 "; load the module dl_ctl: modprobe dl_ctl");
	else if (errno == EACCES || errno == EPERM)
		complain(REFUSED, errno,
			 "you have no right to open /dev/" DL_CTL_DEVICE
			 "; run this as root");
	else
		complain(REFUSED, errno, "/dev/" DL_CTL_DEVICE ": %s",
			 strerror(errno));
	return -1;
}

/*
 * Sends an order to the kernel. After an error, complains with @what and the kernel's
 * reason. Return: 0, or -1 after a complaint.
 */
static int order(unsigned long number, struct dl_ctl_request *request,
		 const char *what)
{
	int fd = ctl_open();
	int result, error;

	if (fd < 0)
		return -1;
	result = ioctl(fd, number, request);
	error = errno;
	close(fd);
	if (result < 0)
		complain(REFUSED, error, "%s: %s", what,
			 request->message[0] ? request->message :
					       strerror(error));
	return result < 0 ? -1 : 0;
}

/*
 * Gets a list from the kernel. Return: all devices or all nodes, in memory that the
 * caller frees; NULL after a complaint.
 */
static void *fetch(unsigned long number, size_t entry_size, unsigned int *ret_n)
{
	struct dl_ctl_list list;
	void *entries = NULL;
	__u32 room = 64;
	int fd = ctl_open();

	if (fd < 0)
		return NULL;
	/* Repeat with more room until all entries fit. */
	for (;; room = list.count + 16) {
		void *larger = reallocarray(entries, room, entry_size);

		if (!larger) {
			complain(REFUSED, ENOMEM, "no memory");
			goto fail;
		}
		entries = larger;
		list = (struct dl_ctl_list){
			.entries = (__u64)(unsigned long)entries,
			.entry_size = entry_size,
			.room = room,
		};
		if (ioctl(fd, number, &list) < 0) {
			complain(REFUSED, errno, "the kernel gives no list: %s",
				 list.message[0] ? list.message :
						   strerror(errno));
			goto fail;
		}
		if (list.count <= room)
			break;
	}
	close(fd);
	*ret_n = list.count;
	return entries;
fail:
	free(entries);
	close(fd);
	return NULL;
}

/* Finds a device by its ID. Return: 0, or -1 after a complaint. */
static int find_device(__u32 id, struct dl_ctl_device *ret_device)
{
	struct dl_ctl_device *devices;
	unsigned int n, i;

	devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n);
	if (!devices)
		return -1;
	for (i = 0; i < n; i++) {
		if (devices[i].id == id) {
			*ret_device = devices[i];
			free(devices);
			return 0;
		}
	}
	free(devices);
	complain(REFUSED, ENOENT,
		 "there is no device %x; \"lendctl list\" shows all devices",
		 id);
	return -1;
}

static int bad_argument(const char *what, const char *text, const char *right)
{
	return complain(USAGE, 0, "\"%s\" is no %s; %s", text, what, right);
}

/* Return: OK with the arguments in @request, or USAGE after a complaint. */
static int parse_arguments(const struct verb *verb, char **args,
			   struct dl_ctl_request *request)
{
	switch (verb->first) {
	case ARG_NONE:
		break;
	case ARG_DEVICE:
		if (arg_request.device)
			break;
		if (!lend_parse_function(args[0], &request->function))
			return bad_argument("device", args[0],
					    "write it as lspci does, 0000:03:00.0");
		break;
	case ARG_ID:
		if (!arg_request.device && !lend_parse_id(*args++, &request->id))
			return bad_argument("ID", args[-1],
					    "write the hexadecimal number that \"lendctl list\" shows");
		if (*args && !lend_parse_window(*args, &request->window))
			return bad_argument("window size", *args,
					    "write a whole number of MiB");
		break;
	case ARG_PAIR:
		if (!lend_parse_id(args[0], &request->id))
			return bad_argument("ID", args[0],
					    "write the hexadecimal number that \"lendctl list\" shows");
		if (!lend_parse_id(args[1], &request->target))
			return bad_argument("ID", args[1],
					    "write the hexadecimal number that \"lendctl list\" shows");
		break;
	case ARG_NODE:
		if (!lend_parse_node(args[0], &request->node))
			return bad_argument("node", args[0],
					    "write a number from 1 on");
		break;
	}
	return OK;
}

/* Refuses an order for a device that is in use, and names the users. */
static int refuse_use(const struct lend_users *users, const char *what)
{
	char text[800] = "";
	unsigned int i;

	for (i = 0; i < users->n; i++) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s",
			 i ? ", " : "", users->text[i]);
	}
	return complain(REFUSED, EBUSY, "%s: it is in use: %s", what, text);
}

/* Prints the device as an object, for programs. */
static int print_json(__u32 id)
{
	struct dl_ctl_device device;

	if (find_device(id, &device) < 0)
		return REFUSED;
	lend_json_device(stdout, &device, NULL);
	putchar('\n');
	return OK;
}

static int run_list(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_device *devices;
	struct dl_ctl_node *nodes;
	unsigned int n_devices, n_nodes;

	(void)verb;
	(void)request;
	devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n_devices);
	if (!devices)
		return REFUSED;
	nodes = fetch(DL_CTL_NODES, sizeof(*nodes), &n_nodes);
	if (!nodes) {
		free(devices);
		return REFUSED;
	}
	if (arg_json)
		lend_json_list(stdout, devices, n_devices, nodes, n_nodes, NULL);
	else
		lend_print_list(stdout, devices, n_devices, nodes, n_nodes, NULL);
	free(nodes);
	free(devices);
	return OK;
}

static int run_inventory(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_choices choices = {};

	(void)verb;
	(void)request;
	if (!lend_choices_read(&choices, "", NULL))
		return complain(REFUSED, ENOMEM, "no memory");
	lend_print_inventory(stdout, &choices, arg_json);
	lend_choices_free(&choices);
	return OK;
}

/*
 * Finds the device that the user's words mean: a function of this node, or with @own
 * false a device of another node. Return: OK with the function or the ID in @request, or
 * REFUSED after a complaint.
 */
static int choose(bool own, struct dl_ctl_request *request)
{
	const struct lend_choice *choice = NULL;
	struct lend_choices choices = {};
	struct dl_ctl_device *devices = NULL;
	char why[LEND_WHY] = "no memory";
	unsigned int n, i, others = 0;
	bool ok, own_too;

	if (own) {
		ok = lend_choices_read(&choices, "", NULL);
	} else {
		devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n);
		if (!devices)
			return REFUSED;
		for (i = 0; i < n; i++)
			others += !(devices[i].flags & DL_CTL_OWN);
		/* Without a device of another node, this node may lend to itself (loopback). */
		for (i = 0, own_too = !others, others = 0; i < n; i++)
			if (own_too || !(devices[i].flags & DL_CTL_OWN))
				devices[others++] = devices[i];
		ok = lend_choices_take(&choices, devices, others, NULL);
	}
	if (ok)
		choice = lend_choose(&choices, &arg_request, why);
	if (choice && own)
		request->function = choice->function;
	else if (choice)
		request->id = choice->id;
	free(devices);
	lend_choices_free(&choices);
	return choice ? OK : complain(REFUSED, ENODEV, "%s", why);
}

static int run_add(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT], text[LEND_TEXT];

	if (arg_request.device && choose(true, request) != OK)
		return REFUSED;
	request->fabric = lend_fabric("", &request->function);
	snprintf(what, sizeof(what), "%s cannot be %s",
		 lend_function_text(&request->function, text), verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (arg_json)
		return print_json(request->id);
	printf("ID: %x\n", request->id);
	if (arg_request.device)
		printf("Function: %s\n", lend_function_text(&request->function, text));
	return OK;
}

/* Gives an order that has only an ID. */
static int run_by_id(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT];

	snprintf(what, sizeof(what), "device %x cannot be %s", request->id,
		 verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (!arg_json)
		return OK;
	/* After "remove" and "return" the device may not be in the list any more. */
	if (verb->number != DL_CTL_REMOVE && verb->number != DL_CTL_RETURN)
		return print_json(request->id);
	printf("{\"id\": \"%x\"}\n", request->id);
	return OK;
}

static int run_available(const struct verb *verb,
			 struct dl_ctl_request *request)
{
	struct lend_users users = {};
	struct dl_ctl_device device;
	char what[LEND_TEXT];

	if (find_device(request->id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_OWN))
		return complain(REFUSED, ENODEV,
				"device %x is plugged into node %u; make it available there",
				request->id, device.node);
	/* A device that is not local has no user on this node. */
	if (device.state == DL_CTL_LOCAL)
		lend_users_find(&users, "", &device.function);
	if (users.n > 0) {
		snprintf(what, sizeof(what), "device %x cannot be %s",
			 request->id, verb->done);
		return refuse_use(&users, what);
	}
	return run_by_id(verb, request);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/*
 * Opens a socket for the kernel's events (uevents) of devices and drivers. Return: its
 * descriptor, or -1.
 */
static int uevents_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK,
			SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Driver, disks and interfaces of a borrowed device. */
struct bound {
	char driver[LEND_TEXT];
	char disks[LEND_TEXT];
	char interfaces[LEND_TEXT];
};

/*
 * Looks for the driver, disks and interfaces of a borrowed device. Return: whether there is
 * a driver, and for an NVMe controller a disk, for an Ethernet controller an interface.
 */
static bool is_bound(const struct dl_ctl_device *device, struct bound *bound)
{
	unsigned int disks, interfaces;

	if (!lend_driver("", &device->local, bound->driver))
		bound->driver[0] = '\0';
	disks = lend_subdevices("", &device->local, "block", bound->disks);
	interfaces = lend_subdevices("", &device->local, "net",
				     bound->interfaces);
	if (!bound->driver[0])
		return false;
	/* The virtual machine has the disk or the interface, not this node. */
	if (arg_guest)
		return true;
	switch (device->class >> 8) {
	case 0x0108:
		return disks > 0;
	case 0x0200:
		return interfaces > 0;
	default:
		return true;
	}
}

/*
 * Waits for the driver, at most arg_wait_ms, because there may be none. The kernel's
 * events end a wait early. Events can be lost, so this looks every 200 ms anyway.
 */
static bool wait_bound(const struct dl_ctl_device *device, int events,
		       struct bound *bound)
{
	long long end = now_ms() + arg_wait_ms;
	bool done;

	while (!(done = is_bound(device, bound)) && now_ms() < end) {
		struct pollfd wait = { .fd = events, .events = POLLIN };
		long long left = end - now_ms();
		char event[8192];

		poll(&wait, events >= 0, left < 200 ? (int)left : 200);
		while (events >= 0 && recv(events, event, sizeof(event), 0) > 0)
			;
	}
	return done;
}

static void print_borrowed(const struct dl_ctl_device *device,
			   const struct bound *bound)
{
	char text[LEND_TEXT];

	if (arg_json) {
		fputs("{\"borrowed\": ", stdout);
		lend_json_device(stdout, device, NULL);
		fputs(", \"disks\": ", stdout);
		lend_json_string(stdout, bound->disks);
		fputs(", \"interfaces\": ", stdout);
		lend_json_string(stdout, bound->interfaces);
		fputs("}\n", stdout);
		return;
	}
	if (arg_request.device)
		printf("ID: %x\n", device->id);
	printf("Name: %s\n", lend_name(device, NULL, text));
	printf("Local users: %u\n", bound->driver[0] ? 1 : 0);
	printf("Local virtual device: %s\n",
	       lend_function_text(&device->local, text));
	printf("Bound to driver: %s\n",
	       bound->driver[0] ? bound->driver : "none");
	printf("DMA window: %s\n", lend_size_text(device->window, text));
	if (bound->disks[0])
		printf("%s: %s\n",
		       device->class >> 8 == 0x0108 ? "NVMe namespace" : "Disk",
		       bound->disks);
	if (bound->interfaces[0])
		printf("Network interface: %s\n", bound->interfaces);
}

static int run_borrow(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_device device;
	struct bound bound = {};
	char what[LEND_TEXT];
	bool done;
	int events;

	if (arg_request.device && choose(false, request) != OK)
		return REFUSED;
	snprintf(what, sizeof(what), "device %x cannot be %s", request->id,
		 verb->done);
	if (arg_guest)
		request->flags |= DL_CTL_GUEST;
	/* Open the socket before the order, so that no event is missed. */
	events = uevents_open();
	if (order(verb->number, request, what) < 0 ||
	    find_device(request->id, &device) < 0) {
		if (events >= 0)
			close(events);
		return REFUSED;
	}
	/* If the device is lost already, the list lacks these; the order's answer has them. */
	device.local = request->function;
	device.window = request->window;
	done = wait_bound(&device, events, &bound);
	if (events >= 0)
		close(events);
	snprintf(device.driver, sizeof(device.driver), "%.31s", bound.driver);
	print_borrowed(&device, &bound);
	if (!bound.driver[0])
		fprintf(stderr,
			"lendctl: no driver is bound yet; is the module of one loaded?\n");
	else if (!done)
		fprintf(stderr,
			"lendctl: the driver %s has not made a disk or an interface yet\n",
			bound.driver);
	return OK;
}

static int run_return(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_users users = {};
	struct dl_ctl_device device;
	char what[LEND_TEXT];

	if (find_device(request->id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_HERE))
		return complain(REFUSED, ENOENT,
				"device %x is not borrowed by this node",
				request->id);
	if (!arg_force)
		lend_users_find(&users, "", &device.local);
	if (users.n > 0) {
		snprintf(what, sizeof(what),
			 "device %x is not returned (--force returns it nevertheless)",
			 request->id);
		return refuse_use(&users, what);
	}
	return run_by_id(verb, request);
}

/*
 * Sets @ret_is to whether the node is in the wanted state, @up or not. A node is up if one
 * of its adapters is up. Return: true, or false after a complaint.
 */
static bool node_is(__u32 node, bool up, bool *ret_is)
{
	struct dl_ctl_node *nodes;
	unsigned int n, i;
	bool any = false;

	nodes = fetch(DL_CTL_NODES, sizeof(*nodes), &n);
	if (!nodes)
		return false;
	for (i = 0; i < n; i++)
		if (nodes[i].node == node && nodes[i].state == DL_CTL_NODE_UP)
			any = true;
	free(nodes);
	*ret_is = any == up;
	return true;
}

/* Connects or disconnects a node, and waits until that is done. */
static int run_session(const struct verb *verb, struct dl_ctl_request *request)
{
	bool up = verb->number == DL_CTL_CONNECT;
	long long end = now_ms() + arg_wait_ms;
	char what[LEND_TEXT];
	bool is;

	snprintf(what, sizeof(what), "node %u cannot be %s", request->node,
		 verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	for (;;) {
		if (!node_is(request->node, up, &is))
			return REFUSED;
		if (is)
			break;
		if (now_ms() >= end)
			return complain(REFUSED, ETIMEDOUT,
					"node %u is not %s after %d ms; is it running, its adapter's link up and dl_fabric loaded?",
					request->node, verb->done, arg_wait_ms);
		poll(NULL, 0, 20);
	}
	if (arg_json)
		printf("{\"node\": %u, \"connected\": %s}\n", request->node,
		       up ? "true" : "false");
	return OK;
}

/* Enables or disables peer-to-peer. */
static int run_p2p(const struct verb *verb, struct dl_ctl_request *request)
{
	char what[LEND_TEXT];

	snprintf(what, sizeof(what), "peer-to-peer from device %x to device %x cannot be %s",
		 request->id, request->target, verb->done);
	if (order(verb->number, request, what) < 0)
		return REFUSED;
	if (arg_json)
		printf("{\"source\": \"%x\", \"target\": \"%x\", \"enabled\": %s}\n",
		       request->id, request->target,
		       verb->number == DL_CTL_ENABLE_P2P ? "true" : "false");
	return OK;
}

static int run_list_p2p(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_p2p *pairs;
	unsigned int n;

	(void)verb;
	(void)request;
	pairs = fetch(DL_CTL_P2P, sizeof(*pairs), &n);
	if (!pairs)
		return REFUSED;
	if (arg_json)
		lend_json_p2p(stdout, pairs, n);
	else
		lend_print_p2p(stdout, pairs, n);
	free(pairs);
	return OK;
}

/* Needs no module: the order goes to the drive. */
static int run_online(const struct verb *verb, struct dl_ctl_request *request)
{
	struct lend_virtual what;
	bool online = strcmp(verb->name, "online") == 0;
	char why[LEND_TEXT], text[LEND_TEXT];

	lend_function_text(&request->function, text);
	if (!lend_virtual_find("", &request->function, &what, why))
		return complain(REFUSED, 0, "%s cannot be %s: %s", text, verb->done, why);
	what.queues = arg_queues;
	what.interrupts = arg_interrupts;
	if (!lend_virtual_set("", &what, online, why))
		return complain(REFUSED, 0, "%s cannot be %s: %s", text, verb->done, why);
	if (arg_json) {
		printf("{\"function\": \"%s\", \"online\": %s", text,
		       online ? "true" : "false");
		if (online)
			printf(", \"queues\": %u, \"interrupts\": %u", what.queues,
			       what.interrupts);
		puts("}");
	} else if (online) {
		printf("Queues: %u\nInterrupts: %u\n", what.queues, what.interrupts);
	}
	return OK;
}

static const struct verb verbs[] = {
	{ "list", "", "show the devices and nodes that this node knows",
	  "Shows the devices that have an ID, with their node and state. Then the nodes,\n"
	  "and which windows their adapters have free: a device that they lend to this\n"
	  "node needs windows onto the memory and interrupts here.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_list },
	{ "inventory", "", "show the devices of this node by type",
	  "Shows how many devices of each type, name, vendor and fabric this node has. With\n"
	  "these words --device, --vendor and --fabric choose a device.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_inventory },
	{ "add", "DEVICE", "give a device of this node an ID",
	  "DEVICE is a function as lspci shows it, 0000:03:00.0. Instead, --device and the\n"
	  "options below it choose one by the words of \"lendctl inventory\". Its driver keeps\n"
	  "it until it is made available.\n",
	  ARG_DEVICE, 1, 1, OPT_CHOOSE, DL_CTL_ADD, "added", run_add },
	{ "remove", "ID", "take the ID from a device of this node",
	  "A device that is available goes back to its driver. Refused while the device\n"
	  "is borrowed.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_REMOVE, "removed", run_by_id },
	{ "available", "ID", "let other nodes borrow a device of this node",
	  "Takes the device from its driver. Refused while a file system on it is\n"
	  "mounted, an interface of it is up, or a program has it open.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_MAKE_AVAILABLE, "made available",
	  run_available },
	{ "unavailable", "ID", "keep a device of this node for itself again",
	  "Gives the device back to its driver. Refused while it is borrowed.\n",
	  ARG_ID, 1, 1, 0, DL_CTL_MAKE_UNAVAILABLE, "made unavailable",
	  run_by_id },
	{ "borrow", "ID [WINDOW-SIZE]", "put a device of another node into this one",
	  "Waits until a driver of this node has taken the device, and prints what it is\n"
	  "here. WINDOW-SIZE, in MiB, is how much memory of this node the device can\n"
	  "reach at a time; without an IOMMU here it must be all memory.\n"
	  "Instead of the ID, --device and the options below it choose one of the devices that\n"
	  "other nodes have given an ID.\n"
	  "--guest borrows the device for a virtual machine of this node, by the driver\n"
	  "dl_mdev. WINDOW-SIZE is then the end of the memory that the machine can have.\n",
	  ARG_ID, 1, 2, OPT_WAIT | OPT_CHOOSE | OPT_NODE | OPT_GUEST, DL_CTL_BORROW, "borrowed",
	  run_borrow },
	{ "return", "ID", "give a borrowed device back",
	  "Refused while the device is in use. --force returns it nevertheless; its users\n"
	  "see a device that was unplugged.\n",
	  ARG_ID, 1, 1, OPT_FORCE, DL_CTL_RETURN, "returned", run_return },
	{ "enable-p2p", "A B", "let device A read and write the memory of device B",
	  "A is the ID of the device that reads and writes, B that of the other one, whose\n"
	  "BARs it reaches. This node has borrowed one of them or both; one that it has not\n"
	  "borrowed is its own, and has an ID by \"lendctl add\". For the other direction,\n"
	  "enable B A as well. If A and B belong to different nodes, these must be connected\n"
	  "with each other: the data do not pass through this node. Returning either device\n"
	  "disables it.\n",
	  ARG_PAIR, 2, 2, 0, DL_CTL_ENABLE_P2P, "enabled", run_p2p },
	{ "disable-p2p", "A B", "undo enable-p2p",
	  "Refused while the driver of A uses the memory of B.\n",
	  ARG_PAIR, 2, 2, 0, DL_CTL_DISABLE_P2P, "disabled", run_p2p },
	{ "list-p2p", "", "show which devices reach which others",
	  "Shows the pairs that were enabled on this node, the way of their data, and how\n"
	  "many mappings of B the driver of A has.\n",
	  ARG_NONE, 0, 0, 0, 0, "", run_list_p2p },
	{ "online", "DEVICE", "bring a virtual function of an NVMe drive online",
	  "DEVICE is a virtual function (SR-IOV) of a drive of this node, 0000:03:00.1. It\n"
	  "has no queues until it is brought online, and cannot be lent before. The drive\n"
	  "shares out its queues and interrupts; one queue is for administration.\n",
	  ARG_DEVICE, 1, 1, OPT_SHARE, 0, "brought online", run_online },
	{ "offline", "DEVICE", "take a virtual function of an NVMe drive offline",
	  "Its queues and interrupts are free for other virtual functions then.\n",
	  ARG_DEVICE, 1, 1, 0, 0, "taken offline", run_online },
	{ "connect", "NODE", "begin a session with another node",
	  "Nodes connect by themselves when the link comes up. This verb is for nodes\n"
	  "that were disconnected.\n",
	  ARG_NODE, 1, 1, OPT_WAIT, DL_CTL_CONNECT, "connected", run_session },
	{ "disconnect", "NODE", "end the session with another node",
	  "Refused while one of the two has borrowed a device of the other.\n",
	  ARG_NODE, 1, 1, OPT_WAIT, DL_CTL_DISCONNECT, "disconnected",
	  run_session },
};

static bool set_json(const char *value)
{
	(void)value;
	arg_json = true;
	return true;
}

static bool set_force(const char *value)
{
	(void)value;
	arg_force = true;
	return true;
}

static bool set_guest(const char *value)
{
	(void)value;
	arg_guest = true;
	return true;
}

static bool set_wait(const char *value)
{
	if (lend_parse_seconds(value, &arg_wait_ms))
		return true;
	bad_argument("time", value, "write a number of seconds");
	return false;
}

static bool set_share(const char *value, const char *what, unsigned int *ret)
{
	if (lend_parse_share(value, ret))
		return true;
	bad_argument(what, value, "write a number from 1 to 65535");
	return false;
}

static bool set_queues(const char *value)
{
	return set_share(value, "number of queues", &arg_queues);
}

static bool set_interrupts(const char *value)
{
	return set_share(value, "number of interrupts", &arg_interrupts);
}

static bool set_device(const char *value)
{
	arg_request.device = value;
	return true;
}

static bool set_vendor(const char *value)
{
	arg_request.vendor = value;
	return true;
}

static bool set_fabric(const char *value)
{
	arg_request.fabric = value;
	return true;
}

/* Reads a number from 0 to 65535. */
static bool set_count(const char *value, const char *what, unsigned int *ret)
{
	if (strcmp(value, "0") == 0) {
		*ret = 0;
		return true;
	}
	if (lend_parse_share(value, ret))
		return true;
	bad_argument(what, value, "write a number from 0 to 65535");
	return false;
}

static bool set_instance(const char *value)
{
	return set_count(value, "instance", &arg_request.instance);
}

static bool set_virtual(const char *value)
{
	arg_request.is_virtual = true;
	return set_count(value, "virtual function", &arg_request.virtual_number);
}

static bool set_node(const char *value)
{
	if (lend_parse_node(value, &arg_request.node))
		return true;
	bad_argument("node", value, "write a number from 1 on");
	return false;
}

static bool set_help(const char *value)
{
	(void)value;
	arg_help = true;
	return true;
}

/* All options except --version, which ends the program at once. */
static const struct flag {
	const char *name;
	const char *value;	/* name of the option's value, or NULL if it has none */
	const char *help;
	unsigned int needs;	/* OPT_* of verbs that take the option; 0: all take it */
	bool (*set)(const char *value);	/* Return: false after a complaint. */
} flags[] = {
	{ "json", NULL, "print the result, or the error, as JSON", 0, set_json },
	{ "force", NULL, "return a device that is in use", OPT_FORCE, set_force },
	{ "guest", NULL, "borrow the device for a virtual machine", OPT_GUEST, set_guest },
	{ "wait", "SECONDS",
	  "wait no longer than this; " STRING_OF(WAIT_DEFAULT) " by default",
	  OPT_WAIT, set_wait },
	{ "queues", "N", "give the function this many; an equal share by default",
	  OPT_SHARE, set_queues },
	{ "interrupts", "N", "the same for interrupts", OPT_SHARE, set_interrupts },
	{ "device", "NAME", "choose a device by its name in the inventory", OPT_CHOOSE,
	  set_device },
	{ "vendor", "NAME", "if two vendors have a device of that name", OPT_CHOOSE, set_vendor },
	{ "fabric", "NAME", "the network of its port; by default none, or the only one",
	  OPT_CHOOSE, set_fabric },
	{ "instance", "N", "number among those in the order of slots; 0 by default", OPT_CHOOSE,
	  set_instance },
	{ "virtual-function", "N", "this virtual function of it, from 0 on", OPT_CHOOSE,
	  set_virtual },
	{ "node", "NODE", "the node that the device is plugged into", OPT_NODE, set_node },
	{ "help", NULL, "print this help", 0, set_help },
};

static void print_flag(const char *name, const char *value, const char *help)
{
	char text[LEND_TEXT];

	snprintf(text, sizeof(text), "--%s%s%s", name, value ? " " : "",
		 value ? value : "");
	printf("  %-20s  %s\n", text, help);
}

/* @options: OPT_* that the verb takes */
static void print_flags(unsigned int options)
{
	unsigned int i;

	fputs("\nOptions:\n", stdout);
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (!(flags[i].needs & ~options))
			print_flag(flags[i].name, flags[i].value, flags[i].help);
}

static void print_help(void)
{
	unsigned int i;

	fputs("Usage:\n"
	      "  lendctl VERB [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "Lends PCI devices of this node to other nodes, and borrows theirs.\n"
	      "\n"
	      "Verbs:\n",
	      stdout);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		printf("  %-11s %-16s  %s\n", verbs[i].name, verbs[i].arguments,
		       verbs[i].summary);
	print_flags(OPT_FORCE | OPT_WAIT | OPT_SHARE | OPT_CHOOSE | OPT_NODE | OPT_GUEST);
	print_flag("version", NULL, "print the version");
	fputs("\n"
	      "\"lendctl VERB --help\" explains a verb.\n"
	      "\n"
	      "Exit status: 0 if the order was carried out, 1 if it was refused or failed, 2 if\n"
	      "the command line is wrong.\n",
	      stdout);
}

static void print_verb_help(const struct verb *verb)
{
	printf("Usage:\n  lendctl %s [OPTION...]%s%s\n\n%s", verb->name,
	       verb->arguments[0] ? " " : "", verb->arguments, verb->help);
	print_flags(verb->options);
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int usage(const char *format, const char *text)
{
	complain(USAGE, 0, format, text);
	fputs("Try: lendctl --help\n", stderr);
	return USAGE;
}

/*
 * Reads the options.
 * Return: OPT_* of those given, -1 after a complaint, or -2 to end at once.
 */
static int parse_options(int argc, char **argv)
{
	enum { FIRST = 256, VERSION = FIRST + ARRAY_SIZE(flags) };
	struct option options[ARRAY_SIZE(flags) + 2] = {};
	const struct flag *flag;
	unsigned int i;
	int option, given = 0;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		options[i].name = flags[i].name;
		options[i].has_arg = flags[i].value ? required_argument :
						      no_argument;
		options[i].val = FIRST + i;
	}
	options[i].name = "version";
	options[i].val = VERSION;
	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			arg_help = true;
			continue;
		}
		if (option == VERSION) {
			puts("lendctl " LENDCTL_VERSION);
			return -2;
		}
		if (option < FIRST) {
			/* getopt_long() has complained. */
			fputs("Try: lendctl --help\n", stderr);
			return -1;
		}
		flag = &flags[option - FIRST];
		if (!flag->set(optarg))
			return -1;
		given |= flag->needs;
	}
	return given;
}

int main(int argc, char **argv)
{
	struct dl_ctl_request request = {};
	const struct verb *verb;
	int count, given, status, replaced;

	given = parse_options(argc, argv);
	if (given < 0)
		return given == -1 ? USAGE : OK;
	if (optind == argc) {
		if (!arg_help)
			return usage("a verb is missing%s", "");
		print_help();
		return OK;
	}
	verb = find_verb(argv[optind]);
	if (!verb)
		return usage("there is no verb \"%s\"", argv[optind]);
	if (arg_help) {
		print_verb_help(verb);
		return OK;
	}
	count = argc - optind - 1;
	/* A device that is chosen by words takes the place of the first argument. */
	replaced = given & OPT_CHOOSE & verb->options ? 1 : 0;
	if (count < verb->least - replaced || count > verb->most - replaced)
		return complain(USAGE, 0, "too %s arguments; usage: lendctl %s %s",
				count < verb->least - replaced ? "few" : "many",
				verb->name, verb->arguments);
	if (given & ~verb->options)
		return usage("\"%s\" does not take this option", verb->name);
	if (given & (OPT_CHOOSE | OPT_NODE) && !arg_request.device)
		return usage("to choose a device, give its name: lendctl %s --device NAME",
			     verb->name);
	status = parse_arguments(verb, argv + optind + 1, &request);
	if (status == OK)
		status = verb->run(verb, &request);
	if (fflush(stdout) != 0 && status == OK)
		status = complain(REFUSED, errno, "output: %s",
				  strerror(errno));
	return status;
}
