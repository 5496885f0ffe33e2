/* SPDX-License-Identifier: MIT */
#ifndef EXP_FIT_H
#define EXP_FIT_H

#include "table.h"
#include "topo_description.h"
#include "topo_units.h"

/*
 * Fits numbers of a description to published values: least squares of the
 * relative errors (Levenberg-Marquardt with numeric derivatives), within
 * bounds, from several starting points. Each evaluation simulates the points of
 * the chosen values.
 */

/* A number that is fitted. Values are in base units. */
typedef struct ExpFitParam {
    char *path; /* as in a change, such as "parts.nfp-6000.dma.read_latency" */
    TopoUnit unit;
    int64_t low, high; /* bounds, both possible */
} ExpFitParam;

/* Parses "PATH=LOW..HIGH", such as "parts.gpu.poll.notice=100ns..900ns". */
ExpFitParam *exp_fit_param_parse(const char *text, GError **error);
/* The same for each of @texts (ended by NULL); of ExpFitParam, to be freed. */
GPtrArray *exp_fit_params_parse(char *const *texts, GError **error);
void exp_fit_param_free(void *param);

typedef struct ExpFitOptions {
    const GPtrArray *params;  /* of ExpFitParam */
    const GPtrArray *changes; /* nullable, of TopoChange: made in any case */
    /* Nullable: which published values are fitted. Each text is
     * "COLUMN=TEXT;COLUMN=TEXT", as the CSV has them; a value is chosen if one
     * text holds. Without texts: the values in plot.calibrated. */
    const char *const *rows;
    int starts, threads;
} ExpFitOptions;

/* The result. Errors of values are model / published - 1. */
typedef struct ExpFit {
    Table *params;       /* value, interval of 95 %, bounds */
    Table *sensitivity;  /* by curve and parameter */
    Table *points;       /* each value: error before and after, fitted or not */
    Table *sums;         /* the same over fitted values, and those left out */
    GPtrArray *warnings; /* of char * */
    GPtrArray *settings; /* of char *: "PATH=VALUE", for --set */
    unsigned simulations;
} ExpFit;

/* False and G_OPTION_ERROR if the number of starts or threads is out of range.
 */
bool exp_fit_check(const ExpFitOptions *options, GError **error);

/* Fits to the published values of the scenarios @files, which may be names as
 * topo_home_resolve() takes them. Fails if a scenario
 * cannot be loaded or simulated, if it has no published values, if no value is
 * chosen, or if fewer values than parameters are. */
ExpFit *exp_fit_run(char **files, const ExpFitOptions *options, GError **error);

/* Appends the result for a terminal; with @all the error of each value. */
void exp_fit_append(GString *text, const ExpFit *fit, bool all);

/* Frees @fit (nullable). */
void exp_fit_free(ExpFit *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ExpFit, exp_fit_free)

#endif
