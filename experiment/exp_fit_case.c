/* SPDX-License-Identifier: MIT */
/* The scenarios of a fit: which published values they have, and the errors of
 * the model at some values of the parameters. */
#include "exp_fit_priv.h"
#include "topo_home.h"

#include <math.h>
#include <string.h>

#include "exp_plan.h"
#include "table_csv.h"

static void value_clear(void *data)
{
    FitValue *value = data;

    g_free(value->curve);
    g_free(value->x);
}

static void case_free(void *data)
{
    FitCase *one = data;

    topo_description_free(one->description);
    g_array_unref(one->values);
    g_free(one->only);
    g_free(one);
}

void fit_cases_done(FitCases *cases)
{
    g_ptr_array_unref(cases->cases);
}

char *fit_param_text(const ExpFitParam *param, double at)
{
    int64_t value = CLAMP(llround(at), param->low, param->high);

    return topo_units_format(param->unit, value);
}

/* ---- Parameters --------------------------------------------------------- */

static bool parse_limits(ExpFitParam *param, const char *text)
{
    const char *dots = strstr(text, "..");
    g_autofree char *low = dots ? g_strndup(text, dots - text) : NULL;
    TopoUnit unit;

    return dots && topo_units_parse_any(low, &param->unit, &param->low) &&
           topo_units_parse_any(dots + 2, &unit, &param->high) &&
           unit == param->unit && param->low < param->high &&
           (unit == TOPO_UNIT_NONE || unit == TOPO_UNIT_TIME ||
            unit == TOPO_UNIT_BYTES || unit == TOPO_UNIT_RATE);
}

ExpFitParam *exp_fit_param_parse(const char *text, GError **error)
{
    const char *equals = strchr(text, '=');
    ExpFitParam *param = g_new0(ExpFitParam, 1);

    if (equals && equals > text && parse_limits(param, equals + 1)) {
        param->path = g_strndup(text, equals - text);
        return param;
    }
    g_free(param);
    g_set_error(error, TABLE_ERROR, TABLE_ERROR_SYNTAX,
                "\"%s\" is not PATH=LOW..HIGH with two numbers, times, bytes "
                "or rates; write for example "
                "parts.nfp-6000.dma.read_latency=100ns..900ns",
                text);
    return NULL;
}

GPtrArray *exp_fit_params_parse(char *const *texts, GError **error)
{
    g_autoptr(GPtrArray) params =
        g_ptr_array_new_with_free_func(exp_fit_param_free);

    for (; *texts; texts++) {
        ExpFitParam *param = exp_fit_param_parse(*texts, error);

        if (!param) {
            return NULL;
        }
        g_ptr_array_add(params, param);
    }
    return g_steal_pointer(&params);
}

void exp_fit_param_free(void *data)
{
    ExpFitParam *param = data;

    g_free(param->path);
    g_free(param);
}

/* Returns the changes of the options, and those that give each parameter its
 * value at @at. */
static GPtrArray *make_changes(const ExpFitOptions *options, const double *at,
                               TopoErrors *errors)
{
    GPtrArray *changes = topo_changes_new();

    for (unsigned i = 0; options->changes && i < options->changes->len; i++) {
        g_ptr_array_add(changes, topo_change_ref(options->changes->pdata[i]));
    }
    for (unsigned i = 0; i < options->params->len; i++) {
        const ExpFitParam *param = options->params->pdata[i];
        g_autofree char *value = fit_param_text(param, at[i]);
        g_autofree char *text = g_strdup_printf("%s=%s", param->path, value);
        TopoPlace place = {"--param", 0, 0};
        TopoChange *change = topo_change_parse(text, place, errors);

        if (change) {
            g_ptr_array_add(changes, change);
        }
    }
    return changes;
}

/* Loads the description in @file, or @loaded again if it is not NULL. */
static TopoDescription *load_at(const FitCases *cases, const char *file,
                                const TopoDescription *loaded, const double *at,
                                GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) changes = make_changes(cases->options, at, errors);
    TopoDescription *description = NULL;

    if (topo_errors_count(errors) == 0) {
        description = loaded ? topo_load_again(loaded, changes, errors)
                             : topo_load(file, changes, errors);
    }
    if (topo_errors_count(errors) > 0) {
        g_propagate_error(error, topo_errors_to_gerror(errors));
        topo_description_free(description);
        return NULL;
    }
    return description;
}

/* ---- Values ------------------------------------------------------------- */

/* Returns the key of @row: its cells in the key columns, without the column
 * @except (-1: none). The caller frees it. */
static char *row_key(const TopoDescription *description, const Table *table,
                     unsigned row, int except, const char *glue)
{
    GString *key = g_string_new(NULL);

    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];
        unsigned index;
        g_autofree char *cell = NULL;

        if (!column->is_key || (int)i == except ||
            !table_find_column(table, column->name, &index)) {
            continue;
        }
        cell = table_dup_key(table, row, index);
        g_string_append_printf(key, "%s%s", key->len > 0 ? glue : "", cell);
    }
    return g_string_free(key, FALSE);
}

