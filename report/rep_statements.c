/* SPDX-License-Identifier: MIT */
#include "rep_statements.h"

#include <string.h>

#include "table_csv.h"

enum {
    SCENARIO,
    TEXT,
    COLUMN,
    FIRST,
    SECOND,
    OF,
    LEAST,
    MOST,
    WHY,
    N_COLUMNS
};

static const char *const names[N_COLUMNS] = {"scenario", "statement", "column",
                                             "first",    "second",    "of",
                                             "least",    "most",      "why"};

/* A line of the file. */
typedef struct Line {
    char *cells[N_COLUMNS];
    const char *path;
    unsigned number;
} Line;

static void line_clear(Line *line)
{
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        g_free(line->cells[i]);
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Line, line_clear)

static void statement_free(void *data)
{
    RepStatement *statement = data;

    g_free(statement->scenario);
    g_free(statement->text);
    g_free(statement->first);
    g_free(statement->second);
    g_free(statement->value);
    g_free(statement->range);
    g_free(statement->why);
    g_free(statement);
}

/* Sets @error to "PATH:LINE: WHAT 'TEXT'; HELP", and returns false. */
static bool wrong(const Line *line, const char *what, const char *text,
                  const char *help, GError **error)
{
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s:%u: %s '%s'; %s",
                line->path, line->number, what, text, help);
    return false;
}

static const RepScenario *find_scenario(const RepReport *report,
                                        const Line *line, GError **error)
{
    for (unsigned i = 0; i < rep_report_n_scenarios(report); i++) {
        const RepScenario *scenario = rep_report_scenario(report, i);

        if (strcmp(scenario->description->name, line->cells[SCENARIO]) == 0) {
            return scenario;
        }
    }
    wrong(line, "there is no result of", line->cells[SCENARIO],
          "write the name of a scenario of the report", error);
    return NULL;
}

/* The values of the key columns of a row, with "/" between them. The caller
 * frees the text. */
static char *key_of(const Table *table, char **keys, unsigned row)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; keys[i]; i++) {
        unsigned column;

        if (table_find_column(table, keys[i], &column)) {
            g_autofree char *value = table_dup_key(table, row, column);

            g_string_append_printf(text, "%s%s", i > 0 ? "/" : "", value);
        }
    }
    return g_string_free(text, FALSE);
}

/* Reads the number of the row @line->cells[@which] in the column. */
static bool find_value(const Table *table, const Line *line, unsigned which,
                       unsigned column, double *ret_value, GError **error)
{
    const char *head = table_find_head(table, "key");
    g_auto(GStrv) keys = g_strsplit(head ? head : "", ",", -1);

    for (unsigned row = 0; row < table_n_rows(table); row++) {
        g_autofree char *key = key_of(table, keys, row);

        if (strcmp(key, line->cells[which]) == 0) {
            g_autofree char *cell = table_dup_cell(table, row, column);

            *ret_value = g_ascii_strtod(cell, NULL);
            return true;
        }
    }
    return wrong(line, "the result has no row", line->cells[which],
                 "write the values of its key columns with / between them",
                 error);
}

static bool read_bound(const Line *line, unsigned which, double *ret_value,
                       GError **error)
{
    const char *text = line->cells[which];
    char *end;

    *ret_value = g_ascii_strtod(text, &end);
    return (end != text && *end == '\0') ||
           wrong(line, names[which], text, "write a number", error);
}

static char *number_text(double value, const char *unit)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(text, sizeof(text), "%+.3f", value);
    return g_strconcat(text, unit, NULL);
}

static char *range_text(double least, double most, const char *unit)
{
    char low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(low, sizeof(low), "%g", least);
    g_ascii_formatd(high, sizeof(high), "%g", most);
    return g_strdup_printf("%s to %s%s", low, high, unit);
}

static RepStatement *judge(const RepReport *report, Line *line, GError **error)
{
    const RepScenario *scenario = find_scenario(report, line, error);
    bool is_percent = strcmp(line->cells[OF], "percent") == 0;
    double least, most, first, second, value;
    RepStatement *statement;
    unsigned column;

    if (!scenario) {
        return NULL;
    }
    if (!is_percent && strcmp(line->cells[OF], "difference") != 0) {
        wrong(line, "of:", line->cells[OF], "write difference or percent",
              error);
        return NULL;
    }
    if (!table_find_column(scenario->table, line->cells[COLUMN], &column) ||
        table_column_type(scenario->table, column) == TABLE_TEXT) {
        wrong(line, "the result has no column of numbers", line->cells[COLUMN],
              "write one of its columns", error);
        return NULL;
    }
    if (!read_bound(line, LEAST, &least, error) ||
        !read_bound(line, MOST, &most, error) ||
        !find_value(scenario->table, line, FIRST, column, &first, error) ||
        !find_value(scenario->table, line, SECOND, column, &second, error)) {
        return NULL;
    }
    value = is_percent ? (first - second) / second * 100 : first - second;
    statement = g_new0(RepStatement, 1);
    statement->scenario = g_steal_pointer(&line->cells[SCENARIO]);
    statement->text = g_steal_pointer(&line->cells[TEXT]);
    statement->first = g_steal_pointer(&line->cells[FIRST]);
    statement->second = g_steal_pointer(&line->cells[SECOND]);
    statement->why = g_steal_pointer(&line->cells[WHY]);
    statement->value = number_text(value, is_percent ? " %" : "");
    statement->range = range_text(least, most, is_percent ? " %" : "");
    statement->holds = value >= least && value <= most;
    return statement;
}

/* Takes the cells of a row of @file. */
static bool line_read(const Table *file, unsigned row, Line *line,
                      GError **error)
{
    line->number = table_line(file, row);
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        unsigned column;

        if (!table_find_column(file, names[i], &column)) {
            return wrong(line, "there is no column", names[i],
                         "add it to the first line", error);
        }
        line->cells[i] = table_dup_cell(file, row, column);
    }
    return true;
}

GPtrArray *rep_statements_read(const RepReport *report, const char *path,
                               GError **error)
{
    g_autoptr(Table) file = table_read(path, error);
    g_autoptr(GPtrArray) statements =
        g_ptr_array_new_with_free_func(statement_free);

    for (unsigned row = 0; file && row < table_n_rows(file); row++) {
        g_auto(Line) line = {.path = path};
        RepStatement *statement = NULL;

        if (line_read(file, row, &line, error)) {
            statement = judge(report, &line, error);
        }
        if (!statement) {
            return NULL;
        }
        g_ptr_array_add(statements, statement);
    }
    return file ? g_steal_pointer(&statements) : NULL;
}
