/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

#include <string.h>

/* The length of the first intervals, and the limits of the number of intervals
 * before their length doubles. That number is about LOOKS_WORK divided by the
 * number of resources, because a look at a large fabric takes longer. */
#define FIRST_INTERVAL (2 * SIM_NS)
#define LOOKS_MOST     4096u
#define LOOKS_LEAST    256u
#define LOOKS_WORK     1000000u

#define MILLION UINT64_C(1000000)

/* Name of the random stream that chooses the moments of looks. With another
 * name, all shares would change a little. */
#define RANDOM_STREAM "usage"

static void cause_add(ProfileResource *self, unsigned cause, SimTime weight)
{
    for (unsigned i = 0; i < self->causes->len; i++) {
        ProfileCause *known = &g_array_index(self->causes, ProfileCause, i);

        if (known->resource == cause) {
            known->time += weight;
            return;
        }
    }
    g_array_append_val(self->causes, ((ProfileCause){cause, weight}));
}

/* ---- Looking at resources ---------------------------------------------- */

static void look_at_link(FabProfile *profile, ProfileResource *self,
                         SimTime weight)
{
    const FabPort *port = self->result.port;
    ProfileResource *cause;
    FabLinkState link;
    unsigned cls = 0, at;

    fab_port_observe(port, &link);
    self->has_work += link.has_work ? weight : 0;
    if (fab_port_is_degraded(port)) {
        self->degraded += weight;
        self->result.speed = fab_port_speed(port);
        self->result.width = fab_port_width(port);
    }
    if (!link.lacks) {
        return;
    }
    self->starved += link.is_sending ? 0 : weight;
    self->ordered += link.is_ordered ? weight : 0;
    for (unsigned i = 0; i < FAB_CREDIT_KINDS; i++) {
        self->lacks[i] += link.lacks >> i & 1 ? weight : 0;
    }
    while (!fab_credits_lack_class(link.lacks, cls)) {
        cls++;
    }
    at = fab_profile_cause(profile, port, cls);
    cause_add(self, at, weight);
    cause = &profile->resources[at];
    if (cause->result.kind == FAB_RESOURCE_BUFFER &&
        cause->result.port == fab_port_peer(port)) {
        cause->full += weight;
    }
}

/* Stores the state of the next resource of a component. */
static void state_take(void *data, const FabResourceState *state)
{
    ProfileResource **next = data;

    (*next)++->state = *state;
}

/* Stores the states of all resources but those of ports. */
static void take_states(FabProfile *profile)
{
    for (unsigned i = 0; i < profile->component_count; i++) {
        ProfileResource *next =
            &profile->resources[profile->components[i].first];

        fab_observe_resources(profile->components[i].component, state_take,
                              &next);
    }
}

static void look_at_resources(FabProfile *profile, SimTime weight)
{
    take_states(profile);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        ProfileResource *self = &profile->resources[i];
        const FabResourceState *state = &self->state;

        if (self->result.kind == FAB_RESOURCE_LINK) {
            look_at_link(profile, self, weight);
        } else if (!state->size) {
            self->busy += state->used ? weight : 0;
        } else {
            self->level += (uint64_t)state->used * weight;
            self->full +=
                state->used >= state->size && state->is_wanted ? weight : 0;
        }
    }
}

static void observation_begin(FabProfile *profile)
{
    take_states(profile);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        ProfileResource *self = &profile->resources[i];

        if (self->result.kind == FAB_RESOURCE_LINK) {
            self->before = *fab_port_counters(self->result.port);
        }
        self->requests_before = self->state.requests;
    }
    profile->intervals_left = profile->interval_count;
    profile->has_begun = true;
}

static void next_look(FabProfile *profile)
{
    sim_event_schedule(
        &profile->event,
        profile->interval_begin +
            sim_random_below(&profile->random, profile->interval));
}

static void look_event(SimEvent *event)
{
    FabProfile *profile = SIM_CONTAINER_OF(event, FabProfile, event);
    SimTime now = event->time;

    if (now < profile->begin) {
        /* Looks before the observed time have no weight. They only find the
         * order of places, which the first operations show best. */
        fab_profile_look_at_flows(profile, 0);
        sim_event_schedule(event,
                           --profile->intervals_left > 0
                               ? MIN(now + FIRST_INTERVAL, profile->begin)
                               : profile->begin);
        return;
    }
    if (!profile->has_begun) {
        observation_begin(profile);
        next_look(profile);
        return;
    }
    profile->seen += profile->interval;
    look_at_resources(profile, profile->interval);
    fab_profile_look_at_flows(profile, profile->interval);
    profile->interval_begin += profile->interval;
    if (--profile->intervals_left == 0) {
        profile->intervals_left = profile->interval_count;
        profile->interval *= 2;
    }
    /* The next look must not be the only event that keeps the run going. */
    if (sim_engine_pending(fab_fabric_engine(profile->fabric)) > 0) {
        next_look(profile);
    }
}