static double cell_value(const Table *table, unsigned row, unsigned column)
{
    int64_t number = table_number(table, row, column);

    return number == TABLE_NONE
               ? NAN
               : number / pow(10, table_column_digits(table, column));
}

/* Returns true if @row has each COLUMN=TEXT of @terms. */
static bool row_meets(const Table *table, unsigned row, const char *terms)
{
    g_auto(GStrv) all = g_strsplit(terms, ";", -1);

    for (char **term = all; *term; term++) {
        char *equals = strchr(*term, '=');
        g_autofree char *cell = NULL;
        unsigned column;

        if (!equals) {
            return false;
        }
        *equals = '\0';
        if (!table_find_column(table, *term, &column)) {
            return false;
        }
        cell = table_dup_key(table, row, column);
        if (!g_str_equal(cell, equals + 1)) {
            return false;
        }
    }
    return true;
}

static bool selection_meets(const TopoDescription *description,
                            const TopoSelection *selection, const Table *table,
                            unsigned row)
{
    for (unsigned i = 0; i < selection->terms->len; i++) {
        const TopoTerm *term = selection->terms->pdata[i];
        const TopoColumn *column = description->columns->pdata[term->column];
        g_autofree char *cell = NULL;
        unsigned index;

        if (!table_find_column(table, column->name, &index)) {
            return false;
        }
        cell = table_dup_key(table, row, index);
        if (!g_str_equal(cell, term->text)) {
            return false;
        }
    }
    return true;
}

static bool is_chosen(const ExpFitOptions *options,
                      const TopoDescription *description,
                      const Table *published, unsigned row)
{
    const TopoPlot *plot = description->plot;

    for (const char *const *terms = options->rows; terms && *terms; terms++) {
        if (row_meets(published, row, *terms)) {
            return true;
        }
    }
    if (options->rows && *options->rows) {
        return false;
    }
    for (unsigned i = 0; i < plot->calibrated->len; i++) {
        if (selection_meets(description, plot->calibrated->pdata[i], published,
                            row)) {
            return true;
        }
    }
    return plot->calibrated_all;
}

/* Adds the value in @row of the published table, if the model has it, too. */
static void add_value(FitCase *one, const ExpFitOptions *options,
                      const Table *published, unsigned row, const Table *model,
                      unsigned point)
{
    const TopoDescription *description = one->description;
    int x = (int)description->plot->x;
    const TopoColumn *y = description->columns->pdata[description->plot->y];
    const TopoColumn *x_column = description->columns->pdata[x];
    FitValue value = {.point = point};
    unsigned index;

    if (!table_find_column(published, y->name, &index) ||
        !table_find_column(model, y->name, &value.column)) {
        return;
    }
    value.published = cell_value(published, row, index);
    if (isnan(value.published) || value.published == 0 ||
        isnan(cell_value(model, point, value.column))) {
        return;
    }
    value.curve = row_key(description, published, row, x, " / ");
    value.x = table_find_column(published, x_column->name, &index)
                  ? table_dup_key(published, row, index)
                  : g_strdup("");
    value.chosen = is_chosen(options, description, published, row);
    one->chosen += value.chosen;
    one->only[point] |= value.chosen;
    g_array_append_val(one->values, value);
}

/* Joins the results of a first run with the published values. */
static bool join_values(FitCase *one, const ExpFitOptions *options,
                        const Table *model, GError **error)
{
    g_autoptr(Table) published =
        table_read(one->description->plot->published, error);
    g_autoptr(GHashTable) points =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (!published) {
        return false;
    }
    one->only = g_new0(bool, table_n_rows(model));
    for (unsigned i = 0; i < table_n_rows(model); i++) {
        g_hash_table_insert(points,
                            row_key(one->description, model, i, -1, "\n"),
                            GUINT_TO_POINTER(i + 1));
    }
    for (unsigned row = 0; row < table_n_rows(published); row++) {
        g_autofree char *key =
            row_key(one->description, published, row, -1, "\n");
        unsigned point = GPOINTER_TO_UINT(g_hash_table_lookup(points, key));

        if (point > 0) {
            add_value(one, options, published, row, model, point - 1);
        }
    }
    return true;
}

