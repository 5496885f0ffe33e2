/* SPDX-License-Identifier: MIT */
#include "topo_plan.h"

#include <string.h>

static void point_free(void *data)
{
    TopoPoint *point = data;

    g_free(point->values);
    g_free(point->label);
    g_ptr_array_unref(point->changes);
    g_free(point);
}

static void add_changes(GPtrArray *to, const GPtrArray *from)
{
    unsigned i;

    for (i = 0; i < from->len; i++) {
        g_ptr_array_add(to, topo_change_ref(g_ptr_array_index(from, i)));
    }
}

/* Makes the point of @variant (nullable) in which axis i has the value
 * @digits[i]. */
static TopoPoint *make_point(const TopoDescription *description, unsigned index,
                             const TopoVariant *variant, const unsigned *digits)
{
    TopoPoint *point = g_new0(TopoPoint, 1);
    GString *label = g_string_new(variant ? variant->name : NULL);
    unsigned i;

    point->index = index;
    point->variant = variant;
    point->n_values = description->axes->len;
    point->values = g_new0(const TopoAxisValue *, point->n_values + 1);
    point->changes = topo_changes_new();
    add_changes(point->changes, description->changes);
    if (variant) {
        add_changes(point->changes, variant->changes);
    }
    for (i = 0; i < point->n_values; i++) {
        const TopoAxis *axis = g_ptr_array_index(description->axes, i);
        const TopoAxisValue *value = g_ptr_array_index(axis->values, digits[i]);

        point->values[i] = value;
        add_changes(point->changes, value->changes);
        g_string_append_printf(label, "%s%s=%s", label->len > 0 ? ", " : "",
                               axis->name, value->label);
    }
    point->label = g_string_free(label, FALSE);
    return point;
}

/* Moves @digits to the next point; returns false after the last one. The last
 * axis changes fastest. */
static bool advance(const TopoDescription *description, unsigned *digits)
{
    unsigned i;

    for (i = description->axes->len; i-- > 0;) {
        const TopoAxis *axis = g_ptr_array_index(description->axes, i);

        if (++digits[i] < axis->values->len) {
            return true;
        }
        digits[i] = 0;
    }
    return false;
}

static bool check_size(const TopoDescription *description, TopoErrors *errors)
{
    uint64_t n = MAX(description->variants->len, 1);
    unsigned i;

    for (i = 0; i < description->axes->len; i++) {
        const TopoAxis *axis = g_ptr_array_index(description->axes, i);

        n *= axis->values->len;
        if (n > TOPO_PLAN_MAX) {
            topo_errors_add(errors, axis->place,
                            "the sweep has more than %d points; leave out "
                            "values",
                            TOPO_PLAN_MAX);
            return false;
        }
    }
    return true;
}

/* Reports a change of the command line that has no effect, because a variant or
 * an axis sets the same path. */
static void check_overridden(const TopoDescription *description,
                             const GPtrArray *own, const char *what,
                             const char *name, TopoErrors *errors)
{
    unsigned i, j;

    for (i = 0; i < description->changes->len; i++) {
        const TopoChange *change = g_ptr_array_index(description->changes, i);

        for (j = 0; j < own->len; j++) {
            if (strcmp(topo_change_path(g_ptr_array_index(own, j)),
                       topo_change_path(change)) == 0) {
                topo_errors_add(errors, topo_change_place(change),
                                "%s is set by the %s '%s' too; change that "
                                "instead",
                                topo_change_path(change), what, name);
            }
        }
    }
}

bool topo_plan_check_changes(const TopoDescription *description,
                             const GPtrArray *points, TopoErrors *errors)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    unsigned before = topo_errors_count(errors);
    unsigned i, j;

    for (i = 0; description->changes->len > 0 && i < points->len; i++) {
        const TopoPoint *point = g_ptr_array_index(points, i);

        if (point->variant && g_hash_table_add(seen, (void *)point->variant)) {
            check_overridden(description, point->variant->changes, "variant",
                             point->variant->name, errors);
        }
        for (j = 0; j < point->n_values; j++) {
            const TopoAxis *axis = g_ptr_array_index(description->axes, j);

            if (g_hash_table_add(seen, (void *)point->values[j])) {
                check_overridden(description, point->values[j]->changes, "axis",
                                 axis->name, errors);
            }
        }
    }
    return topo_errors_count(errors) == before;
}

GPtrArray *topo_plan_points(const TopoDescription *description,
                            TopoErrors *errors)
{
    g_autoptr(GPtrArray) points = topo_plan_all_points(description, errors);

    return points && topo_plan_check_changes(description, points, errors)
               ? g_steal_pointer(&points)
               : NULL;
}

GPtrArray *topo_plan_all_points(const TopoDescription *description,
                                TopoErrors *errors)
{
    g_autofree unsigned *digits = g_new0(unsigned, description->axes->len + 1);
    unsigned n_variants = MAX(description->variants->len, 1);
    GPtrArray *points;
    unsigned i;

    if (!check_size(description, errors)) {
        return NULL;
    }
    points = g_ptr_array_new_with_free_func(point_free);
    for (i = 0; i < n_variants; i++) {
        const TopoVariant *variant =
            description->variants->len > 0
                ? g_ptr_array_index(description->variants, i)
                : NULL;

        do {
            g_ptr_array_add(
                points, make_point(description, points->len, variant, digits));
        } while (advance(description, digits));
    }
    return points;
}

GPtrArray *topo_plan_variant(const TopoDescription *description,
                             const char *name, const GPtrArray *changes)
{
    for (unsigned i = 0; i < description->variants->len; i++) {
        const TopoVariant *variant = description->variants->pdata[i];

        if (strcmp(variant->name, name) == 0) {
            GPtrArray *both = topo_changes_new();

            add_changes(both, variant->changes);
            add_changes(both, changes);
            return both;
        }
    }
    return NULL;
}

char *topo_plan_size_text(const TopoDescription *description)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();
    g_autoptr(GPtrArray) points = topo_plan_points(description, errors);
    const TopoWorkload *workload = description->workload;
    const struct {
        const char *noun;
        unsigned count;
    } counts[] = {{"host", description->hosts->len},
                  {"link", description->links->len},
                  {"flow", workload ? workload->flows->len : 0},
                  {"point", points->len}};
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(counts); i++) {
        g_string_append_printf(text, "%s%u %s%s", i == 0 ? "" : ", ",
                               counts[i].count, counts[i].noun,
                               counts[i].count == 1 ? "" : "s");
    }
    return g_string_free(text, FALSE);
}
