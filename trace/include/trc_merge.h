/* SPDX-License-Identifier: MIT */
#ifndef TRC_MERGE_H
#define TRC_MERGE_H

#include "trc_file.h"

/*
 * The records of several files in the order of time, and reads joined to their
 * completions.
 */
typedef struct TrcMerge TrcMerge;

#define TRC_NO_LATENCY (-1)

typedef struct TrcCrossing {
    TrcRecord record;
    const TrcFile *file;
    /* Of a completion, from its request: how long that was under way, and what
     * it asked for. TRC_NO_LATENCY if the request is not there. */
    int64_t latency_ns;
    uint64_t asked;
    bool is_answered; /* of an MRd: its completion is there */
} TrcCrossing;

/* Borrows the files, which must outlive it. */
TrcMerge *trc_merge_new(TrcFile *const *files, unsigned n_files);
void trc_merge_free(TrcMerge *merge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcMerge, trc_merge_free)

size_t trc_merge_n_crossings(const TrcMerge *merge);
/* Ordered by time; those of one time by file, and as in the file. */
void trc_merge_crossing(const TrcMerge *merge, size_t index,
                        TrcCrossing *ret_crossing);

#endif
