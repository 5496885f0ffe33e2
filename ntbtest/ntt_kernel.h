/* SPDX-License-Identifier: MIT */
#ifndef NTT_KERNEL_H
#define NTT_KERNEL_H

#include <stdbool.h>

#include <glib.h>

#include "img_files.h"

/* The kernel under test. */

/* In the words of `farside ntb-test`; all nullable. */
typedef struct NttKernelWords {
    char *series;    /* an installed one, such as 6.12 */
    char **packages; /* files of Debian packages, ended by NULL */
    char *tree; /* the source of the NTB modules, or a tree that was built */
    gboolean debug; /* the kernel that looks for faults */
} NttKernelWords;

typedef struct NttKernel {
    GPtrArray *keys; /* of char *: changes of `vm:` of each host, KEY=VALUE */
    ImgKernel image; /* its words are owned */
    bool has_image;  /* machines boot an image that is made with it */
    char *tree;      /* absolute; nullable */
    GMutex lock;     /* of the file ntb_test.sh in the cache */
} NttKernel;

/*
 * Finds the kernel of @words, and unpacks packages into the user's cache. Tells
 * @notes what is used, and what will be built of it. False and @error
 * (G_OPTION_ERROR if a word is wrong). @ret_kernel, which must stay where it
 * is, is to be cleared in either case.
 */
bool ntt_kernel_find(const NttKernelWords *words, const ImgNotes *notes,
                     NttKernel *ret_kernel, GError **error);
void ntt_kernel_clear(NttKernel *kernel);

/* Makes the image with @kernel, if it has one, which may take minutes: @notes
 * is told. False and @error if that fails. */
bool ntt_kernel_make(const NttKernel *kernel, const ImgNotes *notes,
                     GError **error);

/*
 * The file ntb_test.sh of the tree or, if there is none, of Debian's source of
 * the kernel @release, from which it is unpacked into the user's cache. To be
 * freed; NULL and @error if there is none. Can be called from several threads.
 */
char *ntt_kernel_test(NttKernel *kernel, const char *release, GError **error);

#endif
