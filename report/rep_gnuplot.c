/* SPDX-License-Identifier: MIT */
#include "rep_plot.h"

#include "rep_gnuplot_priv.h"

#include <string.h>

#include "rep_program_priv.h"
#include "table_file.h"

char *rep_gnuplot_quote(const char *text)
{
    GString *quoted = g_string_new("'");
    const char *c;

    for (c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            g_string_append(quoted, "''");
        } else {
            g_string_append_c(quoted, (unsigned char)*c < 0x20 ? ' ' : *c);
        }
    }
    g_string_append_c(quoted, '\'');
    return g_string_free(quoted, FALSE);
}

char *rep_gnuplot_number(double value)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    return g_strdup(g_ascii_formatd(buffer, sizeof(buffer), "%.9g", value));
}

static bool is_svg(const char *terminal)
{
    return strcmp(terminal, "svg") == 0;
}

void rep_gnuplot_begin(GString *script, const char *terminal, unsigned width,
                       unsigned height, double font_pt)
{
    if (strcmp(terminal, "pdfcairo") == 0) {
        /* A pixel is the same part of the text's size as in the SVG. */
        double point = (font_pt > 0 ? font_pt : REP_GNUPLOT_FONT_SIZE * 0.75) /
                       REP_GNUPLOT_FONT_SIZE;
        g_autofree char *wide = rep_gnuplot_number(width * point / 72);
        g_autofree char *high = rep_gnuplot_number(height * point / 72);
        g_autofree char *size =
            rep_gnuplot_number(REP_GNUPLOT_FONT_SIZE * point);
        g_autofree char *scale = rep_gnuplot_number(point);

        g_string_append_printf(script,
                               "set terminal pdfcairo size %sin,%sin "
                               "noenhanced font 'DejaVu Sans,%s' linewidth %s "
                               "pointscale %s background '#ffffff'\n",
                               wide, high, size, scale, scale);
    } else if (is_svg(terminal)) {
        g_string_append_printf(script,
                               "set terminal svg size %u,%u fixed noenhanced "
                               "font 'DejaVu Sans,%d' background '#ffffff'\n",
                               width, height, REP_GNUPLOT_FONT_SIZE);
    } else {
        /* A point is 4/3 pixels in gnuplot's SVG, but one pixel in cairo's
         * PNG. */
        g_string_append_printf(
            script,
            "set terminal %s size %u,%u noenhanced font 'DejaVu Sans,%d' "
            "fontscale 2 linewidth 2 pointscale 2 background '#ffffff'\n",
            terminal, width * 2, height * 2, REP_GNUPLOT_FONT_SIZE * 3 / 4);
    }
    g_string_append(script, "set encoding utf8\n");
}

void rep_gnuplot_add_title(GString *script, const char *terminal,
                           const char *quoted, double x, double y)
{
    int size = REP_GNUPLOT_FONT_SIZE + 3;

    g_string_append_printf(script,
                           "set label 1 %s at screen %.6f,%.6f center "
                           "font ',%d' textcolor rgb '" REP_GNUPLOT_INK "'\n",
                           quoted, x, y,
                           is_svg(terminal) ? size : size * 3 / 4);
}

static const RepProgram gnuplot = {(const char *const[]){"gnuplot", "-d", NULL},
                                   "gnuplot-nox"};

static bool write_picture(const char *prefix, const char *ending,
                          const char *terminal, RepGnuplotScriptFn make,
                          const void *drawing, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ending, NULL);
    g_autofree char *script = make(drawing, terminal, error);
    g_autoptr(GBytes) picture =
        script != NULL ? rep_program_draw(&gnuplot, script, error) : NULL;

    return picture != NULL &&
           table_file_write(path, g_bytes_get_data(picture, NULL),
                            g_bytes_get_size(picture), error);
}

bool rep_gnuplot_write_pdf(const char *prefix, RepGnuplotScriptFn script,
                           const void *drawing, GError **error)
{
    return write_picture(prefix, ".pdf", "pdfcairo", script, drawing, error);
}

bool rep_gnuplot_write(const char *prefix, RepGnuplotScriptFn script,
                       const void *drawing, GError **error)
{
    return write_picture(prefix, ".svg", "svg", script, drawing, error) &&
           write_picture(prefix, ".png", "pngcairo", script, drawing, error);
}