static FitCase *case_new(FitCases *cases, const char *file, const double *at,
                         GError **error)
{
    const ExpPlanOptions plan = {.threads = cases->options->threads};
    TopoDescription *description = load_at(cases, file, NULL, at, error);
    g_autoptr(Table) model = NULL;
    FitCase *one;

    if (!description) {
        return NULL;
    }
    one = g_new0(FitCase, 1);
    one->description = description;
    one->values = g_array_new(FALSE, FALSE, sizeof(FitValue));
    g_array_set_clear_func(one->values, value_clear);
    if (description->workload && description->workload->accuracy > 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: a fit needs exact values; remove workload.accuracy",
                    file);
    } else if (!description->plot || !description->plot->published) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%s: there are no published values to fit to; add "
                    "published: FILE.csv to its plot",
                    file);
    } else {
        model = exp_plan_run(description, &plan, NULL, error);
    }
    if (!model || !join_values(one, cases->options, model, error)) {
        case_free(one);
        return NULL;
    }
    g_atomic_int_add(&cases->simulations, (int)table_n_rows(model));
    return one;
}

bool fit_cases_init(FitCases *cases, char **files, const ExpFitOptions *options,
                    GError **error)
{
    g_autofree double *middle = g_new(double, options->params->len);

    *cases = (FitCases){
        .options = options,
        .cases = g_ptr_array_new_with_free_func(case_free),
    };
    for (unsigned i = 0; i < options->params->len; i++) {
        const ExpFitParam *param = options->params->pdata[i];

        middle[i] = (param->low + param->high) / 2.0;
    }
    for (char **file = files; *file; file++) {
        g_autofree char *path = topo_home_resolve(*file);
        FitCase *one = case_new(cases, path, middle, error);

        if (!one) {
            return false;
        }
        g_ptr_array_add(cases->cases, one);
        cases->values += one->values->len;
        cases->chosen += one->chosen;
    }
    if (cases->chosen < options->params->len || cases->chosen == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "%u published values are chosen for %u parameters; choose "
                    "at least as many values by --rows or plot.calibrated",
                    cases->chosen, options->params->len);
        return false;
    }
    return true;
}

/* ---- Evaluation --------------------------------------------------------- */

/* Evaluates one case. Returns the number of errors stored; 0 on failure. */
static unsigned evaluate_case(FitCases *cases, const FitCase *one,
                              const double *at, bool only_chosen,
                              unsigned threads, double *ret_errors,
                              GError **error)
{
    ExpPlanOptions plan = {.threads = threads,
                           .only = only_chosen ? one->only : NULL};
    g_autoptr(TopoDescription) description =
        load_at(cases, NULL, one->description, at, error);
    g_autoptr(Table) table =
        description ? exp_plan_run(description, &plan, NULL, error) : NULL;
    unsigned count = 0;

    if (!table) {
        return 0;
    }
    g_atomic_int_add(&cases->simulations, (int)table_n_rows(table));
    for (unsigned i = 0; i < one->values->len; i++) {
        const FitValue *value = &g_array_index(one->values, FitValue, i);
        unsigned row = value->point;
        double model;

        if (only_chosen && !value->chosen) {
            continue;
        }
        if (only_chosen) { /* the table has only the rows of such points */
            row = 0;
            for (unsigned j = 0; j < value->point; j++) {
                row += one->only[j];
            }
        }
        model = cell_value(table, row, value->column);
        /* Without a value nothing moved. */
        ret_errors[count++] = isnan(model) ? -1 : model / value->published - 1;
    }
    return count;
}

bool fit_cases_evaluate(FitCases *cases, const double *at, bool only_chosen,
                        unsigned threads, double *ret_errors, GError **error)
{
    for (unsigned i = 0; i < cases->cases->len; i++) {
        const FitCase *one = cases->cases->pdata[i];
        unsigned count = only_chosen ? one->chosen : one->values->len;

        if (count == 0) {
            continue;
        }
        if (evaluate_case(cases, one, at, only_chosen, threads, ret_errors,
                          error) == 0) {
            return false;
        }
        ret_errors += count;
    }
    return true;
}

/* Returns the step for the derivative by @param: 1 % of its range, and at least
 * one unit, towards the middle of the range. */
static double step_of(const ExpFitParam *param, double at)
{
    double step = MAX((param->high - param->low) / 100.0, 1);

    return at + step > param->high ? -step : step;
}

bool fit_cases_derive(FitCases *cases, const double *at, const double *errors,
                      bool only_chosen, unsigned threads,
                      double *ret_derivatives, GError **error)
{
    unsigned params = cases->options->params->len;
    unsigned count = only_chosen ? cases->chosen : cases->values;
    g_autofree double *moved = g_memdup2(at, params * sizeof(*at));
    g_autofree double *others = g_new(double, count);

    for (unsigned j = 0; j < params; j++) {
        const ExpFitParam *param = cases->options->params->pdata[j];
        /* Parameters are whole numbers of base units. */
        double from = round(at[j]);
        double step = round(step_of(param, from));

        moved[j] = from + step;
        if (!fit_cases_evaluate(cases, moved, only_chosen, threads, others,
                                error)) {
            return false;
        }
        moved[j] = at[j];
        for (unsigned i = 0; i < count; i++) {
            ret_derivatives[i * params + j] = (others[i] - errors[i]) / step;
        }
    }
    return true;
}
