/* SPDX-License-Identifier: MIT */
/*
 * Invariants: a point is outside if and only if its distance exceeds the
 * tolerance, computed without rounding. Every difference between two tables is
 * found. The errors of a curve equal those computed by hand. The JUnit report
 * is valid XML with the same result.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <glib.h>

#include "rep_compare.h"
#include "rep_junit.h"
#include "../suite.h"
#include "table_csv.h"
#include "table_file.h"

static Table *parse(const char *text)
{
    Table *table = table_parse(text, strlen(text), "t.csv", NULL);

    ck_assert_ptr_nonnull(table);
    return table;
}

/* Compares two CSV texts with the tolerances in @list, separated by ";". */
static RepComparison *compare_with(const char *baseline, const char *fresh,
                                   const char *list, const char *const *keys,
                                   const char *x, GError **error)
{
    g_autoptr(Table) a = parse(baseline);
    g_autoptr(Table) b = parse(fresh);
    g_autoptr(GPtrArray) tolerances =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_tolerance_free);
    g_auto(GStrv) texts = g_strsplit(list, ";", -1);
    RepCompareOptions options = {keys, x, tolerances, false, false};
    unsigned i;

    for (i = 0; texts[i]; i++) {
        RepTolerance *tolerance = rep_tolerance_parse(texts[i], NULL);

        ck_assert_ptr_nonnull(tolerance);
        g_ptr_array_add(tolerances, tolerance);
    }
    return rep_compare(a, b, &options, "t.csv", error);
}

static RepComparison *compare(const char *baseline, const char *fresh,
                              const char *list)
{
    g_autoptr(GError) error = NULL;
    RepComparison *result =
        compare_with(baseline, fresh, list, NULL, NULL, &error);

    ck_assert_msg(result, "%s", error ? error->message : "");
    return result;
}

static const struct {
    const char *baseline;
    const char *fresh;
    const char *tolerances;
    bool is_within;
} points[] = {
    {"1.00", "1.00", "", true},
    {"1.00", "1.01", "", false},
    {"1.5", "1.500", "", true},
    {"1", "1.0", "", true},
    /* Exactly on the bound, which has no exact binary fraction. */
    {"1.00", "1.01", "1%", true},
    {"1.00", "0.99", "1%", true},
    {"1.00", "1.0100001", "1%", false},
    {"1.00", "0.9899999", "1%", false},
    {"-1.00", "-1.01", "1%", true},
    {"-1.00", "1.00", "100%", false},
    {"-1.00", "1.00", "200%", true},
    {"3", "3.1", "3.333333%", false},
    {"3", "3.1", "3.333334%", true},
    {"0.00", "0.01", "50%", false},
    {"1.70", "1.72", "+-0.02", true},
    {"1.70", "1.721", "+-0.02", false},
    {"1.70", "1.68", "+-0.02", true},
    {"0.30", "0.1", "+-0.2", true},
    {"0.00", "0.01", "+-0.010", true},
    /* One of the two tolerances is enough. */
    {"100.0", "100.5", "1%;+-0.02", true},
    {"0.01", "0.02", "1%;+-0.02", true},
    {"1.00", "1.05", "1%;+-0.02", false},
    /* The tolerance of a column replaces the general one. */
    {"1.00", "1.05", "1%;v=10%", true},
    {"1.00", "1.05", "10%;v=1%", false},
    {"1.00", "1.05", "v 10%", true},
    {"1.00", "1.05", "w=10%", false},
    {"abc", "abc", "", true},
    {"abc", "abd", "100%", false},
    {"1.00", "nan", "100%", false},
    /* As far apart as numbers get. */
    {"9223372036854775807", "-9223372036854775807", "1000%", true},
    {"9223372036854775807", "-9223372036854775807", "199.999999%", false},
    {"9223372036.854775807", "-9223372036.854775807", "1000.000000%", true},
    {"9223372036854775807", "0.000000001", "99.999999%", false},
    {"9223372036854775807", "0.000000001", "100%", true},
    {"0.000000001", "9223372036854775807", "1000%", false},
    {"1", "2", "+-9223372036854775807", true},
};

