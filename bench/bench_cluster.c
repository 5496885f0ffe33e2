/* SPDX-License-Identifier: MIT */
#include "bench_case.h"

#include <string.h>

#include <gio/gio.h>

/*
 * Benchmarks that run in virtual machines. Each one is a program in the folder
 * of scripts. It uses `farside cluster exec` on the hosts of a running cluster
 * and prints a line "NAME VALUE" for each figure. Its environment has:
 *
 *   FARSIDE   path of this program
 *   CLUSTER   name of the cluster
 *
 * Those of timed clusters boot clusters of their own, with this name.
 *
 * A new benchmark is a new program and a new row in the table below.
 */

#define PROGRAM "/proc/self/exe"

/* Gets the value after "NAME " in one of @lines. Returns false if there is
 * none. */
static bool find_figure(char **lines, const char *name, double *ret_figure)
{
    size_t length = strlen(name);

    for (; *lines; lines++) {
        const char *text = *lines + length;
        char *end;

        if (!g_str_has_prefix(*lines, name) || *text != ' ') {
            continue;
        }
        *ret_figure = g_ascii_strtod(text, &end);
        if (end > text + 1 && !*g_strchug(end)) {
            return true;
        }
    }
    return false;
}

static bool take_figures(const BenchCase *bench, const char *output,
                         double *ret_figures, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(output, "\n", -1);

    for (unsigned i = 0; bench->metrics[i].name; i++) {
        if (!find_figure(lines, bench->metrics[i].name, &ret_figures[i])) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                        "it printed no line \"%s VALUE\"",
                        bench->metrics[i].name);
            return false;
        }
    }
    return true;
}

static char **make_environment(const BenchSetup *setup, GError **error)
{
    g_autofree char *program = g_file_read_link(PROGRAM, error);
    char **env;

    if (!program) {
        return NULL;
    }
    env = g_environ_setenv(g_get_environ(), "FARSIDE", program, TRUE);
    return g_environ_setenv(env, "CLUSTER", setup->cluster, TRUE);
}

/* The program's messages go to our standard error. */
static bool run_script(const BenchCase *bench, const BenchSetup *setup,
                       double *ret_figures, GError **error)
{
    g_auto(GStrv) argv = g_strsplit(bench->data, " ", -1);
    g_auto(GStrv) env = make_environment(setup, error);
    g_autofree char *output = NULL;
    char *path = g_build_filename(
        setup->scripts ? setup->scripts : "tests/cluster/bench", argv[0], NULL);
    int status;
    bool ran;

    g_free(argv[0]);
    argv[0] = path;
    ran = env &&
          g_spawn_sync(NULL, argv, env, G_SPAWN_DEFAULT, NULL, NULL, &output,
                       NULL, &status, error) &&
          g_spawn_check_wait_status(status, error) &&
          take_figures(bench, output, ret_figures, error);
    if (!ran) {
        g_prefix_error(error, "%s: %s: ", bench->name, path);
    }
    return ran;
}

/* It boots machines, so each run begins cold, and nothing is to be warmed up.
 */
static bool run_own_clusters(const BenchCase *bench, const BenchSetup *setup,
                             double *ret_figures, GError **error)
{
    return run_script(bench, setup, ret_figures, error);
}

bool bench_is_on_cluster(const BenchCase *bench)
{
    return bench->run == run_script || bench->run == run_own_clusters;
}

bool bench_is_warmed_up(const BenchCase *bench)
{
    return bench->run == run_script;
}

/* Both figures of a ratio come from the same guest and the same run, so the
 * bound holds on any machine. */
#define COPY_METRICS                                                           \
    {                                                                          \
        {"ntb-write", "MB/s", BENCH_NO_BOUND, 0, false},                       \
            {"shm-write", "MB/s", BENCH_NO_BOUND, 0, false},                   \
            {"write-ratio", "", BENCH_AT_LEAST, 0.95, true},                   \
            {"ntb-read", "MB/s", BENCH_NO_BOUND, 0, false},                    \
            {"shm-read", "MB/s", BENCH_NO_BOUND, 0, false},                    \
            {"read-ratio", "", BENCH_AT_LEAST, 0.95, true}, BENCH_NO_METRIC    \
    }

