// SPDX-License-Identifier: GPL-2.0-only
/*
 * fgpu: a tool for the emulated accelerator, /dev/fgpuN.
 *
 * Exit status: 0 done, 1 refused or failed, 2 wrong use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../uapi/fgpu.h"

static const char usage[] =
	"usage: fgpu info DEVICE\n"
	"       fgpu fill DEVICE OFFSET LENGTH VALUE\n"
	"       fgpu copy DEVICE OFFSET LENGTH TO\n"
	"       fgpu sum DEVICE OFFSET LENGTH\n"
	"       fgpu fence DEVICE VALUE\n"
	"       fgpu load DEVICE OFFSET          from standard input, by DMA\n"
	"       fgpu save DEVICE OFFSET LENGTH   to standard output, by DMA\n"
	"       fgpu peek DEVICE OFFSET          8 bytes, by the CPU\n"
	"       fgpu poke DEVICE OFFSET VALUE    8 bytes, by the CPU\n"
	"       fgpu push DEVICE OFFSET LENGTH OTHER TO\n"
	"       fgpu pull DEVICE OFFSET LENGTH OTHER FROM\n"
	"                 DEVICE copies to or from the memory of OTHER\n"
	"       fgpu raw DEVICE OPERATION LENGTH DESTINATION\n"
	"                 a command as it is, right or wrong\n"
	"       fgpu hold DEVICE OTHER           pushes 4096 bytes each time that a\n"
	"                 line comes from standard input, and says how it went\n"
	"\n"
	"DEVICE and OTHER are files such as /dev/fgpu0. Numbers may be hexadecimal.\n";

/* The reasons of docs/reference/gpu.md */
static const char *const reasons[] = {
	[1] = "the operation does not exist",
	[2] = "a field that must be 0 is not",
	[3] = "wrong length",
	[4] = "not a multiple of 8",
	[5] = "beyond the end of the memory",
	[6] = "DMA failed",
	[7] = "the ring cannot be read",
	[8] = "TAIL is wrong",
};

static void wrong_use(void)
{
	fputs(usage, stderr);
	exit(2);
}

static __u64 parse(const char *text)
{
	char *end;
	__u64 value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end) {
		fprintf(stderr, "fgpu: '%s' is no number\n", text);
		exit(2);
	}
	return value;
}

static int open_device(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "fgpu: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return fd;
}

static void order(int fd, unsigned long request, void *args, const char *what)
{
	if (ioctl(fd, request, args) < 0) {
		fprintf(stderr, "fgpu: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static struct fgpu_info info_of(int fd)
{
	struct fgpu_info info;

	order(fd, FGPU_IOC_INFO, &info, "info");
	return info;
}

/* Runs a command. Says why if it fails, and returns false. */
static bool run(int fd, struct fgpu_run *args)
{
	const char *reason = "a reason that this tool does not know";

	if (ioctl(fd, FGPU_IOC_RUN, args) == 0)
		return true;
	if (errno == EHOSTUNREACH) {
		fputs("fgpu: the device has no way to this memory; try \"lendctl enable-p2p\"\n",
		      stderr);
		return false;
	}
	if (errno != EIO) {
		fprintf(stderr, "fgpu: the command failed: %s\n", strerror(errno));
		return false;
	}
	if (args->error < sizeof(reasons) / sizeof(*reasons) && reasons[args->error])
		reason = reasons[args->error];
	fprintf(stderr, "fgpu: the device refused the command: error %u, %s\n",
		args->error, reason);
	return false;
}

static void run_or_exit(int fd, struct fgpu_run *args)
{
	if (!run(fd, args))
		exit(1);
}

static struct fgpu_place in_memory(__u64 offset)
{
	return (struct fgpu_place){.kind = FGPU_MEMORY, .offset = offset};
}

/* The memory of OTHER as a place for commands of @fd */
static struct fgpu_place import(int fd, const char *other, __u64 offset)
{
	int other_fd = open_device(other);
	struct fgpu_export export = {.size = info_of(other_fd).memory};
	struct fgpu_import args;

	order(other_fd, FGPU_IOC_EXPORT, &export, "export");
	close(other_fd);
	args = (struct fgpu_import){.fd = export.fd};
	order(fd, FGPU_IOC_IMPORT, &args, "import");
	close(export.fd);
	return (struct fgpu_place){
		.kind = FGPU_IMPORT,
		.handle = args.handle,
		.offset = offset,
	};
}

static void *map(int fd, __u64 at, __u64 size)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (bytes == MAP_FAILED) {
		fprintf(stderr, "fgpu: mmap: %s\n", strerror(errno));
		exit(1);
	}
	return bytes;
}

/* Verbs. The arguments are those behind DEVICE. */

static void do_info(int fd, char **args)
{
	struct fgpu_info info = info_of(fd);

	printf("function %s\nmemory %llu\nqueues %u\nhost buffer %llu\n", info.name,
	       (unsigned long long)info.memory, info.queues,
	       (unsigned long long)info.host);
}

static void do_fill(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_FILL,
		.destination = in_memory(parse(args[0])),
		.length = parse(args[1]),
		.value = parse(args[2]),
	};

	run_or_exit(fd, &r);
}

static void do_copy(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.source = in_memory(parse(args[0])),
		.length = parse(args[1]),
		.destination = in_memory(parse(args[2])),
	};

	run_or_exit(fd, &r);
}

