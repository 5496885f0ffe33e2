/* SPDX-License-Identifier: MIT */
#include "exp_explain.h"

#include <string.h>

#define MILLION 1000000u

/* At least so much of the time something must be at its limit. */
#define LIMIT_SHARE (MILLION / 2)

/* A share of less is not told of. */
#define TELL_SHARE (MILLION / 1000)

/* A port whose TLPs take so much longer than the wire is named for it. */
#define SLACK_SHARE (MILLION / 10)

/* ---- Names -------------------------------------------------------------- */

static const char *const place_names[FAB_PLACE_KINDS] = {
    [FAB_PLACE_OWN] = "own time",
    [FAB_PLACE_CPU] = "CPU",
    [FAB_PLACE_DEVICE] = "device",
    [FAB_PLACE_TAG] = "wait for a tag",
    [FAB_PLACE_TURN] = "wait for the link",
    [FAB_PLACE_CREDITS] = "wait for credits",
    [FAB_PLACE_ORDER] = "ordering",
    [FAB_PLACE_SERIAL] = "serialisation",
    [FAB_PLACE_WIRE] = "cable",
    [FAB_PLACE_TRANSIT] = "transit",
    [FAB_PLACE_FORWARD] = "wait to be forwarded",
    [FAB_PLACE_NTB_TAG] = "wait for an NTB tag",
    [FAB_PLACE_IOMMU] = "IOMMU",
    [FAB_PLACE_MEMORY] = "memory",
};

static const char *const credit_names[FAB_CREDIT_KINDS] = {
    [FAB_CLASS_P] = "no PH credits",
    [FAB_CLASS_NP] = "no NPH credits",
    [FAB_CLASS_CPL] = "no CPLH credits",
    [FAB_CREDIT_DATA(FAB_CLASS_P)] = "no PD credits",
    [FAB_CREDIT_DATA(FAB_CLASS_NP)] = "no NPD credits",
    [FAB_CREDIT_DATA(FAB_CLASS_CPL)] = "no CPLD credits",
};

/* What the steps of a flow's own time are, in a sentence. */
static const char *step_text(const char *step)
{
    static const char *const texts[][2] = {
        {"driver", "the driver's"},
        {"poll", "the driver's, polling for the end"},
        {"set-up", "the device's, setting up"},
        {"least time", "the device's, which takes no less for a copy"},
        {"kernel", "the kernels', before they store"},
        {"notice", "the kernels', until they notice"},
        {"poll gap", "the kernels', between two polls"},
    };

    for (unsigned i = 0; step && i < G_N_ELEMENTS(texts); i++) {
        if (strcmp(step, texts[i][0]) == 0) {
            return texts[i][1];
        }
    }
    return "the device's or the CPU's";
}

static char *port_text(const FabPort *port)
{
    const FabPort *peer = fab_port_peer(port);

    return g_strdup_printf(
        "%s %s -> %s", fab_component_name(fab_port_owner(port)),
        fab_port_name(port), fab_component_name(fab_port_owner(peer)));
}

char *exp_resource_name(const FabResource *resource)
{
    const char *name = fab_component_name(resource->component);
    g_autofree char *link = NULL;

    switch (resource->kind) {
    case FAB_RESOURCE_LINK:
        link = port_text(resource->port);
        return g_strdup_printf("link %s", link);
    case FAB_RESOURCE_MEMORY:
        return g_strdup_printf("memory of %s", name);
    case FAB_RESOURCE_WALKERS:
        return g_strdup_printf("page walkers of %s", name);
    case FAB_RESOURCE_COMPLETER:
        return g_strdup_printf("memory behind the BARs of %s", name);
    case FAB_RESOURCE_CPU:
        return g_strdup_printf("CPU of %s", name);
    case FAB_RESOURCE_TAGS:
        return g_strdup_printf("read tags of %s", name);
    case FAB_RESOURCE_BUFFER:
        return g_strdup_printf("receive buffer of %s %s", name,
                               fab_port_name(resource->port));
    case FAB_RESOURCE_NTB_TAGS:
        return g_strdup_printf("proxy tags of %s", name);
    case FAB_RESOURCE_FORWARD_TAGS:
        return g_strdup_printf("tags for forwarded reads of %s", name);
    default:
        return g_strdup_printf("memory reads of %s", name);
    }
}

/* ---- Which -------------------------------------------------------------- */

static bool is_own(FabPlaceKind kind)
{
    return kind == FAB_PLACE_OWN || kind == FAB_PLACE_CPU ||
           kind == FAB_PLACE_DEVICE;
}

/* The share of the window that is @flow's own time, and its largest part. */
static uint32_t own_share(const FabProfile *profile, const FabFlow *flow,
                          const char **ret_step)
{
    unsigned count;
    const FabPlace *places = fab_profile_places(profile, flow, &count);
    uint64_t sum = 0;
    uint32_t most = 0;

    *ret_step = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (is_own(places[i].kind)) {
            sum += places[i].share;
            if (places[i].share > most) {
                most = places[i].share;
                *ret_step =
                    places[i].kind == FAB_PLACE_OWN ? places[i].step : NULL;
            }
        }
    }
    return sum * fab_profile_under_way(profile, flow) / MILLION;
}

