/* SPDX-License-Identifier: MIT */
#ifndef REP_WATERFALL_H
#define REP_WATERFALL_H

#include <stdbool.h>

#include "table_waterfall.h"

/*
 * Horizontal bars made of segments of time: they show where an operation's
 * time goes. Panels stand abreast, each with a scale of its own. gnuplot draws
 * them in the style of rep_plot.h; the same table gives the same bytes.
 */

/* The gnuplot script for @terminal, "svg" or "pngcairo". Fails with
 * TABLE_ERROR_VALUE if there is nothing to draw. */
char *rep_waterfall_script(const char *title, const Table *table,
                           TableSegments segments, const char *terminal,
                           GError **error);

/* Draws PREFIX.svg and PREFIX.png. */
bool rep_waterfall_write(const char *title, const Table *table,
                         TableSegments segments, const char *prefix,
                         GError **error);

#endif
