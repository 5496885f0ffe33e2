/* SPDX-License-Identifier: MIT */
/* The worth of a fit: intervals, sensitivity, values left out, warnings. */
#include "exp_fit_priv.h"

#include <math.h>

#include "exp_svd_priv.h"
#include "sim_stats.h"

#define CONFIDENCE 0.95
#define ALONE      0.95 /* of the squared sensitivity: one value decides */
#define NOT_TOLD   0.03 /* smallest singular value of the unit columns */
#define IN_THE_MIX 0.3  /* least part of a parameter that is named there */
#define SAME_END   1.05 /* sums of squares that count as equal */
#define OTHER_END  0.05 /* of the range: another value */
#define NO_EFFECT  1e-9 /* relative change per relative change */

/* The state of a judgement. Matrices have a row for each value, a column for
 * each parameter. */
typedef struct Judge {
    ExpFit *fit;
    FitCases *cases;
    const double *best;
    unsigned params;
    double *errors; /* of all values, at the best parameters */
    double *slopes; /* their derivatives, by relative changes of parameters */
    GPtrArray *values;  /* of FitValue, borrowed: all, in order */
    double *deviations; /* standard deviations; NAN: there is none */
} Judge;

static void judge_done(Judge *judge)
{
    g_free(judge->errors);
    g_free(judge->slopes);
    g_free(judge->deviations);
    g_ptr_array_unref(judge->values);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Judge, judge_done)

static const ExpFitParam *param_at(const Judge *judge, unsigned index)
{
    return judge->cases->options->params->pdata[index];
}

static void warn(Judge *judge, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void warn(Judge *judge, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(judge->fit->warnings, g_strdup_vprintf(format, args));
    va_end(args);
}

/* Returns @value in thousandths, for a column with 3 digits. */
static int64_t milli(double value)
{
    return isfinite(value) && fabs(value) < 1e15 ? llround(value * 1000)
                                                 : TABLE_NONE;
}

/* ---- The knowledge in the chosen values ---------------------------------- */

/* Returns the length of the column of parameter @j over the chosen values. */
static double column_length(const Judge *judge, unsigned j)
{
    double sum = 0;

    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];
        double slope = judge->slopes[i * judge->params + j];

        sum += value->chosen ? slope * slope : 0;
    }
    return sqrt(sum);
}

/* Warns if one value alone determines parameter @j, or none does. */
static void check_alone(Judge *judge, unsigned j)
{
    double length = column_length(judge, j), most = 0;
    const FitValue *which = NULL;

    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];
        double slope = judge->slopes[i * judge->params + j];

        if (value->chosen && slope * slope > most) {
            most = slope * slope;
            which = value;
        }
    }
    if (length < NO_EFFECT) {
        warn(judge,
             "%s: no chosen value depends on it; choose others, or leave it "
             "out",
             param_at(judge, j)->path);
    } else if (most >= ALONE * length * length) {
        warn(judge, "%s: one value alone determines it: %s%s%s",
             param_at(judge, j)->path, which->curve, *which->curve ? ", " : "",
             which->x);
    }
}

static void check_bounds(Judge *judge, unsigned j)
{
    const ExpFitParam *param = param_at(judge, j);
    double margin = (param->high - param->low) / 1000.0;

    if (judge->best[j] - param->low <= margin ||
        param->high - judge->best[j] <= margin) {
        g_autofree char *text = fit_param_text(param, judge->best[j]);

        warn(judge, "%s: it ends at its bound, %s; the values want it beyond",
             param->path, text);
    }
}

/* Names the parameters that @direction mixes. */
static void warn_mix(Judge *judge, const double *direction,
                     const unsigned *columns, unsigned count)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned j = 0; j < count; j++) {
        if (fabs(direction[j]) >= IN_THE_MIX) {
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "",
                                   param_at(judge, columns[j])->path);
        }
    }
    warn(judge,
         "the chosen values cannot tell these apart, only a mix of them is "
         "known: %s",
         names->str);
}

/* Writes the sensitivities of the chosen values into @columns of @a, one after
 * the other, each with length 1. Returns the sum of squared errors. */
static double fill_columns(const Judge *judge, const unsigned *columns,
                           unsigned count, double *a)
{
    unsigned chosen = judge->cases->chosen, row = 0;
    double squares = 0;

    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];

        if (!value->chosen) {
            continue;
        }
        squares += judge->errors[i] * judge->errors[i];
        for (unsigned j = 0; j < count; j++) {
            a[j * chosen + row] =
                judge->slopes[i * judge->params + columns[j]] /
                column_length(judge, columns[j]);
        }
        row++;
    }
    return squares;
}

/* Computes standard deviations from the singular values of the sensitivities.
 * @columns are the parameters with an effect. */
