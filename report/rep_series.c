/* SPDX-License-Identifier: MIT */
#include "rep_series.h"

#include <string.h>

#include "table_csv.h"
#include "table_file.h"

static const char *const better_words[] = {
    [REP_BETTER_NONE] = "none",
    [REP_BETTER_HIGHER] = "higher",
    [REP_BETTER_LOWER] = "lower",
    [REP_BETTER_SAME] = "same",
};

static RepBetter better_parse(const char *word)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(better_words); i++) {
        if (strcmp(word, better_words[i]) == 0) {
            return (RepBetter)i;
        }
    }
    return REP_BETTER_NONE;
}

/* Returns what the head line "# KEY: COLUMN TEXT" says of @column; NULL if
 * there is no such line. */
static const char *find_meaning(const Table *table, const char *key,
                                const char *column)
{
    size_t length = strlen(column);

    for (unsigned i = 0; i < table_n_heads(table); i++) {
        const char *value = table_head_value(table, i);

        if (strcmp(table_head_key(table, i), key) == 0 &&
            strncmp(value, column, length) == 0 && value[length] == ' ') {
            return value + length + 1;
        }
    }
    return NULL;
}

RepBetter rep_better_of(const Table *table, const char *column)
{
    const char *word = find_meaning(table, "better", column);

    return word ? better_parse(word) : REP_BETTER_NONE;
}

/* Meanings that follow from the end of a column's name. */
static const struct {
    const char *suffix, *unit;
    RepBetter better;
} suffixes[] = {
    {"_GBps", "GB/s", REP_BETTER_HIGHER},
    {"_MBps", "MB/s", REP_BETTER_HIGHER},
    {"_Gbps", "Gb/s", REP_BETTER_HIGHER},
    {"_kiops", "kIO/s", REP_BETTER_HIGHER},
    {"_Mps", "million/s", REP_BETTER_HIGHER},
    {"_ps", "ps", REP_BETTER_LOWER},
    {"_ns", "ns", REP_BETTER_LOWER},
    {"_us", "us", REP_BETTER_LOWER},
    {"_ms", "ms", REP_BETTER_LOWER},
    {"_s", "s", REP_BETTER_LOWER},
    {"_bytes", "B", REP_BETTER_NONE},
    {"_percent", "%", REP_BETTER_NONE},
};

bool rep_is_spread(const Table *table, const char *column)
{
    for (unsigned i = 0; i < table_n_heads(table); i++) {
        if (strcmp(table_head_key(table, i), "spread") == 0 &&
            strcmp(table_head_value(table, i), column) == 0) {
            return true;
        }
    }
    return false;
}

const char *rep_accuracy(const Table *table)
{
    for (unsigned i = 0; i < table_n_heads(table); i++) {
        if (strcmp(table_head_key(table, i), "accuracy") == 0) {
            return table_head_value(table, i);
        }
    }
    return NULL;
}

bool rep_is_exact(const Table *table, const char *name, GError **error)
{
    const char *accuracy = rep_accuracy(table);

    if (accuracy) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s has values that are known within %s only, and cannot "
                    "be compared as exact ones; simulate them without "
                    "--accuracy",
                    name, accuracy);
    }
    return !accuracy;
}

void rep_number_free(void *data)
{
    RepNumber *number = data;

    g_free(number->scenario);
    g_free(number->point);
    g_free(number->column);
    g_free(number->unit);
    g_free(number->value);
    g_free(number);
}

static void set_meaning(const Table *table, RepNumber *number)
{
    const char *unit = find_meaning(table, "unit", number->column);
    const char *word = find_meaning(table, "better", number->column);

    number->better = word ? better_parse(word) : REP_BETTER_NONE;
    for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (g_str_has_suffix(number->column, suffixes[i].suffix)) {
            unit = unit ? unit : suffixes[i].unit;
            number->better = word ? number->better : suffixes[i].better;
            break;
        }
    }
    number->unit = g_strdup(unit ? unit : "");
}

/* Marks the key columns: those of the head line, or else all texts. */
static bool *find_keys(const Table *table)
{
    bool *is_key = g_new0(bool, table_n_columns(table));
    const char *line = table_find_head(table, "key");
    g_auto(GStrv) names = g_strsplit(line ? line : "", ",", -1);

    for (unsigned i = 0; i < table_n_columns(table); i++) {
        is_key[i] = line ? g_strv_contains((const char *const *)names,
                                           table_column_name(table, i))
                         : table_column_type(table, i) == TABLE_TEXT;
    }
    return is_key;
}

