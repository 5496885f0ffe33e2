/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"

/*
 * Copies up to @size bytes at @at. Return: their number, or -1 and errno. The
 * kernel copies them if both files are on one file system that can do it.
 */
static ssize_t copy_piece(int from, int to, off_t at, off_t size)
{
    off_t in = at, out = at;
    ssize_t n = copy_file_range(from, &in, to, &out, (size_t)size, 0);
    char bytes[1 << 16];

    if (n >= 0 || (errno != EXDEV && errno != EINVAL && errno != ENOSYS &&
                   errno != EOPNOTSUPP)) {
        return n;
    }
    n = pread(from, bytes, MIN((size_t)size, sizeof(bytes)), at);
    return n > 0 ? pwrite(to, bytes, (size_t)n, at) : n;
}

/* Copies the parts of the file that are no holes. */
static bool copy_data(int from, int to, off_t size)
{
    off_t begin = 0, end;

    while (begin < size) {
        begin = lseek(from, begin, SEEK_DATA);
        if (begin < 0) {
            return errno == ENXIO; /* only holes follow */
        }
        end = lseek(from, begin, SEEK_HOLE);
        while (begin < end) {
            ssize_t n = copy_piece(from, to, begin, end - begin);

            if (n <= 0) {
                return false;
            }
            begin += n;
        }
    }
    return true;
}

int clu_copy(int fd, const char *path, GError **error)
{
    /* With a position of its own: others use that of @fd. */
    g_autofree char *same = g_strdup_printf("/proc/self/fd/%d", fd);
    const char *dir = g_getenv("TMPDIR");
    int from = open(same, O_RDONLY | O_CLOEXEC), copy;
    bool is_done = false;
    struct stat st;

    dir = dir && *dir ? dir : "/var/tmp";
    copy = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                : open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (from >= 0 && copy >= 0 && fstat(from, &st) == 0 &&
        ftruncate(copy, st.st_size) == 0) {
        is_done = copy_data(from, copy, st.st_size);
    }
    if (!is_done) {
        g_set_error(error, CLU_ERROR, CLU_ERROR_FAILED, "cannot copy %s: %s",
                    path ? path : "a disk", g_strerror(errno));
    }
    if (from >= 0) {
        close(from);
    }
    if (copy >= 0 && !is_done) {
        close(copy);
    }
    return is_done ? copy : -1;
}