static void decompose(Judge *judge, const unsigned *columns, unsigned count)
{
    unsigned chosen = judge->cases->chosen;
    g_autofree double *a = g_new0(double, count *chosen);
    g_autofree double *v = g_new(double, count *count);
    g_autofree double *s = g_new(double, count);
    double squares = fill_columns(judge, columns, count, a);

    exp_svd(a, chosen, count, s, v);
    for (unsigned k = 0; k < count; k++) {
        if (s[k] < NOT_TOLD) {
            warn_mix(judge, &v[k * count], columns, count);
        }
    }
    for (unsigned j = 0; j < count && chosen > judge->params; j++) {
        double variance = 0;

        for (unsigned k = 0; k < count; k++) {
            double part = v[k * count + j] / s[k];

            variance += part * part;
        }
        judge->deviations[columns[j]] =
            sqrt(variance * squares / (chosen - judge->params)) /
            column_length(judge, columns[j]) * judge->best[columns[j]];
    }
}

static void check_ends(Judge *judge, const double *ends, const double *squares)
{
    unsigned starts = MAX(judge->cases->options->starts, 1);
    double least = INFINITY;

    for (unsigned i = 0; i < starts; i++) {
        least = MIN(least, squares[i]);
    }
    for (unsigned j = 0; j < judge->params; j++) {
        const ExpFitParam *param = param_at(judge, j);
        double range = param->high - param->low;

        for (unsigned i = 0; i < starts; i++) {
            double end = ends[i * judge->params + j];

            if (squares[i] <= least * SAME_END + 1e-12 &&
                fabs(end - judge->best[j]) > OTHER_END * range) {
                g_autofree char *text = fit_param_text(param, end);

                warn(judge,
                     "%s: another start ends at %s, with errors as small",
                     param->path, text);
                break;
            }
        }
    }
}

/* ---- Tables ------------------------------------------------------------- */

static void add_params(Judge *judge)
{
    static const TableColumn columns[] = {
        {"parameter", TABLE_TEXT, 0}, {"value", TABLE_TEXT, 0},
        {"low_95", TABLE_TEXT, 0},    {"high_95", TABLE_TEXT, 0},
        {"bounds", TABLE_TEXT, 0},
    };
    Table *table = table_new();
    int freedom = (int)judge->cases->chosen - (int)judge->params;
    double t =
        freedom > 0 ? sim_stats_student(CONFIDENCE, (unsigned)freedom) : NAN;

    judge->fit->params = table;
    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned j = 0; j < judge->params; j++) {
        const ExpFitParam *param = param_at(judge, j);
        g_autofree char *value = fit_param_text(param, judge->best[j]);
        g_autofree char *low = topo_units_format(param->unit, param->low);
        g_autofree char *high = topo_units_format(param->unit, param->high);
        g_autofree char *bounds = g_strdup_printf("%s..%s", low, high);
        double half = t * judge->deviations[j];
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, param->path);
        table_set_text(table, row, 1, value);
        if (isfinite(half) && half < 1e15) {
            g_autofree char *from = topo_units_format(
                param->unit, llround(MAX(judge->best[j] - half, 0)));
            g_autofree char *to =
                topo_units_format(param->unit, llround(judge->best[j] + half));

            table_set_text(table, row, 2, from);
            table_set_text(table, row, 3, to);
        }
        table_set_text(table, row, 4, bounds);
        g_ptr_array_add(judge->fit->settings,
                        g_strdup_printf("%s=%s", param->path, value));
    }
}

/* Adds the mean and the largest sensitivity of the values of one curve. */
static void add_curve(Judge *judge, const char *curve)
{
    Table *table = judge->fit->sensitivity;

    for (unsigned j = 0; j < judge->params; j++) {
        double sum = 0, most = 0;
        unsigned count = 0;
        unsigned row;

        for (unsigned i = 0; i < judge->values->len; i++) {
            const FitValue *value = judge->values->pdata[i];
            double slope = judge->slopes[i * judge->params + j];

            if (g_str_equal(value->curve, curve)) {
                sum += slope;
                most = fabs(slope) > fabs(most) ? slope : most;
                count++;
            }
        }
        row = table_add_row(table);
        table_set_text(table, row, 0, *curve ? curve : "all");
        table_set_text(table, row, 1, param_at(judge, j)->path);
        table_set_number(table, row, 2, milli(sum / count));
        table_set_number(table, row, 3, milli(most));
    }
}