/* ---- Life -------------------------------------------------------------- */

/* The list of resources while it is made. */
typedef struct ResourceList {
    GArray *resources;             /* of ProfileResource */
    const FabComponent *component; /* whose resources are added now */
    const FabPort *port;           /* NULL: the component's own resources */
} ResourceList;

static void resource_add(void *data, const FabResourceState *state)
{
    ResourceList *list = data;
    ProfileResource self = {
        .result = {.kind = state->kind,
                   .component = list->component,
                   .port = list->port,
                   .size = state->size,
                   .unit_bytes = state->unit_bytes},
        .causes = g_array_new(FALSE, FALSE, sizeof(ProfileCause)),
    };

    g_array_append_val(list->resources, self);
}

static void ports_add(FabProfile *profile, ResourceList *list)
{
    unsigned count = fab_component_port_count(list->component);

    for (unsigned i = 0; i < count; i++) {
        FabPort *port = fab_component_port(list->component, i);
        ProfilePort *place;

        if (!fab_port_peer(port)) {
            continue;
        }
        list->port = port;
        place = g_new(ProfilePort, 1);
        place->link = list->resources->len;
        resource_add(list, &(FabResourceState){.kind = FAB_RESOURCE_LINK});
        place->buffer = list->resources->len;
        resource_add(list, &(FabResourceState){.kind = FAB_RESOURCE_BUFFER});
        g_hash_table_insert(profile->ports, port, place);
    }
}

/* Lists the resources of all components. */
static void components_add(FabProfile *profile)
{
    FabComponent *const *components =
        fab_fabric_components(profile->fabric, &profile->component_count);
    GArray *resources = g_array_new(FALSE, TRUE, sizeof(ProfileResource));

    profile->components = g_new0(ProfileComponent, profile->component_count);
    for (unsigned i = 0; i < profile->component_count; i++) {
        ResourceList list = {.resources = resources,
                             .component = components[i]};

        profile->components[i] =
            (ProfileComponent){components[i], resources->len};
        g_hash_table_insert(profile->by_component, components[i],
                            &profile->components[i]);
        fab_observe_resources(components[i], resource_add, &list);
        ports_add(profile, &list);
    }
    profile->resource_count = resources->len;
    profile->resources =
        (ProfileResource *)(void *)g_array_free(resources, FALSE);
}

static void flows_add(FabProfile *profile)
{
    const GPtrArray *flows = fab_flows(profile->fabric);

    profile->flow_count = flows ? flows->len : 0;
    profile->flows = g_new0(ProfileFlow, profile->flow_count);
    for (unsigned i = 0; i < profile->flow_count; i++) {
        ProfileFlow *self = &profile->flows[i];

        self->flow = flows->pdata[i];
        self->places = g_array_new(FALSE, FALSE, sizeof(ProfilePlace));
        self->results = g_array_new(FALSE, FALSE, sizeof(FabPlace));
        self->bytes = g_array_new(FALSE, FALSE, sizeof(ProfileBytes));
    }
}

FabProfile *fab_profile_new(FabFabric *fabric, SimTime begin)
{
    FabProfile *profile = g_new0(FabProfile, 1);
    SimEngine *engine = fab_fabric_engine(fabric);

    profile->fabric = fabric;
    profile->begin = MAX(begin, sim_engine_now(engine));
    profile->interval_begin = profile->begin;
    profile->interval = FIRST_INTERVAL;
    profile->ports = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    profile->by_component = g_hash_table_new(NULL, NULL);
    components_add(profile);
    flows_add(profile);
    profile->interval_count = CLAMP(
        LOOKS_WORK / MAX(profile->resource_count, 1), LOOKS_LEAST, LOOKS_MOST);
    profile->intervals_left = profile->interval_count;
    sim_random_init(&profile->random, fab_fabric_seed(fabric), RANDOM_STREAM);
    sim_event_init(&profile->event, engine, look_event, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    sim_event_schedule(&profile->event, sim_engine_now(engine));
    return profile;
}

void fab_profile_free(FabProfile *profile)
{
    if (!profile) {
        return;
    }
    sim_event_cancel(&profile->event);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        g_array_unref(profile->resources[i].causes);
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        g_array_unref(profile->flows[i].places);
        g_array_unref(profile->flows[i].results);
        g_array_unref(profile->flows[i].bytes);
    }
    g_hash_table_unref(profile->ports);
    g_hash_table_unref(profile->by_component);
    g_free(profile->components);
    g_free(profile->resources);
    g_free(profile->results);
    g_free(profile->flows);
    g_free(profile);
}

/* ---- Results ----------------------------------------------------------- */

static uint32_t share(uint64_t part, uint64_t whole)
{
    __int128 millionths = whole ? (__int128)part * MILLION / whole : 0;

    return MIN(millionths, MILLION);
}

/* The observed time; 0 if the run ended before it began. */
static SimTime profile_interval(const FabProfile *profile)
{
    return profile->end - profile->begin;
}

