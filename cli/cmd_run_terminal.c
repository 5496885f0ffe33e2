/* SPDX-License-Identifier: MIT */
#include "cmd_run_terminal.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd_guard.h"

static void print(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

static void show_progress(void *data, unsigned done, unsigned count)
{
    g_autofree char *text =
        exp_progress_text(data, g_get_monotonic_time(), done, count);

    fprintf(stderr, "\r%s%s", text, done == count ? "\r\033[K" : "");
    fflush(stderr);
}

static void show_note(void *data, const char *text)
{
    const ExpProgress *progress = data;

    fprintf(stderr, "farside run: %s: %s\n", progress->name, text);
}

static void complain(GError *error)
{
    cmd_complain("run", error);
}

/* For the guard: the program ends. */
static void on_end(void *data)
{
    fputs("\nfarside run: interrupted\n", stderr);
    exp_run_tell_kept(data);
    exp_run_halt(data);
}

static void *guard(ExpRun *run)
{
    return cmd_guard_new(on_end, run);
}

static void unguard(void *guard)
{
    cmd_guard_free(guard);
}

const StuTerminal *cmd_run_terminal(bool shows_progress)
{
    static const StuTerminal plain = {print,    NULL,  show_note,
                                      complain, guard, unguard};
    static const StuTerminal full = {print,    show_progress, show_note,
                                     complain, guard,         unguard};

    return shows_progress && isatty(STDERR_FILENO) ? &full : &plain;
}