static void add_sensitivity(Judge *judge)
{
    static const TableColumn columns[] = {
        {"curve", TABLE_TEXT, 0},
        {"parameter", TABLE_TEXT, 0},
        {"mean_%_per_%", TABLE_DECIMAL, 3},
        {"largest_%_per_%", TABLE_DECIMAL, 3},
    };
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    judge->fit->sensitivity = table_new();
    table_add_columns(judge->fit->sensitivity, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];

        if (g_hash_table_add(seen, value->curve)) {
            add_curve(judge, value->curve);
        }
    }
}

static void add_sum(Judge *judge, bool chosen)
{
    Table *table = judge->fit->sums;
    double sum = 0, worst = 0;
    unsigned count = 0, row;

    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];

        if (value->chosen == chosen) {
            sum += fabs(judge->errors[i]);
            worst =
                fabs(judge->errors[i]) > fabs(worst) ? judge->errors[i] : worst;
            count++;
        }
    }
    row = table_add_row(table);
    table_set_text(table, row, 0, chosen ? "fitted" : "left out");
    table_set_number(table, row, 1, count);
    table_set_number(table, row, 2,
                     count > 0 ? milli(sum / count * 100) : TABLE_NONE);
    table_set_number(table, row, 3,
                     count > 0 ? milli(worst * 100) : TABLE_NONE);
}

static void add_points(Judge *judge)
{
    static const TableColumn point_columns[] = {
        {"curve", TABLE_TEXT, 0},        {"at", TABLE_TEXT, 0},
        {"published", TABLE_DECIMAL, 3}, {"error_%", TABLE_DECIMAL, 3},
        {"use", TABLE_TEXT, 0},
    };
    static const TableColumn sum_columns[] = {
        {"values", TABLE_TEXT, 0},
        {"count", TABLE_INTEGER, 0},
        {"mean_error_%", TABLE_DECIMAL, 3},
        {"largest_%", TABLE_DECIMAL, 3},
    };
    Table *table = table_new();

    judge->fit->points = table;
    table_add_columns(table, point_columns, G_N_ELEMENTS(point_columns));
    for (unsigned i = 0; i < judge->values->len; i++) {
        const FitValue *value = judge->values->pdata[i];
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, *value->curve ? value->curve : "all");
        table_set_text(table, row, 1, value->x);
        table_set_number(table, row, 2, milli(value->published));
        table_set_number(table, row, 3, milli(judge->errors[i] * 100));
        table_set_text(table, row, 4, value->chosen ? "fitted" : "left out");
    }
    judge->fit->sums = table_new();
    table_add_columns(judge->fit->sums, sum_columns, G_N_ELEMENTS(sum_columns));
    add_sum(judge, true);
    add_sum(judge, false);
}

/* ---- The judgement ------------------------------------------------------ */

/* Evaluates all values at the best parameters, and their derivatives by
 * relative changes. */
static bool measure(Judge *judge, GError **error)
{
    FitCases *cases = judge->cases;
    unsigned threads = MAX(cases->options->threads, 1);

    if (!fit_cases_evaluate(cases, judge->best, false, threads, judge->errors,
                            error) ||
        !fit_cases_derive(cases, judge->best, judge->errors, false, threads,
                          judge->slopes, error)) {
        return false;
    }
    for (unsigned i = 0; i < cases->values; i++) {
        for (unsigned j = 0; j < judge->params; j++) {
            judge->slopes[i * judge->params + j] *=
                judge->best[j] / MAX(judge->errors[i] + 1, 1e-6);
        }
    }
    return true;
}

bool fit_judge(ExpFit *fit, FitCases *cases, const double *best,
               const double *ends, const double *squares, GError **error)
{
    unsigned params = cases->options->params->len;
    g_auto(Judge) judge = {
        .fit = fit,
        .cases = cases,
        .best = best,
        .params = params,
        .errors = g_new0(double, cases->values),
        .slopes = g_new0(double, cases->values *params),
        .values = g_ptr_array_new(),
        .deviations = g_new(double, params),
    };
    g_autofree unsigned *columns = g_new(unsigned, params);
    unsigned count = 0;

    for (unsigned i = 0; i < cases->cases->len; i++) {
        const FitCase *one = cases->cases->pdata[i];

        for (unsigned j = 0; j < one->values->len; j++) {
            g_ptr_array_add(judge.values,
                            &g_array_index(one->values, FitValue, j));
        }
    }
    if (!measure(&judge, error)) {
        return false;
    }
    for (unsigned j = 0; j < params; j++) {
        judge.deviations[j] = NAN;
        check_alone(&judge, j);
        check_bounds(&judge, j);
        if (column_length(&judge, j) >= NO_EFFECT) {
            columns[count++] = j;
        }
    }
    if (count > 0) {
        decompose(&judge, columns, count);
    }
    check_ends(&judge, ends, squares);
    add_params(&judge);
    add_sensitivity(&judge);
    add_points(&judge);
    return true;
}
