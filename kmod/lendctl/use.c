// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the users of a PCI function in the system's files: its block devices, its
 * network interfaces, the processes that have one of its files open, and the functions that
 * its memory is bound to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lend.h"

#define NODES_MAX 256

/* A file in /dev that belongs to the device. */
struct node {
	dev_t number;
	bool block;
	char name[64];	/* below /dev */
	char *dir;	/* in sysfs */
};

struct search {
	const char *root;
	struct lend_users *users;
	unsigned int n;
	struct node nodes[NODES_MAX];
};

static __printf(2, 3) void
add_user(struct lend_users *users, const char *format, ...)
{
	va_list args;

	if (users->n == LEND_USERS_MAX)
		return;
	va_start(args, format);
	vsnprintf(users->text[users->n++], LEND_TEXT, format, args);
	va_end(args);
}

/* Reads the first line of a file in a directory. Return: whether the file has a line. */
static bool read_line(const char *dir, const char *name, char line[LEND_TEXT])
{
	char path[PATH_MAX];
	bool ok = false;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, LEND_TEXT, file)) {
		line[strcspn(line, "\n")] = '\0';
		ok = true;
	}
	fclose(file);
	return ok;
}

/* Reads the value of a key in a device's file uevent. Return: whether it was found. */
static bool uevent_value(const char *dir, const char *key, char *value, size_t size)
{
	char path[PATH_MAX], line[LEND_TEXT];
	size_t length = strlen(key);
	bool ok = false;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/uevent", dir) >= (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!ok && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, length) == 0 && line[length] == '=') {
			line[strcspn(line, "\n")] = '\0';
			ok = snprintf(value, size, "%s", line + length + 1) <
			     (int)size;
		}
	}
	fclose(file);
	return ok;
}

/* Reads the last part of the path that a link leads to. Return: whether there is one. */
static bool link_name(const char *dir, const char *name, char text[LEND_TEXT])
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return false;
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(text, LEND_TEXT, "%.*s", LEND_TEXT - 1,
		 slash ? slash + 1 : target);
	return true;
}

static bool function_dir(const char *root,
			 const struct dl_ctl_function *function,
			 char dir[PATH_MAX])
{
	char text[LEND_TEXT], path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root,
		 lend_function_text(function, text));
	return realpath(path, dir);
}

bool lend_exists(const char *root, const struct dl_ctl_function *function)
{
	char dir[PATH_MAX];

	return function_dir(root, function, dir);
}

bool lend_driver(const char *root, const struct dl_ctl_function *function,
		 char driver[LEND_TEXT])
{
	char dir[PATH_MAX];

	return function_dir(root, function, dir) &&
	       link_name(dir, "driver", driver);
}

bool lend_has_reset(const char *root, const struct dl_ctl_function *function)
{
	char dir[PATH_MAX], methods[LEND_TEXT];

	return function_dir(root, function, dir) &&
	       read_line(dir, "reset_method", methods) && methods[0];
}

static bool is_dir(const char *dir, const struct dirent *entry)
{
	char path[PATH_MAX];
	struct stat status;

	if (entry->d_name[0] == '.')
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) <
		       (int)sizeof(path) &&
	       lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/*
 * Calls @visit for @dir and for each directory below it. Links are not followed, so all
 * directories below a device in sysfs belong to that device. @depth bounds the recursion.
 */
static void walk(const char *dir, unsigned int depth,
		 void (*visit)(void *data, const char *dir), void *data)
{
	struct dirent *entry;
	DIR *stream;

	visit(data, dir);
	stream = depth ? opendir(dir) : NULL;
	if (!stream)
		return;
	while ((entry = readdir(stream))) {
		char path[PATH_MAX];

		if (is_dir(dir, entry) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) <
			    (int)sizeof(path))
			walk(path, depth - 1, visit, data);
	}
	closedir(stream);
}

#define DEPTH 12

/*
 * Walks the NVMe subsystems of a controller. If several controllers lead to a drive, the
 * drive's namespaces are not below a controller. They are below the subsystem, which has
 * links to its controllers.
 */
