/* SPDX-License-Identifier: MIT */
#ifndef IMG_TIMED_H
#define IMG_TIMED_H

#include "clu_argv.h"
#include "clu_timed.h"
#include "img_files.h"

/* The logs of a timed cluster. */
typedef struct ImgTimed {
    const char *log;   /* the file to write; NULL: none */
    const char *steps; /* the directory of the machines' records, absolute;
                          NULL: none */
    int64_t slice_ns;  /* see clu_timed_set_pace() */
    int spins;
    char *const *sets;            /* the changes that it names; nullable */
    const CluTimedScript *script; /* the log to replay; NULL: none */
    const char *script_file;      /* its name, for messages */
} ImgTimed;

/*
 * Prepares virtual time for the cluster of @plan: finds
 * QEMU's object, computes the latency of each link in the model, and prepares
 * the logs that @logs asks for. @paths are those of the hosts. NULL, and
 * entries in @errors or @error, if that fails, or if the log to replay is of
 * another run. @notes and what
 * @logs has are borrowed until the supervisor has started.
 */
CluTimed *img_timed(const CluPlan *plan, const CluPaths *paths,
                    const ImgTimed *logs, const ImgNotes *notes,
                    TopoErrors *errors, GError **error);

/* Tells which costs the figures of a timed cluster leave out; to be freed. */
char *img_timed_limits(const TopoDescription *description);

#endif