static void do_sum(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_SUM,
		.source = in_memory(parse(args[0])),
		.length = parse(args[1]),
	};

	run_or_exit(fd, &r);
	printf("0x%llx\n", (unsigned long long)r.result);
}

static void do_fence(int fd, char **args)
{
	struct fgpu_run r = {.operation = FGPU_FENCE, .value = parse(args[0])};

	run_or_exit(fd, &r);
	printf("0x%llx\n", (unsigned long long)r.result);
}

/* Reads until @size bytes are there or the input ends. */
static size_t read_all(char *bytes, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = read(STDIN_FILENO, bytes + done, size - done);
		if (n < 0) {
			perror("fgpu: standard input");
			exit(1);
		}
		if (n == 0)
			break;
		done += n;
	}
	return done;
}

static void write_all(const char *bytes, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = write(STDOUT_FILENO, bytes + done, size - done);
		if (n < 0) {
			perror("fgpu: standard output");
			exit(1);
		}
		done += n;
	}
}

static void do_load(int fd, char **args)
{
	size_t size = info_of(fd).host, n;
	char *host = map(fd, FGPU_MMAP_HOST, size);
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.source = {.kind = FGPU_HOST},
		.destination = in_memory(parse(args[0])),
	};

	while ((n = read_all(host, size)) > 0) {
		r.length = n;
		run_or_exit(fd, &r);
		r.destination.offset += n;
	}
}

static void do_save(int fd, char **args)
{
	size_t size = info_of(fd).host;
	const char *host = map(fd, FGPU_MMAP_HOST, size);
	__u64 left = parse(args[1]);
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.source = in_memory(parse(args[0])),
		.destination = {.kind = FGPU_HOST},
	};

	while (left > 0) {
		r.length = left < size ? left : size;
		run_or_exit(fd, &r);
		write_all(host, r.length);
		r.source.offset += r.length;
		left -= r.length;
	}
}

/* The CPU's view of 8 bytes of the memory */
static __u64 *word(int fd, const char *text)
{
	__u64 offset = parse(text), page = sysconf(_SC_PAGESIZE);

	if (offset % 8) {
		fprintf(stderr, "fgpu: %s is not a multiple of 8\n", text);
		exit(2);
	}
	return (__u64 *)((char *)map(fd, offset & ~(page - 1), page) +
			 (offset & (page - 1)));
}

static void do_peek(int fd, char **args)
{
	__u64 value = __atomic_load_n(word(fd, args[0]), __ATOMIC_RELAXED);

	printf("0x%llx\n", (unsigned long long)value);
}

static void do_poke(int fd, char **args)
{
	__atomic_store_n(word(fd, args[0]), parse(args[1]), __ATOMIC_RELAXED);
}

static void do_push(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.source = in_memory(parse(args[0])),
		.length = parse(args[1]),
		.destination = import(fd, args[2], parse(args[3])),
	};

	run_or_exit(fd, &r);
}

static void do_pull(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.destination = in_memory(parse(args[0])),
		.length = parse(args[1]),
		.source = import(fd, args[2], parse(args[3])),
	};

	run_or_exit(fd, &r);
}

static void do_raw(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = parse(args[0]),
		.length = parse(args[1]),
		.source = in_memory(0),
		.destination = in_memory(parse(args[2])),
	};

	run_or_exit(fd, &r);
}

static void do_hold(int fd, char **args)
{
	struct fgpu_run r = {
		.operation = FGPU_COPY,
		.source = in_memory(0),
		.length = 4096,
		.destination = import(fd, args[0], 0),
	};
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	do {
		if (ioctl(fd, FGPU_IOC_RUN, &r) == 0)
			puts("pushed");
		else
			printf("%s\n", strerror(errno));
	} while (fgets(line, sizeof(line), stdin));
}

static const struct {
	const char *name;
	int count; /* arguments behind DEVICE */
	void (*function)(int fd, char **args);
} verbs[] = {
	{"info", 0, do_info},
	{"fill", 3, do_fill},
	{"copy", 3, do_copy},
	{"sum", 2, do_sum},
	{"fence", 1, do_fence},
	{"load", 1, do_load},
	{"save", 2, do_save},
	{"peek", 1, do_peek},
	{"poke", 2, do_poke},
	{"push", 4, do_push},
	{"pull", 4, do_pull},
	{"raw", 3, do_raw},
	{"hold", 1, do_hold},
};

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc < 3)
		wrong_use();
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		if (argc - 3 != verbs[i].count)
			wrong_use();
		verbs[i].function(open_device(argv[2]), argv + 3);
		if (fflush(stdout)) {
			perror("fgpu: standard output");
			return 1;
		}
		return 0;
	}
	wrong_use();
	return 2;
}
