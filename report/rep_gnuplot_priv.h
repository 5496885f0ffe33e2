/* SPDX-License-Identifier: MIT */
#ifndef REP_GNUPLOT_PRIV_H
#define REP_GNUPLOT_PRIV_H

#include <stdbool.h>

#include <glib.h>

/* Parts of scripts that all drawings by gnuplot share. */

#define REP_GNUPLOT_INK       "#333333"
#define REP_GNUPLOT_GRID      "#e0e0e0"
#define REP_GNUPLOT_FONT_SIZE 12

/* Quotes @text for gnuplot. In single quotes gnuplot expands nothing, and the
 * quote itself is written twice. The caller frees it. */
char *rep_gnuplot_quote(const char *text);

/* A number for the script, whatever the locale. The caller frees it. */
char *rep_gnuplot_number(double value);

/* Begins a script for the terminal "svg" or "pngcairo"; @width and @height are
 * in pixels of the SVG, the PNG has twice as many. */
void rep_gnuplot_begin(GString *script, const char *terminal, unsigned width,
                       unsigned height);

/* Adds the title of the whole sheet, at parts of its width and height from the
 * lower left corner. "unset label 1" ends it. */
void rep_gnuplot_add_title(GString *script, const char *terminal,
                           const char *quoted, double x, double y);

/* Makes the script of @drawing for a terminal; NULL on failure. */
typedef char *(*RepGnuplotScriptFn)(const void *drawing, const char *terminal,
                                    GError **error);

/* Draws PREFIX.svg and PREFIX.png from the scripts that @script makes of
 * @drawing. Fails with TABLE_ERROR_PROGRAM if gnuplot is not installed, or
 * complains. */
bool rep_gnuplot_write(const char *prefix, RepGnuplotScriptFn script,
                       const void *drawing, GError **error);

#endif
