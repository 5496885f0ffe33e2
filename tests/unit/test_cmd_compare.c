/* SPDX-License-Identifier: MIT */
/*
 * Invariants: the exit status of `farside compare` is 0 for equal, 1 for
 * different, and 2 for bad usage or input. The message names the fault. Files
 * and folders are compared by the same rules. The environment variable FARSIDE
 * is the path of the program.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "../suite.h"

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

static bool has_file(const char *name)
{
    g_autofree char *path = program_place(name);

    return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

static void put_usual_files(void)
{
    program_put("base.csv", "s,x_bytes,y\na,1,1.00\na,2,2.00\n");
    program_put("same.csv", "s,x_bytes,y\na,2,2.00\na,1,1.00\n");
    program_put("near.csv", "s,x_bytes,y\na,1,1.01\na,2,2.00\n");
    program_put("less.csv", "s,x_bytes,y\na,1,1.00\n");
    program_put("bad.csv", "s,x_bytes,y\na,1\n");
    program_put("text.csv", "s,x_bytes,y\na,1,1.00\na,2,far\n");
    program_put("lat.csv", "# better: y lower\ns,x_bytes,y\na,1,1.00\n"
                           "a,2,1.50\n");
    program_put("bw.csv", "# better: y higher\ns,x_bytes,y\na,1,1.00\n"
                          "a,2,1.50\n");
    program_put("about.csv", "# accuracy: 0.5%\ns,x_bytes,y\na,1,1.00\n"
                             "a,2,2.00\n");
    program_put("dir/base.csv", "s,x_bytes,y\na,1,1.00\na,2,2.00\n");
}

static const struct {
    const char *arguments;
    int status;
    const char *out;
    const char *err;
} runs[] = {
    {"compare base.csv same.csv", 0, "same: 2 points", ""},
    {"compare base.csv near.csv", 1, "DIFFERENT: 2 points, 1 outside", ""},
    {"compare base.csv near.csv --tolerance 1%", 0, "same: 2 points", ""},
    {"compare --tolerance=y=0.99% base.csv near.csv", 1, "1 outside", ""},
    {"compare --tolerance y=+-0.01 base.csv near.csv", 0, "same", ""},
    {"compare base.csv less.csv", 1, "1 missing, 0 extra", ""},
    {"compare less.csv base.csv", 1, "0 missing, 1 extra", ""},
    {"compare base.csv text.csv --tolerance 100%", 1, "1 outside", ""},
    {"compare base.csv same.csv --key s,x_bytes --x s", 0, "same", ""},
    {"compare --worst 0 -- base.csv same.csv", 0, "same", ""},
    {"compare base.csv about.csv", 2, "",
     "the other table has values that are known within 0.5% only"},
    {"compare about.csv base.csv", 2, "",
     "the baseline has values that are known"},
    {"compare base.csv lat.csv --one-sided", 0, "same: 2 points", ""},
    {"compare base.csv bw.csv --one-sided", 1, "1 outside", ""},
    {"compare base.csv lat.csv", 1, "1 outside", ""},
    {"compare bw.csv base.csv --one-sided", 0, "same: 2 points", ""},
    {"compare base.csv less.csv --subset", 0, "same: 1 points", ""},
    {"compare less.csv base.csv --subset", 1, "1 extra", ""},
    {"compare --only-failures base.csv near.csv", 1,
     "a / 1         y           1.00  1.01    1.000  OUTSIDE\n\nDIFFERENT: 2 "
     "points",
     ""},
    {"compare --only-failures base.csv same.csv", 0,
     "Total: same, 0 of 1 files differ; 2 points, 0 outside", ""},
    {"compare -m base.csv near.csv", 1,
     "| a / 1 | y | 1.00 | 1.01 | 1.000 | OUTSIDE |\n", ""},
    {"compare dir dir", 0, "\nTotal: same, 0 of 1 files differ; 2 points", ""},
    {"compare --help", 0, "farside compare [OPTION", ""},
    {"--help", 0, "compare", ""},
    {"--version", 0, "farside 0.", ""},
    {"compare base.csv", 2, "", "it takes BASELINE NEW"},
    {"compare base.csv same.csv near.csv", 2, "", "it takes BASELINE NEW"},
    {"compare base.csv gone.csv", 2, "", "cannot read gone.csv"},
    {"compare . gone", 2, "", "cannot read gone: there is no such"},
    {"compare base.csv bad.csv", 2, "",
     "bad.csv:2: this line is no row of the table: 2 cells"},
    {"compare base.csv dir", 2, "", "dir is a folder, the other is not; name"},
    {"report base.csv -o x.html", 2, "",
     "base.csv is no folder that can be read; name"},
    {"compare base.csv same.csv --tolerance 1", 2, "", "tolerance \"1\""},
    {"compare base.csv same.csv --tolerance z=1%", 2, "", "no such column"},
    {"compare base.csv same.csv --key s", 2, "", "two rows"},
    {"compare base.csv same.csv --key q", 2, "", "no column \"q\""},
    {"compare base.csv same.csv --x y", 2, "", "not part of the key"},
    {"compare base.csv same.csv --worst -1", 2, "", "--worst"},
    {"compare base.csv same.csv --frob", 2, "", "--frob"},
    {"compare base.csv same.csv --junit base.csv/x", 2, "", "base.csv"},
    {"check teaching/two-hosts.yaml", 0,
     ", 2 hosts, 1 link, 2 flows, 52 points: no errors", ""},
    {"path teaching/two-hosts.yaml", 0, "iommu-off, direction=write", ""},
    {"fit teaching/two-hosts.yaml -p parts.generic-host.memory.reads=1..2", 2,
     "", "there are no published values to fit to"},
    {"fit teaching/two-hosts.yaml --set workload.accuracy=1% "
     "-p parts.generic-host.memory.reads=1..2",
     2, "", "a fit needs exact values; remove workload.accuracy"},
    {"fit oracles/pciebench-haswell/latency.yaml -p parts.nfp-6000.tagz=1..2",
     2, "", "--param: path 'parts.nfp-6000.tagz' leads nowhere"},
    {"", 2, "", "a verb is missing"},
    {"comapre", 2, "", "did you mean compare?"},
    {"cluster statsu", 2, "", "\"statsu\"; did you mean status?"},
    {"frobnicate", 2, "", "there is no verb \"frobnicate\"; there are bench"},
};

START_TEST(exit_status_tells_what_happened)
{
    int status;

    put_usual_files();
    status = program_run(runs[_i].arguments);
    ck_assert_msg(status == runs[_i].status, "\"%s\" gave %d\n%s%s",
                  runs[_i].arguments, status, program_out, program_err);
    ck_assert_msg(strstr(program_out, runs[_i].out), "\"%s\" printed:\n%s",
                  runs[_i].arguments, program_out);
    ck_assert_msg(strstr(program_err, runs[_i].err), "\"%s\" complained:\n%s",
                  runs[_i].arguments, program_err);
    ck_assert_int_eq(*program_err != '\0', runs[_i].status == 2);
}
END_TEST

START_TEST(worst_point_is_printed_first)
{
    const char *bad;
    const char *good;

    program_put("a.csv", "s,x,y\na,1,1.00\na,2,2.00\na,3,3.00\n");
    program_put("b.csv", "s,x,y\na,1,1.00\na,2,2.02\na,3,3.60\n");
    ck_assert_int_eq(program_run("compare a.csv b.csv --tolerance 5%"), 1);
    bad = strstr(program_out, "a / 3 ");
    good = strstr(program_out, "a / 2 ");
    ck_assert_ptr_nonnull(bad);
    ck_assert_ptr_nonnull(good);
    ck_assert(bad < good);
    ck_assert_ptr_nonnull(strstr(bad, "20.000  OUTSIDE"));
    ck_assert_ptr_nonnull(strstr(good, "1.000  ok"));
}
END_TEST

START_TEST(folders_are_compared_file_by_file)
{
    program_put("old/a.csv", "s,y\na,1.00\n");
    program_put("old/b.csv", "s,z\na,1.00\n");
    program_put("old/notes.txt", "no table");
    program_put("new/a.csv", "s,y\na,1.00\n");
    program_put("new/b.csv", "s,z\na,1.00\n");
    ck_assert_int_eq(program_run("compare old new"), 0);
    /* A tolerance may name a column that only some of the files have. */
    ck_assert_int_eq(program_run("compare old new --tolerance z=1%"), 0);
    ck_assert_int_eq(program_run("compare old new --tolerance w=1%"), 2);
    /* One file that differs is enough, wherever it stands in the list. */
    program_put("new/a.csv", "s,y\na,1.10\n");
    ck_assert_int_eq(program_run("compare old new"), 1);
    program_put("new/a.csv", "s,y\na,1.00\n");
    program_put("new/c.csv", "s,y\na,1.00\n");
    ck_assert_int_eq(program_run("compare old new"), 1);
    ck_assert_ptr_nonnull(strstr(program_out, "c.csv: EXTRA"));
    ck_assert_int_eq(program_run("compare new old --junit j.xml"), 1);
    ck_assert_ptr_nonnull(strstr(program_out, "1 missing"));
    ck_assert(has_file("j.xml"));
    program_put("new/b.csv", "s,z\na,1.10\n");
    ck_assert_int_eq(program_run("compare old new"), 1);
    ck_assert_int_eq(program_run("compare old/b.csv new"), 2);
    program_put("empty/notes.txt", "no table");
    ck_assert_int_eq(program_run("compare empty new"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "no CSV file in empty"));
}
END_TEST

