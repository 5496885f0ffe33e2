/* SPDX-License-Identifier: MIT */
#ifndef CMD_TIMELINE_H
#define CMD_TIMELINE_H

#include "trc_view.h"

typedef struct CmdTimeline {
    const char *path;  /* of the result */
    const char *model; /* path of the cluster's description; nullable */
    char **ftraces;    /* of "HOST=FILE"; nullable */
    const char *trace; /* path of the trace */
    const TrcFilter *filter;
} CmdTimeline;

/* Writes drivers, TLPs and the model's links on one axis: events as Perfetto
 * and Chrome read them. */
bool cmd_timeline_write(const CmdTimeline *options, GError **error);

#endif
