/* SPDX-License-Identifier: MIT */
#ifndef EXP_TIMELINE_WRITE_H
#define EXP_TIMELINE_WRITE_H

#include "trc_view.h"

/* The parts of a timeline; borrowed. */
typedef struct ExpTimelineFile {
    const char *path;  /* of the result; NULL: none is wanted */
    const char *model; /* path of the cluster's description; nullable */
    char **ftraces;    /* of "HOST=FILE"; nullable */
    const char *trace; /* path of the trace */
    const TrcFilter *filter;
} ExpTimelineFile;

/* False and G_OPTION_ERROR if @options do not go together, or a timeline is
 * wanted of another number of @traces (ended by NULL) than one. */
bool exp_timeline_check(const ExpTimelineFile *options, char *const *traces,
                        GError **error);

/* Writes drivers, TLPs and the model's links on one axis: events as Perfetto
 * and Chrome read them. False and @error if that fails. */
bool exp_timeline_write(const ExpTimelineFile *options, GError **error);

#endif
