/* SPDX-License-Identifier: MIT */
#include "ntt_report.h"

#include "rep_junit.h"

static bool has_result(const GPtrArray *results, const NttChip *chip,
                       const NttClient *client)
{
    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        if ((!chip || result->place.chip == chip) &&
            (!client || result->place.client == client)) {
            return true;
        }
    }
    return false;
}

char *ntt_report_cell(const GPtrArray *results, const NttChip *chip,
                      const NttClient *client)
{
    unsigned counts[NTT_N_VERDICTS] = {0};
    int worst = NTT_N_VERDICTS - 1;

    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        if (result->place.chip == chip && result->place.client == client) {
            counts[result->verdict]++;
        }
    }
    while (worst > NTT_OK && counts[worst] == 0) {
        worst--;
    }
    if (counts[worst] == 0) {
        return g_strdup("");
    }
    return g_strdup_printf("%s %u", ntt_verdict_name((NttVerdict)worst),
                           counts[worst]);
}

Table *ntt_report_table(const GPtrArray *results)
{
    Table *table = table_new();

    table_add_column(table, "chip", TABLE_TEXT, 0);
    for (const NttClient *client = ntt_clients; client->name; client++) {
        if (has_result(results, NULL, client)) {
            table_add_column(table, client->name, TABLE_TEXT, 0);
        }
    }
    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        unsigned row, column = 1;

        if (!has_result(results, chip, NULL)) {
            continue;
        }
        row = table_add_row(table);
        table_set_text(table, row, 0, chip->name);
        for (const NttClient *client = ntt_clients; client->name; client++) {
            if (has_result(results, NULL, client)) {
                g_autofree char *cell = ntt_report_cell(results, chip, client);

                table_set_text(table, row, column++, cell);
            }
        }
    }
    return table;
}

static void append_place(GString *text, const NttResult *result)
{
    const NttPlace *place = &result->place;

    g_string_append_printf(text, "  %s, %s from %s to %s: %s\n",
                           place->chip->name, place->client->name, place->from,
                           place->to, result->step);
}

static void append_faults(GString *text, const GPtrArray *results)
{
    unsigned count = ntt_report_count(results, NTT_FAULT);

    if (count > 0) {
        g_string_append_printf(text, "FAULTS: %u\n", count);
    }
    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];
        g_auto(GStrv) lines = g_strsplit(result->text, "\n", 0);

        if (result->verdict != NTT_FAULT) {
            continue;
        }
        append_place(text, result);
        for (char **line = lines; *line; line++) {
            if (**line != '\0') {
                g_string_append_printf(text, "      %s\n", *line);
            }
        }
    }
}

/* Appends each thing that was expected, with all results that have @verdict for
 * it. */
static void append_expected(GString *text, const GPtrArray *results,
                            NttVerdict verdict, const char *title)
{
    if (ntt_report_count(results, verdict) > 0) {
        g_string_append_printf(text, "%s\n", title);
    }
    for (const NttExpected *expected = ntt_expected; expected->name;
         expected++) {
        bool is_said = false;

        for (unsigned i = 0; i < results->len; i++) {
            const NttResult *result = results->pdata[i];

            if (result->verdict == verdict && result->expected == expected) {
                if (!is_said) {
                    g_string_append_printf(text, "  %s: %s\n", expected->name,
                                           expected->reason);
                }
                is_said = true;
                g_string_append(text, "  ");
                append_place(text, result);
            }
        }
    }
}

char *ntt_report_text(const GPtrArray *results)
{
    GString *text = g_string_new(NULL);

    append_faults(text, results);
    append_expected(text, results, NTT_CHANGED,
                    "Works, and was expected not to:");
    append_expected(text, results, NTT_KNOWN, "Known defects of the kernel:");
    append_expected(text, results, NTT_NOT_POSSIBLE,
                    "Not possible with these chips and drivers:");
    return g_string_free(text, FALSE);
}

static void append_case(GString *xml, const NttResult *result)
{
    const NttPlace *place = &result->place;
    g_autofree char *step = rep_junit_escape(result->step);
    g_autofree char *text = rep_junit_escape(result->text);
    g_autofree char *reason =
        rep_junit_escape(result->expected ? result->expected->reason : "");
    const char *name = result->expected ? result->expected->name : "";

    g_string_append_printf(
        xml, "    <testcase classname=\"%s.%s\" name=\"%s to %s: %s\"",
        place->chip->name, place->client->name, place->from, place->to, step);
    switch (result->verdict) {
    case NTT_FAULT:
        g_string_append_printf(
            xml,
            ">\n      <failure message=\"%s\">%s</failure>\n    </testcase>\n",
            step, text);
        break;
    case NTT_KNOWN:
    case NTT_NOT_POSSIBLE:
        g_string_append_printf(
            xml, ">\n      <skipped message=\"%s %s: %s\"/>\n    </testcase>\n",
            result->verdict == NTT_KNOWN ? "known defect" : "not possible",
            name, reason);
        break;
    case NTT_CHANGED:
        g_string_append_printf(xml,
                               ">\n      <system-out>works, and was expected "
                               "not to: %s: %s</system-out>\n    </testcase>\n",
                               name, reason);
        break;
    default:
        g_string_append(xml, "/>\n");
        break;
    }
}

static void append_suite(GString *xml, const GPtrArray *results,
                         const NttChip *chip)
{
    g_autoptr(GString) cases = g_string_new(NULL);
    unsigned total = 0, counts[NTT_N_VERDICTS] = {0};

    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        if (result->place.chip == chip) {
            append_case(cases, result);
            counts[result->verdict]++;
            total++;
        }
    }
    if (total > 0) {
        g_string_append_printf(
            xml,
            "  <testsuite name=\"%s\" tests=\"%u\" failures=\"%u\" "
            "skipped=\"%u\">\n%s  </testsuite>\n",
            chip->name, total, counts[NTT_FAULT],
            counts[NTT_KNOWN] + counts[NTT_NOT_POSSIBLE], cases->str);
    }
}

char *ntt_report_junit(const GPtrArray *results)
{
    GString *xml = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                "<testsuites>\n");

    for (const NttChip *chip = ntt_chips; chip->name; chip++) {
        append_suite(xml, results, chip);
    }
    g_string_append(xml, "</testsuites>\n");
    return g_string_free(xml, FALSE);
}

unsigned ntt_report_count(const GPtrArray *results, NttVerdict verdict)
{
    unsigned count = 0;

    for (unsigned i = 0; i < results->len; i++) {
        const NttResult *result = results->pdata[i];

        count += result->verdict == verdict;
    }
    return count;
}
