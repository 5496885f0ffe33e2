/* SPDX-License-Identifier: MIT */
#include "trc_view_priv.h"

#include <string.h>

/* The sums of one direction and one kind */
typedef struct Sum {
    const char *direction;
    TrcKind kind;
    uint64_t count;
    uint64_t bytes;
    uint64_t unanswered;
    GArray *latencies; /* of completions, in ns (int64_t) */
} Sum;

static void sum_free(gpointer data)
{
    Sum *sum = data;

    g_array_unref(sum->latencies);
    g_free(sum);
}

/* Finds or adds a sum. @sums is ordered by direction, then by kind. It is
 * short, so a linear search will do. */
static Sum *sum_find(GPtrArray *sums, const char *direction, TrcKind kind)
{
    Sum *sum;
    unsigned i;

    for (i = 0; i < sums->len; i++) {
        int order;

        sum = sums->pdata[i];
        order = strcmp(sum->direction, direction);
        if (order == 0 && sum->kind == kind) {
            return sum;
        }
        if (order > 0 || (order == 0 && sum->kind > kind)) {
            break;
        }
    }
    sum = g_new0(Sum, 1);
    sum->direction = direction;
    sum->kind = kind;
    sum->latencies = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_ptr_array_insert(sums, (int)i, sum);
    return sum;
}

static void add_up(const TrcView *view, const TrcCrossing *crossing,
                   int64_t since_ns, void *data)
{
    const TrcRecord *record = &crossing->record;
    Sum *sum = sum_find(data, trc_view_direction(view, crossing), record->kind);

    sum->count++;
    if (record->kind != TRC_MRD && record->kind != TRC_CPL) {
        sum->bytes += record->bytes;
    }
    sum->unanswered += trc_view_is_unanswered(crossing);
    if (crossing->latency_ns != TRC_NO_LATENCY) {
        g_array_append_val(sum->latencies, crossing->latency_ns);
    }
}

static int compare_ns(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* The least latency that @percent of all latencies do not exceed (nearest
 * rank) */
static int64_t percentile(const GArray *sorted, unsigned percent)
{
    uint64_t rank = ((uint64_t)sorted->len * percent + 99) / 100;

    return g_array_index(sorted, int64_t, rank > 0 ? rank - 1 : 0);
}

static Table *summary_table(GPtrArray *sums)
{
    static const TableColumn columns[] = {
        {"crossing", TABLE_TEXT, 0},      {"kind", TABLE_TEXT, 0},
        {"count", TABLE_INTEGER, 0},      {"bytes", TABLE_INTEGER, 0},
        {"unanswered", TABLE_INTEGER, 0},
    };
    static const unsigned percents[] = {0, 50, 90, 99, 100};
    static const char *const names[] = {"min_us", "p50_us", "p90_us", "p99_us",
                                        "max_us"};
    Table *table = table_new();

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        table_add_column(table, names[i], TABLE_DECIMAL, 3);
    }
    for (unsigned i = 0; i < sums->len; i++) {
        const Sum *sum = sums->pdata[i];
        unsigned row = table_add_row(table);

        table_set_text(table, row, 0, sum->direction);
        table_set_text(table, row, 1, trc_kind_name(sum->kind));
        table_set_number(table, row, 2, (int64_t)sum->count);
        if (sum->kind == TRC_MWR || sum->kind == TRC_MSI ||
            sum->kind == TRC_CPLD) {
            table_set_number(table, row, 3, (int64_t)sum->bytes);
        }
        if (sum->kind == TRC_MRD) {
            table_set_number(table, row, 4, (int64_t)sum->unanswered);
        }
        if (sum->latencies->len == 0) {
            continue;
        }
        g_array_sort(sum->latencies, compare_ns);
        for (unsigned j = 0; j < G_N_ELEMENTS(percents); j++) {
            table_set_number(table, row, 5 + j,
                             percentile(sum->latencies, percents[j]));
        }
    }
    return table;
}

Table *trc_view_summary(const TrcView *view)
{
    g_autoptr(GPtrArray) sums = g_ptr_array_new_with_free_func(sum_free);

    trc_view_each(view, add_up, sums);
    return summary_table(sums);
}
