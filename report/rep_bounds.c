/* SPDX-License-Identifier: MIT */
#include "rep_bounds.h"

#include "rep_fidelity.h"

static const TableColumn point_columns[] = {
    {"curve", TABLE_TEXT, 0},      {"at", TABLE_TEXT, 0},
    {"published", TABLE_TEXT, 0},  {"model", TABLE_TEXT, 0},
    {"error_%", TABLE_DECIMAL, 3}, {"bound_%", TABLE_DECIMAL, 3},
    {"kind", TABLE_TEXT, 0},       {"verdict", TABLE_TEXT, 0},
};

static const TableColumn sum_columns[] = {
    {"kind", TABLE_TEXT, 0},       {"values", TABLE_INTEGER, 0},
    {"mean_%", TABLE_DECIMAL, 3},  {"bias_%", TABLE_DECIMAL, 3},
    {"worst_%", TABLE_DECIMAL, 3}, {"at", TABLE_TEXT, 0},
};

/* Returns whether the model's value at @point is within its bound. */
static bool is_inside(const RepFidelityPoint *point)
{
    int64_t error = point->published_mpct;

    return error != TABLE_NONE && ABS(error) <= point->bound_mpct;
}

static void add_point(RepBounds *bounds, const RepFidelityCurve *curve,
                      const RepFidelityPoint *point)
{
    unsigned row = table_add_row(bounds->points);
    const char *verdict = "not judged";

    if (point->bound_mpct != TABLE_NONE) {
        bounds->n_judged++;
        verdict = "within";
        if (!is_inside(point)) {
            bounds->n_outside++;
            verdict = *point->model ? "OUTSIDE" : "NO VALUE";
        }
    }
    table_set_text(bounds->points, row, 0, curve->name);
    table_set_text(bounds->points, row, 1, point->x);
    table_set_text(bounds->points, row, 2, point->published);
    table_set_text(bounds->points, row, 3, point->model);
    table_set_number(bounds->points, row, 4, point->published_mpct);
    table_set_number(bounds->points, row, 5, point->bound_mpct);
    table_set_text(bounds->points, row, 6,
                   point->is_calibrated ? "fitted" : "predicted");
    table_set_text(bounds->points, row, 7, verdict);
}

static void add_sum(Table *sums, const char *kind, const RepErrors *errors)
{
    unsigned row;

    if (errors->count == 0) {
        return;
    }
    row = table_add_row(sums);
    table_set_text(sums, row, 0, kind);
    table_set_number(sums, row, 1, errors->count);
    table_set_number(sums, row, 2, errors->mean_mpct);
    table_set_number(sums, row, 3, errors->bias_mpct);
    table_set_number(sums, row, 4, errors->max_mpct);
    table_set_text(sums, row, 5, errors->max_x);
}

RepBounds *rep_bounds_new(const RepResult *result, GError **error)
{
    g_autoptr(RepFidelity) fidelity = rep_fidelity_new(
        result->description, result->model, result->published, NULL, error);
    RepBounds *bounds;

    if (!fidelity) {
        return NULL;
    }
    bounds = g_new0(RepBounds, 1);
    bounds->points = table_new();
    bounds->sums = table_new();
    table_add_columns(bounds->points, point_columns,
                      G_N_ELEMENTS(point_columns));
    table_add_columns(bounds->sums, sum_columns, G_N_ELEMENTS(sum_columns));
    for (unsigned i = 0; i < rep_fidelity_n_points(fidelity); i++) {
        const RepFidelityPoint *point = rep_fidelity_point(fidelity, i);

        if (!*point->published) {
            continue;
        }
        if (!*point->model && point->bound_mpct == TABLE_NONE) {
            bounds->n_open++;
        } else {
            add_point(bounds, rep_fidelity_curve(fidelity, point->curve),
                      point);
        }
    }
    add_sum(bounds->sums, "fitted", rep_fidelity_calibrated(fidelity));
    add_sum(bounds->sums, "predicted", rep_fidelity_predicted(fidelity));
    return bounds;
}

void rep_bounds_free(RepBounds *bounds)
{
    if (bounds) {
        table_free(bounds->points);
        table_free(bounds->sums);
        g_free(bounds);
    }
}
