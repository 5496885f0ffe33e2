/* SPDX-License-Identifier: MIT */
/*
 * Invariants: docs/reference/metrics.md has every metric, and each of its
 * examples is a column that a run accepts.
 */
#include "exp_metric.h"
#include "exp_plan.h"
#include "topo_test.h"
#include "../suite.h"

#define BEGIN "<!-- tables begin -->\n\n"
#define END   "\n<!-- tables end -->\n"

START_TEST(documentation_holds_the_metrics)
{
    g_autoptr(GString) tables = g_string_new(NULL);
    g_autofree char *text = NULL, *documented = NULL;
    const char *begin, *end;

    ck_assert(g_file_get_contents(TEST_FILE("docs/reference/metrics.md"), &text,
                                  NULL, NULL));
    begin = strstr(text, BEGIN);
    end = strstr(text, END);
    ck_assert_ptr_nonnull(begin);
    ck_assert_ptr_nonnull(end);
    begin += strlen(BEGIN);
    documented = g_strndup(begin, (size_t)(end - begin));
    exp_metric_write_markdown(tables);
    ck_assert_msg(strcmp(documented, tables->str) == 0,
                  "put the output of tests/unit/exp_tables between the markers "
                  "of docs/reference/metrics.md");
}
END_TEST

START_TEST(examples_are_columns)
{
    g_autoptr(GString) text = g_string_new(
        TWO_HOSTS "    - {name: way, kind: path, from: a.gpu0, to: b.ram, "
                  "direction: read}\n"
                  "measure:\n  columns:\n");
    g_autoptr(GString) tables = g_string_new(NULL);
    g_autoptr(TopoDescription) description = NULL;
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autofree char *messages = NULL;
    g_auto(GStrv) pieces = NULL;

    exp_metric_write_markdown(tables);
    pieces = g_strsplit(tables->str, "`", -1);
    for (unsigned i = 0; pieces[i]; i++) {
        /* Metrics of different elements have equal names. */
        if (g_str_has_prefix(pieces[i], "{name: ")) {
            g_string_append_printf(text, "    - {name: c%u_%s\n", i,
                                   pieces[i] + strlen("{name: "));
        }
    }
    description = load_good(text->str, NULL);
    ck_assert_uint_gt(description->columns->len, 40);
    exp_point_check_columns(description, errors);
    messages = topo_errors_to_string(errors);
    ck_assert_str_eq(messages, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exp_metric");
    TCase *tcase = tcase_create("metric");

    tcase_add_test(tcase, documentation_holds_the_metrics);
    tcase_add_test(tcase, examples_are_columns);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
