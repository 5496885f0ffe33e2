/* SPDX-License-Identifier: MIT */
#ifndef IMG_FILES_H
#define IMG_FILES_H

#include "clu_plan.h"

/* The files that the machines of a cluster run: QEMU, its objects, and images
 * of guests, which are made here. */

/* Receives lines of text for the user, without their end. */
typedef struct ImgNotes {
    void (*tell)(void *owner, const char *text);
    void *owner;
} ImgNotes;

void img_tell(const ImgNotes *notes, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The files that the QEMU process of a host uses; owned. */
typedef struct ImgFiles {
    char *qemu;
    char *plugin;
    char *kernel;
    char *initrd;
} ImgFiles;

/*
 * Finds the files for each host of @plan, and makes the images with kernels
 * that the description names, which takes minutes: @notes is told. Returns an
 * array indexed by host. NULL if a file is missing, or too large for the host's
 * memory; then adds entries to @errors if the description names it, or sets
 * @error otherwise.
 */
ImgFiles *img_find(const CluPlan *plan, const ImgNotes *notes,
                   TopoErrors *errors, GError **error);

/* Frees an array of @count files (nullable). */
void img_files_free(ImgFiles *files, unsigned count);

/* A kernel of guests, as the keys of `vm:` name it; all nullable. */
typedef struct ImgKernel {
    char *series; /* an installed one, such as 6.12 */
    char *file, *modules, *source;
} ImgKernel;

/*
 * Makes an image in the user's cache with @kernel and the NTB modules, but
 * without those of Device Lending, which take minutes, or updates it. Returns
 * its folder, to be freed; NULL and @error if that fails. Makes nothing if
 * @notes is NULL: the folder may be missing then.
 */
char *img_make(const ImgKernel *kernel, const ImgNotes *notes, GError **error);

/* The file of QEMU's object for virtual time, to be freed. NULL and @error if
 * there is none. */
char *img_find_timed(GError **error);

/* Checks that each host of @description has the memory that its guest's image
 * needs, as far as that image is there already; if not, adds entries to
 * @errors. */
void img_check_memory(const TopoDescription *description, TopoErrors *errors);

#endif
