/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: measures reads with the CPU's own clock.
 *
 *   timer read FILE OFFSET COUNT   reads of 32 bits of a PCI resource
 *   timer drive FILE SIZE COUNT    direct reads of SIZE bytes of a drive
 *
 * Prints the least and the greatest time of COUNT reads, in ticks of the
 * time-stamp counter. `read` then prints the value that was read last, `drive`
 * a checksum of all data.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

typedef struct Times {
    uint64_t least, greatest;
} Times;

static void add(Times *times, uint64_t ticks)
{
    times->least = ticks < times->least ? ticks : times->least;
    times->greatest = ticks > times->greatest ? ticks : times->greatest;
}

static int read_resource(const char *file, off_t offset, long count)
{
    Times times = {UINT64_MAX, 0};
    long page = sysconf(_SC_PAGESIZE);
    volatile uint32_t *at;
    uint32_t value = 0;
    char *map;
    int fd = open(file, O_RDWR | O_SYNC);

    map = fd < 0 ? MAP_FAILED
                 : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        offset & -page);
    if (map == MAP_FAILED) {
        perror(file);
        return EXIT_FAILURE;
    }
    at = (volatile uint32_t *)(map + (offset & (page - 1)));
    value = *at; /* the first access also fills the TLB */
    for (long i = 0; i < count; i++) {
        uint64_t begin = __rdtsc();

        value = *at;
        add(&times, __rdtsc() - begin);
    }
    printf("%" PRIu64 " %" PRIu64 " 0x%08" PRIx32 "\n", times.least,
           times.greatest, value);
    return EXIT_SUCCESS;
}

/* Places jump, so that no read continues the one before. */
static int read_drive(const char *file, size_t size, long count)
{
    Times times = {UINT64_MAX, 0};
    int fd = open(file, O_RDONLY | O_DIRECT);
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    uint32_t sum = 0;
    uint8_t *buffer;

    if (end < 0 || size < 512 || size % 512 != 0 || (size_t)end < size ||
        posix_memalign((void **)&buffer, 4096, size) != 0) {
        perror(file);
        return EXIT_FAILURE;
    }
    for (long i = 0; i < count; i++) {
        off_t place = (off_t)((uint64_t)i * 7919 % ((uint64_t)end / size));
        uint64_t begin = __rdtsc();

        if (pread(fd, buffer, size, place * (off_t)size) != (ssize_t)size) {
            perror(file);
            return EXIT_FAILURE;
        }
        add(&times, __rdtsc() - begin);
        for (size_t j = 0; j < size; j++) {
            sum = sum * 31 + buffer[j];
        }
    }
    printf("%" PRIu64 " %" PRIu64 " 0x%08" PRIx32 "\n", times.least,
           times.greatest, sum);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "read") == 0) {
        return read_resource(argv[2], (off_t)strtoll(argv[3], NULL, 0),
                             atol(argv[4]));
    }
    if (argc == 5 && strcmp(argv[1], "drive") == 0) {
        return read_drive(argv[2], strtoul(argv[3], NULL, 0), atol(argv[4]));
    }
    fputs("usage: timer read FILE OFFSET COUNT\n"
          "       timer drive FILE SIZE COUNT\n",
          stderr);
    return 2;
}
