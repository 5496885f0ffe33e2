/* SPDX-License-Identifier: MIT */
/*
 * Invariants of ntb-test, without machines: each step of a client has a
 * verdict; nothing is skipped in silence, and no failure but the expected one,
 * told by its words, is excused. The table shows the worst verdict of a chip
 * and a client. A JUnit report is XML. Each row of the tables belongs to a
 * chip, a client and a step that exist.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <glib.h>

#include "ntt_report.h"
#include "ntt_run.h"
#include "table_format.h"
#include "../suite.h"

static NttPlace place(const char *chip, const char *client, const char *from)
{
    NttPlace place = {.chip = ntt_chip_find(chip),
                      .client = ntt_client_find(client),
                      .from = from,
                      .to = strcmp(from, "a") == 0 ? "b" : "a",
                      .series = 6001};

    ck_assert_ptr_nonnull(place.chip);
    ck_assert_ptr_nonnull(place.client);
    return place;
}

static GPtrArray *judged(const char *chip, const char *client, const char *from,
                         const char *output)
{
    const NttPlace where = place(chip, client, from);
    GPtrArray *results =
        g_ptr_array_new_with_free_func((GDestroyNotify)ntt_result_free);

    ntt_judge(&where, output, "status 7", results);
    return results;
}

/* Checks the verdict and the text of each step, as "STEP=verdict" words. */
static void assert_verdicts(const GPtrArray *results, const char *expected)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        g_string_append_printf(text, "%s%s=%s", i ? "; " : "", result->step,
                               ntt_verdict_name(result->verdict));
    }
    ck_assert_str_eq(text->str, expected);
}

START_TEST(steps_get_verdicts)
{
    g_autoptr(GPtrArray) results =
        judged("switchtec", "tool", "a",
               "ok ports\nnot ok doorbells\n# b has 0x0\n# a line\nok window "
               "0\nend\n");

    assert_verdicts(results, "ports=ok; doorbells=FAULT; window 0=ok");
    ck_assert_str_eq(((NttResult *)results->pdata[1])->text,
                     "b has 0x0\na line\n");
}
END_TEST

START_TEST(no_end_is_a_fault)
{
    g_autoptr(GPtrArray) cut =
        judged("switchtec", "tool", "a", "ok ports\nok doorbells\n");
    g_autoptr(GPtrArray) nothing =
        judged("switchtec", "tool", "a", "sh: not found\n");

    assert_verdicts(cut, "ports=ok; doorbells=ok; comes to its end=FAULT");
    ck_assert_str_eq(((NttResult *)cut->pdata[2])->text, "status 7");
    assert_verdicts(nothing, "comes to its end=FAULT");
    ck_assert_str_eq(((NttResult *)nothing->pdata[0])->text, "sh: not found\n");
}
END_TEST

START_TEST(expected_is_told_by_its_words)
{
    g_autoptr(GPtrArray) cannot =
        judged("amd", "tool", "a",
               "not ok messages\n# unsupported: the driver has none\nend\n");
    g_autoptr(GPtrArray) other =
        judged("amd", "tool", "a", "not ok messages\n# I/O error\nend\n");
    g_autoptr(GPtrArray) works =
        judged("amd", "tool", "a", "ok messages\nend\n");

    assert_verdicts(cannot, "messages=cannot");
    assert_verdicts(other, "messages=FAULT");
    assert_verdicts(works, "messages=changed");
}
END_TEST

/* A defect of one side excuses nothing on the other one. */
START_TEST(expected_of_one_side)
{
    const char *output =
        "not ok b enables the link\n# sh: Invalid argument\nend\n";
    g_autoptr(GPtrArray) b = judged("amd", "tool", "b", output);
    g_autoptr(GPtrArray) a = judged("amd", "tool", "a", output);

    assert_verdicts(b, "b enables the link=defect");
    assert_verdicts(a, "b enables the link=FAULT");
}
END_TEST

