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

static bool is_tikz(const char *terminal)
{
    return strcmp(terminal, "tikz") == 0;
}

char *rep_gnuplot_quote_for(const char *terminal, const char *text)
{
    g_autoptr(GString) escaped = g_string_new(NULL);

    if (!is_tikz(terminal)) {
        return rep_gnuplot_quote(text);
    }
    for (; *text != '\0'; text++) {
        if (strchr("&%$#_{}", *text)) {
            g_string_append_printf(escaped, "\\%c", *text);
        } else if (*text == '\\') {
            g_string_append(escaped, "\\textbackslash{}");
        } else if (*text == '~' || *text == '^') {
            g_string_append_printf(escaped, "\\%c{}", *text);
        } else {
            g_string_append_c(escaped, *text);
        }
    }
    return rep_gnuplot_quote(escaped->str);
}

char *rep_gnuplot_font(const char *terminal, int size)
{
    return is_tikz(terminal) ? g_strdup("")
                             : g_strdup_printf("font ',%d' ", size);
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
    /* On paper a pixel is the same part of the text's size as in the SVG. */
    double point = (font_pt > 0 ? font_pt : REP_GNUPLOT_FONT_SIZE * 0.75) /
                   REP_GNUPLOT_FONT_SIZE;

    if (is_tikz(terminal)) {
        g_autofree char *wide = rep_gnuplot_number(width * point / 72);
        g_autofree char *high = rep_gnuplot_number(height * point / 72);
        g_autofree char *size =
            rep_gnuplot_number(REP_GNUPLOT_FONT_SIZE * point);
        g_autofree char *line =
            rep_gnuplot_number(REP_GNUPLOT_FONT_SIZE * point * 1.2);

        g_string_append_printf(
            script,
            "set terminal tikz size %sin,%sin font "
            "'\\fontsize{%s}{%s}\\selectfont' tightboundingbox\n",
            wide, high, size, line);
    } else if (strcmp(terminal, "pdfcairo") == 0) {
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

    g_autofree char *font =
        rep_gnuplot_font(terminal, is_svg(terminal) ? size : size * 3 / 4);

    g_string_append_printf(script,
                           "set label 1 %s at screen %.6f,%.6f center "
                           "%stextcolor rgb '" REP_GNUPLOT_INK "'\n",
                           quoted, x, y, font);
}

static const RepProgram gnuplot = {(const char *const[]){"gnuplot", "-d", NULL},
                                   "gnuplot-nox"};

static GBytes *draw(RepGnuplotScriptFn make, const void *drawing,
                    const char *terminal, GError **error)
{
    g_autofree char *script = make(drawing, terminal, error);

    return script ? rep_program_draw(&gnuplot, script, error) : NULL;
}

static bool write_picture(const char *prefix, const char *ending,
                          const char *terminal, RepGnuplotScriptFn make,
                          const void *drawing, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ending, NULL);
    g_autoptr(GBytes) picture = draw(make, drawing, terminal, error);

    return picture && table_file_write(path, g_bytes_get_data(picture, NULL),
                                       g_bytes_get_size(picture), error);
}

bool rep_gnuplot_write_pdf(const char *prefix, RepGnuplotScriptFn script,
                           const void *drawing, GError **error)
{
    return write_picture(prefix, ".pdf", "pdfcairo", script, drawing, error);
}

/* gnuplot writes the time of day into a comment; all comments are dropped. */
bool rep_gnuplot_write_tex(const char *prefix, RepGnuplotScriptFn script,
                           const void *drawing, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ".tex", NULL);
    g_autoptr(GBytes) picture = draw(script, drawing, "tikz", error);
    g_autoptr(GString) text = g_string_new(NULL);
    g_auto(GStrv) lines = NULL;
    g_autofree char *all = NULL;

    if (!picture) {
        return false;
    }
    all = g_strndup(g_bytes_get_data(picture, NULL), g_bytes_get_size(picture));
    lines = g_strsplit(all, "\n", -1);
    for (unsigned i = 0; lines[i] && lines[i + 1]; i++) {
        if (!g_str_has_prefix(lines[i], "%%")) {
            g_string_append_printf(text, "%s\n", lines[i]);
        }
    }
    return table_file_write(path, text->str, text->len, error);
}

bool rep_gnuplot_write(const char *prefix, RepGnuplotScriptFn script,
                       const void *drawing, GError **error)
{
    return write_picture(prefix, ".svg", "svg", script, drawing, error) &&
           write_picture(prefix, ".png", "pngcairo", script, drawing, error);
}
