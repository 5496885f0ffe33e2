// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual functions (SR-IOV) of NVMe drives. Such a function has a secondary controller
 * (NVMe 1.4, 8.5), which has no queues and interrupts until the primary controller gives
 * it some and brings it online.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nvme_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lend.h"

/* NVMe 1.4, 5.15 and 5.22. */
enum {
	ADMIN_IDENTIFY = 0x06,
	ADMIN_VIRTUAL = 0x1c,
	CNS_PRIMARY = 0x14,	/* capabilities of the primary controller */
	CNS_SECONDARY = 0x15,	/* list of its secondary controllers */
	ACTION_OFFLINE = 7,
	ACTION_ASSIGN = 8,
	ACTION_ONLINE = 9,
	RESOURCE_QUEUES = 0,
	RESOURCE_INTERRUPTS = 1,
};

/* Fields of the capabilities: flexible resources in all, and the most of one controller. */
enum { QUEUES_ALL = 32, QUEUES_MOST = 44, INTERRUPTS_ALL = 64, INTERRUPTS_MOST = 76 };

/* The list: its number of entries, and two fields of an entry. */
enum { LIST_FIRST = 32, LIST_SIZE = 32, LIST_MAX = 127, ENTRY_ID = 0, ENTRY_NUMBER = 8 };

#define PAGE 4096

/* Return: whether @path is a link; @name is set to the last part of its target. */
static bool link_target(const char *path, char name[LEND_TEXT])
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *slash;

	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, LEND_TEXT, "%.*s", LEND_TEXT - 1, slash ? slash + 1 : target);
	return true;
}

/* Finds the name of the NVMe controller of a function, such as nvme0. */
static bool find_controller(const char *root, const char *function, char name[32])
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/nvme", root, function);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "nvme", 4) == 0)
			found = snprintf(name, LEND_TEXT, "%s", entry->d_name) < 32;
	closedir(dir);
	return found;
}

bool lend_virtual_find(const char *root, const struct dl_ctl_function *function,
		       struct lend_virtual *ret, char why[LEND_TEXT])
{
	char text[LEND_TEXT], path[PATH_MAX], name[LEND_TEXT], driver[LEND_TEXT];
	unsigned int i;

	lend_function_text(function, text);
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, text);
	if (access(path, F_OK) != 0) {
		snprintf(why, LEND_TEXT, "there is no such function");
		return false;
	}
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/physfn", root, text);
	*ret = (struct lend_virtual){};
	if (!link_target(path, ret->physical)) {
		snprintf(why, LEND_TEXT,
			 "it is no virtual function; write a number to sriov_numvfs of its drive to make some");
		return false;
	}
	for (i = 0;; i++) {
		if (snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/virtfn%u",
			     root, ret->physical, i) >= (int)sizeof(path) ||
		    !link_target(path, name))
			break;
		if (strcmp(name, text) == 0)
			ret->number = i + 1;
	}
	if (!ret->number || !find_controller(root, ret->physical, ret->controller)) {
		snprintf(why, LEND_TEXT,
			 "its physical function %.16s has no NVMe controller here; only drives have virtual functions that must be brought online, and the driver nvme must be bound to the physical function",
			 ret->physical);
		return false;
	}
	if (lend_driver(root, function, driver)) {
		snprintf(why, LEND_TEXT, "its driver %.64s uses it; %s first", driver,
			 strcmp(driver, "dl_lender") == 0 ?
				 "make the device unavailable (lendctl unavailable)" :
				 "unbind the driver");
		return false;
	}
	return true;
}

/* NVMe 1.4, figure 127. */
static const char *status_text(int status)
{
	switch (status & 0x7ff) {
	case 0x001:
		return "the drive does not know the command";
	case 0x11f:
		return "the drive does not know the controller";
	case 0x120:
		return "the controller is in a wrong state";
	case 0x121:
		return "the drive has not that many queues or interrupts left for it";
	case 0x122:
		return "the drive does not know the resource";
	default:
		return "the drive refuses";
	}
}

