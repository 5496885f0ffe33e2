/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a history only grows. A drift is measured against the oldest
 * version, so steps that are each too small to be seen add up; the version that
 * left the band first is named. Exports are valid, and no number is lost.
 */
#include <math.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "program.h"
#include "../suite.h"

#define HEADER "version,time,scenario,point,column,unit,better,value\n"

static char *read_file(const char *name)
{
    g_autofree char *path = program_place(name);
    char *text = NULL;

    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
    return text;
}

/* Appends versions v1 to v@count. The bandwidth falls by 0.4 % with each; the
 * latency makes one step at v6; the hops never change. */
static void make_history(unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        g_autofree char *text = g_strdup_printf(
            "# scenario: x/drift.yaml\n# key: size\n# better: hops same\n"
            "size,bw_GBps,delay_ns,hops\n1,%.4f,%d.0,7\n2,5.0000,80.0,9\n",
            10.0 * pow(0.996, i - 1), i < 6 ? 100 : 104);
        g_autofree char *words = g_strdup_printf(
            "history all.csv --add v%u --time 2026-01-%02u r.csv", i, i);

        program_put("r.csv", text);
        ck_assert_msg(program_run(words) == 0, "%s", program_err);
    }
}

/* 10 * 0.996^2 = 9.9202 is within 1 %, 10 * 0.996^3 = 9.8805 is not. */
START_TEST(a_slow_drift_names_the_version_that_left_the_band)
{
    make_history(10);
    ck_assert_int_eq(program_run("history all.csv"), 1);
    ck_assert_msg(
        strstr(program_out, "bw_GBps    -3.543  v4            worse") &&
            strstr(program_out, "delay_ns    4.000  v6            worse  v6"),
        "%s", program_out);
    ck_assert_ptr_nonnull(strstr(program_out, "10 versions, 6 numbers: 2 left "
                                              "the band for the worse, 0 for"));
    ck_assert_ptr_null(strstr(program_out, "hops"));
    ck_assert_int_eq(program_run("history all.csv --band 5%"), 0);
    ck_assert_int_eq(program_run("history all.csv --band 5% --plot trend"), 0);
    g_free(read_file("trend.svg"));
}
END_TEST

/* No pair of neighbours differs by 1 %, so a comparison of neighbours sees
 * nothing. */
START_TEST(a_drift_to_the_better_is_no_failure)
{
    for (unsigned i = 1; i <= 10; i++) {
        g_autofree char *text =
            g_strdup_printf("size,bw_GBps\na,%.4f\n", 10.0 * pow(1.004, i - 1));
        g_autofree char *words =
            g_strdup_printf("history up.csv --add v%u r.csv", i);

        program_put("r.csv", text);
        ck_assert_int_eq(program_run(words), 0);
    }
    ck_assert_int_eq(program_run("history up.csv"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "v4            better"));
}
END_TEST

START_TEST(a_history_only_grows)
{
    g_autofree char *before = NULL, *after = NULL;

    make_history(2);
    before = read_file("all.csv");
    ck_assert_int_eq(program_run("history all.csv --add v2 r.csv"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "has the version \"v2\""));
    after = read_file("all.csv");
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(program_run("history all.csv --add v3 r.csv"), 0);
    g_free(after);
    after = read_file("all.csv");
    ck_assert(g_str_has_prefix(after, before));
    ck_assert_int_eq(program_run("history r.csv"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "r.csv is no history"));
}
END_TEST

/* Each of these would make a history that shows another one's trends, or none.
 */
static const struct {
    const char *words, *says;
} refusals[] = {
    {"history all.csv --add= r.csv", "the version must be a line of text"},
    {"history all.csv --add a\nb r.csv", "the version must be a line of text"},
    {"history all.csv --add v3 --time= r.csv",
     "the time must be a line of text"},
    {"history all.csv --add v3 r.csv r.csv",
     "r.csv: bw_GBps of \"drift\" at \"1\" is there twice"},
    {"history all.csv --add v3 rows.csv",
     "rows.csv: size of \"rows\" at \"\" is there twice"},
    {"history all.csv --add v3 empty.csv", "empty.csv has no numbers"},
    {"history all.csv --add v3 all.csv", "all.csv is a history, not a result"},
    {"history twice.csv",
     "twice.csv:4: version \"v1\" has this number already"},
    {"history zero.csv --plot p", "the history has no change to draw"},
    {"history head.csv --plot p", "the history has no change to draw"},
};

