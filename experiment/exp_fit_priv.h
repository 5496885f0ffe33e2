/* SPDX-License-Identifier: MIT */
#ifndef EXP_FIT_PRIV_H
#define EXP_FIT_PRIV_H

#include "exp_fit.h"

/* A published value that the model has a value for. */
typedef struct FitValue {
    unsigned point;   /* row of the results, which is the index in the plan */
    unsigned column;  /* of the results */
    double published; /* not 0 */
    char *curve;      /* the cells of the key but the plot's x */
    char *x;          /* the cell of the plot's x */
    bool chosen;
} FitValue;

/* One scenario of a fit. */
typedef struct FitCase {
    TopoDescription *description;
    GArray *values;  /* of FitValue */
    bool *only;      /* by point: a chosen value needs it */
    unsigned chosen; /* number of chosen values */
} FitCase;

typedef struct FitCases {
    const ExpFitOptions *options;
    GPtrArray *cases; /* of FitCase */
    unsigned values, chosen;
    gint simulations; /* atomic */
} FitCases;

bool fit_cases_init(FitCases *cases, char **files, const ExpFitOptions *options,
                    GError **error);
void fit_cases_done(FitCases *cases);

/* Simulates with the parameters at @at, in base units, and stores the relative
 * errors at @ret_errors: those of all values, or only of the chosen ones, in
 * the order of the cases. Several threads may call this. */
bool fit_cases_evaluate(FitCases *cases, const double *at, bool only_chosen,
                        unsigned threads, double *ret_errors, GError **error);

/* Stores the derivatives of the errors by the parameters: the one of error i by
 * parameter j at index i * params + j. */
bool fit_cases_derive(FitCases *cases, const double *at, const double *errors,
                      bool only_chosen, unsigned threads,
                      double *ret_derivatives, GError **error);

/* Fills the tables and warnings of @fit. @best are the parameters found, and
 * @ends those that each start ended at, with its sum of squares in @squares. */
bool fit_judge(ExpFit *fit, FitCases *cases, const double *best,
               const double *ends, const double *squares, GError **error);

/* Returns the value of @param nearest to @at as a text. The caller frees it. */
char *fit_param_text(const ExpFitParam *param, double at);

#endif
