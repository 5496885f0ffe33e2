/* SPDX-License-Identifier: MIT */
/*
 * Sends random requests to /dev/dl_ctl, and checks the errors of malformed
 * ones.
 *
 *   fuzz_ctl SEED SECONDS     as root; returns and removes all devices at the
 * end fuzz_ctl --unprivileged   checks that every request needs CAP_SYS_ADMIN
 *
 * Invariant: a request that breaks a rule of uapi/dl_ctl.h gets the error of
 * that rule, and nothing is done. Any other request that fails gives the
 * reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../kmod/uapi/dl_ctl.h"

/* The first size of struct dl_ctl_request; it has grown since. */
#define REQUEST_MIN  312
#define REQUESTS_END 17
#define BIG          8192

static uint64_t state;

/* xorshift64*: the same on every machine. */
static uint32_t random32(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 2685821657736338717ull) >> 32;
}

static uint32_t below(uint32_t limit)
{
    return random32() % limit;
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

/* Two pages. The page after them is not mapped. */
static uint8_t *page;
static size_t page_size;

static const char *order_name(unsigned nr)
{
    static const char *const names[] = {
        "?",        "add",        "remove",      "available",  "unavailable",
        "borrow",   "return",     "connect",     "disconnect", "devices",
        "nodes",    "enable-p2p", "disable-p2p", "p2p",        "allow",
        "disallow", "allowed"};

    return nr < REQUESTS_END ? names[nr] : "?";
}

static bool is_list(unsigned nr)
{
    return nr == _IOC_NR(DL_CTL_DEVICES) || nr == _IOC_NR(DL_CTL_NODES) ||
           nr == _IOC_NR(DL_CTL_P2P) || nr == _IOC_NR(DL_CTL_ALLOWED);
}

static bool has_pattern(unsigned nr)
{
    return nr == _IOC_NR(DL_CTL_ALLOW) || nr == _IOC_NR(DL_CTL_DISALLOW);
}

/* Writes text that is a pattern, or looks like one; it may lack its NUL. */
static void fill_pattern(char pattern[DL_CTL_PATTERN])
{
    static const char letters[] = "0123456789abcdefx*::::+quirks";
    unsigned i, length = below(DL_CTL_PATTERN + 1);

    if (one_in(2)) {
        snprintf(pattern, DL_CTL_PATTERN, "f%03x:%04x%s", below(8), below(8),
                 one_in(2) ? "" : ":1200+quirks");
        return;
    }
    for (i = 0; i < length; i++) {
        pattern[i] = letters[below(sizeof(letters) - 1)];
    }
}

static void fail(const char *what, unsigned long cmd, int wanted, int got)
{
    printf("%s: %s, size %u: wanted %s, got %s\n", what,
           order_name(_IOC_NR(cmd)), (unsigned)_IOC_SIZE(cmd),
           wanted ? strerror(wanted) : "success",
           got ? strerror(got) : "success");
    exit(1);
}

/* The ID of the device that was added last. IDs are not used twice. */
static uint32_t last_id = 0x10002;

/* Fills in a request. Often its device or node exists. */
static void fill_request(struct dl_ctl_request *request, unsigned nr)
{
    if ((nr >= 2 && nr <= 6) || nr == _IOC_NR(DL_CTL_ENABLE_P2P) ||
        nr == _IOC_NR(DL_CTL_DISABLE_P2P)) {
        request->id = one_in(4) ? random32() : last_id - below(3);
    }
    if (nr == _IOC_NR(DL_CTL_ENABLE_P2P) || nr == _IOC_NR(DL_CTL_DISABLE_P2P)) {
        request->target = one_in(4) ? random32() : last_id - below(3);
    }
    if (nr == _IOC_NR(DL_CTL_ADD)) {
        /* The two devices of the test, or one from 00:10.0 on. */
        request->function.segment = one_in(3) ? random32() : 0;
        request->function.bus = one_in(2) ? 0 : below(256);
        request->function.devfn =
            one_in(2) ? (6 + below(2)) << 3 : (uint32_t)below(256) | 0x80;
    }
    if (nr == _IOC_NR(DL_CTL_BORROW)) {
        request->window = one_in(2) ? 0 : (uint64_t)random32() << below(32);
    }
    if (nr == _IOC_NR(DL_CTL_CONNECT) || nr == _IOC_NR(DL_CTL_DISCONNECT)) {
        request->node = one_in(2) ? 1 + below(2) : random32();
    }
    if (has_pattern(nr)) {
        fill_pattern(request->pattern);
    }
}

/* Sets a field that the request does not use. */
static void stray(struct dl_ctl_request *request, unsigned nr)
{
    if (one_in(3)) {
        request->reserved[below(2)] = 1 + random32();
    } else if (one_in(2)) {
        request->function.reserved = 1 + below(0xffff);
    } else if (!has_pattern(nr) && one_in(2)) {
        request->pattern[below(DL_CTL_PATTERN)] = 1 + below(255);
    } else if (nr == _IOC_NR(DL_CTL_CONNECT) ||
               nr == _IOC_NR(DL_CTL_DISCONNECT) || nr == _IOC_NR(DL_CTL_ADD)) {
        request->id = 1 + below(0xfffff);
    } else {
        request->node = 1 + below(0xfffff);
    }
}

static bool has_end(const char *message)
{
    return memchr(message, '\0', DL_CTL_MESSAGE);
}

/* Returns the error that must come, or -1 if any result is right. */
static int make_request(unsigned nr, size_t size, uint8_t *arg)
{
    struct dl_ctl_request request = {0};
    int wanted = -1;

    memset(request.message, 0xff, sizeof(request.message));
    fill_request(&request, nr);
    if (one_in(4)) {
        stray(&request, nr);
        wanted = EINVAL;
    }
    /* The kernel sees what fits, and zeros after it. */
    if (size < sizeof(request)) {
        memset((uint8_t *)&request + size, 0, sizeof(request) - size);
        wanted = -1;
    }
    memset(arg, 0, size);
    memcpy(arg, &request, size < sizeof(request) ? size : sizeof(request));
    if (size > sizeof(request) && one_in(2)) {
        arg[sizeof(request) + below(size - sizeof(request))] = 1;
        wanted = E2BIG;
    }
    return size < REQUEST_MIN ? EINVAL : wanted;
}

static int make_list(unsigned nr, size_t size, uint8_t *arg, uint8_t *entries)
{
    struct dl_ctl_list list = {0};
    size_t entry = nr == _IOC_NR(DL_CTL_NODES) ? sizeof(struct dl_ctl_node)
                   : nr == _IOC_NR(DL_CTL_P2P) ? sizeof(struct dl_ctl_p2p)
                   : nr == _IOC_NR(DL_CTL_ALLOWED)
                       ? sizeof(struct dl_ctl_pattern)
                       : sizeof(struct dl_ctl_device);
    int wanted = 0;

    list.entries = (uintptr_t)entries;
    list.entry_size = entry + (one_in(3) ? below(200) : 0);
    /* The rest of the page behind @entries, and the next, hold so many. */
    list.room = below(20);
    if (list.room > page_size / list.entry_size) {
        list.room = page_size / list.entry_size;
    }
    if (one_in(4)) {
        list.entry_size = one_in(2) ? below(entry) : 4097 + random32() / 2;
        wanted = EINVAL;
    } else if (one_in(4)) {
        list.reserved[below(2)] = 1 + random32();
        wanted = EINVAL;
    } else if (one_in(6)) {
        list.count = 1 + random32() / 2;
        wanted = EINVAL;
    } else if (one_in(4)) {
        /* Addresses outside this process: the kernel must not write there. */
        static const uint64_t addresses[] = {0,
                                             1,
                                             0xffff888000000000,
                                             0xffffffff81000000,
                                             UINT64_MAX - 63,
                                             0x7ffffffff000,
                                             0x800000000000};

        list.entries = addresses[below(7)];
        list.room = 1000;
        wanted = -1;
    }
    memset(arg, 0, size);
    memcpy(arg, &list, size < sizeof(list) ? size : sizeof(list));
    if (size > sizeof(list) && one_in(2)) {
        arg[sizeof(list) + below(size - sizeof(list))] = 1;
        wanted = E2BIG;
    }
    return size < sizeof(list) ? EINVAL : wanted;
}

static void check_message(unsigned long cmd, const uint8_t *arg, int got)
{
    const char *message =
        is_list(_IOC_NR(cmd))
            ? (const char *)arg + offsetof(struct dl_ctl_list, message)
            : (const char *)arg + offsetof(struct dl_ctl_request, message);

    if (!has_end(message)) {
        fail("a message without end", cmd, 0, got);
    }
    if (got == 0 && message[0]) {
        fail("a message, but no error", cmd, 0, got);
    }
    if (got && got != EFAULT && got != ENOMEM && !message[0]) {
        fail("an error without a message", cmd, got, got);
    }
}

static void one_order(int fd)
{
    unsigned nr = one_in(10) ? below(256) : 1 + below(REQUESTS_END - 1);
    unsigned type = one_in(20) ? below(256) : DL_CTL_IOC;
    unsigned dir = one_in(20) ? below(4) : _IOC_READ | _IOC_WRITE;
    size_t size = is_list(nr) ? sizeof(struct dl_ctl_list)
                              : sizeof(struct dl_ctl_request);
    uint8_t *entries = page + below(page_size), *arg;
    bool known = nr >= 1 && nr < REQUESTS_END && type == DL_CTL_IOC &&
                 dir == (_IOC_READ | _IOC_WRITE);
    static uint8_t big[BIG];
    unsigned long cmd;
    int wanted, got;

    if (one_in(4)) {
        size = one_in(2) ? below(size) : size + below(BIG - size);
    }
    cmd = _IOC(dir, type, nr, size);
    wanted = is_list(nr) ? make_list(nr, size, big, entries)
                         : make_request(nr, size, big);
    if (!known) {
        wanted = ENOTTY;
    }
    arg = big;
    if (one_in(10) && wanted != ENOTTY &&
        size == (is_list(nr) ? sizeof(struct dl_ctl_list)
                             : sizeof(struct dl_ctl_request))) {
        /* The end of the struct is in the page that is not mapped. */
        arg = page + 2 * page_size - below(size);
        wanted = EFAULT;
    }
    got = ioctl(fd, cmd, arg) < 0 ? errno : 0;
    if (cmd == DL_CTL_ADD && got == 0) {
        last_id = ((const struct dl_ctl_request *)big)->id;
    }
    if (wanted >= 0 && got != wanted) {
        fail("wrong result", cmd, wanted, got);
    }
    if (arg == big && got != ENOTTY && got != E2BIG &&
        !(got == EINVAL &&
          size < (is_list(nr) ? sizeof(struct dl_ctl_list) : REQUEST_MIN))) {
        check_message(cmd, big, got);
    }
}

/* Returns and removes all devices. */
static void clean(int fd)
{
    static struct dl_ctl_device devices[1100];
    struct dl_ctl_request request = {0};
    struct dl_ctl_list list = {.entries = (uintptr_t)devices,
                               .entry_size = sizeof(devices[0]),
                               .room = 1100};

    for (request.node = 1; request.node <= 2; request.node++) {
        ioctl(fd, DL_CTL_CONNECT, &request);
    }
    if (ioctl(fd, DL_CTL_DEVICES, &list) < 0) {
        fail("no list", DL_CTL_DEVICES, 0, errno);
    }
    for (unsigned i = 0; i < list.count && i < 1100; i++) {
        request = (struct dl_ctl_request){.id = devices[i].id};
        if (0 != (DL_CTL_HERE & devices[i].flags)) {
            ioctl(fd, DL_CTL_RETURN, &request);
        }
        if (0 != (DL_CTL_OWN & devices[i].flags)) {
            ioctl(fd, DL_CTL_MAKE_UNAVAILABLE, &request);
            if (ioctl(fd, DL_CTL_REMOVE, &request) < 0) {
                printf("%s\n", request.message);
                fail("not removed", DL_CTL_REMOVE, 0, errno);
            }
        }
    }
}

static int unprivileged(int fd)
{
    if (setgid(65534) < 0 || setuid(65534) < 0) {
        perror("setuid");
        return 1;
    }
    for (unsigned nr = 1; nr < REQUESTS_END; nr++) {
        static uint8_t big[BIG];
        size_t size = is_list(nr) ? sizeof(struct dl_ctl_list)
                                  : sizeof(struct dl_ctl_request);
        unsigned long cmd = _IOC(_IOC_READ | _IOC_WRITE, DL_CTL_IOC, nr, size);

        if (ioctl(fd, cmd, big) == 0 || errno != EPERM) {
            fail("allowed without the capability", cmd, EPERM, errno);
        }
    }
    if (open("/dev/" DL_CTL_DEVICE, O_RDWR) >= 0 || errno != EACCES) {
        puts("/dev/" DL_CTL_DEVICE " can be opened without the capability");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int fd = open("/dev/" DL_CTL_DEVICE, O_RDWR);
    unsigned long count = 0;
    time_t end;

    if (fd < 0) {
        perror("/dev/" DL_CTL_DEVICE);
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "--unprivileged") == 0) {
        return unprivileged(fd);
    }
    if (argc != 3) {
        fputs("usage: fuzz_ctl SEED SECONDS | --unprivileged\n", stderr);
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * 2 + 1;
    end = time(NULL) + strtol(argv[2], NULL, 10);
    page_size = sysconf(_SC_PAGESIZE);
    page = mmap(NULL, 3 * page_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || munmap(page + 2 * page_size, page_size) < 0) {
        perror("mmap");
        return 1;
    }
    while (time(NULL) < end) {
        one_order(fd);
        count++;
    }
    clean(fd);
    printf("%lu orders\n", count);
    return count > 0 ? 0 : 1;
}
