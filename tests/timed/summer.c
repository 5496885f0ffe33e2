/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: an accelerator sums up the first BYTES of its buffer in the
 * machine's memory, and so reads them by DMA and writes nothing.
 *
 *   summer DEVICE BYTES COUNT
 *
 * Prints the least time of COUNT sums, in ticks of the time-stamp counter, and
 * the sum. The words of the buffer are 1, 2, 3 ...
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "../../kmod/uapi/fgpu.h"

static void fill(int fd, size_t bytes)
{
    uint64_t *words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                           FGPU_MMAP_HOST);

    if (words == MAP_FAILED) {
        perror("mmap");
        exit(EXIT_FAILURE);
    }
    for (size_t i = 0; i < bytes / sizeof(*words); i++) {
        words[i] = i + 1;
    }
}

int main(int argc, char **argv)
{
    int fd = argc == 4 ? open(argv[1], O_RDWR) : -1;
    struct fgpu_run run = {
        .operation = FGPU_SUM,
        .source = {.kind = FGPU_HOST},
        .destination = {.kind = FGPU_NOWHERE},
    };
    uint64_t least = UINT64_MAX;

    if (argc != 4) {
        fputs("usage: summer DEVICE BYTES COUNT\n", stderr);
        return 2;
    }
    if (fd < 0) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    run.length = strtoull(argv[2], NULL, 0);
    fill(fd, run.length);
    for (long i = 0; i < atol(argv[3]); i++) {
        uint64_t begin = __rdtsc(), ticks;

        if (ioctl(fd, FGPU_IOC_RUN, &run) < 0) {
            perror(argv[1]);
            return EXIT_FAILURE;
        }
        ticks = __rdtsc() - begin;
        least = ticks < least ? ticks : least;
    }
    printf("%" PRIu64 " %llu\n", least, run.result);
    return EXIT_SUCCESS;
}