START_TEST(plots_are_drawn_for_each_column_of_numbers)
{
    g_autofree char *path = NULL, *svg = NULL;

    program_put("a.csv", "p,s,x,y\nq,a,1,1.0\nq,a,2,2.0\n");
    program_put("b.csv", "s,t_us,note,u_us\na,1.0,n,2.0\n");
    ck_assert_int_eq(program_run("compare a.csv a.csv --plot out/a"), 0);
    ck_assert(has_file("out/a.svg"));
    ck_assert(has_file("out/a.png"));
    ck_assert_int_eq(program_run("compare b.csv b.csv --plot out/b"), 0);
    ck_assert(has_file("out/b-t_us.svg"));
    ck_assert(has_file("out/b-u_us.png"));
    ck_assert(!has_file("out/b-note.svg"));
    /* One point 10 % above the baseline: the axis needs that much. */
    program_put("c.csv", "p,s,x,y\nq,a,1,1.0\nq,a,2,2.2\n");
    ck_assert_int_eq(program_run("compare a.csv c.csv --plot out/c"), 1);
    ck_assert(has_file("out/c.delta.svg"));
    ck_assert(has_file("out/c.delta.png"));
    path = program_place("out/c.delta.svg");
    ck_assert(g_file_get_contents(path, &svg, NULL, NULL));
    ck_assert_ptr_nonnull(strstr(svg, ">10<"));
}
END_TEST

int main(void)
{
    g_autofree char *gnuplot = g_find_program_in_path("gnuplot");
    Suite *suite = suite_create("cmd_compare");
    TCase *tcase = tcase_create("compare");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_loop_test(tcase, exit_status_tells_what_happened, 0,
                        G_N_ELEMENTS(runs));
    tcase_add_test(tcase, worst_point_is_printed_first);
    tcase_add_test(tcase, folders_are_compared_file_by_file);
    if (gnuplot) {
        tcase_add_test(tcase, plots_are_drawn_for_each_column_of_numbers);
    }
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
