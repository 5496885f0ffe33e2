/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "exp_path.h"
#include "table_format.h"
#include "topo_plan.h"

/* Returns a time in ns with three decimals, which are picoseconds. */
static char *ns_text(SimTime ps)
{
    return table_number_print(ps, 3);
}

static void set_ns(Table *table, unsigned row, unsigned column, SimTime ps)
{
    table_set_number(table, row, column, ps);
}

static void append_leg(GString *text, const ExpLeg *leg)
{
    static const TableColumn columns[] = {
        {"hop", TABLE_TEXT, 0},         {"element", TABLE_TEXT, 0},
        {"kind", TABLE_TEXT, 0},        {"ns", TABLE_DECIMAL, 3},
        {"link_ns", TABLE_DECIMAL, 3},  {"requester", TABLE_TEXT, 0},
        {"address_out", TABLE_TEXT, 0},
    };
    g_autoptr(Table) table = table_new();
    g_autofree char *time = ns_text(leg->time_ps);

    table_add_columns(table, columns, G_N_ELEMENTS(columns));
    for (unsigned i = 0; i < leg->steps->len; i++) {
        const ExpStep *step = leg->steps->pdata[i];
        unsigned row = table_add_row(table);
        g_autofree char *hop =
            step->hop ? g_strdup_printf("%u", step->hop) : g_strdup("-");
        g_autofree char *id = g_strdup_printf(
            "%02x:%02x.%x", FAB_BDF_BUS(step->requester_id),
            FAB_BDF_DEV(step->requester_id), FAB_BDF_FN(step->requester_id));
        g_autofree char *addr =
            g_strdup_printf("0x%" G_GINT64_MODIFIER "x", step->addr);
        bool is_completion = strcmp(leg->what, "completion") == 0;

        table_set_text(table, row, 0, hop);
        table_set_text(table, row, 1, step->name);
        table_set_text(table, row, 2, step->kind);
        set_ns(table, row, 3, step->time_ps);
        set_ns(table, row, 4, step->is_last ? TABLE_NONE : step->link_ps);
        table_set_text(table, row, 5, step->is_last ? "" : id);
        table_set_text(table, row, 6,
                       step->is_last || is_completion ? "" : addr);
    }
    g_string_append_printf(text, "%s, %s ns\n", leg->what, time);
    table_format_append(text, table);
    g_string_append_c(text, '\n');
}

void exp_path_append(GString *text, const ExpPath *path)
{
    g_autofree char *time = ns_text(path->time_ps);
    g_autofree char *round_trip = ns_text(path->round_trip_ps);

    for (unsigned i = 0; i < path->legs->len; i++) {
        append_leg(text, path->legs->pdata[i]);
    }
    g_string_append_printf(text, "path: %s\n%u hop%s, %u root%s, %s ns",
                           path->text, path->hops, path->hops == 1 ? "" : "s",
                           path->roots, path->roots == 1 ? "" : "s", time);
    if (path->round_trip_ps > 0) {
        g_string_append_printf(text, ", round trip of the read %s ns",
                               round_trip);
    }
    g_string_append_c(text, '\n');
}

/* Appends the flows of kind path of one point. */
static bool append_point(GString *text, const TopoPoint *point,
                         const TopoDescription *description, bool *ret_any,
                         GError **error)
{
    const TopoWorkload *workload = description->workload;

    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        const TopoFlow *flow = workload->flows->pdata[i];
        g_autoptr(ExpPath) path = NULL;

        if (!topo_flow_has_own_fabric(flow)) {
            continue;
        }
        g_string_append_printf(text, "%s%s%s%s\n", *ret_any ? "\n" : "",
                               point->label, *point->label ? ": " : "",
                               topo_flow_name(flow));
        *ret_any = true;
        path = exp_path_of_flow(description, flow, error);
        if (!path) {
            return false;
        }
        exp_path_append(text, path);
    }
    return true;
}

bool exp_path_append_flows(GString *text, const TopoDescription *plan,
                           TopoErrors *errors, bool *ret_any, GError **error)
{
    g_autoptr(GPtrArray) points = topo_plan_points(plan, errors);

    *ret_any = false;
    for (unsigned i = 0; points && i < points->len; i++) {
        const TopoPoint *point = points->pdata[i];
        g_autoptr(TopoDescription) description =
            topo_load_again(plan, point->changes, errors);

        if (description &&
            !append_point(text, point, description, ret_any, error)) {
            return false;
        }
    }
    return true;
}
