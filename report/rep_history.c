/* SPDX-License-Identifier: MIT */
#include "rep_history_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "rep_plot.h"
#include "table_csv.h"
#include "table_format.h"

/* ---- Appending ---------------------------------------------------------- */

static void add_numbers(Table *table, const char *version, const char *time,
                        const GPtrArray *numbers)
{
    for (unsigned i = 0; i < numbers->len; i++) {
        const RepNumber *number = numbers->pdata[i];
        const char *const cells[HISTORY_N_COLUMNS] = {
            version,
            time,
            number->scenario,
            number->point,
            number->column,
            number->unit,
            rep_better_word(number->better),
            number->value};
        unsigned row = table_add_row(table);

        for (unsigned j = 0; j < HISTORY_N_COLUMNS; j++) {
            table_set_text(table, row, j, cells[j]);
        }
    }
}

static Table *read_file(const char *path, GError **error)
{
    g_autoptr(Table) table = table_read_texts(path, error);

    if (!table) {
        return NULL;
    }
    if (!history_is_one(table)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s is no history: its columns must be version, time, "
                    "scenario, point, column, unit, better, value",
                    path);
        return NULL;
    }
    return g_steal_pointer(&table);
}

/* Fails unless @text can stand in one line of a history. */
static bool check_line(const char *what, const char *text, GError **error)
{
    bool is_good = *text != '\0' && g_utf8_validate(text, -1, NULL);

    for (; is_good && *text; text = g_utf8_next_char(text)) {
        is_good = !g_unichar_iscntrl(g_utf8_get_char(text));
    }
    if (!is_good) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "the %s must be a line of text, such as %s", what,
                    strcmp(what, "time") == 0 ? "2026-01-31T12:00:00Z"
                                              : "v1.2");
    }
    return is_good;
}

/* Fails if the history has @version. */
static bool check_version(const char *path, const char *version, GError **error)
{
    g_autoptr(Table) old = read_file(path, error);

    if (!old) {
        return false;
    }
    for (unsigned i = 0; i < table_n_rows(old); i++) {
        g_autofree char *cell = table_dup_cell(old, i, HISTORY_VERSION);

        if (strcmp(cell, version) == 0) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s has the version \"%s\" already; give another name",
                        path, version);
            return false;
        }
    }
    return true;
}

/* Returns true if there is no file, or one without a byte, as touch makes it.
 */
static bool is_new_file(const char *path)
{
    GStatBuf status;

    return g_stat(path, &status) != 0 || status.st_size == 0;
}

/* Returns true if the last line of the file has no end, as some editors leave
 * it. */
static bool is_open_line(const char *path)
{
    FILE *file = fopen(path, "re");
    int last = '\n';

    if (file) {
        if (fseek(file, -1, SEEK_END) == 0) {
            last = getc(file);
        }
        fclose(file);
    }
    return last != '\n';
}

static bool append_text(const char *path, const char *text, GError **error)
{
    size_t length = strlen(text);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    bool is_written = fd >= 0 && write(fd, text, length) == (ssize_t)length;
    int code = errno;

    if (fd >= 0) {
        close(fd);
    }
    if (!is_written) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_FILE, "cannot write %s: %s",
                    path, g_strerror(code));
    }
    return is_written;
}

/* Fails if the history could not be read any more with @rows at its end: the
 * reader has bounds. */
static bool check_room(const char *path, const char *rows, GError **error)
{
    g_autofree char *old = NULL, *whole = NULL;
    g_autoptr(GError) cause = NULL;
    g_autoptr(Table) table = NULL;

    if (!g_file_get_contents(path, &old, NULL, error)) {
        return false;
    }
    whole = g_strconcat(old, rows, NULL);
    table = table_parse_texts(whole, strlen(whole), path, &cause);
    if (!table) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "the history has no room for these results; begin another "
                    "one (%s)",
                    cause->message);
    }
    return table;
}

bool rep_history_append(const char *path, const char *version, const char *time,
                        char **files, GError **error)
{
    bool is_new = is_new_file(path);
    g_autoptr(Table) table = table_new();
    g_autoptr(GPtrArray) numbers = NULL;
    g_autofree char *text = NULL;
    g_autofree char *rows = NULL;

    if (!check_line("version", version, error) ||
        !check_line("time", time, error) ||
        (!is_new && !check_version(path, version, error))) {
        return false;
    }
    numbers = rep_series_read_files(files, NULL, error);
    if (!numbers) {
        return false;
    }
    table_add_columns(table, history_columns, HISTORY_N_COLUMNS);
    add_numbers(table, version, time, numbers);
    text = table_to_csv(table);
    if (is_new) {
        return append_text(path, text, error);
    }
    rows = g_strconcat(is_open_line(path) ? "\n" : "", strchr(text, '\n') + 1,
                       NULL);
    return check_room(path, rows, error) && append_text(path, rows, error);
}

