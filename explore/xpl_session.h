/* SPDX-License-Identifier: MIT */
#ifndef XPL_SESSION_H
#define XPL_SESSION_H

#include "img_files.h"

/* The task of an exploration, in the words of `farside cluster explore`. */
typedef struct XplOptions {
    char *script, *schedule, *out, *limit, *only, *times;
    char **sets, **allow;
    int64_t seeds, from;
    int jobs, shrink_runs, patience_s;
    gboolean resume, keep, boot;
} XplOptions;

/* The receiver of what an exploration says. */
typedef struct XplTeller {
    const char *verb; /* begins each error and warning: "farside VERB: " */
    ImgNotes out;     /* results */
    ImgNotes notes;   /* errors and warnings */
} XplTeller;

/*
 * Explores the schedules of faults of the description in @file. Returns an exit
 * status: 0 none failed, 1 some failed or could not be run, 2 bad input, 128
 * plus a signal by which the user has ended it; @teller has the reasons. Sets
 * @error only if an option is wrong (G_OPTION_ERROR), or the exploration
 * cannot begin. To be called while this process has a single thread. Blocks
 * SIGINT, SIGTERM and SIGHUP.
 */
int xpl_session_run(const XplOptions *options, const char *file,
                    const XplTeller *teller, GError **error);

#endif
