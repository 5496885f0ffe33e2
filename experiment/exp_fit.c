/* SPDX-License-Identifier: MIT */
/* The search: Levenberg-Marquardt by GSL, from several starting points. */
#include "exp_fit.h"

#include <math.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_qrng.h>

#include "exp_fit_priv.h"
#include "table_file.h"

#define ITERATIONS_MAX 40
#define STEP_LEAST     1e-4 /* of a parameter, in the search's own scale */

/*
 * The search has no bounds, so a parameter is a sine of what is searched for:
 * low at -1, high at 1.
 */
static double to_param(const ExpFitParam *param, double u)
{
    return param->low + (param->high - param->low) * (sin(u) + 1) / 2;
}

static double to_param_slope(const ExpFitParam *param, double u)
{
    return (param->high - param->low) * cos(u) / 2;
}

/* One search from one starting point. */
typedef struct Search {
    FitCases *cases;
    unsigned threads;
    double *start;  /* as parts of the ranges, 0 to 1 */
    double *end;    /* the parameters found */
    double *errors; /* of the chosen values, where evaluate() was last */
    double *at;     /* the parameters there */
    double *slopes; /* derivatives; used only in derive() */
    double squares; /* the sum of squares at the end */
    GError *error;
} Search;

static void move_to(Search *search, const gsl_vector *u)
{
    const GPtrArray *params = search->cases->options->params;

    for (unsigned i = 0; i < params->len; i++) {
        search->at[i] = to_param(params->pdata[i], gsl_vector_get(u, i));
    }
}

static int evaluate(const gsl_vector *u, void *data, gsl_vector *f)
{
    Search *search = data;

    move_to(search, u);
    if (search->error ||
        !fit_cases_evaluate(search->cases, search->at, true, search->threads,
                            search->errors, &search->error)) {
        return GSL_EFAILED;
    }
    for (unsigned i = 0; i < search->cases->chosen; i++) {
        gsl_vector_set(f, i, search->errors[i]);
    }
    return GSL_SUCCESS;
}

static int derive(const gsl_vector *u, void *data, gsl_matrix *jacobian)
{
    Search *search = data;
    const GPtrArray *params = search->cases->options->params;

    move_to(search, u);
    if (search->error ||
        !fit_cases_evaluate(search->cases, search->at, true, search->threads,
                            search->errors, &search->error) ||
        !fit_cases_derive(search->cases, search->at, search->errors, true,
                          search->threads, search->slopes, &search->error)) {
        return GSL_EFAILED;
    }
    for (unsigned i = 0; i < search->cases->chosen; i++) {
        for (unsigned j = 0; j < params->len; j++) {
            gsl_matrix_set(
                jacobian, i, j,
                search->slopes[i * params->len + j] *
                    to_param_slope(params->pdata[j], gsl_vector_get(u, j)));
        }
    }
    return GSL_SUCCESS;
}

static double sum_squares(const double *errors, unsigned count)
{
    double sum = 0;

    for (unsigned i = 0; i < count; i++) {
        sum += errors[i] * errors[i];
    }
    return sum;
}

/* Searches from one starting point. Errors are left in the search. */
static void search_run(void *data, void *unused)
{
    Search *search = data;
    unsigned n_params = search->cases->options->params->len;
    gsl_multifit_nlinear_parameters settings =
        gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {
        .f = evaluate,
        .df = derive,
        .n = search->cases->chosen,
        .p = n_params,
        .params = search,
    };
    gsl_multifit_nlinear_workspace *work;
    gsl_vector *u = gsl_vector_alloc(n_params);
    int info;

    settings.scale = gsl_multifit_nlinear_scale_levenberg;
    work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings,
                                      fdf.n, fdf.p);
    for (unsigned i = 0; i < n_params; i++) {
        gsl_vector_set(u, i, asin(2 * search->start[i] - 1));
    }
    if (gsl_multifit_nlinear_init(u, &fdf, work) == GSL_SUCCESS) {
        /* It may end without progress, at a minimum of rounded parameters. */
        gsl_multifit_nlinear_driver(ITERATIONS_MAX, STEP_LEAST, 1e-9, 0, NULL,
                                    NULL, &info, work);
        gsl_vector_memcpy(u, gsl_multifit_nlinear_position(work));
    }
    if (!search->error) {
        move_to(search, u);
        fit_cases_evaluate(search->cases, search->at, true, search->threads,
                           search->errors, &search->error);
    }
    for (unsigned i = 0; i < n_params; i++) {
        search->end[i] = round(search->at[i]);
    }
    search->squares = sum_squares(search->errors, search->cases->chosen);
    gsl_multifit_nlinear_free(work);
    gsl_vector_free(u);
}