static void walk_subsystems(const char *root, const char *controller,
			    void (*visit)(void *data, const char *dir),
			    void *data)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	struct stat status;
	DIR *stream;

	snprintf(dir, sizeof(dir), "%s/sys/class/nvme-subsystem", root);
	stream = opendir(dir);
	if (!stream)
		return;
	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s/%s", dir,
			     entry->d_name, controller) >= (int)sizeof(path) ||
		    lstat(path, &status) != 0)
			continue;
		*strrchr(path, '/') = '\0';
		walk(path, DEPTH, visit, data);
	}
	closedir(stream);
}

static void add_node(void *data, const char *dir)
{
	char number[LEND_TEXT], subsystem[LEND_TEXT] = "";
	struct search *search = data;
	unsigned int major, minor;
	struct node *node;

	if (search->n == NODES_MAX || !read_line(dir, "dev", number) ||
	    sscanf(number, "%u:%u", &major, &minor) != 2)
		return;
	node = &search->nodes[search->n];
	if (!uevent_value(dir, "DEVNAME", node->name, sizeof(node->name)))
		return;
	link_name(dir, "subsystem", subsystem);
	node->number = makedev(major, minor);
	node->block = strcmp(subsystem, "block") == 0;
	node->dir = strdup(dir);
	if (!node->dir)
		return;
	search->n++;
	if (strcmp(subsystem, "nvme") == 0)
		walk_subsystems(search->root, strrchr(dir, '/') + 1, add_node,
				search);
}

static bool ends_in(const char *path, const char *name)
{
	size_t a = strlen(path), b = strlen(name);

	return a > b && path[a - b - 1] == '/' && strcmp(path + a - b, name) == 0;
}

/* Replaces octal escapes, as in /proc/mounts, by their characters. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		unsigned int code;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1 &&
		    strspn(text + 1, "01234567") >= 3) {
			*to++ = code;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* Opens a file of /proc. */
static FILE *open_proc(const struct search *search, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/proc/%s", search->root, name) >=
	    (int)sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/* Fields of mountinfo: 3 is the device, 5 the mount point; type and source follow " - ". */
static void find_mounts(const struct search *search, const struct node *node)
{
	char line[2 * PATH_MAX], number[32];
	FILE *file = open_proc(search, "self/mountinfo");

	if (!file)
		return;
	snprintf(number, sizeof(number), "%u:%u", major(node->number),
		 minor(node->number));
	while (fgets(line, sizeof(line), file)) {
		char device[32], where[PATH_MAX], source[PATH_MAX] = "";
		const char *rest = strstr(line, " - ");

		if (sscanf(line, "%*s %*s %31s %*s %4095s", device, where) != 2)
			continue;
		if (rest)
			sscanf(rest, " - %*s %4095s", source);
		/* Some file systems have a device number of their own; compare the source. */
		if (strcmp(device, number) != 0 && !ends_in(source, node->name))
			continue;
		unescape(where);
		add_user(search->users, "%s is mounted on %.160s", node->name,
			 where);
	}
	fclose(file);
}

static void find_swap(const struct search *search, const struct node *node)
{
	char line[PATH_MAX + 64], path[PATH_MAX];
	FILE *file = open_proc(search, "swaps");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%4095s", path) != 1)
			continue;
		unescape(path);
		if (ends_in(path, node->name))
			add_user(search->users, "%s is swap space", node->name);
	}
	fclose(file);
}

/* Finds block devices on top of this one: RAID, LVM and the like. */
static void find_holders(const struct search *search, const struct node *node)
{
	char path[PATH_MAX], name[LEND_TEXT];
	struct dirent *entry;
	DIR *stream;

	snprintf(path, sizeof(path), "%.*s/holders", PATH_MAX - 16, node->dir);
	stream = opendir(path);
	if (!stream)
		return;
	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.*s/holders/%.64s/dm",
			 PATH_MAX - 128, node->dir, entry->d_name);
		if (read_line(path, "name", name))
			add_user(search->users, "%s is part of %.64s (%.64s)",
				 node->name, entry->d_name, name);
		else
			add_user(search->users, "%s is part of %.64s",
				 node->name, entry->d_name);
	}
	closedir(stream);
}

