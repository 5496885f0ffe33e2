// SPDX-License-Identifier: GPL-2.0-only
/* lendctl: talks to the module dl_ctl, and reports errors. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lendctl.h"

/* Here, below all that look at it, so that no files need each other. */
struct options opt = { .wait_ms = WAIT_DEFAULT * 1000 };

int complain(int status, int error, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "lendctl: %s\n", text);
	if (opt.json) {
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

int order(unsigned long number, struct dl_ctl_request *request, const char *what)
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

void *fetch(unsigned long number, size_t entry_size, unsigned int *ret_n)
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

int look_up_device(__u32 id, struct dl_ctl_device *ret_device)
{
	struct dl_ctl_device *devices;
	unsigned int n, i;

	devices = fetch(DL_CTL_DEVICES, sizeof(*devices), &n);
	if (!devices)
		return -1;
	for (i = 0; i < n && devices[i].id != id; i++)
		;
	if (i < n)
		*ret_device = devices[i];
	free(devices);
	return i < n;
}

int find_device(__u32 id, struct dl_ctl_device *ret_device)
{
	int found = look_up_device(id, ret_device);

	if (!found)
		complain(REFUSED, ENOENT,
			 "there is no device %x; \"lendctl list\" shows all devices",
			 id);
	return found > 0 ? 0 : -1;
}
