/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: measures direct reads of a drive with the CPU's own clock.
 *
 *   seeker FILE SIZE COUNT
 *
 * Prints the least and the greatest time of COUNT reads of SIZE bytes, in ticks
 * of the time-stamp counter, and a checksum of all data.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <x86intrin.h>

int main(int argc, char **argv)
{
    size_t size = argc == 4 ? strtoul(argv[2], NULL, 0) : 0;
    int fd = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECT) : -1;
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    uint64_t least = UINT64_MAX, greatest = 0;
    uint8_t *buffer;
    uint32_t sum = 0;

    if (argc != 4) {
        fputs("usage: seeker FILE SIZE COUNT\n", stderr);
        return 2;
    }
    if (end < 0 || size < 512 || size % 512 != 0 || (size_t)end < size ||
        posix_memalign((void **)&buffer, 4096, size) != 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    for (long i = 0; i < atol(argv[3]); i++) {
        /* Places jump, so that no read continues the one before. */
        uint64_t place = (uint64_t)i * 7919 % ((uint64_t)end / size);
        uint64_t begin = __rdtsc(), ticks;

        if (pread(fd, buffer, size, (off_t)(place * size)) != (ssize_t)size) {
            perror(argv[1]);
            return EXIT_FAILURE;
        }
        ticks = __rdtsc() - begin;
        least = ticks < least ? ticks : least;
        greatest = ticks > greatest ? ticks : greatest;
        for (size_t j = 0; j < size; j++) {
            sum = sum * 31 + buffer[j];
        }
    }
    printf("%" PRIu64 " %" PRIu64 " 0x%08" PRIx32 "\n", least, greatest, sum);
    return EXIT_SUCCESS;
}
