/* SPDX-License-Identifier: MIT */
#ifndef TRC_VIEW_H
#define TRC_VIEW_H

#include "table.h"

#include "trc_merge.h"

/*
 * The crossings of several files that a filter lets through, in the order of
 * time: one by one, as lines of text, as a table, or summed up.
 */

typedef struct TrcFilter {
    bool wants[TRC_KINDS];
    GPatternSpec *pattern; /* nullable: of a link, a host, or an end */
    int64_t from_ns;       /* since the first record of all files */
    int64_t to_ns;
} TrcFilter;

/* Makes a filter that lets everything through. */
void trc_filter_init(TrcFilter *filter);

/* Frees what @filter holds. */
void trc_filter_clear(TrcFilter *filter);

/* Lets only the kinds in @names through, which are separated by commas; "TLP"
 * stands for all that are TLPs. Fails, naming it, if one is no kind. */
bool trc_filter_set_kinds(TrcFilter *filter, const char *names, GError **error);

/* Lets only crossings of the link, host or end @name through, in which "*" and
 * "?" stand for any letters. */
void trc_filter_set_link(TrcFilter *filter, const char *name);

typedef struct TrcView TrcView;

/* Borrows the files and the filter, which must outlive the result. */
TrcView *trc_view_new(TrcFile *const *files, unsigned n_files,
                      const TrcFilter *filter);
void trc_view_free(TrcView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrcView, trc_view_free)

/* Takes a crossing, @since_ns after the first record of all files. */
typedef void (*TrcViewFn)(const TrcView *view, const TrcCrossing *crossing,
                          int64_t since_ns, void *data);

/* Calls @take for each crossing that the filter lets through. */
void trc_view_each(const TrcView *view, TrcViewFn take, void *data);

/* "LINK FROM>TO", or the names of both ends if they are not of one link; and
 * the length of the longest of all, in characters. Owned by the view. */
const char *trc_view_direction(const TrcView *view,
                               const TrcCrossing *crossing);
int trc_view_direction_width(const TrcView *view);

/* One line for a terminal, without its end. The caller frees it. */
char *trc_view_line(const TrcView *view, const TrcCrossing *crossing,
                    int64_t since_ns);

/* A row a crossing. The caller frees the table. */
Table *trc_view_table(const TrcView *view);

/* A row for each direction and kind: how many crossed, how many bytes they
 * carried, and for how long requests waited. The caller frees the table. */
Table *trc_view_summary(const TrcView *view);

#endif
