/* SPDX-License-Identifier: MIT */
/*
 * Code that the programs of the tests of devmem TCP share: a pattern, and
 * memory that can be bound, of which each program has one piece. Each program
 * is one file.
 */
#ifndef DEVMEM_H
#define DEVMEM_H

#define _GNU_SOURCE
#define __EXPORTED_HEADERS__
#include <linux/uio.h>
#define __iovec_defined
#include <arpa/inet.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev-user.h"
#include <ynl.h>

#define PAGE   4096
#define PAGES  4000
#define PERIOD 7

static unsigned char *memory;
static int udmabuf = -1;

/* The byte at a place of what is sent: 1 to 6, 0, and again */
static unsigned char pattern(unsigned long at)
{
    return (at + 1) % PERIOD;
}

/* IPv4 as IPv6's sockets have it */
static struct sockaddr_in6 address_of(const char *text, const char *port)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons(atoi(port))};
    char mapped[80];

    if (inet_pton(AF_INET6, text, &address.sin6_addr) == 1)
        return address;
    snprintf(mapped, sizeof(mapped), "::ffff:%.60s", text);
    if (inet_pton(AF_INET6, mapped, &address.sin6_addr) != 1)
        error(1, 0, "%s: no address", text);
    return address;
}

/* PAGES of the machine, mapped at memory and bound as udmabuf */
static void memory_make(void)
{
    struct udmabuf_create create = {.size = PAGES * PAGE};
    int device = open("/dev/udmabuf", O_RDWR);
    int file = memfd_create("devmem", MFD_ALLOW_SEALING);

    if (device < 0 || file < 0 || ftruncate(file, create.size) < 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
        error(1, errno, "udmabuf");
    create.memfd = file;
    udmabuf = ioctl(device, UDMABUF_CREATE, &create);
    if (udmabuf < 0)
        error(1, errno, "UDMABUF_CREATE");
    memory =
        mmap(NULL, create.size, PROT_READ | PROT_WRITE, MAP_SHARED, udmabuf, 0);
    if (memory == MAP_FAILED)
        error(1, errno, "mmap of the udmabuf");
}

static void say(const char *what, bool ok)
{
    printf("%s - %s\n", ok ? "ok" : "not ok", what);
    fflush(stdout);
}

#endif
