/* SPDX-License-Identifier: MIT */
/*
 * Reads a block device from its start, and prints the speed in MiB/s.
 *
 *   seqread DEVICE BLOCK-SIZE DEPTH MEBIBYTES
 *
 * DEPTH reads of BLOCK-SIZE bytes are under way at any time. They bypass the
 * page cache. At the end of the device, reading continues at its start.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEPTH_MAX 256

static void die(const char *what)
{
    fprintf(stderr, "seqread: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct iocb blocks[DEPTH_MAX], *all[DEPTH_MAX], *block;
    struct io_event events[DEPTH_MAX];
    uint64_t size, depth, count, sent = 0, done = 0;
    aio_context_t context = 0;
    off_t length;
    void *memory;
    double begin;
    int fd;

    if (argc != 5) {
        fputs("usage: seqread DEVICE BLOCK-SIZE DEPTH MEBIBYTES\n", stderr);
        return 2;
    }
    size = strtoull(argv[2], NULL, 10);
    depth = strtoull(argv[3], NULL, 10);
    if (size < 512 || size > 1 << 24 || depth < 1 || depth > DEPTH_MAX) {
        fputs("seqread: BLOCK-SIZE must be 512 to 16777216, DEPTH 1 to 256\n",
              stderr);
        return 2;
    }
    count = (strtoull(argv[4], NULL, 10) << 20) / size;
    fd = open(argv[1], O_RDONLY | O_DIRECT);
    if (fd < 0) {
        die(argv[1]);
    }
    length = lseek(fd, 0, SEEK_END) / (off_t)size;
    if (length < 1 || count < depth) {
        fputs("seqread: DEVICE or MEBIBYTES is too small\n", stderr);
        return 2;
    }
    if (syscall(SYS_io_setup, depth, &context) < 0) {
        die("io_setup");
    }
    if (posix_memalign(&memory, 4096, size * depth) != 0) {
        die("memory");
    }
    memset(memory, 0, size * depth); /* no page faults during the measurement */
    memset(blocks, 0, sizeof(blocks));
    for (uint64_t i = 0; i < depth; i++) {
        blocks[i].aio_lio_opcode = IOCB_CMD_PREAD;
        blocks[i].aio_fildes = (uint32_t)fd;
        blocks[i].aio_buf = (uintptr_t)memory + i * size;
        blocks[i].aio_nbytes = size;
        blocks[i].aio_data = (uintptr_t)&blocks[i];
    }
    begin = now();
    for (uint64_t i = 0; i < depth; i++) {
        blocks[i].aio_offset = (int64_t)(sent++ % (uint64_t)length * size);
        all[i] = &blocks[i];
    }
    /* One call, so that the driver maps all buffers before the first read
     * ends. */
    if (syscall(SYS_io_submit, context, depth, all) != (long)depth) {
        die("io_submit");
    }
    while (done < count) {
        long n = syscall(SYS_io_getevents, context, 1, depth, events, NULL);

        if (n < 0) {
            die("io_getevents");
        }
        for (long i = 0; i < n; i++) {
            if (events[i].res != (int64_t)size) {
                errno = events[i].res < 0 ? (int)-events[i].res : EIO;
                die(argv[1]);
            }
            done++;
            if (sent >= count) {
                continue;
            }
            block = (struct iocb *)(uintptr_t)events[i].data;
            block->aio_offset = (int64_t)(sent++ % (uint64_t)length * size);
            if (syscall(SYS_io_submit, context, 1, &block) != 1) {
                die("io_submit");
            }
        }
    }
    printf("%.1f\n", (double)(count * size) / (now() - begin) / 1048576);
    free(memory);
    return 0;
}
