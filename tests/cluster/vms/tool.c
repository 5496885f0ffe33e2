/* SPDX-License-Identifier: MIT */
/*
 * Reads a window from user space of a guest.
 *
 *   tool read FILE OFFSET VALUE SECONDS
 *
 * For SECONDS, reads 32 bits at OFFSET of a PCI resource file again and again.
 * Each read must return VALUE.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int read_again(const char *path, off_t offset, uint32_t value,
                      time_t seconds)
{
    long page = sysconf(_SC_PAGESIZE);
    int fd = open(path, O_RDWR | O_SYNC);
    volatile uint32_t *at;
    struct timespec now;
    struct timespec end;
    uint64_t count = 0;
    void *map;

    map = fd < 0 ? MAP_FAILED
                 : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        offset & -page);
    if (map == MAP_FAILED) {
        perror(path);
        return EXIT_FAILURE;
    }
    at = (volatile uint32_t *)((char *)map + (offset & (page - 1)));
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    do {
        for (int i = 0; i < 100; i++, count++) {
            uint32_t found = *at;

            if (found != value) {
                printf("0x%08" PRIx32 " after %" PRIu64 " reads\n", found,
                       count);
                return EXIT_FAILURE;
            }
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec);
    printf("%" PRIu64 " reads\n", count);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "read") == 0) {
        return read_again(argv[2], strtoll(argv[3], NULL, 0),
                          strtoul(argv[4], NULL, 0), atol(argv[5]));
    }
    fputs("usage: tool read FILE OFFSET VALUE SECONDS\n", stderr);
    return 2;
}
