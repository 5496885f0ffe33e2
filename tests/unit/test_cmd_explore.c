/* SPDX-License-Identifier: MIT */
/*
 * `farside cluster explore` without machines. Invariants: a report that is gone
 * on with has each seed once and whole lines, whenever the process ended; it is
 * refused for another description or script. A kernel's report is found on a
 * console, and what is allowed is not one. Wrong input is refused with its
 * place before any machine boots.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clu_error.h"
#include "cmd_explore.h"
#include "program.h"
#include "../suite.h"

static char *read_file(const char *name)
{
    g_autofree char *path = program_place(name);
    char *text = NULL;

    ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
    return text;
}

static CmdExploreHead head_of(const char *description)
{
    return (CmdExploreHead){.description = g_strdup(description),
                            .script = g_strdup("5c"),
                            .begin_ns = 1200000001,
                            .end_ns = 3400000002};
}

static void add(CmdExploreReport *report, uint64_t seed,
                CmdExploreVerdict verdict, const char *reason)
{
    const CmdExploreResult result = {.verdict = verdict,
                                     .reason = (char *)reason,
                                     .begin_ns = 1000000000,
                                     .end_ns = 3500000000,
                                     .seconds = 41.25};

    ck_assert(cmd_explore_report_add(report, seed, &result,
                                     "a freeze at 2s for 40us", NULL));
}

START_TEST(a_report_goes_on_at_the_next_seed)
{
    g_auto(CmdExploreHead) head = head_of("d1");
    g_auto(CmdExploreHead) again = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    g_autofree char *text = NULL;
    CmdExploreReport *report = cmd_explore_report_new(path, &head, NULL);

    ck_assert_ptr_nonnull(report);
    add(report, 7, CMD_EXPLORE_PASS, NULL);
    add(report, 3, CMD_EXPLORE_FAIL, "b: \"Oops\",\nat 3");
    cmd_explore_report_free(report);

    again.begin_ns = again.end_ns = 0;
    report = cmd_explore_report_resume(path, &again, NULL);
    ck_assert_ptr_nonnull(report);
    ck_assert_int_eq(again.begin_ns, 1200000001);
    ck_assert_int_eq(again.end_ns, 3400000002);
    ck_assert(cmd_explore_report_has(report, 7));
    ck_assert(cmd_explore_report_has(report, 3));
    ck_assert(!cmd_explore_report_has(report, 4));
    add(report, 4, CMD_EXPLORE_CANNOT, "gone");
    ck_assert_uint_eq(cmd_explore_report_count(report, CMD_EXPLORE_PASS), 1);
    ck_assert_uint_eq(cmd_explore_report_count(report, CMD_EXPLORE_FAIL), 1);
    ck_assert_uint_eq(cmd_explore_report_count(report, CMD_EXPLORE_CANNOT), 1);
    cmd_explore_report_free(report);

    text = read_file("report.csv");
    ck_assert_str_eq(
        text,
        "# farside explore 1 description=d1 script=5c from=1200000001ns "
        "to=3400000002ns\n"
        "seed,verdict,script_ms,seconds,faults,reason\n"
        "7,pass,2500,41.2,\"a freeze at 2s for 40us\",\"\"\n"
        "3,fail,2500,41.2,\"a freeze at 2s for 40us\",\"b: \"\"Oops\"\", at "
        "3\"\n"
        "4,impossible,2500,41.2,\"a freeze at 2s for 40us\",\"gone\"\n");
}
END_TEST

/* The process may end within any byte of its last line. */
START_TEST(a_line_that_is_not_whole_is_cut_off)
{
    g_auto(CmdExploreHead) head = head_of("d1");
    g_autofree char *path = program_place("report.csv");
    g_autofree char *whole = NULL;
    CmdExploreReport *report = cmd_explore_report_new(path, &head, NULL);
    size_t least, length;

    add(report, 1, CMD_EXPLORE_PASS, NULL);
    whole = read_file("report.csv");
    least = strlen(whole);
    add(report, 2, CMD_EXPLORE_PASS, NULL);
    cmd_explore_report_free(report);
    g_free(whole);
    whole = read_file("report.csv");
    length = strlen(whole);
    for (size_t cut = least; cut <= length; cut++) {
        g_autofree char *text = NULL;

        ck_assert(g_file_set_contents(path, whole, (gssize)cut, NULL));
        report = cmd_explore_report_resume(path, &head, NULL);
        ck_assert_ptr_nonnull(report);
        ck_assert(cmd_explore_report_has(report, 1));
        ck_assert(cmd_explore_report_has(report, 2) == (cut == length));
        if (cut < length) {
            add(report, 2, CMD_EXPLORE_PASS, NULL);
        }
        cmd_explore_report_free(report);
        text = read_file("report.csv");
        ck_assert_str_eq(text, whole);
    }
}
END_TEST

static void check_refused(const CmdExploreReport *report, GError *error,
                          const char *words)
{
    ck_assert_ptr_null(report);
    ck_assert(g_error_matches(error, CLU_ERROR, CLU_ERROR_USAGE));
    ck_assert_msg(strstr(error->message, words), "%s", error->message);
    g_error_free(error);
}

