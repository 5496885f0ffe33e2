// SPDX-License-Identifier: GPL-2.0-only
/* lendctl: borrows a device, and waits for its driver. */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lendctl.h"

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

/*
 * Finds the device that the order @request has borrowed. Complains if the loan has ended:
 * the next loan of this node may then have its function, so what is found there belongs
 * to another device. Return: 0, or -1 after a complaint.
 */
static int find_loan(const struct dl_ctl_request *request, struct dl_ctl_device *ret_device)
{
	int found = look_up_device(request->id, ret_device);
	char text[LEND_TEXT];

	if (found < 0)
		return -1;
	if (found && ret_device->flags & DL_CTL_HERE &&
	    memcmp(&ret_device->local, &request->function, sizeof(request->function)) == 0)
		return 0;
	complain(REFUSED, ENODEV,
		 "device %x was borrowed as %s, and was lost or returned before its driver was ready",
		 request->id, lend_function_text(&request->function, text));
	return -1;
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
	if (opt.guest)
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
 * Waits for the driver, at most opt.wait_ms, because there may be none, and not after the
 * function has gone. The kernel's events end a wait early. Events can be lost, so this
 * looks every 200 ms anyway.
 */
static bool wait_bound(const struct dl_ctl_device *device, int events,
		       struct bound *bound)
{
	long long end = now_ms() + opt.wait_ms;
	bool done;

	while (!(done = is_bound(device, bound)) &&
	       lend_exists("", &device->local) && now_ms() < end) {
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

	if (opt.json) {
		fputs("{\"borrowed\": ", stdout);
		lend_json_device(stdout, device, NULL);
		fputs(", \"disks\": ", stdout);
		lend_json_string(stdout, bound->disks);
		fputs(", \"interfaces\": ", stdout);
		lend_json_string(stdout, bound->interfaces);
		fputs("}\n", stdout);
		return;
	}
	if (opt.choice.device)
		printf("ID: %x\n", device->id);
	printf("Name: %s\n", lend_name(device, NULL, text));
	printf("PCI ID: %04x:%04x class %06x\n", device->vendor, device->device, device->class);
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

int run_borrow(const struct verb *verb, struct dl_ctl_request *request)
{
	struct dl_ctl_device device;
	struct bound bound = {};
	char what[LEND_TEXT];
	bool done = false;
	int events, err;

	if (opt.choice.device && choose(false, request) != OK)
		return REFUSED;
	snprintf(what, sizeof(what), "device %x cannot be %s", request->id,
		 verb->done);
	if (opt.guest)
		request->flags |= DL_CTL_GUEST;
	if (opt.forward)
		request->flags |= DL_CTL_FORWARD;
	if (opt.once)
		request->flags |= DL_CTL_ONCE;
	/* Open the socket before the order, so that no event is missed. */
	events = uevents_open();
	err = order(verb->number, request, what);
	if (!err)
		err = find_loan(request, &device);
	if (!err) {
		done = wait_bound(&device, events, &bound);
		err = find_loan(request, &device);
	}
	if (events >= 0)
		close(events);
	if (err)
		return REFUSED;
	snprintf(device.driver, sizeof(device.driver), "%.31s", bound.driver);
	print_borrowed(&device, &bound);
	if (!bound.driver[0])
		fprintf(stderr,
			"lendctl: no driver is bound yet; is the module of one loaded?\n");
	else if (!done)
		fprintf(stderr,
			"lendctl: the driver %s has not made a disk or an interface yet\n",
			bound.driver);
	return done || !opt.wait ? OK : UNBOUND;
}
