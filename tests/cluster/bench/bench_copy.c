/* SPDX-License-Identifier: MIT */
/*
 * Measures the speed of copies through two windows, in turn.
 *
 *   bench-copy ADDRESS SIZE REPEATS
 *
 * One window begins at the physical address ADDRESS, in a BAR of an NTB; the
 * other is BAR 2 of an ivshmem device. A write copies from memory to the
 * window, a read from the window to memory. Prints the median of REPEATS copies
 * in MB/s, as lines "NAME VALUE": ntb-write, shm-write, ntb-read, shm-read.
 *
 * Fails if a read of a window does not return the data that was written.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <dirent.h>

#define DEVICES      "/sys/bus/pci/devices"
#define SHM_MODALIAS "pci:v00001AF4d00001110"
#define SHM_BAR      2
#define BARS         6
#define PAGE         4096u
#define FLUSHES      16

enum {
    NTB,
    SHM,
    WINDOWS,
    MEMORY = WINDOWS,
    PLACES
};

static const char *const names[WINDOWS] = {"ntb", "shm"};

static void fail(const char *what)
{
    perror(what);
    exit(EXIT_FAILURE);
}

/*
 * Address space for two windows and a buffer of @size bytes.
 *
 * QEMU without KVM looks for a page in a table, at the low bits of its number.
 * Two pages with the same bits take the entry from each other with each access,
 * which makes a copy between them 15 times as long. The table has at least 64
 * entries, a power of two. So no two places lie a multiple of 64 pages apart.
 */
static void reserve(size_t size, char **ret)
{
    size_t table = (size_t)64 * PAGE;
    size_t distance = (size + table - 1) / table * table + (size_t)21 * PAGE;
    char *space = mmap(NULL, PLACES * distance, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (space == MAP_FAILED) {
        fail("mmap");
    }
    for (unsigned i = 0; i < PLACES; i++) {
        ret[i] = space + i * distance;
    }
}

static void *map_memory(char *place, size_t size)
{
    void *map = mmap(place, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    if (map == MAP_FAILED) {
        fail("mmap");
    }
    return map;
}

static void *map_bar(const char *device, unsigned bar, uint64_t offset,
                     char *place, size_t size)
{
    char path[PATH_MAX];
    void *map;
    int fd;

    snprintf(path, sizeof(path), DEVICES "/%s/resource%u", device, bar);
    fd = open(path, O_RDWR);
    if (fd < 0) {
        fail(path);
    }
    map = mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
               (off_t)offset);
    if (map == MAP_FAILED) {
        fail(path);
    }
    close(fd);
    return map;
}

/* Maps @size bytes from @address on at @place. NULL if no BAR of @device
 * contains them. */
static void *map_at(const char *device, uint64_t address, char *place,
                    size_t size)
{
    char path[PATH_MAX];
    void *map = NULL;
    uint64_t first, last, flags;
    FILE *file;

    snprintf(path, sizeof(path), DEVICES "/%s/resource", device);
    file = fopen(path, "r");
    if (!file) {
        fail(path);
    }
    for (unsigned bar = 0; bar < BARS && !map; bar++) {
        if (fscanf(file, "%" SCNx64 " %" SCNx64 " %" SCNx64, &first, &last,
                   &flags) != 3) {
            break;
        }
        if (last > first && address >= first && address + size - 1 <= last) {
            map = map_bar(device, bar, address - first, place, size);
        }
    }
    fclose(file);
    return map;
}

static bool is_shm(const char *device)
{
    char path[PATH_MAX], alias[sizeof(SHM_MODALIAS)] = "";
    FILE *file;

    snprintf(path, sizeof(path), DEVICES "/%s/modalias", device);
    file = fopen(path, "r");
    if (file) {
        if (!fgets(alias, sizeof(alias), file)) {
            alias[0] = '\0';
        }
        fclose(file);
    }
    return strcmp(alias, SHM_MODALIAS) == 0;
}

static void map_windows(uint64_t address, size_t size, char **places,
                        volatile void **ret)
{
    DIR *devices = opendir(DEVICES);
    const struct dirent *entry;

    if (!devices) {
        fail(DEVICES);
    }
    while ((entry = readdir(devices))) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (!ret[NTB]) {
            ret[NTB] = map_at(entry->d_name, address, places[NTB], size);
        }
        if (!ret[SHM] && is_shm(entry->d_name)) {
            ret[SHM] = map_bar(entry->d_name, SHM_BAR, 0, places[SHM], size);
        }
    }
    closedir(devices);
    for (unsigned i = 0; i < WINDOWS; i++) {
        if (!ret[i]) {
            fprintf(stderr, "bench-copy: no device with the %s window\n",
                    names[i]);
            exit(EXIT_FAILURE);
        }
    }
}

