/* SPDX-License-Identifier: MIT */
#include "rep_fidelity_priv.h"
#include "rep_series.h"
#include "table_csv.h"

static void curve_free(void *data)
{
    RepFidelityCurve *curve = data;

    g_free(curve->name);
    g_free(curve->plateau_model);
    g_free(curve->plateau_published);
    g_free(curve);
}

static void point_free(void *data)
{
    RepFidelityPoint *point = data;

    g_free(point->x);
    g_free(point->model);
    g_free(point->published);
    g_free(point->measured);
    g_free(point);
}

void rep_fidelity_free(RepFidelity *fidelity)
{
    if (fidelity) {
        g_ptr_array_unref(fidelity->curves);
        g_ptr_array_unref(fidelity->points);
        g_free(fidelity);
    }
}

RepFidelity *rep_fidelity_new(const TopoDescription *description,
                              const Table *model, const Table *published,
                              const Table *measured, GError **error)
{
    g_autoptr(RepFidelity) fidelity = g_new0(RepFidelity, 1);

    fidelity->description = description;
    fidelity->curves = g_ptr_array_new_with_free_func(curve_free);
    fidelity->points = g_ptr_array_new_with_free_func(point_free);
    if (model && !rep_is_exact(model, description->name, error)) {
        return NULL;
    }
    if (!rep_fidelity_join(fidelity, model, published, measured, error)) {
        return NULL;
    }
    return g_steal_pointer(&fidelity);
}

void rep_fidelity_check(const TopoDescription *description, TopoErrors *errors)
{
    const TopoPlot *plot = description->plot;
    g_autoptr(RepFidelity) fidelity = NULL;
    g_autoptr(Table) published = NULL;
    g_autoptr(GError) error = NULL;

    if (!plot || !plot->published) {
        return;
    }
    published = table_read(plot->published, &error);
    if (published) {
        fidelity = rep_fidelity_new(description, NULL, published, NULL, &error);
    }
    if (!fidelity) {
        topo_errors_add(errors, plot->place, "published: %s", error->message);
    }
}

unsigned rep_fidelity_n_curves(const RepFidelity *fidelity)
{
    return fidelity->curves->len;
}

const RepFidelityCurve *rep_fidelity_curve(const RepFidelity *fidelity,
                                           unsigned index)
{
    return fidelity->curves->pdata[index];
}

unsigned rep_fidelity_n_points(const RepFidelity *fidelity)
{
    return fidelity->points->len;
}

const RepFidelityPoint *rep_fidelity_point(const RepFidelity *fidelity,
                                           unsigned index)
{
    return fidelity->points->pdata[index];
}

bool rep_fidelity_has_texts(const RepFidelity *fidelity)
{
    unsigned i;

    for (i = 0; i < fidelity->curves->len; i++) {
        if (rep_fidelity_curve(fidelity, i)->is_text) {
            return true;
        }
    }
    return false;
}

const RepErrors *rep_fidelity_calibrated(const RepFidelity *fidelity)
{
    return &fidelity->calibrated;
}

const RepErrors *rep_fidelity_predicted(const RepFidelity *fidelity)
{
    return &fidelity->predicted;
}

const RepErrors *rep_fidelity_measured(const RepFidelity *fidelity)
{
    return &fidelity->measured;
}
