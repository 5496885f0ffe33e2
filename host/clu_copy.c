/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "clu_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"

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
            off_t out = begin;
            ssize_t n = copy_file_range(from, &begin, to, &out,
                                        (size_t)(end - begin), 0);

            if (n <= 0) {
                return false;
            }
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