START_TEST(another_report_is_refused)
{
    g_auto(CmdExploreHead) head = head_of("d1");
    g_auto(CmdExploreHead) other = head_of("d2");
    g_autofree char *path = program_place("report.csv");
    CmdExploreReport *report;
    GError *error = NULL;

    cmd_explore_report_free(cmd_explore_report_new(path, &head, NULL));
    report = cmd_explore_report_new(path, &head, &error);
    check_refused(report, error, "has results already; go on with --resume");
    error = NULL;
    report = cmd_explore_report_resume(path, &other, &error);
    check_refused(report, error,
                  "report.csv:1:1: the results are those of another");
    error = NULL;
    ck_assert(g_file_set_contents(path, "a,b\n1,2\n", -1, NULL));
    report = cmd_explore_report_resume(path, &head, &error);
    check_refused(report, error, "report.csv:1:1: this is no report");
    error = NULL;
    ck_assert(g_file_set_contents(path,
                                  "# farside explore 1 description=d1 "
                                  "script=5c from=1ns to=2ns\nseed\n1,odd,3\n",
                                  -1, NULL));
    report = cmd_explore_report_resume(path, &head, &error);
    check_refused(report, error, "report.csv:3:1: a line begins with the seed");
}
END_TEST

START_TEST(a_kernels_report_is_found)
{
    static const char console[] =
        "       1.650 [    1.749576] switchtec: node 2 is up\n"
        "       2.000 [    2.1] WARNING: CPU: 0 PID: 1 at a.c:3 f+0x1/0x2\n"
        "       2.000 [    2.2] Call Trace:\r\n";
    g_autoptr(GPtrArray) allowed =
        g_ptr_array_new_with_free_func((GDestroyNotify)g_regex_unref);
    g_autofree char *first = cmd_explore_kernel_report(console, NULL);
    g_autofree char *none =
        cmd_explore_kernel_report("[ 1.0] debugging is on\n", NULL);
    g_autofree char *second = NULL;

    ck_assert_str_eq(
        first, "2.000 [    2.1] WARNING: CPU: 0 PID: 1 at a.c:3 f+0x1/0x2");
    ck_assert_ptr_null(none);
    g_ptr_array_add(allowed, g_regex_new("at a\\.c:3", 0, 0, NULL));
    second = cmd_explore_kernel_report(console, allowed);
    ck_assert_str_eq(second, "2.000 [    2.2] Call Trace:");
}
END_TEST

static const char good[] = "name: pair\n"
                           "hosts:\n"
                           "  - {name: a, cpu: generic-host, devices: [{name: "
                           "n, part: generic-ntb, at: rp0}]}\n"
                           "  - {name: b, cpu: generic-host, devices: [{name: "
                           "n, part: generic-ntb, at: rp0}]}\n"
                           "links: [{name: cable, ends: [a.n, b.n]}]\n";

static void check_usage(const char *words, const char *message)
{
    ck_assert_int_eq(program_run(words), 2);
    ck_assert_msg(strstr(program_err, message), "%s", program_err);
}

static void put_script(void)
{
    g_autofree char *path = program_place("script");

    program_put("script", "#!/bin/sh\nexit 0\n");
    ck_assert_int_eq(chmod(path, 0755), 0);
}

START_TEST(wrong_options_are_refused)
{
    program_put("pair.yaml", good);
    put_script();
    check_usage("cluster explore pair.yaml", "--script is missing");
    check_usage("cluster explore pair.yaml --script none",
                "--script: none is no program");
    check_usage("cluster explore pair.yaml --script pair.yaml",
                "--script: pair.yaml is no program");
    check_usage("cluster explore pair.yaml --script script --only 5,x",
                "--only: 'x' is no seed");
    check_usage("cluster explore pair.yaml --script script --only 5,",
                "--only: '' is no seed");
    check_usage("cluster explore pair.yaml --script script --times 5s",
                "--times: '5s' is no BEGIN,END");
    check_usage("cluster explore pair.yaml --script script --times 5s,x",
                "--times: ");
    check_usage("cluster explore pair.yaml --script script --times 5s,4s",
                "--times: 5s,4s; write");
    check_usage("cluster explore pair.yaml --script script --seeds 0",
                "--seeds is 1 to ");
    check_usage("cluster explore pair.yaml --script script --jobs 65",
                "--jobs is 1 to 64");
    check_usage("cluster explore pair.yaml --script script --limit 5",
                "--limit: ");
    check_usage("cluster explore pair.yaml --script script --allow (",
                "--allow: ");
    check_usage("cluster explore pair.yaml --script script --resume "
                "--schedule x",
                "leave one out");
    check_usage("cluster explore --script script", "it takes FILE");
}
END_TEST

START_TEST(wrong_files_are_refused_with_their_place)
{
    g_autofree char *with_faults =
        g_strconcat(good,
                    "faults:\n  - {name: f, target: a, action: freeze, at: 1s, "
                    "for: 1us}\n",
                    NULL);

    put_script();
    program_put("pair.yaml", good);
    program_put("faults.yaml", with_faults);
    program_put("bad.yaml",
                "name: x\ncluster: pair.yaml\nfaults:\n"
                "  - {name: f, target: c, action: freeze, at: 1s}\n");
    check_usage("cluster explore faults.yaml --script script",
                "faults.yaml:7:5: the faults are those of each schedule");
    check_usage("cluster explore pair.yaml --script script --schedule bad.yaml",
                "bad.yaml:4:23: there is no host 'c'");
    check_usage("cluster explore none.yaml --script script", "none.yaml");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_explore");
    TCase *tcase = tcase_create("explore");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_test(tcase, a_report_goes_on_at_the_next_seed);
    tcase_add_test(tcase, a_line_that_is_not_whole_is_cut_off);
    tcase_add_test(tcase, another_report_is_refused);
    tcase_add_test(tcase, a_kernels_report_is_found);
    tcase_add_test(tcase, wrong_options_are_refused);
    tcase_add_test(tcase, wrong_files_are_refused_with_their_place);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
