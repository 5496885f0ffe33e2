/* SPDX-License-Identifier: MIT */
/*
 * Maps the accelerator's memory and buffer again and again while the driver
 * loses the device. Runs in a guest.
 *
 *   remap DEVICE FUNCTION ROUNDS
 *
 * Invariant: when the device has gone, each access to a mapping is a bus error,
 * whenever the mapping was made. All processes use one CPU: then the one that
 * removes the device is waiting when mmap() lets it go, and runs before mmap()
 * is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../kmod/uapi/fgpu.h"

#define PAGE 4096

/* A process maps either of these: the memory, or the machine's buffer. */
static const struct {
    uint64_t offset;
    size_t size;
} kinds[] = {
    {FGPU_MMAP_MEMORY, 16 << 20},
    {FGPU_MMAP_HOST, 1 << 20},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static sigjmp_buf bus_error;

static void fail(const char *what)
{
    fprintf(stderr, "remap: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void on_bus_error(int number)
{
    siglongjmp(bus_error, number);
}

static bool can_read(const uint8_t *at)
{
    if (sigsetjmp(bus_error, 1)) {
        return false;
    }
    (void)*(volatile const uint8_t *)at;
    return true;
}

/*
 * Says that it has begun, and maps until the device is gone. Then waits until
 * the other end of @gone is closed. Returns the exit status: 0 if nothing can
 * be read any more.
 */
static int mapper(const char *device, unsigned int kind, int begun, int gone)
{
    size_t size = kinds[kind].size, i, left = 0;
    uint8_t *last = NULL;
    char byte = 0;
    int fd = open(device, O_RDWR);

    if (fd < 0 || write(begun, &byte, 1) != 1) {
        return 2;
    }
    for (;;) {
        uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                            kinds[kind].offset);

        if (map == MAP_FAILED) {
            break;
        }
        if (last) {
            munmap(last, size);
        }
        last = map;
        can_read(map);
    }
    while (read(gone, &byte, 1) > 0) {
    }
    for (i = 0; last && i < size; i += PAGE) {
        left += can_read(last + i);
    }
    if (left) {
        fprintf(stderr, "remap: %zu pages of %s can still be read\n", left,
                kind ? "the buffer" : "the memory");
    }
    return left ? 1 : 0;
}

static void write_name(const char *file, const char *name)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "/sys/bus/pci/drivers/fgpu/%s", file);
    fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, name, strlen(name)) < 0) {
        fail(path);
    }
    close(fd);
}

/* Returns the worst status of the processes. */
static int play(const char *device, const char *function, unsigned int seed)
{
    int begun[2], gone[2], status, worst = 0;
    unsigned int i;
    char byte;

    if (pipe(begun) < 0 || pipe(gone) < 0) {
        fail("pipe");
    }
    for (i = 0; i < KINDS; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            close(gone[1]);
            _exit(mapper(device, i, begun[1], gone[0]));
        } else if (pid < 0) {
            fail("fork");
        }
    }
    close(begun[1]);
    close(gone[0]);
    for (i = 0; i < KINDS && read(begun[0], &byte, 1) == 1; i++) {
    }
    close(begun[0]);
    usleep(20000 + seed % 7 * 5000);
    write_name("unbind", function);
    close(gone[1]);
    for (i = 0; i < KINDS; i++) {
        if (wait(&status) < 0) {
            fail("wait");
        }
        status = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
        worst = status > worst ? status : worst;
    }
    write_name("bind", function);
    return worst;
}

int main(int argc, char **argv)
{
    unsigned int i, rounds = argc == 4 ? atoi(argv[3]) : 0;
    cpu_set_t first;
    int worst = 0;

    if (!rounds) {
        fputs("usage: remap DEVICE FUNCTION ROUNDS\n", stderr);
        return 2;
    }
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (sched_setaffinity(0, sizeof(first), &first) < 0) {
        fail("sched_setaffinity");
    }
    signal(SIGBUS, on_bus_error);
    for (i = 0; i < rounds && !worst; i++) {
        worst = play(argv[1], argv[2], i);
    }
    printf("%u rounds\n", i);
    return worst;
}
