/* SPDX-License-Identifier: MIT */
#include "trc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "farside_trace.h"

#define NAME_MAX_BYTES 1000

static bool fail(GError **error, const char *path, int why)
{
    g_set_error(error, TRC_ERROR, TRC_ERROR_FILE, "%s: %s", path,
                g_strerror(why));
    return false;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno != EINTR) {
            return false;
        }
        bytes += MAX(n, 0);
        size -= (size_t)MAX(n, 0);
    }
    return true;
}

/* Empties and fills the file, under the lock that writers take to append. */
static bool fill(int fd, const uint8_t *bytes, size_t size)
{
    return flock(fd, LOCK_EX) == 0 && ftruncate(fd, 0) == 0 &&
           write_all(fd, bytes, size);
}

/* True if the file may be overwritten: it is empty, or a pcapng file. */
static bool may_be_taken(int fd)
{
    struct stat st;
    uint32_t type = 0;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           (st.st_size == 0 ||
            (pread(fd, &type, sizeof(type), 0) == (ssize_t)sizeof(type) &&
             type == FARSIDE_PCAPNG_SHB));
}

bool trc_file_create(const char *path, const char *const names[TRC_ENDS],
                     uint32_t snaplen, GError **error)
{
    uint8_t header[FARSIDE_TRACE_HEADER_MAX(2 * NAME_MAX_BYTES)];
    size_t size;
    bool is_done;
    int fd;
    int why;

    for (unsigned i = 0; i < FARSIDE_TRACE_INTERFACES; i++) {
        if (strlen(names[i]) > NAME_MAX_BYTES) {
            return fail(error, path, ENAMETOOLONG);
        }
    }
    if (snaplen > 0 && snaplen < TRC_SNAPLEN_MIN) {
        g_set_error(error, TRC_ERROR, TRC_ERROR_FORMAT,
                    "a packet needs %d bytes at least, not %u", TRC_SNAPLEN_MIN,
                    snaplen);
        return false;
    }
    size = farside_trace_header(header, names, snaplen);
    fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        return fail(error, path, errno);
    }
    if (!may_be_taken(fd)) {
        close(fd);
        g_set_error(error, TRC_ERROR, TRC_ERROR_FILE,
                    "%s exists, and is no pcapng file", path);
        return false;
    }
    is_done = fill(fd, header, size);
    why = errno;
    close(fd);
    return is_done || fail(error, path, why);
}
