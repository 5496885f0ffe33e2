/* SPDX-License-Identifier: MIT */
#ifndef TRC_MERGE_H
#define TRC_MERGE_H

#include "trc_file.h"

/*
 * The records of several files in order of time. Each completion is joined to
 * its read.
 */
typedef struct TrcMerge TrcMerge;

#define TRC_NO_LATENCY (-1)

typedef struct TrcCrossing {
    TrcRecord record;
    const TrcFile *file;
    size_t index; /* of the record in its file */
    /* Of a completion: time since its request. TRC_NO_LATENCY if the request is
     * not in the files, and for all other records. */
    int64_t latency_ns;
    uint64_t
        read_address; /* of a completion: address of its request, if there */
    bool is_answered; /* of an MRd: its completion is in the files */
} TrcCrossing;

/* Borrows the files, which must outlive it. */
TrcMerge *trc_merge_new(TrcFile *const *files, unsigned n_files);
void trc_merge_free(TrcMerge *merge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcMerge, trc_merge_free)

size_t trc_merge_n_crossings(const TrcMerge *merge);
/* Ordered by time, then by file, then by place in the file. */
void trc_merge_crossing(const TrcMerge *merge, size_t index,
                        TrcCrossing *ret_crossing);

#endif
