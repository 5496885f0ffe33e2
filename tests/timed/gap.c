/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: finds out when a fault began and ended, by the time-stamp
 * counter, which shows virtual time in ns on all machines of a timed cluster.
 *
 *   gap clock FROM UNTIL              prints when the longest pause of this
 *                                     program began, and its length
 *   gap reads FILE OFFSET FROM UNTIL  reads a word again and again; prints when
 *                                     the last read before the first one that
 *                                     returned all ones ended, when that one
 *                                     ended, and when one succeeded again
 *
 * FROM and UNTIL are times in ns; the program sleeps until FROM.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define NS 1000000000u

static void sleep_until(uint64_t from)
{
    uint64_t now = __rdtsc();

    if (now < from) {
        struct timespec ts = {.tv_sec = (time_t)((from - now) / NS),
                              .tv_nsec = (long)((from - now) % NS)};

        nanosleep(&ts, NULL);
    }
    if (__rdtsc() > from + 10000000) {
        fprintf(stderr, "began at %llu, too late for %" PRIu64 "\n", __rdtsc(),
                from);
        exit(EXIT_FAILURE);
    }
}

static void do_clock(uint64_t from, uint64_t until)
{
    uint64_t last, greatest = 0, at = 0;

    sleep_until(from);
    last = __rdtsc();
    while (last < until) {
        uint64_t now = __rdtsc();

        if (now - last > greatest) {
            greatest = now - last;
            at = last;
        }
        last = now;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", at, greatest);
}

static void do_reads(const char *file, const char *text, uint64_t from,
                     uint64_t until)
{
    long page = sysconf(_SC_PAGESIZE);
    off_t offset = strtoll(text, NULL, 0);
    int fd = open(file, O_RDWR | O_SYNC);
    uint8_t *base = fd < 0 ? MAP_FAILED
                           : mmap(NULL, page, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd, offset & -page);
    volatile uint32_t *at = (volatile uint32_t *)(base + (offset & (page - 1)));
    uint64_t good = 0, bad = 0, again = 0, now;

    if (base == MAP_FAILED) {
        perror(file);
        exit(EXIT_FAILURE);
    }
    sleep_until(from);
    do {
        uint32_t value = *at;

        now = __rdtsc();
        if (value == UINT32_MAX) {
            bad = bad ? bad : now;
        } else if (!bad) {
            good = now;
        } else if (!again) {
            again = now;
        }
    } while (now < until);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", good, bad, again);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "clock") == 0) {
        do_clock(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
        return EXIT_SUCCESS;
    }
    if (argc == 6 && strcmp(argv[1], "reads") == 0) {
        do_reads(argv[2], argv[3], strtoull(argv[4], NULL, 0),
                 strtoull(argv[5], NULL, 0));
        return EXIT_SUCCESS;
    }
    fputs("usage: gap clock FROM UNTIL | gap reads FILE OFFSET FROM UNTIL\n",
          stderr);
    return 2;
}