/* Spreads the starting points: the first one in the middle of all ranges. */
static void choose_start(Search *search, gsl_qrng *points, unsigned index)
{
    unsigned n_params = search->cases->options->params->len;

    for (unsigned i = 0; i < n_params; i++) {
        search->start[i] = 0.5;
    }
    if (index > 0) {
        gsl_qrng_get(points, search->start);
    }
    /* At a bound the sine has no slope. */
    for (unsigned i = 0; i < n_params; i++) {
        search->start[i] = CLAMP(search->start[i], 0.02, 0.98);
    }
}

static void searches_free(Search *searches, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        g_free(searches[i].start);
        g_free(searches[i].end);
        g_free(searches[i].errors);
        g_free(searches[i].at);
        g_free(searches[i].slopes);
        g_clear_error(&searches[i].error);
    }
    g_free(searches);
}

/* Makes a search for each starting point and runs them. */
static Search *search_all(FitCases *cases, unsigned count)
{
    unsigned n_params = cases->options->params->len;
    unsigned threads = MAX(cases->options->threads, 1);
    gsl_qrng *points = gsl_qrng_alloc(
        n_params <= 40 ? gsl_qrng_sobol : gsl_qrng_reversehalton, n_params);
    g_autofree double *middle = g_new(double, n_params);
    Search *searches = g_new0(Search, count);
    GThreadPool *pool = g_thread_pool_new(
        search_run, NULL, (int)MIN(threads, count), FALSE, NULL);

    gsl_qrng_get(points, middle); /* the first point is the middle */
    for (unsigned i = 0; i < count; i++) {
        Search *search = &searches[i];

        search->cases = cases;
        search->threads = MAX(threads / count, 1);
        search->start = g_new0(double, n_params);
        search->end = g_new0(double, n_params);
        search->at = g_new0(double, n_params);
        search->errors = g_new0(double, cases->chosen);
        search->slopes = g_new0(double, cases->chosen *n_params);
        choose_start(search, points, i);
    }
    for (unsigned i = 0; i < count; i++) {
        g_thread_pool_push(pool, &searches[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    gsl_qrng_free(points);
    return searches;
}

/* Returns the index of the best search, or -1 with an error if one failed. */
static int find_best(Search *searches, unsigned count, GError **error)
{
    int best = 0;

    for (unsigned i = 0; i < count; i++) {
        if (searches[i].error) {
            g_propagate_error(error, g_steal_pointer(&searches[i].error));
            return -1;
        }
        if (searches[i].squares < searches[best].squares) {
            best = (int)i;
        }
    }
    return best;
}

static ExpFit *fit_of(FitCases *cases, Search *searches, unsigned count,
                      GError **error)
{
    unsigned n_params = cases->options->params->len;
    g_autofree double *ends = g_new(double, count *n_params);
    g_autofree double *squares = g_new(double, count);
    g_autoptr(ExpFit) fit = g_new0(ExpFit, 1);
    int best = find_best(searches, count, error);

    fit->warnings = g_ptr_array_new_with_free_func(g_free);
    fit->settings = g_ptr_array_new_with_free_func(g_free);
    if (best < 0) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        squares[i] = searches[i].squares;
        for (unsigned j = 0; j < n_params; j++) {
            ends[i * n_params + j] = searches[i].end[j];
        }
    }
    if (!fit_judge(fit, cases, searches[best].end, ends, squares, error)) {
        return NULL;
    }
    fit->simulations = (unsigned)g_atomic_int_get(&cases->simulations);
    return g_steal_pointer(&fit);
}

ExpFit *exp_fit_run(char **files, const ExpFitOptions *options, GError **error)
{
    /* GSL would abort the program where it now returns a status. */
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    unsigned count = MAX(options->starts, 1);
    ExpFit *fit = NULL;
    FitCases cases;

    if (fit_cases_init(&cases, files, options, error)) {
        Search *searches = search_all(&cases, count);

        fit = fit_of(&cases, searches, count, error);
        searches_free(searches, count);
    }
    fit_cases_done(&cases);
    gsl_set_error_handler(handler);
    return fit;
}

void exp_fit_free(ExpFit *fit)
{
    if (fit) {
        table_free(fit->params);
        table_free(fit->sensitivity);
        table_free(fit->points);
        table_free(fit->sums);
        g_ptr_array_unref(fit->warnings);
        g_ptr_array_unref(fit->settings);
        g_free(fit);
    }
}
