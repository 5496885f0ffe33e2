/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: measures direct reads or writes of a drive with the CPU's
 * own clock.
 *
 *   seeker FILE SIZE COUNT [write]
 *
 * Prints the least and the greatest time of COUNT reads of SIZE bytes, in ticks
 * of the time-stamp counter, and a checksum of all data. With `write` it writes
 * data that differ from run to run; reads after that have the same checksum.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

/* Other words in each place and in each run */
static void fill(uint8_t *buffer, size_t size, uint64_t seed)
{
    uint64_t *words = (uint64_t *)buffer;

    for (size_t i = 0; i < size / sizeof(*words); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        words[i] = seed;
    }
}

int main(int argc, char **argv)
{
    bool writes = argc == 5 && strcmp(argv[4], "write") == 0;
    bool is_good = argc == 4 || writes;
    size_t size = is_good ? strtoul(argv[2], NULL, 0) : 0;
    int fd =
        is_good ? open(argv[1], (writes ? O_RDWR : O_RDONLY) | O_DIRECT) : -1;
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    uint64_t least = UINT64_MAX, greatest = 0;
    uint8_t *buffer;
    uint32_t sum = 0;

    if (!is_good) {
        fputs("usage: seeker FILE SIZE COUNT [write]\n", stderr);
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
        off_t at = (off_t)(place * size);
        uint64_t begin, ticks;
        ssize_t done;

        if (writes) {
            fill(buffer, size, __rdtsc());
        }
        begin = __rdtsc();
        done =
            writes ? pwrite(fd, buffer, size, at) : pread(fd, buffer, size, at);
        if (done != (ssize_t)size) {
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
