/* SPDX-License-Identifier: MIT */
#include "trc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "farside_pcapng.h"

/* A block that has a time: of packets, or statistics. */
typedef struct Timed {
    uint64_t time;
    uint32_t interface;
    uint32_t type;
    size_t place;
    size_t length;
} Timed;

static int compare(const void *a, const void *b)
{
    const Timed *x = a, *y = b;

    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    if (x->interface != y->interface) {
        return x->interface < y->interface ? -1 : 1;
    }
    /* The order in which the device wrote them. */
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool fail(GError **error, const char *path, const char *what)
{
    g_set_error(error, TRC_ERROR, TRC_ERROR_FILE, "%s: %s", path, what);
    return false;
}

/* Finds the blocks with a time. All others must come before them, as in the
 * files that trc_file_create() makes. Returns the place of the first, or 0 if
 * the file is of another form. */
static size_t find_blocks(const uint8_t *bytes, size_t size, GArray *blocks)
{
    size_t first = 0, at = 0;

    while (at < size) {
        struct farside_pcapng_statistics head; /* as of a packet */
        Timed block = {.place = at};

        if (size - at < FARSIDE_PCAPNG_BLOCK_MIN) {
            return 0;
        }
        memset(&head, 0, sizeof(head));
        memcpy(&head, bytes + at, MIN(sizeof(head), size - at));
        block.type = head.block.type;
        block.length = head.block.length;
        if (block.length < FARSIDE_PCAPNG_BLOCK_MIN || block.length % 4 != 0 ||
            block.length > size - at) {
            return 0;
        }
        if (block.type == FARSIDE_PCAPNG_EPB ||
            block.type == FARSIDE_PCAPNG_ISB) {
            first = blocks->len == 0 ? at : first;
            block.time = (uint64_t)head.time_high << 32 | head.time_low;
            block.interface = head.interface;
            g_array_append_val(blocks, block);
        } else if (blocks->len > 0) {
            return 0;
        }
        at += block.length;
    }
    return blocks->len == 0 ? size : first;
}

static bool write_sorted(int fd, const uint8_t *bytes, size_t first,
                         const GArray *blocks)
{
    off_t at = (off_t)first;

    for (unsigned i = 0; i < blocks->len; i++) {
        const Timed *block = &g_array_index(blocks, Timed, i);

        if (pwrite(fd, bytes + block->place, block->length, at) !=
            (ssize_t)block->length) {
            return false;
        }
        at += (off_t)block->length;
    }
    return true;
}

bool trc_file_sort(const char *path, GError **error)
{
    g_autoptr(GArray) blocks = g_array_new(FALSE, FALSE, sizeof(Timed));
    g_autofree char *bytes = NULL;
    size_t size, first;
    bool is_done;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX) < 0 ||
        !g_file_get_contents(path, &bytes, &size, NULL)) {
        fail(error, path, g_strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    first = find_blocks((const uint8_t *)bytes, size, blocks);
    if (first == 0) {
        close(fd);
        return fail(error, path,
                    "it is not sorted: it is damaged, or has several sections, "
                    "or another byte order");
    }
    qsort(blocks->data, blocks->len, sizeof(Timed), compare);
    is_done = write_sorted(fd, (const uint8_t *)bytes, first, blocks);
    close(fd);
    return is_done || fail(error, path, "it cannot be written");
}
