/* SPDX-License-Identifier: MIT */
#include "clu_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "clu_error.h"

/* QEMU, docs/interop/qcow2.txt: all numbers are big endian. */
#define MAGIC          0x514649fbu
#define HEADER_BYTES   104 /* of version 3; version 2 has the first 72 */
#define HEADER_2_BYTES 72
#define NAME_BYTES     1023 /* of a backing file, at most */
#define EXTERNAL_DATA  0x4u /* incompatible feature */
#define FORMAT_NAME    0xe2792acau

/* More backing files than anybody has */
#define FILES_MAX 256

typedef struct Header {
    uint32_t version;
    uint64_t name_offset; /* 0: no backing file */
    uint32_t name_bytes;
    uint64_t incompatible;
    uint32_t bytes;
} Header;

bool clu_image_is_qcow2(const char *file)
{
    return g_str_has_suffix(file, ".qcow2");
}

static uint32_t get_32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return GUINT32_FROM_BE(value);
}

static uint64_t get_64(const uint8_t *bytes)
{
    return (uint64_t)get_32(bytes) << 32 | get_32(bytes + 4);
}

static bool refuse(const char *file, GError **error, const char *reason)
{
    g_set_error(error, CLU_ERROR, CLU_ERROR_USAGE, "%s %s", file, reason);
    return false;
}

/* Reads the header of @fd. False if it is no image of this format. */
static bool read_header(int fd, Header *ret_header)
{
    uint8_t bytes[HEADER_BYTES] = {0};
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
    Header header;

    if (n < HEADER_2_BYTES || get_32(bytes) != MAGIC) {
        return false;
    }
    header = (Header){.version = get_32(bytes + 4),
                      .name_offset = get_64(bytes + 8),
                      .name_bytes = get_32(bytes + 16),
                      .bytes = HEADER_2_BYTES};
    if (header.version >= 3 && n == HEADER_BYTES) {
        header.incompatible = get_64(bytes + 72);
        header.bytes = get_32(bytes + 100);
    }
    *ret_header = header;
    return true;
}

/* The format of the backing file that the image names; NULL if it names none.
 * To be freed. */
static char *find_format(int fd, const Header *header)
{
    off_t at = header->bytes;
    uint8_t head[8];

    while (pread(fd, head, sizeof(head), at) == (ssize_t)sizeof(head) &&
           get_32(head) != 0) {
        uint32_t length = get_32(head + 4);

        if (get_32(head) == FORMAT_NAME && length <= NAME_BYTES) {
            char *format = g_malloc0(length + 1);

            if (pread(fd, format, length, at + 8) == (ssize_t)length) {
                return format;
            }
            g_free(format);
            return NULL;
        }
        at += 8 + (((off_t)length + 7) & ~(off_t)7);
    }
    return NULL;
}

/* True if QEMU takes @name for more than a path: "nbd:..." or "json:...". */
static bool has_protocol(const char *name)
{
    return name[strcspn(name, "/:")] == ':';
}

/* The backing file of the image @fd with @header, which has one. NULL and
 * @error if QEMU would not look for it in a file. To be freed. */
static char *find_backing(const char *file, int fd, const Header *header,
                          GError **error)
{
    g_autofree char *name = g_malloc0(NAME_BYTES + 1);
    g_autofree char *folder = g_path_get_dirname(file);
    uint32_t bytes = header->name_bytes;

    if (bytes > NAME_BYTES ||
        pread(fd, name, bytes, (off_t)header->name_offset) != (ssize_t)bytes) {
        refuse(file, error, "is damaged: its backing file has no name");
        return NULL;
    }
    if (has_protocol(name)) {
        refuse(file, error,
               "has a backing file that is not named by a path, so it cannot "
               "be logged; run `qemu-img rebase` with a path, or `qemu-img "
               "convert`");
        return NULL;
    }
    return g_path_is_absolute(name) ? g_steal_pointer(&name)
                                    : g_build_filename(folder, name, NULL);
}

/* Reads what the image @fd says of its backing file. @ret_qcow2 says if that
 * one may have a backing file, too. *@ret_backing is NULL if there is none. */
static bool read_image(const char *file, int fd, char **ret_backing,
                       bool *ret_qcow2, GError **error)
{
    g_autofree char *format = NULL;
    Header header;

    *ret_backing = NULL;
    if (!read_header(fd, &header)) {
        return true;
    }
    if (header.incompatible & EXTERNAL_DATA) {
        return refuse(file, error,
                      "has its data in another file, so it cannot be logged; "
                      "run `qemu-img convert`");
    }
    if (!header.name_offset || !header.name_bytes) {
        return true;
    }
    format = find_format(fd, &header);
    *ret_qcow2 = !format || strcmp(format, "qcow2") == 0;
    if (format && !*ret_qcow2 && strcmp(format, "raw") != 0) {
        return refuse(file, error,
                      "has a backing file that is neither qcow2 nor raw, so it "
                      "cannot be logged; run `qemu-img convert`");
    }
    *ret_backing = find_backing(file, fd, &header, error);
    return *ret_backing;
}

GPtrArray *clu_image_files(const char *file, GError **error)
{
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    bool is_qcow2 = clu_image_is_qcow2(file);
    char *next = g_strdup(file);

    while (next) {
        const char *path = next;
        bool is_read;
        int fd;

        g_ptr_array_add(files, next);
        next = NULL;
        if (!is_qcow2) {
            break;
        }
        if (files->len > FILES_MAX) {
            refuse(file, error, "is, at last, its own backing file");
            return NULL;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            refuse(path, error, g_strerror(errno));
            return NULL;
        }
        is_read = read_image(path, fd, &next, &is_qcow2, error);
        close(fd);
        if (!is_read) {
            return NULL;
        }
    }
    return g_steal_pointer(&files);
}
