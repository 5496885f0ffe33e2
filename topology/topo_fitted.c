/* SPDX-License-Identifier: MIT */
/* Reads `calibrated:` of a part: the published values that its numbers were
 * fitted on. */
#include "topo_fitted_priv.h"

#include "topo_part.h"

static const char shape[] = "write a list of {file: CSV, rows: all} or {file: "
                            "CSV, rows: [{row: g0 to g1}]}";

static void cell_free(void *data)
{
    TopoFittedCell *cell = data;

    g_free(cell->column);
    g_free(cell->text);
    g_free(cell);
}

static void row_free(void *data)
{
    g_ptr_array_unref(data);
}

static void fitted_clear(void *data)
{
    TopoFitted *fitted = data;

    g_free(fitted->file);
    g_ptr_array_unref(fitted->rows);
}

static void fitted_unref(void *data)
{
    g_atomic_rc_box_release_full(data, fitted_clear);
}

GPtrArray *topo_fitted_new(void)
{
    return g_ptr_array_new_with_free_func(fitted_unref);
}

void topo_fitted_inherit(GPtrArray *all, const GPtrArray *of_base)
{
    for (unsigned i = 0; i < of_base->len; i++) {
        g_ptr_array_add(all, g_atomic_rc_box_acquire(of_base->pdata[i]));
    }
}

static bool is_map_of_values(const TopoNode *node)
{
    if (node->kind != TOPO_NODE_MAP || node->items->len == 0) {
        return false;
    }
    for (unsigned i = 0; i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);

        if (entry->value->kind != TOPO_NODE_SCALAR) {
            return false;
        }
    }
    return true;
}

static bool read_rows(TopoFitted *fitted, const TopoNode *rows)
{
    if (rows->kind == TOPO_NODE_SCALAR) {
        fitted->all = g_str_equal(rows->text, "all");
        return fitted->all;
    }
    for (unsigned i = 0; rows->kind == TOPO_NODE_LIST && i < rows->items->len;
         i++) {
        const TopoNode *item = g_ptr_array_index(rows->items, i);
        GPtrArray *row;

        if (!is_map_of_values(item)) {
            return false;
        }
        row = g_ptr_array_new_with_free_func(cell_free);
        g_ptr_array_add(fitted->rows, row);
        for (unsigned j = 0; j < item->items->len; j++) {
            const TopoEntry *entry = g_ptr_array_index(item->items, j);
            TopoFittedCell *cell = g_new(TopoFittedCell, 1);

            cell->column = g_strdup(entry->key);
            cell->text = g_strdup(entry->value->text);
            g_ptr_array_add(row, cell);
        }
    }
    return fitted->rows->len > 0;
}

bool topo_fitted_read(GPtrArray *all, const TopoNode *node, const char *dir,
                      TopoErrors *errors)
{
    g_autofree char *base = g_canonicalize_filename(dir, NULL);

    if (node->kind != TOPO_NODE_LIST) {
        topo_errors_add(errors, node->place, "calibrated: %s", shape);
        return false;
    }
    for (unsigned i = 0; i < node->items->len; i++) {
        const TopoNode *item = g_ptr_array_index(node->items, i);
        const char *file = topo_node_get_text(item, "file");
        const TopoNode *rows = topo_node_get(item, "rows");
        TopoFitted *fitted = g_atomic_rc_box_new0(TopoFitted);

        fitted->place = item->place;
        fitted->rows = g_ptr_array_new_with_free_func(row_free);
        g_ptr_array_add(all, fitted);
        if (!file || !rows || item->items->len != 2 ||
            !read_rows(fitted, rows)) {
            topo_errors_add(errors, item->place, "calibrated: %s", shape);
            return false;
        }
        fitted->file = g_canonicalize_filename(file, base);
    }
    return true;
}
