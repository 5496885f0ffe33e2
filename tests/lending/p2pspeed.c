/* SPDX-License-Identifier: MIT */
/*
 * Measures copies, and prints MB/s. Runs in a guest.
 *
 *   p2pspeed gpu DEVICE OTHER BYTES COUNT   the accelerator DEVICE, such as
 *                /dev/fgpu0, copies COUNT times into the memory of OTHER
 *   p2pspeed bar FILE BYTES COUNT   the CPU copies into a BAR; FILE is its
 *                resource file in sysfs
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../kmod/uapi/fgpu.h"

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        fail(path);
    }
    return fd;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print_speed(double seconds, unsigned long bytes,
                        unsigned long count)
{
    printf("%.0f\n", (double)bytes * (double)count / seconds / 1e6);
}

static void measure_gpu(const char *device, const char *other,
                        unsigned long bytes, unsigned long count)
{
    int fd = open_file(device), other_fd = open_file(other);
    struct fgpu_export export = {.size = bytes};
    struct fgpu_import import;
    struct fgpu_run run = {
        .operation = FGPU_COPY,
        .length = bytes,
        .source = {.kind = FGPU_MEMORY},
        .destination = {.kind = FGPU_IMPORT},
    };
    double start;

    if (ioctl(other_fd, FGPU_IOC_EXPORT, &export) < 0) {
        fail("export");
    }
    import = (struct fgpu_import){.fd = export.fd};
    if (ioctl(fd, FGPU_IOC_IMPORT, &import) < 0) {
        fail("import");
    }
    run.destination.handle = import.handle;
    /* The first copy maps the memory. */
    if (ioctl(fd, FGPU_IOC_RUN, &run) < 0) {
        fail("copy");
    }
    start = now();
    for (unsigned long i = 0; i < count; i++) {
        if (ioctl(fd, FGPU_IOC_RUN, &run) < 0) {
            fail("copy");
        }
    }
    print_speed(now() - start, bytes, count);
}

static void measure_bar(const char *path, unsigned long bytes,
                        unsigned long count)
{
    int fd = open_file(path);
    void *bar = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *memory = malloc(bytes);
    double start;

    if (bar == MAP_FAILED || !memory) {
        fail(path);
    }
    memset(memory, 0x42, bytes);
    memcpy(bar, memory, bytes);
    start = now();
    for (unsigned long i = 0; i < count; i++) {
        memcpy(bar, memory, bytes);
    }
    print_speed(now() - start, bytes, count);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "gpu") == 0) {
        measure_gpu(argv[2], argv[3], strtoul(argv[4], NULL, 0),
                    strtoul(argv[5], NULL, 0));
    } else if (argc == 5 && strcmp(argv[1], "bar") == 0) {
        measure_bar(argv[2], strtoul(argv[3], NULL, 0),
                    strtoul(argv[4], NULL, 0));
    } else {
        fprintf(stderr, "usage: p2pspeed gpu DEVICE OTHER BYTES COUNT\n"
                        "       p2pspeed bar FILE BYTES COUNT\n");
        return 2;
    }
    return 0;
}