/* ---- Trends -------------------------------------------------------------- */

static void trend_free(void *data)
{
    RepTrend *trend = data;

    g_free(trend->scenario);
    g_free(trend->point);
    g_free(trend->column);
    g_free(trend->unit);
    g_array_unref(trend->versions);
    g_array_unref(trend->values);
    g_ptr_array_unref(trend->texts);
    g_array_unref(trend->changes);
    g_free(trend);
}

void rep_history_free(RepHistory *history)
{
    if (history) {
        g_ptr_array_unref(history->versions);
        g_ptr_array_unref(history->times);
        g_ptr_array_unref(history->trends);
        g_free(history);
    }
}

static RepWide value_at(const RepTrend *trend, unsigned i)
{
    return g_array_index(trend->values, RepWide, i);
}

/* Finds the first value outside the band around the oldest one. */
static void find_drift(RepTrend *trend, int64_t band_mpct)
{
    RepWide oldest = value_at(trend, 0);

    trend->first_out = -1;
    trend->drift_mpct =
        rep_error_mpct(value_at(trend, trend->values->len - 1), oldest);
    for (unsigned i = 1; i < trend->values->len; i++) {
        RepWide value = value_at(trend, i);
        int64_t error = rep_error_mpct(value, oldest);
        bool is_out =
            error == TABLE_NONE ? value != oldest : ABS(error) > band_mpct;

        if (is_out) {
            trend->first_out = (int)i;
            trend->is_worse =
                !(trend->better == REP_BETTER_HIGHER && value > oldest) &&
                !(trend->better == REP_BETTER_LOWER && value < oldest);
            return;
        }
    }
}

/* The sum and the sum of squares of the values from @from up to @to. */
static void sum_values(const RepTrend *trend, unsigned from, unsigned to,
                       double *ret_mean, double *ret_spread)
{
    double sum = 0, squares = 0, mean;

    for (unsigned i = from; i < to; i++) {
        sum += (double)value_at(trend, i);
    }
    mean = sum / (to - from);
    for (unsigned i = from; i < to; i++) {
        double distance = (double)value_at(trend, i) - mean;

        squares += distance * distance;
    }
    *ret_mean = mean;
    *ret_spread = squares;
}

/*
 * Divides the values from @from up to @to where the sum of the squares around
 * the two means is least, and then each part again. It is a change if the means
 * differ by more than the band, and by more than three standard deviations
 * within the parts.
 */
static void find_changes(RepTrend *trend, unsigned from, unsigned to,
                         int64_t band_mpct)
{
    double best = 0, best_before = 0, best_after = 0;
    unsigned at = 0;

    for (unsigned i = from + 1; i < to; i++) {
        double before, after, spread_before, spread_after;

        sum_values(trend, from, i, &before, &spread_before);
        sum_values(trend, i, to, &after, &spread_after);
        if (at == 0 || spread_before + spread_after < best) {
            at = i;
            best = spread_before + spread_after;
            best_before = before;
            best_after = after;
        }
    }
    if (at == 0 || fabs(best_after - best_before) <=
                       MAX(fabs(best_before) * (double)band_mpct / 1e5,
                           3 * sqrt(best / (to - from)))) {
        return;
    }
    find_changes(trend, from, at, band_mpct);
    g_array_append_val(trend->changes, at);
    find_changes(trend, at, to, band_mpct);
}

