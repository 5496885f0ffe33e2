/* SPDX-License-Identifier: MIT */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include <stdbool.h>

#include <glib.h>

/* Errors of reading and writing results. Messages stand alone: they name the
 * file and, if there is one, the line. */
#define TABLE_ERROR (table_error_quark())
typedef enum TableError {
    TABLE_ERROR_SYNTAX,  /* a file or an option that does not follow its form */
    TABLE_ERROR_VALUE,   /* well formed, but it makes no sense here */
    TABLE_ERROR_FILE,    /* the file system refused */
    TABLE_ERROR_PROGRAM, /* an outside program is missing or failed */
} TableError;
GQuark table_error_quark(void);

/* Writes @length bytes of @data to @path, making missing folders. The file is
 * replaced as a whole: readers see the old one or the new one, and nothing
 * stays behind on failure. */
bool table_file_write(const char *path, const char *data, gsize length,
                      GError **error);

#endif
