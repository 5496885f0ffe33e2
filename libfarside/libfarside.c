/* SPDX-License-Identifier: MIT */
#include "farside.h"

#include <math.h>

#include <glib.h>

#include "exp_plan.h"
#include "exp_point.h"
#include "table.h"
#include "topo_home.h"
#include "topo_plan.h"

#define THREADS_MAX 1024

struct FarsideScenario {
    TopoDescription *description;
    GPtrArray *points; /* of TopoPoint */
};

struct FarsideTable {
    Table *table;
};

/* ---- Errors ---------------------------------------------------------------
 */

void farside_error_free(FarsideError *error)
{
    if (error) {
        g_free(error->message);
        g_free(error->file);
        g_free(error);
    }
}

/* Finds the place in the first line of the message of @error: "FILE:LINE:
 * COLUMN: ", "FILE:LINE: ". */
static void find_place(FarsideError *error)
{
    g_autoptr(GRegex) regex = g_regex_new(
        "^(?:at point \"[^\\n]*?\": )?(?:seed \\d+ of \\d+: )?([^\\n]+?):(\\d+)(?::(\\d+))?: ",
        0, 0, NULL);
    g_autoptr(GMatchInfo) match = NULL;

    if (g_regex_match(regex, error->message, 0, &match)) {
        g_autofree char *line = g_match_info_fetch(match, 2);
        g_autofree char *column = g_match_info_fetch(match, 3);

        error->file = g_match_info_fetch(match, 1);
        error->line = (unsigned)g_ascii_strtoull(line, NULL, 10);
        error->column =
            column ? (unsigned)g_ascii_strtoull(column, NULL, 10) : 0;
    }
}

/* Stores @cause in @ret_error (nullable), and frees it. */
static void give_error(FarsideError **ret_error, GError *cause)
{
    if (ret_error) {
        *ret_error = g_new0(FarsideError, 1);
        (*ret_error)->message = g_strdup(g_strchomp(cause->message));
        find_place(*ret_error);
    }
    g_error_free(cause);
}

/* ---- Scenarios ------------------------------------------------------------
 */

const char *farside_version(void)
{
    return FARSIDE_VERSION;
}

const char *farside_scenarios(void)
{
    g_autoptr(TopoHome) home = topo_home_find();

    return home ? g_intern_string(home->scenarios) : NULL;
}

static GPtrArray *parse_changes(const char *const *texts, TopoErrors *errors)
{
    GPtrArray *changes = topo_changes_new();

    for (; texts && *texts; texts++) {
        TopoChange *change =
            topo_change_parse(*texts, topo_place_set(), errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    return changes;
}

/* Adds errors if @description has nothing to simulate. */
static void check_content(const TopoDescription *description,
                          TopoErrors *errors)
{
    TopoPlace place = {description->file, 0, 0};

    if (!description->workload || description->workload->flows->len == 0) {
        topo_errors_add(errors, place,
                        "there is nothing to run; add a `workload:` with "
                        "`flows:`");
        return;
    }
    if (description->columns->len == 0) {
        topo_errors_add(errors, place,
                        "there is nothing to measure; add a `measure:` with "
                        "`columns:`");
    }
    exp_point_check_columns(description, errors);
}

FarsideScenario *farside_load(const char *path, const char *const *changes,
                              FarsideError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) list = parse_changes(changes, errors);
    g_autofree char *file = topo_home_resolve(path);
    g_autoptr(TopoDescription) description = NULL;
    GPtrArray *points = NULL;
    FarsideScenario *scenario;

    if (topo_errors_count(errors) == 0) {
        description = topo_load(file, list, errors);
    }
    if (description) {
        check_content(description, errors);
        points = topo_plan_points(description, errors);
    }
    if (topo_errors_count(errors) > 0) {
        g_clear_pointer(&points, g_ptr_array_unref);
        give_error(error, topo_errors_to_gerror(errors));
        return NULL;
    }
    scenario = g_new0(FarsideScenario, 1);
    scenario->description = g_steal_pointer(&description);
    scenario->points = points;
    return scenario;
}

void farside_scenario_free(FarsideScenario *scenario)
{
    if (scenario) {
        g_ptr_array_unref(scenario->points);
        topo_description_free(scenario->description);
        g_free(scenario);
    }
}

const char *farside_scenario_name(const FarsideScenario *scenario)
{
    return scenario->description->name;
}

unsigned farside_scenario_points(const FarsideScenario *scenario)
{
    return scenario->points->len;
}

static const TopoPoint *get_point(const FarsideScenario *scenario,
                                  unsigned point)
{
    g_assert(point < scenario->points->len);
    return scenario->points->pdata[point];
}

const char *farside_scenario_label(const FarsideScenario *scenario,
                                   unsigned point)
{
    return get_point(scenario, point)->label;
}

/* ---- Runs -----------------------------------------------------------------
 */

static FarsideTable *give_table(Table *table)
{
    FarsideTable *given = g_new(FarsideTable, 1);

    given->table = table;
    return given;
}

static FarsideTable *run(const FarsideScenario *scenario,
                         const ExpPlanOptions *options, FarsideError **error)
{
    GError *cause = NULL;
    Table *table = exp_plan_run(scenario->description, options, NULL, &cause);

    if (!table) {
        give_error(error, cause);
        return NULL;
    }
    return give_table(table);
}

FarsideTable *farside_run_point(const FarsideScenario *scenario, unsigned point,
                                FarsideError **error)
{
    g_autofree bool *only = g_new0(bool, scenario->points->len);
    const ExpPlanOptions options = {.threads = 1, .only = only};

    only[get_point(scenario, point)->index] = true;
    return run(scenario, &options, error);
}

FarsideTable *farside_run(const FarsideScenario *scenario, unsigned threads,
                          FarsideError **error)
{
    const ExpPlanOptions options = {.threads = CLAMP(threads, 1, THREADS_MAX)};

    return run(scenario, &options, error);
}

/* ---- Tables ---------------------------------------------------------------
 */

void farside_table_free(FarsideTable *table)
{
    if (table) {
        table_free(table->table);
        g_free(table);
    }
}

unsigned farside_table_rows(const FarsideTable *table)
{
    return table_n_rows(table->table);
}

unsigned farside_table_columns(const FarsideTable *table)
{
    return table_n_columns(table->table);
}

const char *farside_column_name(const FarsideTable *table, unsigned column)
{
    return table_column_name(table->table, column);
}

FarsideType farside_column_type(const FarsideTable *table, unsigned column)
{
    switch (table_column_type(table->table, column)) {
    case TABLE_TEXT:
        return FARSIDE_TEXT;
    case TABLE_INTEGER:
        return FARSIDE_INTEGER;
    default:
        return FARSIDE_DECIMAL;
    }
}

const char *farside_cell_text(const FarsideTable *table, unsigned row,
                              unsigned column)
{
    return table_text(table->table, row, column);
}

double farside_cell_number(const FarsideTable *table, unsigned row,
                           unsigned column)
{
    int64_t number = table_number(table->table, row, column);
    unsigned digits = table_column_digits(table->table, column);

    return number == TABLE_NONE ? NAN : (double)number / pow(10, digits);
}
