/* SPDX-License-Identifier: MIT */
#ifndef TABLE_FILE_H
#define TABLE_FILE_H

#include <stdbool.h>

#include <glib.h>

/* Errors in reading and writing results. A message is complete by itself: it
 * names the file and, if there is one, the line. */
#define TABLE_ERROR (table_error_quark())
typedef enum TableError {
    TABLE_ERROR_SYNTAX,  /* the form of a file or an option is wrong */
    TABLE_ERROR_VALUE,   /* the form is right, but the value makes no sense here
                          */
    TABLE_ERROR_FILE,    /* an operation of the file system failed */
    TABLE_ERROR_PROGRAM, /* another program is missing or has failed */
} TableError;
GQuark table_error_quark(void);

/* Makes the folder of the file @path, and those above it, if they are missing.
 * Fails if no file can be made there, so that a caller may ask before it works
 * for long. */
bool table_file_make_folder(const char *path, GError **error);

/* True if @path leads to a device, a pipe or the like. Such a thing is written,
 * and never replaced by a file. */
bool table_file_is_special(const char *path);

/* Writes @length bytes of @data to @path and makes missing folders. The file is
 * replaced as a whole: a reader sees the old file or the new one. Nothing is
 * left behind on failure. */
bool table_file_write(const char *path, const char *data, gsize length,
                      GError **error);

/* Appends @text to the file @path, which is open for appending as @fd. The
 * whole text is in the file afterwards, or none of it: a full disk leaves no
 * half line before the lines that follow. */
bool table_file_append(int fd, const char *path, const char *text,
                       GError **error);

#endif
