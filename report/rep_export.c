/* SPDX-License-Identifier: MIT */
#include "rep_export.h"

#include <string.h>

#include "rep_history.h"
#include "table_csv.h"

/* Appends @text as a JSON string. The text is valid UTF-8. */
static void append_json(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            g_string_append_printf(out, "\\%c", *text);
        } else if ((unsigned char)*text < 0x20) {
            g_string_append_printf(out, "\\u%04x", (unsigned)*text);
        } else {
            g_string_append_c(out, *text);
        }
    }
    g_string_append_c(out, '"');
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

/* Adds a column for each trend. */
static bool add_trends(Table *table, const GPtrArray *trends, GError **error)
{
    for (unsigned i = 0; i < trends->len; i++) {
        const RepTrend *trend = trends->pdata[i];
        g_autofree char *name = g_strdup_printf("%s: %s: %s", trend->scenario,
                                                trend->point, trend->column);

        if (table_find_column(table, name, NULL)) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "two numbers would both be called \"%s\"; give a point "
                        "or a scenario another name",
                        name);
            return false;
        }
        table_add_column(table, name, TABLE_TEXT, 0);
    }
    return true;
}

/* A row for each version, with a column for each number. */
static char *print_otava(const char *path, GError **error)
{
    g_autoptr(RepHistory) history = rep_history_read(path, 0, error);
    g_autoptr(Table) table = NULL;

    if (!history) {
        return NULL;
    }
    table = table_new();
    table_add_column(table, "time", TABLE_TEXT, 0);
    table_add_column(table, "version", TABLE_TEXT, 0);
    if (!add_trends(table, history->trends, error)) {
        return NULL;
    }
    for (unsigned i = 0; i < history->versions->len; i++) {
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, history->times->pdata[i]);
        table_set_text(table, row, 1, history->versions->pdata[i]);
    }
    for (unsigned i = 0; i < history->trends->len; i++) {
        const RepTrend *trend = history->trends->pdata[i];

        for (unsigned j = 0; j < trend->texts->len; j++) {
            table_set_text(table, g_array_index(trend->versions, unsigned, j),
                           2 + i, trend->texts->pdata[j]);
        }
    }
    return table_to_csv(table);
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

    if (strcmp(format, "otava") == 0) {
        if (files[1]) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "the format otava takes one history; `farside history "
                        "--add` makes one");
            return NULL;
        }
        return print_otava(files[0], error);
    }
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