/* A race need not show; then nothing has changed. */
START_TEST(rare_defects_may_not_show)
{
    g_autoptr(GPtrArray) shows =
        judged("amd", "perf", "a",
               "not ok they tell each other their windows\n# the hosts have "
               "not told each other their windows\nend\n");
    g_autoptr(GPtrArray) not = judged(
        "amd", "perf", "a", "ok they tell each other their windows\nend\n");

    assert_verdicts(shows, "they tell each other their windows=defect");
    assert_verdicts(not, "they tell each other their windows=ok");
}
END_TEST

START_TEST(nothing_is_left_out_in_silence)
{
    const NttPlace amd = place("amd", "ntb_test", "a");
    const NttPlace switchtec = place("switchtec", "ntb_test", "a");
    g_autofree char *out = ntt_left_out(&amd);
    g_autofree char *none = ntt_left_out(&switchtec);
    g_autoptr(GPtrArray) told = judged("amd", "ntb_test", "a",
                                       "left out link\nleft out link 2\n"
                                       "left out MSI\nend\n");
    g_autoptr(GPtrArray) own =
        judged("switchtec", "ntb_test", "a", "left out link\nend\n");

    ck_assert_ptr_nonnull(strstr(out, "link\n"));
    ck_assert_ptr_nonnull(strstr(out, "MSI\n"));
    ck_assert_str_eq(none, "");
    assert_verdicts(told, "link=cannot; link 2=cannot; MSI=cannot");
    assert_verdicts(own, "link=FAULT");
}
END_TEST

/* A step that is to be left out and fails all the same was not left out. */
START_TEST(a_failure_of_what_is_left_out)
{
    g_autoptr(GPtrArray) results =
        judged("amd", "ntb_test", "a", "not ok link\n# it ends here\nend\n");

    assert_verdicts(results, "link=FAULT");
}
END_TEST

START_TEST(table_shows_the_worst)
{
    g_autoptr(GPtrArray) results = judged(
        "amd", "tool", "a", "ok ports\nnot ok messages\n# unsupported\nend\n");
    g_autoptr(GPtrArray) more =
        judged("switchtec", "pingpong", "a",
               "ok ports\nnot ok a counts\nnot ok b counts\nend\n");
    g_autoptr(Table) table = NULL;
    g_autofree char *text = NULL;

    g_ptr_array_extend_and_steal(results, g_steal_pointer(&more));
    table = ntt_report_table(results);
    text = table_format(table);
    ck_assert_uint_eq(table_n_rows(table), 2);
    ck_assert_uint_eq(table_n_columns(table), 3); /* chip, tool, pingpong */
    ck_assert_str_eq(table_text(table, 0, 0), "switchtec");
    ck_assert_str_eq(table_text(table, 0, 1), "");
    ck_assert_str_eq(table_text(table, 0, 2), "FAULT 2");
    ck_assert_str_eq(table_text(table, 1, 1), "cannot 1");
    ck_assert_uint_eq(ntt_report_count(results, NTT_FAULT), 2);
}
END_TEST

START_TEST(text_has_faults_first)
{
    g_autoptr(GPtrArray) results =
        judged("amd", "tool", "a",
               "not ok messages\n# unsupported\nnot ok window 1\n# md5 "
               "differs\nend\n");
    g_autofree char *text = ntt_report_text(results);

    ck_assert_msg(
        g_str_has_prefix(text, "FAULTS: 1\n"
                               "  amd, tool from a to b: window 1\n"
                               "      md5 differs\n"
                               "Not possible with these chips and drivers:\n"
                               "  no-messages: "),
        "%s", text);
}
END_TEST

