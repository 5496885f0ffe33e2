/* SPDX-License-Identifier: MIT */
#include "exp_explained.h"

#include <string.h>

#include "table_format.h"
#include "table_waterfall.h"

/* Most rows of a table of places on the terminal. The other places are summed
 * up in one row. A path may have more rows. */
#define PLACES_MOST 14
#define STEPS_MOST  200

#define MILLION 1000000

static void explained_free(void *data)
{
    ExpExplained *one = data;

    g_free(one->label);
    g_free(one->curve);
    g_free(one->x_label);
    exp_explain_free(one->explain);
    g_free(one);
}

GPtrArray *exp_explained_new(void)
{
    return g_ptr_array_new_with_free_func(explained_free);
}

/* Returns the index of the axis along the curves; -1 if there is none. */
static int axis_along(const TopoDescription *description)
{
    const TopoPlot *plot = description->plot;
    int last = -1;

    if (plot) {
        const TopoColumn *x = description->columns->pdata[plot->x];

        if (x->source == TOPO_SOURCE_AXIS) {
            return x->axis;
        }
    }
    for (unsigned i = 0; i < description->axes->len; i++) {
        const TopoAxis *axis = description->axes->pdata[i];
        const TopoAxisValue *value =
            axis->values->len ? axis->values->pdata[0] : NULL;

        if (value && value->has_number) {
            last = (int)i;
        }
    }
    return last;
}

void exp_explained_add(GPtrArray *explained, const TopoDescription *description,
                       const TopoPoint *point, ExpExplain *explain)
{
    ExpExplained *one = g_new0(ExpExplained, 1);
    g_autoptr(GString) curve = g_string_new(NULL);
    int along = axis_along(description);

    if (point->variant) {
        g_string_append(curve, point->variant->name);
    }
    for (unsigned i = 0; i < point->n_values; i++) {
        const TopoAxis *axis = description->axes->pdata[i];
        const TopoAxisValue *value = point->values[i];

        if ((int)i == along) {
            one->x_label = g_strdup_printf("%s=%s", axis->name, value->label);
            one->x = value->has_number ? value->number : (int64_t)i;
        } else {
            g_string_append_printf(curve, "%s%s", curve->len ? ", " : "",
                                   value->label);
        }
    }
    one->label = g_strdup(point->label);
    one->curve = g_string_free(g_steal_pointer(&curve), FALSE);
    if (!one->x_label) {
        one->x_label = g_strdup("");
    }
    one->explain = explain;
    g_ptr_array_add(explained, one);
}

/* Returns the smallest and the largest point of each curve, in the order of
 * curves. A curve with only one point adds only that. */
static GPtrArray *ends_of(const GPtrArray *explained)
{
    GPtrArray *ends = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < explained->len; i++) {
        ExpExplained *first = explained->pdata[i], *last = first;

        if (!g_hash_table_add(seen, first->curve)) {
            continue;
        }
        for (unsigned j = i + 1; j < explained->len; j++) {
            ExpExplained *one = explained->pdata[j];

            if (strcmp(one->curve, first->curve) == 0) {
                first = one->x < first->x ? one : first;
                last = one->x >= last->x ? one : last;
            }
        }
        g_ptr_array_add(ends, first);
        if (last != first) {
            g_ptr_array_add(ends, last);
        }
    }
    return ends;
}

static bool is_place(const ExpExplainRow *row)
{
    return strcmp(row->record, "place") == 0;
}

/* ---- The table ---------------------------------------------------------- */

enum {
    COLUMN_POINT,
    COLUMN_RECORD,
    COLUMN_FLOW,
    COLUMN_STEP,
    COLUMN_ELEMENT,
    COLUMN_WHAT,
    COLUMN_SHARE,
    COLUMN_TIME,
    COLUMN_TEXT,
};

static void explained_add(Table *table, const ExpExplained *one,
                          const ExpExplainRow *row)
{
    unsigned at = table_add_row(table);

    table_set_text(table, at, COLUMN_POINT, one->label);
    table_set_text(table, at, COLUMN_RECORD, row->record);
    table_set_text(table, at, COLUMN_FLOW, row->flow ? row->flow : "");
    table_set_text(table, at, COLUMN_STEP, row->step ? row->step : "");
    table_set_text(table, at, COLUMN_ELEMENT, row->element);
    table_set_text(table, at, COLUMN_WHAT, row->what);
    table_set_number(table, at, COLUMN_SHARE, (row->share + 500) / 1000);
    table_set_number(table, at, COLUMN_TIME, row->time_ps);
    table_set_text(table, at, COLUMN_TEXT, row->cause ? row->cause : "");
}

