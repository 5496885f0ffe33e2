// SPDX-License-Identifier: GPL-2.0-only
/* lendctl: lends devices of this node to others, and borrows theirs. */
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

#define WAIT_DEFAULT_MS 10000

/* Of options, which verbs take which. */
enum { OPT_FORCE = 1, OPT_WAIT = 2 };

static bool arg_json;
static bool arg_force;
static int arg_wait_ms = WAIT_DEFAULT_MS;

struct verb {
	const char *name;
	const char *arguments;
	const char *summary;
	const char *help;
	int least, most;	/* arguments */
	unsigned int options;
	int (*run)(char **args);
};

/* Says what is wrong: in words on stderr, and as an object for programs. */
static int __attribute__((format(printf, 3, 4)))
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
			 "no /dev/" DL_CTL_DEVICE
			 " here; load the module dl_ctl: modprobe dl_ctl");
	else if (errno == EACCES || errno == EPERM)
		complain(REFUSED, errno,
			 "no right to open /dev/" DL_CTL_DEVICE
			 "; run this as root");
	else
		complain(REFUSED, errno, "/dev/" DL_CTL_DEVICE ": %s",
			 strerror(errno));
	return -1;
}

/*
 * Sends an order. What it was for is said before what the kernel says.
 * Return: 0, or -1 with errno and all complaints made.
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
	errno = error;
	return result < 0 ? -1 : 0;
}

/*
 * All devices or all nodes, in memory that the caller frees; NULL after a
 * complaint.
 */
static void *fetch(unsigned long number, size_t entry_size, unsigned int *ret_n)
{
	struct dl_ctl_list list;
	void *entries = NULL;
	__u32 room = 64;
	int fd = ctl_open();

	if (fd < 0)
		return NULL;
	/* There may be more than were counted a moment ago. */
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
			complain(REFUSED, errno, "no list: %s",
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

/* One device by its ID. Return: 0, or -1 after a complaint. */
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
		 "there is no device %x; \"lendctl list\" shows which there are",
		 id);
	return -1;
}

static int bad_argument(const char *what, const char *text, const char *right)
{
	return complain(USAGE, 0, "\"%s\" is no %s; %s", text, what, right);
}

static int bad_id(const char *text)
{
	return bad_argument("ID", text,
			    "it is a hexadecimal number that \"lendctl list\" shows");
}

/* Refuses what is in use, and says by whom. */
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

static int verb_list(char **args)
{
	struct dl_ctl_device *devices;
	struct dl_ctl_node *nodes;
	unsigned int n_devices, n_nodes;

	(void)args;
	devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n_devices);
	if (!devices)
		return REFUSED;
	nodes = fetch(DL_CTL_NODES, sizeof(*nodes), &n_nodes);
	if (!nodes) {
		free(devices);
		return REFUSED;
	}
	(arg_json ? lend_json_list : lend_print_list)(
		stdout, devices, n_devices, nodes, n_nodes, NULL);
	free(nodes);
	free(devices);
	return OK;
}

static int verb_add(char **args)
{
	struct dl_ctl_request request = {};
	char what[LEND_TEXT], text[LEND_TEXT];

	if (!lend_parse_function(args[0], &request.function))
		return bad_argument("device", args[0],
				    "write it as lspci does, 0000:03:00.0");
	snprintf(what, sizeof(what), "%s cannot be added",
		 lend_function_text(&request.function, text));
	if (order(DL_CTL_ADD, &request, what) < 0)
		return REFUSED;
	if (arg_json)
		return print_json(request.id);
	printf("ID: %x\n", request.id);
	return OK;
}

static int by_id(char **args, unsigned long number, const char *what)
{
	struct dl_ctl_request request = {};
	char text[LEND_TEXT];

	if (!lend_parse_id(args[0], &request.id))
		return bad_id(args[0]);
	snprintf(text, sizeof(text), "device %x cannot be %s", request.id,
		 what);
	if (order(number, &request, text) < 0)
		return REFUSED;
	if (!arg_json)
		return OK;
	/* What was removed is in no list, nor what a node that is gone has back. */
	if (number != DL_CTL_REMOVE && number != DL_CTL_RETURN)
		return print_json(request.id);
	printf("{\"id\": \"%x\"}\n", request.id);
	return OK;
}

static int verb_remove(char **args)
{
	return by_id(args, DL_CTL_REMOVE, "removed");
}

static int verb_available(char **args)
{
	struct dl_ctl_device device;
	struct lend_users users = {};
	__u32 id;

	if (!lend_parse_id(args[0], &id))
		return bad_id(args[0]);
	if (find_device(id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_OWN))
		return complain(REFUSED, ENODEV,
				"device %x is plugged into node %u; make it available there",
				id, device.node);
	/* What has been lent belongs to nobody here. */
	if (device.state == DL_CTL_LOCAL)
		lend_users_find(&users, "", &device.function);
	if (users.n > 0) {
		char what[LEND_TEXT];

		snprintf(what, sizeof(what),
			 "device %x cannot be made available", id);
		return refuse_use(&users, what);
	}
	return by_id(args, DL_CTL_MAKE_AVAILABLE, "made available");
}

