/* SPDX-License-Identifier: MIT */
#ifndef EXP_TRACE_WORDS_H
#define EXP_TRACE_WORDS_H

#include "trc_view.h"

/* The packets of traces that a user chooses; each is nullable: all. */
typedef struct ExpTraceWords {
    char *link;      /* a link, host or end; may have * and ? */
    char *kinds;     /* separated by commas */
    char *from, *to; /* times since the first packet, with units */
} ExpTraceWords;

/* Makes a filter, to be cleared even after a failure. False and @error if a
 * word is wrong. */
bool exp_trace_filter(const ExpTraceWords *words, TrcFilter *ret_filter,
                      GError **error);

/* The empty file of a trace. */
typedef struct ExpTraceFile {
    char *names;   /* nullable: "HOST:LINK,HOST:LINK" of partition 0 and 1 */
    char *snaplen; /* nullable: a size; packets are cut after so many bytes */
} ExpTraceFile;

/* Makes it as trc_file_create() does, at the only one of @paths (ended by
 * NULL). False and @error, a G_OPTION_ERROR if a word is wrong. */
bool exp_trace_create(char *const *paths, const ExpTraceFile *file,
                      GError **error);

#endif
