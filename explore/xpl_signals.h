/* SPDX-License-Identifier: MIT */
#ifndef XPL_SIGNALS_H
#define XPL_SIGNALS_H

#include "img_files.h"

/* The signals by which a user ends a call with many clusters: SIGINT, SIGTERM
 * and SIGHUP. */

/* Blocks them in this thread and those that it makes. */
void xpl_hold_signals(void);

/*
 * Waits until the number of threads @running (atomic) is 0. At the first of the
 * signals sets @is_stopped (atomic), and tells @notes in the name of @verb.
 * Returns that signal; 0 if none came.
 */
int xpl_watch_signals(const gint *running, gint *is_stopped,
                      const ImgNotes *notes, const char *verb);

#endif
