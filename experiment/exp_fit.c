/* SPDX-License-Identifier: MIT */
/* The search: Levenberg-Marquardt by MINPACK, from several starting points. */
#include "exp_fit.h"

#include <math.h>
#include <string.h>

#include <cminpack.h>

#include "exp_fit_priv.h"
#include "table_file.h"

#define THREADS_MOST   1024
#define STARTS_MOST    1000
#define ITERATIONS_MAX 40
#define CHANGE_LEAST   1e-9 /* of the sum of squares, relative */
#define STEP_LEAST     1e-4 /* of a parameter, in the search's own scale */
#define STEP_FIRST     1    /* the same */

/* Words of lmder(): its argument `iflag`, and its `mode`. */
#define LMDER_ERRORS    1
#define LMDER_JACOBIAN  2
#define LMDER_OWN_SCALE 2

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

static void move_to(Search *search, const double *u)
{
    const GPtrArray *params = search->cases->options->params;

    for (unsigned i = 0; i < params->len; i++) {
        search->at[i] = to_param(params->pdata[i], u[i]);
    }
}

/* Sets @jacobian, whose column j begins at j * @stride, to the derivatives of
 * the errors, which are in the search. */
static bool derive(Search *search, const double *u, double *jacobian,
                   int stride)
{
    const GPtrArray *params = search->cases->options->params;

    if (!fit_cases_derive(search->cases, search->at, search->errors, true,
                          search->threads, search->slopes, &search->error)) {
        return false;
    }
    for (unsigned i = 0; i < search->cases->chosen; i++) {
        for (unsigned j = 0; j < params->len; j++) {
            jacobian[i + j * (unsigned)stride] =
                search->slopes[i * params->len + j] *
                to_param_slope(params->pdata[j], u[j]);
        }
    }
    return true;
}

/* Answers lmder(): the errors at @u, or their derivatives. A negative
 * number ends it. */
static int evaluate(void *data, int m, int n, const double *u, double *errors,
                    double *jacobian, int stride, int what)
{
    Search *search = data;

    move_to(search, u);
    if (!fit_cases_evaluate(search->cases, search->at, true, search->threads,
                            search->errors, &search->error) ||
        (what == LMDER_JACOBIAN && !derive(search, u, jacobian, stride))) {
        return -1;
    }
    if (what == LMDER_ERRORS) {
        memcpy(errors, search->errors, sizeof(*errors) * (unsigned)m);
    }
    return 0;
}

static double sum_squares(const double *errors, unsigned count)
{
    double sum = 0;

    for (unsigned i = 0; i < count; i++) {
        sum += errors[i] * errors[i];
    }
    return sum;
}

/* Moves @u to a minimum. It may end without progress, at a minimum of rounded
 * parameters. */
static void minimize(Search *search, double *u)
{
    int m = (int)search->cases->chosen;
    int n = (int)search->cases->options->params->len;
    g_autofree double *scale = g_new(double, n);
    g_autofree double *errors = g_new(double, m);
    g_autofree double *jacobian = g_new(double, m *n);
    g_autofree double *work = g_new(double, 4 * n + m);
    g_autofree int *order = g_new(int, n);
    int evaluations, derivations;

    for (int i = 0; i < n; i++) {
        scale[i] = 1;
    }
    lmder(evaluate, search, m, n, u, errors, jacobian, m, CHANGE_LEAST,
          STEP_LEAST, 0, ITERATIONS_MAX, scale, LMDER_OWN_SCALE, STEP_FIRST, 0,
          &evaluations, &derivations, order, work, work + n, work + 2 * n,
          work + 3 * n, work + 4 * n);
}

/* Searches from one starting point. Errors are left in the search. */
static void search_run(void *data, void *unused)
{
    Search *search = data;
    unsigned n_params = search->cases->options->params->len;
    g_autofree double *u = g_new(double, n_params);

    for (unsigned i = 0; i < n_params; i++) {
        u[i] = asin(2 * search->start[i] - 1);
    }
    minimize(search, u);
    if (!search->error) {
        move_to(search, u);
        fit_cases_evaluate(search->cases, search->at, true, search->threads,
                           search->errors, &search->error);
    }
    for (unsigned i = 0; i < n_params; i++) {
        search->end[i] = round(search->at[i]);
    }
    search->squares = sum_squares(search->errors, search->cases->chosen);
}

/* Returns the digits of @index in @base behind the point, the last one first:
 * a term of the Halton sequence (Halton, Numerische Mathematik 2, 1960). */
static double halton(unsigned index, unsigned base)
{
    double value = 0, digit = 1;

    for (; index > 0; index /= base) {
        digit /= base;
        value += digit * (index % base);
    }
    return value;
}

static unsigned next_prime(unsigned after)
{
    for (unsigned n = after + 1;; n++) {
        unsigned divisor = 2;

        while (divisor * divisor <= n && n % divisor != 0) {
            divisor++;
        }
        if (divisor * divisor > n) {
            return n;
        }
    }
}

/* Spreads the starting points: the first one in the middle of all ranges. */
static void choose_start(Search *search, unsigned index)
{
    unsigned n_params = search->cases->options->params->len, prime = 1;

    for (unsigned i = 0; i < n_params; i++) {
        prime = next_prime(prime);
        search->start[i] = index > 0 ? halton(index, prime) : 0.5;
        /* At a bound the sine has no slope. */
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
    Search *searches = g_new0(Search, count);
    GThreadPool *pool = g_thread_pool_new(
        search_run, NULL, (int)MIN(threads, count), FALSE, NULL);

    for (unsigned i = 0; i < count; i++) {
        Search *search = &searches[i];

        search->cases = cases;
        search->threads = MAX(threads / count, 1);
        search->start = g_new0(double, n_params);
        search->end = g_new0(double, n_params);
        search->at = g_new0(double, n_params);
        search->errors = g_new0(double, cases->chosen);
        search->slopes = g_new0(double, cases->chosen *n_params);
        choose_start(search, i);
    }
    for (unsigned i = 0; i < count; i++) {
        g_thread_pool_push(pool, &searches[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
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

static bool check_range(const char *option, int value, int most, GError **error)
{
    if (value >= 1 && value <= most) {
        return true;
    }
    return topo_refuse_option(error, "%s %d: it is 1 to %d", option, value,
                              most);
}

bool exp_fit_check(const ExpFitOptions *options, GError **error)
{
    return check_range("--threads", options->threads, THREADS_MOST, error) &&
           check_range("--starts", options->starts, STARTS_MOST, error);
}

ExpFit *exp_fit_run(char **files, const ExpFitOptions *options, GError **error)
{
    unsigned count = MAX(options->starts, 1);
    ExpFit *fit = NULL;
    FitCases cases;

    if (fit_cases_init(&cases, files, options, error)) {
        Search *searches = search_all(&cases, count);

        fit = fit_of(&cases, searches, count, error);
        searches_free(searches, count);
    }
    fit_cases_done(&cases);
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
