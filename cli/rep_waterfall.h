/* SPDX-License-Identifier: MIT */
#ifndef REP_WATERFALL_H
#define REP_WATERFALL_H

#include "rep_plot.h"

/*
 * Bars that lie, made of segments of time: where an operation's time goes.
 * Panels stand abreast, each with a scale of its own. Drawn by gnuplot in the
 * style of rep_plot.h; the same table gives the same bytes.
 */

/* The columns of its table: three texts, and two times in ps. */
enum {
    REP_WATERFALL_PANEL,
    REP_WATERFALL_BAR,
    REP_WATERFALL_SEGMENT,
    REP_WATERFALL_FROM,
    REP_WATERFALL_TO,
};

/* An empty table of these columns. */
RepTable *rep_waterfall_table_new(void);

/* What segments may be, NULL-terminated: their colours go by their places in
 * it, so that drawings of different tables agree; nullable. */
typedef const char *const *RepSegments;

/* The gnuplot script for @terminal, "svg" or "pngcairo". Fails with
 * REP_ERROR_VALUE if there is nothing to draw. */
char *rep_waterfall_script(const char *title, const RepTable *table,
                           RepSegments segments, const char *terminal,
                           GError **error);

/* Draws PREFIX.svg and PREFIX.png. */
bool rep_waterfall_write(const char *title, const RepTable *table,
                         RepSegments segments, const char *prefix,
                         GError **error);

#endif