ExpBottleneck exp_bottleneck_find(const FabProfile *profile,
                                  const GPtrArray *flows)
{
    unsigned count;
    const FabResource *list = fab_profile_resources(profile, &count);
    const FabResource *server = NULL, *window = NULL;
    ExpBottleneck own = {.kind = EXP_LIMITING_OWN};

    for (unsigned i = 0; i < count; i++) {
        const FabResource *one = &list[i];

        if (!fab_resource_is_pool(one->kind)) {
            if (!server || one->busy > server->busy) {
                server = one;
            }
        } else if (one->full >= LIMIT_SHARE &&
                   (!window || one->hold < window->hold ||
                    (one->hold == window->hold && one->full > window->full))) {
            window = one;
        }
    }
    for (unsigned i = 0; i < flows->len; i++) {
        const FabFlow *flow = flows->pdata[i];
        const char *step;
        uint32_t share = flow ? own_share(profile, flow, &step) : 0;

        if (share > own.share) {
            own = (ExpBottleneck){EXP_LIMITING_OWN, NULL, flow, step, share};
        }
    }
    if (server &&
        (!window || server->busy >= (uint64_t)window->full * 9 / 10)) {
        window = NULL;
    }
    if (window && window->full >= own.share) {
        return (ExpBottleneck){EXP_LIMITING_RESOURCE, window, NULL, NULL,
                               window->full};
    }
    if (!window && server && server->busy >= LIMIT_SHARE &&
        server->busy >= own.share) {
        return (ExpBottleneck){EXP_LIMITING_RESOURCE, server, NULL, NULL,
                               server->busy};
    }
    if (own.share >= LIMIT_SHARE) {
        own.resource = server;
        return own;
    }
    return (ExpBottleneck){EXP_LIMITING_NOTHING, server, NULL, NULL,
                           server ? server->busy : 0};
}

/* ---- In words ----------------------------------------------------------- */

/* Whole percents, but tenths below one. */
static char *percent(uint32_t share)
{
    if (share >= 500 && share < MILLION / 100) {
        return g_strdup_printf("0.%u %%", MIN((share + 500) / 1000, 9u));
    }
    return g_strdup_printf("%u %%", (share + 5000) / 10000);
}

static char *time_text(SimTime time)
{
    g_autofree char *text = NULL;

    if (time >= SIM_MS) {
        text = table_number_print((time + 5 * SIM_US) / (10 * SIM_US), 2);
        return g_strconcat(text, " ms", NULL);
    }
    if (time >= SIM_US) {
        text = table_number_print((time + 5 * SIM_NS) / (10 * SIM_NS), 2);
        return g_strconcat(text, " us", NULL);
    }
    text = table_number_print((time + 50) / 100, 1);
    return g_strconcat(text, " ns", NULL);
}

/* The links that wait for credits because of @cause: the one that does most. */
static void waits_text(GString *text, const FabProfile *profile,
                       const FabResource *cause)
{
    unsigned count;
    const FabResource *list = fab_profile_resources(profile, &count);
    const FabResource *most = NULL;
    g_autofree char *name = NULL, *share = NULL;
    unsigned kind = 0;

    for (unsigned i = 0; i < count; i++) {
        if (list[i].cause == cause && list[i].starved >= MILLION / 20 &&
            (!most || list[i].starved > most->starved)) {
            most = &list[i];
        }
    }
    if (!most) {
        return;
    }
    for (unsigned i = 1; i < FAB_CREDIT_KINDS; i++) {
        kind = most->lacks[i] > most->lacks[kind] ? i : kind;
    }
    name = port_text(most->port);
    share = percent(most->starved);
    g_string_append_printf(text, "; %s has %s for it %s of the time", name,
                           credit_names[kind], share);
}

/* Where most of the time of those in a window goes: from the flow with the most
 * time in it. */
static void holders_text(GString *text, const FabProfile *profile,
                         const GPtrArray *flows)
{
    for (unsigned i = 0; i < flows->len; i++) {
        const FabFlow *flow = flows->pdata[i];
        const FabPlace *places, *most = NULL;
        g_autofree char *share = NULL;
        unsigned count = 0;

        if (!flow) {
            continue;
        }
        places = fab_profile_places(profile, flow, &count);
        for (unsigned j = 0; j < count; j++) {
            if (places[j].kind != FAB_PLACE_TAG &&
                (!most || places[j].share > most->share)) {
                most = &places[j];
            }
        }
        if (most && most->component) {
            share = percent(most->share);
            g_string_append_printf(text, "; flow %s spends most, %s, at %s: %s",
                                   fab_flow_name(flow), share,
                                   fab_component_name(most->component),
                                   place_names[most->kind]);
            return;
        }
    }
}

