/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a figure is the median of its runs. A bound holds if the figure
 * is better than or equal to the bound. The CSV has one row for each figure;
 * the figure "ratio" is the quotient of the two speeds; `farside compare`
 * accepts the CSV. A benchmark that fails does not end the others. The exit
 * status is 0 for success, 1 if a benchmark failed, and 2 for bad usage. A
 * benchmark without its requirements is left out with a message. The
 * environment variable FARSIDE is the path of the program.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "bench_case.h"
#include "table.h"
#include "program.h"
#include "../suite.h"
#include "table_csv.h"

/* ---- Medians and bounds ----------------------------------------------- */

static const struct {
    unsigned count;
    double figures[5];
    double median;
} medians[] = {
    {1, {7}, 7},
    {2, {4, 1}, 2.5},
    {3, {9, 1, 4}, 4},
    {4, {8, 1, 2, 100}, 5},
    {5, {5, 4, 1, 2, 3}, 3},
};

START_TEST(median_is_the_middle)
{
    double figures[5];

    memcpy(figures, medians[_i].figures, sizeof(figures));
    ck_assert_double_eq(bench_median(figures, medians[_i].count),
                        medians[_i].median);
}
END_TEST

START_TEST(bounds_hold_at_the_wanted_value)
{
    BenchMetric metric = {"speed", "", BENCH_AT_LEAST, 2, false};

    ck_assert(bench_holds(&metric, 2));
    ck_assert(bench_holds(&metric, 3));
    ck_assert(!bench_holds(&metric, 1.99));
    metric.bound = BENCH_AT_MOST;
    ck_assert(bench_holds(&metric, 2));
    ck_assert(!bench_holds(&metric, 2.01));
    ck_assert(bench_holds(&metric, 1));
    metric.bound = BENCH_NO_BOUND;
    ck_assert(bench_holds(&metric, 1));
    ck_assert(bench_holds(&metric, 3));
}
END_TEST

typedef struct Script {
    const double *figures;
    unsigned *runs;
    unsigned fails_at;
} Script;

static bool run_script(const BenchCase *bench, const BenchSetup *setup,
                       double *ret_figures, GError **error)
{
    const Script *script = bench->data;
    unsigned run = (*script->runs)++;

    if (run == script->fails_at) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "run %u",
                    run);
        return false;
    }
    ret_figures[0] = script->figures[run];
    ret_figures[1] = -script->figures[run];
    return true;
}

START_TEST(result_is_the_median_with_the_extremes)
{
    static const double figures[] = {3, 1, 2, 10, 0.5};
    unsigned runs = 0;
    Script script = {figures, &runs, 5};
    BenchCase bench = {.name = "a/b",
                       .run = run_script,
                       .data = &script,
                       .metrics = {{"up", "", BENCH_NO_BOUND, 0, false},
                                   {"down", "", BENCH_NO_BOUND, 0, false},
                                   BENCH_NO_METRIC}};
    BenchSetup setup = {.scenarios = "."};
    BenchResult result;
    GError *error = NULL;

    ck_assert(bench_measure(&bench, &setup, 5, &result, NULL));
    ck_assert_uint_eq(result.runs, 5);
    ck_assert_uint_eq(runs, 5);
    ck_assert_double_eq(result.median[0], 2);
    ck_assert_double_eq(result.least[0], 0.5);
    ck_assert_double_eq(result.most[0], 10);
    ck_assert_double_eq(result.median[1], -2);
    ck_assert_double_eq(result.least[1], -10);

    runs = 0;
    script.fails_at = 2;
    ck_assert(!bench_measure(&bench, &setup, 5, &result, &error));
    ck_assert_str_eq(error->message, "run 2");
    ck_assert_uint_eq(runs, 3);
    g_error_free(error);
}
END_TEST

/* ---- The verb --------------------------------------------------------- */

static const struct {
    const char *arguments;
    int status;
    const char *out;
    const char *err;
} runs[] = {
    {"bench --help", 0, "farside bench [OPTION", ""},
    {"bench --list", 0, "engine/hold-1Mi ", ""},
    {"bench --list --only model/*", 0, "model/stream ", ""},
    {"bench --runs 1 --only model/ntb --only model/senders", 0, "model/senders",
     ""},
    {"bench --runs 1 --only run/* --scenarios nowhere", 0, "benchmark",
     "run/fig10 is left out"},
    {"bench --runs 1 --only run/fig10 --scenarios nowhere --check-all", 0,
     "benchmark", "nowhere/paper/fig10/fig10.yaml"},
    {"bench --only model", 2, "", "no benchmark matches \"model\""},
    {"bench --only model/* --only x", 2, "", "matches \"x\""},
    {"bench --runs 0", 2, "", "--runs takes 1 to"},
    {"bench --runs 1002", 2, "", "--runs takes 1 to"},
    {"bench engine", 2, "", "it takes options alone"},
    {"bench --only model/ntb -o /dev/null/x/a.csv", 2, "",
     "cannot make the folder /dev/null/x"},
};