START_TEST(points_are_judged_exactly)
{
    g_autofree char *a =
        g_strdup_printf("k,v,w\na,%s,0\n", points[_i].baseline);
    g_autofree char *b = g_strdup_printf("k,v,w\na,%s,0\n", points[_i].fresh);
    const char *const keys[] = {"k", NULL};
    g_autofree char *list = g_strdup(
        *points[_i].tolerances != '\0' ? points[_i].tolerances : "w=0%");
    g_autoptr(RepComparison) result =
        compare_with(a, b, list, keys, NULL, NULL);

    ck_assert_ptr_nonnull(result);
    ck_assert_msg(rep_comparison_is_different(result) != points[_i].is_within,
                  "%s and %s with \"%s\"", points[_i].baseline,
                  points[_i].fresh, points[_i].tolerances);
}
END_TEST

static const char *const bad_tolerances[] = {"",
                                             "%",
                                             "1",
                                             "-1%",
                                             "x=",
                                             "=1%",
                                             "+-",
                                             "+-x",
                                             "1%%",
                                             "v=1",
                                             "+--1",
                                             "1e-3%",
                                             "v=-1%",
                                             "+-1.1234567",
                                             "1000.1%",
                                             "1 %%",
                                             "99999999999999999999%"};

START_TEST(tolerances_of_bad_form_are_refused)
{
    g_autoptr(GError) error = NULL;

    ck_assert_msg(!rep_tolerance_parse(bad_tolerances[_i], &error), "\"%s\"",
                  bad_tolerances[_i]);
    ck_assert(g_error_matches(error, TABLE_ERROR, TABLE_ERROR_SYNTAX));
}
END_TEST

/* The verdict on the first point, which is the worst. */
static RepVerdict worst(const RepComparison *result)
{
    return rep_comparison_point(result, 0)->verdict;
}

START_TEST(missing_and_extra_points_are_differences)
{
    const char *two = "c,x,y\na,1,0.5\na,2,0.6\n";
    const char *one = "c,x,y\na,1,0.5\n";
    const char *gap = "c,x,y\na,1,0.5\na,2,\n";
    const char *other = "c,x,z\na,1,0.5\na,2,0.6\n";
    g_autoptr(RepComparison) missing = compare(two, one, "1000%");
    g_autoptr(RepComparison) extra = compare(one, two, "1000%");
    g_autoptr(RepComparison) empty = compare(two, gap, "1000%");
    g_autoptr(RepComparison) filled = compare(gap, two, "1000%");
    g_autoptr(RepComparison) column = compare(two, other, "1000%");

    ck_assert(rep_comparison_is_different(missing));
    ck_assert_int_eq(worst(missing), REP_MISSING);
    ck_assert_str_eq(rep_comparison_point(missing, 0)->key, "a / 2");
    ck_assert_int_eq(worst(extra), REP_EXTRA);
    ck_assert_int_eq(worst(empty), REP_MISSING);
    ck_assert_int_eq(worst(filled), REP_EXTRA);
    ck_assert_uint_eq(rep_comparison_total(column)->n_missing, 2);
    ck_assert(rep_comparison_is_different(column));
}
END_TEST

START_TEST(order_of_rows_and_columns_does_not_matter)
{
    g_autoptr(RepComparison) result =
        compare("c,x,y\na,1,0.5\nb,2,0.6\n",
                "more,y,x,c\nz,0.60,2,b\nz,0.50,1,a\n", "0%");

    ck_assert(!rep_comparison_is_different(result));
    ck_assert_uint_eq(rep_comparison_total(result)->n_points, 2);
}
END_TEST