/* GLib's parser refuses what is no XML; the counts are attributes. */
START_TEST(junit_is_xml)
{
    static const GMarkupParser parser; /* it takes all that is XML */
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, 0, NULL, NULL);
    g_autoptr(GPtrArray) results = judged(
        "amd", "tool", "a",
        "ok ports\nnot ok messages\n# unsupported\nnot ok a <&> \"b\"\n# "
        "\x1b[31m<red>\nend\n");
    g_autofree char *xml = ntt_report_junit(results);
    GError *error = NULL;

    ck_assert_msg(g_markup_parse_context_parse(context, xml, -1, &error) &&
                      g_markup_parse_context_end_parse(context, &error),
                  "%s: %s", error ? error->message : "", xml);
    ck_assert_ptr_nonnull(
        strstr(xml, "<testsuite name=\"amd\" tests=\"3\" failures=\"1\" "
                    "skipped=\"1\">"));
    ck_assert_ptr_nonnull(strstr(xml, "not possible no-messages: "));
    ck_assert_ptr_null(strchr(xml, '\x1b'));
}
END_TEST

START_TEST(series_can_be_compared)
{
    ck_assert_uint_eq(ntt_series("6.1.0-56-amd64"), 6001);
    ck_assert_uint_eq(ntt_series("6.12.117"), 6012);
    ck_assert_uint_gt(ntt_series("6.12.1"), ntt_series("6.2.1"));
    ck_assert_uint_gt(ntt_series("7.0"), ntt_series("6.99"));
    ck_assert_uint_eq(ntt_series("none"), 0);
}
END_TEST

/* What is expected of a chip or a client that does not exist would excuse
 * nothing. */
START_TEST(rows_belong_to_something)
{
    for (const NttExpected *row = ntt_expected; row->name; row++) {
        g_autoptr(GRegex) words = g_regex_new(row->words ? row->words : "",
                                              G_REGEX_MULTILINE, 0, NULL);
        bool has_chip = false, has_client = false;

        for (const NttChip *chip = ntt_chips; chip->name; chip++) {
            has_chip |= g_pattern_match_simple(row->chip, chip->name);
        }
        for (const NttClient *client = ntt_clients; client->name; client++) {
            has_client |= g_pattern_match_simple(row->client, client->name);
        }
        ck_assert_msg(has_chip && has_client, "%s: %s, %s", row->name,
                      row->chip, row->client);
        ck_assert_msg(!!words, "%s: %s", row->name, row->words);
    }
}
END_TEST

/* Each chip has a description that loads with its changes, hosts on one chip,
 * and a program for each client. */
START_TEST(rows_have_files)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new();
    NttKernel kernel = {.keys = keys};

    g_ptr_array_add(keys, (char *)"memory=320MiB");
    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        g_autoptr(GError) error = NULL;
        NttSubject *subject = ntt_subject_new(chip, &kernel, &error);
        unsigned hosts;

        ck_assert_msg(!!subject, "%s: %s", chip->name,
                      error ? error->message : "");
        hosts = subject->description->hosts->len;
        ck_assert_uint_ge(hosts, 2);
        ck_assert_uint_eq(subject->pairs->len, hosts * (hosts - 1));
        ntt_subject_free(subject);
    }
    for (const NttClient *client = ntt_clients; client->name; client++) {
        g_autofree char *path = g_build_filename(TOPO_SOURCE_ROOT, "ntbtest",
                                                 "clients", client->name, NULL);

        ck_assert_msg(access(path, X_OK) == 0, "%s", path);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ntt");
    TCase *tcase = tcase_create("ntt");

    tcase_add_test(tcase, steps_get_verdicts);
    tcase_add_test(tcase, no_end_is_a_fault);
    tcase_add_test(tcase, expected_is_told_by_its_words);
    tcase_add_test(tcase, expected_of_one_side);
    tcase_add_test(tcase, rare_defects_may_not_show);
    tcase_add_test(tcase, nothing_is_left_out_in_silence);
    tcase_add_test(tcase, a_failure_of_what_is_left_out);
    tcase_add_test(tcase, table_shows_the_worst);
    tcase_add_test(tcase, text_has_faults_first);
    tcase_add_test(tcase, junit_is_xml);
    tcase_add_test(tcase, series_can_be_compared);
    tcase_add_test(tcase, rows_belong_to_something);
    tcase_add_test(tcase, rows_have_files);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
