/* SPDX-License-Identifier: MIT */
#include "rep_latency.h"

#include <string.h>

#include "rep_plot.h"
#include "table_file.h"

#define CLASSES 50 /* of a histogram */

/* The columns of the table, in their order. */
enum {
    POINT,
    FLOW,
    LATENCY,
    OPERATIONS,
    SHARE
};

static unsigned count_texts(const Table *table, unsigned column)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    for (unsigned i = 0; i < table_n_rows(table); i++) {
        g_hash_table_add(seen, (char *)table_text(table, i, column));
    }
    return g_hash_table_size(seen);
}

bool rep_latency_fits(const Table *latencies)
{
    return count_texts(latencies, POINT) <= REP_PLOT_CURVES_MAX &&
           count_texts(latencies, FLOW) <= REP_PLOT_PANELS_MAX;
}

/* The classes of a histogram over the latencies of all points and flows, in
 * ps. */
typedef struct Classes {
    int64_t least;
    int64_t width;
} Classes;

static Classes choose_classes(const Table *table)
{
    int64_t least = table_number(table, 0, LATENCY), most = least;

    for (unsigned i = 1; i < table_n_rows(table); i++) {
        int64_t number = table_number(table, i, LATENCY);

        least = MIN(least, number);
        most = MAX(most, number);
    }
    return (Classes){least, (most - least) / CLASSES + 1};
}

/* Returns the end of the rows that have the point and the flow of @begin. */
static unsigned end_of_flow(const Table *table, unsigned begin)
{
    unsigned end = begin;

    while (end < table_n_rows(table) &&
           strcmp(table_text(table, end, POINT),
                  table_text(table, begin, POINT)) == 0 &&
           strcmp(table_text(table, end, FLOW),
                  table_text(table, begin, FLOW)) == 0) {
        end++;
    }
    return end;
}

/* Adds a row to a table of steps: from @latency on, the curve is at @share, in
 * units of 0.0001 %. */
static void add_step(Table *steps, const Table *from, unsigned row,
                     int64_t latency, int64_t share)
{
    unsigned to = table_add_row(steps);

    table_set_text(steps, to, 0, table_text(from, row, POINT));
    table_set_text(steps, to, 1, table_text(from, row, FLOW));
    table_set_number(steps, to, 2, latency);
    table_set_number(steps, to, 3, share);
}

static Table *steps_new(void)
{
    static const TableColumn columns[] = {
        {"point", TABLE_TEXT, 0},
        {"flow", TABLE_TEXT, 0},
        {"latency_ns", TABLE_DECIMAL, 3},
        {"share_percent", TABLE_DECIMAL, 4},
    };
    Table *steps = table_new();

    table_add_columns(steps, columns, G_N_ELEMENTS(columns));
    return steps;
}

/* Returns the steps of the distribution function. It begins at 0 and stays at
 * 100 % up to the greatest latency of all. */
static Table *make_cdf(const Table *table)
{
    const Classes classes = choose_classes(table);
    const int64_t last = classes.least + classes.width * CLASSES;
    Table *steps = steps_new();
    unsigned end;

    for (unsigned begin = 0; begin < table_n_rows(table); begin = end) {
        end = end_of_flow(table, begin);
        add_step(steps, table, begin, table_number(table, begin, LATENCY), 0);
        for (unsigned i = begin; i < end; i++) {
            add_step(steps, table, i, table_number(table, i, LATENCY),
                     table_number(table, i, SHARE));
        }
        add_step(steps, table, begin, last, 1000000);
    }
    return steps;
}

static Table *make_histogram(const Table *table)
{
    const Classes classes = choose_classes(table);
    Table *steps = steps_new();
    unsigned end;

    for (unsigned begin = 0; begin < table_n_rows(table); begin = end) {
        int64_t counts[CLASSES] = {0}, all = 0;

        end = end_of_flow(table, begin);
        for (unsigned i = begin; i < end; i++) {
            int64_t place = (table_number(table, i, LATENCY) - classes.least) /
                            classes.width;

            counts[place] += table_number(table, i, OPERATIONS);
            all += table_number(table, i, OPERATIONS);
        }
        for (unsigned i = 0; i < CLASSES; i++) {
            add_step(steps, table, begin, classes.least + i * classes.width,
                     (int64_t)((__int128)counts[i] * 1000000 / all));
        }
        add_step(steps, table, begin, classes.least + CLASSES * classes.width,
                 0);
    }
    return steps;
}

static bool draw(const char *title, const char *y_label, const Table *steps,
                 const char *prefix, const char *ending, GError **error)
{
    static const char *const curves[] = {"point", NULL};
    g_autofree char *path = g_strconcat(prefix, ending, NULL);
    const RepPlot plot = {
        .kind = REP_PLOT_LINES,
        .steps = true,
        .title = title,
        .x_column = "latency_ns",
        .y_column = "share_percent",
        .y_label = y_label,
        .curves = curves,
        .panel_column = count_texts(steps, FLOW) > 1 ? "flow" : NULL,
        .x_axis = REP_AXIS_LINEAR,
    };

    return rep_plot_write(&plot, steps, NULL, path, error);
}

bool rep_latency_write(const char *title, const Table *latencies,
                       const char *prefix, GError **error)
{
    g_autoptr(Table) cdf = NULL;
    g_autoptr(Table) histogram = NULL;

    if (table_n_rows(latencies) == 0) {
        g_set_error(error, TABLE_ERROR, TABLE_ERROR_VALUE,
                    "no flow has operations with a latency");
        return false;
    }
    cdf = make_cdf(latencies);
    histogram = make_histogram(latencies);
    return draw(title, "operations that took no longer, %", cdf, prefix, ".cdf",
                error) &&
           draw(title, "operations of each class, %", histogram, prefix,
                ".histogram", error);
}
