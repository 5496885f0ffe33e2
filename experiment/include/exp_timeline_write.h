/* SPDX-License-Identifier: MIT */
#ifndef EXP_TIMELINE_WRITE_H
#define EXP_TIMELINE_WRITE_H

#include "trc_view.h"

/* The parts of a timeline; borrowed. */
typedef struct ExpTimelineFile {
    const char *path;  /* of the result */
    const char *model; /* path of the cluster's description; nullable */
    char **ftraces;    /* of "HOST=FILE"; nullable */
    const char *trace; /* path of the trace */
    const TrcFilter *filter;
} ExpTimelineFile;

/* Writes drivers, TLPs and the model's links on one axis: events as Perfetto
 * and Chrome read them. False and @error if that fails. */
bool exp_timeline_write(const ExpTimelineFile *options, GError **error);

#endif