Table *exp_explained_table(const GPtrArray *explained,
                           const TopoDescription *description)
{
    static const TableColumn columns[] = {
        {"point", TABLE_TEXT, 0},
        {"record", TABLE_TEXT, 0},
        {"flow", TABLE_TEXT, 0},
        {"step", TABLE_TEXT, 0},
        {"element", TABLE_TEXT, 0},
        {"what", TABLE_TEXT, 0},
        {"share_percent", TABLE_DECIMAL, 1},
        {"time_ns", TABLE_DECIMAL, 3},
        {"text", TABLE_TEXT, 0},
    };
    Table *table = table_new();
    g_autoptr(GPtrArray) ends = ends_of(explained);

    table_add_origin(table, FARSIDE_VERSION, description->file,
                     description->hash, description->workload->seed);
    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < explained->len; i++) {
        const ExpExplained *one = explained->pdata[i];
        const ExpExplain *explain = one->explain;
        bool is_end = g_ptr_array_find(ends, one, NULL);

        if (explain->text) {
            const char *name = explain->element ? explain->element : "";
            ExpExplainRow row = {
                .record = "bottleneck",
                .element = (char *)name,
                .what = explain->element ? "limits" : "no element",
                .share = explain->share,
                .time_ps = TABLE_NONE,
                .cause = explain->text,
            };

            explained_add(table, one, &row);
        }
        if (explain->failure) {
            ExpExplainRow row = {
                .record = "failure",
                .element = (char *)"",
                .what = "failed",
                .time_ps = TABLE_NONE,
                .cause = explain->failure,
            };

            explained_add(table, one, &row);
        }
        for (unsigned j = 0; j < explain->rows->len; j++) {
            const ExpExplainRow *row = explain->rows->pdata[j];

            if (is_end || !is_place(row)) {
                explained_add(table, one, row);
            }
        }
    }
    return table;
}

/* ---- The terminal -------------------------------------------------------- */

static bool is_of(const ExpExplainRow *row, const char *flow)
{
    return is_place(row) && strcmp(row->flow, flow) == 0;
}

/* Returns the smallest share that gets a row, chosen so that there are not too
 * many rows. */
static uint32_t least_shown(const ExpExplain *explain, const char *flow)
{
    for (uint32_t least = MILLION / 1000;; least += MILLION / 1000) {
        unsigned count = 0;

        for (unsigned i = 0; i < explain->rows->len; i++) {
            const ExpExplainRow *row = explain->rows->pdata[i];

            count += is_of(row, flow) && row->share >= least;
        }
        if (count <= (explain->text ? PLACES_MOST : STEPS_MOST)) {
            return least;
        }
    }
}

static void append_places(GString *text, const ExpExplain *explain,
                          const char *flow)
{
    static const TableColumn columns[] = {
        {"step", TABLE_TEXT, 0}, {"element", TABLE_TEXT, 0},
        {"what", TABLE_TEXT, 0}, {"ns", TABLE_DECIMAL, 1},
        {"%", TABLE_DECIMAL, 1},
    };
    g_autoptr(Table) table = table_new();
    uint32_t least = least_shown(explain, flow);
    int64_t rest = 0, rest_time = 0;
    bool has_time = false;
    g_autofree char *lines = NULL;
    unsigned at;

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < explain->rows->len; i++) {
        const ExpExplainRow *row = explain->rows->pdata[i];

        if (!is_of(row, flow)) {
            continue;
        }
        has_time |= row->time_ps != TABLE_NONE;
        if (row->share < least) {
            rest += row->share;
            rest_time += row->time_ps != TABLE_NONE ? row->time_ps : 0;
            continue;
        }
        at = table_add_row(table);
        table_set_text(table, at, 0, row->step);
        table_set_text(table, at, 1, row->element);
        table_set_text(table, at, 2, row->what);
        table_set_number(table, at, 3,
                         row->time_ps != TABLE_NONE ? (row->time_ps + 50) / 100
                                                    : TABLE_NONE);
        table_set_number(table, at, 4, (row->share + 500) / 1000);
    }
    if (rest > 0) {
        at = table_add_row(table);
        table_set_text(table, at, 2, "all others");
        table_set_number(table, at, 3,
                         has_time ? (rest_time + 50) / 100 : TABLE_NONE);
        table_set_number(table, at, 4, (rest + 500) / 1000);
    }
    if (table_n_rows(table) > 0) {
        lines = table_format(table);
        g_string_append_printf(text, "\n  flow %s, mean operation\n", flow);
        for (char **line = g_strsplit(lines, "\n", -1), **all = line;; line++) {
            if (!*line) {
                g_strfreev(all);
                break;
            }
            if (**line) {
                g_string_append_printf(text, "  %s\n", *line);
            }
        }
    }
}

/* Most flows of a point on the terminal and in the drawing. The CSV has all. */
#define TEXT_FLOWS  8
#define DRAWN_FLOWS 24