START_TEST(errors_of_a_curve_are_those_computed_by_hand)
{
    g_autoptr(RepComparison) result =
        compare("c,x,y\na,1,1.0\na,2,2.0\na,4,4.0\nb,1,3.0\nb,2,0.0\n",
                "c,x,y\na,1,1.1\na,2,1.9\na,4,3.0\nb,1,3.0\nb,2,0.1\n", "10%");
    const RepCurve *a = rep_comparison_curve(result, 0);
    const RepCurve *b = rep_comparison_curve(result, 1);

    ck_assert_uint_eq(rep_comparison_n_curves(result), 2);
    ck_assert_str_eq(a->name, "a");
    ck_assert_str_eq(a->column, "y");
    /* +10 %, -5 %, -25 %: mean 13.333, with signs -6.667. */
    ck_assert_int_eq(a->errors.mean_mpct, 13333);
    ck_assert_int_eq(a->errors.bias_mpct, -6667);
    ck_assert_int_eq(a->errors.max_mpct, -25000);
    ck_assert_str_eq(a->errors.max_x, "4");
    ck_assert_uint_eq(a->n_points, 3);
    ck_assert_uint_eq(a->n_outside, 1);
    /* A value of 0 has no relative error. */
    ck_assert_uint_eq(b->errors.count, 1);
    ck_assert_uint_eq(b->n_outside, 1);
    ck_assert_int_eq(b->errors.max_mpct, 0);
    /* The worst first: no percentage, then 25, 10, 5, 0. */
    ck_assert(rep_comparison_point(result, 0)->error_mpct == TABLE_NONE);
    ck_assert_int_eq(rep_comparison_point(result, 1)->error_mpct, -25000);
    ck_assert_int_eq(rep_comparison_point(result, 2)->error_mpct, 10000);
    ck_assert_int_eq(rep_comparison_point(result, 3)->error_mpct, -5000);
    ck_assert_int_eq(rep_comparison_point(result, 4)->error_mpct, 0);
}
END_TEST

static const struct {
    const char *csv;
    const char *x;
    const char *curves;
    const char *values;
} rules[] = {
    {"panel,scenario,bytes,rate\np,s,1,0.5\n", "bytes", "panel,scenario",
     "rate"},
    {"scenario,low_us,high_us\ns,0.5,0.6\n", "scenario", "", "low_us,high_us"},
    {"scenario,mode,roots,hops,path\ns,m,1,2,a b\n", "scenario", "mode",
     "roots,hops,path"},
    {"s,bytes,rate,count\ns,1,0.5,7\n", "bytes", "s", "rate,count"},
    /* The leading text columns do not identify a row: the key has more. */
    {"s,load,t\na,0.5,0.6\na,0.7,0.6\n", "load", "s", "t"},
    {"n,t\n1,2\n2,3\n", "n", "", "t"},
    {"# key: b\na,b,c\n1,1,1\n1,2,1\n", "b", "", "a,c"},
    {"a,b\nx,y\n", "a", "", "b"},
};

START_TEST(columns_are_told_apart_by_the_rule)
{
    g_autoptr(RepComparison) result =
        compare(rules[_i].csv, rules[_i].csv, "0%");
    g_autofree char *curves = g_strjoinv(
        ",", (char **)(gpointer)rep_comparison_curve_columns(result));
    g_autofree char *values =
        g_strjoinv(",", (char **)(gpointer)rep_comparison_values(result));

    ck_assert_str_eq(rep_comparison_x(result), rules[_i].x);
    ck_assert_str_eq(curves, rules[_i].curves);
    ck_assert_str_eq(values, rules[_i].values);
    ck_assert(!rep_comparison_is_different(result));
}
END_TEST

START_TEST(tolerances_in_the_head_are_last)
{
    const char *base =
        "# tolerance: y 5%\n# tolerance: 50%\nk,y,z\na,1.00,1.0\n";
    g_autoptr(RepComparison) inside =
        compare(base, "k,y,z\na,1.05,1.5\n", "w=0%");
    g_autoptr(RepComparison) outside =
        compare(base, "k,y,z\na,1.06,1.5\n", "w=0%");
    g_autoptr(RepComparison) stricter =
        compare(base, "k,y,z\na,1.05,1.0\n", "1%");

    ck_assert(!rep_comparison_is_different(inside));
    ck_assert(rep_comparison_is_different(outside));
    ck_assert(rep_comparison_is_different(stricter));
}
END_TEST

