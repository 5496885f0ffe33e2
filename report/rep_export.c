/* SPDX-License-Identifier: MIT */
#include "rep_export.h"

#include <string.h>

#include <json-glib/json-glib.h>

#include "rep_series.h"
#include "table_csv.h"

static void append_json(GString *out, const char *text)
{
    g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), text);
    g_autofree char *json = json_to_string(node, FALSE);

    g_string_append(out, json);
}

static void append_name(GString *out, const RepNumber *number, bool has_column)
{
    g_autofree char *name = g_strdup_printf(
        "%s: %s%s%s", number->scenario, number->point, has_column ? ": " : "",
        has_column ? number->column : "");

    append_json(out, name);
}

/* A number of a CSV is valid JSON: it has no needless zero, and no sign but
 * "-". */
static char *print_github(const GPtrArray *numbers, RepBetter better)
{
    GString *out = g_string_new("[");
    unsigned count = 0;

    for (unsigned i = 0; i < numbers->len; i++) {
        const RepNumber *number = numbers->pdata[i];

        if (number->better != better) {
            continue;
        }
        g_string_append(out,
                        count++ > 0 ? ",\n {\"name\": " : "\n {\"name\": ");
        append_name(out, number, true);
        g_string_append(out, ", \"unit\": ");
        append_json(out, number->unit);
        g_string_append_printf(out, ", \"value\": %s}", number->value);
    }
    g_string_append(out, "\n]\n");
    return count > 0 ? g_string_free(out, FALSE)
                     : (g_string_free(out, TRUE), NULL);
}

static char *print_bigger(const GPtrArray *numbers,
                          G_GNUC_UNUSED const GPtrArray *failed)
{
    return print_github(numbers, REP_BETTER_HIGHER);
}

static char *print_smaller(const GPtrArray *numbers,
                           G_GNUC_UNUSED const GPtrArray *failed)
{
    return print_github(numbers, REP_BETTER_LOWER);
}

/* A benchmark is a point, and its columns are measures. The numbers of a point
 * follow each other. */
static char *print_bencher(const GPtrArray *numbers,
                           G_GNUC_UNUSED const GPtrArray *failed)
{
    GString *out = g_string_new("{");
    const RepNumber *last = NULL;

    for (unsigned i = 0; i < numbers->len; i++) {
        const RepNumber *number = numbers->pdata[i];
        bool is_same = last && strcmp(last->scenario, number->scenario) == 0 &&
                       strcmp(last->point, number->point) == 0;

        if (is_same) {
            g_string_append(out, ",");
        } else {
            g_string_append(out, last ? "\n },\n " : "\n ");
            append_name(out, number, false);
            g_string_append(out, ": {");
        }
        g_string_append(out, "\n  ");
        append_json(out, number->column);
        g_string_append_printf(out, ": {\"value\": %s}", number->value);
        last = number;
    }
    g_string_append(out, "\n }\n}\n");
    return g_string_free(out, FALSE);
}

static char *print_junit(const GPtrArray *numbers, const GPtrArray *failed)
{
    GString *out = g_string_new("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");

    g_string_append_printf(
        out,
        "<testsuites><testsuite name=\"farside\" tests=\"%u\" "
        "failures=\"%u\">\n",
        numbers->len + failed->len, failed->len);
    for (unsigned i = 0; i < numbers->len; i++) {
        const RepNumber *number = numbers->pdata[i];
        g_autofree char *line = g_markup_printf_escaped(
            "<testcase classname=\"%s\" name=\"%s: %s\"><system-out>%s %s"
            "</system-out></testcase>\n",
            number->scenario, number->point, number->column, number->value,
            number->unit);

        g_string_append(out, line);
    }
    for (unsigned i = 0; i < failed->len; i++) {
        const RepNumber *number = failed->pdata[i];
        g_autofree char *line = g_markup_printf_escaped(
            "<testcase classname=\"%s\" name=\"%s\"><failure message=\"the "
            "point failed\"/></testcase>\n",
            number->scenario, number->point);

        g_string_append(out, line);
    }
    g_string_append(out, "</testsuite></testsuites>\n");
    return g_string_free(out, FALSE);
}

static const struct {
    const char *name;
    char *(*print)(const GPtrArray *numbers, const GPtrArray *failed);
} formats[] = {
    {"github-bigger", print_bigger},
    {"github-smaller", print_smaller},
    {"bencher", print_bencher},
    {"junit", print_junit},
};

char *rep_export(const char *format, char **files, GError **error)
{
    g_autoptr(GPtrArray) failed =
        g_ptr_array_new_with_free_func(rep_number_free);
    g_autoptr(GPtrArray) numbers = NULL;
    char *text = NULL;
    unsigned i = 0;

    while (i < G_N_ELEMENTS(formats) && strcmp(formats[i].name, format) != 0) {
        i++;
    }
    if (i == G_N_ELEMENTS(formats)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "there is no format \"%s\"; it is " REP_EXPORT_FORMATS,
                    format);
        return NULL;
    }
    numbers = rep_series_read_files(files, failed, error);
    if (!numbers) {
        return NULL;
    }
    text = numbers->len > 0 ? formats[i].print(numbers, failed) : NULL;
    if (!text) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "no number fits the format %s; the keys `better` and "
                    "`unit` of a column say what its numbers are",
                    format);
    }
    return text;
}
