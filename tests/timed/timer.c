/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: measures reads of a PCI resource with the CPU's own clock.
 *
 *   timer read FILE OFFSET COUNT
 *
 * Prints the least and the greatest time of COUNT reads of 32 bits at OFFSET,
 * in ticks of the time-stamp counter, and the value that was read last.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
    uint64_t least = UINT64_MAX, greatest = 0;
    long page = sysconf(_SC_PAGESIZE);
    volatile uint32_t *at;
    uint32_t value = 0;
    off_t offset;
    char *map;
    int fd;

    if (argc != 5 || strcmp(argv[1], "read") != 0) {
        fputs("usage: timer read FILE OFFSET COUNT\n", stderr);
        return 2;
    }
    offset = strtoll(argv[3], NULL, 0);
    fd = open(argv[2], O_RDWR | O_SYNC);
    map = fd < 0 ? MAP_FAILED
                 : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        offset & -page);
    if (map == MAP_FAILED) {
        perror(argv[2]);
        return EXIT_FAILURE;
    }
    at = (volatile uint32_t *)(map + (offset & (page - 1)));
    value = *at; /* the first access also fills the TLB */
    for (long i = 0; i < atol(argv[4]); i++) {
        uint64_t begin = __rdtsc();
        uint64_t end;

        value = *at;
        end = __rdtsc();
        least = end - begin < least ? end - begin : least;
        greatest = end - begin > greatest ? end - begin : greatest;
    }
    printf("%" PRIu64 " %" PRIu64 " 0x%08" PRIx32 "\n", least, greatest, value);
    return EXIT_SUCCESS;
}