static void link_finish(const FabProfile *profile, ProfileResource *self)
{
    FabResource *result = &self->result;
    const FabPort *port = result->port;
    const FabPortCounters *now = fab_port_counters(port);
    const FabPortCounters *before = &self->before;
    uint64_t length = profile_interval(profile);
    uint64_t dllp = now->dllp_ps - before->dllp_ps;
    uint64_t tlp = now->busy_ps - before->busy_ps - dllp;
    SimTime skp_interval = fab_port_skp_interval(port);

    /* The port counts DLLPs only with its next TLP or DLLP, so those that it
     * has made by now are added here. */
    dllp += fab_port_dllp_owed(port);
    result->tlp = share(tlp, length);
    result->dllp = share(dllp, length);
    result->skp =
        skp_interval ? share(fab_port_skp_time(port), skp_interval) : 0;
    result->busy =
        MIN(result->tlp + result->dllp + result->skp, (uint32_t)MILLION);
    result->slack = share(now->service_ps - before->service_ps, length);
    result->degraded = share(self->degraded, profile->seen);
    result->has_work = share(self->has_work, profile->seen);
    result->starved = share(self->starved, profile->seen);
    result->ordered = share(self->ordered, profile->seen);
    for (unsigned i = 0; i < FAB_CREDIT_KINDS; i++) {
        result->lacks[i] = share(self->lacks[i], profile->seen);
    }
}

static void cause_finish(const FabProfile *profile, ProfileResource *self)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < self->causes->len; i++) {
        const ProfileCause *cause =
            &g_array_index(self->causes, ProfileCause, i);

        if (cause->time > most) {
            most = cause->time;
            profile->results[self - profile->resources].cause =
                &profile->results[cause->resource];
        }
    }
}

static void pool_finish(const FabProfile *profile, ProfileResource *self)
{
    FabResource *result = &self->result;
    uint64_t requests = self->state.requests - self->requests_before;

    if (result->size) {
        result->busy = share(self->level / result->size, profile->seen);
    } else {
        result->busy = share(self->busy, profile->seen);
    }
    result->full = share(self->full, profile->seen);
    if (requests && profile->seen) {
        /* Little's law: level = rate * time */
        result->hold = (__int128)self->level * profile_interval(profile) /
                       profile->seen / requests;
    }
}

static const FabPlace *place_at(const ProfileFlow *self, unsigned i)
{
    return &g_array_index(self->places, ProfilePlace, i).result;
}

static bool is_same_step(const FabPlace *a, const FabPlace *b)
{
    return a->step == b->step && a->is_completion == b->is_completion;
}

static void flow_finish(ProfileFlow *self)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < self->places->len; i++) {
        sum += g_array_index(self->places, ProfilePlace, i).time;
    }
    for (unsigned i = 0; i < self->places->len; i++) {
        ProfilePlace *place = &g_array_index(self->places, ProfilePlace, i);

        place->result.share = share(place->time, sum);
    }
    /* A place where little time goes may have been found late. This puts the
     * places of one step together. */
    for (unsigned i = 0; i < self->places->len; i++) {
        const FabPlace *first = place_at(self, i);
        unsigned j = 0;

        while (!is_same_step(place_at(self, j), first)) {
            j++;
        }
        if (j < i) {
            continue; /* the step has been added already */
        }
        for (; j < self->places->len; j++) {
            if (is_same_step(place_at(self, j), first)) {
                g_array_append_vals(self->results, place_at(self, j), 1);
            }
        }
    }
}

void fab_profile_finish(FabProfile *profile)
{
    g_assert(!profile->is_finished);
    profile->is_finished = true;
    profile->end = sim_engine_now(fab_fabric_engine(profile->fabric));
    sim_event_cancel(&profile->event);
    if (!profile->has_begun) {
        profile->end = profile->begin;
    }
    take_states(profile);
    profile->results = g_new0(FabResource, profile->resource_count);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        ProfileResource *self = &profile->resources[i];

        if (self->result.kind == FAB_RESOURCE_LINK) {
            link_finish(profile, self);
        } else {
            pool_finish(profile, self);
        }
        profile->results[i] = self->result;
        cause_finish(profile, self);
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        flow_finish(&profile->flows[i]);
    }
}

const FabResource *fab_profile_resources(const FabProfile *profile,
                                         unsigned *ret_count)
{
    *ret_count = profile->resource_count;
    return profile->results;
}

const FabPlace *fab_profile_places(const FabProfile *profile,
                                   const FabFlow *flow, unsigned *ret_count)
{
    const GArray *results = profile->flows[fab_flow_number(flow) - 1].results;

    *ret_count = results->len;
    return (const FabPlace *)(void *)results->data;
}

uint32_t fab_profile_under_way(const FabProfile *profile, const FabFlow *flow)
{
    return share(profile->flows[fab_flow_number(flow) - 1].under_way,
                 profile->seen);
}
