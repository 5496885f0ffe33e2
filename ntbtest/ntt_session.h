/* SPDX-License-Identifier: MIT */
#ifndef NTT_SESSION_H
#define NTT_SESSION_H

#include "ntt_kernel.h"

/* A call of `farside ntb-test`, in its words; texts are owned. */
typedef struct NttOptions {
    char **chips, **clients, **pairs; /* nullable: all */
    NttKernelWords kernel;
    char *junit, *out; /* nullable */
    int jobs;          /* 0: as many as the processors can run */
    gboolean list;
} NttOptions;

/*
 * Tries the clients on the chips. @out gets results and the table, @notes
 * errors and what is going on. Returns an exit status: 0 there is no fault, 1
 * there is one, 128 plus a signal by which the user has ended it. Sets @error
 * if an option is wrong (G_OPTION_ERROR) or it cannot begin. To be called while
 * this process has a single thread. Blocks SIGINT, SIGTERM and SIGHUP.
 */
int ntt_session_run(const NttOptions *options, const ImgNotes *out,
                    const ImgNotes *notes, GError **error);

/* Prints the chips and the clients, and what is expected not to work, to
 * @out. */
void ntt_session_list(const ImgNotes *out);

#endif