static RepTrend *trend_of(RepHistory *history, GHashTable *by_name,
                          const Table *table, unsigned row)
{
    g_autofree char *name = NULL;
    g_autofree char *word = table_dup_cell(table, row, HISTORY_BETTER);
    g_autofree char *scenario = table_dup_cell(table, row, HISTORY_SCENARIO);
    g_autofree char *point = table_dup_cell(table, row, HISTORY_POINT);
    g_autofree char *column = table_dup_cell(table, row, HISTORY_COLUMN);
    RepTrend *trend;

    name = g_strjoin("\x1f", scenario, point, column, NULL);
    trend = g_hash_table_lookup(by_name, name);
    if (!trend) {
        trend = g_new0(RepTrend, 1);
        trend->scenario = g_steal_pointer(&scenario);
        trend->point = g_steal_pointer(&point);
        trend->column = g_steal_pointer(&column);
        trend->unit = table_dup_cell(table, row, HISTORY_UNIT);
        trend->versions = g_array_new(FALSE, FALSE, sizeof(unsigned));
        trend->values = g_array_new(FALSE, FALSE, sizeof(RepWide));
        trend->texts = g_ptr_array_new_with_free_func(g_free);
        trend->changes = g_array_new(FALSE, FALSE, sizeof(unsigned));
        g_ptr_array_add(history->trends, trend);
        g_hash_table_insert(by_name, g_steal_pointer(&name), trend);
    }
    trend->better = rep_better_parse(word);
    return trend;
}

static bool take_row(RepHistory *history, GHashTable *by_name,
                     const Table *table, unsigned row, const char *path,
                     GError **error)
{
    g_autofree char *version = table_dup_cell(table, row, HISTORY_VERSION);
    g_autofree char *text = table_dup_cell(table, row, HISTORY_VALUE);
    RepTrend *trend = trend_of(history, by_name, table, row);
    unsigned digits, index;
    RepWide wide;
    int64_t value;

    if (!table_number_parse(text, &value, &digits)) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                    "%s:%u: the value \"%s\" is no number", path,
                    table_line(table, row), text);
        return false;
    }
    if (!g_ptr_array_find_with_equal_func(history->versions, version,
                                          g_str_equal, &index)) {
        index = history->versions->len;
        g_ptr_array_add(history->versions, g_steal_pointer(&version));
        g_ptr_array_add(history->times,
                        table_dup_cell(table, row, HISTORY_TIME));
    }
    for (unsigned i = 0; i < trend->versions->len; i++) {
        if (g_array_index(trend->versions, unsigned, i) == index) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s:%u: version \"%s\" has this number already", path,
                        table_line(table, row),
                        (const char *)history->versions->pdata[index]);
            return false;
        }
    }
    wide = rep_widen(value, digits);
    g_array_append_val(trend->versions, index);
    g_array_append_val(trend->values, wide);
    g_ptr_array_add(trend->texts, g_steal_pointer(&text));
    return true;
}

RepHistory *rep_history_read(const char *path, int64_t band_mpct,
                             GError **error)
{
    g_autoptr(Table) table = read_file(path, error);
    g_autoptr(RepHistory) history = NULL;
    g_autoptr(GHashTable) by_name = NULL;

    if (!table) {
        return NULL;
    }
    history = g_new0(RepHistory, 1);
    history->versions = g_ptr_array_new_with_free_func(g_free);
    history->times = g_ptr_array_new_with_free_func(g_free);
    history->trends = g_ptr_array_new_with_free_func(trend_free);
    by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; i < table_n_rows(table); i++) {
        if (!take_row(history, by_name, table, i, path, error)) {
            return NULL;
        }
    }
    for (unsigned i = 0; i < history->trends->len; i++) {
        RepTrend *trend = history->trends->pdata[i];

        find_drift(trend, band_mpct);
        find_changes(trend, 0, trend->values->len, band_mpct);
    }
    return g_steal_pointer(&history);
}

/* ---- Views --------------------------------------------------------------- */

static const char *version_at(const RepHistory *history, const RepTrend *trend,
                              unsigned i)
{
    return history->versions
        ->pdata[g_array_index(trend->versions, unsigned, i)];
}

