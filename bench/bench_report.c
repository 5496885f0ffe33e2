/* SPDX-License-Identifier: MIT */
#include "bench_report.h"

#include <math.h>

#define TABLE_DIGITS 2
#define CSV_DIGITS   3
#define RUNS_MAX     1001

static bool is_wanted(const BenchCase *bench, char **patterns)
{
    if (!patterns) {
        return true;
    }
    for (; *patterns; patterns++) {
        if (g_pattern_match_simple(*patterns, bench->name)) {
            return true;
        }
    }
    return false;
}

static GPtrArray *choose(char **patterns)
{
    static const BenchCase *const groups[] = {
        bench_engine_cases, bench_model_cases, bench_scenario_cases,
        bench_cluster_cases};
    GPtrArray *cases = g_ptr_array_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(groups); i++) {
        for (const BenchCase *bench = groups[i]; bench->name; bench++) {
            if (is_wanted(bench, patterns)) {
                g_ptr_array_add(cases, (void *)bench);
            }
        }
    }
    return cases;
}

GPtrArray *bench_choose(char **patterns, GError **error)
{
    for (char **pattern = patterns; pattern && *pattern; pattern++) {
        char *one[] = {*pattern, NULL};
        g_autoptr(GPtrArray) cases = choose(one);

        if (cases->len == 0) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "no benchmark matches \"%s\"; --list names them all",
                        *pattern);
            return NULL;
        }
    }
    return choose(patterns);
}

void bench_list(const GPtrArray *cases, int (*print)(const char *line))
{
    for (unsigned i = 0; i < cases->len; i++) {
        const BenchCase *bench = cases->pdata[i];
        g_autofree char *line =
            g_strdup_printf("%-20s %s", bench->name, bench->help);

        print(line);
    }
}

enum {
    TABLE_BENCHMARK,
    TABLE_FIGURE,
    TABLE_MEDIAN,
    TABLE_LEAST,
    TABLE_MOST,
    TABLE_UNIT,
    TABLE_RUNS,
    TABLE_WANTED,
    TABLE_HOLDS,
};

enum {
    CSV_BENCHMARK,
    CSV_METRIC,
    CSV_UNIT,
    CSV_VALUE,
    CSV_LEAST,
    CSV_MOST,
    CSV_RUNS,
};

void bench_report_init(BenchReport *report)
{
    static const TableColumn table_columns[] = {
        {"benchmark", TABLE_TEXT, 0},
        {"figure", TABLE_TEXT, 0},
        {"median", TABLE_DECIMAL, TABLE_DIGITS},
        {"least", TABLE_DECIMAL, TABLE_DIGITS},
        {"most", TABLE_DECIMAL, TABLE_DIGITS},
        {"unit", TABLE_TEXT, 0},
        {"runs", TABLE_INTEGER, 0},
        {"wanted", TABLE_TEXT, 0},
        {"holds", TABLE_TEXT, 0},
    };
    static const TableColumn csv_columns[] = {
        {"benchmark", TABLE_TEXT, 0},
        {"metric", TABLE_TEXT, 0},
        {"unit", TABLE_TEXT, 0},
        {"value", TABLE_DECIMAL, CSV_DIGITS},
        {"least", TABLE_DECIMAL, CSV_DIGITS},
        {"most", TABLE_DECIMAL, CSV_DIGITS},
        {"runs", TABLE_INTEGER, 0},
    };

    *report = (BenchReport){.table = table_new(), .csv = table_new()};
    table_add_columns(report->table, table_columns,
                      G_N_ELEMENTS(table_columns));
    table_add_columns(report->csv, csv_columns, G_N_ELEMENTS(csv_columns));
    table_add_head(report->csv, "farside", FARSIDE_VERSION);
    table_add_head(report->csv, "key", "benchmark,metric,unit");
    for (unsigned i = CSV_LEAST; i <= CSV_RUNS; i++) {
        table_add_head(report->csv, "spread", csv_columns[i].name);
    }
}

static int64_t fixed(double value, unsigned digits)
{
    return llround(value * pow(10, digits));
}