/*
 * Finds uses that only the kernel knows, such as a mount in another mount namespace, by
 * opening the disk exclusively. That fails while the disk or a partition is in use.
 * The disk is closed at once, although another program may then mount it. Some drivers
 * free DMA memory only when the disks of the device are closed, and they must do that
 * before the device is detached.
 */
static void find_exclusive(const struct search *search, const struct node *node)
{
	char path[PATH_MAX], line[LEND_TEXT];
	struct stat status;
	int fd;

	if (read_line(node->dir, "partition", line))
		return;
	snprintf(path, sizeof(path), "%.*s/dev/%s", PATH_MAX - 128,
		 search->root, node->name);
	if (stat(path, &status) < 0 || !S_ISBLK(status.st_mode) ||
	    status.st_rdev != node->number)
		return;
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	else if (errno == EBUSY)
		add_user(search->users, "%s is in exclusive use", node->name);
}

static const struct node *node_of(const struct search *search,
				  const struct stat *status)
{
	unsigned int i;

	for (i = 0; i < search->n; i++) {
		const struct node *node = &search->nodes[i];

		if (status->st_rdev == node->number &&
		    (node->block ? S_ISBLK(status->st_mode) :
				   S_ISCHR(status->st_mode)))
			return node;
	}
	return NULL;
}

static void find_open(const struct search *search, const char *pid)
{
	char path[PATH_MAX], dir[PATH_MAX], name[LEND_TEXT] = "?";
	struct dirent *entry;
	DIR *stream;

	snprintf(dir, sizeof(dir), "%.*s/proc/%.20s", PATH_MAX - 64,
		 search->root, pid);
	snprintf(path, sizeof(path), "%.*s/fd", PATH_MAX - 16, dir);
	stream = opendir(path);
	if (!stream)
		return;
	while ((entry = readdir(stream))) {
		const struct node *node;
		struct stat status;

		snprintf(path, sizeof(path), "%.*s/fd/%.20s", PATH_MAX - 64,
			 dir, entry->d_name);
		if (stat(path, &status) < 0)
			continue;
		node = node_of(search, &status);
		if (!node)
			continue;
		read_line(dir, "comm", name);
		add_user(search->users, "%s is open in %.64s (process %.20s)",
			 node->name, name, pid);
		break;
	}
	closedir(stream);
}

static void find_processes(const struct search *search)
{
	char path[PATH_MAX], self[32];
	struct dirent *entry;
	DIR *stream;

	snprintf(path, sizeof(path), "%.*s/proc", PATH_MAX - 16, search->root);
	snprintf(self, sizeof(self), "%d", (int)getpid());
	stream = opendir(path);
	if (!stream)
		return;
	while ((entry = readdir(stream)))
		if (strspn(entry->d_name, "0123456789") ==
			    strlen(entry->d_name) &&
		    strcmp(entry->d_name, self) != 0)
			find_open(search, entry->d_name);
	closedir(stream);
}

/* An interface is a directory "net/NAME". */
static void find_interface(void *data, const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;
	struct search *search = data;
	char flags[LEND_TEXT];

	if (name - dir < 5 || strncmp(name - 5, "/net/", 5) != 0)
		return;
	if (read_line(dir, "flags", flags) && strtoul(flags, NULL, 16) & 1)
		add_user(search->users, "network interface %.64s is up", name);
}

/* A driver that has bound the memory of the function to another one for good. */
static void find_importers(struct search *search, const char *function)
{
	char line[LEND_TEXT];

	if (read_line(function, "importers", line) && line[0])
		add_user(search->users, "its memory is bound to %.160s", line);
}

