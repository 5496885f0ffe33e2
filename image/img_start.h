/* SPDX-License-Identifier: MIT */
#ifndef IMG_START_H
#define IMG_START_H

#include "clu_client.h"
#include "clu_cluster.h"
#include "img_timed.h"

/* The way in which a cluster is started; all is borrowed. */
typedef struct ImgStart {
    unsigned boot_ms;      /* longest time for a host to come up */
    unsigned silence_ms;   /* longest silence of a guest's agent */
    const ImgTimed *timed; /* NULL unless the machines run in virtual time */
    const ImgNotes *notes; /* warnings */
} ImgStart;

/*
 * Starts the supervisor of the cluster @name with the files that img_find()
 * finds. Returns a connection that owns the cluster. On failure returns NULL,
 * and adds entries to @errors if the description is wrong, or sets @error
 * otherwise. To be called while this process has a single thread.
 */
CluClient *img_start(const CluPlan *plan, const char *name,
                     const ImgStart *start, TopoErrors *errors, GError **error);

#endif