/* Speeds of 1 MiB, and ratios to ivshmem of both sizes */
#define CHIP_CASE(chip)                                                        \
    {                                                                          \
        "chips/copy-" chip,                                                    \
            "copies of 64 KiB and 1 MiB through an NTB of another chip, and "  \
            "through ivshmem",                                                 \
            run_own_clusters, "chip " chip, NULL,                              \
        {                                                                      \
            {"write", "MB/s", BENCH_NO_BOUND, 0, false},                       \
                {"read", "MB/s", BENCH_NO_BOUND, 0, false},                    \
                {"write-64KiB", "", BENCH_AT_LEAST, 0.95, true},               \
                {"read-64KiB", "", BENCH_AT_LEAST, 0.95, true},                \
                {"write-1MiB", "", BENCH_AT_LEAST, 0.95, true},                \
                {"read-1MiB", "", BENCH_AT_LEAST, 0.95, true}, BENCH_NO_METRIC \
        }                                                                      \
    }

const BenchCase bench_cluster_cases[] = {
    {"vm/copy-64KiB",
     "copies of 64 KiB by a program, through an NTB and through ivshmem",
     run_script, "copy 65536 400", NULL, COPY_METRICS},
    {"vm/copy-4MiB",
     "copies of 4 MiB by a program, through an NTB and through ivshmem",
     run_script, "copy 4194304 40", NULL, COPY_METRICS},
    {"vm/doorbell",
     "doorbells back and forth, of NTBs and of ivshmem devices",
     run_script,
     "doorbell",
     NULL,
     {{"ntb", "ns", BENCH_NO_BOUND, 0, false},
      {"shm", "ns", BENCH_NO_BOUND, 0, false},
      {"ratio", "", BENCH_AT_MOST, 1.3, true},
      BENCH_NO_METRIC}},
    {"vm/ntb-perf",
     "the kernel's ntb_perf",
     run_script,
     "ntb-perf",
     NULL,
     {{"write", "MB/s", BENCH_NO_BOUND, 0, false}, BENCH_NO_METRIC}},
    {"vm/borrowed-drive",
     "reads of 128 KiB of an NVMe drive, by its own machine and by a borrower",
     run_script,
     "borrowed",
     NULL,
     {{"local", "MiB/s", BENCH_NO_BOUND, 0, false},
      {"borrowed", "MiB/s", BENCH_NO_BOUND, 0, false},
      {"local-cost", "ms/GiB", BENCH_NO_BOUND, 0, false},
      {"borrowed-cost", "ms/GiB", BENCH_NO_BOUND, 0, false},
      {"ratio", "", BENCH_AT_LEAST, 0.7, true},
      BENCH_NO_METRIC}},
    CHIP_CASE("amd"),
    CHIP_CASE("intel-gen1"),
    CHIP_CASE("intel-gen3"),
    CHIP_CASE("intel-gen4"),
    CHIP_CASE("intel-gen5"),
    CHIP_CASE("intel-gen6"),
    CHIP_CASE("epf"),
    CHIP_CASE("idt"),
    {"timed/boot",
     "boot of two machines whose link stays down, in virtual time and without",
     run_own_clusters,
     "timed boot",
     NULL,
     {{"free", "s", BENCH_NO_BOUND, 0, false},
      {"timed", "s", BENCH_NO_BOUND, 0, false},
      {"ratio", "", BENCH_AT_MOST, 2, true},
      BENCH_NO_METRIC}},
    {"timed/one-busy",
     "one of two machines computes, the link is up",
     run_own_clusters,
     "timed one-busy",
     NULL,
     {{"free", "s", BENCH_NO_BOUND, 0, false},
      {"timed", "s", BENCH_NO_BOUND, 0, false},
      {"ratio", "", BENCH_AT_MOST, 2, true},
      BENCH_NO_METRIC}},
    {"timed/two-busy",
     "both compute, the link of 350 ns is up, and nothing crosses",
     run_own_clusters,
     "timed two-busy",
     NULL,
     {{"free", "s", BENCH_NO_BOUND, 0, false},
      {"timed", "s", BENCH_NO_BOUND, 0, false},
      {"ratio", "", BENCH_AT_MOST, 6, true},
      BENCH_NO_METRIC}},
    {"timed/link",
     "two machines in virtual time: boot until the link is up, and each crossing",
     run_own_clusters,
     "timed link",
     NULL,
     {{"up", "s", BENCH_AT_MOST, 20, false},
      {"crossing", "us", BENCH_NO_BOUND, 0, false},
      BENCH_NO_METRIC}},
    {"timed/borrowed",
     "from nothing to a borrowed drive that is mounted, in virtual time",
     run_own_clusters,
     "timed borrowed",
     NULL,
     {{"mounted", "s", BENCH_AT_MOST, 60, false}, BENCH_NO_METRIC}},
    BENCH_NO_CASE,
};
