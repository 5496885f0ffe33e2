/* SPDX-License-Identifier: MIT */
#ifndef REP_SHARD_H
#define REP_SHARD_H

#include <glib.h>

/*
 * Joins the results of all parts of a plan. Each file has a head line
 * "# shard: I/N of COUNT points", and every N-th point from the I-th one on.
 * Returns the text of the file that a run of the whole plan writes; the caller
 * frees it. Records are copied as they are, so no byte changes. Fails if a part
 * is missing or given twice, if it lacks points, or if the parts come from
 * different runs.
 */
char *rep_shard_merge(char **files, GError **error);

#endif