START_TEST(exit_status_tells_what_happened)
{
    int status = program_run(runs[_i].arguments);

    ck_assert_msg(status == runs[_i].status, "%s: %d\n%s", runs[_i].arguments,
                  status, program_err);
    ck_assert_msg(strstr(program_out, runs[_i].out), "%s", program_out);
    ck_assert_msg(strstr(program_err, runs[_i].err), "%s", program_err);
}
END_TEST

START_TEST(only_chooses)
{
    ck_assert_int_eq(program_run("bench --list --only engine/*-64"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "engine/hold-64 "));
    ck_assert_ptr_nonnull(strstr(program_out, "engine/spread-64 "));
    ck_assert_ptr_null(strstr(program_out, "engine/hold-16Ki"));
    ck_assert_ptr_null(strstr(program_out, "model/"));
}
END_TEST

START_TEST(csv_has_a_row_a_figure)
{
    static const char *const names[] = {"ours", "heap", "ratio"};
    g_autofree char *path = program_place("a.csv");
    g_autoptr(Table) table = NULL;
    double value[G_N_ELEMENTS(names)];

    ck_assert_int_eq(
        program_run("bench --runs 1 --only engine/hold-64 -o a.csv"), 0);
    table = table_read(path, NULL);
    ck_assert_ptr_nonnull(table);
    ck_assert_uint_eq(table_n_rows(table), G_N_ELEMENTS(names));
    ck_assert_str_eq(table_column_name(table, 3), "value");
    ck_assert_uint_eq(table_column_digits(table, 3), 3);
    ck_assert_str_eq(table_column_name(table, 6), "runs");
    ck_assert_int_eq(table_number(table, 0, 6), 1);
    ck_assert_int_eq(table_number(table, 0, 4), table_number(table, 0, 3));
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        ck_assert_str_eq(table_text(table, i, 0), "engine/hold-64");
        ck_assert_str_eq(table_text(table, i, 1), names[i]);
        value[i] = (double)table_number(table, i, 3) / 1000;
        ck_assert_double_gt(value[i], 0);
    }
    /* Each figure is rounded to thousandths. */
    ck_assert_double_eq_tol(value[2] * value[1], value[0],
                            0.001 * (value[1] + value[2] + 1));
    ck_assert_int_eq(program_run("compare a.csv a.csv"), 0);
}
END_TEST

START_TEST(scenario_that_fails_is_an_error)
{
    program_put("paper/fig10/fig10.yaml", "nonsense: 1\n");
    ck_assert_int_eq(program_run("bench --only run/fig10 --scenarios ."), 1);
    ck_assert_ptr_nonnull(strstr(program_err, "run/fig10"));
}
END_TEST

/* ---- On a cluster ----------------------------------------------------- */

#define ON_CLUSTER "bench --only vm/doorbell --runs 1 -c lab --scripts ."

/* Scripts that take the place of vm/doorbell's, which needs a guest. */
static const struct {
    const char *script;
    const char *arguments;
    int status;
    const char *out;
    const char *err;
} on_cluster[] = {
    {"echo ntb 1200; echo shm 1000; echo ratio 1.2", ON_CLUSTER " --check", 0,
     " 1.20 ", ""},
    {"echo ratio 1.3; echo shm 1; echo other 3; echo ntb 1",
     ON_CLUSTER " --check", 0, "yes", ""},
    {"echo ntb 1; echo shm 1; echo ratio 1.31", ON_CLUSTER " --check", 1, "NO",
     "a bound does not hold"},
    {"echo ntb 1; echo shm 1; echo ratio 1.31", ON_CLUSTER, 0, "NO", ""},
    {"echo ntb 1; echo ratio 1", ON_CLUSTER, 1, "",
     "vm/doorbell: ./doorbell: it printed no line \"shm VALUE\""},
    {"echo ntb 1; echo shm; echo ratio 1", ON_CLUSTER, 1, "", "\"shm VALUE\""},
    {"echo ntb 1; echo shm none; echo ratio 1", ON_CLUSTER, 1, "",
     "\"shm VALUE\""},
    {"echo ntb 1; echo shm 1x; echo ratio 1", ON_CLUSTER, 1, "",
     "\"shm VALUE\""},
    {"echo ntb 1; echo shm 1; echo ratio 1; exit 3", ON_CLUSTER, 1, "",
     "vm/doorbell: ./doorbell: "},
    {"echo why >&2; exit 1", ON_CLUSTER, 1, "", "why"},
    {"kill -9 $$", ON_CLUSTER, 1, "", "vm/doorbell: ./doorbell: "},
    {"echo ntb 1; echo shm 1; [ \"$CLUSTER\" = lab ] && "
     "\"$FARSIDE\" --help | grep -q bench && echo ratio 1",
     ON_CLUSTER, 0, "yes", ""},
    /* Two runs alike after a cold one, then the one that counts: the fourth. */
    {"n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n; echo shm 1; "
     "case $n in 0) echo ntb 900;; 3) echo ntb 105;; *) echo ntb 100;; esac; "
     "echo ratio 1",
     ON_CLUSTER, 0, " 105.00 ", ""},
    {"exit 1", "bench --only vm/* --require", 1, "",
     "cannot be run, but --require asks for all"},
    {"exit 1", "bench --only vm/* --check-all", 0, "",
     "vm/doorbell is left out: it needs --cluster"},
};

