/* SPDX-License-Identifier: MIT */
/*
 * Uses mediated devices as QEMU does, without a virtual machine. One process is
 * one machine. Runs in a guest.
 *
 *   vfio_user FIFO UUID...
 *
 * Takes orders from FIFO, one a line, and answers each with a line. N is the
 * number of a device, from 0.
 *
 *   open                 opens the devices
 *   close                closes them
 *   map N BAR            maps the first page of a BAR
 *   read OFFSET          prints the 4 bytes there, or SIGBUS
 *   unmap                unmaps it
 *   place N BAR ADDRESS  writes the address of a BAR of 64 bits
 *   memory N 0|1         switches the decoding of memory off or on
 *   quit
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/vfio.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICES 8
#define PAGE    4096

static const char *const *uuids;
static int devices;
static int container = -1;
static int groups[DEVICES], files[DEVICES];
static uint8_t *page;
static sigjmp_buf bus_error;

static int failed(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    return -1;
}

static int open_group(const char *uuid)
{
    char path[128], link[128];
    ssize_t n;

    snprintf(path, sizeof(path), "/sys/bus/mdev/devices/%s/iommu_group", uuid);
    n = readlink(path, link, sizeof(link) - 1);
    if (n < 0) {
        return -1;
    }
    link[n] = '\0';
    snprintf(path, sizeof(path), "/dev/vfio/%s", basename(link));
    return open(path, O_RDWR | O_CLOEXEC);
}

static int open_all(void)
{
    int i;

    container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
    if (container < 0) {
        return failed("/dev/vfio/vfio");
    }
    for (i = 0; i < devices; i++) {
        groups[i] = open_group(uuids[i]);
        if (groups[i] < 0 ||
            ioctl(groups[i], VFIO_GROUP_SET_CONTAINER, &container) < 0) {
            return failed("the group");
        }
        if (i == 0 && ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) < 0) {
            return failed("VFIO_SET_IOMMU");
        }
        files[i] = ioctl(groups[i], VFIO_GROUP_GET_DEVICE_FD, uuids[i]);
        if (files[i] < 0) {
            return failed("the device");
        }
    }
    return 0;
}

static int close_all(void)
{
    int i;

    for (i = 0; i < devices; i++) {
        close(files[i]);
        close(groups[i]);
    }
    close(container);
    return 0;
}

/* The offset of a region in the file of a device. */
static int64_t region(int n, unsigned int index)
{
    struct vfio_region_info info = {.argsz = sizeof(info), .index = index};

    if (ioctl(files[n], VFIO_DEVICE_GET_REGION_INFO, &info) < 0) {
        return -1;
    }
    return info.offset;
}

static int map(int n, unsigned int bar)
{
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, files[n],
                region(n, bar));
    return page == MAP_FAILED ? failed("mmap") : 0;
}

static void on_bus_error(int number)
{
    siglongjmp(bus_error, number);
}

static void read_page(unsigned int offset)
{
    if (sigsetjmp(bus_error, 1)) {
        puts("SIGBUS");
    } else {
        printf("0x%x\n", *(volatile uint32_t *)(page + offset));
    }
}

static int write_config(int n, unsigned int at, const void *data, size_t size)
{
    int64_t start = region(n, VFIO_PCI_CONFIG_REGION_INDEX);

    if (pwrite(files[n], data, size, start + at) != (ssize_t)size) {
        return failed("the configuration space");
    }
    return 0;
}

static int place(int n, unsigned int bar, uint64_t address)
{
    uint32_t low = address, high = address >> 32;
    unsigned int at = 0x10 + 4 * bar;

    return write_config(n, at, &low, 4) ?: write_config(n, at + 4, &high, 4);
}

static int memory(int n, uint16_t on)
{
    uint16_t command = on ? 0x2 : 0;

    return write_config(n, 4, &command, 2);
}

/* Returns -1 if the order has failed, and 1 if it has printed its answer. */
static int order(const char *line)
{
    long long address;
    unsigned int bar;
    int n;

    if (!strcmp(line, "open")) {
        return open_all();
    } else if (!strcmp(line, "close")) {
        return close_all();
    } else if (sscanf(line, "map %d %u", &n, &bar) == 2) {
        return map(n, bar);
    } else if (sscanf(line, "read %u", &bar) == 1) {
        read_page(bar);
        return 1;
    } else if (!strcmp(line, "unmap")) {
        return munmap(page, PAGE);
    } else if (sscanf(line, "place %d %u %lli", &n, &bar, &address) == 3) {
        return place(n, bar, address);
    } else if (sscanf(line, "memory %d %u", &n, &bar) == 2) {
        return memory(n, bar);
    }
    errno = EINVAL;
    return failed(line);
}

int main(int argc, char **argv)
{
    char line[128];
    FILE *orders;
    int fd;

    if (argc < 3 || argc > 2 + DEVICES) {
        fputs("usage: vfio_user FIFO UUID...\n", stderr);
        return 2;
    }
    uuids = (const char *const *)argv + 2;
    devices = argc - 2;
    signal(SIGBUS, on_bus_error);
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* Also opened for writing, so that the orders do not end with a writer. */
    fd = open(argv[1], O_RDWR);
    orders = fd < 0 ? NULL : fdopen(fd, "r");
    if (!orders) {
        perror(argv[1]);
        return 2;
    }
    while (fgets(line, sizeof(line), orders)) {
        line[strcspn(line, "\n")] = '\0';
        if (!strcmp(line, "quit")) {
            break;
        }
        if (order(line) == 0) {
            puts("done");
        }
    }
    return 0;
}
