/* SPDX-License-Identifier: MIT */
#include "topo_file.h"

#include <errno.h>
#include <stdio.h>

#include "topo_error.h"

#define STEP ((size_t)64 << 10)

bool topo_file_read(const char *path, size_t most, char **ret_text,
                    size_t *ret_length, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    FILE *file = fopen(path, "rbe");
    int code = errno;
    size_t got;

    if (!file) {
        return topo_refuse(error, "cannot be read: %s", g_strerror(code));
    }
    do {
        size_t length = text->len;

        g_string_set_size(text, length + STEP);
        got = fread(text->str + length, 1, STEP, file);
        code = errno;
        g_string_set_size(text, length + got);
    } while (got > 0 && text->len <= most);
    if (ferror(file) == 0) {
        code = 0;
    } else if (code == 0) {
        code = EIO;
    }
    fclose(file);
    if (code != 0) {
        return topo_refuse(error, "cannot be read: %s", g_strerror(code));
    }
    if (text->len > most) {
        return topo_refuse(error, "has more than %zu MiB; name a smaller file",
                           most >> 20);
    }
    *ret_length = text->len;
    *ret_text = g_string_free(g_steal_pointer(&text), FALSE);
    return true;
}

char *topo_file_text(const char *path, size_t *ret_length, GError **error)
{
    size_t length;
    char *text;

    if (!topo_file_read(path, TOPO_FILE_MOST, &text, &length, error)) {
        g_prefix_error(error, "%s: ", path);
        return NULL;
    }
    if (ret_length) {
        *ret_length = length;
    }
    return text;
}
