/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: takes all of a processor, so that only interrupts are
 * served.
 *
 *   hog SECONDS
 *
 * The kernel's workers do not run meanwhile.
 * /proc/sys/kernel/sched_rt_runtime_us must be -1, or they run for a twentieth
 * of the time.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    const struct sched_param param = {.sched_priority = 1};
    time_t end = time(NULL) + (argc == 2 ? atoi(argv[1]) : 0);

    if (argc != 2 || sched_setscheduler(0, SCHED_FIFO, &param) < 0) {
        fputs("usage: hog SECONDS, as root\n", stderr);
        return 2;
    }
    while (time(NULL) < end) {
    }
    return EXIT_SUCCESS;
}
