/* SPDX-License-Identifier: MIT */
#include "rep_plot.h"

#include "rep_gnuplot_priv.h"

#include <string.h>

#include <gio/gio.h>

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
                       unsigned height)
{
    if (is_svg(terminal)) {
        g_string_append_printf(script,
                               "set terminal svg size %u,%u fixed noenhanced "
                               "font 'DejaVu Sans,%d' background '#ffffff'\n",
                               width, height, REP_GNUPLOT_FONT_SIZE);
    } else {
        /* Points are 4/3 of a pixel in the SVG and one in cairo's PNG. */
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

/* Runs gnuplot on @script and returns what it draws. */
static GBytes *draw(const char *script, GError **error)
{
    g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE |
        G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_autoptr(GBytes) input = g_bytes_new(script, strlen(script));
    g_autoptr(GBytes) output = NULL;
    g_autoptr(GBytes) complaint = NULL;
    g_autoptr(GSubprocess) process = NULL;
    g_autoptr(GError) cause = NULL;

    /* Nothing of the user's set-up may change the picture. */
    g_subprocess_launcher_setenv(launcher, "LC_ALL", "C.UTF-8", TRUE);
    g_subprocess_launcher_unsetenv(launcher, "GNUTERM");
    g_subprocess_launcher_unsetenv(launcher, "GNUPLOT_DEFAULT_GDFONT");
    process =
        g_subprocess_launcher_spawn(launcher, &cause, "gnuplot", "-d", NULL);
    if (process == NULL) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: cannot run gnuplot (Debian package gnuplot-nox): %s",
                    cause->message);
        return NULL;
    }
    if (!g_subprocess_communicate(process, input, NULL, &output, &complaint,
                                  &cause)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: talking to gnuplot failed: %s", cause->message);
        return NULL;
    }
    if (!g_subprocess_get_successful(process) ||
        g_bytes_get_size(output) == 0) {
        gsize length = 0;
        const char *text = g_bytes_get_data(complaint, &length);

        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: gnuplot failed: %.*s", (int)MIN(length, 2000),
                    text != NULL ? text : "");
        return NULL;
    }
    return g_steal_pointer(&output);
}

static bool write_picture(const char *prefix, const char *ending,
                          const char *terminal, RepGnuplotScriptFn make,
                          const void *drawing, GError **error)
{
    g_autofree char *path = g_strconcat(prefix, ending, NULL);
    g_autofree char *script = make(drawing, terminal, error);
    g_autoptr(GBytes) picture = script != NULL ? draw(script, error) : NULL;

    return picture != NULL &&
           table_file_write(path, g_bytes_get_data(picture, NULL),
                            g_bytes_get_size(picture), error);
}

bool rep_gnuplot_write(const char *prefix, RepGnuplotScriptFn script,
                       const void *drawing, GError **error)
{
    return write_picture(prefix, ".svg", "svg", script, drawing, error) &&
           write_picture(prefix, ".png", "pngcairo", script, drawing, error);
}