static char *point_of(const Table *table, unsigned row, const bool *is_key)
{
    g_autoptr(GString) point = g_string_new(NULL);

    for (unsigned i = 0; i < table_n_columns(table); i++) {
        if (is_key[i]) {
            g_autofree char *cell = table_dup_key(table, row, i);

            g_string_append_printf(point, "%s%s", point->len > 0 ? " / " : "",
                                   cell);
        }
    }
    return g_string_free(g_steal_pointer(&point), FALSE);
}

static char *scenario_of(const Table *table, const char *name)
{
    const char *path = table_find_head(table, "scenario");
    g_autofree char *base = g_path_get_basename(path ? path : name);
    char *dot = strrchr(base, '.');

    if (dot && dot > base) {
        *dot = '\0';
    }
    return g_steal_pointer(&base);
}

/* Adds the numbers of @table to @numbers, and to @failed the points of which a
 * number could not be measured. */
static void add_numbers(GPtrArray *numbers, GPtrArray *failed,
                        const Table *table, const char *name)
{
    g_autofree bool *is_key = find_keys(table);
    g_autofree char *scenario = scenario_of(table, name);

    for (unsigned row = 0; row < table_n_rows(table); row++) {
        g_autofree char *point = point_of(table, row, is_key);
        bool has_failed = false;

        for (unsigned i = 0; i < table_n_columns(table); i++) {
            RepNumber *number;

            if (is_key[i] || table_column_type(table, i) == TABLE_TEXT ||
                rep_is_spread(table, table_column_name(table, i))) {
                continue;
            }
            if (table_has_failed(table, row, i)) {
                has_failed = true;
                continue;
            }
            if (table_number(table, row, i) == TABLE_NONE) {
                continue;
            }
            number = g_new0(RepNumber, 1);
            number->scenario = g_strdup(scenario);
            number->point = g_strdup(point);
            number->column = g_strdup(table_column_name(table, i));
            number->value = table_dup_cell(table, row, i);
            set_meaning(table, number);
            g_ptr_array_add(numbers, number);
        }
        if (has_failed) {
            RepNumber *number = g_new0(RepNumber, 1);

            number->scenario = g_strdup(scenario);
            number->point = g_strdup(point);
            g_ptr_array_add(failed, number);
        }
    }
}

/* Adds a point for each line "# failed: LABEL". */
static void add_failed(GPtrArray *failed, const Table *table, const char *name)
{
    for (unsigned i = 0; i < table_n_heads(table); i++) {
        if (strcmp(table_head_key(table, i), "failed") == 0) {
            RepNumber *number = g_new0(RepNumber, 1);

            number->scenario = scenario_of(table, name);
            number->point = g_strdup(table_head_value(table, i));
            g_ptr_array_add(failed, number);
        }
    }
}

/* Fails if @names, to which the numbers from index @from on are added, has one
 * of them already. */
static bool add_names(GHashTable *names, const GPtrArray *numbers,
                      unsigned from, const char *file, GError **error)
{
    for (unsigned i = from; i < numbers->len; i++) {
        const RepNumber *number = numbers->pdata[i];
        char *name = g_strjoin("\x1f", number->scenario, number->point,
                               number->column, NULL);

        if (!g_hash_table_add(names, name)) {
            g_set_error(
                error, TABLE_ERROR, TABLE_ERROR_VALUE,
                "%s: %s of \"%s\" at \"%s\" is there twice; give each "
                "result once, and a line \"# key: COLUMN,...\" with the "
                "columns that tell its rows apart",
                file, number->column, number->scenario, number->point);
            return false;
        }
    }
    return true;
}

GPtrArray *rep_series_read_files(char **files, GPtrArray *failed,
                                 GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(rep_number_free);
    g_autoptr(GHashTable) names =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (; *files; files++) {
        g_autoptr(Table) table = table_read(*files, error);
        unsigned from = all->len;

        if (!table) {
            return NULL;
        }
        add_numbers(all, failed, table, *files);
        add_failed(failed, table, *files);
        if (all->len == from) {
            g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                        "%s has no numbers", *files);
            return NULL;
        }
        if (!add_names(names, all, from, *files, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&all);
}
