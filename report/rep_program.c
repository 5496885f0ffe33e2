/* SPDX-License-Identifier: MIT */
#include "rep_program_priv.h"

#include <string.h>

#include <gio/gio.h>

#include "table_file.h"

#define COMPLAINT_MOST                                                         \
    2000 /* most bytes of the program's error message that are passed on */

GBytes *rep_program_draw(const RepProgram *program, const char *script,
                         GError **error)
{
    const char *name = program->argv[0];
    g_autoptr(GSubprocessLauncher) launcher = g_subprocess_launcher_new(
        G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE |
        G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_autoptr(GBytes) input = g_bytes_new(script, strlen(script));
    g_autoptr(GBytes) output = NULL;
    g_autoptr(GBytes) complaint = NULL;
    g_autoptr(GSubprocess) process = NULL;
    g_autoptr(GError) cause = NULL;

    /* The user's locale and settings must not change the picture. */
    g_subprocess_launcher_setenv(launcher, "LC_ALL", "C.UTF-8", TRUE);
    g_subprocess_launcher_unsetenv(launcher, "GNUTERM");
    g_subprocess_launcher_unsetenv(launcher, "GNUPLOT_DEFAULT_GDFONT");
    process = g_subprocess_launcher_spawnv(launcher, program->argv, &cause);
    if (!process) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: cannot run %s (Debian package %s): %s", name,
                    program->package, cause->message);
        return NULL;
    }
    if (!g_subprocess_communicate(process, input, NULL, &output, &complaint,
                                  &cause)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: talking to %s failed: %s", name, cause->message);
        return NULL;
    }
    if (!g_subprocess_get_successful(process) ||
        g_bytes_get_size(output) == 0) {
        gsize length = 0;
        const char *text = g_bytes_get_data(complaint, &length);

        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "plot: %s failed: %.*s", name,
                    (int)MIN(length, COMPLAINT_MOST), text ? text : "");
        return NULL;
    }
    return g_steal_pointer(&output);
}
