/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <unistd.h>

#include "bench_report.h"
#include "table_csv.h"
#include "table_file.h"
#include "topo_home.h"

#define RUNS_MAX 1001

typedef struct Options {
    char **patterns;
    char *output;
    char *scenarios;
    char *cluster;
    char *scripts;
    int runs;
    gboolean list;
    gboolean require;
    gboolean check;
    gboolean check_all;
} Options;

static void print_list(const GPtrArray *cases)
{
    for (unsigned i = 0; i < cases->len; i++) {
        const BenchCase *bench = cases->pdata[i];

        printf("%-20s %s\n", bench->name, bench->help);
    }
}

/* ---- Running ---------------------------------------------------------- */

static void run_case(const BenchCase *bench, const BenchSetup *setup,
                     unsigned runs, BenchReport *report)
{
    bool shows_progress = isatty(STDERR_FILENO);
    GError *error = NULL;
    BenchResult result;
    bool ran;

    if (shows_progress) {
        fprintf(stderr, "\r\033[K%s", bench->name);
    }
    ran = bench_measure(bench, setup, runs, &result, &error);
    if (shows_progress) {
        fputs("\r\033[K", stderr);
    }
    if (!ran) {
        cmd_complain("bench", error);
        bench_report_failure(report, bench);
        return;
    }
    bench_report_result(report, bench, &result);
}

/* A benchmark that fails does not end the others: they may have taken
 * minutes. */
static void run_cases(const GPtrArray *cases, const Options *options,
                      BenchReport *report)
{
    BenchSetup setup = {.scenarios = options->scenarios,
                        .cluster = options->cluster,
                        .scripts = options->scripts};

    for (unsigned i = 0; i < cases->len; i++) {
        const BenchCase *bench = cases->pdata[i];
        g_autofree char *reason = bench_refusal(bench, &setup);

        if (!reason) {
            run_case(bench, &setup, (unsigned)options->runs, report);
            continue;
        }
        fprintf(stderr, "farside bench: %s is left out: %s\n", bench->name,
                reason);
        if (options->require) {
            fprintf(stderr,
                    "farside bench: %s cannot be run, but --require asks for "
                    "all\n",
                    bench->name);
            bench_report_failure(report, bench);
        }
    }
}

static int run(const GPtrArray *cases, const Options *options)
{
    g_auto(BenchReport) report;
    GError *error = NULL;

    bench_report_init(&report);
    run_cases(cases, options, &report);
    cmd_print_table(report.table);
    if (options->output && !table_write(report.csv, options->output, &error)) {
        return cmd_complain("bench", error);
    }
    if (report.failed > 0) {
        fprintf(stderr, "farside bench: %u of %u benchmarks failed\n",
                report.failed, cases->len);
    }
    if ((options->check_all && report.broken) ||
        (options->check && report.broken_ratios)) {
        fputs("farside bench: a bound does not hold\n", stderr);
        return CMD_DIFFERENT;
    }
    return report.failed > 0 ? CMD_DIFFERENT : CMD_OK;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    Options options = {.runs = 5};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
         "Write the figures to FILE as CSV", "FILE"},
        {"only", 0, 0, G_OPTION_ARG_STRING_ARRAY, &options.patterns,
         "Run only benchmarks that match GLOB (* and ?); repeatable", "GLOB"},
        {"list", 0, 0, G_OPTION_ARG_NONE, &options.list,
         "List the benchmarks, and run none", NULL},
        {"runs", 0, 0, G_OPTION_ARG_INT, &options.runs,
         "Run each N times (default: 5)", "N"},
        {"scenarios", 0, 0, G_OPTION_ARG_FILENAME, &options.scenarios,
         "Folder of the scenarios (default: those that came with Farside)",
         "DIR"},
        {"cluster", 'c', 0, G_OPTION_ARG_STRING, &options.cluster,
         "Run vm/* on this cluster, or timed/* by this name", "NAME"},
        {"scripts", 0, 0, G_OPTION_ARG_FILENAME, &options.scripts,
         "Folder of the programs of vm/* and timed/* (default: tests/cluster/bench)",
         "DIR"},
        {"require", 0, 0, G_OPTION_ARG_NONE, &options.require,
         "Fail if a benchmark cannot be run, instead of leaving it out", NULL},
        {"check", 0, 0, G_OPTION_ARG_NONE, &options.check,
         "Fail if the bound of a ratio does not hold", NULL},
        {"check-all", 0, 0, G_OPTION_ARG_NONE, &options.check_all,
         "Fail if any bound does not hold", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) cases = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    const char *vain;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    if (options.runs < 1 || options.runs > RUNS_MAX) {
        return cmd_usage("bench", "--runs takes 1 to %d", RUNS_MAX);
    }
    /* The benchmarks may take minutes, so this must not fail afterwards. */
    if (options.output && !table_file_make_folder(options.output, &error)) {
        return cmd_complain("bench", error);
    }
    vain = bench_find_unmatched(options.patterns);
    if (vain) {
        return cmd_usage("bench",
                         "no benchmark matches \"%s\"; --list names them all",
                         vain);
    }
    if (!options.scenarios) {
        g_autoptr(TopoHome) home = topo_home_find();

        options.scenarios = g_strdup(home ? home->scenarios : "scenarios");
    }
    if (!options.scripts) {
        options.scripts = g_strdup("tests/cluster/bench");
    }
    cases = bench_choose(options.patterns);
    if (options.list) {
        print_list(cases);
        return CMD_OK;
    }
    return run(cases, &options);
}

const CmdVerb cmd_bench = {.name = "bench",
                           .summary = "measure how fast this program is",
                           .synopsis = "",
                           .run = run_verb};
