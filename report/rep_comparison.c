/* SPDX-License-Identifier: MIT */
#include "rep_compare_priv.h"

static void curve_free(gpointer data)
{
    RepCurve *curve = data;

    g_free(curve->name);
    g_free(curve);
}

static void point_free(gpointer data)
{
    RepPoint *point = data;

    g_free(point->key);
    g_free(point->x);
    g_free(point->baseline);
    g_free(point->fresh);
    g_free(point);
}

RepComparison *rep_comparison_new(const char *name)
{
    RepComparison *comparison = g_new0(RepComparison, 1);

    comparison->name = g_strdup(name);
    comparison->keys = g_ptr_array_new_with_free_func(g_free);
    comparison->curve_columns = g_ptr_array_new_with_free_func(g_free);
    comparison->values = g_ptr_array_new_with_free_func(g_free);
    comparison->curves = g_ptr_array_new_with_free_func(curve_free);
    comparison->points = g_ptr_array_new_with_free_func(point_free);
    comparison->total.name = g_strdup("all");
    return comparison;
}

void rep_comparison_free(RepComparison *comparison)
{
    if (!comparison) {
        return;
    }
    g_free(comparison->name);
    g_free(comparison->x);
    g_free(comparison->total.name);
    g_ptr_array_unref(comparison->keys);
    g_ptr_array_unref(comparison->curve_columns);
    g_ptr_array_unref(comparison->values);
    g_ptr_array_unref(comparison->curves);
    g_ptr_array_unref(comparison->points);
    g_free(comparison);
}

const char *rep_comparison_name(const RepComparison *comparison)
{
    return comparison->name;
}

unsigned rep_comparison_n_curves(const RepComparison *comparison)
{
    return comparison->curves->len;
}

const RepCurve *rep_comparison_curve(const RepComparison *comparison,
                                     unsigned index)
{
    return g_ptr_array_index(comparison->curves, index);
}

unsigned rep_comparison_n_points(const RepComparison *comparison)
{
    return comparison->points->len;
}

const RepPoint *rep_comparison_point(const RepComparison *comparison,
                                     unsigned index)
{
    return g_ptr_array_index(comparison->points, index);
}

const RepCurve *rep_comparison_total(const RepComparison *comparison)
{
    return &comparison->total;
}

bool rep_comparison_is_different(const RepComparison *comparison)
{
    const RepCurve *total = &comparison->total;

    return total->n_outside + total->n_missing + total->n_extra > 0;
}

const char *rep_comparison_x(const RepComparison *comparison)
{
    return comparison->x;
}

const char *const *rep_comparison_curve_columns(const RepComparison *c)
{
    return (const char *const *)c->curve_columns->pdata;
}

const char *const *rep_comparison_values(const RepComparison *comparison)
{
    return (const char *const *)comparison->values->pdata;
}
