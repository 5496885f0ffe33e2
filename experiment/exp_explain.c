/* SPDX-License-Identifier: MIT */
#include "exp_explain.h"

#include "exp_explain.h"

#include <string.h>

#include "exp_bottleneck.h"
#include "exp_names_priv.h"

#define MILLION 1000000u

/* Places with a smaller share, in ppm, get no row. */
#define TELL_SHARE (MILLION / 1000)

static void row_free(void *data)
{
    ExpExplainRow *row = data;

    g_free(row->flow);
    g_free(row->step);
    g_free(row->element);
    g_free(row->cause);
    g_free(row);
}

static ExpExplainRow *row_add(ExpExplain *explain, const char *record,
                              char *element, const char *what, uint32_t share)
{
    ExpExplainRow *row = g_new0(ExpExplainRow, 1);

    row->record = record;
    row->element = element;
    row->what = what;
    row->share = share;
    row->time_ps = TABLE_NONE;
    g_ptr_array_add(explain->rows, row);
    return row;
}

static void link_rows(ExpExplain *explain, const FabResource *link)
{
    static const char wait[] = "wait";
    const struct {
        const char *record, *what;
        uint32_t share;
    } rows[] = {
        {"server", "busy", link->busy},
        {"server", "TLPs", link->tlp},
        {"server", "DLLPs", link->dllp},
        {"server", "SKP", link->skp},
        {"server", "port's own time", link->slack},
        {wait, "has work", link->has_work},
        {wait, "ordering", link->ordered},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].share >= TELL_SHARE) {
            row_add(explain, rows[i].record, exp_resource_name(link),
                    rows[i].what, rows[i].share);
        }
    }
    for (unsigned i = 0; i < FAB_CREDIT_KINDS; i++) {
        if (link->lacks[i] >= TELL_SHARE) {
            ExpExplainRow *row = row_add(explain, wait, exp_resource_name(link),
                                         exp_credit_name(i), link->lacks[i]);

            row->cause = link->cause ? exp_resource_name(link->cause) : NULL;
        }
    }
}

static void resource_rows(ExpExplain *explain, const FabProfile *profile)
{
    unsigned count;
    const FabResource *list = fab_profile_resources(profile, &count);

    for (unsigned i = 0; i < count; i++) {
        const FabResource *one = &list[i];

        if (one->kind == FAB_RESOURCE_LINK) {
            if (one->tlp + one->dllp + one->has_work >= TELL_SHARE) {
                link_rows(explain, one);
            }
            continue;
        }
        if (one->kind != FAB_RESOURCE_BUFFER && one->busy >= TELL_SHARE) {
            bool is_pool = fab_resource_is_pool(one->kind);
            ExpExplainRow *row = row_add(
                explain, is_pool ? "window" : "server", exp_resource_name(one),
                is_pool ? "in use" : "busy", one->busy);

            if (one->hold) {
                row->time_ps = one->hold;
            }
        }
        if (one->full >= TELL_SHARE) {
            row_add(explain, "window", exp_resource_name(one), "full",
                    one->full);
        }
    }
}

static char *place_element(const FabPlace *place, const FabFlow *flow)
{
    if (place->port) {
        return exp_port_name(place->port);
    }
    return g_strdup(place->component ? fab_component_name(place->component)
                                     : fab_flow_name(flow));
}

/* Returns the mean time of an operation; TABLE_NONE if none was measured. */
static int64_t mean_latency(const FabFlow *flow)
{
    FabFlowResult result;
    uint64_t count;

    fab_flow_result(flow, &result);
    count = result.latency ? sim_histogram_count(result.latency) : 0;
    return count ? (int64_t)(sim_histogram_sum(result.latency) / count)
                 : TABLE_NONE;
}

static void flow_rows(ExpExplain *explain, const FabProfile *profile,
                      const FabFlow *flow, const char *name)
{
    int64_t latency = mean_latency(flow);
    unsigned count;
    const FabPlace *places = fab_profile_places(profile, flow, &count);

    for (unsigned i = 0; i < count; i++) {
        ExpExplainRow *row;

        if (places[i].share < TELL_SHARE) {
            continue;
        }
        row = row_add(explain, "place", place_element(&places[i], flow),
                      exp_place_name(places[i].kind), places[i].share);
        row->flow = g_strdup(name);
        row->step = places[i].is_completion
                        ? g_strconcat(places[i].step, ", answer", NULL)
                        : g_strdup(places[i].step);
        if (latency != TABLE_NONE) {
            row->time_ps = (__int128)latency * places[i].share / MILLION;
        }
    }
}

static void path_row(ExpExplain *explain, const char *name, const ExpLeg *leg,
                     char *element, const char *what, SimTime time,
                     SimTime whole)
{
    ExpExplainRow *row =
        row_add(explain, "place", element, what,
                whole ? (uint32_t)((__int128)time * MILLION / whole) : 0);

    row->flow = g_strdup(name);
    row->step = g_strdup(leg->what);
    row->time_ps = time;
}

static void path_rows(ExpExplain *explain, const ExpPath *path,
                      const char *name)
{
    for (unsigned i = 0; i < path->legs->len; i++) {
        const ExpLeg *leg = path->legs->pdata[i];

        for (unsigned j = 0; j < leg->steps->len; j++) {
            const ExpStep *step = leg->steps->pdata[j];
            const char *what = exp_place_name(FAB_PLACE_TRANSIT);

            if (step->is_last || j == 0) {
                what = strcmp(step->kind, "root+ram") == 0
                           ? exp_place_name(FAB_PLACE_MEMORY)
                           : exp_place_name(FAB_PLACE_DEVICE);
            }
            path_row(explain, name, leg, g_strdup(step->name), what,
                     step->time_ps, path->time_ps);
            if (!step->is_last && step->link_ps > 0) {
                path_row(explain, name, leg,
                         g_strdup_printf("link after %s", step->name),
                         exp_place_name(FAB_PLACE_WIRE), step->link_ps,
                         path->time_ps);
            }
        }
    }
}

ExpExplain *exp_explain_new(const FabProfile *profile, const GPtrArray *flows,
                            const GPtrArray *paths, const GPtrArray *names)
{
    ExpExplain *explain = g_new0(ExpExplain, 1);

    explain->rows = g_ptr_array_new_with_free_func(row_free);
    explain->flows = g_ptr_array_new_with_free_func(g_free);
    if (profile) {
        ExpBottleneck bottleneck = exp_bottleneck_find(profile, flows);

        explain->text = exp_bottleneck_text(&bottleneck, profile, flows);
        explain->share = bottleneck.share;
        if (bottleneck.kind == EXP_LIMITING_RESOURCE) {
            explain->element = exp_resource_name(bottleneck.resource);
        }
        resource_rows(explain, profile);
    }
    for (unsigned i = 0; i < names->len; i++) {
        const FabFlow *flow = flows->pdata[i];
        const ExpPath *path = paths->pdata[i];

        g_ptr_array_add(explain->flows, g_strdup(names->pdata[i]));
        if (flow && profile) {
            flow_rows(explain, profile, flow, names->pdata[i]);
        } else if (path) {
            path_rows(explain, path, names->pdata[i]);
        }
    }
    return explain;
}

void exp_explain_free(ExpExplain *explain)
{
    if (explain) {
        g_free(explain->text);
        g_free(explain->failure);
        g_free(explain->element);
        g_ptr_array_unref(explain->rows);
        g_ptr_array_unref(explain->flows);
        g_free(explain);
    }
}
