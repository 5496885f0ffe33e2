/* SPDX-License-Identifier: MIT */
#include "rep_plot.h"

#include <string.h>

#include <gio/gio.h>

#include "table_file.h"

GBytes *rep_plot_draw(const char *script, GError **error)
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

static bool write_picture(const RepPlot *plot, const Table *model,
                          const Table *published, const char *terminal,
                          const char *path, GError **error)
{
    g_autofree char *script =
        rep_plot_script(plot, model, published, terminal, error);
    g_autoptr(GBytes) picture =
        script != NULL ? rep_plot_draw(script, error) : NULL;

    return picture != NULL &&
           table_file_write(path, g_bytes_get_data(picture, NULL),
                            g_bytes_get_size(picture), error);
}

bool rep_plot_write(const RepPlot *plot, const Table *model,
                    const Table *published, const char *prefix, GError **error)
{
    g_autofree char *svg = g_strconcat(prefix, ".svg", NULL);
    g_autofree char *png = g_strconcat(prefix, ".png", NULL);

    return write_picture(plot, model, published, "svg", svg, error) &&
           write_picture(plot, model, published, "pngcairo", png, error);
}
