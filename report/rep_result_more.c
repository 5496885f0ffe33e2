/* SPDX-License-Identifier: MIT */
/* Results as `run` and `plot` show them. */
#include <string.h>

#include "rep_bounds.h"
#include "rep_fidelity.h"
#include "rep_measured.h"
#include "rep_series.h"
#include "table_csv.h"
#include "table_file.h"
#include "table_format.h"

bool rep_result_read(const TopoDescription *description, bool needs_bounds,
                     Table **ret_published, Table **ret_measured,
                     GError **error)
{
    const TopoPlot *plot = description->plot;
    GError *cause = NULL;

    *ret_measured = rep_measured_read(description, &cause);
    if (cause) {
        g_propagate_error(error, cause);
        return false;
    }
    if (plot && plot->published) {
        g_autoptr(RepFidelity) fidelity = NULL;

        *ret_published = table_read(plot->published, error);
        if (!*ret_published) {
            return false;
        }
        fidelity =
            rep_fidelity_new(description, NULL, *ret_published, NULL, error);
        return fidelity;
    }
    if (needs_bounds) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: --bounds needs plot.published, a CSV with the column "
                    "bound_percent",
                    description->file);
        return false;
    }
    return true;
}

/* Fails if the columns of @table do not begin with those of the scenario. The
 * spreads of several seeds may follow. */
static bool check_columns(const TopoDescription *description,
                          const Table *table, const char *file, GError **error)
{
    bool is_same = description->columns->len <= table_n_columns(table);

    for (unsigned i = 0; is_same && i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        is_same = strcmp(column->name, table_column_name(table, i)) == 0;
    }
    if (!is_same) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s has other columns than %s; run the scenario again",
                    file, description->file);
    }
    return is_same;
}

TopoDescription *rep_result_scenario(const Table *table, const char *file,
                                     GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = topo_changes_new();
    const char *scenario = table_find_head(table, "scenario");
    g_autoptr(TopoDescription) description = NULL;

    for (unsigned i = 0; i < table_n_heads(table); i++) {
        if (strcmp(table_head_key(table, i), "set") == 0) {
            TopoChange *change = topo_change_parse(table_head_value(table, i),
                                                   topo_place_set(), errors);

            if (change) {
                g_ptr_array_add(changes, change);
            }
        }
    }
    if (!scenario) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s does not name its scenario: a line \"# scenario: "
                    "FILE\" is missing",
                    file);
        return NULL;
    }
    description = topo_load(scenario, changes, errors);
    if (!description || topo_errors_count(errors) > 0) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        return NULL;
    }
    if (!description->plot) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE, "%s has no `plot:`",
                    scenario);
        return NULL;
    }
    return check_columns(description, table, file, error)
               ? g_steal_pointer(&description)
               : NULL;
}

bool rep_result_can_draw(const TopoDescription *description,
                         const Table *points, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    rep_result_check_plot(description, points, errors);
    if (topo_errors_count(errors) > 0) {
        g_autofree char *text = topo_errors_to_string(errors);

        g_set_error_literal(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                            g_strchomp(text));
        return false;
    }
    return true;
}

static bool append_errors(GString *text, const RepResult *result,
                          const Table *others, const char *name,
                          const char *heading, GError **error)
{
    g_autoptr(Table) errors = rep_result_errors(result, others, name, error);

    if (!errors) {
        return false;
    }
    g_string_append_printf(text, "%s\n", heading);
    table_format_append(text, errors);
    g_string_append_c(text, '\n');
    return true;
}

bool rep_result_append(GString *text, const RepResult *result, GError **error)
{
    const TopoPlot *plot = result->description->plot;
    const char *accuracy = rep_accuracy(result->model);
    g_autofree char *table = rep_result_text(result);

    g_string_append(text, table);
    if (accuracy && (result->published || result->measured)) {
        g_string_append_printf(text,
                               "Known within %s only, so not compared with "
                               "published values\n\n",
                               accuracy);
        return true;
    }
    if (result->published &&
        !append_errors(text, result, result->published, plot->published,
                       "Against the published values", error)) {
        return false;
    }
    if (result->measured) {
        g_autoptr(Table) points = rep_result_measured(result, error);

        if (!points) {
            return false;
        }
        g_string_append(text, "Measured"
                              "\n");
        table_format_append(text, points);
        g_string_append_c(text, '\n');
        return append_errors(text, result, result->measured, "measured",
                             "Against the measured values", error);
    }
    return true;
}

bool rep_bounds_append(GString *text, const RepResult *result, GError **error)
{
    g_autoptr(RepBounds) bounds = rep_bounds_new(result, error);

    if (!bounds) {
        return false;
    }
    g_string_append(text, "By the bounds of the published values"
                          "\n");
    table_format_append(text, bounds->points);
    g_string_append_c(text, '\n');
    table_format_append(text, bounds->sums);
    g_string_append_printf(
        text,
        "\n%s: %u of %u judged values within their bounds, %u values not "
        "modelled\n",
        result->description->name, bounds->n_judged - bounds->n_outside,
        bounds->n_judged, bounds->n_open);
    if (bounds->n_judged == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: no published value has a bound; give the table a "
                    "column bound_percent",
                    result->description->plot->published);
        return false;
    }
    if (bounds->n_outside > 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_PROGRAM,
                    "%s: %u published values are missed by more than their "
                    "bounds",
                    result->description->file, bounds->n_outside);
        return false;
    }
    return true;
}