START_TEST(a_program_tells_the_figures)
{
    g_autofree char *file = program_place("doorbell");
    g_autofree char *script =
        g_strconcat("#!/bin/sh\n", on_cluster[_i].script, "\n", NULL);
    int status;

    ck_assert(g_file_set_contents_full(file, script, -1,
                                       G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    status = program_run(on_cluster[_i].arguments);
    ck_assert_msg(status == on_cluster[_i].status, "%d\n%s", status,
                  program_err);
    ck_assert_msg(strstr(program_out, on_cluster[_i].out), "%s", program_out);
    ck_assert_msg(strstr(program_err, on_cluster[_i].err), "%s", program_err);
}
END_TEST

START_TEST(others_are_measured_if_one_fails)
{
    g_autofree char *doorbell = program_place("doorbell");
    g_autofree char *perf = program_place("ntb-perf");
    g_autofree char *path = program_place("some.csv");
    g_autoptr(Table) table = NULL;

    ck_assert(g_file_set_contents_full(doorbell, "#!/bin/sh\nexit 1\n", -1,
                                       G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    ck_assert(g_file_set_contents_full(perf, "#!/bin/sh\necho write 12\n", -1,
                                       G_FILE_SET_CONTENTS_NONE, 0755, NULL));
    ck_assert_int_eq(program_run("bench --only vm/doorbell --only vm/ntb-perf "
                                 "-c lab --scripts . -o some.csv"),
                     1);
    ck_assert_ptr_nonnull(strstr(program_out, "vm/doorbell  failed "));
    ck_assert_ptr_nonnull(strstr(program_out, " 12.00 "));
    ck_assert_ptr_nonnull(strstr(program_err, "vm/doorbell: ./doorbell: "));
    ck_assert_ptr_nonnull(strstr(program_err, "1 of 2 benchmarks failed"));
    table = table_read(path, NULL);
    ck_assert_ptr_nonnull(table);
    ck_assert_str_eq(table_find_head(table, "failed"), "vm/doorbell");
    ck_assert_uint_eq(table_n_rows(table), 1);
    ck_assert_str_eq(table_text(table, 0, 0), "vm/ntb-perf");
    ck_assert_int_eq(table_number(table, 0, 3), 12000);
}
END_TEST

START_TEST(a_program_that_is_missing_is_an_error)
{
    ck_assert_int_eq(program_run("bench --only vm/doorbell -c lab"), 1);
    ck_assert_ptr_nonnull(
        strstr(program_err, "vm/doorbell: tests/cluster/bench/doorbell: "));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_bench");
    TCase *tcase = tcase_create("bench");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, median_is_the_middle, 0, G_N_ELEMENTS(medians));
    tcase_add_test(tcase, bounds_hold_at_the_wanted_value);
    tcase_add_test(tcase, result_is_the_median_with_the_extremes);
    tcase_add_loop_test(tcase, exit_status_tells_what_happened, 0,
                        G_N_ELEMENTS(runs));
    tcase_add_test(tcase, only_chooses);
    tcase_add_test(tcase, csv_has_a_row_a_figure);
    tcase_add_test(tcase, scenario_that_fails_is_an_error);
    tcase_add_loop_test(tcase, a_program_tells_the_figures, 0,
                        G_N_ELEMENTS(on_cluster));
    tcase_add_test(tcase, others_are_measured_if_one_fails);
    tcase_add_test(tcase, a_program_that_is_missing_is_an_error);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
