/* SPDX-License-Identifier: MIT */
#include "table_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

G_DEFINE_QUARK(table-error-quark, table_error);

bool table_file_make_folder(const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);

    if (g_mkdir_with_parents(folder, 0777) != 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                    "cannot make the folder %s: %s", folder, g_strerror(errno));
        return false;
    }
    if (access(folder, W_OK | X_OK) != 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                    "cannot write in the folder %s: %s", folder,
                    g_strerror(errno));
        return false;
    }
    return true;
}

bool table_file_is_special(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) &&
           !S_ISDIR(info.st_mode);
}

static bool write_special(const char *path, const char *data, gsize length,
                          GError **error)
{
    FILE *file = fopen(path, "we");
    bool is_done = file && fwrite(data, 1, length, file) == length;

    if ((file && fclose(file) != 0) || !is_done) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE, "cannot write %s: %s",
                    path, g_strerror(errno));
        return false;
    }
    return true;
}

bool table_file_write(const char *path, const char *data, gsize length,
                      GError **error)
{
    g_autoptr(GError) cause = NULL;

    if (table_file_is_special(path)) {
        return write_special(path, data, length, error);
    }
    if (!table_file_make_folder(path, error)) {
        return false;
    }
    if (!g_file_set_contents_full(path, data, (gssize)length,
                                  G_FILE_SET_CONTENTS_CONSISTENT, 0666,
                                  &cause)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE, "cannot write %s: %s",
                    path, cause->message);
        return false;
    }
    return true;
}

bool table_file_append(int fd, const char *path, const char *text,
                       GError **error)
{
    off_t before = lseek(fd, 0, SEEK_END);
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t done = write(fd, text, left);
        int code = errno;

        if (done < 0 && code == EINTR) {
            continue;
        }
        if (done < 0) {
            if (before < 0 || ftruncate(fd, before) != 0) {
                g_debug("%s keeps half a text", path);
            }
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE,
                        "cannot write %s: %s", path, g_strerror(code));
            return false;
        }
        text += done;
        left -= (size_t)done;
    }
    return true;
}
