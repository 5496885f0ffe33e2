/* SPDX-License-Identifier: MIT */
#ifndef REP_WATERFALL_H
#define REP_WATERFALL_H

#include <stdbool.h>

#include "table_waterfall.h"

/*
 * Horizontal bars made of segments of time. They show where the time of an
 * operation goes. Panels stand side by side, each with its own scale.
 * gnuplot draws them in the style of rep_plot.h. The same table gives the
 * same bytes.
 */

/* Returns the gnuplot script for @terminal, "svg" or "pngcairo". Fails with
 * TABLE_ERROR_VALUE if there is nothing to draw. */
char *rep_waterfall_script(const char *title, const Table *table,
                           TableSegments segments, const char *terminal,
                           GError **error);

/* Draws PREFIX.svg and PREFIX.png from @table. */
bool rep_waterfall_write(const char *title, const Table *table,
                         TableSegments segments, const char *prefix,
                         GError **error);

#endif