static const struct {
    const char *baseline;
    const char *fresh;
    const char *key;
    const char *x;
    const char *message;
} mistakes[] = {
    {"a,b\nx,0.5\n", "a,b\nx,0.5\n", "c", NULL, "has no column \"c\""},
    {"a,b\nx,0.5\n", "c,b\nx,0.5\n", "a", NULL,
     "the new file has no column \"a\""},
    {"a,b\nx,0.5\n", "a,b\nx,0.5\n", "a", "b", "\"b\" is not part of the key"},
    {"a,b\nx,0.5\nx,0.6\n", "a,b\nx,0.5\n", "a", NULL,
     "two rows of the baseline file have the key \"x\""},
    {"a,b\nx,0.5\n", "a,b\nx,0.5\nx,0.6\n", "a", NULL,
     "two rows of the new file"},
    {"a,b\n", "a,b\n", "a", NULL, "no rows to compare"},
    {"a,b\nx,y\n", "a,b\nx,y\n", "a,b", NULL, "no column beside the key"},
    {"a,b\nx,y\n", "a,b\nx,y\n", ",", NULL, "the key is empty"},
    {"# tolerance: c 1%\na,b\nx,1\n", "a,b\nx,1\n", "a", NULL,
     "a tolerance for \"c\""},
    {"# tolerance: lots\na,b\nx,1\n", "a,b\nx,1\n", "a", NULL,
     "tolerance \"lots\""},
};

START_TEST(nonsense_is_an_error)
{
    g_auto(GStrv) keys = g_strsplit(mistakes[_i].key, ",", -1);
    g_autoptr(GError) error = NULL;
    RepComparison *result =
        compare_with(mistakes[_i].baseline, mistakes[_i].fresh, "b=1%",
                     (const char *const *)keys, mistakes[_i].x, &error);

    ck_assert_ptr_null(result);
    ck_assert_msg(strstr(error->message, mistakes[_i].message),
                  "\"%s\" lacks \"%s\"", error->message, mistakes[_i].message);
}
END_TEST

/* The parts of a JUnit report that the test reads. */
typedef struct Report {
    GString *cases; /* names, each followed by "+" or, for a failure, "-" */
    GString *text;
    char *classname;
    unsigned suites;
    unsigned stated_tests;
    unsigned stated_failures;
} Report;

static void on_start(GMarkupParseContext *context, const char *element,
                     const char **names, const char **values, gpointer data,
                     GError **error)
{
    Report *report = data;
    unsigned i;

    if (strcmp(element, "testcase") == 0) {
        g_string_append_c(report->cases, '+');
    } else if (strcmp(element, "failure") == 0) {
        report->cases->str[report->cases->len - 1] = '-';
    } else if (strcmp(element, "testsuite") == 0) {
        report->suites++;
    }
    for (i = 0; names[i]; i++) {
        if (strcmp(names[i], "tests") == 0) {
            report->stated_tests += (unsigned)atoi(values[i]);
        } else if (strcmp(names[i], "failures") == 0) {
            report->stated_failures += (unsigned)atoi(values[i]);
        } else if (strcmp(names[i], "classname") == 0) {
            g_free(report->classname);
            report->classname = g_strdup(values[i]);
        }
    }
}

static void on_text(GMarkupParseContext *context, const char *text,
                    gsize length, gpointer data, GError **error)
{
    Report *report = data;

    g_string_append_len(report->text, text, (gssize)length);
}

static void read_report(const char *xml, Report *report)
{
    const GMarkupParser parser = {.start_element = on_start, .text = on_text};
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, report, NULL);

    ck_assert(g_markup_parse_context_parse(context, xml, -1, NULL));
    ck_assert(g_markup_parse_context_end_parse(context, NULL));
}

