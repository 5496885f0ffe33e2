/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: measures accesses with the CPU's own clock, the time-stamp
 * counter, which shows virtual time in ns on all machines of a timed cluster.
 * FILE is a PCI resource, or /dev/mem.
 *
 *   timer read FILE OFFSET COUNT
 *   timer write FILE OFFSET COUNT
 *   timer lines FILE OFFSET COUNT START
 *   timer watch FILE OFFSET COUNT
 *   timer send FILE OFFSET COUNT
 *
 * `read` prints the least and the greatest time of COUNT reads of 32 bits, and
 * the value that was read last; `write` the same of writes. `lines` prints the
 * time of COUNT writes of 64 bytes to ascending addresses of one page, and the
 * time at which they began, which is START. `send` writes the time to OFFSET,
 * COUNT times; `watch` polls OFFSET until it has seen COUNT such times, and
 * prints the least and the greatest age.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define LINE        64
/* Between two messages; much longer than one takes */
#define PAUSE_NS    20000
/* Before the first message: until the other machine watches */
#define START_NS    30000000
/* `watch` gives up after this time. */
#define PATIENCE_NS 5000000000u

typedef struct Range {
    uint64_t least, greatest;
} Range;

static void range_add(Range *range, uint64_t ns)
{
    range->least = ns < range->least ? ns : range->least;
    range->greatest = ns > range->greatest ? ns : range->greatest;
}

static volatile uint8_t *map(const char *file, const char *text)
{
    long page = sysconf(_SC_PAGESIZE);
    off_t offset = strtoll(text, NULL, 0);
    int fd = open(file, O_RDWR | O_SYNC);
    uint8_t *at = fd < 0 ? MAP_FAILED
                         : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
                                fd, offset & -page);

    if (at == MAP_FAILED) {
        perror(file);
        exit(EXIT_FAILURE);
    }
    return at + (offset & (page - 1));
}

static void pass(uint64_t ns)
{
    uint64_t end = __rdtsc() + ns;

    while (__rdtsc() < end) {
        continue;
    }
}

static void do_reads(volatile uint32_t *at, long count)
{
    Range range = {UINT64_MAX, 0};
    uint32_t value = *at; /* the first access also fills the TLB */

    for (long i = 0; i < count; i++) {
        uint64_t begin = __rdtsc();

        value = *at;
        range_add(&range, __rdtsc() - begin);
    }
    printf("%" PRIu64 " %" PRIu64 " 0x%08" PRIx32 "\n", range.least,
           range.greatest, value);
}

static void do_writes(volatile uint32_t *at, long count)
{
    Range range = {UINT64_MAX, 0};

    *at = 0;
    pass(PAUSE_NS);
    for (long i = 0; i < count; i++) {
        uint64_t begin = __rdtsc();

        *at = (uint32_t)i;
        range_add(&range, __rdtsc() - begin);
        pass(PAUSE_NS);
    }
    printf("%" PRIu64 " %" PRIu64 "\n", range.least, range.greatest);
}

static void do_lines(volatile uint8_t *page, long count, uint64_t start)
{
    volatile uint64_t *at = (volatile uint64_t *)page;
    size_t words = sysconf(_SC_PAGESIZE) / sizeof(*at), next = 0;
    uint64_t begin, end;

    *at = 0;
    while (__rdtsc() < start) {
        continue;
    }
    begin = __rdtsc();
    for (long i = 0; i < count; i++) {
        for (size_t j = 0; j < LINE / sizeof(*at); j++) {
            at[next++ % words] = (uint64_t)i;
        }
    }
    end = __rdtsc();
    printf("%" PRIu64 " %" PRIu64 "\n", end - begin, begin);
}

static void do_send(volatile uint64_t *at, long count)
{
    *at = 0;
    pass(START_NS);
    for (long i = 0; i < count; i++) {
        *at = __rdtsc();
        pass(PAUSE_NS);
    }
}

static int do_watch(volatile uint64_t *at, long count)
{
    Range range = {UINT64_MAX, 0};
    uint64_t seen = *at, begin = __rdtsc();

    while (count > 0) {
        uint64_t value = *at, now = __rdtsc();

        if (value != seen) {
            seen = value;
            if (value) {
                range_add(&range, now - value);
                count--;
            }
        } else if (now - begin > PATIENCE_NS) {
            fprintf(stderr, "%ld times have not come\n", count);
            return EXIT_FAILURE;
        }
    }
    printf("%" PRIu64 " %" PRIu64 "\n", range.least, range.greatest);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    volatile uint8_t *at;
    long count;

    if (argc == 5 || (argc == 6 && strcmp(argv[1], "lines") == 0)) {
        at = map(argv[2], argv[3]);
        count = atol(argv[4]);
        if (strcmp(argv[1], "read") == 0) {
            do_reads((volatile uint32_t *)at, count);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "write") == 0) {
            do_writes((volatile uint32_t *)at, count);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "lines") == 0) {
            do_lines(at, count, argc == 6 ? strtoull(argv[5], NULL, 0) : 0);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "send") == 0) {
            do_send((volatile uint64_t *)at, count);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "watch") == 0) {
            return do_watch((volatile uint64_t *)at, count);
        }
    }
    fputs("usage: timer read|write|lines|send|watch FILE OFFSET COUNT "
          "[START]\n",
          stderr);
    return 2;
}