char *exp_explained_text(const GPtrArray *explained)
{
    g_autoptr(GPtrArray) ends = ends_of(explained);
    GString *text = g_string_new("What limits, and where the time goes\n");

    for (unsigned i = 0; i < ends->len; i++) {
        const ExpExplained *one = ends->pdata[i];
        const ExpExplain *explain = one->explain;

        g_string_append_printf(
            text, "\n%s%s%s\n", *one->label ? one->label : "the point",
            explain->text ? ":\n  " : "", explain->text ? explain->text : "");
        if (explain->failure) {
            g_string_append_printf(text, "  %s\n", explain->failure);
        }
        for (unsigned j = 0; j < MIN(explain->flows->len, TEXT_FLOWS); j++) {
            append_places(text, explain, explain->flows->pdata[j]);
        }
        if (explain->flows->len > TEXT_FLOWS) {
            g_string_append_printf(text, "\n  %u more flows are in the CSV\n",
                                   explain->flows->len - TEXT_FLOWS);
        }
    }
    return g_string_free(text, FALSE);
}

/* ---- The drawing --------------------------------------------------------- */

/* The segments of a flow's bar, in drawing order. */
static const char *const segments[] = {
    "own time",
    "CPU",
    "device",
    "memory",
    "IOMMU",
    "transit",
    "serialisation",
    "cable",
    "wait for the link",
    "wait for credits",
    "ordering",
    "wait to be forwarded",
    "wait for a tag",
    "wait for an NTB tag",
    NULL,
};

TableSegments exp_explained_segments(void)
{
    return segments;
}

static void bar_add(Table *bars, const char *panel, const char *bar,
                    const char *segment, int64_t from, int64_t to)
{
    unsigned at = table_add_row(bars);

    table_set_text(bars, at, TABLE_WATERFALL_PANEL, panel);
    table_set_text(bars, at, TABLE_WATERFALL_BAR, bar);
    table_set_text(bars, at, TABLE_WATERFALL_SEGMENT, segment);
    table_set_number(bars, at, TABLE_WATERFALL_FROM, from);
    table_set_number(bars, at, TABLE_WATERFALL_TO, to);
}

/* Adds one bar for the whole flow, with a segment for each kind of place. */
static void stack_flow(Table *bars, const ExpExplain *explain, const char *flow,
                       const char *panel, const char *bar)
{
    int64_t at = 0;

    for (unsigned i = 0; segments[i]; i++) {
        int64_t sum = 0;

        for (unsigned j = 0; j < explain->rows->len; j++) {
            const ExpExplainRow *row = explain->rows->pdata[j];

            if (is_of(row, flow) && row->time_ps != TABLE_NONE &&
                strcmp(row->what, segments[i]) == 0) {
                sum += row->time_ps;
            }
        }
        if (sum > 0) {
            bar_add(bars, panel, bar, segments[i], at, at + sum);
            at += sum;
        }
    }
}

/* Adds a bar for each place. Each bar begins where the previous one ends. */
static void cascade_flow(Table *bars, const ExpExplain *explain,
                         const char *flow, const char *panel)
{
    uint32_t least = least_shown(explain, flow);
    int64_t at = 0;

    for (unsigned i = 0; i < explain->rows->len; i++) {
        const ExpExplainRow *row = explain->rows->pdata[i];
        g_autofree char *bar = NULL;

        if (!is_of(row, flow) || row->time_ps == TABLE_NONE ||
            row->share < least) {
            continue;
        }
        bar = g_strdup_printf("%s: %s", row->step, row->element);
        bar_add(bars, panel, bar, row->what, at, at + row->time_ps);
        at += row->time_ps;
    }
}

Table *exp_explained_bars(const GPtrArray *explained)
{
    g_autoptr(GPtrArray) ends = ends_of(explained);
    g_autoptr(Table) bars = table_waterfall_new();
    const ExpExplained *first = ends->len > 0 ? ends->pdata[0] : NULL;
    bool is_single = true;

    for (unsigned i = 0; i < ends->len; i++) {
        const ExpExplained *one = ends->pdata[i];

        is_single &= strcmp(one->curve, first->curve) == 0 &&
                     one->explain->flows->len == 1;
    }
    for (unsigned i = 0; i < ends->len; i++) {
        const ExpExplained *one = ends->pdata[i];
        const GPtrArray *flows = one->explain->flows;

        for (unsigned j = 0; j < MIN(flows->len, DRAWN_FLOWS); j++) {
            const char *flow = flows->pdata[j];
            g_autofree char *bar =
                flows->len > 1 || !*one->curve
                    ? g_strdup_printf("%s%s%s", one->curve,
                                      *one->curve ? ", " : "", flow)
                    : g_strdup(one->curve);

            if (is_single) {
                cascade_flow(bars, one->explain, flow, one->x_label);
            } else {
                stack_flow(bars, one->explain, flow, one->x_label, bar);
            }
        }
    }
    return table_n_rows(bars) > 0 ? g_steal_pointer(&bars) : NULL;
}