static void add_metric(BenchReport *report, const BenchCase *bench,
                       const BenchResult *result, unsigned index)
{
    static const char *const signs[] = {"", ">=", "<="};
    const BenchMetric *metric = &bench->metrics[index];
    double median = result->median[index];
    bool holds = bench_holds(metric, median);
    Table *table = report->table;
    unsigned row = table_add_row(table);

    table_set_text(table, row, TABLE_BENCHMARK, bench->name);
    table_set_text(table, row, TABLE_FIGURE, metric->name);
    table_set_number(table, row, TABLE_MEDIAN, fixed(median, TABLE_DIGITS));
    table_set_number(table, row, TABLE_LEAST,
                     fixed(result->least[index], TABLE_DIGITS));
    table_set_number(table, row, TABLE_MOST,
                     fixed(result->most[index], TABLE_DIGITS));
    table_set_text(table, row, TABLE_UNIT, metric->unit);
    table_set_number(table, row, TABLE_RUNS, result->runs);
    if (metric->bound != BENCH_NO_BOUND) {
        g_autofree char *wanted =
            g_strdup_printf("%s %g", signs[metric->bound], metric->wanted);

        table_set_text(table, row, TABLE_WANTED, wanted);
        table_set_text(table, row, TABLE_HOLDS, holds ? "yes" : "NO");
    }
    report->broken += !holds;
    report->broken_ratios += !holds && metric->is_ratio;

    row = table_add_row(report->csv);
    table_set_text(report->csv, row, CSV_BENCHMARK, bench->name);
    table_set_text(report->csv, row, CSV_METRIC, metric->name);
    table_set_text(report->csv, row, CSV_UNIT, metric->unit);
    table_set_number(report->csv, row, CSV_VALUE, fixed(median, CSV_DIGITS));
    table_set_number(report->csv, row, CSV_LEAST,
                     fixed(result->least[index], CSV_DIGITS));
    table_set_number(report->csv, row, CSV_MOST,
                     fixed(result->most[index], CSV_DIGITS));
    table_set_number(report->csv, row, CSV_RUNS, result->runs);
}

/* A benchmark without figures: a row of the table, and a head line of the CSV.
 */
static void report_failure(BenchReport *report, const BenchCase *bench)
{
    unsigned row = table_add_row(report->table);

    table_set_text(report->table, row, TABLE_BENCHMARK, bench->name);
    table_set_text(report->table, row, TABLE_FIGURE, "failed");
    table_set_text(report->table, row, TABLE_HOLDS, "NO");
    table_add_head(report->csv, "failed", bench->name);
    report->failed++;
}

static void report_result(BenchReport *report, const BenchCase *bench,
                          const BenchResult *result)
{
    for (unsigned i = 0; bench->metrics[i].name; i++) {
        add_metric(report, bench, result, i);
    }
}

void bench_report_done(BenchReport *report)
{
    table_free(report->table);
    table_free(report->csv);
}

/* The reason for which @bench cannot be run, to be freed; NULL if it can. */
static char *refusal(const BenchCase *bench, const BenchSetup *setup)
{
    g_autofree char *file = NULL;

    if (bench_is_on_cluster(bench) && !setup->cluster) {
        return g_strdup("it needs --cluster; `make bench` starts one");
    }
    if (!bench->scenario) {
        return NULL;
    }
    file = g_build_filename(setup->scenarios, bench->scenario, NULL);
    return g_file_test(file, G_FILE_TEST_IS_REGULAR)
               ? NULL
               : g_strdup_printf("there is no %s; give its folder with "
                                 "--scenarios",
                                 file);
}

G_GNUC_PRINTF(2, 3)
static void tell(const BenchRun *run, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    run->tell(text);
}

static void run_case(const BenchRun *run, const BenchCase *bench,
                     BenchReport *report)
{
    g_autoptr(GError) error = NULL;
    BenchResult result;
    bool ran;

    run->begins(bench->name);
    ran =
        bench_measure(bench, &run->setup, (unsigned)run->runs, &result, &error);
    run->begins("");
    if (ran) {
        report_result(report, bench, &result);
    } else {
        run->tell(error->message);
        report_failure(report, bench);
    }
}

bool bench_run_check(const BenchRun *run, GError **error)
{
    if (run->runs >= 1 && run->runs <= RUNS_MAX) {
        return true;
    }
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "--runs takes 1 to %d", RUNS_MAX);
    return false;
}

void bench_run(const BenchRun *run, const GPtrArray *cases, BenchReport *report)
{
    for (unsigned i = 0; i < cases->len; i++) {
        const BenchCase *bench = cases->pdata[i];
        g_autofree char *reason = refusal(bench, &run->setup);

        if (!reason) {
            run_case(run, bench, report);
            continue;
        }
        tell(run, "%s is left out: %s", bench->name, reason);
        if (run->require) {
            tell(run, "%s cannot be run, but --require asks for all",
                 bench->name);
            report_failure(report, bench);
        }
    }
}

bool bench_run_judge(const BenchRun *run, unsigned count,
                     const BenchReport *report)
{
    bool is_broken = (run->check_all && report->broken > 0) ||
                     (run->check && report->broken_ratios > 0);

    if (report->failed > 0) {
        tell(run, "%u of %u benchmarks failed", report->failed, count);
    }
    if (is_broken) {
        run->tell("a bound does not hold");
    }
    return !is_broken && report->failed == 0;
}
