/* SPDX-License-Identifier: MIT */
/*
 * Uses PCI resource files from user space of a guest.
 *
 *   tool read FILE OFFSET VALUE SECONDS
 *
 * For SECONDS, reads 32 bits at OFFSET again and again. Each read must return
 * VALUE.
 *
 *   tool order FILE SIDE SECONDS
 *
 * FILE is memory that two hosts share; it is zero at first. One host calls this
 * with SIDE 0, the other one with 1. In each round both store to a word of
 * their own, have a memory barrier, and load the word of the other one. At
 * least one of them must see the other one's store (Intel SDM vol. 3A, 9.2.3.4
 * and 9.2.5).
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Maps the page at @offset of the file. */
static void *map_page(const char *path, off_t offset)
{
    long page = sysconf(_SC_PAGESIZE);
    int fd = open(path, O_RDWR | O_SYNC);
    void *map = fd < 0 ? MAP_FAILED
                       : mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
                              fd, offset & -page);

    if (map == MAP_FAILED) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return (char *)map + (offset & (page - 1));
}

static time_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int read_again(const char *path, off_t offset, uint32_t value,
                      time_t seconds)
{
    volatile uint32_t *at = map_page(path, offset);
    time_t end = now_s() + seconds;
    uint64_t count = 0;

    do {
        for (int i = 0; i < 100; i++, count++) {
            uint32_t found = *at;

            if (found != value) {
                printf("0x%08" PRIx32 " after %" PRIu64 " reads\n", found,
                       count);
                return EXIT_FAILURE;
            }
        }
    } while (now_s() < end);
    printf("%" PRIu64 " reads\n", count);
    return EXIT_SUCCESS;
}

/* A word that has a cache line of its own. */
typedef struct Word {
    _Alignas(64) volatile uint32_t value;
} Word;

/* Memory that both hosts see; an index is that of a side. */
typedef struct Shared {
    Word round[2]; /* that the side has begun */
    Word mark[2];  /* the round, stored and loaded by the rule under test */
    Word seen[2];  /* 2 * round, plus 1 if the side saw the other one's mark */
    Word last;     /* round; 0 until side 0 wants to end */
} Shared;

static uint32_t play(Shared *shared, int side, uint32_t round)
{
    uint32_t seen;

    shared->round[side].value = round;
    while (shared->round[!side].value < round) {
    }
    /* The later one gets here first: it waits for 0 to 63 loads, so that both
     * meet in some rounds. */
    for (uint32_t i = (round * (side ? 7 : 5)) % 64; i > 0; i--) {
        (void)shared->last.value;
    }
    shared->mark[side].value = round;
    _mm_mfence();
    seen = shared->mark[!side].value == round;
    shared->seen[side].value = 2 * round + seen;
    while (shared->seen[!side].value / 2 < round) {
    }
    return seen | (shared->seen[!side].value & 1);
}

static int keep_order(const char *path, int side, time_t seconds)
{
    Shared *shared = map_page(path, 0);
    time_t end = now_s() + seconds;
    uint32_t round = 0;
    uint32_t broken = 0;

    do {
        round++;
        if (side == 0 && round % 1024 == 0 && now_s() >= end) {
            shared->last.value = round;
        }
        broken += !play(shared, side, round);
    } while (shared->last.value != round);
    printf("%" PRIu32 " rounds, in %" PRIu32 " no side saw the other one\n",
           round, broken);
    return broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "read") == 0) {
        return read_again(argv[2], strtoll(argv[3], NULL, 0),
                          strtoul(argv[4], NULL, 0), atol(argv[5]));
    }
    if (argc == 5 && strcmp(argv[1], "order") == 0) {
        return keep_order(argv[2], atoi(argv[3]) != 0, atol(argv[4]));
    }
    fputs("usage: tool read FILE OFFSET VALUE SECONDS\n"
          "       tool order FILE SIDE SECONDS\n",
          stderr);
    return 2;
}
