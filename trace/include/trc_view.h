/* SPDX-License-Identifier: MIT */
#ifndef TRC_VIEW_H
#define TRC_VIEW_H

#include "table.h"

#include "trc_merge.h"

/*
 * The crossings of several files that a filter lets through, in order of time:
 * one by one, as lines of text, as a table, or summed up.
 */

typedef struct TrcFilter {
    bool wants[TRC_KINDS];
    GPatternSpec *pattern; /* for a link, host or end; NULL: all */
    int64_t from_ns;       /* since the first record of all files */
    int64_t to_ns;         /* since the first record of all files */
} TrcFilter;

/* Makes a filter that lets everything through but arrivals. */
void trc_filter_init(TrcFilter *filter);

/* Frees what @filter holds. */
void trc_filter_clear(TrcFilter *filter);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TrcFilter, trc_filter_clear)

/* Lets only the kinds in @names through, which are separated by commas. "TLP"
 * stands for all kinds of TLPs. Fails if one of the names is no kind. */
bool trc_filter_set_kinds(TrcFilter *filter, const char *names, GError **error);

/* Lets only crossings of the link, host or end @name through. @name may have
 * the wildcards "*" and "?". */
void trc_filter_set_link(TrcFilter *filter, const char *name);

typedef struct TrcView TrcView;

/* Borrows the files and the filter, which must outlive the result. */
TrcView *trc_view_new(TrcFile *const *files, unsigned n_files,
                      const TrcFilter *filter);
void trc_view_free(TrcView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcView, trc_view_free)

/* Takes a crossing, which is @since_ns later than the first record of all
 * files. */
typedef void (*TrcViewFn)(const TrcView *view, const TrcCrossing *crossing,
                          int64_t since_ns, void *data);

/* Calls @take for each crossing that the filter lets through. */
void trc_view_each(const TrcView *view, TrcViewFn take, void *data);

/* The direction of a crossing, as "LINK FROM>TO". If the names of the two ends
 * have no link in common, "END>END". Owned by the view. */
const char *trc_view_direction(const TrcView *view,
                               const TrcCrossing *crossing);
/* The length of the longest direction of all files, in characters. */
int trc_view_direction_width(const TrcView *view);

/* One line for a terminal, without a newline. The caller frees it. */
char *trc_view_line(const TrcView *view, const TrcCrossing *crossing,
                    int64_t since_ns);

/* A row for each crossing. The caller frees the table. */
Table *trc_view_table(const TrcView *view);

/* A row for each direction and kind: the number of crossings, their bytes of
 * data, and the latencies of completions. The caller frees the table. */
Table *trc_view_summary(const TrcView *view);

#endif