static int verb_unavailable(char **args)
{
	return by_id(args, DL_CTL_MAKE_UNAVAILABLE, "made unavailable");
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Where the kernel announces devices and drivers. Return: -1 if it cannot be had. */
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

/* What a driver has made of a borrowed device. */
struct bound {
	char driver[LEND_TEXT];
	char disks[LEND_TEXT];
	char interfaces[LEND_TEXT];
};

/* Whether all is there that is to be expected of a device of its class. */
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
 * Waits for the driver, but not for ever: it may not be there. The kernel's
 * announcements wake us; now and then we look without one, as they can be lost.
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

static int verb_borrow(char **args)
{
	struct dl_ctl_request request = {};
	struct dl_ctl_device device;
	struct bound bound = {};
	char what[LEND_TEXT];
	bool done;
	int events;

	if (!lend_parse_id(args[0], &request.id))
		return bad_id(args[0]);
	if (args[1] && !lend_parse_window(args[1], &request.window))
		return bad_argument("window size", args[1],
				    "it is a whole number of MiB");
	snprintf(what, sizeof(what), "device %x cannot be borrowed", request.id);
	/* Before the order, so that nothing is missed. */
	events = uevents_open();
	if (order(DL_CTL_BORROW, &request, what) < 0 ||
	    find_device(request.id, &device) < 0) {
		if (events >= 0)
			close(events);
		return REFUSED;
	}
	/* It may have been lost meanwhile; then this is what it was. */
	device.local = request.function;
	device.window = request.window;
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
			"lendctl: %s has made no disk or interface of it yet\n",
			bound.driver);
	return OK;
}

static int verb_return(char **args)
{
	struct dl_ctl_device device;
	struct lend_users users = {};
	__u32 id;

	if (!lend_parse_id(args[0], &id))
		return bad_id(args[0]);
	if (find_device(id, &device) < 0)
		return REFUSED;
	if (!(device.flags & DL_CTL_HERE))
		return complain(REFUSED, ENOENT,
				"device %x is not borrowed by this node", id);
	if (!arg_force)
		lend_users_find(&users, "", &device.local);
	if (users.n > 0) {
		char what[LEND_TEXT];

		snprintf(what, sizeof(what),
			 "device %x is not returned (--force returns it nevertheless)",
			 id);
		return refuse_use(&users, what);
	}
	return by_id(args, DL_CTL_RETURN, "returned");
}

/* State of a node: of its best adapter, where there are several. */
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

static int session(char **args, unsigned long number, bool up)
{
	struct dl_ctl_request request = {};
	long long end = now_ms() + arg_wait_ms;
	char what[LEND_TEXT];
	bool is;

	if (!lend_parse_node(args[0], &request.node))
		return bad_argument("node", args[0], "it is a number from 1 on");
	snprintf(what, sizeof(what), "node %u cannot be %sconnected",
		 request.node, up ? "" : "dis");
	if (order(number, &request, what) < 0)
		return REFUSED;
	for (;;) {
		if (!node_is(request.node, up, &is))
			return REFUSED;
		if (is)
			break;
		if (now_ms() >= end)
			return complain(REFUSED, ETIMEDOUT,
					"node %u is not %s after %d ms; is it running, its adapter's link up and dl_fabric loaded?",
					request.node,
					up ? "connected" : "disconnected",
					arg_wait_ms);
		poll(NULL, 0, 20);
	}
	if (arg_json)
		printf("{\"node\": %u, \"connected\": %s}\n", request.node,
		       up ? "true" : "false");
	return OK;
}

static int verb_connect(char **args)
{
	return session(args, DL_CTL_CONNECT, true);
}

static int verb_disconnect(char **args)
{
	return session(args, DL_CTL_DISCONNECT, false);
}

