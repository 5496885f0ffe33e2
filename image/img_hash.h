/* SPDX-License-Identifier: MIT */
#ifndef IMG_HASH_H
#define IMG_HASH_H

#include "clu_argv.h"
#include "clu_timed_log.h"
#include "img_files.h"

/* Lines of the head that are not hashes: the description, and each change. */
#define IMG_HEAD_FILE "description"
#define IMG_HEAD_SET  "set"

/* The SHA-256 of @file, in hex, to be freed. NULL and @error if it cannot be
 * read. */
char *img_hash_file(const char *file, GError **error);

/* SHA-256, in hex, of what a timed run depends on besides its description */
typedef struct ImgHashes {
    char *programs; /* farside, QEMU, and the objects that QEMU loads; owned, as
                       the others */
    char *kernels;  /* of the guests of all hosts */
    char *images;   /* of all hosts; these hold the modules */
} ImgHashes;

void img_hashes_clear(ImgHashes *hashes);

/* Fills in @ret_hashes. False and @errors or @error, as img_find(), if a file
 * is missing. */
bool img_hash(const CluPlan *plan, const ImgNotes *notes, ImgHashes *ret_hashes,
              TopoErrors *errors, GError **error);

/*
 * The head of the log of a timed cluster: the description, its changes in @sets
 * (nullable), and the hashes of all that a run depends on. NULL and @error if a
 * file cannot be read.
 */
CluTimedScript *img_head(const CluPlan *plan, const CluPaths *paths,
                         const char *timed, char *const *sets, GError **error);

/* True if a run with the head @mine repeats the log @its of the file @path;
 * otherwise @error has the first difference. */
bool img_head_fits(const char *path, const CluTimedScript *its,
                   const CluTimedScript *mine, GError **error);

#endif