static void server_text(GString *text, const FabProfile *profile,
                        const FabResource *server)
{
    g_autofree char *name = exp_resource_name(server);
    g_autofree char *busy = percent(server->busy);

    g_string_append_printf(text, "%s: busy %s", name, busy);
    if (server->kind == FAB_RESOURCE_LINK) {
        g_autofree char *tlp = percent(server->tlp);
        g_autofree char *dllp = percent(server->dllp);
        g_autofree char *slack = percent(server->slack);

        g_string_append_printf(text, " (TLPs %s, DLLPs %s)", tlp, dllp);
        if (server->slack >= SLACK_SHARE) {
            g_string_append_printf(
                text, "; %s is the port's own time, beyond the wire's", slack);
        }
    } else if (server->kind == FAB_RESOURCE_WALKERS) {
        g_string_append_printf(text, " (%u at a time)", server->size);
    }
    waits_text(text, profile, server);
}

static void window_text(GString *text, const FabProfile *profile,
                        const GPtrArray *flows, const FabResource *window)
{
    const char *name = fab_component_name(window->component);
    g_autofree char *full = percent(window->full);
    g_autofree char *hold = time_text(window->hold);

    switch (window->kind) {
    case FAB_RESOURCE_BUFFER:
        g_string_append_printf(text,
                               "%s %s: its receive buffer was full %s of the "
                               "time, though nothing beyond it waited; it is "
                               "too small for the time credits take to return",
                               name, fab_port_name(window->port), full);
        waits_text(text, profile, window);
        return;
    case FAB_RESOURCE_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for its reads were all "
                               "in use %s of the time",
                               name, window->size, full);
        break;
    case FAB_RESOURCE_NTB_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for requests from its "
                               "cables were all in use %s of the time",
                               name, window->size, full);
        break;
    case FAB_RESOURCE_FORWARD_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for forwarded reads were "
                               "all in use %s of the time",
                               name, window->size, full);
        break;
    default:
        g_string_append_printf(text,
                               "%s: the %u reads of memory at a time "
                               "were all under way %s of the time",
                               name, window->size, full);
    }
    if (window->hold && window->unit_bytes) {
        g_string_append_printf(text, " (reads of %u B, %s round trip)",
                               window->unit_bytes, hold);
    } else if (window->hold) {
        g_string_append_printf(text, " (%s round trip)", hold);
    }
    if (window->kind == FAB_RESOURCE_TAGS) {
        holders_text(text, profile, flows);
    } else {
        waits_text(text, profile, window);
    }
}

char *exp_bottleneck_text(const ExpBottleneck *bottleneck,
                          const FabProfile *profile, const GPtrArray *flows)
{
    const FabResource *resource = bottleneck->resource;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *name = resource ? exp_resource_name(resource) : NULL;
    g_autofree char *busy = resource ? percent(resource->busy) : NULL;
    g_autofree char *share = percent(bottleneck->share);

    switch (bottleneck->kind) {
    case EXP_LIMITING_RESOURCE:
        if (fab_resource_is_pool(resource->kind)) {
            window_text(text, profile, flows, resource);
        } else {
            server_text(text, profile, resource);
        }
        break;
    case EXP_LIMITING_OWN:
        g_string_append_printf(text, "no element limits: %s of the time is %s",
                               share, step_text(bottleneck->step));
        if (resource) {
            g_string_append_printf(text,
                                   "; the busiest element, %s, is busy "
                                   "%s",
                                   name, busy);
        }
        break;
    case EXP_LIMITING_NOTHING:
        g_string_append(text, "no element is at its limit");
        if (resource) {
            g_string_append_printf(text,
                                   ": the busiest element, %s, is busy "
                                   "%s",
                                   name, busy);
        }
        holders_text(text, profile, flows);
        break;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* ---- Rows --------------------------------------------------------------- */

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
                                         credit_names[i], link->lacks[i]);

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
            bool is_window = fab_resource_is_pool(one->kind);
            ExpExplainRow *row =
                row_add(explain, is_window ? "window" : "server",
                        exp_resource_name(one), is_window ? "in use" : "busy",
                        one->busy);

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
        return port_text(place->port);
    }
    return g_strdup(place->component ? fab_component_name(place->component)
                                     : fab_flow_name(flow));
}

/* The mean time of an operation; TABLE_NONE if none was measured. */
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
                      place_names[places[i].kind], places[i].share);
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
            const char *what = place_names[FAB_PLACE_TRANSIT];

            if (step->is_last || j == 0) {
                what = strcmp(step->kind, "root+ram") == 0
                           ? place_names[FAB_PLACE_MEMORY]
                           : place_names[FAB_PLACE_DEVICE];
            }
            path_row(explain, name, leg, g_strdup(step->name), what,
                     step->time_ps, path->time_ps);
            if (!step->is_last && step->link_ps > 0) {
                path_row(explain, name, leg,
                         g_strdup_printf("link after %s", step->name),
                         place_names[FAB_PLACE_WIRE], step->link_ps,
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
        g_free(explain->element);
        g_ptr_array_unref(explain->rows);
        g_ptr_array_unref(explain->flows);
        g_free(explain);
    }
}
