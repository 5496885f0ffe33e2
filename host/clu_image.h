/* SPDX-License-Identifier: MIT */
#ifndef CLU_IMAGE_H
#define CLU_IMAGE_H

#include <stdbool.h>

#include <glib.h>

/* True if QEMU gets the image @file as one of the format qcow2. */
bool clu_image_is_qcow2(const char *file);

/*
 * The files that the image @file consists of: itself, and the backing files of
 * a qcow2 image, each after the one that it backs; of char *, to be freed. NULL
 * and @error if that cannot be told, for example because data are elsewhere
 * than in files.
 */
GPtrArray *clu_image_files(const char *file, GError **error);

#endif
