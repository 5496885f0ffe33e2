/* SPDX-License-Identifier: MIT */
#include "exp_latency.h"

#include "fab_flow.h"

/* Operations of a flow that took the same time. */
typedef struct Latency {
    unsigned flow; /* index in the workload */
    uint64_t ps;
    uint64_t count; /* of operations */
} Latency;

GArray *exp_latency_new(const GPtrArray *flows)
{
    GArray *latencies = g_array_new(FALSE, FALSE, sizeof(Latency));

    for (unsigned i = 0; i < flows->len; i++) {
        FabFlow *flow = flows->pdata[i];
        Latency latency = {.flow = i};
        FabFlowResult result = {0};
        unsigned bucket = 0;

        if (flow) {
            fab_flow_result(flow, &result);
        }
        while (result.latency &&
               sim_histogram_next(result.latency, &bucket, &latency.ps,
                                  &latency.count)) {
            g_array_append_val(latencies, latency);
        }
    }
    return latencies;
}

Table *exp_latency_table_new(const TopoDescription *description)
{
    static const TableColumn columns[] = {
        {"point", TABLE_TEXT, 0},
        {"flow", TABLE_TEXT, 0},
        {"latency_ns", TABLE_DECIMAL, 3},
        {"operations", TABLE_INTEGER, 0},
        {"share_percent", TABLE_DECIMAL, 4},
    };
    Table *table = table_new();

    table_add_origin(table, FARSIDE_VERSION, description->file,
                     description->hash, description->workload->seed);
    table_add_head(table, "key", "point,flow,latency_ns");
    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    return table;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const Latency *p = a, *q = b;

    return p->flow != q->flow ? (p->flow > q->flow) - (p->flow < q->flow)
                              : (p->ps > q->ps) - (p->ps < q->ps);
}

/* Adds the rows of one flow, which are @count latencies from @first on. */
static void add_flow(Table *table, const char *label, const char *name,
                     const Latency *first, unsigned count)
{
    uint64_t all = 0, seen = 0;

    for (unsigned i = 0; i < count; i++) {
        all += first[i].count;
    }
    for (unsigned i = 0; i < count; i++) {
        uint64_t operations = first[i].count;
        unsigned row;

        for (; i + 1 < count && first[i + 1].ps == first[i].ps; i++) {
            operations += first[i + 1].count; /* of another seed */
        }
        seen += operations;
        row = table_add_row(table);
        table_set_text(table, row, 0, label);
        table_set_text(table, row, 1, name);
        table_set_number(table, row, 2, (int64_t)first[i].ps);
        table_set_number(table, row, 3, (int64_t)operations);
        table_set_number(table, row, 4,
                         (int64_t)((unsigned __int128)seen * 1000000 / all));
    }
}

void exp_latency_table_add(Table *table, const TopoDescription *description,
                           const char *label, const ExpPoint *const *runs,
                           unsigned count)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Latency));
    unsigned end;

    for (unsigned i = 0; i < count; i++) {
        const GArray *latencies = runs[i]->latencies;

        g_array_append_vals(all, latencies->data, latencies->len);
    }
    g_array_sort(all, compare);
    for (unsigned begin = 0; begin < all->len; begin = end) {
        const Latency *first = &g_array_index(all, Latency, begin);

        for (end = begin; end < all->len &&
                          g_array_index(all, Latency, end).flow == first->flow;
             end++) {
        }
        add_flow(
            table, label,
            topo_flow_name(description->workload->flows->pdata[first->flow]),
            first, end - begin);
    }
}
