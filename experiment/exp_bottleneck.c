/* SPDX-License-Identifier: MIT */
#include "exp_bottleneck.h"

#define MILLION 1000000u

/* An element limits a point only if it is at its limit for this share of the
 * time, in ppm. */
#define LIMIT_SHARE (MILLION / 2)

static bool is_own(FabPlaceKind kind)
{
    return kind == FAB_PLACE_OWN || kind == FAB_PLACE_CPU ||
           kind == FAB_PLACE_DEVICE;
}

/* Returns the share of the measured interval that is @flow's own time, in ppm.
 * *ret_step is the largest part of it, or NULL if that is a CPU's or a
 * device's. */
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

/* Returns the busiest server; NULL if there is none. */
static const FabResource *find_server(const FabResource *list, unsigned count)
{
    const FabResource *server = NULL;

    for (unsigned i = 0; i < count; i++) {
        if (!fab_resource_is_pool(list[i].kind) &&
            (!server || list[i].busy > server->busy)) {
            server = &list[i];
        }
    }
    return server;
}

/* Returns the pool with the shortest round trip among those that were empty
 * half the time: that is the innermost one. Returns NULL if there is none. */
static const FabResource *find_pool(const FabResource *list, unsigned count)
{
    const FabResource *pool = NULL;

    for (unsigned i = 0; i < count; i++) {
        const FabResource *one = &list[i];

        if (fab_resource_is_pool(one->kind) && one->full >= LIMIT_SHARE &&
            (!pool || one->hold < pool->hold ||
             (one->hold == pool->hold && one->full > pool->full))) {
            pool = one;
        }
    }
    return pool;
}

/* Returns the flow with the largest share of own time. */
static ExpBottleneck find_own(const FabProfile *profile, const GPtrArray *flows)
{
    ExpBottleneck own = {.kind = EXP_LIMITING_OWN};

    for (unsigned i = 0; i < flows->len; i++) {
        const FabFlow *flow = flows->pdata[i];
        const char *step;
        uint32_t share = flow ? own_share(profile, flow, &step) : 0;

        if (share > own.share) {
            own = (ExpBottleneck){EXP_LIMITING_OWN, NULL, flow, step, share};
        }
    }
    return own;
}

ExpBottleneck exp_bottleneck_find(const FabProfile *profile,
                                  const GPtrArray *flows)
{
    unsigned count;
    const FabResource *list = fab_profile_resources(profile, &count);
    const FabResource *server = find_server(list, count);
    const FabResource *pool = find_pool(list, count);
    ExpBottleneck own = find_own(profile, flows);

    if (server && (!pool || server->busy >= (uint64_t)pool->full * 9 / 10)) {
        pool = NULL;
    }
    if (pool && pool->full >= own.share) {
        return (ExpBottleneck){EXP_LIMITING_RESOURCE, pool, NULL, NULL,
                               pool->full};
    }
    if (!pool && server && server->busy >= LIMIT_SHARE &&
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
