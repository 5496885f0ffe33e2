/* SPDX-License-Identifier: MIT */
#include "cmd.h"

#include <stdio.h>
#include <unistd.h>

#include "bench_report.h"
#include "table_csv.h"
#include "table_file.h"
#include "topo_home.h"

static void begins(const char *name)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", name);
    }
}

static void tell(const char *text)
{
    fprintf(stderr, "farside bench: %s\n", text);
}

static int measure(const BenchRun *run, const GPtrArray *cases,
                   const char *output)
{
    g_auto(BenchReport) report;
    GError *error = NULL;

    bench_report_init(&report);
    bench_run(run, cases, &report);
    cmd_print_table(report.table);
    if (output && !table_write(report.csv, output, &error)) {
        return cmd_complain("bench", error);
    }
    return bench_run_judge(run, cases->len, &report) ? CMD_OK : CMD_DIFFERENT;
}

static int run_verb(const CmdVerb *verb, int argc, char **argv)
{
    g_autoptr(TopoHome) home = topo_home_find();
    char **patterns = NULL, *output = NULL;
    gboolean list = FALSE;
    BenchRun run = {.runs = 5, .begins = begins, .tell = tell};
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output,
         "Write the figures to FILE as CSV", "FILE"},
        {"only", 0, 0, G_OPTION_ARG_STRING_ARRAY, &patterns,
         "Run only benchmarks that match GLOB (* and ?); repeatable", "GLOB"},
        {"list", 0, 0, G_OPTION_ARG_NONE, &list,
         "List the benchmarks, and run none", NULL},
        {"runs", 0, 0, G_OPTION_ARG_INT, &run.runs,
         "Run each N times (default: 5)", "N"},
        {"scenarios", 0, 0, G_OPTION_ARG_FILENAME, &run.setup.scenarios,
         "Folder of the scenarios (default: those that came with Farside)",
         "DIR"},
        {"cluster", 'c', 0, G_OPTION_ARG_STRING, &run.setup.cluster,
         "Run vm/* on this cluster, or timed/* by this name", "NAME"},
        {"scripts", 0, 0, G_OPTION_ARG_FILENAME, &run.setup.scripts,
         "Folder of the programs of vm/* and timed/* (default: tests/cluster/bench)",
         "DIR"},
        {"require", 0, 0, G_OPTION_ARG_NONE, &run.require,
         "Fail if a benchmark cannot be run, instead of leaving it out", NULL},
        {"check", 0, 0, G_OPTION_ARG_NONE, &run.check,
         "Fail if the bound of a ratio does not hold", NULL},
        {"check-all", 0, 0, G_OPTION_ARG_NONE, &run.check_all,
         "Fail if any bound does not hold", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GPtrArray) cases = NULL;
    g_auto(CmdArgs) args = {.words = NULL};
    GError *error = NULL;
    int status;

    if (!cmd_parse(verb, argc, argv, entries, &args, &status)) {
        return status;
    }
    /* The benchmarks may take minutes, so the folder must not fail then. */
    if (bench_run_check(&run, &error) &&
        (!output || table_file_make_folder(output, &error))) {
        cases = bench_choose(patterns, &error);
    }
    if (!cases) {
        return cmd_complain("bench", error);
    }
    if (list) {
        bench_list(cases, puts);
        return CMD_OK;
    }
    if (!run.setup.scenarios) {
        run.setup.scenarios = g_strdup(home ? home->scenarios : "scenarios");
    }
    return measure(&run, cases, output);
}

const CmdVerb cmd_bench = {.name = "bench",
                           .summary = "measure how fast this program is",
                           .synopsis = "",
                           .run = run_verb};