static bool command(int fd, struct nvme_admin_cmd *cmd, const char *name,
		    char why[LEND_TEXT])
{
	int status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, cmd);

	if (status < 0)
		snprintf(why, LEND_TEXT, "%s: %s", name, strerror(errno));
	else if (status > 0)
		snprintf(why, LEND_TEXT, "%s: %s (status %#x)", name, status_text(status),
			 status);
	return status == 0;
}

static bool identify(int fd, unsigned int cns, __u8 page[PAGE], char why[LEND_TEXT])
{
	struct nvme_admin_cmd cmd = {
		.opcode = ADMIN_IDENTIFY,
		.addr = (__u64)(unsigned long)page,
		.data_len = PAGE,
		.cdw10 = cns,
	};

	memset(page, 0, PAGE);
	return command(fd, &cmd, "identify", why);
}

static unsigned int get16(const __u8 *page, unsigned int at)
{
	return page[at] | page[at + 1] << 8;
}

static bool manage(int fd, unsigned int controller, unsigned int action,
		   unsigned int resource, unsigned int number, const char *name,
		   char why[LEND_TEXT])
{
	struct nvme_admin_cmd cmd = {
		.opcode = ADMIN_VIRTUAL,
		.cdw10 = controller << 16 | resource << 8 | action,
		.cdw11 = number,
	};

	return command(fd, &cmd, name, why);
}

/* Return: an equal share of the drive's flexible resources. */
static unsigned int share(const __u8 *caps, unsigned int all, unsigned int most,
			  unsigned int controllers)
{
	unsigned int part = (get16(caps, all) | get16(caps, all + 2) << 16) / controllers;

	return part < get16(caps, most) ? part : get16(caps, most);
}

/* Finds the secondary controller, and sets the numbers in @what that are 0 to its share. */
static bool prepare(int fd, struct lend_virtual *what, unsigned int *ret_controller,
		    char why[LEND_TEXT])
{
	static __u8 list[PAGE], caps[PAGE];
	unsigned int i;

	if (!identify(fd, CNS_SECONDARY, list, why) || !identify(fd, CNS_PRIMARY, caps, why))
		return false;
	for (i = 0; i < list[0] && i < LIST_MAX; i++) {
		const __u8 *entry = list + LIST_FIRST + LIST_SIZE * i;

		if (get16(entry, ENTRY_NUMBER) != what->number)
			continue;
		*ret_controller = get16(entry, ENTRY_ID);
		if (!what->queues)
			what->queues = share(caps, QUEUES_ALL, QUEUES_MOST, list[0]);
		if (!what->interrupts)
			what->interrupts = share(caps, INTERRUPTS_ALL, INTERRUPTS_MOST,
						 list[0]);
		return true;
	}
	snprintf(why, LEND_TEXT, "the drive %s has no controller for its virtual function %u",
		 what->controller, what->number);
	return false;
}

bool lend_virtual_set(const char *root, struct lend_virtual *what, bool online,
		      char why[LEND_TEXT])
{
	char path[PATH_MAX];
	unsigned int id;
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/dev/%s", root, what->controller);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, LEND_TEXT, "%.200s: %s", path, strerror(errno));
		return false;
	}
	ok = prepare(fd, what, &id, why) &&
	     manage(fd, id, ACTION_OFFLINE, 0, 0, "taking it offline", why);
	if (ok && online)
		ok = manage(fd, id, ACTION_ASSIGN, RESOURCE_QUEUES, what->queues,
			    "giving it queues", why) &&
		     manage(fd, id, ACTION_ASSIGN, RESOURCE_INTERRUPTS, what->interrupts,
			    "giving it interrupts", why) &&
		     manage(fd, id, ACTION_ONLINE, 0, 0, "bringing it online", why);
	close(fd);
	return ok;
}
