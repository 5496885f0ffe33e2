/* SPDX-License-Identifier: MIT */
/* The table of results of a plan: its head, its columns, and the row of a
 * point. */
#include "exp_plan_priv.h"

#include <math.h>
#include <string.h>

#include "sim_stats.h"

#define CONFIDENCE 0.95

/* The columns that tell how a column differs from seed to seed, in their order.
 * They follow all columns of the description. */
typedef struct Spread {
    int64_t least, most;
    int64_t mean;
    int64_t half; /* half width of the confidence interval of the mean */
} Spread;

static const char *const spread_endings[] = {"least", "most", "ci95"};

/* Adds a head line that names the key columns. */
static void add_keys(Table *table, const TopoDescription *description)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        if (column->is_key) {
            g_string_append_printf(names, "%s%s", names->len ? "," : "",
                                   column->name);
        }
    }
    if (names->len > 0) {
        table_add_head(table, "key", names->str);
    }
}

/* Adds head lines with the unit of a column and its good direction. */
static void add_meaning(Table *table, const TopoColumn *column)
{
    static const char *const words[] = {NULL, "higher", "lower", "same"};

    if (column->unit) {
        g_autofree char *text =
            g_strdup_printf("%s %s", column->name, column->unit);

        table_add_head(table, "unit", text);
    }
    if (words[column->better]) {
        g_autofree char *text =
            g_strdup_printf("%s %s", column->name, words[column->better]);

        table_add_head(table, "better", text);
    }
}

static unsigned n_seeds(const TopoDescription *description)
{
    return description->workload ? description->workload->seeds : 1;
}

/* Returns true if @column has a number that may differ from seed to seed. */
static bool has_spread(const TopoDescription *description,
                       const TopoColumn *column)
{
    return column->source != TOPO_SOURCE_VARIANT &&
           column->source != TOPO_SOURCE_AXIS &&
           !exp_column_is_text(description, column);
}

static bool has_accuracy(const TopoDescription *description)
{
    return description->workload && description->workload->accuracy > 0;
}

/* Returns true if @column is of single operations, when flows leave some
 * out. */
static bool has_seen(const TopoColumn *column)
{
    return column->source == TOPO_SOURCE_FLOW &&
           (strcmp(column->metric, "latency") == 0 ||
            strcmp(column->metric, "speed") == 0);
}

/* Adds the columns of intervals, and of the number of operations that were
 * simulated. */
static void add_interval_columns(Table *table,
                                 const TopoDescription *description)
{
    g_autofree char *share =
        g_strdup_printf("%.9g%%", description->workload->accuracy * 100);

    table_add_head(table, "accuracy", share);
    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];
        g_autofree char *half = g_strconcat(column->name, "_ci95", NULL);
        g_autofree char *seen = g_strconcat(column->name, "_seen", NULL);

        if (!has_spread(description, column)) {
            continue;
        }
        table_add_column(table, half, table_column_type(table, i),
                         table_column_digits(table, i));
        table_add_head(table, "spread", half);
        if (has_seen(column)) {
            table_add_column(table, seen, TABLE_INTEGER, 0);
            table_add_head(table, "spread", seen);
        }
    }
}

/* Adds the columns of the spread of all columns. The head names them, so that a
 * reader can tell them from results. */
static void add_spread_columns(Table *table, const TopoDescription *description)
{
    g_autofree char *seeds = g_strdup_printf("%u", n_seeds(description));

    table_add_head(table, "seeds", seeds);
    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        for (unsigned j = 0; has_spread(description, column) &&
                             j < G_N_ELEMENTS(spread_endings);
             j++) {
            g_autofree char *name =
                g_strdup_printf("%s_%s", column->name, spread_endings[j]);

            table_add_column(table, name, table_column_type(table, i),
                             table_column_digits(table, i));
            table_add_head(table, "spread", name);
        }
    }
}

Table *exp_plan_table_new(const TopoDescription *description)
{
    Table *table = table_new();

    table_add_origin(table, FARSIDE_VERSION, description->file,
                     description->hash,
                     description->workload ? description->workload->seed : 0);
    for (unsigned i = 0; i < description->changes->len; i++) {
        const TopoChange *change = description->changes->pdata[i];
        g_autofree char *text = g_strdup_printf(
            "%s=%s", topo_change_path(change), topo_change_value(change));

        table_add_head(table, "set", text);
    }
    add_keys(table, description);
    for (unsigned i = 0; i < description->columns->len; i++) {
        const TopoColumn *column = description->columns->pdata[i];

        if (column->tolerance_num > 0) {
            /* In thousandths of a percent. */
            int64_t mpct =
                column->tolerance_num * 100000 / column->tolerance_den;
            g_autofree char *amount = table_number_print(mpct, 3);
            g_autofree char *text =
                g_strdup_printf("%s %s%%", column->name, amount);

            table_add_head(table, "tolerance", text);
        }
        add_meaning(table, column);
        if (exp_column_is_text(description, column)) {
            table_add_column(table, column->name, TABLE_TEXT, 0);
        } else if (column->digits > 0) {
            table_add_column(table, column->name, TABLE_DECIMAL,
                             column->digits);
        } else {
            table_add_column(table, column->name, TABLE_INTEGER, 0);
        }
    }
    if (n_seeds(description) > 1) {
        add_spread_columns(table, description);
    } else if (has_accuracy(description)) {
        add_interval_columns(table, description);
    }
    return table;
}