/* Not memcpy(), which may use different instructions for the two windows. */
static void copy(volatile uint64_t *to, const volatile uint64_t *from,
                 size_t size)
{
    for (size_t i = 0; i < size / sizeof(*to); i += 4) {
        to[i] = from[i];
        to[i + 1] = from[i + 1];
        to[i + 2] = from[i + 2];
        to[i + 3] = from[i + 3];
    }
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fill(uint64_t *memory, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size / sizeof(*memory); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memory[i] = seed;
    }
}

static void check(volatile void *window, const char *name, uint64_t *memory,
                  size_t size, uint64_t seed)
{
    uint64_t *expected = malloc(size);

    if (!expected) {
        fail("malloc");
    }
    fill(expected, size, seed);
    copy(window, expected, size);
    memset(memory, 0, size);
    copy(memory, window, size);
    if (memcmp(memory, expected, size)) {
        fprintf(stderr,
                "bench-copy: the %s window does not keep what it is given\n",
                name);
        exit(EXIT_FAILURE);
    }
    free(expected);
}

/* The time of one copy, in seconds. */
static double time_copy(volatile void *to, const volatile void *from,
                        size_t size)
{
    double start = now();

    copy(to, from, size);
    return now() - start;
}

/*
 * QEMU's table grows when the guest's TLB is flushed and most entries are in
 * use. Linux flushes it when pages that were written become read-only.
 */
static void warm_up(volatile void **windows, uint64_t *memory, size_t size)
{
    for (unsigned round = 0; round < FLUSHES; round++) {
        for (unsigned i = 0; i < WINDOWS; i++) {
            copy(windows[i], memory, size);
            copy(memory, windows[i], size);
        }
        if (mprotect(memory, size, PROT_READ) ||
            mprotect(memory, size, PROT_READ | PROT_WRITE)) {
            fail("mprotect");
        }
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void report(const char *name, const char *way, double *times,
                   unsigned repeats, size_t size)
{
    qsort(times, repeats, sizeof(*times), compare);
    printf("%s-%s %.3f\n", name, way, (double)size / 1e6 / times[repeats / 2]);
}

/* Measures the windows in turn, and changes which is first, so that other load
 * on the machine affects both alike. */
static void measure(volatile void **windows, uint64_t *memory, size_t size,
                    unsigned repeats, bool is_read)
{
    double *times[WINDOWS];

    for (unsigned i = 0; i < WINDOWS; i++) {
        times[i] = calloc(repeats, sizeof(*times[i]));
        if (!times[i]) {
            fail("calloc");
        }
    }
    for (unsigned r = 0; r < repeats * WINDOWS; r++) {
        unsigned i = (r + r / WINDOWS) % WINDOWS;

        times[i][r / WINDOWS] = time_copy(is_read ? memory : windows[i],
                                          is_read ? windows[i] : memory, size);
    }
    for (unsigned i = 0; i < WINDOWS; i++) {
        report(names[i], is_read ? "read" : "write", times[i], repeats, size);
        free(times[i]);
    }
}

int main(int argc, char **argv)
{
    volatile void *windows[WINDOWS] = {NULL};
    uint64_t address, *memory;
    char *places[PLACES];
    unsigned repeats;
    size_t size;

    if (argc != 4) {
        fputs("usage: bench-copy ADDRESS SIZE REPEATS\n", stderr);
        return 2;
    }
    address = strtoull(argv[1], NULL, 0);
    size = strtoul(argv[2], NULL, 0);
    repeats = (unsigned)strtoul(argv[3], NULL, 0);
    if (size == 0 || size % PAGE || repeats == 0) {
        fputs("bench-copy: SIZE is in pages, REPEATS is 1 at least\n", stderr);
        return 2;
    }
    reserve(size, places);
    memory = map_memory(places[MEMORY], size);
    map_windows(address, size, places, windows);
    for (unsigned i = 0; i < WINDOWS; i++) {
        check(windows[i], names[i], memory, size, i + 1);
    }
    warm_up(windows, memory, size);
    measure(windows, memory, size, repeats, false);
    measure(windows, memory, size, repeats, true);
    return EXIT_SUCCESS;
}
