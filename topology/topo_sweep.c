/* SPDX-License-Identifier: MIT */
/* Variants and axes: the changes from point to point. */
#include <string.h>

#include "topo_change_priv.h"
#include "topo_load_priv.h"

#define VALUES_MAX 10000 /* of one axis */

/* The state while one axis is read. */
typedef struct AxisLoader {
    TopoLoader *loader;
    const TopoValues *values;
    TopoAxis *axis;
    GPtrArray *paths; /* of TopoNode: the paths in `set:` */
} AxisLoader;

static void value_free(void *data)
{
    TopoAxisValue *value = data;

    g_ptr_array_unref(value->changes);
    g_free(value);
}

static void load_changes(GPtrArray *changes, const TopoNode *map)
{
    unsigned i;

    for (i = 0; i < map->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(map->items, i);

        g_ptr_array_add(
            changes, topo_change_new(entry->key, entry->value, entry->place));
    }
}

static void load_variants(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "variants");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    unsigned i;

    for (i = 0; i < items->len; i++) {
        const TopoNode *node = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_variant, node, loader->errors);
        TopoVariant *variant = g_new0(TopoVariant, 1);

        g_ptr_array_add(loader->loaded->pub.variants, variant);
        variant->place = node->place;
        variant->changes = topo_changes_new();
        variant->name =
            topo_load_text(loader, topo_values_text(values, "name"));
        if (topo_load_check_unique(loader, names, "variant", variant->name,
                                   topo_values_get(values, "name")->place)) {
            g_hash_table_add(names, variant->name);
        }
        if (topo_values_given(values, "set")) {
            load_changes(variant->changes,
                         topo_values_get(values, "set")->node);
        }
    }
}

static TopoAxisValue *add_value(const AxisLoader *a, const char *label)
{
    TopoAxisValue *value = g_new0(TopoAxisValue, 1);
    TopoUnit unit;

    value->label = topo_load_text(a->loader, label);
    value->has_number = topo_units_parse_any(label, &unit, &value->number);
    value->changes = topo_changes_new();
    g_ptr_array_add(a->axis->values, value);
    return value;
}

/* Adds a value that is set at all paths of the axis. */
static void add_scalar(const AxisLoader *a, const TopoNode *node)
{
    TopoAxisValue *value = add_value(a, node->text);
    unsigned i;

    for (i = 0; i < a->paths->len; i++) {
        const TopoNode *path = g_ptr_array_index(a->paths, i);

        g_ptr_array_add(value->changes,
                        topo_change_new(path->text, node, path->place));
    }
}

static void add_map(const AxisLoader *a, const TopoNode *node)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_axis_value, node, a->loader->errors);
    const char *label = topo_values_text(values, "label");
    TopoAxisValue *value;

    if (!label || !topo_values_given(values, "set")) {
        return;
    }
    value = add_value(a, label);
    load_changes(value->changes, topo_values_get(values, "set")->node);
}

static void load_listed(const AxisLoader *a, const TopoNode *list)
{
    unsigned i;

    if (list->kind != TOPO_NODE_LIST || list->items->len == 0 ||
        list->items->len > VALUES_MAX) {
        topo_errors_add(a->loader->errors, list->place,
                        "values is not a list of 1 to %d values; write for "
                        "example [4KiB, 8KiB]",
                        VALUES_MAX);
        return;
    }
    for (i = 0; i < list->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(list->items, i);

        if (item->kind == TOPO_NODE_MAP) {
            add_map(a, item);
        } else if (item->kind == TOPO_NODE_LIST) {
            topo_errors_add(a->loader->errors, item->place,
                            "a value of an axis is a list; write a value or "
                            "{label: ..., set: {path: value}}");
        } else if (a->paths->len == 0) {
            topo_errors_add(a->loader->errors, item->place,
                            "the axis has no path that gets '%s'; write set: "
                            "PATH in the axis",
                            item->text);
        } else {
            add_scalar(a, item);
        }
    }
}

static bool parse_bound(const AxisLoader *a, const char *key, TopoUnit *unit,
                        bool first, int64_t *ret_value)
{
    const TopoValue *value = topo_values_get(a->values, key);
    TopoUnit own;

    if (!value->given) {
        topo_errors_add(a->loader->errors, a->values->place,
                        "an axis with from: needs '%s'; write from:, to:, and "
                        "times: or step:",
                        key);
        return false;
    }
    if (!value->valid || !topo_units_parse_any(value->text, &own, ret_value)) {
        topo_errors_add(a->loader->errors, value->place,
                        "%s is not a number or a quantity; write for example "
                        "4KiB",
                        key);
        return false;
    }
    if (!first && own != *unit) {
        topo_errors_add(a->loader->errors, value->place,
                        "%s: %s has another unit than from, %s; write the same "
                        "unit",
                        key, value->text, topo_values_text(a->values, "from"));
        return false;
    }
    *unit = own;
    return true;
}

