/* SPDX-License-Identifier: MIT */
/*
 * Runs in a guest: keeps a number of direct requests under way at a drive.
 *
 *   streamer read|write FILE SIZE COUNT DEPTH
 *
 * Prints the time of COUNT requests of SIZE bytes, of which DEPTH are under way
 * at a time, in ns of the time-stamp counter, divided by COUNT. Each line of 64
 * bytes begins with its number in FILE. A program that reads checks that, so
 * the same requests must have been written before, or greater ones.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define ALIGNMENT 4096
#define LINE      64
#define DEPTH_MAX 192

typedef struct Task {
    bool writes;
    int fd;
    size_t size;
    long count, depth;
    uint64_t places;
} Task;

static void fill(uint8_t *bytes, size_t size, off_t offset)
{
    for (size_t i = 0; i < size; i += LINE) {
        *(uint64_t *)(bytes + i) = (uint64_t)(offset + i) / LINE + 1;
    }
}

static bool is_right(const uint8_t *bytes, size_t size, off_t offset)
{
    for (size_t i = 0; i < size; i += LINE) {
        if (*(const uint64_t *)(bytes + i) !=
            (uint64_t)(offset + i) / LINE + 1) {
            return false;
        }
    }
    return true;
}

static bool request(const Task *task, uint8_t *bytes, off_t offset)
{
    ssize_t size = (ssize_t)task->size;

    if (task->writes) {
        fill(bytes, task->size, offset);
        return pwrite(task->fd, bytes, task->size, offset) == size;
    }
    return pread(task->fd, bytes, task->size, offset) == size &&
           is_right(bytes, task->size, offset);
}

/* Requests number @first, @first + depth, and so on */
static int run(const Task *task, long first, volatile bool *go)
{
    void *bytes;

    if (posix_memalign(&bytes, ALIGNMENT, task->size) != 0) {
        return EXIT_FAILURE;
    }
    while (!*go) {
        sched_yield();
    }
    for (long i = first; i < task->count; i += task->depth) {
        uint64_t place = (uint64_t)i * 7919 % task->places;

        if (!request(task, bytes, (off_t)(place * task->size))) {
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

static bool run_all(const Task *task)
{
    volatile bool *go = mmap(NULL, ALIGNMENT, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t begin;
    bool is_good = true;
    int status;

    if (go == MAP_FAILED) {
        return false;
    }
    for (long i = 0; i < task->depth; i++) {
        if (fork() == 0) {
            _exit(run(task, i, go));
        }
    }
    usleep(10000); /* until all of them wait */
    begin = __rdtsc();
    *go = true;
    while (wait(&status) > 0) {
        is_good = is_good && status == 0;
    }
    begin = __rdtsc() - begin;
    printf("%" PRIu64 "\n", begin / (uint64_t)task->count);
    return is_good;
}

int main(int argc, char **argv)
{
    Task task = {0};
    off_t end;

    if (argc != 6) {
        fputs("usage: streamer read|write FILE SIZE COUNT DEPTH\n", stderr);
        return 2;
    }
    task.writes = strcmp(argv[1], "write") == 0;
    task.fd = open(argv[2], (task.writes ? O_RDWR : O_RDONLY) | O_DIRECT);
    end = task.fd < 0 ? -1 : lseek(task.fd, 0, SEEK_END);
    task.size = strtoul(argv[3], NULL, 0);
    task.count = atol(argv[4]);
    task.depth = atol(argv[5]);
    if (end < 0 || task.size == 0 || task.size % 512 != 0 ||
        (size_t)end < task.size || task.count < 1 || task.depth < 1 ||
        task.depth > DEPTH_MAX) {
        perror(argv[2]);
        return EXIT_FAILURE;
    }
    task.places = (uint64_t)end / task.size;
    return run_all(&task) ? EXIT_SUCCESS : EXIT_FAILURE;
}
