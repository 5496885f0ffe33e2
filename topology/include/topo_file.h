/* SPDX-License-Identifier: MIT */
#ifndef TOPO_FILE_H
#define TOPO_FILE_H

#include <stdbool.h>

#include <glib.h>

/* The most bytes of a file that is no description, such as a log. */
#define TOPO_FILE_MOST ((size_t)256 << 20)

/*
 * Reads @path, of which *ret_text gets at most @most bytes and a zero byte
 * behind them; to be freed. It may be a pipe. On failure the text of @error
 * goes behind the name of the file and a colon.
 */
bool topo_file_read(const char *path, size_t most, char **ret_text,
                    size_t *ret_length, GError **error);

/* The same with TOPO_FILE_MOST and with the name of the file in @error. NULL on
 * failure; @ret_length is nullable. */
char *topo_file_text(const char *path, size_t *ret_length, GError **error);

#endif
