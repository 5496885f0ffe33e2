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
 *   write OFFSET VALUE   writes 4 bytes there
 *   unmap                unmaps it
 *   command N VALUE      writes the command register
 *   irqs N INDEX COUNT   has the interrupts of an index of VFIO signal
 *                        eventfds; COUNT 0: of none
 *   await V MS           waits for a signal of vector V; prints how many there
 *                        were, or none
 *   mask N, unmask N     masks the line interrupt, and lets it come again
 *   resample N           gives VFIO an eventfd for the latter
 *   served               signals that one
 *   latency OFFSET VALUE ACK-OFFSET COUNT
 *                        writes VALUE, waits for vector 0, writes VALUE to
 *                        ACK-OFFSET, COUNT times; prints the median and the
 *                        least time to the signal, in ns
 *   spin OFFSET VALUE ACK-OFFSET
 *                        the same once, and the process runs until the signal
 *                        is there: the interrupt finds its CPU at work
 *   place N BAR ADDRESS  writes the address of a BAR of 64 bits
 *   memory N 0|1         switches the decoding of memory off or on
 *   quit
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/vfio.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEVICES 8
#define PAGE    4096
#define VECTORS 64
#define TIMES   4096
#define SPINS   20000

static const char *const *uuids;
static int devices;
static int container = -1;
static int groups[DEVICES], files[DEVICES];
static int signals[VECTORS] = {[0 ... VECTORS - 1] = -1};
static int resample = -1;
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

static int command(int n, uint16_t value)
{
    return write_config(n, 4, &value, 2);
}

/* Sends @count descriptors @fds, or no data if @fds is NULL. */
static int set_irqs(int n, unsigned int index, uint32_t action, const int *fds,
                    unsigned int count)
{
    struct vfio_irq_set *set = calloc(1, sizeof(*set) + VECTORS * sizeof(int));
    int ret;

    set->argsz = sizeof(*set) + (fds ? count * sizeof(int) : 0);
    set->flags =
        action | (fds ? VFIO_IRQ_SET_DATA_EVENTFD : VFIO_IRQ_SET_DATA_NONE);
    set->index = index;
    set->count = count;
    if (fds) {
        memcpy(set->data, fds, count * sizeof(int));
    }
    ret = ioctl(files[n], VFIO_DEVICE_SET_IRQS, set);
    free(set);
    return ret < 0 ? failed("VFIO_DEVICE_SET_IRQS") : 0;
}

static int open_irqs(int n, unsigned int index, unsigned int count)
{
    if (count > VECTORS) {
        errno = EINVAL;
        return failed("irqs");
    }
    for (unsigned int i = 0; i < count; i++) {
        if (signals[i] < 0) {
            signals[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        }
    }
    return set_irqs(n, index, VFIO_IRQ_SET_ACTION_TRIGGER,
                    count ? signals : NULL, count);
}

/* Returns the number of signals within @ms; 0 if there is none. */
static uint64_t await(unsigned int vector, int ms)
{
    struct pollfd wait = {.fd = signals[vector], .events = POLLIN};
    uint64_t count = 0;

    if (poll(&wait, 1, ms) == 1 &&
        read(signals[vector], &count, sizeof(count)) != sizeof(count)) {
        count = 0;
    }
    return count;
}

static int give_resample(int n)
{
    resample = eventfd(0, EFD_CLOEXEC);
    return set_irqs(n, VFIO_PCI_INTX_IRQ_INDEX, VFIO_IRQ_SET_ACTION_UNMASK,
                    &resample, 1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void write_page(unsigned int offset, uint32_t value)
{
    *(volatile uint32_t *)(page + offset) = value;
}

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int latency(unsigned int offset, uint32_t value, unsigned int ack,
                   unsigned int count)
{
    static int64_t times[TIMES];

    count = count < TIMES ? count : TIMES;
    for (unsigned int i = 0; i < count; i++) {
        int64_t begin = now_ns();

        write_page(offset, value);
        if (!await(0, 10000)) {
            errno = ETIMEDOUT;
            return failed("latency");
        }
        times[i] = now_ns() - begin;
        write_page(ack, value);
        /* The device has taken it: the line is down. */
        (void)*(volatile uint32_t *)page;
    }
    qsort(times, count, sizeof(times[0]), by_size);
    printf("%lld %lld\n", (long long)times[count / 2], (long long)times[0]);
    return 1;
}

/* The interrupt comes while this loops: long before its end on a CPU that needs
 * 1 ns for an instruction. */
static int spin(unsigned int offset, uint32_t value, unsigned int ack)
{
    write_page(offset, value);
    for (volatile unsigned int i = 0; i < SPINS; i++) {
    }
    if (!await(0, 10000)) {
        errno = ETIMEDOUT;
        return failed("spin");
    }
    write_page(ack, value);
    (void)*(volatile uint32_t *)page;
    return 0;
}

/* Orders about interrupts. Returns as order(), or -2 if @line is none. */
static int irq_order(const char *line)
{
    unsigned int a, b, c, d;
    uint64_t count;
    uint64_t one = 1;

    if (sscanf(line, "irqs %u %u %u", &a, &b, &c) == 3) {
        return open_irqs((int)a, b, c);
    } else if (sscanf(line, "await %u %u", &a, &b) == 2) {
        count = await(a, (int)b);
        printf(count ? "%llu\n" : "none\n", (unsigned long long)count);
        return 1;
    } else if (sscanf(line, "mask %u", &a) == 1) {
        return set_irqs((int)a, VFIO_PCI_INTX_IRQ_INDEX,
                        VFIO_IRQ_SET_ACTION_MASK, NULL, 1);
    } else if (sscanf(line, "unmask %u", &a) == 1) {
        return set_irqs((int)a, VFIO_PCI_INTX_IRQ_INDEX,
                        VFIO_IRQ_SET_ACTION_UNMASK, NULL, 1);
    } else if (sscanf(line, "resample %u", &a) == 1) {
        return give_resample((int)a);
    } else if (!strcmp(line, "served")) {
        return write(resample, &one, sizeof(one)) < 0 ? failed("eventfd") : 0;
    } else if (sscanf(line, "latency %i %i %i %u", (int *)&a, (int *)&b,
                      (int *)&c, &d) == 4) {
        return latency(a, b, c, d);
    } else if (sscanf(line, "spin %i %i %i", (int *)&a, (int *)&b, (int *)&c) ==
               3) {
        return spin(a, b, c);
    }
    return -2;
}

/* Returns -1 if the order has failed, and 1 if it has printed its answer. */
static int order(const char *line)
{
    long long address;
    unsigned int bar;
    int n = irq_order(line);

    if (n != -2) {
        return n;
    }

    if (!strcmp(line, "open")) {
        return open_all();
    } else if (!strcmp(line, "close")) {
        return close_all();
    } else if (sscanf(line, "map %d %u", &n, &bar) == 2) {
        return map(n, bar);
    } else if (sscanf(line, "read %u", &bar) == 1) {
        read_page(bar);
        return 1;
    } else if (sscanf(line, "write %i %lli", (int *)&bar, &address) == 2) {
        write_page(bar, (uint32_t)address);
        return 0;
    } else if (sscanf(line, "command %d %lli", &n, &address) == 2) {
        return command(n, (uint16_t)address);
    } else if (!strcmp(line, "unmap")) {
        return munmap(page, PAGE);
    } else if (sscanf(line, "place %d %u %lli", &n, &bar, &address) == 3) {
        return place(n, bar, address);
    } else if (sscanf(line, "memory %d %u", &n, &bar) == 2) {
        return command(n, bar ? 0x2 : 0);
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