Table *rep_history_table(const RepHistory *history, bool all)
{
    static const TableColumn shown[] = {
        {"scenario", TABLE_TEXT, 0},     {"point", TABLE_TEXT, 0},
        {"column", TABLE_TEXT, 0},       {"drift %", TABLE_DECIMAL, 3},
        {"left band at", TABLE_TEXT, 0}, {"is", TABLE_TEXT, 0},
        {"new level at", TABLE_TEXT, 0},
    };
    Table *table = table_new();

    table_add_columns(table, shown, G_N_ELEMENTS(shown));
    for (unsigned i = 0; i < history->trends->len; i++) {
        const RepTrend *trend = history->trends->pdata[i];
        g_autoptr(GString) changes = g_string_new(NULL);
        bool is_out = trend->first_out >= 0;
        unsigned row;

        if (!all && !is_out && trend->changes->len == 0) {
            continue;
        }
        for (unsigned j = 0; j < trend->changes->len; j++) {
            g_string_append_printf(
                changes, "%s%s", j > 0 ? ", " : "",
                version_at(history, trend,
                           g_array_index(trend->changes, unsigned, j)));
        }
        row = table_add_row(table);
        table_set_text(table, row, 0, trend->scenario);
        table_set_text(table, row, 1, trend->point);
        table_set_text(table, row, 2, trend->column);
        table_set_number(table, row, 3, trend->drift_mpct);
        if (is_out) {
            table_set_text(
                table, row, 4,
                version_at(history, trend, (unsigned)trend->first_out));
            table_set_text(table, row, 5,
                           !trend->is_worse                   ? "better"
                           : trend->better == REP_BETTER_NONE ? "other"
                                                              : "worse");
        }
        table_set_text(table, row, 6, changes->str);
    }
    return table;
}

static int compare_trends(gconstpointer a, gconstpointer b)
{
    const RepTrend *x = *(RepTrend *const *)a;
    const RepTrend *y = *(RepTrend *const *)b;
    int64_t drift_x = x->drift_mpct == TABLE_NONE ? 0 : ABS(x->drift_mpct);
    int64_t drift_y = y->drift_mpct == TABLE_NONE ? 0 : ABS(y->drift_mpct);

    if ((x->first_out >= 0) != (y->first_out >= 0)) {
        return x->first_out >= 0 ? -1 : 1;
    }
    return (drift_x < drift_y) - (drift_x > drift_y);
}

bool rep_history_plot(const RepHistory *history, const char *prefix,
                      GError **error)
{
    static const TableColumn drawn[] = {
        {"trend", TABLE_TEXT, 0},
        {"version", TABLE_INTEGER, 0},
        {"change_percent", TABLE_DECIMAL, 3},
    };
    const char *const curves[] = {"trend", NULL};
    const RepPlot plot = {.kind = REP_PLOT_LINES,
                          .title = "Change since the oldest version",
                          .x_column = "version",
                          .y_column = "change_percent",
                          .curves = curves,
                          .x_axis = REP_AXIS_LINEAR,
                          .x_label = "version, from the oldest"};
    g_autoptr(Table) table = table_new();
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    bool has_change = false;

    for (unsigned i = 0; i < history->trends->len; i++) {
        g_ptr_array_add(sorted, history->trends->pdata[i]);
    }
    g_ptr_array_sort(sorted, compare_trends);
    table_add_columns(table, drawn, G_N_ELEMENTS(drawn));
    for (unsigned i = 0; i < MIN(sorted->len, REP_PLOT_CURVES_MAX / 4); i++) {
        const RepTrend *trend = sorted->pdata[i];
        g_autofree char *name = g_strdup_printf("%s, %s, %s", trend->scenario,
                                                trend->point, trend->column);

        for (unsigned j = 0; j < trend->values->len; j++) {
            unsigned row = table_add_row(table);
            int64_t change =
                rep_error_mpct(value_at(trend, j), value_at(trend, 0));

            table_set_text(table, row, 0, name);
            table_set_number(table, row, 1,
                             g_array_index(trend->versions, unsigned, j) + 1);
            table_set_number(table, row, 2, change);
            has_change = has_change || change != TABLE_NONE;
        }
    }
    if (!has_change) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "the history has no change to draw: there is no number, or "
                    "each was 0 at first");
        return false;
    }
    return rep_plot_write(&plot, table, NULL, prefix, error);
}

unsigned rep_history_show(const RepHistory *history, bool all, GString *text)
{
    g_autoptr(Table) table = rep_history_table(history, all);
    unsigned worse = 0, better = 0;

    if (table_n_rows(table) > 0) {
        table_format_append(text, table);
        g_string_append_c(text, '\n');
    }
    for (unsigned i = 0; i < history->trends->len; i++) {
        const RepTrend *trend = history->trends->pdata[i];

        worse += trend->first_out >= 0 && trend->is_worse;
        better += trend->first_out >= 0 && !trend->is_worse;
    }
    g_string_append_printf(text,
                           "%u versions, %u numbers: %u left the band for the "
                           "worse, %u for the better\n",
                           history->versions->len, history->trends->len, worse,
                           better);
    return worse;
}
