/* SPDX-License-Identifier: MIT */
#include "exp_bottleneck.h"

#include <string.h>

#include "exp_names_priv.h"
#include "table_number.h"

#define MILLION 1000000u

/* From this share on, the text mentions the time that a port takes for its TLPs
 * beyond the time on the wire. */
#define SLACK_SHARE (MILLION / 10)

/* Returns the owner of a step of a flow's own time, as part of a sentence. */
static const char *step_text(const char *step)
{
    static const char *const texts[][2] = {
        {"driver", "the driver's"},
        {"poll", "the driver's, while it polls for the end"},
        {"set-up", "the device's, while it sets up a copy"},
        {"least time", "the device's least time for a copy"},
        {"kernel", "the kernels', before they store"},
        {"notice", "the kernels', until they notice a store"},
        {"poll gap", "the kernels', between two polls"},
    };

    for (unsigned i = 0; step && i < G_N_ELEMENTS(texts); i++) {
        if (strcmp(step, texts[i][0]) == 0) {
            return texts[i][1];
        }
    }
    return "the device's or the CPU's";
}

/* Formats @share as percent, with one decimal if it is below one percent. */
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

/* Appends the link that waits longest for credits because of @cause. */
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
    name = exp_port_name(most->port);
    share = percent(most->starved);
    g_string_append_printf(text, "; %s has %s for it %s of the time", name,
                           exp_credit_name(kind), share);
}

/* Appends the place where the operations of the first flow spend most of their
 * time. Waits for tags do not count. */
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
            g_string_append_printf(
                text, "; flow %s spends most of its time, %s, at %s: %s",
                fab_flow_name(flow), share, fab_component_name(most->component),
                exp_place_name(most->kind));
            return;
        }
    }
}

/* Appends that the link @server runs below what both of its ends can do. */
static void degraded_text(GString *text, const FabResource *server)
{
    if (server->degraded) {
        g_autofree char *share = percent(server->degraded);

        g_string_append_printf(text,
                               "; it was trained at %s x%u, less than its ends "
                               "can do, %s of the time",
                               fab_speed_name(server->speed), server->width,
                               share);
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
        degraded_text(text, server);
    } else if (server->kind == FAB_RESOURCE_WALKERS) {
        g_string_append_printf(text, " (%u at a time)", server->size);
    }
    waits_text(text, profile, server);
}

/* Appends that all members of @pool, one with a number, were in use for the
 * share @full of the time. */
static void members_text(GString *text, const FabResource *pool,
                         const char *name, const char *full)
{
    switch (pool->kind) {
    case FAB_RESOURCE_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for its reads were all "
                               "in use %s of the time",
                               name, pool->size, full);
        break;
    case FAB_RESOURCE_FLIGHT:
        g_string_append_printf(text,
                               "%s: its reads in flight were as many bytes as "
                               "it may have, %u B, %s of the time",
                               name, pool->size * pool->unit_bytes, full);
        break;
    case FAB_RESOURCE_NTB_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for requests from its "
                               "cables were all in use %s of the time",
                               name, pool->size, full);
        break;
    case FAB_RESOURCE_FORWARD_TAGS:
        g_string_append_printf(text,
                               "%s: the %u tags for forwarded reads were "
                               "all in use %s of the time",
                               name, pool->size, full);
        break;
    case FAB_RESOURCE_TRANSLATIONS:
        g_string_append_printf(text,
                               "%s: its %u translation requests were all "
                               "under way %s of the time",
                               name, pool->size, full);
        break;
    default:
        g_string_append_printf(text,
                               "%s: the %u reads of memory at a time "
                               "were all under way %s of the time",
                               name, pool->size, full);
    }
}

static void pool_text(GString *text, const FabProfile *profile,
                      const GPtrArray *flows, const FabResource *pool)
{
    const char *name = fab_component_name(pool->component);
    g_autofree char *full = percent(pool->full);
    g_autofree char *hold = time_text(pool->hold);

    if (pool->kind == FAB_RESOURCE_BUFFER) {
        g_string_append_printf(text,
                               "%s %s: its receive buffer was full %s of the "
                               "time, though nothing beyond it waited; it is "
                               "too small for the time credits take to return",
                               name, fab_port_name(pool->port), full);
        waits_text(text, profile, pool);
        return;
    }
    members_text(text, pool, name, full);
    if (pool->hold && pool->unit_bytes) {
        g_string_append_printf(text, " (reads of %u B, %s round trip)",
                               pool->unit_bytes, hold);
    } else if (pool->hold) {
        g_string_append_printf(text, " (%s round trip)", hold);
    }
    if (pool->kind == FAB_RESOURCE_TAGS || pool->kind == FAB_RESOURCE_FLIGHT) {
        holders_text(text, profile, flows);
    } else {
        waits_text(text, profile, pool);
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
            pool_text(text, profile, flows, resource);
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
