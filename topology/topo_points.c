/* SPDX-License-Identifier: MIT */
/* Published values, the ones of them that parts were calibrated on, and values
 * that the user measured. */
#include <string.h>

#include "topo_load_priv.h"

static const char shape[] = "write all, or a list of maps of columns to "
                            "values, as in [{scenario: Loc, transfer_bytes: "
                            "4KiB}]";

static void term_free(void *data)
{
    g_free(data);
}

void topo_selection_free(void *data)
{
    TopoSelection *selection = data;

    g_ptr_array_unref(selection->terms);
    g_free(selection);
}

/* Returns the path of the CSV file @text, taken from the directory of the
 * description. Reports it at @place if there is no such file. */
static char *load_csv(TopoLoader *loader, const char *key, const char *text,
                      TopoPlace place)
{
    char *path = topo_load_path(loader, text);

    if (path && !g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        topo_errors_add(loader->errors, place,
                        "%s: there is no file '%s'; write a path from the "
                        "directory of this file",
                        key, path);
    }
    return path;
}

static void load_measured(TopoLoader *loader, TopoPlot *plot,
                          const TopoNode *node)
{
    unsigned i;

    if (node->kind == TOPO_NODE_SCALAR) {
        g_ptr_array_add(plot->measured,
                        load_csv(loader, "measured", node->text, node->place));
        return;
    }
    for (i = 0; node->kind == TOPO_NODE_LIST && i < node->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(node->items, i);

        if (item->kind != TOPO_NODE_SCALAR) {
            topo_errors_add(loader->errors, item->place,
                            "measured: %s in the list; write paths of CSVs",
                            topo_node_kind_name(item));
            continue;
        }
        g_ptr_array_add(plot->measured,
                        load_csv(loader, "measured", item->text, item->place));
    }
    if (node->kind == TOPO_NODE_MAP) {
        topo_errors_add(loader->errors, node->place,
                        "measured is a map; write the path of a CSV, or a "
                        "list of paths");
    }
}

static void report_value(TopoLoader *loader, const TopoColumn *column,
                         const GPtrArray *candidates, const TopoNode *node)
{
    g_autofree char *hint = topo_suggest(node->text, candidates);

    topo_errors_add(loader->errors, node->place,
                    "calibrated: no point has '%s' in column '%s'%s",
                    node->text, column->name, hint);
}

/* Returns whether the cells of @column are its axis' numbers, neither scaled
 * nor printed with decimals. */
static bool is_plain(const TopoColumn *column)
{
    return column->scale_num == 1 && column->scale_den == 1 &&
           column->digits <= 0;
}

/* Returns the text of the cell for the axis value that is written as @node. */
static char *axis_text(TopoLoader *loader, const TopoColumn *column,
                       const TopoNode *node)
{
    const TopoAxis *axis =
        g_ptr_array_index(loader->loaded->pub.axes, column->axis);
    g_autoptr(GPtrArray) labels = g_ptr_array_new();
    const TopoAxisValue *found = NULL;
    bool all_numbers = true;
    TopoUnit unit;
    int64_t number = 0;
    bool has_number = topo_units_parse_any(node->text, &unit, &number);
    unsigned i;

    for (i = 0; i < axis->values->len; i++) {
        const TopoAxisValue *value = g_ptr_array_index(axis->values, i);

        g_ptr_array_add(labels, value->label);
        all_numbers = all_numbers && value->has_number;
        if (strcmp(value->label, node->text) == 0 ||
            (has_number && value->has_number && value->number == number)) {
            found = value;
        }
    }
    if (all_numbers && !is_plain(column)) {
        return topo_load_text(loader, node->text);
    }
    if (!found) {
        report_value(loader, column, labels, node);
    } else if (all_numbers) {
        g_autofree char *text =
            g_strdup_printf("%" G_GINT64_FORMAT, found->number);

        return topo_load_text(loader, text);
    }
    return topo_load_text(loader, found ? found->label : node->text);
}

static void check_variant(TopoLoader *loader, const TopoColumn *column,
                          const TopoNode *node)
{
    const GPtrArray *variants = loader->loaded->pub.variants;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    unsigned i;

    for (i = 0; i < variants->len; i++) {
        const TopoVariant *variant = g_ptr_array_index(variants, i);

        if (variant->name) {
            if (strcmp(variant->name, node->text) == 0) {
                return;
            }
            g_ptr_array_add(names, variant->name);
        }
    }
    report_value(loader, column, names, node);
}

static void load_term(TopoLoader *loader, TopoSelection *selection,
                      const TopoEntry *entry, GHashTable *columns)
{
    const TopoNode *node = entry->value;
    int index =
        topo_load_find_column(loader, columns, entry->key, entry->place);
    const TopoColumn *column;
    TopoTerm *term;

    if (index < 0) {
        return;
    }
    column = g_ptr_array_index(loader->loaded->pub.columns, (unsigned)index);
    if (!column->is_key) {
        topo_errors_add(loader->errors, entry->place,
                        "calibrated: column '%s' is not a key; name columns "
                        "that identify a point",
                        column->name);
        return;
    }
    if (node->kind != TOPO_NODE_SCALAR) {
        topo_errors_add(loader->errors, node->place,
                        "calibrated: %s is %s; write one value", entry->key,
                        topo_node_kind_name(node));
        return;
    }
    term = g_new0(TopoTerm, 1);
    g_ptr_array_add(selection->terms, term);
    term->place = node->place;
    term->column = (unsigned)index;
    if (column->source == TOPO_SOURCE_AXIS) {
        term->text = axis_text(loader, column, node);
        return;
    }
    if (column->source == TOPO_SOURCE_VARIANT) {
        check_variant(loader, column, node);
    }
    term->text = topo_load_text(loader, node->text);
}

static void load_calibrated(TopoLoader *loader, TopoPlot *plot,
                            const TopoNode *node, GHashTable *columns)
{
    unsigned i, j;

    if (!plot->published) {
        topo_errors_add(loader->errors, node->place,
                        "calibrated: the plot has no published values; add "
                        "published: FILE.csv");
        return;
    }
    if (node->kind != TOPO_NODE_LIST) {
        plot->calibrated_all =
            node->kind == TOPO_NODE_SCALAR && strcmp(node->text, "all") == 0;
        if (!plot->calibrated_all) {
            topo_errors_add(loader->errors, node->place, "calibrated: %s",
                            shape);
        }
        return;
    }
    for (i = 0; i < node->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(node->items, i);
        TopoSelection *selection;

        if (item->kind != TOPO_NODE_MAP || item->items->len == 0) {
            topo_errors_add(loader->errors, item->place, "calibrated: %s",
                            shape);
            continue;
        }
        selection = g_new0(TopoSelection, 1);
        selection->place = item->place;
        selection->terms = g_ptr_array_new_with_free_func(term_free);
        g_ptr_array_add(plot->calibrated, selection);
        for (j = 0; j < item->items->len; j++) {
            load_term(loader, selection, g_ptr_array_index(item->items, j),
                      columns);
        }
    }
}

void topo_load_points(TopoLoader *loader, TopoPlot *plot,
                      const TopoValues *values, GHashTable *columns)
{
    plot->published =
        load_csv(loader, "published", topo_values_text(values, "published"),
                 topo_values_get(values, "published")->place);
    if (topo_values_given(values, "measured")) {
        load_measured(loader, plot, topo_values_get(values, "measured")->node);
    }
    if (topo_values_given(values, "calibrated")) {
        load_calibrated(loader, plot,
                        topo_values_get(values, "calibrated")->node, columns);
    }
}
