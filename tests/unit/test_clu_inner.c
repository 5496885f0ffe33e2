/* SPDX-License-Identifier: MIT */
/*
 * Orders for the machines inside hosts. Invariant: a wrong order is refused
 * with the right one before a cluster is asked. Of what a guest says of its
 * machines, nothing that is no machine gets to another host.
 */
#include <string.h>

#include <check.h>

#include "clu_inner.h"
#include "program.h"
#include "../suite.h"

static const struct {
    const char *words, *message;
} wrong[] = {
    {"fly guest", "'fly' is no verb for machines; write list, start"},
    {"start", "write start MACHINE"},
    {"start a b", "write start MACHINE"},
    {"plug guest", "write plug MACHINE ID"},
    {"move guest", "write move MACHINE HOST"},
    {"list guest", "list takes no more words"},
};

START_TEST(a_wrong_order_is_refused)
{
    g_autofree char *words = g_strdup_printf("cluster vm %s", wrong[_i].words);

    ck_assert_int_eq(program_run(words), 2);
    ck_assert_msg(strstr(program_err, wrong[_i].message), "%s", program_err);
}
END_TEST

START_TEST(an_order_needs_a_cluster)
{
    ck_assert_int_eq(program_run("cluster vm -c nosuch start guest"), 2);
    ck_assert_msg(strstr(program_err, "nosuch"), "%s", program_err);
}
END_TEST

static Table *parsed(const char *text)
{
    Table *machines = clu_inner_new();

    clu_inner_parse(machines, "b", text);
    return machines;
}

START_TEST(machines_of_a_host)
{
    g_autoptr(Table) machines =
        parsed("guest runs 192 1 10000,1000a farside.modules=ext4 quiet\n"
               "other off 128 2 - \n");

    ck_assert_uint_eq(table_n_rows(machines), 2);
    ck_assert_str_eq(table_text(machines, 0, 0), "b");
    ck_assert_str_eq(table_text(machines, 0, 1), "guest");
    ck_assert_str_eq(table_text(machines, 0, 2), "runs");
    ck_assert_int_eq(table_number(machines, 0, 3), 192);
    ck_assert_str_eq(table_text(machines, 0, 5), "10000,1000a");
    ck_assert_str_eq(table_text(machines, 0, 6), "farside.modules=ext4 quiet");
    ck_assert_str_eq(table_text(machines, 1, 5), "-");
    ck_assert_str_eq(table_text(machines, 1, 6), "");
}
END_TEST

/* Each is wrong in one field. */
static const char *const no_machines[] = {
    "../guest runs 192 1 10000 quiet",
    "guest sleeps 192 1 10000 quiet",
    "guest runs 192M 1 10000 quiet",
    "guest runs -1 1 10000 quiet",
    "guest runs 10000000000 1 10000 quiet",
    "guest runs 192 1000 10000 quiet",
    "guest runs 192 1 10000,readonly=on quiet",
    "guest runs 192 1  quiet",
    "guest runs 192",
    "",
};

START_TEST(what_is_no_machine_is_left_out)
{
    g_autoptr(Table) machines = parsed(no_machines[_i]);

    ck_assert_uint_eq(table_n_rows(machines), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clu_inner");
    TCase *tcase = tcase_create("machines");

    tcase_add_checked_fixture(tcase, program_setup, program_teardown);
    tcase_add_loop_test(tcase, a_wrong_order_is_refused, 0,
                        G_N_ELEMENTS(wrong));
    tcase_add_test(tcase, an_order_needs_a_cluster);
    tcase_add_test(tcase, machines_of_a_host);
    tcase_add_loop_test(tcase, what_is_no_machine_is_left_out, 0,
                        G_N_ELEMENTS(no_machines));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