static const struct verb verbs[] = {
	{ "list", "", "show devices of this node and of those connected to it",
	  "Shows the devices that have an ID, their node and state, and what is free\n"
	  "in the adapters: what a borrower's device needs windows of.\n",
	  0, 0, 0, verb_list },
	{ "add", "DEVICE", "give a device of this node an ID",
	  "DEVICE is a function as lspci shows it, 0000:03:00.0. Its driver keeps it\n"
	  "until it is made available.\n",
	  1, 1, 0, verb_add },
	{ "remove", "ID", "take the ID from a device of this node",
	  "A device that is available goes back to its driver; a borrowed one stays.\n",
	  1, 1, 0, verb_remove },
	{ "available", "ID", "let other nodes borrow a device of this node",
	  "Takes the device from its driver. Refused while a file system on it is\n"
	  "mounted, an interface of it is up, or a program has it open.\n",
	  1, 1, 0, verb_available },
	{ "unavailable", "ID", "keep a device of this node for itself again",
	  "Gives the device back to its driver. Refused while it is borrowed.\n",
	  1, 1, 0, verb_unavailable },
	{ "borrow", "ID [WINDOW-SIZE]", "put a device of another node into this one",
	  "Waits until a driver of this node has taken it, and prints as what.\n"
	  "WINDOW-SIZE, in MiB, is how much memory of this node the device can reach\n"
	  "at a time; without an IOMMU here it has to be all of it.\n",
	  1, 2, OPT_WAIT, verb_borrow },
	{ "return", "ID", "give a borrowed device back",
	  "Refused while the device is in use, unless by --force: then its users see\n"
	  "a device that was pulled.\n",
	  1, 1, OPT_FORCE, verb_return },
	{ "connect", "NODE", "begin a session with another node",
	  "Nodes connect by themselves when the link comes up; this is for those that\n"
	  "were disconnected.\n",
	  1, 1, OPT_WAIT, verb_connect },
	{ "disconnect", "NODE", "end the session with another node",
	  "Refused while a device is lent from one of the two to the other.\n",
	  1, 1, OPT_WAIT, verb_disconnect },
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void print_options(FILE *out, unsigned int options)
{
	fputs("\nOptions:\n"
	      "  --json             print what was asked for, or what is wrong, as JSON\n",
	      out);
	if (options & OPT_FORCE)
		fputs("  --force            return a device that is in use\n", out);
	if (options & OPT_WAIT)
		fprintf(out,
			"  --wait SECONDS     wait that long at most; %d\n",
			WAIT_DEFAULT_MS / 1000);
	fputs("  --help             say this\n", out);
}

static void print_help(void)
{
	unsigned int i;

	fputs("Usage:\n"
	      "  lendctl VERB [OPTION...] [ARGUMENT...]\n"
	      "\n"
	      "Lends PCI devices of this node to others and borrows theirs.\n"
	      "\n"
	      "Verbs:\n",
	      stdout);
	for (i = 0; i < VERBS; i++)
		printf("  %-11s %-16s  %s\n", verbs[i].name, verbs[i].arguments,
		       verbs[i].summary);
	print_options(stdout, OPT_FORCE | OPT_WAIT);
	fputs("  --version          print the version\n"
	      "\n"
	      "\"lendctl VERB --help\" says more of a verb.\n"
	      "\n"
	      "Exit status: 0 if it was done, 1 if it was refused or failed, 2 for wrong\n"
	      "usage.\n",
	      stdout);
}

static void print_verb_help(const struct verb *verb)
{
	printf("Usage:\n  lendctl %s%s%s%s\n\n%s", verb->name,
	       " [OPTION...]",
	       verb->arguments[0] ? " " : "", verb->arguments, verb->help);
	print_options(stdout, verb->options);
}

static const struct verb *find_verb(const char *name)
{
	unsigned int i;

	for (i = 0; i < VERBS; i++)
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

int main(int argc, char **argv)
{
	enum { HELP = 256, JSON, FORCE, WAIT, VERSION };
	static const struct option options[] = {
		{ "help", no_argument, NULL, HELP },
		{ "json", no_argument, NULL, JSON },
		{ "force", no_argument, NULL, FORCE },
		{ "wait", required_argument, NULL, WAIT },
		{ "version", no_argument, NULL, VERSION },
		{},
	};
	const struct verb *verb;
	unsigned int given = 0;
	bool help = false;
	int option, count, status;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'h':
		case HELP:
			help = true;
			break;
		case JSON:
			arg_json = true;
			break;
		case FORCE:
			arg_force = true;
			given |= OPT_FORCE;
			break;
		case WAIT:
			if (!lend_parse_seconds(optarg, &arg_wait_ms))
				return bad_argument(
					"time", optarg,
					"it is a number of seconds");
			given |= OPT_WAIT;
			break;
		case VERSION:
			puts("lendctl " LENDCTL_VERSION);
			return OK;
		default:
			/* getopt_long() has complained. */
			fputs("Try: lendctl --help\n", stderr);
			return USAGE;
		}
	}
	if (optind == argc) {
		if (!help)
			return usage("a verb is missing%s", "");
		print_help();
		return OK;
	}
	verb = find_verb(argv[optind]);
	if (!verb)
		return usage("there is no verb \"%s\"", argv[optind]);
	if (help) {
		print_verb_help(verb);
		return OK;
	}
	count = argc - optind - 1;
	if (count < verb->least || count > verb->most) {
		complain(USAGE, 0, "%s arguments; usage: lendctl %s %s",
			 count < verb->least ? "too few" : "too many",
			 verb->name, verb->arguments);
		return USAGE;
	}
	if (given & ~verb->options)
		return usage("\"%s\" does not take this option", verb->name);
	status = verb->run(argv + optind + 1);
	if (fflush(stdout) != 0 && status == OK)
		status = complain(REFUSED, errno, "output: %s",
				  strerror(errno));
	return status;
}