static void load_range(const AxisLoader *a)
{
    bool has_times = topo_values_given(a->values, "times");
    int64_t times = topo_values_number(a->values, "times");
    TopoPlace place = topo_values_get(a->values, "from")->place;
    TopoUnit unit = TOPO_UNIT_NONE;
    int64_t from, to;
    int64_t step = 0;
    bool more = true;

    if (!parse_bound(a, "from", &unit, true, &from) ||
        !parse_bound(a, "to", &unit, false, &to)) {
        return;
    }
    if (has_times == topo_values_given(a->values, "step")) {
        topo_errors_add(a->loader->errors, place,
                        "an axis with from: needs times: or step:; write one "
                        "of them");
        return;
    }
    if (!has_times && !parse_bound(a, "step", &unit, false, &step)) {
        return;
    }
    if (from > to || (has_times ? from : step) <= 0) {
        topo_errors_add(
            a->loader->errors, place,
            "the axis does not reach its end; write a from: that "
            "is less than to: (and more than 0 if there is times:)");
        return;
    }
    while (more && from <= to) {
        g_autofree char *text = topo_units_format(unit, from);
        g_autoptr(TopoNode) node = topo_node_new_scalar(text, place);

        if (a->axis->values->len >= VALUES_MAX) {
            topo_errors_add(a->loader->errors, place,
                            "the axis has more than %d values; write a larger "
                            "step",
                            VALUES_MAX);
            return;
        }
        add_scalar(a, node);
        more = has_times ? !__builtin_mul_overflow(from, times, &from)
                         : !__builtin_add_overflow(from, step, &from);
    }
}

/* Reads `set:`, which is one path or a list of paths. */
static void load_paths(const AxisLoader *a, const TopoNode *set)
{
    unsigned i;

    if (set->kind == TOPO_NODE_SCALAR) {
        g_ptr_array_add(a->paths, (void *)set);
        return;
    }
    for (i = 0; set->kind == TOPO_NODE_LIST && i < set->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(set->items, i);

        if (item->kind != TOPO_NODE_SCALAR) {
            break;
        }
        g_ptr_array_add(a->paths, (void *)item);
    }
    if (set->kind != TOPO_NODE_LIST || i < set->items->len || i == 0) {
        topo_errors_add(a->loader->errors, set->place,
                        "set is neither a path nor a list of paths; write for "
                        "example workload.flows.copy.size");
    }
}

static void load_axis(TopoLoader *loader, const TopoNode *node,
                      GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_axis, node, loader->errors);
    g_autoptr(GPtrArray) paths = g_ptr_array_new();
    TopoAxis *axis = g_new0(TopoAxis, 1);
    AxisLoader a = {loader, values, axis, paths};
    bool listed = topo_values_given(values, "values");
    bool ranged = topo_values_given(values, "from");

    axis->place = node->place;
    axis->values = g_ptr_array_new_with_free_func(value_free);
    g_ptr_array_add(loader->loaded->pub.axes, axis);
    axis->name = topo_load_text(loader, topo_values_text(values, "name"));
    if (topo_load_check_unique(loader, names, "axis", axis->name,
                               topo_values_get(values, "name")->place)) {
        g_hash_table_add(names, axis->name);
    }
    if (topo_values_given(values, "set")) {
        load_paths(&a, topo_values_get(values, "set")->node);
    }
    if (listed == ranged) {
        topo_errors_add(loader->errors, node->place,
                        "an axis needs values: or from:; write one of them");
    } else if (listed) {
        load_listed(&a, topo_values_get(values, "values")->node);
    } else if (!topo_values_given(values, "set")) {
        topo_errors_add(loader->errors, node->place,
                        "an axis with from: needs set:; write the path that "
                        "gets the values");
    } else {
        load_range(&a);
    }
}

void topo_load_sweep(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GPtrArray) items = topo_values_items(file, "sweep");
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    unsigned i;

    load_variants(loader, file);
    for (i = 0; i < items->len; i++) {
        load_axis(loader, g_ptr_array_index(items, i), names);
    }
}
