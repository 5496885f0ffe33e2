/* SPDX-License-Identifier: MIT */
#include "rep_junit.h"

#include "table_text.h"

char *rep_junit_escape(const char *text)
{
    g_autofree char *clean = table_text_from(text, -1, true);

    return g_markup_escape_text(clean, -1);
}

static void append_point(GString *text, const RepPoint *point)
{
    g_autofree char *error = rep_mpct_print(point->error_mpct);

    switch (point->verdict) {
    case REP_MISSING:
        g_string_append_printf(text, "%s: missing; the baseline has %s\n",
                               point->key, point->baseline);
        break;
    case REP_EXTRA:
        g_string_append_printf(text, "%s: not in the baseline; now %s\n",
                               point->key, point->fresh);
        break;
    default:
        g_string_append_printf(text, "%s: %s instead of %s%s%s%s\n", point->key,
                               point->fresh, point->baseline,
                               *error != '\0' ? " (" : "", error,
                               *error != '\0' ? " %)" : "");
        break;
    }
}

static void append_case(GString *xml, const RepComparison *comparison,
                        unsigned index)
{
    const RepCurve *curve = rep_comparison_curve(comparison, index);
    g_autofree char *suite = rep_junit_escape(rep_comparison_name(comparison));
    g_autofree char *name = rep_junit_escape(curve->name);
    g_autofree char *column = rep_junit_escape(curve->column);
    g_autofree char *body = NULL;
    GString *points;
    unsigned i;

    g_string_append_printf(xml,
                           "    <testcase classname=\"%s\" name=\"%s: %s\"",
                           suite, name, column);
    if (curve->n_outside + curve->n_missing + curve->n_extra == 0) {
        g_string_append(xml, "/>\n");
        return;
    }
    points = g_string_new(NULL);
    for (i = 0; i < rep_comparison_n_points(comparison); i++) {
        const RepPoint *point = rep_comparison_point(comparison, i);

        if (point->curve == index && point->verdict != REP_WITHIN) {
            append_point(points, point);
        }
    }
    body = rep_junit_escape(points->str);
    g_string_free(points, TRUE);
    g_string_append_printf(
        xml,
        ">\n      <failure message=\"%u outside, %u missing, %u extra\">%s"
        "</failure>\n    </testcase>\n",
        curve->n_outside, curve->n_missing, curve->n_extra, body);
}

static unsigned count_failures(const RepComparison *comparison)
{
    unsigned failures = 0;
    unsigned i;

    for (i = 0; i < rep_comparison_n_curves(comparison); i++) {
        const RepCurve *curve = rep_comparison_curve(comparison, i);

        failures += curve->n_outside + curve->n_missing + curve->n_extra > 0;
    }
    return failures;
}

char *rep_junit_print(const GPtrArray *comparisons)
{
    GString *xml = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                "<testsuites>\n");
    unsigned i;
    unsigned curve;

    for (i = 0; i < comparisons->len; i++) {
        const RepComparison *comparison = comparisons->pdata[i];
        unsigned n_curves = rep_comparison_n_curves(comparison);
        g_autofree char *name =
            rep_junit_escape(rep_comparison_name(comparison));

        g_string_append_printf(
            xml, "  <testsuite name=\"%s\" tests=\"%u\" failures=\"%u\">\n",
            name, n_curves, count_failures(comparison));
        for (curve = 0; curve < n_curves; curve++) {
            append_case(xml, comparison, curve);
        }
        g_string_append(xml, "  </testsuite>\n");
    }
    g_string_append(xml, "</testsuites>\n");
    return g_string_free(xml, FALSE);
}
