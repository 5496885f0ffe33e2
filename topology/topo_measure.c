/* SPDX-License-Identifier: MIT */
/* The columns of the results, their comparison and their plot. */
#include <string.h>

#include "topo_flow_priv.h"
#include "topo_units.h"

static const struct {
    const char *name;
    TopoStatistic statistic;
} statistics[] = {
    {"mean", TOPO_STATISTIC_MEAN}, {"p50", TOPO_STATISTIC_P50},
    {"p99", TOPO_STATISTIC_P99},   {"min", TOPO_STATISTIC_MIN},
    {"max", TOPO_STATISTIC_MAX},
};

/* An identifier: letters, digits and _, beginning with a letter. */
static bool is_metric(const char *text)
{
    const char *p;

    for (p = text; *p != '\0'; p++) {
        if (!g_ascii_isalpha(*p) &&
            (p == text || (!g_ascii_isdigit(*p) && *p != '_'))) {
            return false;
        }
    }
    return p > text;
}

/* Removes a statistic such as "mean" from the end of @words and returns it. */
static TopoStatistic take_statistic(char **words, unsigned *n)
{
    unsigned i;

    for (i = 0; *n > 2 && i < G_N_ELEMENTS(statistics); i++) {
        if (strcmp(words[*n - 1], statistics[i].name) == 0) {
            (*n)--;
            return statistics[i].statistic;
        }
    }
    return TOPO_STATISTIC_NONE;
}

