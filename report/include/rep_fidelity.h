/* SPDX-License-Identifier: MIT */
#ifndef REP_FIDELITY_H
#define REP_FIDELITY_H

#include "topo_description.h"

#include "rep_errors.h"
#include "table.h"

/*
 * The errors of one scenario's results against published values and against
 * the user's measured values, point by point. Errors of calibrated values
 * are kept apart from those of predicted ones. Errors are in thousandths of
 * a percent of the published (or measured) value.
 */
typedef struct RepFidelity RepFidelity;

#define REP_PLATEAU_BYTES                                                      \
    (16 << 20) /* a plateau is the mean of all points from this x on */

/* A cell of the results with the published and the measured cells. */
typedef struct RepFidelityPoint {
    unsigned curve;
    char *x;
    char *model; /* texts of the cells; "" if there is none */
    char *published;
    char *measured;
    int64_t published_mpct; /* error of the model; TABLE_NONE unless both are
                               numbers and the published one is not 0 */
    int64_t measured_mpct;  /* the same against the measured value */
    int64_t bound_mpct;     /* largest error that the published table allows, in
                               its column bound_percent; TABLE_NONE: none */
    bool is_calibrated;     /* parts were calibrated on the published value */
    bool is_equal; /* the texts of model and published value are equal */
} RepFidelityPoint;

/* The points of one column that differ only in x. */
typedef struct RepFidelityCurve {
    char *name; /* the other cells of the key, joined by " / "; or "all" */
    const char *column;
    bool is_text;
    unsigned n_published; /* points with a model's and a published value */
    unsigned n_equal;     /* for a text column: points whose texts are equal */
    RepErrors calibrated;
    RepErrors predicted;
    RepErrors measured;
    bool has_plateau; /* x is in bytes and reaches the plateau */
    char *plateau_model;
    char *plateau_published;
    int64_t plateau_mpct;
} RepFidelityCurve;

/* Joins @model, @published (nullable) and @measured (nullable) by the key
 * columns of @description, which must have a plot. Fails if a table lacks a key
 * column, if `calibrated:` names points that are not published, or if a part
 * was fitted on a published value that is not in `calibrated:`. */
RepFidelity *rep_fidelity_new(const TopoDescription *description,
                              const Table *model, const Table *published,
                              const Table *measured, GError **error);

/* Adds an error if rep_fidelity_new() would fail with the published values that
 * @description names, or if they cannot be read. */
void rep_fidelity_check(const TopoDescription *description, TopoErrors *errors);

/* Frees @fidelity (nullable). */
void rep_fidelity_free(RepFidelity *fidelity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RepFidelity, rep_fidelity_free)

unsigned rep_fidelity_n_curves(const RepFidelity *fidelity);
const RepFidelityCurve *rep_fidelity_curve(const RepFidelity *fidelity,
                                           unsigned index);

/* Return the points, sorted by curve. Points of a curve are in the order of the
 * model's rows. */
unsigned rep_fidelity_n_points(const RepFidelity *fidelity);
const RepFidelityPoint *rep_fidelity_point(const RepFidelity *fidelity,
                                           unsigned index);

/* Returns true if a column of texts is compared, such as the way through the
 * fabric. The numbers of such a scenario count hops; they are not bandwidths or
 * times. */
bool rep_fidelity_has_texts(const RepFidelity *fidelity);

/* Return the errors of all number points of the scenario together. */
const RepErrors *rep_fidelity_calibrated(const RepFidelity *fidelity);
const RepErrors *rep_fidelity_predicted(const RepFidelity *fidelity);
const RepErrors *rep_fidelity_measured(const RepFidelity *fidelity);

#endif
