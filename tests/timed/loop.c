/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: executes a known number of instructions.
 *
 *   loop COUNT [pause]
 *
 * Prints the least time, in ticks of the time-stamp counter, of ten loops of
 * two instructions that run COUNT times each. With "pause" there is a PAUSE in
 * front of them.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

static uint64_t run(uint64_t count)
{
    uint64_t begin = __rdtsc();

    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(count) : : "cc");
    return __rdtsc() - begin;
}

static uint64_t run_pauses(uint64_t count)
{
    uint64_t begin = __rdtsc();

    __asm__ volatile("1: pause\n\tdec %0\n\tjnz 1b" : "+r"(count) : : "cc");
    return __rdtsc() - begin;
}

int main(int argc, char **argv)
{
    bool pauses = argc == 3 && strcmp(argv[2], "pause") == 0;
    uint64_t count = argc == 2 || pauses ? strtoull(argv[1], NULL, 0) : 0;
    uint64_t least = UINT64_MAX;

    if (count == 0) {
        fputs("usage: loop COUNT [pause]\n", stderr);
        return 2;
    }
    for (unsigned i = 0; i < 10; i++) {
        uint64_t ticks = pauses ? run_pauses(count) : run(count);

        least = ticks < least ? ticks : least;
    }
    printf("%" PRIu64 "\n", least);
    return EXIT_SUCCESS;
}