/* Returns num / den, rounded half up. */
static int64_t divide(__int128 num, int64_t den)
{
    __int128 twice = 2 * num + den;
    __int128 quotient = twice / (2 * den);

    return (int64_t)(quotient - (twice % (2 * den) < 0));
}

/* Returns half the width of the confidence interval of the mean of @count
 * numbers, by Student's distribution, rounded up: it is never told too small.
 * Deviations are taken from the first number, so that large numbers that are
 * nearly equal lose no digits. */
static int64_t half_width(const ExpPoint *const *runs, unsigned count,
                          unsigned column)
{
    double sum = 0, squares = 0, variance, n = 0;
    int64_t first = TABLE_NONE;

    for (unsigned i = 0; i < count; i++) {
        int64_t number = runs[i]->cells[column].number;
        double distance;

        if (number == TABLE_NONE) {
            continue;
        }
        first = first == TABLE_NONE ? number : first;
        distance = (double)(number - first);
        sum += distance;
        squares += distance * distance;
        n++;
    }
    if (n < 2) {
        return TABLE_NONE;
    }
    variance = MAX(squares - sum * sum / n, 0) / (n - 1);
    return (int64_t)ceil(sim_stats_student(CONFIDENCE, (unsigned)n - 1) *
                         sqrt(variance / n));
}

/* True if nothing was measured in one of the runs: a mean of the others would
 * tell of less than was asked for. */
static bool has_failed(const ExpPoint *const *runs, unsigned count,
                       unsigned column)
{
    for (unsigned i = 0; i < count; i++) {
        if (runs[i]->cells[column].has_failed) {
            return true;
        }
    }
    return false;
}

/* Returns the spread of a column. Runs without a number, such as the latency of
 * a flow that has ended no operation, are left out. */
static Spread spread_of(const ExpPoint *const *runs, unsigned count,
                        unsigned column)
{
    Spread spread = {TABLE_NONE, TABLE_NONE, TABLE_NONE, TABLE_NONE};
    __int128 sum = 0;
    int64_t n = 0;

    for (unsigned i = 0; i < count; i++) {
        int64_t number = runs[i]->cells[column].number;

        if (number == TABLE_NONE) {
            continue;
        }
        spread.least = n == 0 ? number : MIN(spread.least, number);
        spread.most = n == 0 ? number : MAX(spread.most, number);
        sum += number;
        n++;
    }
    if (n > 0) {
        spread.mean = divide(sum, n);
        spread.half = half_width(runs, count, column);
    }
    return spread;
}

/* Returns the text of a column: the different ones, in the order of the seeds.
 * The caller frees it. */
static char *join_texts(const ExpPoint *const *runs, unsigned count,
                        unsigned column)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new();

    for (unsigned i = 0; i < count; i++) {
        char *text = runs[i]->cells[column].text;

        if (text &&
            !g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL)) {
            g_ptr_array_add(texts, text);
        }
    }
    g_ptr_array_add(texts, NULL);
    return g_strjoinv(" | ", (char **)texts->pdata);
}

/* The number of columns beside column @i. */
static unsigned n_extra(const TopoDescription *description, unsigned i)
{
    const TopoColumn *column = description->columns->pdata[i];

    if (n_seeds(description) > 1) {
        return G_N_ELEMENTS(spread_endings);
    }
    return !has_accuracy(description) ? 0 : has_seen(column) ? 2 : 1;
}

void exp_plan_table_add(Table *table, const TopoDescription *description,
                        const ExpPoint *const *runs, unsigned count)
{
    unsigned row = table_add_row(table);
    unsigned next = description->columns->len;

    for (unsigned i = 0; i < description->columns->len; i++) {
        Spread spread = spread_of(runs, count, i);

        if (table_column_type(table, i) == TABLE_TEXT) {
            g_autofree char *text = join_texts(runs, count, i);

            table_set_text(table, row, i, text);
            continue;
        }
        if (has_failed(runs, count, i)) {
            table_set_failed(table, row, i);
            for (unsigned j = 0; j < n_extra(description, i); j++) {
                table_set_failed(table, row, next++);
            }
            continue;
        }
        table_set_number(table, row, i, spread.mean);
        if (has_accuracy(description) && n_seeds(description) == 1 &&
            has_spread(description, description->columns->pdata[i])) {
            const ExpCell *cell = &runs[0]->cells[i];

            table_set_number(table, row, next++, cell->half);
            if (has_seen(description->columns->pdata[i])) {
                table_set_number(table, row, next++,
                                 cell->seen ? (int64_t)cell->seen : TABLE_NONE);
            }
        }
        if (n_seeds(description) > 1 &&
            has_spread(description, description->columns->pdata[i])) {
            table_set_number(table, row, next++, spread.least);
            table_set_number(table, row, next++, spread.most);
            table_set_number(table, row, next++, spread.half);
        }
    }
}
