/* SPDX-License-Identifier: MIT */
/*
 * Options of `farside cluster up` and `reload`, and times of `advance`, that
 * need no machines. Invariant: a wrong use is refused, with a message that
 * tells the right one, before anything starts.
 */
#include <stdbool.h>
#include <string.h>

#include <check.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "program.h"
#include "../suite.h"

/* Keys of `vm:` that name a file, and what is said of one that is missing. */
static const struct {
    const char *vm, *message;
} missing[] = {
    {"kernel: /no/file", "kernel: /no/file does not exist; name a path"},
    {"files: [/no/file:/there]", "files: /no/file does not exist; name a path"},
    {"module-dirs: [/no/folder]", "module-dirs: /no/folder does not exist"},
};

/* Without QEMU or the devices, their absence would be the error. */
static void stand_in_for_qemu(void)
{
    g_autofree char *qemu = program_place("qemu-system-x86_64");

    program_put("qemu-system-x86_64", "");
    ck_assert_int_eq(g_chmod(qemu, 0700), 0);
    g_setenv("PATH", program_folder, true);
    g_setenv("FARSIDE_QEMU_PLUGIN", qemu, true);
}

START_TEST(a_missing_file_is_named)
{
    g_autofree char *text = g_strdup_printf(
        "name: t\nhosts:\n  - {name: a, cpu: generic-host, vm: {%s}}\n",
        missing[_i].vm);

    program_put("t.yaml", text);
    stand_in_for_qemu();
    ck_assert_int_eq(program_run("cluster up t.yaml"), 2);
    ck_assert_msg(strstr(program_err, "t.yaml:3:") &&
                      strstr(program_err, missing[_i].message),
                  "%s", program_err);
}
END_TEST

/* The missing kernel ends it before machines start. */
static bool warns_of_inner(unsigned cpus, const char *inner)
{
    g_autofree char *text =
        g_strdup_printf("name: t\nhosts:\n  - name: a\n    cpu: generic-host\n"
                        "    vm: {kernel: /no/file, accel: tcg, cpus: %u}\n%s",
                        cpus, inner);

    program_put("t.yaml", text);
    ck_assert_int_eq(program_run("cluster up t.yaml"), 2);
    return strstr(program_err, "t.yaml:5:9: warning: without KVM");
}

START_TEST(two_cpus_around_an_inner_machine_are_warned_of)
{
    static const char *const inner = "    vms: [{name: g, memory: 128MiB}]\n";

    stand_in_for_qemu();
    ck_assert_msg(warns_of_inner(2, inner), "%s", program_err);
    ck_assert(!warns_of_inner(1, inner));
    ck_assert(!warns_of_inner(2, ""));
}
END_TEST

static const struct {
    const char *words, *message;
} wrong[] = {
    {"--slice 350ns", "--slice and --spins need --timed"},
    {"--spins 0", "--slice and --spins need --timed"},
    {"--steps .", "--steps needs --timed"},
    {"--log run.log", "--log needs --timed"},
    {"--timed --slice 0.5ns", "a whole number of ns, such as 350ns"},
    {"--timed --slice 350", "a whole number of ns, such as 350ns"},
    {"--timed --slice 0ns", "a whole number of ns, such as 350ns"},
    {"--timed --spins 1000001", "--spins is 0 to 1000000"},
    {"--timed --spins -2", "--spins is 0 to 1000000"},
    {"--timed --silence 30", "--silence does not go with --timed"},
    {"--timed --timeout -1", "--timeout and --silence are 1 to"},
};

START_TEST(a_wrong_use_is_refused)
{
    g_autofree char *words =
        g_strdup_printf("cluster up %s none.yaml", wrong[_i].words);

    ck_assert_int_eq(program_run(words), 2);
    ck_assert_msg(strstr(program_err, wrong[_i].message), "%s", program_err);
    ck_assert_ptr_null(strstr(program_err, "none.yaml"));
}
END_TEST

/* It would stay on the guests, among the modules. */
START_TEST(only_modules_are_loaded_again)
{
    ck_assert_int_eq(program_run("cluster reload ntb_tool /etc/passwd"), 2);
    ck_assert_msg(
        strstr(program_err, "/etc/passwd is no module: its name must"), "%s",
        program_err);
}
END_TEST

static const struct {
    const char *time, *message;
} wrong_times[] = {
    {"0ms", "'0ms' is no whole number of ms up to 86400s"},
    {"1500us", "'1500us' is no whole number of ms"},
    {"1.0000001ms", "'1.0000001ms' is no whole number of ms"},
    {"86401s", "'86401s' is no whole number of ms up to 86400s"},
    {"99999999999s", "too large"},
    {"10", "10 has no unit"},
    {"1h", "'h' in 1h is not a unit"},
    {"ms", "'ms' is not a quantity"},
};

START_TEST(a_time_that_cannot_pass_is_refused)
{
    g_autofree char *words =
        g_strdup_printf("cluster advance %s", wrong_times[_i].time);

    ck_assert_int_eq(program_run(words), 2);
    ck_assert_msg(strstr(program_err, wrong_times[_i].message), "%s",
                  program_err);
    ck_assert_ptr_null(strstr(program_err, "cluster '"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cmd_cluster_up");
    TCase *tcase = tcase_create("cmd_cluster_up");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_loop_test(tcase, a_missing_file_is_named, 0,
                        G_N_ELEMENTS(missing));
    tcase_add_test(tcase, two_cpus_around_an_inner_machine_are_warned_of);
    tcase_add_loop_test(tcase, a_wrong_use_is_refused, 0, G_N_ELEMENTS(wrong));
    tcase_add_test(tcase, only_modules_are_loaded_again);
    tcase_add_loop_test(tcase, a_time_that_cannot_pass_is_refused, 0,
                        G_N_ELEMENTS(wrong_times));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
