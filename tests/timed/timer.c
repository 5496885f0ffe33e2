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
 *   timer ping FILE OFFSET COUNT OWN
 *   timer pong FILE OFFSET COUNT OWN
 *   timer change FILE OFFSET COUNT
 *   timer dma FILE OFFSET ADDRESS
 *
 * `read` prints the least, the greatest and the mean time of COUNT reads of 32
 * bits during which no interrupt came, and the value that was read last;
 * `write` the same of writes. `lines` prints the time of COUNT writes of 64
 * bytes to ascending addresses of 64 KiB, until a read behind them is back, and
 * the time at which they began, which is START. `send` writes the time to
 * OFFSET, COUNT times; `watch` polls OFFSET until it has seen COUNT such times,
 * and prints the least, the greatest and the mean age, and the time that one
 * poll takes. `ping` writes the numbers from 0 to COUNT to OFFSET, each when it
 * has found the one before at the offset OWN of /dev/mem; `pong` on the other
 * machine writes each number that it finds there. `ping` prints the least, the
 * greatest and the median time from a write to its answer, without that of the
 * first one: a few have an interrupt of either machine in them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define LINE        64
#define WINDOW      (64u << 10) /* one entry of a LUT */
/* Between two messages; much longer than one takes */
#define PAUSE_NS    20000
/* Until the link has carried all that was written before */
#define SETTLE_NS   5000000
/* Before the first message: until the other machine watches */
#define START_NS    30000000
/* `watch` does not count what it sees after an interrupt of several us. */
#define HELD_NS     1000
/* `watch` gives up after this time. */
#define PATIENCE_NS 5000000000u
/* A row of accesses is much shorter than the time between two ticks of the
 * kernel: few attempts in a row meet one. */
#define READS       100
#define WRITES      10
#define ATTEMPTS    20

typedef struct Range {
    uint64_t least, greatest, sum;
} Range;

static void range_add(Range *range, uint64_t ns)
{
    range->least = ns < range->least ? ns : range->least;
    range->greatest = ns > range->greatest ? ns : range->greatest;
    range->sum += ns;
}

static volatile uint8_t *map(const char *file, const char *text, size_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    off_t offset = strtoll(text, NULL, 0);
    int fd = open(file, O_RDWR | O_SYNC);
    uint8_t *at = fd < 0 ? MAP_FAILED
                         : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
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

/* The number of interrupts since the boot */
static uint64_t interrupts(void)
{
    char line[256];
    uint64_t count;
    FILE *file = fopen("/proc/stat", "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "intr %" SCNu64, &count) == 1) {
            fclose(file);
            return count;
        }
    }
    perror("/proc/stat");
    exit(EXIT_FAILURE);
}

static void range_join(Range *range, const Range *more)
{
    range->least = more->least < range->least ? more->least : range->least;
    range->greatest =
        more->greatest > range->greatest ? more->greatest : range->greatest;
    range->sum += more->sum;
}

/* Adds the time of one access of @at. */
typedef void Access(volatile uint32_t *at, Range *range, uint32_t *value);

static void read_once(volatile uint32_t *at, Range *range, uint32_t *value)
{
    uint64_t begin = __rdtsc();

    *value = *at;
    range_add(range, __rdtsc() - begin);
}

static void write_once(volatile uint32_t *at, Range *range, uint32_t *value)
{
    uint64_t begin = __rdtsc();

    *at = *value;
    range_add(range, __rdtsc() - begin);
    ++*value;
    pass(PAUSE_NS);
}

/* Adds @count accesses during which no interrupt came. An interrupt takes
 * several us, so a row that met one is done again. */
static bool add_row(Access *access, volatile uint32_t *at, long count,
                    Range *range, uint32_t *value)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        Range row = {UINT64_MAX, 0, 0};
        uint64_t before = interrupts();

        for (long j = 0; j < count; j++) {
            access(at, &row, value);
        }
        if (interrupts() == before) {
            range_join(range, &row);
            return true;
        }
    }
    return false;
}

static bool add_rows(Access *access, volatile uint32_t *at, long count,
                     long length, Range *range, uint32_t *value)
{
    for (long left = count; left > 0; left -= length) {
        if (!add_row(access, at, left < length ? left : length, range, value)) {
            fputs("an interrupt came in each attempt\n", stderr);
            return false;
        }
    }
    return true;
}

static int do_reads(volatile uint32_t *at, long count)
{
    Range range = {UINT64_MAX, 0, 0};
    uint32_t value = *at; /* the first access also fills the TLB */

    if (!add_rows(read_once, at, count, READS, &range, &value)) {
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " %" PRIu64 " %.1f 0x%08" PRIx32 "\n", range.least,
           range.greatest, (double)range.sum / count, value);
    return EXIT_SUCCESS;
}

static int do_writes(volatile uint32_t *at, long count)
{
    Range range = {UINT64_MAX, 0, 0};
    uint32_t value = 0;

    *at = 0;
    pass(PAUSE_NS);
    if (!add_rows(write_once, at, count, WRITES, &range, &value)) {
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " %" PRIu64 " %.1f\n", range.least, range.greatest,
           (double)range.sum / count);
    return EXIT_SUCCESS;
}

/* The time until the last line has arrived: a read does not overtake the
 * writes. */
static uint64_t write_lines(volatile uint64_t *at, long count)
{
    size_t words = WINDOW / sizeof(*at), next = 0;
    uint64_t begin = __rdtsc();

    for (long i = 0; i < count; i++) {
        for (size_t j = 0; j < LINE / sizeof(*at); j++) {
            at[next++ % words] = (uint64_t)i;
        }
    }
    (void)*at;
    return __rdtsc() - begin;
}

/* Lines that need not begin with those of another machine are written until no
 * interrupt came meanwhile. */
