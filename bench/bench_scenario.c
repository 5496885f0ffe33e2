/* SPDX-License-Identifier: MIT */
#include "bench_case.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

/*
 * Whole runs of scenarios, as a user sees them: `farside run` in a process
 * of its own, from start to end, with the files that it writes. The figures
 * are elapsed time, processor time, and the peak of resident memory.
 */

#define PROGRAM "/proc/self/exe"

static void set_errno(GError **error, const char *what)
{
    int code = errno;

    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: %s",
                what, g_strerror(code));
}

/* Runs this program in the child process. Its output is dropped; its messages
 * go to our standard error. */
static G_NORETURN void become(char **argv)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
    }
    execv(PROGRAM, argv);
    _exit(127);
}

/*
 * Runs the program and waits for it. The peak memory of a child made by
 * fork() includes the memory that its parent has at that time, so free
 * memory is given back first. GLib may use vfork(); the peak of such a child
 * would include the parent's own peak.
 */
static bool run_program(char **argv, struct rusage *ret_usage, GError **error)
{
    int status;
    pid_t child;

    malloc_trim(0);
    child = fork();
    if (child < 0) {
        set_errno(error, "fork");
        return false;
    }
    if (child == 0) {
        become(argv);
    }
    while (wait4(child, &status, 0, ret_usage) < 0) {
        if (errno != EINTR) {
            set_errno(error, "wait4");
            return false;
        }
    }
    return g_spawn_check_wait_status(status, error);
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / G_USEC_PER_SEC;
}

static void remove_folder(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    while (folder && (name = g_dir_read_name(folder))) {
        g_autofree char *file = g_build_filename(path, name, NULL);

        g_unlink(file);
    }
    g_rmdir(path);
}

static bool run_scenario(const BenchCase *bench, const BenchSetup *setup,
                         double *ret_figures, GError **error)
{
    g_autofree char *file =
        g_build_filename(setup->scenarios, bench->scenario, NULL);
    g_autofree char *folder = g_dir_make_tmp("farside-bench-XXXXXX", error);
    const char *limit = bench->data;
    char *argv[] = {(char *)"farside",
                    (char *)"run",
                    (char *)"--quiet",
                    (char *)"--no-plot",
                    (char *)"--output",
                    folder,
                    file,
                    (char *)limit,
                    NULL};
    struct rusage usage = {0};
    gint64 start;
    bool ran;

    if (!folder) {
        return false;
    }
    start = g_get_monotonic_time();
    ran = run_program(argv, &usage, error);
    ret_figures[0] = (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
    ret_figures[1] = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
    ret_figures[2] = (double)usage.ru_maxrss / 1024;
    remove_folder(folder);
    if (!ran) {
        g_prefix_error(error, "%s: %s: ", bench->name, file);
    }
    return ran;
}

const BenchCase bench_scenario_cases[] = {
    {"run/fig10",
     "farside run of the paper's Fig. 10, transfers up to 1 MiB",
     run_scenario,
     "--limit=transfer=1MiB",
     "paper/fig10/fig10.yaml",
     {{"time", "s", BENCH_NO_BOUND, 0, false},
      {"processor", "s", BENCH_NO_BOUND, 0, false},
      {"memory", "MiB", BENCH_NO_BOUND, 0, false},
      BENCH_NO_METRIC}},
    {"run/thousand-hosts",
     "farside run of 1,024 hosts, each sending 1 MiB to another",
     run_scenario,
     NULL,
     "scale/thousand-hosts.yaml",
     {{"time", "s", BENCH_AT_MOST, 60, false},
      {"processor", "s", BENCH_NO_BOUND, 0, false},
      {"memory", "MiB", BENCH_AT_MOST, 1024, false},
      BENCH_NO_METRIC}},
    BENCH_NO_CASE,
};