START_TEST(junit_report_has_the_same_results)
{
    g_autoptr(GPtrArray) list =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_comparison_free);
    Report report = {g_string_new(NULL), g_string_new(NULL), NULL, 0, 0, 0};
    g_autofree char *xml = NULL;

    g_ptr_array_add(list,
                    compare("c,x,y\na,1,0.5\n\"]]><&'\"\"b\",1,0.5\n",
                            "c,x,y\na,1,0.5\n\"]]><&'\"\"b\",1,0.7\n", "1%"));
    g_ptr_array_add(list,
                    compare("c,x,y\na,1,0.5\n", "c,x,y\nb,1,0.5\n", "1%"));
    xml = rep_junit_print(list);
    read_report(xml, &report);
    ck_assert_uint_eq(report.suites, 2);
    ck_assert_str_eq(report.cases->str, "+---");
    ck_assert_uint_eq(report.stated_tests, 4);
    ck_assert_uint_eq(report.stated_failures, 3);
    ck_assert_ptr_nonnull(strstr(
        report.text->str, "]]><&'\"b / 1: 0.7 instead of 0.5 (40.000 %)"));
    ck_assert_ptr_nonnull(
        strstr(report.text->str, "a / 1: missing; the baseline has 0.5"));
    ck_assert_ptr_nonnull(
        strstr(report.text->str, "b / 1: not in the baseline; now 0.5"));
    g_string_free(report.cases, TRUE);
    g_string_free(report.text, TRUE);
    g_free(report.classname);
}
END_TEST

START_TEST(junit_has_no_characters_that_xml_forbids)
{
    /* A file name may hold anything; XML 1.0 s2.2 leaves these out. */
    g_autoptr(Table) table = parse("a,b\nx,1\n");
    RepCompareOptions options = {NULL, NULL, NULL, false, false};
    g_autoptr(GPtrArray) list =
        g_ptr_array_new_with_free_func((GDestroyNotify)rep_comparison_free);
    Report report = {g_string_new(NULL), g_string_new(NULL), NULL, 0, 0, 0};
    g_autofree char *xml = NULL;

    g_ptr_array_add(list,
                    rep_compare(table, table, &options,
                                "a\x01\xef\xbf\xbf\x7f\xc2\x85<\xff", NULL));
    xml = rep_junit_print(list);
    read_report(xml, &report);
    ck_assert_str_eq(report.classname, "a\xef\xbf\xbd\xef\xbf\xbd"
                                       "\xef\xbf\xbd\xef\xbf\xbd<"
                                       "\xef\xbf\xbd");
    ck_assert_ptr_null(strstr(xml, "&#x"));
    g_string_free(report.cases, TRUE);
    g_string_free(report.text, TRUE);
    g_free(report.classname);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rep_compare");
    TCase *tcase = tcase_create("compare");

    tcase_add_loop_test(tcase, points_are_judged_exactly, 0,
                        G_N_ELEMENTS(points));
    tcase_add_loop_test(tcase, tolerances_of_bad_form_are_refused, 0,
                        G_N_ELEMENTS(bad_tolerances));
    tcase_add_test(tcase, missing_and_extra_points_are_differences);
    tcase_add_test(tcase, order_of_rows_and_columns_does_not_matter);
    tcase_add_test(tcase, errors_of_a_curve_are_those_computed_by_hand);
    tcase_add_loop_test(tcase, columns_are_told_apart_by_the_rule, 0,
                        G_N_ELEMENTS(rules));
    tcase_add_test(tcase, tolerances_in_the_head_are_last);
    tcase_add_loop_test(tcase, nonsense_is_an_error, 0, G_N_ELEMENTS(mistakes));
    tcase_add_test(tcase, junit_report_has_the_same_results);
    tcase_add_test(tcase, junit_has_no_characters_that_xml_forbids);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
