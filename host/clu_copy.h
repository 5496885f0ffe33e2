/* SPDX-License-Identifier: MIT */
#ifndef CLU_COPY_H
#define CLU_COPY_H

#include <glib.h>

/* A copy of the file @fd, without a name, in the directory for temporary files
 * or, if @path is not NULL, the file @path. -1 and @error if that fails. */
int clu_copy(int fd, const char *path, GError **error);

#endif