static int do_lines(volatile uint64_t *at, long count, uint64_t start)
{
    uint64_t before, begin, ns;
    int i = 0;

    *at = 0;
    do {
        pass(SETTLE_NS);
        before = interrupts();
        do {
            begin = __rdtsc();
        } while (begin < start);
        ns = write_lines(at, count);
    } while (!start && interrupts() != before && ++i < ATTEMPTS);
    if (i == ATTEMPTS) {
        fputs("an interrupt came in each attempt\n", stderr);
        return EXIT_FAILURE;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", ns, begin);
    return EXIT_SUCCESS;
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
    Range range = {UINT64_MAX, 0, 0};
    uint64_t seen = *at, begin = __rdtsc(), last = begin, polls = 0;
    long left = count;

    while (left > 0) {
        uint64_t value = *at, now = __rdtsc();

        polls++;
        if (value != seen) {
            seen = value;
            if (value && now - last < HELD_NS) {
                range_add(&range, now - value);
                left--;
            }
        } else if (now - begin > PATIENCE_NS) {
            fprintf(stderr, "%ld times have not come\n", left);
            return EXIT_FAILURE;
        }
        last = now;
    }
    printf("%" PRIu64 " %" PRIu64 " %.1f %.0f\n", range.least, range.greatest,
           (double)range.sum / count, (double)(__rdtsc() - begin) / polls);
    return EXIT_SUCCESS;
}

/* Polls until @at has @value. */
static bool await_value(volatile uint64_t *at, uint64_t value)
{
    uint64_t begin = __rdtsc();

    while (*at != value) {
        if (__rdtsc() - begin > PATIENCE_NS) {
            fprintf(stderr, "%" PRIu64 " has not come\n", value);
            return false;
        }
    }
    return true;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The first number also fills the TLB. */
static int do_ping(volatile uint64_t *at, volatile uint64_t *own, long count)
{
    uint64_t *times = calloc(count + 1, sizeof(*times));

    *own = UINT64_MAX;
    pass(START_NS);
    for (uint64_t i = 0; times && i <= (uint64_t)count; i++) {
        uint64_t begin = __rdtsc();

        *at = i;
        if (!await_value(own, i)) {
            return EXIT_FAILURE;
        }
        times[i] = __rdtsc() - begin;
        pass(PAUSE_NS);
    }
    if (!times || count < 1) {
        return EXIT_FAILURE;
    }
    qsort(times + 1, count, sizeof(*times), compare_times);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", times[1], times[count],
           times[1 + count / 2]);
    free(times);
    return EXIT_SUCCESS;
}

static int do_pong(volatile uint64_t *at, volatile uint64_t *own, long count)
{
    *own = UINT64_MAX;
    for (uint64_t i = 0; i <= (uint64_t)count; i++) {
        if (!await_value(own, i)) {
            return EXIT_FAILURE;
        }
        *at = i;
    }
    return EXIT_SUCCESS;
}

static int do_change(volatile uint64_t *at)
{
    uint64_t seen = *at, begin = __rdtsc();

    while (*at == seen) {
        if (__rdtsc() - begin > PATIENCE_NS) {
            fputs("the word does not change\n", stderr);
            return EXIT_FAILURE;
        }
    }
    printf("%llu\n", __rdtsc());
    return EXIT_SUCCESS;
}

/* QEMU's docs/specs/edu.txt */
static void do_dma(volatile uint64_t *registers, uint64_t address)
{
    const uint64_t buffer = 0x40000, ms = 1000000;
    uint64_t now;

    registers[0x80 / 8] = buffer;
    registers[0x88 / 8] = address;
    registers[0x90 / 8] = 8;
    now = __rdtsc();
    registers[0x98 / 8] = 0x3; /* begin; to the bus */
    printf("%" PRIu64 "\n", (now / ms + 100) * ms);
}

int main(int argc, char **argv)
{
    volatile uint8_t *at;
    long count;

    if (argc == 6 &&
        (strcmp(argv[1], "ping") == 0 || strcmp(argv[1], "pong") == 0)) {
        long page = sysconf(_SC_PAGESIZE);

        return (argv[1][1] == 'i' ? do_ping : do_pong)(
            (volatile uint64_t *)map(argv[2], argv[3], page),
            (volatile uint64_t *)map("/dev/mem", argv[5], page), atol(argv[4]));
    }
    if (argc == 5 || (argc == 6 && strcmp(argv[1], "lines") == 0)) {
        at =
            map(argv[2], argv[3],
                strcmp(argv[1], "lines") == 0 ? WINDOW : sysconf(_SC_PAGESIZE));
        count = atol(argv[4]);
        if (strcmp(argv[1], "read") == 0) {
            return do_reads((volatile uint32_t *)at, count);
        }
        if (strcmp(argv[1], "write") == 0) {
            return do_writes((volatile uint32_t *)at, count);
        }
        if (strcmp(argv[1], "lines") == 0) {
            return do_lines((volatile uint64_t *)at, count,
                            argc == 6 ? strtoull(argv[5], NULL, 0) : 0);
        }
        if (strcmp(argv[1], "send") == 0) {
            do_send((volatile uint64_t *)at, count);
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "change") == 0) {
            return do_change((volatile uint64_t *)at);
        }
        if (strcmp(argv[1], "dma") == 0) {
            do_dma((volatile uint64_t *)at, strtoull(argv[4], NULL, 0));
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[1], "watch") == 0) {
            return do_watch((volatile uint64_t *)at, count);
        }
    }
    fputs("usage: timer read|write|lines|send|watch|ping|pong|change|dma FILE "
          "OFFSET COUNT|ADDRESS [START|OWN]\n",
          stderr);
    return 2;
}