/* A virtual machine holds a function through the file of its IOMMU group. */
static void add_vfio(void *data, const char *dir)
{
	struct search *search = data;
	struct node *node = &search->nodes[search->n];
	char group[LEND_TEXT], path[PATH_MAX];
	struct stat status;

	if (search->n == NODES_MAX || !link_name(dir, "iommu_group", group))
		return;
	snprintf(path, sizeof(path), "%.*s/dev/vfio/%.20s", PATH_MAX - 64,
		 search->root, group);
	if (stat(path, &status) < 0 || !S_ISCHR(status.st_mode))
		return;
	node->number = status.st_rdev;
	node->block = false;
	snprintf(node->name, sizeof(node->name), "vfio/%.20s", group);
	node->dir = strdup(dir);
	if (node->dir)
		search->n++;
}

/* A mediated device of dl_mdev is no child of the function. It has a group of its own. */
static void add_mediated(struct search *search, const char *function)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/sys/class/dl_mdev/%s", search->root,
		     strrchr(function, '/') + 1) < (int)sizeof(path))
		walk(path, 1, add_vfio, search);
}

void lend_users_find(struct lend_users *users, const char *root,
		     const struct dl_ctl_function *function)
{
	struct search *search;
	char dir[PATH_MAX];
	unsigned int i;

	*users = (struct lend_users){};
	if (!function_dir(root, function, dir))
		return;
	search = calloc(1, sizeof(*search));
	if (!search) {
		add_user(users, "no memory to find its users");
		return;
	}
	search->root = root;
	search->users = users;
	walk(dir, DEPTH, add_node, search);
	add_vfio(search, dir);
	add_mediated(search, dir);
	walk(dir, DEPTH, find_interface, search);
	find_importers(search, dir);
	for (i = 0; i < search->n; i++) {
		if (!search->nodes[i].block)
			continue;
		find_mounts(search, &search->nodes[i]);
		find_swap(search, &search->nodes[i]);
		find_holders(search, &search->nodes[i]);
	}
	if (search->n > 0)
		find_processes(search);
	/* Ask the kernel only if no user was found so far. */
	for (i = 0; i < search->n && users->n == 0; i++)
		if (search->nodes[i].block)
			find_exclusive(search, &search->nodes[i]);
	for (i = 0; i < search->n; i++)
		free(search->nodes[i].dir);
	free(search);
}

struct names {
	const char *kind;
	unsigned int n;
	char *text;
};

/* Adds the name of a directory if it is of the wanted kind and no partition. */
static void add_name(void *data, const char *dir)
{
	const char *name = strrchr(dir, '/') + 1;
	struct names *names = data;
	size_t length = strlen(names->text);
	char line[LEND_TEXT], subsystem[LEND_TEXT];

	if (!link_name(dir, "subsystem", subsystem) ||
	    strcmp(subsystem, names->kind) != 0 ||
	    read_line(dir, "partition", line) ||
	    length + strlen(name) + 2 > LEND_TEXT)
		return;
	/* If several paths lead to a disk, a single path has no file in /dev. Skip it. */
	if (strcmp(names->kind, "block") == 0 && !read_line(dir, "dev", line))
		return;
	sprintf(names->text + length, "%s%s", length ? " " : "", name);
	names->n++;
}

struct controllers {
	const char *root;
	struct names *names;
};

static void add_controller(void *data, const char *dir)
{
	struct controllers *controllers = data;
	char subsystem[LEND_TEXT];

	if (link_name(dir, "subsystem", subsystem) &&
	    strcmp(subsystem, "nvme") == 0)
		walk_subsystems(controllers->root, strrchr(dir, '/') + 1,
				add_name, controllers->names);
}

unsigned int lend_subdevices(const char *root,
			     const struct dl_ctl_function *function,
			     const char *kind, char names[LEND_TEXT])
{
	struct names found = { .kind = kind, .text = names };
	struct controllers controllers = { root, &found };
	char dir[PATH_MAX];

	names[0] = '\0';
	if (!function_dir(root, function, dir))
		return 0;
	walk(dir, DEPTH, add_name, &found);
	if (strcmp(kind, "block") == 0)
		walk(dir, DEPTH, add_controller, &controllers);
	return found.n;
}
