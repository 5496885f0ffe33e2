/* SPDX-License-Identifier: MIT */
#ifndef REP_GNUPLOT_PRIV_H
#define REP_GNUPLOT_PRIV_H

#include <stdbool.h>

#include <glib.h>

/* Parts of gnuplot scripts that all drawings share. */

#define REP_GNUPLOT_INK       "#333333"
#define REP_GNUPLOT_GRID      "#e0e0e0"
#define REP_GNUPLOT_FONT_SIZE 12

/* Quotes @text for gnuplot. In single quotes gnuplot expands nothing, and a
 * single quote is written twice. The caller frees the result. */
char *rep_gnuplot_quote(const char *text);

/* Does the same for @terminal: for TeX, its special characters are escaped. */
char *rep_gnuplot_quote_for(const char *terminal, const char *text);

/* Returns the option "font ..." for a text of @size, in pixels of the SVG; for
 * TeX an empty text, because the document chooses the font. The caller frees
 * it. */
char *rep_gnuplot_font(const char *terminal, int size);

/* Formats a number for the script, independent of the locale. The caller frees
 * it. */
char *rep_gnuplot_number(double value);

/* Begins a script for the terminal "svg", "pngcairo", "pdfcairo" or "tikz".
 * @width and @height are in pixels of the SVG. The PNG has twice as many. On
 * paper the text has @font_pt points; 0: as in the SVG. */
void rep_gnuplot_begin(GString *script, const char *terminal, unsigned width,
                       unsigned height, double font_pt);

/* Adds the title of the whole sheet. @x and @y are parts of its width and
 * height, from the lower left corner. "unset label 1" ends the title. */
void rep_gnuplot_add_title(GString *script, const char *terminal,
                           const char *quoted, double x, double y);

/* Returns the script of @drawing for a terminal; NULL on failure. */
typedef char *(*RepGnuplotScriptFn)(const void *drawing, const char *terminal,
                                    GError **error);

/* Draws PREFIX.svg and PREFIX.png. @script makes the scripts from @drawing.
 * Fails with TABLE_ERROR_PROGRAM if gnuplot is not installed or reports an
 * error. */
bool rep_gnuplot_write(const char *prefix, RepGnuplotScriptFn script,
                       const void *drawing, GError **error);

/* Draws PREFIX.pdf, and PREFIX.tex for TikZ. */
bool rep_gnuplot_write_pdf(const char *prefix, RepGnuplotScriptFn script,
                           const void *drawing, GError **error);
bool rep_gnuplot_write_tex(const char *prefix, RepGnuplotScriptFn script,
                           const void *drawing, GError **error);

#endif