static int find_axis(const TopoDescription *pub, const char *name)
{
    unsigned i;

    for (i = 0; i < pub->axes->len; i++) {
        const TopoAxis *axis = g_ptr_array_index(pub->axes, i);

        if (axis->name && strcmp(axis->name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void report_axis(TopoLoader *loader, const char *name, TopoPlace place)
{
    const TopoDescription *pub = &loader->loaded->pub;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autofree char *hint = NULL;
    unsigned i;

    for (i = 0; i < pub->axes->len; i++) {
        const TopoAxis *axis = g_ptr_array_index(pub->axes, i);

        if (axis->name) {
            g_ptr_array_add(names, axis->name);
        }
    }
    hint = topo_suggest(name, names);
    topo_errors_add(loader->errors, place, "unknown axis '%s'%s", name, hint);
}

/* Reads "flow.NAME.METRIC", "element.HOST.METRIC", "element.HOST.NAME.METRIC",
 * "element.HOST.NAME.vf0.METRIC" or "fabric.METRIC". */
static void load_metric(TopoLoader *loader, TopoColumn *column, char **words,
                        unsigned n, TopoPlace place)
{
    unsigned least = column->source == TOPO_SOURCE_FABRIC ? 2 : 3;
    bool is_function = n > 4 && topo_load_is_function(words[3]);
    unsigned most =
        column->source == TOPO_SOURCE_ELEMENT ? 4u + is_function : least;
    g_autofree char *name = NULL;

    column->statistic = take_statistic(words, &n);
    if (n < least || n > most || !is_metric(words[n - 1])) {
        topo_errors_add(loader->errors, place,
                        "this is not a metric; write flow.NAME.METRIC, "
                        "fabric.METRIC, element.HOST.METRIC or "
                        "element.HOST.NAME.METRIC, the metric with .mean, "
                        ".p50, .p99, .min, .max or without");
        return;
    }
    column->metric = topo_load_text(loader, words[n - 1]);
    if (column->source == TOPO_SOURCE_FABRIC) {
        return;
    }
    name = n == 3   ? g_strdup(words[1])
           : n == 4 ? g_strjoin(".", words[1], words[2], NULL)
                    : g_strjoin(".", words[1], words[2], words[3], NULL);
    column->source_name = topo_load_text(loader, name);
    if (column->source == TOPO_SOURCE_FLOW &&
        !g_hash_table_lookup(loader->loaded->flows, name) &&
        !topo_flow_is_refused(loader, name)) {
        g_autoptr(GPtrArray) names = topo_load_names(loader->loaded->flows);
        g_autofree char *hint = topo_suggest(name, names);

        topo_errors_add(loader->errors, place, "unknown flow '%s'%s", name,
                        hint);
        column->metric = NULL;
    }
}

static void load_source(TopoLoader *loader, TopoColumn *column,
                        const TopoValue *from)
{
    g_auto(GStrv) words = NULL;
    unsigned n;
    int axis;

    if (!from->valid || !from->text) {
        return;
    }
    words = g_strsplit(from->text, ".", -1);
    n = g_strv_length(words);
    if (n == 1 && strcmp(words[0], "variant") == 0) {
        column->source = TOPO_SOURCE_VARIANT;
    } else if (n == 2 && strcmp(words[0], "axis") == 0) {
        column->source = TOPO_SOURCE_AXIS;
        column->source_name = topo_load_text(loader, words[1]);
        axis = find_axis(&loader->loaded->pub, words[1]);
        if (axis < 0) {
            report_axis(loader, words[1], from->place);
        } else {
            column->axis = (unsigned)axis;
        }
    } else if (n > 0 && strcmp(words[0], "flow") == 0) {
        column->source = TOPO_SOURCE_FLOW;
        load_metric(loader, column, words, n, from->place);
    } else if (n > 0 && strcmp(words[0], "fabric") == 0) {
        column->source = TOPO_SOURCE_FABRIC;
        load_metric(loader, column, words, n, from->place);
    } else if (n > 0 && strcmp(words[0], "element") == 0) {
        column->source = TOPO_SOURCE_ELEMENT;
        load_metric(loader, column, words, n, from->place);
    } else {
        topo_errors_add(loader->errors, from->place,
                        "'%s' is not a source of a column; write %s",
                        from->text,
                        topo_schema_find(&topo_section_column, "from")->help);
    }
}

static void load_columns(TopoLoader *loader, const TopoNode *node,
                         GHashTable *names)
{
    g_autoptr(TopoValues) measure =
        topo_values_read(&topo_section_measure, node, loader->errors);
    g_autoptr(GPtrArray) items = topo_values_items(measure, "columns");
    unsigned i;

    for (i = 0; i < items->len; i++) {
        const TopoNode *item = g_ptr_array_index(items, i);
        g_autoptr(TopoValues) values =
            topo_values_read(&topo_section_column, item, loader->errors);
        const TopoValue *scale = topo_values_get(values, "scale");
        const TopoValue *name = topo_values_get(values, "name");
        TopoColumn *column = g_new0(TopoColumn, 1);

        column->place = item->place;
        column->name = topo_load_text(loader, topo_values_text(values, "name"));
        column->scale_num = scale->valid ? scale->number : 1;
        column->scale_den = scale->valid ? scale->den : 1;
        column->digits = topo_values_given(values, "digits")
                             ? (int)topo_values_number(values, "digits")
                             : -1;
        column->unit = topo_load_text(loader, topo_values_text(values, "unit"));
        column->better = (TopoBetter)topo_values_number(values, "better");
        column->tolerance_den = 1;
        if (topo_load_check_unique(loader, names, "column", column->name,
                                   name->place)) {
            g_hash_table_insert(names, column->name, GUINT_TO_POINTER(i));
        }
        load_source(loader, column, topo_values_get(values, "from"));
        column->is_key = column->source == TOPO_SOURCE_VARIANT ||
                         column->source == TOPO_SOURCE_AXIS;
        g_ptr_array_add(loader->loaded->pub.columns, column);
    }
}

static void set_tolerance(TopoLoader *loader, TopoColumn *column,
                          const TopoNode *node)
{
    static const TopoKey key = {.key = "tolerance", .type = TOPO_TYPE_PERCENT};
    static const TopoSection section = {"tolerance", "", &key, 1};
    g_autoptr(TopoValues) values = topo_values_new(&section, node->place);
    TopoEntry entry = {(char *)"tolerance", node->place, (TopoNode *)node};
    TopoNode map = {TOPO_NODE_MAP, node->place, NULL, g_ptr_array_new()};
    const TopoValue *value;

    g_ptr_array_add(map.items, &entry);
    topo_values_merge(values, &map, NULL, 0, loader->errors);
    g_ptr_array_unref(map.items);
    value = topo_values_get(values, "tolerance");
    if (value->valid) {
        column->tolerance_num = value->number;
        column->tolerance_den = value->den;
    }
}

static void load_tolerance(TopoLoader *loader, const TopoNode *node,
                           GHashTable *names)
{
    GPtrArray *columns = loader->loaded->pub.columns;
    unsigned i;

    for (i = 0; node->kind == TOPO_NODE_SCALAR && i < columns->len; i++) {
        set_tolerance(loader, g_ptr_array_index(columns, i), node);
    }
    if (node->kind == TOPO_NODE_LIST) {
        topo_errors_add(loader->errors, node->place,
                        "tolerance is a list; write for example 1%%, or "
                        "{column: 1%%}");
    }
    for (i = 0; node->kind == TOPO_NODE_MAP && i < node->items->len; i++) {
        const TopoEntry *entry = g_ptr_array_index(node->items, i);
        int column =
            topo_load_find_column(loader, names, entry->key, entry->place);

        if (column >= 0) {
            set_tolerance(loader, g_ptr_array_index(columns, column),
                          entry->value);
        }
    }
}

static void load_compare(TopoLoader *loader, const TopoNode *node,
                         GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_compare, node, loader->errors);
    g_autoptr(GPtrArray) keys = topo_values_items(values, "keys");
    GPtrArray *columns = loader->loaded->pub.columns;
    unsigned i;

    if (topo_values_given(values, "keys")) {
        for (i = 0; i < columns->len; i++) {
            ((TopoColumn *)g_ptr_array_index(columns, i))->is_key = false;
        }
    }
    for (i = 0; i < keys->len; i++) {
        const TopoNode *key = g_ptr_array_index(keys, i);
        int column =
            topo_load_find_column(loader, names, key->text, key->place);

        if (column >= 0) {
            ((TopoColumn *)g_ptr_array_index(columns, column))->is_key = true;
        }
    }
    if (topo_values_given(values, "tolerance")) {
        load_tolerance(loader, topo_values_get(values, "tolerance")->node,
                       names);
    }
}

static int column_at(TopoLoader *loader, const TopoValues *values,
                     const char *key, GHashTable *names)
{
    const TopoValue *value = topo_values_get(values, key);

    if (!value->valid || !value->text) {
        return -1;
    }
    return topo_load_find_column(loader, names, value->text, value->place);
}

static char *label_of(TopoLoader *loader, const TopoValues *values,
                      const char *key, int column)
{
    const GPtrArray *columns = loader->loaded->pub.columns;
    const char *label = topo_values_text(values, key);

    if (!label && column >= 0) {
        label = ((TopoColumn *)g_ptr_array_index(columns, column))->name;
    }
    return topo_load_text(loader, label);
}

static void load_range(TopoLoader *loader, const TopoValues *values,
                       const char *key, TopoScale scale, double *ret_least,
                       double *ret_most)
{
    const TopoValue *value = topo_values_get(values, key);

    if (!topo_values_given(values, key) || !value->text) {
        return;
    }
    if (!topo_units_parse_range(value->text, ret_least, ret_most)) {
        topo_errors_add(loader->errors, value->place,
                        "%s: '%s' is not LEAST:MOST; write for example 0:64",
                        key, value->text);
    } else if (scale != TOPO_SCALE_LINEAR && *ret_least <= 0) {
        topo_errors_add(
            loader->errors, value->place,
            "%s: a logarithmic axis cannot begin at %s; begin above "
            "0",
            key, value->text);
    }
}

static void load_plot(TopoLoader *loader, const TopoNode *node,
                      GHashTable *names)
{
    g_autoptr(TopoValues) values =
        topo_values_read(&topo_section_plot, node, loader->errors);
    TopoPlot *plot = g_new0(TopoPlot, 1);
    const char *title = topo_values_text(values, "title");
    int x = column_at(loader, values, "x", names);
    int y = column_at(loader, values, "y", names);

    loader->loaded->pub.plot = plot;
    plot->place = node->place;
    plot->measured = g_ptr_array_new();
    plot->calibrated = g_ptr_array_new_with_free_func(topo_selection_free);
    plot->title =
        topo_load_text(loader, title ? title : loader->loaded->pub.name);
    plot->x = (unsigned)MAX(x, 0);
    plot->y = (unsigned)MAX(y, 0);
    plot->curves = column_at(loader, values, "curves", names);
    plot->panels = column_at(loader, values, "panels", names);
    plot->x_scale = (TopoScale)topo_values_number(values, "x_scale");
    plot->y_scale = (TopoScale)topo_values_number(values, "y_scale");
    load_range(loader, values, "x_range", plot->x_scale, &plot->x_least,
               &plot->x_most);
    load_range(loader, values, "y_range", plot->y_scale, &plot->y_least,
               &plot->y_most);
    plot->x_label = label_of(loader, values, "x_label", x);
    plot->y_label = label_of(loader, values, "y_label", y);
    topo_load_points(loader, plot, values, names);
}

void topo_load_measure(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

    if (topo_values_given(file, "measure")) {
        load_columns(loader, topo_values_get(file, "measure")->node, names);
    }
    if (topo_values_given(file, "compare")) {
        load_compare(loader, topo_values_get(file, "compare")->node, names);
    }
    if (topo_values_given(file, "plot")) {
        load_plot(loader, topo_values_get(file, "plot")->node, names);
    }
}