START_TEST(what_makes_no_trend_is_refused)
{
    g_autofree char *before = NULL, *after = NULL;

    make_history(2);
    program_put("rows.csv", "size,bw_GBps\n1,2.0\n2,3.0\n");
    program_put("empty.csv", "size,bw_GBps\n");
    program_put("twice.csv", HEADER "v1,,s,p,c,,none,1\nv2,,s,p,c,,none,1\n"
                                    "v1,,s,p,c,,none,2\n");
    program_put("head.csv", HEADER);
    program_put("zero.csv", HEADER "v1,,s,p,c,,none,0\nv2,,s,p,c,,none,1\n");
    before = read_file("all.csv");
    ck_assert_int_eq(program_run(refusals[_i].words), 2);
    ck_assert_msg(strstr(program_err, refusals[_i].says) != NULL, "%s",
                  program_err);
    after = read_file("all.csv");
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(a_last_line_without_end_is_ended)
{
    g_autofree char *before = NULL, *after = NULL;

    make_history(2);
    before = read_file("all.csv");
    before[strlen(before) - 1] = '\0';
    program_put("all.csv", before);
    ck_assert_int_eq(program_run("history all.csv --add v3 r.csv"), 0);
    after = read_file("all.csv");
    ck_assert(g_str_has_prefix(after, before));
    ck_assert_int_eq(program_run("history all.csv"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "3 versions, 6 numbers"));
}
END_TEST

START_TEST(an_empty_file_becomes_a_history)
{
    g_autofree char *text = NULL;

    program_put("r.csv", "size,bw_GBps\na,1.0\n");
    program_put("all.csv", "");
    ck_assert_int_eq(program_run("history all.csv --add v1 --time t r.csv"), 0);
    text = read_file("all.csv");
    ck_assert_str_eq(text, HEADER "v1,t,r,a,bw_GBps,GB/s,higher,1.0\n");
}
END_TEST

/* 1.9 and 1.90 are two versions, and numbers of all sizes stay readable. */
START_TEST(a_version_may_look_like_a_number)
{
    static const char *const versions[] = {"1.9", "1.10", "1.90"};

    program_put("r.csv", "# key: size\nsize,bytes,time_s\n"
                         "a,25769803776,0.000000001\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(versions); i++) {
        g_autofree char *words =
            g_strdup_printf("history all.csv --add %s r.csv", versions[i]);

        ck_assert_msg(program_run(words) == 0, "%s", program_err);
        ck_assert_int_eq(program_run(words), 2);
        ck_assert_ptr_nonnull(strstr(program_err, "already"));
    }
    ck_assert_msg(program_run("history all.csv") == 0, "%s", program_err);
    ck_assert_ptr_nonnull(strstr(program_out, "3 versions, 2 numbers: 0 left"));
}
END_TEST

/* The reader takes 2^20 cells, the header's included: 131071 rows. */
START_TEST(a_full_history_stays_readable)
{
    g_autoptr(GString) text = g_string_new(HEADER);

    for (unsigned i = 0; i < (1 << 20) / 8 - 2; i++) {
        g_string_append_printf(text, "v1,,s,%u,c,,none,1\n", i);
    }
    program_put("r.csv", "name,v\na,1\n");
    program_put("all.csv", text->str);
    ck_assert_int_eq(program_run("history all.csv --add v2 r.csv"), 0);
    ck_assert_int_eq(program_run("history all.csv --add v3 r.csv"), 2);
    ck_assert_ptr_nonnull(strstr(program_err, "has no room for these results"));
    ck_assert_int_eq(program_run("history all.csv"), 0);
    ck_assert_ptr_nonnull(strstr(program_out, "2 versions, 131071 numbers"));
}
END_TEST

static const struct {
    const char *words;
    int status;
    const char *says;
} exports[] = {
    {"export -f github-bigger r.csv", 0,
     "[\n {\"name\": \"drift: 1: bw_GBps\", \"unit\": \"GB/s\", \"value\": "
     "9.9600},\n {\"name\": \"drift: 2: bw_GBps\", \"unit\": \"GB/s\", "
     "\"value\": 5.0000}\n]\n"},
    {"export -f github-smaller r.csv", 0,
     "[\n {\"name\": \"drift: 1: delay_ns\", \"unit\": \"ns\", \"value\": "
     "100.0},\n"},
    {"export -f bencher r.csv", 0,
     "{\n \"drift: 1\": {\n  \"bw_GBps\": {\"value\": 9.9600},\n  \"delay_ns\": "
     "{\"value\": 100.0},\n  \"hops\": {\"value\": 7}\n },\n \"drift: 2\": {"},
    {"export -f junit r.csv", 0,
     "<testcase classname=\"drift\" name=\"1: bw_GBps\"><system-out>9.9600 "
     "GB/s</system-out></testcase>"},
    {"export -f junit part.csv", 0,
     "tests=\"2\" failures=\"1\">\n<testcase classname=\"part\" name=\"a: "
     "v_ns\"><system-out>1 ns</system-out></testcase>\n<testcase "
     "classname=\"part\" name=\"b, x=&lt;2\"><failure message=\"the point "
     "failed\"/></testcase>"},
    {"export -f otava all.csv", 0,
     "time,version,drift: 1: bw_GBps,drift: 1: delay_ns,drift: 1: hops"},
    {"export -f otava all.csv", 0, "\n2026-01-02,v2,9.9600,100.0,"},
    {"export -f otava large.csv", 0, "\nt,v1,25769803776\nt,v2,0.000000001\n"},
    {"export -f otava same.csv", 2,
     "two numbers would both be called \"s: x: y: c\""},
    {"export -f otava r.csv", 2, "is no history"},
    {"export -f other r.csv", 2, "there is no format \"other\""},
    {"export r.csv", 2, "give a --format"},
    {"export -f bencher r.csv r.csv", 2, "is there twice"},
    {"export -f bencher gone.csv", 2, "cannot read gone.csv"},
};

START_TEST(exports_have_the_form_of_their_tools)
{
    make_history(2);
    program_put("part.csv", "# failed: b, x=<2\nname,v_ns\na,1\n");
    program_put("large.csv", HEADER "v1,t,s,p,c,,none,25769803776\n"
                                    "v2,t,s,p,c,,none,0.000000001\n");
    program_put("same.csv", HEADER "v1,t,s,x: y,c,,none,1\n"
                                   "v1,t,s: x,y,c,,none,2\n");
    ck_assert_int_eq(program_run(exports[_i].words), exports[_i].status);
    ck_assert_msg(strstr(exports[_i].status ? program_err : program_out,
                         exports[_i].says) != NULL,
                  "%s%s", program_out, program_err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_history");
    TCase *tcase = tcase_create("history");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, a_slow_drift_names_the_version_that_left_the_band);
    tcase_add_test(tcase, a_drift_to_the_better_is_no_failure);
    tcase_add_test(tcase, a_history_only_grows);
    tcase_add_loop_test(tcase, what_makes_no_trend_is_refused, 0,
                        G_N_ELEMENTS(refusals));
    tcase_add_test(tcase, a_last_line_without_end_is_ended);
    tcase_add_test(tcase, an_empty_file_becomes_a_history);
    tcase_add_test(tcase, a_full_history_stays_readable);
    tcase_add_test(tcase, a_version_may_look_like_a_number);
    tcase_add_loop_test(tcase, exports_have_the_form_of_their_tools, 0,
                        G_N_ELEMENTS(exports));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
